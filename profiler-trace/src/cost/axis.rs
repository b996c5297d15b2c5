//! The time axis of a warp, out of which what recording cost is cut.

use super::gaps::Gap;
use super::stamps::{Stamp, Stores};
use crate::model::Time;
use crate::record_cost::{FormCosts, StampCost, StampWait};

/// How far a time axis has been compressed.
pub(super) struct Axis {
    entry: Time,
    ns_per_tick: f64,
    /// Where the last stamp was, as the gaps tell, in ticks since the entry.
    now: f64,
    /// How far off that may be.
    unsure: f64,
    /// How far off two readings of the clock may be.
    step: f64,
    /// Ticks cut out so far.
    shift: f64,
    /// The last moved stamp, in ticks since the entry; none may come before it.
    last: f64,
    clamped: u64,
    /// The last stamp that stored a record, and the last one if it did not.
    stored: Option<Holder>,
    begun: Option<Holder>,
    places: Vec<Place>,
}

/// Where stamps move to that no time passed between.
#[derive(Clone, Copy)]
struct Place {
    /// In ticks since the entry.
    at: f64,
    stamps: usize,
}

impl Place {
    /// The two as one, where their stamps are on average.
    fn with(self, other: Self) -> Self {
        let stamps = self.stamps + other.stamps;
        let part = other.stamps as f64 / stamps as f64;
        Self { at: self.at + (other.at - self.at) * part, stamps }
    }
}

/// A stamp that may hold up those behind it, and what has been recorded since.
#[derive(Clone, Copy)]
struct Holder {
    at: f64,
    /// What it cost behind it and all stamps since cost, each for itself.
    apart: f64,
    /// What has been cut of what the stamps since waited for it.
    waited: f64,
    /// Whether a region has begun since, or by it.
    begun: bool,
}

impl Holder {
    fn new(at: f64, cost: StampCost, stores: Stores) -> Self {
        let begun = stores == Stores::Begin;
        Self { at, apart: cost.after_ticks, waited: 0.0, begun }
    }
}

impl Axis {
    /// An axis of so many stamps.
    pub(super) fn new(entry: Time, ns_per_tick: f64, step: f64, stamps: usize) -> Self {
        Self {
            entry,
            ns_per_tick,
            now: 0.0,
            unsure: 0.0,
            step,
            shift: 0.0,
            last: 0.0,
            clamped: 0,
            stored: None,
            begun: None,
            places: Vec::with_capacity(stamps),
        }
    }

    /// How often times would have crossed.
    pub(super) fn clamped(&self) -> u64 {
        self.clamped
    }

    /// Ticks since the entry, few enough to be exact.
    fn since_entry(&self, ticks: u64) -> f64 {
        ticks.saturating_sub(self.entry.ticks) as f64
    }

