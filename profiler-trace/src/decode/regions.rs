//! The regions of a warp on their way from units to the model: how deep each lies in others, and in
//! which order they stand.

use std::cmp::Reverse;

use crate::model::{Region, SiteIndex, Time, Value};
use profiler_wire::record::track_number;

/// Stands for "none" in the columns of a [`RegionTicks`].
pub(super) const NONE: u32 = u32::MAX;

/// A region in ticks, half as large as a [`Region`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RegionTicks {
    pub start: u64,
    /// `u64::MAX` while it is open.
    pub end: u64,
    /// Index into the module's sites.
    pub site: u32,
    /// The track as a record holds it, 0 for the warp's own.
    pub track: u32,
    /// The number of the unit that ended it: of two that end together, the one that ended later
    /// encloses the other. [`NONE`] while it is open.
    pub end_unit: u32,
    /// Index into the warp's values, or [`NONE`].
    pub value: u32,
    /// See [`Sizes`]; of one that is open, which of its lane's units told of it.
    pub size: u32,
    pub depth: u16,
    pub lane: u8,
    pub value_in_record: bool,
}

impl RegionTicks {
    pub(super) fn is_open(&self) -> bool {
        self.end_unit == NONE
    }

    /// Takes the end away from what a unit tells of.
    pub(super) fn open(&mut self, unit: u32) {
        (self.end, self.end_unit, self.size) = (u64::MAX, NONE, unit);
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
            track: track_number(self.track),
            lane: self.lane,
            value_in_record: self.value_in_record,
            depth: self.depth,
            start,
            end,
            value: values.get(self.value as usize).copied(),
        }
    }
}

/// Finds the sizes of regions that stand in the order of their ends: how many of those up to a region,
/// itself among them, did not begin before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// How many of the last regions are of size 1. Each of them began after the one before it.
    run: usize,
}

impl Sizes {
    /// The size of the next region, which begins at `start`; of those that `ended`, the last one did
    /// so at `last_end`, which is 0 if there is none. `None` where regions cross so that this
    /// is not plain to see.
    ///
    /// Those that did not begin before it are the last ones, and the size of each tells where the
    /// next candidate stands.
    #[inline]
    pub(super) fn next(&mut self, ended: &[RegionTicks], last_end: u64, start: u64) -> Option<u32> {
        // What most of them do: to begin after all others.
        if last_end < start {
            self.run += 1;
            return Some(1);
        }
        self.search(ended, start)
    }

    /// No part of the loop that asks for it, which then has more registers.
    #[inline(never)]
    fn search(&mut self, ended: &[RegionTicks], start: u64) -> Option<u32> {
        let mut rest = ended;
        while let [before @ .., last] = rest {
            if last.start < start {
                // What ended earlier began earlier. Where one ends just as the next begins, one in
                // it of no length may begin then as well.
                let inner_end = before.last().filter(|_| last.size > 1).map(|inner| inner.end);
                if last.end > start || last.end == start && inner_end == Some(start) {
                    return None;
                }
                break;
            }
            // Most regions with others in them have all of a run.
            let of_run = ended.len() - self.run;
            let is_run = self.run > 0 && rest.len() == ended.len();
            let first = if is_run && ended[of_run].start >= start {
                of_run
            } else {
                rest.len().saturating_sub(last.size.max(1) as usize)
            };
            rest = &ended[..first];
        }
        let size = ended.len() - rest.len() + 1;
        self.run = if size == 1 { self.run + 1 } else { 0 };
        Some(size as u32)
    }
}

/// Sorts the regions of a lane; its memory is used again for the next one.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// The first regions of the regions around a region.
    around: Vec<u32>,
    /// The first `ordered` are in use.
    order: Vec<u32>,
    ordered: usize,
    sorted: Vec<RegionTicks>,
    depths: Depths,
}

/// Memory to find the depths of regions that are not plain.
#[derive(Debug, Default)]
struct Depths {
    /// Ends of a track's regions, the latest first: of those around a region, or, where regions cross, of
    /// all of them, each once.
    endings: Vec<(u64, u32)>,
    /// Of which of them there are how many regions so far, where regions cross.
    begun: Counts,
}

