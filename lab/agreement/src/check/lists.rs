//! Regions, marks and readings of the clocks of one lane, as the trace has them and as they must be.

use std::cmp::Reverse;

use profiler_trace::{Trace, Warp};
use profiler_wire::header::Clock;

use super::Times;
use crate::case::Case;
use crate::expected::{Expected, Item, Kept, Kind, bits};

/// How much of what was expected of a lane the trace holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// All but some of what was left to elections.
    WithoutElected,
    /// Any part: records were lost, and it is up to the hardware which ones.
    Part,
}

/// How the lists of a lane are compared.
pub(super) struct LaneCompare<'a> {
    pub case: &'a Case,
    pub times: Times,
    pub extent: Extent,
}

impl LaneCompare<'_> {
    pub(super) fn lane(
        &self,
        trace: &Trace,
        seen: &Warp,
        lane: u32,
        kept: &Kept,
    ) -> Result<(), String> {
        let of_lane = |other: u8| u32::from(other) == lane;
        let regions = seen.regions.iter().filter(|region| of_lane(region.lane));
        let regions = regions.map(|region| Item {
            kind: Kind::Region,
            name: trace.site(region.site).name.clone(),
            track: region.track,
            value: region.value.map(bits),
            depth: region.depth,
            start: region.start.ticks,
            end: region.end.map(|end| end.ticks),
        });
        let marks = seen.marks.iter().filter(|mark| of_lane(mark.lane)).map(|mark| Item {
            kind: Kind::of_mark(trace.site(mark.site).kind),
            name: trace.site(mark.site).name.clone(),
            track: mark.track,
            value: mark.value.map(bits),
            depth: 0,
            start: mark.time.ticks,
            end: Some(mark.time.ticks),
        });
        let anchors = seen.anchors.iter().filter(|anchor| of_lane(anchor.lane)).map(|anchor| {
            let (name, ticks) = (String::new(), anchor.time.ticks);
            let (kind, end) = (Kind::Anchor, Some(ticks));
            Item { kind, name, track: None, value: None, depth: 0, start: ticks, end }
        });
        // Which anchors were left to an election, a trace does not say.
        let of_anchors = |_: &Expected| true;
        self.list("regions", regions, &kept.regions, |region| region.is_elected)?;
        self.list("marks", marks, &kept.marks, |mark| mark.is_elected)?;
        self.list("readings of the clocks", anchors, &kept.anchors, of_anchors)
    }

    /// What was `seen` must be what was `expected`, or so much of it as the extent says.
    fn list(
        &self,
        what: &str,
        seen: impl Iterator<Item = Item>,
        expected: &[Expected],
        is_optional: impl Fn(&Expected) -> bool,
    ) -> Result<(), String> {
        let seen: Vec<Item> = seen.collect();
        let comparable = |item: &Item| {
            let mut item = item.clone();
            if self.times == Times::Hardware {
                (item.start, item.end) = (0, None);
                if self.extent != Extent::Whole || self.case.kernel.clock == Clock::GlobalTimer {
                    item.depth = 0;
                }
            }
            item
        };
        // Items hold their times, or else stand in the order of time: but in one step of the timer
        // nothing is before anything.
        let is_in_order = self.times == Times::Hardware && self.case.kernel.clock == Clock::Cycles;
        let mut left: Vec<Item> = seen.iter().map(comparable).collect();
        let wanted = expected.iter().map(|expected| {
            let is_optional = self.extent == Extent::WithoutElected && is_optional(expected);
            (comparable(&expected.item), is_optional)
        });
        let mut wanted: Vec<(Item, bool)> = wanted.collect();
        if !is_in_order {
            left.sort();
            wanted.sort();
        }
        let is_right = match (self.extent, is_in_order) {
            (Extent::Part, true) => is_part_in_order(&left, &wanted),
            (Extent::Part, false) => is_part(left, wanted),
            _ => is_whole(left, wanted),
        };
        let expected = || expected.iter().map(|expected| &expected.item).collect::<Vec<_>>();
        ensure!(is_right, "{what}\n  {seen:?}\nand not\n  {:?}", expected());
        Ok(())
    }
}

/// Whether nothing is missing but what is optional, and nothing is there besides.
fn is_whole(seen: Vec<Item>, wanted: Vec<(Item, bool)>) -> bool {
    let mut left = seen.into_iter().peekable();
    let all_there = wanted
        .into_iter()
        .all(|(item, is_optional)| left.next_if_eq(&item).is_some() || is_optional);
    all_there && left.next().is_none()
}

/// Whether an item is one that was expected, or the same region without its value: the buffer may have
/// ended between the two.
fn is_of(seen: &Item, wanted: &Item) -> bool {
    let may_lack_value = wanted.kind == Kind::Region;
    seen == wanted || may_lack_value && *seen == Item { value: None, ..wanted.clone() }
}

/// Whether what was seen is some of what was wanted, in its order.
fn is_part_in_order(seen: &[Item], wanted: &[(Item, bool)]) -> bool {
    let mut wanted = wanted.iter();
    seen.iter().all(|seen| wanted.any(|(wanted, _)| is_of(seen, wanted)))
}

/// The same in any order.
fn is_part(mut seen: Vec<Item>, mut wanted: Vec<(Item, bool)>) -> bool {
    // Those without a value take what is left.
    seen.sort_by_key(|item| Reverse(item.value.is_some()));
    seen.iter().all(|seen| {
        let exact = wanted.iter().position(|(wanted, _)| seen == wanted);
        let found = exact.or_else(|| wanted.iter().position(|(wanted, _)| is_of(seen, wanted)));
        found.map(|at| wanted.swap_remove(at)).is_some()
    })
}
