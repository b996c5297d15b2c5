//! Takes the cost of recording out of the times.

use profiler_wire::header::Clock;

use self::axis::Axis;
use self::gaps::Gaps;
use self::others::Others;
pub(crate) use self::others::Stored;
use self::stamps::{Stamps, moments};
use self::usual::Usual;
use crate::diagnostic::{Diagnostic, DiagnosticKind, Place};
use crate::model::{Buffer, Launch, Site, Trace, Warp};
use crate::record_cost::RecordCost;

mod axis;
mod gaps;
mod order;
mod others;
mod stamps;
mod usual;

impl Trace {
    /// Takes out of the times what recording cost, by the table in [`Trace::record_cost`] and the
    /// model that [`RecordCost`] describes: at every stamp, what it cost ahead of it and what it cost
    /// behind it, and all that passed between stamps so close behind a stored record that it may have
    /// held them up. A region then lasts less by all that its own stamps and those of everything
    /// nested in it cost between its begin and its end.
    ///
    /// The lanes of a warp take turns, so what one of them records holds up all: each warp gets a
    /// compressed time axis of its own, on which order and nesting stay. (On the emulator each
    /// lane has a clock of its own, hence an axis of its own.) Times of one warp can therefore be
    /// compared, but two warps drift apart by what each recorded. A warp's exit moves with the rest;
    /// launches keep their extent. So what tells of times between warps must be asked of the trace as it
    /// was recorded: [`Trace::balance`], [`Trace::released_waits`], [`Trace::waits`] and
    /// [`Trace::critical_path`].
    ///
    /// How long a warp waited for the records of others on its SM is told from when these stored theirs: of those that
    /// are in the trace. (A [`Decoder`](crate::Decoder) that subtracts also asks warps that it does not show.)
    ///
    /// What lanes stamp at one time at one place they stamp by one instruction, whose cost is subtracted
    /// once for all of them. The instructions cost what they cost one lane; how long the stores follow each other in the memory is not known, and stays in the times.
    /// [`DiagnosticKind::CostOfLanes`] counts the warps.
    ///
    /// Of warps whose records went to memory of the host (`buffer = host`), what these cost on an idle bus
    /// is subtracted ([`RecordCost::host`]), which [`DiagnosticKind::CostOfIdleBus`] says: a bus that is
    /// full holds up stores for longer, and that stays in the times. Where it was not measured, as in traces
    /// of earlier versions, nothing is subtracted from them, and [`DiagnosticKind::CostOfHostBuffer`] counts
    /// them.
    ///
    /// Times never cross: where less time passed than recording costs, they fall together, and
    /// [`DiagnosticKind::CostExceedsDuration`] counts it. A second call does nothing, and so does one
    /// without [`Trace::record_cost`], which is noted.
    pub fn subtract_record_cost(&mut self) {
        let stored = if self.asks_who_stored() { Stored::of(self) } else { Stored::default() };
        self.subtract_record_cost_beside(&stored);
    }

    /// Whether the cost can be subtracted, and was not, where what one warp stored holds up others: on the
    /// emulator it does not.
    pub(crate) fn asks_who_stored(&self) -> bool {
        let is_known = self.record_cost.is_some_and(|cost| cost.is_usable());
        is_known && !self.cost_subtracted && !self.device.emulated
    }

