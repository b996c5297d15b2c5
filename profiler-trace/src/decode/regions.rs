//! The regions of a warp on their way from units to the model: how deep each lies in others, and in
//! which order they stand.

use std::cmp::Reverse;

use crate::model::{Region, RegionForm, SiteIndex, Time, Value};
use profiler_wire::record::track_number;

/// What stands for "none" in the columns of a [`Raw`].
pub(super) const NONE: u32 = u32::MAX;

/// A region in ticks, half as large as a [`Region`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Raw {
    pub start: u64,
    /// `u64::MAX` while it is open.
    pub end: u64,
    /// Index into the module's sites.
    pub site: u32,
    /// The track as a record holds it, 0 for the warp's own.
    pub track: u32,
    /// Which of its lane's units ended it: of two that end together, the one that ended later
    /// encloses the other. [`NONE`] while it is open.
    pub end_unit: u32,
    /// Index into the warp's values, or [`NONE`].
    pub value: u32,
    pub depth: u16,
    pub lane: u8,
    pub is_token: bool,
}

impl Raw {
    pub(super) fn is_open(&self) -> bool {
        self.end_unit == NONE
    }

    fn ending(&self) -> (u64, u32) {
        (self.end, self.end_unit)
    }

    /// The region of the model.
    #[inline]
    pub(super) fn region(
        &self,
        first_site: u32,
        values: &[Value],
        start: Time,
        end: Option<Time>,
    ) -> Region {
        Region {
            site: SiteIndex(first_site + self.site),
            form: if self.is_token { RegionForm::Token } else { RegionForm::Block },
            track: track_number(self.track),
            lane: self.lane,
            depth: self.depth,
            start,
            end,
            value: values.get(self.value as usize).copied(),
        }
    }
}

/// Regions whose begins do not lie before `start`, and which follow one another in the order of
/// their ends.
#[derive(Clone, Copy, Debug)]
struct Group {
    start: u64,
    /// The latest begin of one of them.
    last_start: u64,
    count: u32,
}

/// Sorts the regions of a lane; its memory is used again for the next one.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    groups: Vec<Group>,
    /// Of each region, how many of those that ended before it began before it.
    before: Vec<u32>,
    /// Whether [`Sorter::ended`] cannot tell that of some region, as it crosses others.
    is_lost: bool,
    starts: Vec<u64>,
    /// The first [`Sorter::ordered`] are in use.
    order: Vec<u32>,
    ordered: usize,
    sorted: Vec<Raw>,
}

/// How many regions that cross one another the direct way looks at before it gives up.
const CROSSING_MAX: usize = 32;

impl Sorter {
    /// Begins with a lane.
    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.before.clear();
        self.is_lost = false;
    }

    /// Takes the begin of the region that ended next.
    #[inline]
    pub(super) fn ended(&mut self, start: u64) {
        let mut group = Group { start, last_start: start, count: 1 };
        while let Some(last) = self.groups.last() {
            if last.start < start {
                self.is_lost |= last.last_start >= start;
                break;
            }
            group.last_start = group.last_start.max(last.last_start);
            group.count += last.count;
            self.groups.pop();
        }
        let number = self.before.len() as u32;
        self.before.push(number + 1 - group.count);
        self.groups.push(group);
    }

    /// Sets the depths of the regions of one lane, which stand in the order of their begins or ends,
    /// and sorts them: by start, of those that start together the longest first. If they `are_alone`,
    /// they may stay where they are, and [`Sorter::order`] says where that is.
    ///
    /// `is_plain` says that they are of one track and in the order of their ends, in which
    /// [`Sorter::ended`] took them.
    ///
    /// The depth of a region is how many others of its track contain it. Regions that cross contain
    /// neither the other.
    pub(super) fn sort(&mut self, regions: &mut [Raw], is_plain: bool, are_alone: bool) {
        self.ordered = 0;
        if !(is_plain || self.make_plain(regions)) || self.is_lost || !self.nest(regions) {
            sort_any(regions);
            self.ordered = 0;
        } else if !are_alone && self.ordered > 0 {
            self.sorted.clear();
            let order = &self.order[..self.ordered];
            self.sorted.extend(order.iter().map(|index| regions[*index as usize]));
            regions.copy_from_slice(&self.sorted);
            self.ordered = 0;
        }
    }

    /// The indices of the regions of the last lane in their order; empty if they stand in order.
    pub(super) fn order(&self) -> &[u32] {
        &self.order[..self.ordered]
    }

    /// Puts regions of one track in the order of their ends, if all have one.
    fn make_plain(&mut self, regions: &mut [Raw]) -> bool {
        if !regions.iter().all(|region| region.track == 0 && !region.is_open()) {
            return false;
        }
        // Tokens stand where they began. A stable sort takes little time over what is sorted.
        regions.sort_by_key(|region| region.end_unit);
        self.clear();
        regions.iter().for_each(|region| self.ended(region.start));
        regions.is_sorted_by_key(|region| region.end)
    }

    /// Of plain regions, in linear time; `false`, and nothing done but depths, where too many cross.
    ///
    /// The place of a region is how many of those that ended before it began before it, and how
    /// many of those that ended later did not begin later. The latter also contain it: they are its
    /// depth.
    fn nest(&mut self, regions: &mut [Raw]) -> bool {
        if self.order.len() < regions.len() {
            self.order.resize(regions.len(), 0);
        }
        let mut is_in_order = true;
        // Begins of the regions that ended later and did not begin behind this one's end, in order.
        self.starts.clear();
        let count = regions.len() as u32;
        let numbered = (0..count).zip(regions.iter_mut()).zip(&self.before);
        for ((index, region), before) in numbered.rev() {
            while self.starts.last().is_some_and(|start| *start > region.end) {
                self.starts.pop();
            }
            let behind = self.starts.iter().rev().take(CROSSING_MAX);
            let behind = behind.take_while(|start| **start > region.start).count();
            if behind == CROSSING_MAX {
                return false;
            }
            let depth = self.starts.len() - behind;
            region.depth = u16::try_from(depth).unwrap_or(u16::MAX);
            if behind == 0 {
                self.starts.push(region.start);
            } else {
                self.starts.insert(depth, region.start);
            }
            let place = before + depth as u32;
            is_in_order &= place == index;
            self.order[place as usize] = index;
        }
        self.ordered = if is_in_order { 0 } else { regions.len() };
        true
    }
}

