//! The nesting of regions, and their own time.
//!
//! Regions nest within the records of one lane on one track. A region lies in the innermost one that
//! began no later and ended no earlier; of two that cross, neither lies in the other. Its *own* time
//! is its duration without the time that the regions in it cover together; time that crossing regions share
//! is taken from the region around them once. Regions without an end have no duration: they
//! are skipped, and regions in them count as lying in the region around them.
//!
//! The *self time* of folded stacks and flame graphs is another figure: it counts each moment of a lane once,
//! so that time which crossing regions share belongs to the one that began last; here it is own time of
//! both. Frames of a stack must add up to their root; rows of a table need not. If regions nest, both are
//! equal.
//!
//! The kernel is around the regions of all lanes and tracks of a warp; its own time is the time that none of
//! them covers.

use profiler_trace::{Region, Warp};

/// Replaces a number that is not finite by 0.
pub(crate) fn finite(ns: f64) -> f64 {
    if ns.is_finite() { ns } else { 0.0 }
}

/// Begin and end of a region, if it has an end.
pub(crate) fn span(region: &Region) -> Option<(f64, f64)> {
    let start = finite(region.start.ns);
    region.end.map(|end| (start, finite(end.ns).max(start)))
}

/// The regions of a warp, by lane and track, in order of their begins, those around others
/// first.
pub(crate) fn strips(warp: &Warp) -> Vec<Vec<&Region>> {
    let mut regions: Vec<&Region> = warp.regions.iter().collect();
    let recorder = |region: &Region| (region.lane, region.track);
    // Stable, and near linear if one lane recorded on one track: they come in this order.
    regions.sort_by(|left, right| {
        (recorder(left).cmp(&recorder(right)))
            .then(finite(left.start.ns).total_cmp(&finite(right.start.ns)))
            .then(left.depth.cmp(&right.depth))
    });
    let strips = regions.chunk_by(|left, right| recorder(left) == recorder(right));
    strips.map(<[_]>::to_vec).collect()
}

/// A region in its place.
pub(crate) struct Nested<'t> {
    pub(crate) region: &'t Region,
    /// The one that it lies in, as an index into the same list; `None` if that is the kernel.
    pub(crate) parent: Option<usize>,
    pub(crate) start: f64,
    pub(crate) end: f64,
    /// The time that the regions in it cover together.
    covered: f64,
    /// The end of that time.
    covered_until: f64,
}

impl Nested<'_> {
    /// Nanoseconds that no region in it covers.
    pub(crate) fn own_ns(&self) -> f64 {
        (self.end - self.start - self.covered).max(0.0)
    }
}

/// Nests the regions of one strip. Calls `stretch` with each stretch of time and the region that was
/// the innermost during it, as an index into the list that is returned.
pub(crate) fn nest<'t>(
    strip: &[&'t Region],
    mut stretch: impl FnMut(usize, f64, f64),
) -> Vec<Nested<'t>> {
    let mut nested: Vec<Nested<'t>> = Vec::with_capacity(strip.len());
    // The regions that may still hold a later one, in order of their begins. None ends after one before it: a
    // region that ends sooner than a later one holds nothing that the later one does not hold more closely.
    let mut open: Vec<usize> = Vec::new();
    for &region in strip {
        let Some((start, end)) = span(region) else { continue };
        // One that ended where this one begins may hold it only if this one is empty and deeper.
        while open.last().is_some_and(|&at| {
            let around = &nested[at];
            around.end < start || (around.end == start && region.depth <= around.region.depth)
        }) {
            open.pop();
        }
        while open.last().is_some_and(|&at| nested[at].end < end) {
            open.pop();
        }
        let parent = open.last().copied();
        if let Some(parent) = parent {
            let around = &mut nested[parent];
            if start > around.covered_until {
                stretch(parent, around.covered_until, start);
            }
            around.covered += (end - start.max(around.covered_until)).max(0.0);
            around.covered_until = around.covered_until.max(end);
        }
        open.push(nested.len());
        nested.push(Nested { region, parent, start, end, covered: 0.0, covered_until: start });
    }
    for (at, region) in nested.iter().enumerate() {
        if region.end > region.covered_until {
            stretch(at, region.covered_until, region.end);
        }
    }
    nested
}

