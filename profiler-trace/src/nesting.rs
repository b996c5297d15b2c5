//! Nesting: the region that encloses another region or a mark most closely.

use std::collections::HashMap;

use crate::model::{Mark, Region};
use crate::sequence::Sequence;

/// A lane and its track.
type Recorder = (u8, Option<u32>);

/// Lanes and tracks whose memory is used again for the next warp.
const MOST_KEPT: usize = 64;

/// A region that had not ended when the last one began.
#[derive(Debug)]
struct Running<What> {
    end: u64,
    what: What,
}

/// Follows the records of one warp and tells in which region each lies: of the regions of the same
/// lane and track that contain it, which [`Region::depth`] counts, the one that ends first.
///
/// Of each region it remembers what the caller makes of it, such as its place in a tree of paths.
///
/// ```
/// # fn parents(warp: &profiler_trace::Warp) -> Vec<Option<usize>> {
/// let mut nesting = profiler_trace::Nesting::new();
/// let mut parents = Vec::new();
/// for (index, region) in warp.regions.iter().enumerate() {
///     nesting.region(region, |parent| {
///         parents.push(parent);
///         index
///     });
/// }
/// # parents }
/// ```
#[derive(Debug)]
pub struct Nesting<What> {
    /// For each lane and track the regions that run, the last to end first.
    running: Vec<(Recorder, Sequence<Running<What>>)>,
    index: HashMap<Recorder, usize>,
    /// The place of the last record.
    last: usize,
}

impl<What> Default for Nesting<What> {
    fn default() -> Self {
        Self { running: Vec::new(), index: HashMap::new(), last: 0 }
    }
}

impl<What: Copy> Nesting<What> {
    /// At the entry of a warp.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins another warp.
    pub fn clear(&mut self) {
        // One warp may record on very many tracks, and all warps after it on none.
        if self.running.len() > MOST_KEPT {
            *self = Self::default();
        } else {
            self.running.iter_mut().for_each(|(_, running)| running.clear());
        }
    }

    /// The next region in the order of [`Warp::regions`](crate::Warp::regions). `make` is told what
    /// is remembered of the region that encloses it, `None` if that is the kernel, and says what is
    /// to be remembered of this one; that is returned too.
    pub fn region(&mut self, region: &Region, make: impl FnOnce(Option<What>) -> What) -> What {
        let running = self.running(region.lane, region.track);
        let end = region.end.map_or(u64::MAX, |end| end.ticks);
        leave(running, region.start.ticks);
        // The decoder's depth also decides where two touch in one tick. The largest stands for all
        // beyond it.
        let enclosing = match region.depth {
            u16::MAX => running.partition_point(|other| other.end >= end),
            depth => usize::from(depth).min(running.len()),
        };
        let parent = enclosing.checked_sub(1).and_then(|parent| running.get(parent));
        let what = make(parent.map(|parent| parent.what));
        running.insert(enclosing, Running { end, what });
        what
    }

    /// A mark at or after the start of the last region and before that of the next: what is
    /// remembered of the region that encloses it, `None` if that is the kernel.
    pub fn mark(&mut self, mark: &Mark) -> Option<What> {
        let running = self.running(mark.lane, mark.track);
        leave(running, mark.time.ticks);
        running.last().map(|running| running.what)
    }

    fn running(&mut self, lane: u8, track: Option<u32>) -> &mut Sequence<Running<What>> {
        let key = (lane, track);
        if self.running.get(self.last).is_none_or(|known| known.0 != key) {
            self.last = *self.index.entry(key).or_insert_with(|| {
                self.running.push((key, Sequence::default()));
                self.running.len() - 1
            });
        }
        &mut self.running[self.last].1
    }
}

/// Forgets what ended before this moment.
fn leave<What>(running: &mut Sequence<Running<What>>, ticks: u64) {
    while running.last().is_some_and(|last| last.end < ticks) {
        running.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::Nesting;
    use crate::model::{Mark, Region, Time};

    fn time(ticks: u64) -> Time {
        Time { ticks, ns: ticks as f64 }
    }

    fn region(lane: u8, track: Option<u32>, start: u64, end: Option<u64>, depth: u16) -> Region {
        let (start, end) = (time(start), end.map(time));
        Region { track, lane, depth, start, end, ..Region::default() }
    }

    fn mark(lane: u8, ticks: u64) -> Mark {
        Mark { lane, time: time(ticks), ..Mark::default() }
    }

    #[test]
    fn the_innermost_region_of_a_lane_and_track_encloses() {
        let regions = [
            region(0, None, 0, Some(100), 0),
            region(0, None, 10, Some(50), 1),
            region(3, None, 12, Some(40), 0),
            region(0, Some(7), 12, None, 0),
            // Crosses the second one.
            region(0, None, 30, Some(70), 1),
            region(0, None, 60, Some(65), 2),
            region(0, Some(7), 90, Some(95), 1),
        ];
        let mut nesting = Nesting::new();
        for _ in 0..2 {
            let mut parents = Vec::new();
            for (index, region) in regions.iter().enumerate() {
                nesting.region(region, |parent| {
                    parents.push(parent);
                    index
                });
            }
            assert_eq!(parents, [None, Some(0), None, None, Some(0), Some(4), Some(3)]);
            // A region has its last tick.
            assert_eq!([40, 41].map(|ticks| nesting.mark(&mark(3, ticks))), [Some(2), None]);
            assert_eq!(nesting.mark(&mark(0, 99)), Some(0));
            nesting.clear();
            assert_eq!(nesting.mark(&mark(0, 99)), None);
        }
    }

    #[test]
    fn beyond_the_largest_depth_the_ends_decide() {
        let mut nesting = Nesting::new();
        for (index, (end, depth)) in [(9, 0), (8, u16::MAX), (7, u16::MAX)].into_iter().enumerate()
        {
            let parent = index.checked_sub(1);
            nesting.region(&region(0, None, index as u64, Some(end), depth), |found| {
                assert_eq!(found, parent);
                index
            });
        }
    }
}
