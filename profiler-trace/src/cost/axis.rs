//! The time axis of a warp, out of which what recording cost is cut.

use super::gaps::Gap;
use super::others::Others;
use super::stamps::{Stamp, Stamped, Stores};
use super::usual::{Places, Usual};
use crate::model::Time;
use crate::record_cost::{FormCosts, StampCost, StampWait, StampWaits};

/// How far off each other two times may be that are one, by rounding.
const ROUNDING: f64 = 1e-6;

/// How far a time axis has been compressed.
///
/// What is cut between two stamps follows what was read, so that it does not add up to more than passed. Where
/// the clock comes in steps and many readings tell what passes on average, it is that, and what was read must
/// bear it out to a step.
pub(super) struct Axis<'o> {
    entry: Time,
    ns_per_tick: f64,
    /// How far off each other two readings of the clock may be at one time.
    step: f64,
    others: &'o Others,
    /// Ticks cut out so far.
    shift: f64,
    /// What the last stamp cost behind it, which is not cut yet.
    after: f64,
    /// What else is to be cut behind it.
    owed: f64,
    /// The latest place of a stamp so far, in ticks since the entry.
    last: f64,
    /// Where the earliest stamp of the last place would be by itself.
    low: f64,
    clamped: u64,
    /// The last stamp that stored a record, and the last one if it did not.
    stored: Option<Holder>,
    begun: Option<Holder>,
    places: Vec<Place>,
    times: Vec<Time>,
}

/// Where stamps move to that no time passed between.
#[derive(Clone, Copy)]
struct Place {
    /// In ticks since the entry.
    at: f64,
    stamps: usize,
    /// When the first of them was read, in ticks since the entry.
    read: f64,
}

impl Place {
    /// The two as one, where their stamps are on average.
    fn with(self, other: Self) -> Self {
        let stamps = self.stamps + other.stamps;
        let part = other.stamps as f64 / stamps as f64;
        Self { at: self.at + (other.at - self.at) * part, stamps, read: self.read }
    }
}

/// A stamp that may hold up those behind it, and what has been recorded since.
#[derive(Clone, Copy)]
pub(super) struct Holder {
    stamped: Stamped,
    /// When it was taken.
    ticks: u64,
    /// What has passed since, as far as is known, and how far off that may be.
    passed: f64,
    unsure: f64,
    /// What it cost behind it and all stamps since cost, each for itself.
    apart: f64,
    /// What has been cut of what the stamps since waited for it.
    waited: f64,
    /// Whether a region has begun since, or by it.
    begun: bool,
}

impl Holder {
    /// A stamp that takes `cost`.
    pub(super) fn new(stamp: Stamp, cost: StampCost) -> Self {
        let begun = stamp.stores == Stores::Begin;
        let apart = cost.after_ticks;
        let (stamped, ticks) = (stamp.stamped, stamp.time.ticks);
        Self { stamped, ticks, passed: 0.0, unsure: 0.0, apart, waited: 0.0, begun }
    }

    /// Goes on to the next stamp, by what it costs ahead of it.
    pub(super) fn pass(&mut self, gap: Gap, cost: StampCost) {
        self.passed += gap.ticks;
        self.unsure = self.unsure.max(gap.unsure);
        self.apart += cost.before_ticks;
    }

    /// That stamp is the begin of a region, and stores nothing.
    pub(super) fn begin(&mut self, cost: StampCost) {
        self.begun = true;
        self.apart += cost.after_ticks;
    }

    /// How long `next`, the stamp that is now, may have waited for this one, which stored a record: longer than by
    /// itself, where others stored some.
    pub(super) fn wait(&self, next: Stamp, waits: &StampWaits, others: &Others) -> StampWait {
        let alone = match next.stores {
            Stores::Nothing | Stores::Begin => waits.begin,
            Stores::Record if self.begun => waits.end,
            Stores::Record => waits.record,
        };
        if alone.is_within_reach(self.passed_at_least()) {
            return alone;
        }
        others.lengthen(alone, self.ticks, next.time.ticks)
    }

    /// Where it was and where the stamp that is now is, and whether a region began by it or since.
    pub(super) fn places_to(&self, next: Stamped) -> Places {
        (self.stamped, next, self.begun)
    }

    /// What has passed beyond what recording takes by itself.
    pub(super) fn beyond_apart(&self) -> f64 {
        self.passed - self.apart
    }

    /// The same, as far as is known.
    fn passed_at_least(&self) -> f64 {
        self.beyond_apart() - self.unsure
    }