impl Sorter {
    /// Sets the depths of the regions of one lane, which stand in the order of their begins or ends,
    /// and sorts them: by start, of those that start together the longest first. If they `are_alone`,
    /// they may stay where they are. [`Sorter::order`] says where that is.
    ///
    /// `is_plain` says that they are of one track, in the order of their ends, and each with its
    /// [size](Sizes).
    ///
    /// The depth of a region is how many others of its track contain it. Regions that cross contain
    /// neither the other.
    pub(super) fn sort(&mut self, regions: &mut [RegionTicks], is_plain: bool, are_alone: bool) {
        if !is_plain && !make_plain(regions) {
            sort_any(regions, &mut self.depths);
            self.keep(regions.len());
            return;
        }
        let is_in_order = self.nest(regions);
        if !are_alone && !is_in_order {
            self.sorted.clear();
            self.sorted
                .extend(self.order[..regions.len()].iter().map(|index| regions[*index as usize]));
            regions.copy_from_slice(&self.sorted);
        }
    }

    /// Says that so many regions stand in their order.
    pub(super) fn keep(&mut self, count: usize) {
        self.lengthen(count);
        for (index, place) in (0..).zip(&mut self.order[..count]) {
            *place = index;
        }
    }

    /// Makes the order one of so many regions, whatever it then says.
    fn lengthen(&mut self, count: usize) {
        if self.order.len() < count {
            self.order.resize(count, 0);
        }
        self.ordered = count;
    }

    /// The indices in which the regions are in order.
    pub(super) fn order(&self) -> &[u32] {
        &self.order[..self.ordered]
    }

    /// Sorts plain regions, in linear time.
    ///
    /// The place of a region is how many of those that ended before it began before it, and how
    /// many of those that ended later did not begin later. The latter also contain it: they are its
    /// depth.
    ///
    /// Returns whether they stand in order already.
    fn nest(&mut self, regions: &mut [RegionTicks]) -> bool {
        self.lengthen(regions.len());
        let order = &mut self.order[..regions.len()];
        let mut is_in_order = true;
        self.around.clear();
        // The last of them, and how many there are. No index is below 0.
        let (mut innermost, mut depth) = (0, 0);
        for (index, region) in (0..regions.len() as u32).zip(regions).rev() {
            while innermost > index {
                self.around.pop();
                innermost = self.around.last().copied().unwrap_or(0);
                depth -= 1;
            }
            region.depth = u16::try_from(depth).unwrap_or(u16::MAX);
            let first = index + 1 - region.size;
            order[(first + depth) as usize] = index;
            if region.size > 1 {
                // Those in it stand before it, and belong after it.
                is_in_order = false;
                self.around.push(first);
                (innermost, depth) = (first, depth + 1);
            }
        }
        is_in_order
    }
}

/// Puts regions in the order of their ends, and tells whether they are plain then.
fn make_plain(regions: &mut [RegionTicks]) -> bool {
    if !regions.iter().all(|region| region.track == 0 && !region.is_open()) {
        return false;
    }
    // What has a record for its begin stands where it began. A stable sort takes little time over what is sorted.
    regions.sort_by_key(|region| region.end_unit);
    let mut sizes = Sizes::default();
    if !regions.is_sorted_by_key(|region| region.end) {
        return false;
    }
    for at in 0..regions.len() {
        let (ended, rest) = regions.split_at_mut(at);
        let last_end = ended.last().map_or(0, |last| last.end);
        match sizes.next(ended, last_end, rest[0].start) {
            Some(size) => rest[0].size = size,
            None => return false,
        }
    }
    true
}

/// The same for any regions, in n log n steps, whatever crosses.
fn sort_any(regions: &mut [RegionTicks], depths: &mut Depths) {
    regions.sort_by_key(|region| {
        let opened_by = if region.is_open() { region.size } else { 0 };
        (region.track, region.start, Reverse(region.ending()), opened_by)
    });
    for track in regions.chunk_by_mut(|left, right| left.track == right.track) {
        if !depths.set_of_nested(track) {
            depths.set_of_any(track);
        }
    }
    sort_lanes(regions);
}

