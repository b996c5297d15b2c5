//! What other warps of an SM stored while a warp waited.

use std::borrow::Borrow;
use std::cell::Cell;
use std::collections::HashMap;

use profiler_wire::header::Clock;

use super::buffer_of;
use crate::model::{Buffer, Launch, Region, Site, Trace, Warp};
use crate::record_cost::StampWait;

/// Cycles by which a stamp may wait longer for each unit that another warp of its SM stores meanwhile. On an H200 all
/// but 0.02 % of the stamps of 8 warps that record at once were within that, and all but 0.2 % of 16 warps'
/// (docs/measurements/truth.md).
const CYCLES_OF_UNIT: f64 = 4.0;
/// No more units than this hold up one stamp: two of each warp that an SM can have. Where warps store records all
/// the time, each has no more underway.
const UNITS_MAX: usize = 128;
/// More ticks than a stamp waits for another warp.
const LONGEST_WAIT: u64 = 1 << 12;

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
    let all = regions.chain(marks).chain(anchors);
    let mut records: Vec<(u64, usize)> = Vec::with_capacity(all.size_hint().1.unwrap_or(0));
    records.extend(all);
    records.sort_unstable();
    records.dedup_by(|later, earlier| {
        let is_one = later.0 == earlier.0;
        if is_one {
            // Not less than what it has.
            earlier.1 = later.1;
        }
        is_one
    });
    let mut all = Vec::with_capacity(records.iter().map(|record| record.1).sum());
    all.extend(records.into_iter().flat_map(|(at, units)| std::iter::repeat_n(at, units)));
    all
}

/// What the other warps on a warp's SM stored.
#[derive(Default)]
pub(super) struct Others {
    /// When they stored each unit, in order.
    units: Vec<u64>,
    ticks_per_cycle: f64,
    /// The first unit that was counted last: stamps ask in order.
    first: Cell<usize>,
}

impl Others {
    /// Those beside a warp that records to a buffer; `ticks_per_cycle` is of its clock.
    pub(super) fn of(stored: &Stored, warp: &Warp, buffer: Buffer, ticks_per_cycle: f64) -> Self {
        let all = match buffer {
            Buffer::Global => stored.beside(warp),
            Buffer::Host => &[],
        };
        let own = if all.is_empty() { Vec::new() } else { units_of(warp, &warp.regions) };
        let (Some(&begin), Some(&end)) = (own.first(), own.last()) else { return Self::default() };
        // What they stored long before its first record or behind its last one holds up none of its stamps.
        let begin = begin.saturating_sub(LONGEST_WAIT);
        let from = all.partition_point(|&at| at < begin);
        let to = all.partition_point(|&at| at <= end.saturating_add(LONGEST_WAIT));
        let mut units = Vec::with_capacity((to - from).saturating_sub(own.len()));
        let mut own = own.into_iter().peekable();
        let is_other = |at: &&u64| own.next_if_eq(*at).is_none();
        units.extend(all[from..to].iter().filter(is_other));
        Self { units, ticks_per_cycle, first: Cell::new(0) }
    }

    /// How long a stamp at `to` may have waited for what its warp stored at `from`, that would wait so long if
    /// few others recorded.
    ///
    /// It waits as well for what others stored shortly before, which may not have been taken yet, and for what
    /// they store until it has waited for all that.
    pub(super) fn lengthen(&self, alone: StampWait, from: u64, to: u64) -> StampWait {
        if alone.reach_ticks().is_none() {
            return alone;
        }
        let start = from.saturating_sub(alone.most_ticks.ceil() as u64);
        let mut most_ticks = alone.most_ticks;
        for &at in self.units_since(start).iter().take(UNITS_MAX) {
            // By then it has waited for all before.
            if at >= to || at >= from.saturating_add(most_ticks.ceil() as u64) {
                break;
            }
            most_ticks += CYCLES_OF_UNIT * self.ticks_per_cycle;
        }
        StampWait { most_ticks, ..alone }
    }

    /// Those that others stored at that time or later.
    fn units_since(&self, start: u64) -> &[u64] {
        let before = |units: &[u64]| units.partition_point(|&at| at < start);
        let first = self.first.get();
        let (earlier, later) = self.units.split_at(first);
        let is_later = earlier.last().is_none_or(|&at| at < start);
        let first = if is_later {
            first + later.iter().take_while(|&&at| at < start).count()
        } else {
            before(earlier)
        };
        self.first.set(first);
        &self.units[first..]
    }
}

#[cfg(test)]
mod tests;
