//! Takes the cost of recording out of the times.

use std::cmp::Reverse;

use profiler_wire::header::Clock;

use crate::diagnostic::{Diagnostic, DiagnosticKind, Place};
use crate::model::{Buffer, RegionRecord, Site, SiteIndex, Time, Trace, Warp};
use crate::record_cost::{Election, FormCosts, RecordCost, StampCost, StampWait};

/// Lanes of a warp.
const LANES: usize = 32;
/// A warp takes fewer stamps within a step of the timer, of 1 µs at most, so that a damaged capture
/// in which all times are one is not searched for more.
const STAMPS_MAX: usize = 256;

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
    /// What lanes stamp at one time at one place they stamp by one instruction, whose cost is subtracted
    /// once for all of them. Of a [shared](crate::RegionRecord::Shared) region, of which lane 0 stores one record, that
    /// is all. Where each lane stores a record of its own, the instructions cost what they cost one lane;
    /// how long the stores follow each other in the memory is not known, and stays in the times.
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
        if self.cost_subtracted {
            return;
        }
        let Some(cost) = self.record_cost.filter(RecordCost::is_usable) else {
            self.diagnostics.note(DiagnosticKind::CostUnknown, None);
            return;
        };
        let ns_per_cycle = self.clock_mhz.map(|mhz| 1000.0 / mhz);
        let device = Device {
            emulated: self.device.emulated,
            ns_per_cycle,
            // Two readings of the timer tell a time no better than by a step.
            timer_step: self.timer_step_ns,
        };
        let mut clamped = 0;
        for warp in &mut self.warps {
            let place = Some(Place { slot: Some(warp.slot), ..Place::default() });
            let kernel = self.launches.get(warp.launch).map(|launch| launch.kernel);
            let kernel = kernel.and_then(|kernel| self.sites.get(kernel.0 as usize));
            let buffer = kernel.map_or(Buffer::Global, |kernel| kernel.buffer);
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

/// What all warps have in common.
struct Device {
    emulated: bool,
    ns_per_cycle: Option<f64>,
    timer_step: f64,
}

/// A moment that moves. Sorted by axis and time, then by what comes first of things at one time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    /// The lane, where each has an axis of its own.
    axis: u8,
    ticks: u64,
    order: Order,
    what: What,
    lane: u8,
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
    /// Index into the warp's anchors.
    Anchor(usize),
}

/// What instruction stamped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stamped {
    Start(SiteIndex),
    /// Whether with a value in a record of its own, too.
    End(SiteIndex, bool),
    Mark(SiteIndex),
    Anchor,
}

impl Stamped {
    fn cost(self, costs: &FormCosts) -> StampCost {
        match self {
            Self::Start(_) => costs.region_begin,
            Self::End(_, has_value) => {
                let mut end = costs.region_end;
                if has_value {
                    end.after_ticks += costs.value.total_ticks();
                }
                end
            }
            Self::Mark(_) => costs.mark,
            Self::Anchor => costs.anchor,
        }
    }

    fn stores(self, buffer: Buffer) -> Stores {
        match (self, buffer) {
            (Self::Start(_), Buffer::Global) => Stores::Nothing,
            (Self::Start(_), Buffer::Host) => Stores::Begin,
            _ => Stores::Record,
        }
    }
}

/// The stamps of several lanes at one time, in the order in which the first lane took each.
#[derive(Default)]
struct Together {
    ticks: u64,
    stamps: Vec<(Stamped, Time)>,
    /// Of each lane, how many of them its next one lies behind.
    behind: [usize; LANES],
    /// Whether lanes took one together, at any time, that stores a record.
    stored: bool,
}

impl Together {
    /// Where a lane's stamp was moved to, if another lane has taken it.
    fn find(&mut self, ticks: u64, stamped: Stamped, stores: Stores, lane: u8) -> Option<Time> {
        if ticks != self.ticks {
            (self.ticks, self.behind) = (ticks, [0; LANES]);
            self.stamps.clear();
        }
        let behind = self.behind.get_mut(usize::from(lane))?;
        let ahead = &self.stamps[*behind..];
        let place = ahead.iter().take(STAMPS_MAX).position(|stamp| stamp.0 == stamped)?;
        let moved = ahead[place].1;
        *behind += place + 1;
        self.stored |= stores != Stores::Nothing;
        Some(moved)
    }

    /// Adds a lane's stamp that was not found.
    fn add(&mut self, stamped: Stamped, lane: u8, moved: Time) {
        self.stamps.push((stamped, moved));
        if let Some(behind) = self.behind.get_mut(usize::from(lane)) {
            *behind = self.stamps.len();
        }
    }
}

/// What came of the subtraction from a warp.
struct Outcome {
    /// How often times would have crossed.
    crossed: u64,
    /// Whether lanes stored at once, each a record of its own.
    stored_apart: bool,
}