    /// What the stamp that is now, at `next`, may have waited for it and was not cut yet, if it may have waited: for
    /// as long as rare waits are where it mostly waits.
    fn reach(&self, wait: StampWait, next: Stamped, usual: &Usual) -> Option<f64> {
        let passed = self.passed_at_least();
        let reach = if wait.is_within_reach(passed) {
            wait.reach_ticks()
        } else if wait.is_rare(passed) && usual.is_back_to_back(self, next) {
            wait.rare_ticks()
        } else {
            None
        };
        reach.map(|reach| (reach - self.waited).max(0.0))
    }
}

impl<'o> Axis<'o> {
    /// An axis of so many stamps.
    pub(super) fn new(
        entry: Time,
        ns_per_tick: f64,
        step: f64,
        others: &'o Others,
        stamps: usize,
    ) -> Self {
        Self {
            entry,
            ns_per_tick,
            step,
            others,
            shift: 0.0,
            after: 0.0,
            owed: 0.0,
            last: 0.0,
            low: 0.0,
            clamped: 0,
            stored: None,
            begun: None,
            places: Vec::with_capacity(stamps),
            times: Vec::with_capacity(stamps),
        }
    }

    /// How often times would have crossed.
    pub(super) fn clamped(&self) -> u64 {
        self.clamped
    }

    /// Cuts out what a stamp cost, and moves it. `gap` is what passed since the stamp before, if there was
    /// one; `costs` are in ticks of this axis.
    pub(super) fn stamp(
        &mut self,
        stamp: Stamp,
        gap: Option<Gap>,
        usual: &Usual,
        costs: &FormCosts,
    ) {
        let cost = stamp.cost(costs);
        let since = since(self.entry, stamp.time);
        let gap = gap.unwrap_or(Gap { ticks: since, unsure: self.step, is_mean: false });
        let mut apart = self.after + self.owed + cost.before_ticks;
        self.owed = 0.0;
        if gap.is_mean && apart > gap.ticks {
            // On average no more can be cut than passed; as far as that is not known, it remains to be.
            self.owed = (apart - gap.ticks).min(gap.unsure);
            apart = gap.ticks;
        }
        self.shift += apart;
        for holder in [&mut self.stored, &mut self.begun].into_iter().flatten() {
            holder.pass(gap, cost);
        }
        let on_average = gap.is_mean.then_some(gap.ticks - apart);
        let waited = self.cut_wait(since, on_average, stamp, usual, costs);
        let is_cut_whole = gap.is_mean && gap.ticks - apart - waited <= ROUNDING;
        self.place(since, gap.is_mean, is_cut_whole);
        self.times.push(stamp.time);
        self.after = cost.after_ticks;
        let holder = Some(Holder::new(stamp, cost));
        match stamp.stores {
            Stores::Nothing => {
                if let Some(stored) = &mut self.stored {
                    stored.begin(cost);
                }
                self.begun = holder;
            }
            Stores::Begin | Stores::Record => (self.stored, self.begun) = (holder, None),
        }
    }

    /// Cuts out what a stamp waited for an earlier one, if it may have: what passed on average, where that is
    /// known, or was read to have passed. Returns how much that is.
    fn cut_wait(
        &mut self,
        since: f64,
        on_average: Option<f64>,
        stamp: Stamp,
        usual: &Usual,
        costs: &FormCosts,
    ) -> f64 {
        let mut stored = self.stored.as_mut().and_then(|stored| {
            let wait = stored.wait(stamp, &costs.waits, self.others);
            stored.reach(wait, stamp.stamped, usual).map(|reach| (reach, stored))
        });
        let begun = self.begun.as_mut();
        let nested = costs.waits.nested;
        let held = stored.take().or_else(|| {
            begun.and_then(|begun| {
                begun.reach(nested, stamp.stamped, usual).map(|reach| (reach, begun))
            })
        });
        let Some((reach, holder)) = held else { return 0.0 };
        let at = since - self.shift;
        let mut wait = on_average.unwrap_or(at - self.last).clamp(0.0, reach);
        if on_average.is_some() {
            // Of stamps at one place none is read more than a step behind another.
            let beyond = at - wait - self.low - self.step;
            wait += beyond.clamp(0.0, reach - wait);
        }
        self.shift += wait;
        holder.waited += wait;
        wait
    }

