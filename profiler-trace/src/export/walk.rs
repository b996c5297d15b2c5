//! One walk over a trace that all timeline formats are written from.

mod counters;
mod host;
mod tracks;

use std::io;

use crate::display;
use crate::export::arrows::{Arrows, Axis, End};
use crate::export::rows::{Ending, Item, nest};
use crate::export::sink::{Argument, Event, Name, Sink, Suffix, Track};
use crate::export::{ExportOptions, text};
use crate::host::HostSpan;
use crate::model::{MarkIndex, Region, SiteIndex, Trace, Value, Warp};
use crate::progress::Progress;
use crate::source::{WarpSource, notes};
use host::Calls;
use tracks::{Held, Lanes, items};

/// The content of an item of a row.
#[derive(Clone, Copy)]
enum What<'t> {
    /// Of a warp, and which it is.
    Kernel(&'t Warp, usize),
    Region(&'t Region),
    Mark(MarkIndex),
    Lost(u64),
    Host(&'t HostSpan),
}

/// Puts the whole trace into a sink.
pub(super) fn walk(
    source: &impl WarpSource,
    options: &ExportOptions,
    sink: &mut impl Sink,
) -> io::Result<()> {
    let trace = source.outline();
    // Surveys take a tenth to a quarter of the time, and are not counted.
    Progress::expect("warps written", trace.warps.len());
    let axis = Axis::new(trace);
    let arrows = Arrows::new(trace, &axis);
    let calls = Calls::new(trace, &axis);
    let late = Vec::new();
    let (process, tracks) = (0, 0);
    let mut walk =
        Walk { trace, source, options, arrows, calls, axis, process, tracks, late, sink };
    let summary = notes::summary(source);
    walk.host()?;
    for index in trace.shown_launches() {
        walk.process(index + 1, &text::process(trace, index))?;
        walk.summary(index, &summary)?;
        walk.launch(index)?;
    }
    if trace.shown_launches().next().is_none() {
        let what = if trace.launches.is_empty() { "was recorded" } else { "is shown" };
        walk.process(1, &format!("no launch {what}, {}", notes::device(&trace.device)))?;
        walk.about(0, 1, &summary)?;
    }
    // An arrow leads from what comes first; see [`Arrows::is_late`].
    for (process, track, ns, index) in std::mem::take(&mut walk.late) {
        walk.sink.select(process, track)?;
        walk.sink.instant(ns, &walk.mark_event(index))?;
    }
    Ok(())
}

struct Walk<'t, S, K> {
    trace: &'t Trace,
    source: &'t S,
    options: &'t ExportOptions,
    arrows: Arrows,
    calls: Calls,
    axis: Axis,
    /// The process that is written: a launch, or the host.
    process: u32,
    /// The number of tracks so far.
    tracks: u64,
    /// Marks to be put in at the end: process, track, time, which.
    late: Vec<(u32, u64, u64, MarkIndex)>,
    sink: &'t mut K,
}

/// The way to a track from its process.
#[derive(Clone)]
struct Node {
    id: u64,
    path: String,
    children: u32,
}

impl Node {
    /// The process itself.
    fn root() -> Self {
        Self { id: 0, path: String::new(), children: 0 }
    }
}

impl<'t, S: WarpSource, K: Sink> Walk<'t, S, K> {
    /// Begins a process, whose tracks follow.
    fn process(&mut self, number: usize, name: &str) -> io::Result<()> {
        self.process = u32::try_from(number).map_err(io::Error::other)?;
        self.sink.process(self.process, name)
    }

    /// Declares a track below another, or below the process (whose own node has id 0).
    fn track(
        &mut self,
        parent: &mut Node,
        name: &str,
        description: &str,
        group: bool,
    ) -> io::Result<Node> {
        self.tracks += 1;
        let path = match parent.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path} / {name}"),
        };
        self.sink.track(&Track {
            id: self.tracks,
            process: self.process,
            parent: (parent.id != 0).then_some(parent.id),
            name,
            path: &path,
            description,
            rank: parent.children,
            group,
            unit: None,
        })?;
        parent.children += 1;
        Ok(Node { id: self.tracks, path, children: 0 })
    }

    fn summary(&mut self, launch: usize, lines: &[String]) -> io::Result<()> {
        let launch = &self.trace.launches[launch];
        let (start, end) = (self.axis.round(launch.start_ns), self.axis.round(launch.end_ns));
        // After the device.
        let (device, others) = lines.split_at(lines.len().min(1));
        let lines = [device, &[text::launch_facts(launch)], others].concat();
        self.about(start, end.max(start + 1), &lines)
    }

    /// The first track of a process: a slice over all of it for each line.
    fn about(&mut self, start: u64, end: u64, lines: &[String]) -> io::Result<()> {
        let description = lines.join("\n");
        let track = self.track(&mut Node::root(), "about this trace", &description, false)?;
        self.sink.select(self.process, track.id)?;
        for line in lines {
            self.sink.begin(start, end, &Event::text(line))?;
        }
        lines.iter().try_for_each(|_| self.sink.end(end))
    }

    fn launch(&mut self, launch: usize) -> io::Result<()> {
        let trace = self.trace;
        let mut root = Node::root();
        let warps = trace.launches[launch].warps.clone();
        let warps = warps.start.min(trace.warps.len())..warps.end.min(trace.warps.len());
        let users = self.users(warps.clone());
        if self.options.counters {
            self.counters(&mut root, warps.clone())?;
        }
        let mut order: Vec<usize> = warps.collect();
        order.retain(|&warp| has_own_track(&trace.warps[warp]));
        if !order.is_empty() {
            let name = if self.options.by_sm { "by SM" } else { "by block" };
            let mut top = self.top(&mut root, name)?;
            self.warps(&mut top, order)?;
        }
        if !users.is_empty() {
            let mut top = self.top(&mut root, "by track")?;
            self.user_tracks(&mut top, users)?;
        }
        Ok(())
    }

    /// A group directly below a process. Viewers sort these by name and only what is below them by
    /// rank, so that nothing else stands there. Formats without parents do not need its name.
    fn top(&mut self, root: &mut Node, name: &str) -> io::Result<Node> {
        Ok(Node { path: String::new(), ..self.track(root, name, "", true)? })
    }

    /// The tracks of the warps, in order.
    fn warps(&mut self, top: &mut Node, mut order: Vec<usize>) -> io::Result<()> {
        let trace = self.trace;
        let by_sm = self.options.by_sm;
        if by_sm {
            // Stable: within an SM the order by block and warp stays.
            order.sort_by_key(|&warp| trace.warps[warp].sm);
        }
        let same_sm = |left: &usize, right: &usize| trace.warps[*left].sm == trace.warps[*right].sm;
        for sm in order.chunk_by(|left, right| !by_sm || same_sm(left, right)) {
            let mut sm_node;
            let parent = if by_sm {
                sm_node = self.track(top, &format!("SM {}", trace.warps[sm[0]].sm), "", true)?;
                &mut sm_node
            } else {
                &mut *top
            };
            for block in
                sm.chunk_by(|&left, &right| trace.warps[left].block == trace.warps[right].block)
            {
                let first = &trace.warps[block[0]];
                let grid =
                    trace.launches.get(first.launch).map_or([0; 3], |launch| launch.grid_dim);
                let name = display::block(first.block, grid);
                if let &[warp] = block {
                    let track = format!("{name}, warp {}", trace.warps[warp].warp);
                    self.warp(parent, warp, &track, &name)?;
                    Progress::step();
                    continue;
                }
                let mut node = self.track(parent, &name, "", true)?;
                for &warp in Progress::each(block) {
                    let track = format!("warp {}", trace.warps[warp].warp);
                    self.warp(&mut node, warp, &track, &name)?;
                }
            }
        }
        Ok(())
    }

    /// A warp's own track and, below it, what crosses and what other lanes recorded.
    fn warp(&mut self, parent: &mut Node, index: usize, name: &str, block: &str) -> io::Result<()> {
        let held = Held::new(self.trace, index, self.source.warp(index));
        let warp = &*held.warp;
        let mut lanes: Lanes<'_, u8> = Lanes::default();
        items(&held, |track, lane, item| {
            if track.is_none() {
                lanes.push(lane, item);
            }
        });
        let mut lanes = lanes.in_order().peekable();
        let facts = text::warp_facts(warp, block);
        let short = match (warp.cluster_rank, warp.lost) {
            (None, 0) => format!("{name} · SM {}", warp.sm),
            (Some(rank), 0) => format!("{name} · SM {} · cluster rank {rank}", warp.sm),
            (_, lost) => format!("{name} · SM {} · lost {lost}", warp.sm),
        };
        let mut node = self.track(parent, &short, &facts, false)?;
        let own = lanes.next_if(|(lane, _)| *lane == 0);
        let own = own.map_or_else(Vec::new, |(_, items)| items);
        self.rows(&mut node, nest(own))?;
        for (lane, items) in lanes {
            let name = format!("lane {lane}");
            let facts = format!("{name} of {facts}");
            let mut lane = self.track(&mut node, &name, &facts, false)?;
            self.rows(&mut lane, nest(items))?;
        }
        Ok(())
    }

    /// Puts rows on a track: the first on the track itself, the others below it.
    fn rows<'w>(
        &mut self,
        node: &mut Node,
        rows: impl IntoIterator<Item = impl IntoIterator<Item = Item<What<'w>>>>,
    ) -> io::Result<()> {
        for (number, row) in rows.into_iter().enumerate() {
            let id = if number == 0 {
                node.id
            } else {
                let why = "regions that cross the rows above";
                self.track(node, &format!("overlapping {number}"), why, false)?.id
            };
            self.sink.select(self.process, id)?;
            self.row(id, row)?;
        }
        Ok(())
    }

    fn row<'w>(
        &mut self,
        track: u64,
        row: impl IntoIterator<Item = Item<What<'w>>>,
    ) -> io::Result<()> {
        let mut open: Vec<Ending> = Vec::new();
        for item in row {
            while let Some(top) = open.pop_if(|top| top.is_before(&item)) {
                self.sink.end(self.axis.round(top.end))?;
            }
            let start = self.axis.round(item.start);
            let strategy;
            let event = match item.what {
                What::Mark(index) if self.arrows.is_late(index) => {
                    self.late.push((self.process, track, start, index));
                    continue;
                }
                What::Mark(index) => {
                    self.sink.instant(start, &self.mark_event(index))?;
                    continue;
                }
                What::Lost(count) => {
                    let name = format!("LOST {}", display::counted(count, "record"));
                    let event = Event::text(&name).with("lost", Argument::Unsigned(count));
                    self.sink.instant(start, &event)?;
                    continue;
                }
                What::Region(region) => self.region_event(region),
                What::Host(span) => self.host_event(span),
                What::Kernel(warp, index) => {
                    strategy = display::strategy(warp.strategy);
                    let mut event = self.kernel_event(warp);
                    event.flows_to.extend(self.calls.to_warp(index));
                    event.with("recorded_by", Argument::Text(&strategy))
                }
            };
            self.sink.begin(start, self.axis.round(item.end), &event)?;
            open.push(item.ending());
        }
        while let Some(top) = open.pop() {
            self.sink.end(self.axis.round(top.end))?;
        }
        Ok(())
    }

    fn kernel_event(&self, warp: &Warp) -> Event<'t> {
        let Some(launch) = self.trace.launches.get(warp.launch) else {
            return Event::text("kernel");
        };
        let suffix = if warp.exit.is_some() { Suffix::None } else { Suffix::NeverLeft };
        let [x, y, z] = warp.block;
        let mut event = self
            .site_event(launch.kernel, suffix)
            .with("block_x", Argument::Unsigned(x.into()))
            .with("block_y", Argument::Unsigned(y.into()))
            .with("block_z", Argument::Unsigned(z.into()))
            .with("warp", Argument::Unsigned(warp.warp.into()))
            .with("sm", Argument::Unsigned(warp.sm.into()));
        if let Some(rank) = warp.cluster_rank {
            event = event.with("cluster_rank", Argument::Unsigned(rank.into()));
        }
        event = event
            .with("clock", Argument::Text(display::clock(warp.clock)))
            .with("grid_id", Argument::Unsigned(launch.grid_id))
            .with("slot", Argument::Unsigned(warp.slot.into()))
            .with("recorded", Argument::Unsigned(warp.recorded))
            .with("lost", Argument::Unsigned(warp.lost));
        if warp.exit.is_none() {
            event = event.with("open", Argument::Bool(true));
        }
        event
    }

    fn region_event(&self, region: &Region) -> Event<'t> {
        let suffix = if region.end.is_some() { Suffix::None } else { Suffix::Open };
        let mut event = self.value_event(region.site, suffix, region.value);
        if region.end.is_none() {
            event = event.with("open", Argument::Bool(true));
        }
        event
    }

    fn mark_event(&self, index: MarkIndex) -> Event<'t> {
        let mark = &self.trace.warps[index.warp].marks[index.mark];
        let mut event = self.value_event(mark.site, Suffix::None, mark.value);
        for (flow, end) in self.arrows.of(index) {
            match end {
                End::From => event.flows_from.push(flow),
                End::To => event.flows_to.push(flow),
            }
        }
        event
    }

    fn site_event(&self, index: SiteIndex, suffix: Suffix) -> Event<'t> {
        Event {
            name: Name::Site { name: self.trace.name_of(index), suffix },
            site: self.trace.sites.get(index.0 as usize).map(|_| index),
            ..Event::text("")
        }
    }

    fn value_event(&self, index: SiteIndex, suffix: Suffix, value: Option<Value>) -> Event<'t> {
        let site = self.trace.sites.get(index.0 as usize).filter(|_| value.is_some());
        let unit = site.and_then(|site| site.unit.as_deref());
        Event { value, unit, ..self.site_event(index, suffix) }
    }
}