impl Depths {
    /// Sets the depths of a track's regions, which are sorted, if each of them ends before the next one
    /// begins or contains it. Returns whether that is so; otherwise depths are not to be relied upon.
    fn set_of_nested(&mut self, track: &mut [RegionTicks]) -> bool {
        // Of those that contain the last region, and of that itself: none ends before the next.
        let around = &mut self.endings;
        around.clear();
        for region in track {
            let ending = region.ending();
            while let Some(innermost) = around.pop_if(|innermost| *innermost < ending) {
                // One that ends where this begins may contain a later one that has no length.
                if innermost.0 >= region.start {
                    return false;
                }
            }
            region.depth = u16::try_from(around.len()).unwrap_or(u16::MAX);
            around.push(ending);
        }
        true
    }

    /// Sets the depths of a track's regions, which are sorted.
    fn set_of_any(&mut self, track: &mut [RegionTicks]) {
        let Self { endings, begun } = self;
        endings.clear();
        endings.extend(track.iter().map(RegionTicks::ending));
        endings.sort_unstable_by_key(|ending| Reverse(*ending));
        endings.dedup();
        begun.clear(endings.len());
        for region in track {
            // Whatever began before it, or with it, and does not end before it contains it.
            let ending = region.ending();
            let place = endings.partition_point(|other| *other > ending);
            let depth = begun.up_to(place);
            region.depth = u16::try_from(depth).unwrap_or(u16::MAX);
            begun.count(place);
        }
    }
}

/// Counts at places in a row, of which sums from the first one on are asked for: a Fenwick tree (Fenwick,
/// "A New Data Structure for Cumulative Frequency Tables", 1994), in which either takes log n steps.
#[derive(Debug, Default)]
struct Counts(Vec<u32>);

impl Counts {
    /// So many places, all of them zero.
    fn clear(&mut self, places: usize) {
        self.0.clear();
        self.0.resize(places, 0);
    }

    /// Counts one at a place.
    fn count(&mut self, place: usize) {
        let mut at = place;
        while let Some(count) = self.0.get_mut(at) {
            *count += 1;
            at |= at + 1;
        }
    }

    /// How many were counted up to a place, itself among them.
    fn up_to(&self, place: usize) -> u32 {
        let (mut sum, mut after) = (0, place + 1);
        while after > 0 {
            sum += self.0[after - 1];
            after &= after - 1;
        }
        sum
    }
}