/// How far a time axis has been compressed.
struct Axis {
    entry: Time,
    ns_per_tick: f64,
    /// How far two stamps may be off each other.
    step: f64,
    /// How much of what is to be cut and cannot have passed by the last stamp remains to be cut.
    kept: f64,
    /// Ticks cut out so far.
    shift: f64,
    /// The last moved time, in ticks since the entry; none may come before it.
    last: f64,
    last_time: Time,
    clamped: u64,
    /// The last stamp that stored a record, and the last one if it did not.
    stored: Option<Holder>,
    begun: Option<Holder>,
}

/// A stamp that may hold up those behind it, and what has been recorded since.
#[derive(Clone, Copy)]
struct Holder {
    ticks: u64,
    /// What it cost behind it and all stamps since cost, each for itself.
    apart: f64,
    /// What has been cut of what the stamps since waited for it.
    waited: f64,
    /// Whether a region has begun since, or by it.
    begun: bool,
}

impl Holder {
    fn new(ticks: u64, cost: StampCost, stores: Stores) -> Self {
        let begun = stores == Stores::Begin;
        Self { ticks, apart: cost.after_ticks, waited: 0.0, begun }
    }
}

/// What a stamp stores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stores {
    /// As the begin of a region does, which is stored with its end.
    Nothing,
    /// The begin of a region, as a record of its own.
    Begin,
    /// Any other record.
    Record,
}

impl Stores {
    fn is_begin(self) -> bool {
        self != Self::Record
    }
}

impl Axis {
    fn moved(&mut self, time: Time) -> Time {
        // Counted from the entry, ticks are small enough to be exact.
        let since = time.ticks.saturating_sub(self.entry.ticks) as f64;
        let at = since - self.shift;
        if at < self.last {
            // Half a tick is rounding, not a region that is too short, and so is a step of the
            // clock. That much remains to be cut; what is more cannot have passed.
            self.clamped += u64::from(self.last - at > self.step.max(0.5));
            self.shift = self.shift.min(since - self.last + self.kept);
        }
        self.last = at.max(self.last);
        let ticks = self.entry.ticks.saturating_add(self.last.round() as u64);
        let cut = since - self.last;
        let ns = time.ns - cut * self.ns_per_tick;
        self.last_time = Time {
            // A lane may have recorded before lane 0 entered.
            ticks: ticks.min(time.ticks).max(self.last_time.ticks),
            ns: ns.max(self.last_time.ns),
        };
        self.last_time
    }

    /// Cuts out what a stamp cost, and moves the stamp. `costs` are in ticks of this axis.
    fn stamp(&mut self, cost: StampCost, stores: Stores, costs: &FormCosts, time: Time) -> Time {
        self.shift += cost.before_ticks;
        if let Some(begun) = &mut self.begun {
            begun.apart += cost.before_ticks;
        }
        let mut held = false;
        if let Some(mut stored) = self.stored.take() {
            let wait = match stores {
                Stores::Nothing | Stores::Begin => costs.waits.begin,
                Stores::Record if stored.begun => costs.waits.end,
                Stores::Record => costs.waits.record,
            };
            stored.apart += cost.before_ticks;
            held = self.wait(&mut stored, wait, time);
            stored.begun |= stores.is_begin();
            stored.apart += cost.after_ticks;
            self.stored = Some(stored);
        }
        if let Some(mut begun) = self.begun.take()
            && !held
        {
            self.wait(&mut begun, costs.waits.nested, time);
        }
        let moved = self.moved(time);
        self.shift += cost.after_ticks;
        let holder = Some(Holder::new(time.ticks, cost, stores));
        match stores {
            Stores::Nothing => self.begun = holder,
            Stores::Begin | Stores::Record => self.stored = holder,
        }
        moved
    }

    /// Cuts out what a stamp may have waited for an earlier one; whether it may have.
    fn wait(&mut self, holder: &mut Holder, wait: StampWait, time: Time) -> bool {
        let since = time.ticks.saturating_sub(holder.ticks) as f64;
        let Some(reach) = wait.reach_ticks() else { return false };
        // As far as two stamps tell.
        if since > holder.apart + reach + self.step {
            return false;
        }
        let since_entry = time.ticks.saturating_sub(self.entry.ticks) as f64;
        let passed = since_entry - self.shift - self.last;
        let more = passed.min(reach - holder.waited).max(0.0);
        self.shift += more;
        holder.waited += more;
        true
    }
}

