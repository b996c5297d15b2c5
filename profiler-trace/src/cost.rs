//! Takes the cost of recording out of the times. [`RecordCost`] describes the model.

use std::collections::HashMap;

use profiler_wire::Strategy;
use profiler_wire::header::Clock;

use crate::diagnostic::{DiagnosticKind, Diagnostics, Location};
use crate::model::{Buffer, Region, Site, SiteIndex, Time, Trace, Warp};
use crate::record_cost::{FormCosts, RecordCost, StampCost};

/// Up to so many recording warps of an SM the promise of [`Trace::subtract_record_cost`] holds.
const WARPS_MAX: i32 = 4;

impl Trace {
    /// Subtracts the cost of recording from all times, by the table in [`Trace::record_cost`].
    ///
    /// If up to four warps of an SM record, mean lengths of regions are then right to 8 cycles,
    /// nested up to eight deep. If more warps recorded, or several lanes of a warp at once, some of
    /// the cost stays in the times, and [`DiagnosticKind::CostIsRough`] counts it. [`RecordCost`]
    /// describes the model and its limits.
    ///
    /// Each warp gets a compressed time axis of its own, on which order and nesting stay. (On the
    /// emulator each lane has a clock of its own, hence an axis of its own.) Times of one warp can
    /// be compared, but two warps drift apart by the cost of their records. Launches keep their
    /// extent. So ask the trace as it was recorded about times between warps: [`Trace::balance`],
    /// [`Trace::waits`] and [`Trace::critical_path`].
    ///
    /// The cost is not known of warps that record to host memory (`buffer = host`), where it depends on
    /// what else is on the bus, and by `%globaltimer`, whose steps are longer than a record takes. Nothing
    /// is subtracted from those, and [`DiagnosticKind::CostUnknown`] counts them. Times never cross: if
    /// less time passed than recording costs, they fall together, and
    /// [`DiagnosticKind::CostExceedsDuration`] counts it. A second call does nothing.
    pub fn subtract_record_cost(&mut self) {
        self.note_crowded_warps();
        self.subtract_from_each_warp();
    }

    /// Notes the warps that entered a kernel while [`WARPS_MAX`] others of their SM recorded, if the
    /// cost is still to be subtracted.
    pub(crate) fn note_crowded_warps(&mut self) {
        let is_known = self.record_cost.is_some_and(|cost| cost.is_usable());
        if self.cost_subtracted || !is_known || self.device.emulated {
            return;
        }
        let mut changes = Vec::new();
        for warp in self.warps.iter().filter(|warp| warp.recorded > 0 || warp.lost > 0) {
            let exit_ns = warp.exit.map_or(f64::INFINITY, |exit| exit.ns);
            changes.push((warp.sm, warp.entry.ns, 1, warp.slot));
            changes.push((warp.sm, exit_ns.max(warp.entry.ns), -1, warp.slot));
        }
        changes.sort_by(|left, right| {
            let by_time = left.1.total_cmp(&right.1).then(left.2.cmp(&right.2));
            left.0.cmp(&right.0).then(by_time)
        });
        for changes in changes.chunk_by(|left, right| left.0 == right.0) {
            let mut recording = 0;
            for &(_, _, change, slot) in changes {
                recording += change;
                if change > 0 && recording > WARPS_MAX {
                    let place = Location { slot: Some(slot), ..Location::default() };
                    self.diagnostics.note(DiagnosticKind::CostIsRough, Some(place));
                }
            }
        }
    }

    /// [`Trace::subtract_record_cost`], once crowded warps are noted.
    pub(crate) fn subtract_from_each_warp(&mut self) {
        if self.cost_subtracted {
            return;
        }
        let mut warps = std::mem::take(&mut self.warps);
        let odd = Subtraction::of(self).map(|cost| {
            let mut odd = Diagnostics::default();
            warps.iter_mut().for_each(|warp| cost.subtract(warp, &mut odd));
            odd
        });
        self.warps = warps;
        match odd {
            Some(odd) => self.end_subtraction(odd),
            None => self.diagnostics.note(DiagnosticKind::CostUnknown, None),
        }
    }

    /// Adds what was odd while the cost was subtracted from all warps.
    pub(crate) fn end_subtraction(&mut self, mut odd: Diagnostics) {
        odd.list.sort_by_key(|odd| odd.kind == DiagnosticKind::CostExceedsDuration);
        self.diagnostics.extend(&odd);
        self.cost_subtracted = true;
    }
}

/// The cost of recording in a trace, and all that it takes to subtract it from a warp.
pub(crate) struct Subtraction<'t> {
    trace: &'t Trace,
    cost: RecordCost,
    ns_per_cycle: Option<f64>,
}

