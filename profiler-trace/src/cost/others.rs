//! What other warps of an SM stored while a warp waited.

use std::borrow::Borrow;
use std::collections::HashMap;

use profiler_wire::header::Clock;

use super::buffer_of;
use crate::model::{Buffer, Launch, Region, Site, Trace, Warp};
use crate::record_cost::{Election, StampWait};

/// Cycles by which a stamp may wait longer for each unit that another warp of its SM stores meanwhile. On an H200 all
/// but 0.02 % of the stamps of 8 warps that record at once were within that, and all but 0.2 % of 16 warps'
/// (docs/measurements/truth.md).
const CYCLES_OF_UNIT: f64 = 4.0;
/// The same of a stamp by which lanes share a record: they vote first, and so do those of the other warps. All but 1 %
/// and 8 % were within it. More would cover more, and take more work for a wait.
const CYCLES_OF_SHARED_UNIT: f64 = 6.0;
/// No more units than this hold up one stamp: two of each warp that an SM can have. Where warps store records all
/// the time, each has no more underway.
const UNITS_MAX: usize = 128;

/// When the warps of each SM stored units in memory of the GPU, by each clock.
#[derive(Debug, Default)]
pub(crate) struct Stored(HashMap<(u32, Clock), Vec<u64>>);

impl Stored {
    /// What all warps of a trace stored.
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut stored = Self::default();
        for warp in &trace.warps {
            stored.add(warp, &trace.launches, &trace.sites, &warp.regions);
        }
        stored.sort();
        stored
    }

    /// Adds what a warp stored: these regions, and all else that it has itself.
    pub(crate) fn add(
        &mut self,
        warp: &Warp,
        launches: &[Launch],
        sites: &[Site],
        regions: impl IntoIterator<Item: Borrow<Region>>,
    ) {
        // What goes to the host waits for the bus.
        if buffer_of(warp, launches, sites) == Buffer::Global {
            let units = units_of(warp, regions);
            self.0.entry((warp.sm, warp.clock)).or_default().extend(units);
        }
    }

    /// Adds all that the other has.
    pub(crate) fn append(&mut self, other: Self) {
        for (place, mut units) in other.0 {
            self.0.entry(place).or_default().append(&mut units);
        }
    }

    /// To be called once all is added.
    pub(crate) fn sort(&mut self) {
        self.0.values_mut().for_each(|units| units.sort_unstable());
    }

    fn beside(&self, warp: &Warp) -> &[u64] {
        self.0.get(&(warp.sm, warp.clock)).map_or(&[], Vec::as_slice)
    }
}

/// When a warp stored each of its units, in order. What its lanes store at one time is one record, of which each
/// stores its own or lane 0 one for all.
fn units_of(warp: &Warp, regions: impl IntoIterator<Item: Borrow<Region>>) -> Vec<u64> {
    let of_region =
        |region: &Region| Some((region.end?.ticks, 1 + usize::from(region.has_value_apart())));
    let regions = regions.into_iter().filter_map(|region| of_region(region.borrow()));
    let marks = warp.marks.iter().map(|mark| (mark.time.ticks, 1));
    let anchors = warp.anchors.iter().map(|anchor| (anchor.time.ticks, 1));
    let mut records: Vec<(u64, usize)> = regions.chain(marks).chain(anchors).collect();
    // Of those at one time the one of most units stays.
    records.sort_unstable_by(|left, right| right.cmp(left));
    records.dedup_by_key(|record| record.0);
    let units = records.into_iter().rev();
    units.flat_map(|(at, units)| std::iter::repeat_n(at, units)).collect()
}

/// What the other warps on a warp's SM stored.
#[derive(Default)]
pub(super) struct Others<'s> {
    /// The units of all warps, this one's among them.
    all: &'s [u64],
    /// Those of the warp itself.
    own: Vec<u64>,
    ticks_per_cycle: f64,
}

impl<'s> Others<'s> {
    /// Those beside a warp that records to a buffer; `ticks_per_cycle` is of its clock.
    pub(super) fn of(
        stored: &'s Stored,
        warp: &Warp,
        buffer: Buffer,
        ticks_per_cycle: f64,
    ) -> Self {
        let all = match buffer {
            Buffer::Global => stored.beside(warp),
            Buffer::Host => &[],
        };
        let own = if all.is_empty() { Vec::new() } else { units_of(warp, &warp.regions) };
        Self { all, own, ticks_per_cycle }
    }

    /// How long a stamp at `to` may have waited for what its warp stored at `from`, that would wait so long if
    /// few others recorded.
    ///
    /// It waits as well for what others stored shortly before, which may not have been taken yet, and for what
    /// they store until it has waited for all that.
    pub(super) fn lengthen(
        &self,
        alone: StampWait,
        election: Election,
        from: u64,
        to: u64,
    ) -> StampWait {
        if self.all.len() == self.own.len() || alone.reach_ticks().is_none() {
            return alone;
        }
        let cycles = match election {
            Election::AllLanes => CYCLES_OF_SHARED_UNIT,
            Election::OneLane | Election::Elected => CYCLES_OF_UNIT,
        };
        let start = from.saturating_sub(alone.most_ticks.ceil() as u64);
        let mut most_ticks = alone.most_ticks;
        loop {
            let until = from.saturating_add(most_ticks.ceil() as u64).min(to);
            let units = self.between(start, until).min(UNITS_MAX);
            let longer = alone.most_ticks + units as f64 * cycles * self.ticks_per_cycle;
            // Each turn counts at least one unit more.
            if longer <= most_ticks {
                return StampWait { most_ticks, ..alone };
            }
            most_ticks = longer;
        }
    }

    /// How many units others stored from one time up to another.
    fn between(&self, from: u64, to: u64) -> usize {
        let count = |units: &[u64]| {
            let before = |time: u64| units.partition_point(|&at| at < time);
            before(to).saturating_sub(before(from))
        };
        count(self.all).saturating_sub(count(&self.own))
    }
}

#[cfg(test)]
mod tests;
