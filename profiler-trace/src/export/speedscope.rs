//! Speedscope's file format: what each thread of the host and each recorder went through, as frames
//! that open and close.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

use serde_json::{Value, json};

use crate::export::rows::{Ending, Row, nest};
use crate::export::stacks::{Frame, Lanes, Moment, PER_NS, Scale, Watch, moment};
use crate::export::text;
use crate::export::walk::item;
use crate::host::HostSpan;
use crate::model::{SiteIndex, Trace, Warp};
use crate::progress::Progress;
use crate::source::WarpSource;

/// Which warps a speedscope file holds, beside what the host did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpeedscopeOptions {
    /// The first, as an index into [`Trace::warps`].
    pub first_warp: usize,
    /// How many at most. The viewer lists a profile for every lane that recorded, and reads the whole
    /// file at once.
    pub most_warps: usize,
}

impl Default for SpeedscopeOptions {
    /// The first 256.
    fn default() -> Self {
        Self { first_warp: 0, most_warps: 256 }
    }
}

impl SpeedscopeOptions {
    /// The warps that are written, of so many.
    pub(super) fn warps(&self, all: usize) -> Range<usize> {
        let first = self.first_warp.min(all);
        first..first.saturating_add(self.most_warps).min(all)
    }
}

pub(super) fn write(
    source: &impl WarpSource,
    options: &SpeedscopeOptions,
    writer: &mut impl Write,
) -> io::Result<()> {
    let trace = source.outline();
    let all = trace.warps.len();
    let warps = options.warps(all);
    let mut name = text::device(&trace.device);
    if warps.len() < all {
        name += &format!(", {} of {all} warps, from warp {} on", warps.len(), warps.start);
    }
    if trace.left_out_warps > 0 {
        name += &format!(", {} left out", text::counted(trace.left_out_warps, "warp"));
    }
    writer.write_all(b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"")?;
    write!(writer, ",\"exporter\":\"profiler-trace {}\"", env!("CARGO_PKG_VERSION"))?;
    write!(writer, ",\"name\":{},\"profiles\":[", Value::from(name))?;
    let mut frames =
        Frames { trace, index: HashMap::new(), host: HashMap::new(), list: Vec::new() };
    let mut is_first = true;
    let mut begin = |writer: &mut dyn Write| {
        writer.write_all(if std::mem::take(&mut is_first) { b"\n" } else { b",\n" })
    };
    for thread in &trace.host.threads {
        let spans = thread.spans.iter();
        let rows = nest(spans.map(|span| item(span.start_ns, span.end_ns, 0, span)).collect());
        for (at, row) in rows.into_iter().enumerate() {
            begin(writer)?;
            let crossing = if at > 0 { format!(", crossing {at}") } else { String::new() };
            let name = format!("host, thread {}{crossing}", thread.name);
            evented(&name, &mut frames, writer, |events| host_row(&row, events))?;
        }
    }
    for index in Progress::each(warps) {
        let Some(launch) = trace.launches.get(trace.warps[index].launch) else { continue };
        let warp = &*source.warp(index);
        let lanes = Lanes::new(trace, warp);
        for lane in lanes.numbers() {
            begin(writer)?;
            profile(warp, (lane, launch.kernel), &lanes, &mut frames, writer)?;
        }
    }
    writer.write_all(b"\n],\"shared\":{\"frames\":")?;
    serde_json::to_writer(&mut *writer, &frames.list)?;
    writer.write_all(b"}}\n")
}

/// The frames that were used so far, which stand behind the profiles.
struct Frames<'t> {
    trace: &'t Trace,
    index: HashMap<Frame, usize>,
    /// Those of the host, by the names of its spans.
    host: HashMap<&'t str, usize>,
    list: Vec<Value>,
}

impl<'t> Frames<'t> {
    fn of_host(&mut self, name: &'t str) -> usize {
        let Self { host, list, .. } = self;
        *host.entry(name).or_insert_with(|| {
            list.push(json!({ "name": name }));
            list.len() - 1
        })
    }

