//! The order in which a lane's regions began and ended, where the clock does not tell.
//!
//! A region without a length that lies where another one begins may have been before it or in it. Where both
//! sites meet at other times of the clock, that tells.

use std::collections::HashMap;
use std::ops::Range;

use crate::model::{Region, SiteIndex};

/// So many regions without a length are looked at where another one begins. A clock's steps are too short
/// for more, and a damaged capture in which all times are one is not searched for more.
const INSTANTS_MAX: usize = 128;

/// So often at most the regions of a lane are gone through for that.
const ROUNDS_MAX: usize = 8;

/// Room for regions that lie in each other; it grows where there are more.
const DEPTH: usize = 16;

/// The begin or the end of a region.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    /// The region's index.
    pub(super) region: usize,
    pub(super) is_end: bool,
    pub(super) ticks: u64,
    /// Whether it is the begin of a region that lasts, or lies in one that began at the same time.
    pub(super) is_in_begun: bool,
}

/// Visits the bounds of `regions`, of each lane and track in order, also of those at one time. Those of
/// regions that cross are not in order.
pub(super) fn for_each_bound(regions: &[Region], mut visit: impl FnMut(Bound)) {
    let mut nested: Vec<Nested> =
        (0..regions.len()).map(|index| Nested::of(index, regions)).collect();
    let place = |nested: &Nested| (regions[nested.index].lane, regions[nested.index].track);
    if !nested.is_sorted_by_key(place) {
        nested.sort_unstable_by_key(|nested| (place(nested), nested.index));
    }
    for nested in nested.chunk_by_mut(|left, right| place(left) == place(right)) {
        if nested.iter().any(|region| region.is_instant_at(region.start)) {
            // What was put ahead of one region may then be seen to be behind another.
            (0..ROUNDS_MAX).any(|_| !Precedence::of(nested).put_instants_ahead(nested));
        }
        visit_bounds(nested, |region, is_end, is_in_begun| {
            let ticks = if is_end { region.end } else { Some(region.start) };
            if let Some(ticks) = ticks {
                visit(Bound { region: region.index, is_end, ticks, is_in_begun });
            }
        });
    }
}

/// A region among those of its lane and track, in the order of their begins: it lies in those before it that
/// are less deep than all since.
#[derive(Clone, Copy)]
struct Nested {
    index: usize,
    site: SiteIndex,
    depth: u16,
    start: u64,
    end: Option<u64>,
}

impl Nested {
    fn of(index: usize, regions: &[Region]) -> Self {
        let Region { site, depth, start, end, .. } = &regions[index];
        let end = end.map(|end| end.ticks);
        Self { index, site: *site, depth: *depth, start: start.ticks, end }
    }

    /// Whether it has no length and lies there.
    fn is_instant_at(&self, ticks: u64) -> bool {
        self.start == ticks && self.end == Some(ticks)
    }
}

/// Visits begins and ends, and says of each whether a region that lasts has begun at its time. An open region
/// is visited as if it ended.
fn visit_bounds(nested: &[Nested], mut visit: impl FnMut(&Nested, bool, bool)) {
    let mut open: Vec<&Nested> = Vec::with_capacity(DEPTH);
    // When the last region began that lasts.
    let mut begun = None;
    for region in nested {
        while let Some(ended) = open.pop_if(|last| last.depth >= region.depth) {
            visit(ended, true, begun.is_some() && begun == ended.end);
        }
        if !region.is_instant_at(region.start) {
            begun = Some(region.start);
        }
        visit(region, false, begun == Some(region.start));
        open.push(region);
    }
    while let Some(ended) = open.pop() {
        visit(ended, true, begun.is_some() && begun == ended.end);
    }
}

/// Of two sites, how much more often a region of the first ended right before one of the second began than it
/// began right behind that begin; as far as the clock tells.
struct Precedence(HashMap<(SiteIndex, SiteIndex), i64>);

