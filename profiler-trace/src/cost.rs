//! Takes the cost of recording out of the times.

use std::cmp::Reverse;

use profiler_wire::header::Clock;

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::model::{RecordCost, Time, Trace, Warp};

impl Trace {
    /// Takes out of the times what recording cost: each region then lasts its own
    /// [`RecordCost::inside_ticks`] less, and [`RecordCost::total_ticks`] less for every region and
    /// mark nested in it.
    ///
    /// Each lane gets a compressed time axis of its own: at every record its cost is cut out, and
    /// all that follows moves forward by it, so that order and nesting stay. Times of one lane can
    /// therefore be compared, but two lanes or warps drift apart by what each recorded. A warp's exit
    /// moves with its lane 0, but not ahead of what another lane recorded before it. Launches keep
    /// their extent.
    ///
    /// Times never cross: where less time passed than a record costs, they fall together, and
    /// [`DiagnosticKind::CostExceedsDuration`] counts it. A second call does nothing, and so does
    /// one without [`Trace::record_cost`], which is noted.
    pub fn subtract_record_cost(&mut self) {
        if self.cost_subtracted {
            return;
        }
        let usable = |ticks: f64| ticks.is_finite() && ticks >= 0.0;
        let cost =
            self.record_cost.filter(|cost| usable(cost.inside_ticks) && usable(cost.total_ticks));
        let Some(cost) = cost else {
            self.diagnostics.note(DiagnosticKind::CostUnknown, None);
            return;
        };
        let ns_per_cycle = self.clock_mhz.map_or(1.0, |mhz| 1000.0 / mhz);
        let mut clamped = 0;
        for warp in &mut self.warps {
            clamped += compress(warp, cost, ns_per_cycle);
        }
        self.diagnostics.add(Diagnostic {
            kind: DiagnosticKind::CostExceedsDuration,
            count: clamped,
            number: 0,
            place: None,
        });
        self.cost_subtracted = true;
    }
}

/// A moment that moves. Sorted by lane and time, then by what comes first of things at one time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    lane: u8,
    ticks: u64,
    order: Order,
    what: What,
}

/// What comes first of things at one time: what ends there, then what begins and ends there, then
/// what begins there. Of regions that end together the inner ones end first: those that began
/// later, hence the reversed number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    End(Reverse<usize>),
    Instant(usize, bool),
    Mark,
    Start(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// Indices into the warp's regions.
    Start(usize),
    End(usize),
    /// Index into the warp's marks.
    Mark(usize),
}

/// How far a lane's axis has been compressed.
struct Axis {
    entry: Time,
    ns_per_tick: f64,
    /// Ticks cut out so far.
    shift: f64,
    /// The last moved time, in ticks since the entry; none may come before it.
    last: f64,
    last_time: Time,
    clamped: u64,
}

impl Axis {
    fn moved(&mut self, time: Time) -> Time {
        // Counted from the entry, ticks are small enough to be exact.
        let since = time.ticks.saturating_sub(self.entry.ticks) as f64;
        if since - self.shift < self.last {
            // Half a tick is rounding, not a region that is too short.
            self.clamped += u64::from(self.last - (since - self.shift) > 0.5);
            self.shift = since - self.last;
        }
        self.last = since - self.shift;
        let cut = self.shift.round().max(0.0) as u64;
        let ns = time.ns - self.shift * self.ns_per_tick;
        self.last_time = Time {
            ticks: time.ticks.saturating_sub(cut).max(self.last_time.ticks),
            ns: ns.max(self.last_time.ns),
        };
        self.last_time
    }
}

/// Moves the times of a warp; returns how often they would have crossed.
fn compress(warp: &mut Warp, cost: RecordCost, ns_per_cycle: f64) -> u64 {
    let ns_per_tick = match warp.exit {
        _ if warp.clock == Clock::GlobalTimer => 1.0,
        Some(exit) if exit.ticks > warp.entry.ticks && exit.ns > warp.entry.ns => {
            (exit.ns - warp.entry.ns) / (exit.ticks - warp.entry.ticks) as f64
        }
        _ => ns_per_cycle,
    };
    let after = (cost.total_ticks - cost.inside_ticks).max(0.0);
    let moments = moments(warp);
    let original = warp.exit;
    let mut clamped = 0;
    for lane in moments.chunk_by(|left, right| left.lane == right.lane) {
        let mut axis = Axis {
            entry: warp.entry,
            ns_per_tick,
            shift: 0.0,
            last: 0.0,
            // A lane may have recorded before lane 0 entered.
            last_time: Time { ticks: 0, ns: f64::NEG_INFINITY },
            clamped: 0,
        };
        for moment in lane {
            match moment.what {
                What::Start(index) => {
                    let region = &mut warp.regions[index];
                    region.start = axis.moved(region.start);
                }
                What::End(index) => {
                    let region = &mut warp.regions[index];
                    axis.shift += cost.inside_ticks;
                    region.end = region.end.map(|end| axis.moved(end));
                    axis.shift += after;
                }
                What::Mark(index) => {
                    let mark = &mut warp.marks[index];
                    mark.time = axis.moved(mark.time);
                    axis.shift += cost.total_ticks;
                }
            }
        }
        let last = axis.last_time;
        clamped += axis.clamped;
        if let (Some(exit), Some(original)) = (&mut warp.exit, original) {
            if lane[0].lane == 0 {
                // What the last record cost may lie behind the exit's stamp: no clamp to count.
                *exit = axis.moved(original);
            } else if last.ns > exit.ns {
                *exit = if last.ns < original.ns { last } else { original };
            }
        }
    }
    clamped
}

/// All moments of a warp's records, lane by lane, in order.
fn moments(warp: &Warp) -> Vec<Moment> {
    let mut moments = Vec::with_capacity(2 * warp.regions.len() + warp.marks.len());
    for (index, region) in warp.regions.iter().enumerate() {
        let (lane, start) = (region.lane, region.start.ticks);
        let mut add = |ticks, order, what| moments.push(Moment { lane, ticks, order, what });
        match region.end.map(|end| end.ticks) {
            Some(end) if end == start => {
                add(start, Order::Instant(index, false), What::Start(index));
                add(end, Order::Instant(index, true), What::End(index));
            }
            end => {
                add(start, Order::Start(index), What::Start(index));
                if let Some(end) = end {
                    add(end, Order::End(Reverse(index)), What::End(index));
                }
            }
        }
    }
    for (index, mark) in warp.marks.iter().enumerate() {
        let (lane, ticks, what) = (mark.lane, mark.time.ticks, What::Mark(index));
        moments.push(Moment { lane, ticks, order: Order::Mark, what });
    }
    moments.sort_unstable();
    moments
}

#[cfg(test)]
mod tests;