impl<'t> Subtraction<'t> {
    /// `None` if the cost is not known. The trace may lack its warps.
    pub(crate) fn of(trace: &'t Trace) -> Option<Self> {
        let cost = trace.record_cost.filter(RecordCost::is_usable)?;
        let ns_per_cycle = trace.clock_mhz.map(|mhz| 1000.0 / mhz);
        let ns_per_cycle = ns_per_cycle.filter(|ns| ns.is_finite() && *ns > 0.0);
        Some(Self { trace, cost, ns_per_cycle })
    }

    pub(crate) fn subtract(&self, warp: &mut Warp, odd: &mut Diagnostics) {
        let Self { trace, cost, ns_per_cycle } = *self;
        let emulated = trace.device.emulated;
        let place = Some(Location { slot: Some(warp.slot), ..Location::default() });
        // The emulator's stores all take the same time.
        let kernel = trace.launches.get(warp.launch).map(|launch| launch.kernel);
        let kernel = kernel.and_then(|kernel| trace.sites.get(kernel.0 as usize));
        let is_hosted = !emulated && kernel.is_some_and(|kernel| kernel.buffer == Buffer::Host);
        if is_hosted || warp.clock != Clock::Cycles {
            odd.note(DiagnosticKind::CostUnknown, place);
            return;
        }
        let axis = TimeCompressor::of(warp, cost, ns_per_cycle);
        let compressed = compress(warp, &trace.sites, &axis, emulated);
        if compressed.lanes_stored_at_once {
            odd.note(DiagnosticKind::CostIsRough, place);
        }
        odd.note_count(DiagnosticKind::CostExceedsDuration, compressed.crossed, None);
    }
}

/// Findings while times were moved.
#[derive(Default)]
struct Compressed {
    /// The number of times that would have crossed.
    crossed: u64,
    lanes_stored_at_once: bool,
}

/// Moves the times of a warp along copies of `axis`.
fn compress(warp: &mut Warp, sites: &[Site], axis: &TimeCompressor, emulated: bool) -> Compressed {
    let mut compressed = Compressed::default();
    let original = warp.exit;
    let moments = moments(warp, emulated);
    for moments in moments.chunk_by(|left, right| left.axis == right.axis) {
        let mut axis = axis.clone();
        let (stamps, of_moments) = stamps(moments, warp, sites, &mut compressed);
        let moved: Vec<Time> = stamps.iter().map(|stamp| axis.stamp(stamp)).collect();
        compressed.crossed += axis.crossed;
        for (moment, &stamp) in moments.iter().zip(&of_moments) {
            let time = match moment.bound {
                Bound::Start(index) => Some(&mut warp.regions[index].start),
                Bound::End(index) => warp.regions[index].end.as_mut(),
                Bound::Mark(index) => Some(&mut warp.marks[index].time),
                Bound::Anchor(index) => Some(&mut warp.anchors[index].time),
            };
            if let Some(time) = time {
                *time = moved[stamp];
            }
        }
        let (Some(exit), Some(original)) = (&mut warp.exit, original) else { continue };
        // A lane may have recorded after lane 0 left.
        let end = if moments[0].axis == 0 { axis.exit(original) } else { moved[moved.len() - 1] };
        if moments[0].axis == 0 || end.ns > exit.ns {
            *exit = if end.ns < original.ns { end } else { original };
        }
    }
    compressed
}

/// A time that moves. Sorted by axis and time, then by what comes first at one time: the ends of
/// regions that lasted, then marks, then the begins of regions that last and all in them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    /// The lane, if each has an axis of its own.
    axis: u8,
    ticks: u64,
    /// 0 ahead of marks, 1 for marks, 2 after them.
    rank: u8,
    number: usize,
    bound: Bound,
    lane: u8,
}

/// Indices into the warp's regions, marks and anchors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bound {
    Start(usize),
    End(usize),
    Mark(usize),
    Anchor(usize),
}