    /// Moves the stamp that was read then to a place of its own, or to that of the last one.
    fn place(&mut self, since: f64, is_mean: bool, is_cut_whole: bool) {
        let behind = self.last - (since - self.shift);
        if behind > 0.0 {
            // Half a tick is rounding, not a region that is too short. Of a clock with steps each of the two
            // readings may be a step off, and what passes on average may not have passed this time.
            self.clamped += u64::from(!is_mean && behind > (2.0 * self.step).max(0.5));
            // What cannot have passed was not cut; what a step may hide remains to be.
            self.shift = self.shift.min(since - self.last + self.step);
        }
        let at = since - self.shift;
        let is_with_last = if is_mean {
            is_cut_whole && at <= self.low + self.step + ROUNDING
        } else {
            at <= self.last + ROUNDING
        };
        let place = Place { at, stamps: 1, read: since };
        match self.places.last_mut().filter(|_| is_with_last) {
            Some(last) => {
                *last = last.with(place);
                self.low = self.low.min(at);
            }
            None => {
                self.places.push(place);
                self.low = at;
            }
        }
        self.last = self.last.max(at);
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
        let mut times = std::mem::take(&mut self.times);
        let mut moved = Moved {
            entry: self.entry,
            ns_per_tick: self.ns_per_tick,
            shift: self.shift + self.after + self.owed,
            last: (0.0, Time { ticks: 0, ns: f64::NEG_INFINITY }),
            times: Vec::new(),
        };
        let mut rest = times.iter_mut();
        for place in &self.places {
            // Nothing comes before the entry, and nothing later than it was read.
            let at = place.at.min(place.read).max(0.0);
            rest.by_ref().take(place.stamps).for_each(|time| *time = moved.move_to(at, *time));
        }
        moved.times = times;
        moved
    }
}

/// Ticks since a warp's entry, few enough to be exact.
fn since(entry: Time, time: Time) -> f64 {
    time.ticks.saturating_sub(entry.ticks) as f64
}

/// A compressed time axis.
pub(super) struct Moved {
    entry: Time,
    ns_per_tick: f64,
    /// Ticks cut out in all.
    shift: f64,
    /// Where the last time was moved to, in ticks since the entry, and that time.
    last: (f64, Time),
    /// What became of each stamp's time.
    times: Vec<Time>,
}

impl Moved {
    /// What became of a stamp's time.
    pub(super) fn time(&self, stamp: usize) -> Time {
        self.times[stamp]
    }

    /// What becomes of a `time` behind all stamps.
    pub(super) fn behind(&mut self, time: Time) -> Time {
        // What the last record cost may lie behind it.
        let at = (since(self.entry, time) - self.shift).max(self.last.0);
        self.move_to(at, time)
    }

    /// What became of the last stamp's time.
    pub(super) fn last(&self) -> Time {
        self.last.1
    }

    /// Moves times in order.
    fn move_to(&mut self, at: f64, time: Time) -> Time {
        let ticks = self.entry.ticks.saturating_add(at.round() as u64);
        let ns = time.ns - (since(self.entry, time) - at) * self.ns_per_tick;
        let last = self.last.1;
        let moved = Time {
            // A lane may have recorded before lane 0 entered.
            ticks: ticks.min(time.ticks).max(last.ticks),
            ns: ns.max(last.ns),
        };
        self.last = (at, moved);
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where places move to, each of one stamp read at a late time.
    fn moved(places: &[f64]) -> Vec<f64> {
        let others = Others::default();
        let mut axis = Axis::new(Time { ticks: 0, ns: 0.0 }, 1.0, 32.0, &others, places.len());
        for &at in places {
            axis.places.push(Place { at, stamps: 1, read: 1000.0 });
            axis.times.push(Time { ticks: 1000, ns: 1000.0 });
        }
        let moved = axis.moved();
        (0..places.len()).map(|stamp| moved.time(stamp).ns).collect()
    }

    #[test]
    fn places_that_cross_become_one_in_their_midst() {
        assert_eq!(moved(&[10.0, 20.0, 30.0]), [10.0, 20.0, 30.0]);
        assert_eq!(moved(&[10.0, 30.0, 20.0, 40.0]), [10.0, 25.0, 25.0, 40.0]);
        // The one that then lies before an earlier one takes that along.
        assert_eq!(moved(&[10.0, 30.0, 40.0, 5.0]), [10.0, 25.0, 25.0, 25.0]);
        assert_eq!(moved(&[30.0, 40.0, 20.0, 10.0, 50.0]), [25.0, 25.0, 25.0, 25.0, 50.0]);
    }

    #[test]
    fn what_lies_behind_all_stamps_moves_by_all_that_was_cut() {
        let others = Others::default();
        let mut axis = Axis::new(Time { ticks: 100, ns: 0.0 }, 1.0, 32.0, &others, 0);
        (axis.shift, axis.after, axis.owed) = (7.0, 5.0, 3.0);
        let exit = Time { ticks: 200, ns: 100.0 };
        assert_eq!(axis.moved().behind(exit), Time { ticks: 185, ns: 85.0 });
    }
}