    /// [`Trace::subtract_record_cost`], where these are the units that all warps stored, also those that are not
    /// in the trace.
    pub(crate) fn subtract_record_cost_beside(&mut self, stored: &Stored) {
        if self.cost_subtracted {
            return;
        }
        let Some(cost) = self.record_cost.filter(RecordCost::is_usable) else {
            self.diagnostics.note(DiagnosticKind::CostUnknown, None);
            return;
        };
        let ns_per_cycle = self.clock_mhz.map(|mhz| 1000.0 / mhz);
        let ns_per_cycle = ns_per_cycle.filter(|ns| ns.is_finite() && *ns > 0.0);
        let device = Device {
            emulated: self.device.emulated,
            ns_per_cycle,
            // Two readings of the timer tell a time no better than by a step.
            timer_step: self.timer_step_ns,
            stored,
        };
        let mut clamped = 0;
        for warp in &mut self.warps {
            let place = Some(Place { slot: Some(warp.slot), ..Place::default() });
            let buffer = buffer_of(warp, &self.launches, &self.sites);
            // The emulator's stores all take the same time.
            let known = cost.of_buffer(buffer).or(device.emulated.then_some(cost));
            let Some(known) = known else {
                self.diagnostics.note(DiagnosticKind::CostOfHostBuffer, place);
                continue;
            };
            if buffer == Buffer::Host && !device.emulated {
                self.diagnostics.note(DiagnosticKind::CostOfIdleBus, place);
            }
            match compress(warp, &self.sites, (&known, buffer), &device) {
                Ok(outcome) => {
                    clamped += outcome.crossed;
                    if outcome.stored_apart {
                        self.diagnostics.note(DiagnosticKind::CostOfLanes, place);
                    }
                }
                Err(kind) => self.diagnostics.note(kind, place),
            }
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

/// The buffer that a warp's kernel records to.
fn buffer_of(warp: &Warp, launches: &[Launch], sites: &[Site]) -> Buffer {
    let kernel = launches.get(warp.launch).map(|launch| launch.kernel);
    let kernel = kernel.and_then(|kernel| sites.get(kernel.0 as usize));
    kernel.map_or(Buffer::Global, |kernel| kernel.buffer)
}

/// What all warps have in common.
struct Device<'s> {
    emulated: bool,
    ns_per_cycle: Option<f64>,
    timer_step: f64,
    stored: &'s Stored,
}

/// What came of the subtraction from a warp.
struct Outcome {
    /// How often times would have crossed.
    crossed: u64,
    /// Whether lanes stored at once, each a record of its own.
    stored_apart: bool,
}

/// Moves the times of a warp, or says why it cannot be done. `cost` is that of records that go to its
/// `buffer`.
fn compress(
    warp: &mut Warp,
    sites: &[Site],
    (cost, buffer): (&RecordCost, Buffer),
    device: &Device<'_>,
) -> Result<Outcome, DiagnosticKind> {
    // The cost is known in cycles.
    let (ticks_per_cycle, ns_per_tick, step) = match (warp.clock, warp.exit) {
        (Clock::GlobalTimer, _) => {
            let ns_per_cycle = device.ns_per_cycle.ok_or(DiagnosticKind::CostUnknown)?;
            (ns_per_cycle, 1.0, device.timer_step)
        }
        (Clock::Cycles, Some(exit)) if exit.ticks > warp.entry.ticks && exit.ns > warp.entry.ns => {
            let ns = exit.ns - warp.entry.ns;
            (1.0, ns / (exit.ticks - warp.entry.ticks) as f64, 0.0)
        }
        (Clock::Cycles, _) => (1.0, device.ns_per_cycle.unwrap_or(1.0), 0.0),
    };
    let cost = cost.scaled(ticks_per_cycle);
    let others = Others::of(device.stored, warp, buffer, ticks_per_cycle);
    let moments = moments(warp, device.emulated);
    let original = warp.exit;
    let mut outcome = Outcome { crossed: 0, stored_apart: false };
    for moments in moments.chunk_by(|left, right| left.axis == right.axis) {
        let stamps = Stamps::of(moments, warp, sites, buffer);
        let gaps = Gaps::of(&stamps.all, &cost, step);
        let usual = Usual::of(&stamps.all, &cost, &others);
        let mut axis = Axis::new(warp.entry, ns_per_tick, step, &others, stamps.all.len());
        let mut before = None;
        for &stamp in &stamps.all {
            let gap = before.replace(stamp).map(|before| gaps.between(before, stamp));
            axis.stamp(stamp, gap, &usual, cost.of(stamp.election));
        }
        outcome.crossed += axis.clamped();
        outcome.stored_apart |= stamps.stored_apart;
        let mut moved = axis.moved();
        for (moment, &stamp) in moments.iter().zip(&stamps.of_moments) {
            if let Some(time) = moment.time_of(warp) {
                *time = moved.time(stamp);
            }
        }
        let last = moved.last();
        if let (Some(exit), Some(original)) = (&mut warp.exit, original) {
            if moments[0].axis == 0 {
                // A lane may have recorded after lane 0 left.
                let moved = moved.behind(original);
                *exit = if moved.ns < original.ns { moved } else { original };
            } else if last.ns > exit.ns {
                *exit = if last.ns < original.ns { last } else { original };
            }
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests;