    /// Cuts out what a stamp cost, and moves it. `gap` is what passed since the stamp before; `costs` are
    /// in ticks of this axis.
    pub(super) fn stamp(&mut self, stamp: Stamp, gap: Option<Gap>, costs: &FormCosts) {
        let Stamp { ticks, stores, .. } = stamp;
        let cost = stamp.cost(costs);
        match gap {
            Some(gap) => (self.now, self.unsure) = (self.now + gap.ticks, gap.unsure),
            None => (self.now, self.unsure) = (self.since_entry(ticks), self.step),
        }
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
            held = self.wait(&mut stored, wait);
            stored.begun |= stores.is_begin();
            stored.apart += cost.after_ticks;
            self.stored = Some(stored);
        }
        if let Some(mut begun) = self.begun.take()
            && !held
        {
            self.wait(&mut begun, costs.waits.nested);
        }
        self.move_to(ticks);
        self.shift += cost.after_ticks;
        let holder = Some(Holder::new(self.now, cost, stores));
        match stores {
            Stores::Nothing => self.begun = holder,
            Stores::Begin | Stores::Record => self.stored = holder,
        }
    }

    /// Cuts out what the stamp that is now may have waited for an earlier one; whether it may have.
    fn wait(&mut self, holder: &mut Holder, wait: StampWait) -> bool {
        let Some(reach) = wait.reach_ticks() else { return false };
        // As far as the gaps tell.
        if self.now - holder.at > holder.apart + reach + self.unsure {
            return false;
        }
        let passed = self.now - self.shift - self.last;
        let more = passed.min(reach - holder.waited).max(0.0);
        self.shift += more;
        holder.waited += more;
        true
    }

    /// Moves the stamp that is now and was read at `ticks`.
    fn move_to(&mut self, ticks: u64) {
        let at = self.now - self.shift;
        let behind = self.last - at;
        if behind > 0.0 {
            // Half a tick is rounding, not a region that is too short, and so is a step of the clock.
            self.clamped += u64::from(behind > self.step.max(0.5));
            // What cannot have passed was not cut; what may have, for all that is known, remains to be.
            self.shift -= (behind - self.unsure).max(0.0);
        }
        let place = Place { at: self.since_entry(ticks) - self.shift, stamps: 1 };
        // Rounding is no time that passed.
        let is_new = at - self.last > 1e-6;
        self.last = self.last.max(at);
        match self.places.last_mut().filter(|_| !is_new) {
            Some(last) => *last = last.with(place),
            None => self.places.push(place),
        }
    }

    /// Where all stamps were moved to, when no more will be.
    pub(super) fn moved(mut self) -> Moved {
        // Readings of a clock with steps, less what was cut, may cross: the nearest order in which they do
        // not has those that do at one place.
        let mut ordered = 0;
        for index in 0..self.places.len() {
            let mut place = self.places[index];
            while ordered > 0 && self.places[ordered - 1].at > place.at {
                ordered -= 1;
                place = self.places[ordered].with(place);
            }
            self.places[ordered] = place;
            ordered += 1;
        }
        self.places.truncate(ordered);
        let mut ats = Vec::with_capacity(self.places.iter().map(|place| place.stamps).sum());
        for place in &self.places {
            // Nothing comes before the entry.
            ats.extend(std::iter::repeat_n(place.at.max(0.0), place.stamps));
        }
        Moved {
            entry: self.entry,
            ns_per_tick: self.ns_per_tick,
            shift: self.shift,
            ats,
            last: Time { ticks: 0, ns: f64::NEG_INFINITY },
        }
    }
}

/// A compressed time axis.
pub(super) struct Moved {
    entry: Time,
    ns_per_tick: f64,
    /// Ticks cut out in all.
    shift: f64,
    /// Of each stamp, in ticks since the entry.
    ats: Vec<f64>,
    /// The last time that was asked for.
    last: Time,
}

impl Moved {
    /// What becomes of a `time` that was taken by a stamp. Times are asked for in order.
    pub(super) fn time(&mut self, stamp: usize, time: Time) -> Time {
        self.time_at(self.ats[stamp], time)
    }

    /// What becomes of a `time` behind all stamps.
    pub(super) fn behind(&mut self, time: Time) -> Time {
        let since = time.ticks.saturating_sub(self.entry.ticks) as f64;
        let last = self.ats.last().copied().unwrap_or(0.0);
        // What the last record cost may lie behind it.
        self.time_at((since - self.shift).max(last), time)
    }

    /// The last time that was asked for.
    pub(super) fn last(&self) -> Time {
        self.last
    }

    fn time_at(&mut self, at: f64, time: Time) -> Time {
        let since = time.ticks.saturating_sub(self.entry.ticks) as f64;
        let ticks = self.entry.ticks.saturating_add(at.round() as u64);
        let ns = time.ns - (since - at) * self.ns_per_tick;
        self.last = Time {
            // A lane may have recorded before lane 0 entered.
            ticks: ticks.min(time.ticks).max(self.last.ticks),
            ns: ns.max(self.last.ns),
        };
        self.last
    }
}