    fn of(&mut self, frame: Frame) -> usize {
        let Self { trace, index, list, .. } = self;
        *index.entry(frame).or_insert_with(|| {
            let mut entry = json!({ "name": frame.label(trace) });
            if let Some(site) = frame.site().and_then(|site| trace.sites.get(site.0 as usize)) {
                entry["file"] = site.file.as_str().into();
                entry["line"] = site.line.into();
                entry["col"] = site.column.into();
            }
            list.push(entry);
            list.len() - 1
        })
    }
}

fn profile(
    warp: &Warp,
    (lane, kernel): (u8, SiteIndex),
    lanes: &Lanes<'_>,
    frames: &mut Frames<'_>,
    writer: &mut impl Write,
) -> io::Result<()> {
    let trace = frames.trace;
    let grid = trace.launches.get(warp.launch).map_or([0; 3], |launch| launch.grid_dim);
    let mut name = Frame::Kernel(kernel).label(trace);
    name += &format!(", launch {}, {}", warp.launch, text::block(warp.block, grid));
    name += &format!(", warp {} · SM {}", warp.warp, warp.sm);
    if lane > 0 {
        name += &format!(", lane {lane}");
    } else if warp.lost > 0 {
        name += &format!(" · LOST {}", warp.lost);
    }
    evented(&name, frames, writer, |events| {
        lanes.watch(lane, Scale::Time, &[lanes.root(lane, kernel)], events);
    })
}

/// Opens and closes what a thread of the host did.
fn host_row<'t, W: Write>(row: &Row<&'t HostSpan>, events: &mut Events<'_, 't, W>) {
    let mut open: Vec<Ending> = Vec::new();
    for item in row {
        while let Some(top) = open.pop_if(|top| top.is_before(item)) {
            events.close(moment(top.end));
        }
        let frame = events.frames.of_host(&item.what.name);
        events.open_frame(moment(item.start), frame);
        open.push(item.ending());
    }
    while let Some(top) = open.pop() {
        events.close(moment(top.end));
    }
}

/// A profile of the frames that `watch` opens and closes.
fn evented<'a, 't, W: Write>(
    name: &str,
    frames: &'a mut Frames<'t>,
    writer: &'a mut W,
    watch: impl FnOnce(&mut Events<'a, 't, W>),
) -> io::Result<()> {
    write!(
        writer,
        "{{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"name\":{},\"events\":[",
        Value::from(name)
    )?;
    let mut events = Events { frames, writer, open: Vec::new(), bounds: None, error: Ok(()) };
    watch(&mut events);
    let Events { bounds, error, writer, .. } = events;
    error?;
    let (start, end) = bounds.unwrap_or_default();
    write!(writer, "],\"startValue\":{},\"endValue\":{}}}", ns(start), ns(end))
}

struct Events<'a, 't, W> {
    frames: &'a mut Frames<'t>,
    writer: &'a mut W,
    /// The frames that are open.
    open: Vec<usize>,
    /// The first moment and the last.
    bounds: Option<(Moment, Moment)>,
    /// The writer's first error, after which nothing is written.
    error: io::Result<()>,
}

impl<W: Write> Events<'_, '_, W> {
    fn open_frame(&mut self, at: Moment, frame: usize) {
        self.open.push(frame);
        self.event("O", at, frame);
    }

    fn event(&mut self, kind: &str, at: Moment, frame: usize) {
        if self.error.is_ok() {
            let comma = if self.bounds.is_some() { "," } else { "" };
            self.error = write!(
                self.writer,
                "{comma}{{\"type\":\"{kind}\",\"at\":{},\"frame\":{frame}}}",
                ns(at)
            );
        }
        let (start, _) = self.bounds.unwrap_or((at, at));
        self.bounds = Some((start, at));
    }
}

impl<W: Write> Watch for Events<'_, '_, W> {
    fn open(&mut self, at: Moment, frame: Frame) {
        let frame = self.frames.of(frame);
        self.open_frame(at, frame);
    }

    fn close(&mut self, at: Moment) {
        if let Some(frame) = self.open.pop() {
            self.event("C", at, frame);
        }
    }
}

/// Nanoseconds with three decimals at most.
fn ns(moment: Moment) -> Value {
    let picoseconds = (moment * 1000 + PER_NS / 2).div_euclid(PER_NS);
    (picoseconds as f64 / 1000.0).into()
}