impl Precedence {
    fn of(nested: &[Nested]) -> Self {
        let mut found = HashMap::new();
        let mut before: Option<(Nested, bool)> = None;
        visit_bounds(nested, |region, is_end, _| {
            if let Some((before, was_end)) = before.replace((*region, is_end))
                && !is_end
            {
                let (pair, instant, begun, more) = if was_end {
                    ((before.site, region.site), &before, region, 1)
                } else {
                    ((region.site, before.site), region, &before, -1)
                };
                if !instant.is_instant_at(begun.start) {
                    *found.entry(pair).or_default() += more;
                }
            }
        });
        Self(found)
    }

    /// Whether the first is one that ends before the second begins.
    fn is_ahead(&self, instant: &Nested, begun: &Nested) -> bool {
        self.0.get(&(instant.site, begun.site)).is_some_and(|&more| more > 0)
    }

    /// Takes out of regions what lies at their begins without a length and was before them; whether there was
    /// any.
    fn put_instants_ahead(&self, nested: &mut [Nested]) -> bool {
        let (mut at, mut is_changed) = (0, false);
        while at < nested.len() {
            let Some(ahead) = self.find_ahead(&nested[at..]) else {
                at += 1;
                continue;
            };
            is_changed = true;
            // The first of those is then the next one to look at.
            let (first, behind) = (at + ahead.start, at + ahead.end);
            let deeper = nested[first].depth - nested[at].depth;
            nested[first..behind].iter_mut().for_each(|instant| instant.depth -= deeper);
            nested[at..behind].rotate_right(ahead.len());
        }
        is_changed
    }