/// Whether there is anything on a warp's own track.
fn has_own_track(warp: &Warp) -> bool {
    // Without a track of the kernel's, the kernel itself is on it; with one, no record is.
    warp.track.is_none()
}

/// When a warp left the kernel: if it never did, when the launch or its last record ended.
pub(super) fn kernel_end(trace: &Trace, warp: &Warp) -> f64 {
    if let Some(exit) = warp.exit {
        return exit.ns;
    }
    let launch = trace.launches.get(warp.launch).map_or(warp.entry.ns, |launch| launch.end_ns);
    last_record(warp).map_or(launch, |last| last.max(launch))
}

fn last_record(warp: &Warp) -> Option<f64> {
    let regions = warp.regions.iter().map(|region| region.end.unwrap_or(region.start).ns);
    regions.chain(warp.marks.iter().map(|mark| mark.time.ns)).reduce(f64::max)
}

/// The time at which a warp's records are missing: a warp that keeps the first lacks those before
/// its exit, one that keeps the last those after its entry; the longer stretch without a record
/// tells.
fn where_lost(warp: &Warp, end: f64) -> f64 {
    let regions = warp.regions.iter().map(|region| region.start.ns);
    let first = regions.chain(warp.marks.iter().map(|mark| mark.time.ns)).reduce(f64::min);
    match (first, last_record(warp)) {
        (Some(first), Some(last)) if first - warp.entry.ns > end - last => warp.entry.ns,
        _ => end,
    }
}