/// All times of a warp's records, axis by axis, in order.
fn moments(warp: &Warp, axis_of_each_lane: bool) -> Vec<Moment> {
    let count = 2 * warp.regions.len() + warp.marks.len() + warp.anchors.len();
    let mut moments: Vec<Moment> = Vec::with_capacity(count);
    let mut add = |lane: u8, ticks, rank, bound| {
        let axis = if axis_of_each_lane { lane } else { 0 };
        moments.push(Moment { axis, ticks, rank, number: moments.len(), bound, lane });
    };
    let regions = &warp.regions;
    let mut nested: Vec<usize> = (0..regions.len()).collect();
    let place = |index: usize| (regions[index].lane, regions[index].track);
    nested.sort_unstable_by_key(|&index| (place(index), index));
    let (mut bounds, mut open) = (Vec::new(), Vec::<usize>::new());
    for nested in nested.chunk_by(|&left, &right| place(left) == place(right)) {
        bounds.reserve(2 * nested.len());
        for &index in nested {
            let is_over = |open: &mut usize| regions[*open].depth >= regions[index].depth;
            while let Some(ended) = open.pop_if(is_over) {
                bounds.push(Bound::End(ended));
            }
            bounds.push(Bound::Start(index));
            open.push(index);
        }
        bounds.extend(open.drain(..).rev().map(Bound::End));
        // When the last region began that lasts.
        let mut begun = None;
        for bound in bounds.drain(..) {
            let (Bound::Start(index) | Bound::End(index)) = bound else { continue };
            let Region { lane, start, end, .. } = regions[index];
            let time = if matches!(bound, Bound::Start(_)) { Some(start) } else { end };
            let Some(Time { ticks, .. }) = time else { continue };
            if matches!(bound, Bound::Start(_)) && end.is_none_or(|end| end.ticks != ticks) {
                begun = Some(ticks);
            }
            add(lane, ticks, if begun == Some(ticks) { 2 } else { 0 }, bound);
        }
    }
    for (index, mark) in warp.marks.iter().enumerate() {
        add(mark.lane, mark.time.ticks, 1, Bound::Mark(index));
    }
    for (index, anchor) in warp.anchors.iter().enumerate() {
        add(anchor.lane, anchor.time.ticks, 1, Bound::Anchor(index));
    }
    moments.sort_unstable();
    moments
}

/// The instruction that took a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stamped {
    Start(SiteIndex),
    /// Whether with a value in a record of its own, too.
    End(SiteIndex, bool),
    Mark(SiteIndex),
    Anchor,
}

/// One reading of the clock, by one lane or by several at once.
struct Stamp {
    time: Time,
    stamped: Stamped,
    strategy: Strategy,
}

impl Stamp {
    fn is_begin(&self) -> bool {
        matches!(self.stamped, Stamped::Start(_))
    }

    fn cost(&self, costs: &FormCosts) -> StampCost {
        match self.stamped {
            Stamped::Start(_) => costs.region_begin,
            Stamped::End(_, false) => costs.region_end,
            Stamped::End(_, true) => StampCost {
                after_ticks: costs.region_end.after_ticks + costs.value.total_ticks(),
                ..costs.region_end
            },
            Stamped::Mark(_) => costs.mark,
            Stamped::Anchor => costs.anchor,
        }
    }
}

/// The stamps of one axis's `moments`, in order, and which of them each moment was taken by.
fn stamps(
    moments: &[Moment],
    warp: &Warp,
    sites: &[Site],
    compressed: &mut Compressed,
) -> (Vec<Stamp>, Vec<usize>) {
    let strategy_at = |site: SiteIndex| {
        let of_site = sites.get(site.0 as usize).and_then(|site| site.strategy);
        of_site.unwrap_or(warp.strategy)
    };
    let has_lanes = moments.iter().any(|moment| moment.lane != moments[0].lane);
    let mut stamps: Vec<Stamp> = Vec::with_capacity(moments.len());
    let mut of_moments = Vec::with_capacity(moments.len());
    // Of one time: how often a lane stamped something, and which stamp that was.
    let (mut times, mut taken) = (HashMap::new(), HashMap::new());
    let mut ticks = 0;
    for moment in moments {
        let (stamped, strategy, time) = match moment.bound {
            Bound::Start(index) => {
                let region = &warp.regions[index];
                (Stamped::Start(region.site), strategy_at(region.site), region.start)
            }
            Bound::End(index) => {
                let region = &warp.regions[index];
                let stamped = Stamped::End(region.site, region.has_value_apart());
                (stamped, strategy_at(region.site), region.end.unwrap_or(region.start))
            }
            Bound::Mark(index) => {
                let mark = &warp.marks[index];
                (Stamped::Mark(mark.site), strategy_at(mark.site), mark.time)
            }
            // An anchor has no site that would say who takes it.
            Bound::Anchor(index) => (Stamped::Anchor, warp.strategy, warp.anchors[index].time),
        };
        let mut index = stamps.len();
        // One instruction stamps for all lanes. Elected lanes stamp each by itself.
        if has_lanes && strategy != Strategy::Elected {
            if ticks != moment.ticks {
                ticks = moment.ticks;
                times.clear();
                taken.clear();
            }
            let time: &mut usize = times.entry((moment.lane, stamped)).or_default();
            index = *taken.entry((stamped, *time)).or_insert(index);
            *time += 1;
        }
        if index == stamps.len() {
            stamps.push(Stamp { time, stamped, strategy });
        } else {
            compressed.lanes_stored_at_once |= !stamps[index].is_begin();
        }
        of_moments.push(index);
    }
    (stamps, of_moments)
}

