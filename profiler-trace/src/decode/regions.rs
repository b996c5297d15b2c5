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
        mut time: impl FnMut(u64) -> Time,
    ) -> Region {
        Region {
            site: SiteIndex(first_site + self.site),
            form: if self.is_token { RegionForm::Token } else { RegionForm::Block },
            track: track_number(self.track),
            lane: self.lane,
            depth: self.depth,
            start: time(self.start),
            end: (!self.is_open()).then(|| time(self.end)),
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

/// Memory that is used again for each lane.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    groups: Vec<Group>,
    /// Of each region, how many of those that ended before it began before it; then its place.
    places: Vec<u32>,
    starts: Vec<u64>,
    sorted: Vec<Raw>,
}

/// How many regions that cross one another the direct way looks at before it gives up.
const CROSSING_MAX: usize = 32;

impl Sorter {
    /// Sets the depths of the regions of one lane, which stand in the order of their begins or ends,
    /// and sorts them: by start, of those that start together the longest first.
    ///
    /// The depth of a region is how many others of its track contain it. Regions that cross contain
    /// neither the other.
    pub(super) fn sort(&mut self, regions: &mut [Raw]) {
        let is_plain = regions.iter().all(|region| region.track == 0 && region.end_unit != NONE);
        let is_plain = is_plain && {
            // Tokens stand where they began. A stable sort takes little time over what is sorted.
            if !regions.is_sorted_by_key(|region| region.end_unit) {
                regions.sort_by_key(|region| region.end_unit);
            }
            regions.is_sorted_by_key(|region| region.end)
        };
        if !(is_plain && self.nest(regions)) {
            sort_any(regions);
        }
    }

    /// Of regions of one track in the order of their ends, in linear time; `false`, and nothing
    /// done but depths, where too many cross.
    ///
    /// The place of a region is how many of those that ended before it began before it, and how
    /// many of those that ended later did not begin later. The latter also contain it: they are its
    /// depth.
    fn nest(&mut self, regions: &mut [Raw]) -> bool {
        self.groups.clear();
        self.places.clear();
        let mut in_order = true;
        for (at, region) in (0_u32..).zip(regions.iter()) {
            let mut group = Group { start: region.start, last_start: region.start, count: 1 };
            while let Some(last) = self.groups.last() {
                if last.start < region.start {
                    if last.last_start >= region.start {
                        return false;
                    }
                    break;
                }
                group.last_start = group.last_start.max(last.last_start);
                group.count += last.count;
                self.groups.pop();
            }
            in_order &= group.count == 1;
            self.places.push(at + 1 - group.count);
            self.groups.push(group);
        }
        // Begins of the regions that ended later and did not begin behind this one's end, in order.
        self.starts.clear();
        for (region, place) in regions.iter_mut().zip(&mut self.places).rev() {
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
            in_order &= depth == 0;
            *place += depth as u32;
        }
        if in_order {
            return true;
        }
        if self.sorted.len() < regions.len() {
            self.sorted.resize(regions.len(), Raw::default());
        }
        for (region, place) in regions.iter().zip(&self.places) {
            self.sorted[*place as usize] = *region;
        }
        regions.copy_from_slice(&self.sorted[..regions.len()]);
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