/// An item with times that can be ordered.
pub(super) fn item<What>(start: f64, end: f64, depth: i32, what: What) -> Item<What> {
    let start = if start.is_finite() { start } else { 0.0 };
    let end = if end.is_finite() { end.max(start) } else { start };
    Item { start, end, depth, what }
}

#[cfg(test)]
mod tests {
    //! Tracks that kernels chose by number.

    use profiler_wire::SiteKind;

    use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};
    use crate::{Capture, Decoder, Export, ExportOptions};

    /// A warp with so many regions and as many marks, each on a track of its own.
    fn tracks(count: u32, leaves: bool) -> Capture {
        let mut module = SyntheticModule::new(Keep::First, 2 * count);
        let kernel = module.site(SiteKind::Kernel, "kernel");
        let [region, mark] =
            [SiteKind::Region, SiteKind::Mark].map(|kind| module.site(kind, "something"));
        let mut warp = SyntheticWarp::new(kernel, 0, 1_000_000);
        for number in 0..count {
            let at = u64::from(number);
            warp.range(region, Some(number), at, at + 1_000);
            warp.mark(mark, Some(count + number), at + 1_000);
        }
        if leaves {
            warp.leave(2_000_000, 2_000_000);
        }
        module.warps.push(warp);
        module.into_capture().expect("the sites are whole")
    }

    /// With a pass over all that the warp recorded for each of its tracks, this would take hours.
    #[test]
    fn a_warp_may_write_to_as_many_tracks_as_it_has_records() {
        const RECORDS: u32 = 15_000;
        let options = ExportOptions { counters: false, ..ExportOptions::default() };
        for leaves in [true, false] {
            let capture = tracks(RECORDS, leaves);
            let mut text = Vec::new();
            let written = Decoder::new(&capture).streamed().write_chrome_to(&mut text, &options);
            written.expect("memory can be written");
            let text = String::from_utf8(text).expect("JSON");
            assert_eq!(text.matches("\"name\":\"something\"").count(), 2 * RECORDS as usize);
            assert!(text.contains(&format!("track {}\"", 2 * RECORDS - 1)));
        }
    }
}