/// A stamp that may hold up those after it.
#[derive(Clone, Copy)]
struct Holder {
    /// The time since.
    passed: f64,
    /// Its cost after it and the costs of all stamps since, each for itself.
    apart: f64,
    /// Whether a region began since.
    begun: bool,
}

/// The time axis of a warp, out of which the cost of recording is cut. Times are in ticks since the
/// warp's entry.
#[derive(Clone, Default)]
struct TimeCompressor {
    cost: RecordCost,
    entry: Time,
    ns_per_tick: f64,
    /// The time of the last stamp, and the time that it moved to.
    read: f64,
    at: f64,
    /// The cost of the last stamp after it.
    after: f64,
    /// The last stamp that stored a record, and the last begin since.
    stored: Option<Holder>,
    begun: Option<Holder>,
    last: Option<Time>,
    crossed: u64,
}

impl TimeCompressor {
    fn of(warp: &Warp, cost: RecordCost, ns_per_cycle: Option<f64>) -> Self {
        let entry = warp.entry;
        let ns_per_tick = match warp.exit {
            Some(exit) if exit.ticks > entry.ticks && exit.ns > entry.ns => {
                (exit.ns - entry.ns) / (exit.ticks - entry.ticks) as f64
            }
            _ => ns_per_cycle.unwrap_or(1.0),
        };
        Self { cost, entry, ns_per_tick, ..Self::default() }
    }

    /// Cuts out what a stamp cost, and moves it.
    fn stamp(&mut self, stamp: &Stamp) -> Time {
        let cost = stamp.cost(self.cost.of(stamp.strategy));
        let apart = self.after + cost.before_ticks;
        let read = self.since_entry(stamp.time);
        let gap = read - self.read;
        for holder in [&mut self.stored, &mut self.begun].into_iter().flatten() {
            holder.passed += gap;
            holder.apart += cost.before_ticks;
        }
        // Half a tick is rounding.
        self.crossed += u64::from(apart - gap > 0.5);
        if !self.is_held_up(stamp) {
            self.at += (gap - apart).max(0.0);
        }
        (self.read, self.after) = (read, cost.after_ticks);
        self.hold(stamp, cost.after_ticks);
        self.move_to(self.at, stamp.time)
    }

    /// Whether a stamp may have come right after the last one, and have waited for a record: then
    /// both move to one place.
    fn is_held_up(&self, stamp: &Stamp) -> bool {
        let waits = &self.cost.of(stamp.strategy).waits;
        let wait_for = |stored: Holder| match (stamp.is_begin(), stored.begun) {
            (true, _) => waits.begin,
            (false, true) => waits.end,
            (false, false) => waits.record,
        };
        let stored = self.stored.map(|stored| (stored, wait_for(stored)));
        let begun = self.begun.map(|begun| (begun, waits.nested));
        [stored, begun].into_iter().flatten().any(|(holder, wait)| {
            wait.reach_ticks().is_some_and(|reach| holder.passed - holder.apart <= reach)
        })
    }

    /// Keeps a stamp as one that may hold up others.
    fn hold(&mut self, stamp: &Stamp, after: f64) {
        let holder = Some(Holder { passed: 0.0, apart: after, begun: false });
        if stamp.is_begin() {
            if let Some(stored) = &mut self.stored {
                stored.begun = true;
                stored.apart += after;
            }
            self.begun = holder;
        } else {
            (self.stored, self.begun) = (holder, None);
        }
    }

    /// Moves the warp's exit.
    fn exit(&mut self, exit: Time) -> Time {
        let gap = self.since_entry(exit) - self.read;
        let at = self.at + (gap - self.after).max(0.0);
        self.move_to(at, exit)
    }

    /// Few enough ticks to be exact.
    fn since_entry(&self, time: Time) -> f64 {
        time.ticks.saturating_sub(self.entry.ticks) as f64
    }

    /// Moves times in order, by whole ticks: times of one tick are one in nanoseconds, too.
    fn move_to(&mut self, at: f64, time: Time) -> Time {
        let last = self.last.unwrap_or(Time { ticks: 0, ns: f64::NEG_INFINITY });
        // A lane may have recorded before lane 0 entered.
        let ticks = self.entry.ticks.saturating_add(at.round() as u64).min(time.ticks);
        let ticks = ticks.max(last.ticks);
        let cut = time.ticks.saturating_sub(ticks) as f64;
        let ns = (time.ns - cut * self.ns_per_tick).max(last.ns);
        let is_last = self.last.is_some_and(|last| last.ticks == ticks);
        let moved = if is_last { last } else { Time { ticks, ns } };
        self.last = Some(moved);
        moved
    }
}

#[cfg(test)]
mod tests;
