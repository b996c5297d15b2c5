//! How deep regions lie in each other.

use crate::model::Region;

/// A region, and which of its lane's units ended it: of two that end together, the one that ended
/// later encloses the other.
pub(super) struct Ended {
    pub region: Region,
    pub end_unit: u32,
}

impl Ended {
    fn end(&self) -> (u64, u32) {
        (self.region.end.map_or(u64::MAX, |end| end.ticks), self.end_unit)
    }
}

/// Sets the depth of the regions of one lane: how many of the same track contain them. Regions that
/// cross contain neither the other.
pub(super) fn set(regions: &mut [Ended]) {
    regions.sort_by(|left, right| {
        let by_start = left.region.start.ticks.cmp(&right.region.start.ticks);
        left.region.track.cmp(&right.region.track).then(by_start).then(right.end().cmp(&left.end()))
    });
    for track in regions.chunk_by_mut(|left, right| left.region.track == right.region.track) {
        // Ends of the regions that still run, the latest first.
        let mut running: Vec<(u64, u32)> = Vec::new();
        for ended in track {
            while running.last().is_some_and(|end| end.0 < ended.region.start.ticks) {
                running.pop();
            }
            let end = ended.end();
            let depth = running.partition_point(|other| *other >= end);
            ended.region.depth = u16::try_from(depth).unwrap_or(u16::MAX);
            running.insert(depth, end);
        }
    }
}