/// Moves the times of a warp, or says why it cannot be done. `cost` is that of records that go to its
/// `buffer`.
fn compress(
    warp: &mut Warp,
    sites: &[Site],
    (cost, buffer): (&RecordCost, Buffer),
    device: &Device,
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
    let strategy = warp.strategy;
    let election_at = |site: SiteIndex, shared: bool| {
        let of_site = sites.get(site.0 as usize).and_then(|site| site.strategy);
        Election::of(of_site.unwrap_or(strategy), shared)
    };
    let moments = moments(warp, device.emulated);
    let original = warp.exit;
    let mut clamped = 0;
    // Apart, since at one site lanes may share a region and record another one each for itself: no stamp
    // of the one is one of the other.
    let (mut shared, mut own) = (Together::default(), Together::default());
    for moments in moments.chunk_by(|left, right| left.axis == right.axis) {
        let mut axis = Axis {
            entry: warp.entry,
            ns_per_tick,
            step,
            kept: step,
            shift: 0.0,
            last: 0.0,
            last_time: Time { ticks: 0, ns: f64::NEG_INFINITY },
            clamped: 0,
            stored: None,
            begun: None,
        };
        let has_lanes = moments.iter().any(|moment| moment.lane != moments[0].lane);
        for &Moment { ticks, what, lane, .. } in moments {
            let (stamped, election, time) = match what {
                What::Start(index) => {
                    let region = &mut warp.regions[index];
                    let election = election_at(region.site, region.is_shared());
                    (Stamped::Start(region.site), election, &mut region.start)
                }
                What::End(index) => {
                    let region = &mut warp.regions[index];
                    let election = election_at(region.site, region.is_shared());
                    let has_value_apart =
                        region.value.is_some() && region.record != RegionRecord::WithValue;
                    let Some(end) = &mut region.end else { continue };
                    (Stamped::End(region.site, has_value_apart), election, end)
                }
                What::Mark(index) => {
                    let mark = &mut warp.marks[index];
                    (Stamped::Mark(mark.site), election_at(mark.site, false), &mut mark.time)
                }
                What::Anchor(index) => {
                    // An anchor has no site that would say who was to take it: by the kernel's way.
                    let election = Election::of(strategy, false);
                    (Stamped::Anchor, election, &mut warp.anchors[index].time)
                }
            };
            let mut together = match election {
                Election::AllLanes => Some(&mut shared),
                Election::OneLane => Some(&mut own),
                // Of lanes that are elected, each stamps by itself.
                Election::Elected => None,
            };
            together = together.filter(|_| has_lanes);
            let stores = stamped.stores(buffer);
            let taken = together.as_mut().and_then(|of| of.find(ticks, stamped, stores, lane));
            *time = taken.unwrap_or_else(|| {
                let costs = cost.of(election);
                // Where lanes share records one right behind the other, the votes of the one run beside the
                // store of the one before, and each costs less than it does apart: what such records are
                // cut too much must not add up to a whole step.
                axis.kept = if election == Election::AllLanes { step / 2.0 } else { step };
                let moved = axis.stamp(stamped.cost(costs), stores, costs, *time);
                if let Some(together) = together {
                    together.add(stamped, lane, moved);
                }
                moved
            });
        }
        let last = axis.last_time;
        clamped += axis.clamped;
        if let (Some(exit), Some(original)) = (&mut warp.exit, original) {
            if moments[0].axis == 0 {
                // What the last record cost may lie behind the exit's stamp: no clamp to count.
                // A lane may have recorded after lane 0 left.
                let moved = axis.moved(original);
                *exit = if moved.ns < original.ns { moved } else { original };
            } else if last.ns > exit.ns {
                *exit = if last.ns < original.ns { last } else { original };
            }
        }
    }
    Ok(Outcome { crossed: clamped, stored_apart: own.stored })
}

/// All moments of a warp's records, axis by axis, in order.
fn moments(warp: &Warp, axis_of_each_lane: bool) -> Vec<Moment> {
    let count = 2 * warp.regions.len() + warp.marks.len() + warp.anchors.len();
    let mut moments = Vec::with_capacity(count);
    let mut add = |lane: u8, ticks, order, what| {
        let axis = if axis_of_each_lane { lane } else { 0 };
        moments.push(Moment { axis, ticks, order, what, lane });
    };
    for (index, region) in warp.regions.iter().enumerate() {
        let (lane, start) = (region.lane, region.start.ticks);
        match region.end.map(|end| end.ticks) {
            Some(end) if end == start => {
                add(lane, start, Order::Instant(index, false), What::Start(index));
                add(lane, end, Order::Instant(index, true), What::End(index));
            }
            end => {
                add(lane, start, Order::Start(index), What::Start(index));
                if let Some(end) = end {
                    add(lane, end, Order::End(Reverse(index)), What::End(index));
                }
            }
        }
    }
    for (index, mark) in warp.marks.iter().enumerate() {
        add(mark.lane, mark.time.ticks, Order::Mark, What::Mark(index));
    }
    for (index, anchor) in warp.anchors.iter().enumerate() {
        add(anchor.lane, anchor.time.ticks, Order::Mark, What::Anchor(index));
    }
    moments.sort_unstable();
    moments
}

#[cfg(test)]
mod tests;