/// Sorts the regions of several lanes, each of which is sorted; of those that start and end together
/// the first stays first.
pub(super) fn sort_lanes(regions: &mut [RegionTicks]) {
    regions.sort_by_key(|region| (region.start, Reverse(region.end)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{NONE, RegionTicks, Reverse, Sorter, sort_lanes};

    /// Regions of one lane in the order of their records, from the begin and length of each, whether
    /// its begin is a record of its own, and its track.
    fn regions(spans: &[(u64, u64, bool, u32)]) -> Vec<RegionTicks> {
        let mut regions: Vec<(RegionTicks, bool)> = spans
            .iter()
            .map(|&(start, length, has_begin, track)| {
                let end = start + length;
                (
                    RegionTicks { start, end, track, value: NONE, ..RegionTicks::default() },
                    has_begin,
                )
            })
            .collect();
        regions.sort_by_key(|(region, _)| region.end);
        for (unit, (region, _)) in (0..).zip(&mut regions) {
            region.end_unit = unit;
        }
        regions.sort_by_key(
            |(region, has_begin)| {
                if *has_begin { region.start } else { region.end }
            },
        );
        regions.into_iter().map(|(region, _)| region).collect()
    }

    fn sorted(regions: &[RegionTicks], is_alone: bool) -> Vec<RegionTicks> {
        let mut sorter = Sorter::default();
        // Memory of another lane must not show.
        sorter.sort(&mut [RegionTicks { end: 5, ..RegionTicks::default() }; 3], false, true);
        let mut regions = regions.to_vec();
        sorter.sort(&mut regions, false, is_alone);
        if !is_alone {
            sorter.keep(regions.len());
        }
        let order = sorter.order().iter();
        let mut sorted: Vec<RegionTicks> = order.map(|index| regions[*index as usize]).collect();
        sorted.iter_mut().for_each(|region| region.size = 0);
        sorted
    }

    /// By the definition of a depth, each region held against all before it.
    fn by_search(regions: &[RegionTicks]) -> Vec<RegionTicks> {
        let mut regions = regions.to_vec();
        regions.sort_by_key(|region| (region.track, region.start, Reverse(region.ending())));
        for at in 0..regions.len() {
            let (before, region) = (&regions[..at], regions[at]);
            let contains = |other: &&RegionTicks| {
                other.track == region.track && other.ending() >= region.ending()
            };
            regions[at].depth = before.iter().filter(contains).count() as u16;
        }
        sort_lanes(&mut regions);
        regions
    }

    proptest! {
        /// What is plain is sorted as anything is, whatever crosses, touches or is empty.
        #[test]
        fn both_ways_sort_alike(
            spans in prop::collection::vec((0_u64..30, 0_u64..12, any::<bool>(), 0_u32..8), 0..60),
            open in prop::collection::vec(prop::bool::weighted(0.2), 60),
            with_begins: bool,
            with_open: bool,
            is_alone: bool,
        ) {
            let spans: Vec<_> = spans
                .into_iter()
                .map(|(start, length, has_begin, track)| {
                    (start, length, has_begin && with_begins, track.saturating_sub(5))
                })
                .collect();
            let mut all = regions(&spans);
            for (region, _) in all.iter_mut().zip(open).filter(|(_, open)| *open && with_open) {
                region.open(0);
            }
            prop_assert_eq!(sorted(&all, is_alone), by_search(&all));
            let own: Vec<RegionTicks> = all.into_iter().filter(|region| region.track == 0).collect();
            prop_assert_eq!(sorted(&own, is_alone), by_search(&own));
        }
    }

    /// Few random sets are plain, or nest on a track; of these many are, and do.
    #[test]
    fn all_sets_of_four_short_regions_sort_alike() {
        const STARTS: u64 = 4;
        const LENGTHS: u64 = 4;
        const SPANS: u64 = STARTS * LENGTHS;
        for (set, track) in (0..SPANS.pow(4)).flat_map(|set| [(set, 0), (set, 1)]) {
            let span = |number| {
                let span = set / SPANS.pow(number) % SPANS;
                (span / LENGTHS, span % LENGTHS, false, track)
            };
            let all = regions(&[0, 1, 2, 3].map(span));
            assert_eq!(sorted(&all, true), by_search(&all), "{all:?}");
        }
    }

    /// Those of lane 0 that all lanes began stand after its own ones, whenever their records were written.
    #[test]
    fn open_regions_that_began_at_once_lie_in_each_other_as_their_units_say() {
        let mut all = [2, 0, 1].map(|unit| {
            let mut region = RegionTicks { start: 5, site: unit, ..RegionTicks::default() };
            region.open(unit);
            region
        });
        Sorter::default().sort(&mut all, false, false);
        assert_eq!(all.map(|region| (region.site, region.depth)), [(0, 0), (1, 1), (2, 2)]);
    }

    #[test]
    fn what_nests_is_plain_and_what_crosses_is_not() {
        let is_plain = |spans: &[(u64, u64)]| {
            let spans: Vec<_> =
                spans.iter().map(|&(start, length)| (start, length, false, 0)).collect();
            super::make_plain(&mut regions(&spans))
        };
        assert!(is_plain(&[(0, 90), (10, 20), (11, 2), (40, 9), (49, 0), (49, 3), (90, 5)]));
        assert!(is_plain(&[(5, 0), (5, 0), (5, 4)]));
        assert!(!is_plain(&[(0, 10), (5, 10)]));
        assert!(is_plain(&[(0, 5), (5, 0), (5, 4)]));
        // The last begins where the one in the region before it does.
        assert!(!is_plain(&[(5, 0), (0, 5), (5, 4)]));
        let mut sorter = Sorter::default();
        let mut nested =
            regions(&[(0, 90, false, 0), (10, 20, false, 0), (11, 2, false, 0), (40, 9, false, 0)]);
        sorter.sort(&mut nested, false, true);
        assert_eq!(sorter.order(), [3, 1, 0, 2]);
    }
}