/// Calls `gap` with each stretch from `start` to `end` that none of the spans covers. Sorts them.
pub(crate) fn gaps(
    spans: &mut [(f64, f64)],
    (start, end): (f64, f64),
    mut gap: impl FnMut(f64, f64),
) {
    spans.sort_by(|left, right| left.0.total_cmp(&right.0));
    let mut covered_until = start;
    for &mut (from, to) in spans {
        let from = from.min(end);
        if from > covered_until {
            gap(covered_until, from);
        }
        covered_until = covered_until.max(to);
    }
    if end > covered_until {
        gap(covered_until, end);
    }
}

#[cfg(test)]
mod tests {
    use profiler_trace::{SiteIndex, Time};

    use super::*;

    fn region(site: u32, start: f64, end: Option<f64>, depth: u16) -> Region {
        let time = |ns: f64| Time { ticks: ns as u64, ns };
        Region {
            site: SiteIndex(site),
            track: None,
            lane: 0,
            value_in_record: false,
            depth,
            start: time(start),
            end: end.map(time),
            value: None,
        }
    }

    /// Site, site of the parent, own time.
    fn of(regions: &[Region]) -> Vec<(u32, Option<u32>, f64)> {
        let strip: Vec<&Region> = regions.iter().collect();
        let mut stretches = vec![0.0; regions.len()];
        let nested = nest(&strip, |at, from, to| {
            assert!(to > from);
            stretches[at] += to - from;
        });
        for (at, region) in nested.iter().enumerate() {
            assert_eq!(region.own_ns(), stretches[at], "stretches and own time are one figure");
        }
        let parent = |region: &Nested<'_>| region.parent.map(|at| nested[at].region.site.0);
        nested.iter().map(|one| (one.region.site.0, parent(one), one.own_ns())).collect()
    }

    #[test]
    fn own_time_is_what_no_inner_region_covers() {
        // Regions that cross take their common time from the outer one once.
        let crossing = [
            region(1, 0.0, Some(100.0), 0),
            region(2, 10.0, Some(50.0), 1),
            region(3, 30.0, Some(70.0), 1),
        ];
        assert_eq!(of(&crossing), [(1, None, 40.0), (2, Some(1), 40.0), (3, Some(1), 40.0)]);
        // An open region holds nothing, and one without a length finds its place.
        let open = [
            region(9, 0.0, None, 0),
            region(1, 0.0, Some(10.0), 1),
            region(2, 10.0, Some(10.0), 2),
            region(3, 10.0, Some(10.0), 1),
        ];
        assert_eq!(of(&open), [(1, None, 10.0), (2, Some(1), 0.0), (3, None, 0.0)]);
    }

    /// Regions in order, and the parent of each: the last that began before it, has not ended, and does
    /// not end before it, all of them tried.
    fn tried(regions: &[Region]) -> Vec<Option<usize>> {
        let ends = |at: usize| regions[at].end.map_or(0.0, |end| end.ns);
        let mut open: Vec<usize> = Vec::new();
        let mut parents = Vec::new();
        for (number, region) in regions.iter().enumerate() {
            let start = region.start.ns;
            open.retain(|&at| {
                ends(at) > start || (ends(at) == start && region.depth > regions[at].depth)
            });
            parents.push(open.iter().rev().copied().find(|&at| ends(at) >= ends(number)));
            open.push(number);
        }
        parents
    }

    #[test]
    fn the_innermost_of_those_around_is_found() {
        // Numbers that look random: all starts, lengths and depths of a few are there soon.
        let mut state = 1u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..3000 {
            let mut regions: Vec<Region> = (0..next(24))
                .map(|site| {
                    let start = next(10) as f64;
                    region(site as u32, start, Some(start + next(5) as f64), next(4) as u16)
                })
                .collect();
            regions.sort_by(|left, right| {
                (left.start.ns.total_cmp(&right.start.ns)).then(left.depth.cmp(&right.depth))
            });
            let strip: Vec<&Region> = regions.iter().collect();
            let parents: Vec<_> = nest(&strip, |_, _, _| {}).iter().map(|it| it.parent).collect();
            assert_eq!(parents, tried(&regions), "{regions:#?}");
        }
    }

    #[test]
    fn gaps_are_what_is_left() {
        let mut seen = Vec::new();
        gaps(&mut [(5.0, 7.0), (1.0, 3.0), (2.0, 4.0)], (0.0, 10.0), |from, to| {
            seen.push((from, to));
        });
        assert_eq!(seen, [(0.0, 1.0), (4.0, 5.0), (7.0, 10.0)]);
    }
}