/// The same for any regions.
fn sort_any(regions: &mut [Raw]) {
    regions.sort_by_key(|region| (region.track, region.start, Reverse(region.ending())));
    for track in regions.chunk_by_mut(|left, right| left.track == right.track) {
        // Ends of the regions that still run, the latest first.
        let mut running: Vec<(u64, u32)> = Vec::new();
        for region in track {
            while running.last().is_some_and(|end| end.0 < region.start) {
                running.pop();
            }
            let end = region.ending();
            let depth = running.partition_point(|other| *other >= end);
            region.depth = u16::try_from(depth).unwrap_or(u16::MAX);
            running.insert(depth, end);
        }
    }
    sort_lanes(regions);
}

/// Sorts the regions of several lanes, each of which is sorted; of those that start and end together
/// the first stays first.
pub(super) fn sort_lanes(regions: &mut [Raw]) {
    regions.sort_by_key(|region| (region.start, Reverse(region.end)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{NONE, Raw, Sorter, sort_any};

    /// Regions of one lane in the order of their records, from the begin and length of each, whether
    /// it is a token's, and its track.
    fn regions(spans: &[(u64, u64, bool, u32)]) -> Vec<Raw> {
        let mut regions: Vec<Raw> = spans
            .iter()
            .map(|&(start, length, is_token, track)| Raw {
                start,
                end: start + length,
                track,
                is_token,
                value: NONE,
                ..Raw::default()
            })
            .collect();
        regions.sort_by_key(|region| region.end);
        for (unit, region) in (0..).zip(&mut regions) {
            region.end_unit = unit;
        }
        regions.sort_by_key(|region| if region.is_token { region.start } else { region.end });
        regions
    }

    fn sorted(regions: &[Raw], is_alone: bool) -> Vec<Raw> {
        let mut sorter = Sorter::default();
        // Memory of another lane must not show.
        sorter.sort(&mut [Raw { end: 5, ..Raw::default() }; 3], false, true);
        sorter.clear();
        let mut regions = regions.to_vec();
        let is_plain = regions.is_sorted_by_key(|region| region.end_unit)
            && regions.iter().all(|region| region.track == 0);
        regions.iter().for_each(|region| sorter.ended(region.start));
        sorter.sort(&mut regions, is_plain, is_alone);
        match sorter.order() {
            [] => regions,
            order => order.iter().map(|index| regions[*index as usize]).collect(),
        }
    }

    fn by_search(regions: &[Raw]) -> Vec<Raw> {
        let mut regions = regions.to_vec();
        sort_any(&mut regions);
        regions
    }

    proptest! {
        /// The direct way sorts as the general one does, whatever crosses, touches or is empty.
        #[test]
        fn both_ways_sort_alike(
            spans in prop::collection::vec((0_u64..30, 0_u64..12, any::<bool>(), 0_u32..8), 0..60),
            with_tokens: bool,
            is_alone: bool,
        ) {
            let spans: Vec<_> = spans
                .into_iter()
                .map(|(start, length, is_token, track)| {
                    (start, length, is_token && with_tokens, track.saturating_sub(5))
                })
                .collect();
            let all = regions(&spans);
            prop_assert_eq!(sorted(&all, is_alone), by_search(&all));
            let own: Vec<Raw> = all.into_iter().filter(|region| region.track == 0).collect();
            prop_assert_eq!(sorted(&own, is_alone), by_search(&own));
        }
    }

    #[test]
    fn what_nests_is_sorted_directly_and_what_crosses_too_much_is_not() {
        let nested =
            regions(&[(0, 90, false, 0), (10, 20, false, 0), (11, 2, false, 0), (40, 9, false, 0)]);
        let mut sorter = Sorter::default();
        sorter.clear();
        nested.iter().for_each(|region| sorter.ended(region.start));
        assert!(!sorter.is_lost && sorter.nest(&mut nested.clone()));
        assert_eq!(sorter.order(), [3, 1, 0, 2]);
        let crossing: Vec<_> = (0..100).map(|at| (at, 100, false, 0)).collect();
        let crossing = regions(&crossing);
        sorter.clear();
        crossing.iter().for_each(|region| sorter.ended(region.start));
        assert!(!sorter.nest(&mut crossing.clone()));
        assert_eq!(sorted(&crossing, true), by_search(&crossing));
    }
}