    /// Which regions behind the first, in which they seem to lie, were before it: one, and those in that, of as
    /// many as are looked at.
    fn find_ahead(&self, nested: &[Nested]) -> Option<Range<usize>> {
        let (begun, rest) = nested.split_first()?;
        let rest = &rest[..rest.len().min(INSTANTS_MAX)];
        let lies_in = |region: &&Nested| region.depth > begun.depth && region.start == begun.start;
        let at = rest
            .iter()
            .take_while(lies_in)
            .position(|region| region.is_instant_at(begun.start) && self.is_ahead(region, begun))?;
        let (instant, rest) = rest[at..].split_first()?;
        let within = rest.iter().take_while(|region| region.depth > instant.depth).count();
        Some(at + 1..at + 2 + within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RegionRecord, Time};

    /// A region of lane 0 by its site, depth, begin and end.
    fn region(site: u32, depth: u16, start: u64, end: Option<u64>) -> Region {
        let at = |ticks| Time { ticks, ns: ticks as f64 };
        Region {
            site: SiteIndex(site),
            track: None,
            lane: 0,
            record: RegionRecord::Own,
            depth,
            start: at(start),
            end: end.map(at),
            value: None,
        }
    }

    /// What is visited: the sites of begins, and of ends behind a minus.
    fn bounds(regions: &[Region]) -> Vec<i64> {
        let mut bounds = Vec::new();
        for_each_bound(regions, |bound| {
            let site = i64::from(regions[bound.region].site.0);
            bounds.push(if bound.is_end { -site } else { site });
        });
        bounds
    }

    /// A short region's site is 1, a long one's 2; by each turn's begin, and whether the short one has no
    /// length.
    fn turns(turns: &[(u64, bool)], is_within: bool) -> Vec<Region> {
        let mut regions = Vec::new();
        for &(at, is_instant) in turns {
            let (short, long) = match (is_instant, is_within) {
                (true, _) => (at..at, at..at + 64),
                (false, false) => (at..at + 32, at + 32..at + 96),
                (false, true) => (at + 32..at + 64, at..at + 96),
            };
            let is_deep = is_instant || is_within;
            let short = region(1, is_deep.into(), short.start, Some(short.end));
            let long = region(2, 0, long.start, Some(long.end));
            regions.extend(if is_deep { [long, short] } else { [short, long] });
        }
        regions
    }

    #[test]
    fn what_has_no_length_lies_where_it_does_at_other_times() {
        let (ahead, within) = ([1, -1, 2, -2], [2, 1, -1, -2]);
        for (is_within, order) in [(false, ahead), (true, within)] {
            let regions = turns(&[(0, true), (1_000, false), (2_000, true)], is_within);
            assert_eq!(bounds(&regions), order.repeat(3));
        }
        // Where nothing tells, it is as its depth says.
        assert_eq!(bounds(&turns(&[(0, true), (1_000, true)], false)), within.repeat(2));
        // What there is more of tells.
        let mut regions = turns(&[(0, false), (1_000, false)], false);
        regions.extend(turns(&[(2_000, false)], true));
        regions.extend(turns(&[(3_000, true)], false));
        assert_eq!(bounds(&regions), [&ahead[..], &ahead, &within, &ahead].concat());
    }

    #[test]
    fn as_much_for_as_against_tells_nothing() {
        let mut regions = turns(&[(0, false)], false);
        regions.extend(turns(&[(1_000, false)], true));
        regions.extend(turns(&[(2_000, true)], false));
        let (ahead, within) = ([1, -1, 2, -2], [2, 1, -1, -2]);
        assert_eq!(bounds(&regions), [ahead, within, within].concat());
    }

    #[test]
    fn what_lies_beside_what_is_put_ahead_stays() {
        // The first turn tells that 1 is before 2; in the second 3 is in 2, and so is 4 in 3.
        let mut regions = turns(&[(0, false)], false);
        regions.push(region(2, 0, 1_000, Some(1_064)));
        regions.push(region(1, 1, 1_000, Some(1_000)));
        regions.push(region(3, 1, 1_000, Some(1_032)));
        regions.push(region(4, 2, 1_000, Some(1_016)));
        let expected: [&[i64]; 2] = [&[1, -1, 2, -2], &[1, -1, 2, 3, 4, -4, -3, -2]];
        assert_eq!(bounds(&regions), expected.concat());
    }

    #[test]
    fn each_track_is_gone_through_by_itself() {
        let on_track = |region: Region| Region { track: Some(7), ..region };
        let regions = [
            region(1, 0, 0, Some(100)),
            on_track(region(2, 0, 10, Some(90))),
            region(3, 1, 20, Some(80)),
            on_track(region(4, 1, 30, Some(70))),
        ];
        assert_eq!(bounds(&regions), [1, 3, -3, -1, 2, 4, -4, -2]);
    }

    #[test]
    fn what_tells_of_one_region_may_be_told_by_another() {
        // Three regions behind each other. That the first was before the second shows once the second is known
        // to be before the third.
        let mut regions = vec![region(2, 0, 0, Some(32)), region(3, 0, 32, Some(96))];
        let turn = |at: u64| {
            [
                region(1, 0, at, Some(at)),
                region(3, 0, at + 32, Some(at + 96)),
                region(2, 1, at + 32, Some(at + 32)),
            ]
        };
        regions.extend(turn(1_000));
        let last = [region(3, 0, 2_000, Some(2_064)), region(2, 1, 2_000, Some(2_000))];
        regions.extend(last);
        regions.push(region(1, 2, 2_000, Some(2_000)));
        let expected: [&[i64]; 3] =
            [&[2, -2, 3, -3], &[1, -1, 2, -2, 3, -3], &[1, -1, 2, -2, 3, -3]];
        assert_eq!(bounds(&regions), expected.concat());
    }

    #[test]
    fn marks_at_the_begin_of_a_region_that_lasts_can_be_told_from_those_in_it() {
        let regions = [
            region(4, 0, 0, Some(100)),
            region(1, 0, 100, None),
            region(2, 1, 100, Some(100)),
            region(3, 1, 200, Some(200)),
        ];
        let mut begun = Vec::new();
        for_each_bound(&regions, |bound| {
            begun.push((bound.ticks, regions[bound.region].site.0, bound.is_in_begun));
        });
        let (ahead, behind) = (false, true);
        let expected = [
            (0, 4, behind),
            (100, 4, ahead),
            (100, 1, behind),
            (100, 2, behind),
            (100, 2, behind),
            (200, 3, ahead),
            (200, 3, ahead),
        ];
        assert_eq!(begun, expected);
    }
}
