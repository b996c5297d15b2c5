//! The stamps of a warp: what it took its times by, in order.

use super::order::for_each_bound;
use crate::model::{Buffer, Site, SiteIndex, Time, Warp};
use crate::record_cost::{Election, FormCosts, StampCost};

/// Lanes of a warp.
const LANES: usize = 32;
/// A warp takes fewer stamps within a step of the timer, of 1 µs at most, so that a damaged capture
/// in which all times are one is not searched for more.
const STAMPS_MAX: usize = 256;

/// A moment that moves. Sorted by axis and time, then by what comes first of things at one time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    /// The lane, where each has an axis of its own.
    pub(super) axis: u8,
    ticks: u64,
    order: Order,
    what: What,
    lane: u8,
}

/// What comes first of things at one time: what ends there or has no length, then marks, then what begins
/// there and lasts, and all in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    /// Of things of one kind, by a number.
    Ahead(usize),
    Mark(usize),
    Behind(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// Indices into the warp's regions.
    Start(usize),
    End(usize),
    /// Index into the warp's marks.
    Mark(usize),
    /// Index into the warp's anchors.
    Anchor(usize),
}

impl Moment {
    /// The time that moves.
    pub(super) fn time_of(self, warp: &mut Warp) -> Option<&mut Time> {
        match self.what {
            What::Start(index) => Some(&mut warp.regions[index].start),
            What::End(index) => warp.regions[index].end.as_mut(),
            What::Mark(index) => Some(&mut warp.marks[index].time),
            What::Anchor(index) => Some(&mut warp.anchors[index].time),
        }
    }
}

/// All moments of a warp's records, axis by axis, in order.
pub(super) fn moments(warp: &Warp, axis_of_each_lane: bool) -> Vec<Moment> {
    let count = 2 * warp.regions.len() + warp.marks.len() + warp.anchors.len();
    let mut moments = Vec::with_capacity(count);
    let mut add = |lane: u8, ticks, order, what| {
        let axis = if axis_of_each_lane { lane } else { 0 };
        moments.push(Moment { axis, ticks, order, what, lane });
    };
    let mut number = 0;
    for_each_bound(&warp.regions, |bound| {
        let order = if bound.is_in_begun { Order::Behind(number) } else { Order::Ahead(number) };
        number += 1;
        let what = if bound.is_end { What::End(bound.region) } else { What::Start(bound.region) };
        add(warp.regions[bound.region].lane, bound.ticks, order, what);
    });
    for (index, mark) in warp.marks.iter().enumerate() {
        add(mark.lane, mark.time.ticks, Order::Mark(index), What::Mark(index));
    }
    for (index, anchor) in warp.anchors.iter().enumerate() {
        let order = Order::Mark(warp.marks.len() + index);
        add(anchor.lane, anchor.time.ticks, order, What::Anchor(index));
    }
    moments.sort_unstable();
    moments
}

/// What instruction stamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stamped {
    Start(SiteIndex),
    /// Whether with a value in a record of its own, too.
    End(SiteIndex, bool),
    Mark(SiteIndex),
    Anchor,
}

/// What a stamp stores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stores {
    /// As the begin of a region does, which is stored with its end.
    Nothing,
    /// The begin of a region, as a record of its own.
    Begin,
    /// Any other record.
    Record,
}

/// What one instruction of a warp stamped, for one lane or several at once.
#[derive(Clone, Copy)]
pub(super) struct Stamp {
    pub(super) time: Time,
    pub(super) stamped: Stamped,
    pub(super) stores: Stores,
    pub(super) election: Election,
    /// Whether it is the record of a begin, behind which nothing tells when the clock was read again.
    pub(super) is_of_begin: bool,
}

impl Stamp {
    pub(super) fn cost(self, costs: &FormCosts) -> StampCost {
        match self.stamped {
            // The record takes its time behind its own stamp, and ahead of that reading.
            Stamped::Start(_) if self.is_of_begin => {
                StampCost::after(costs.region_begin.total_ticks())
            }
            Stamped::Start(_) => costs.region_begin,
            Stamped::End(_, has_value) => {
                let mut end = costs.region_end;
                if has_value {
                    end.after_ticks += costs.value.total_ticks();
                }
                end
            }
            Stamped::Mark(_) => costs.mark,
            Stamped::Anchor => costs.anchor,
        }
    }
}

/// The stamps of a time axis, in order.
pub(super) struct Stamps {
    pub(super) all: Vec<Stamp>,
    /// Of each of the axis's moments, by which stamp it was taken.
    pub(super) of_moments: Vec<usize>,
    /// Whether lanes stored at once, each a record of its own.
    pub(super) stored_apart: bool,
}

impl Stamps {
    /// Those of one axis's `moments`.
    pub(super) fn of(moments: &[Moment], warp: &Warp, sites: &[Site], buffer: Buffer) -> Self {
        let election_at = |site: SiteIndex| {
            let of_site = sites.get(site.0 as usize).and_then(|site| site.strategy);
            Election::of(of_site.unwrap_or(warp.strategy))
        };
        let mut together = Together::default();
        let has_lanes = moments.iter().any(|moment| moment.lane != moments[0].lane);
        let mut all: Vec<Stamp> = Vec::with_capacity(moments.len());
        let mut of_moments = Vec::with_capacity(moments.len());
        for &Moment { ticks, what, lane, .. } in moments {
            let mut is_of_begin = false;
            let (stamped, election, time) = match what {
                What::Start(index) => {
                    let region = &warp.regions[index];
                    let election = election_at(region.site);
                    is_of_begin = region.end.is_none() && buffer == Buffer::Host;
                    (Stamped::Start(region.site), election, region.start)
                }
                What::End(index) => {
                    let region = &warp.regions[index];
                    let Some(time) = region.end else { continue };
                    let election = election_at(region.site);
                    (Stamped::End(region.site, region.has_value_apart()), election, time)
                }
                What::Mark(index) => {
                    let mark = &warp.marks[index];
                    (Stamped::Mark(mark.site), election_at(mark.site), mark.time)
                }
                What::Anchor(index) => {
                    // An anchor has no site that would say who was to take it: by the kernel's way.
                    let election = Election::of(warp.strategy);
                    (Stamped::Anchor, election, warp.anchors[index].time)
                }
            };
            let stores = match (stamped, buffer) {
                (Stamped::Start(_), Buffer::Global) => Stores::Nothing,
                (Stamped::Start(_), Buffer::Host) => Stores::Begin,
                _ => Stores::Record,
            };
            // Of lanes that are elected, each stamps by itself.
            let is_of_several = has_lanes && election == Election::OneLane;
            let taken =
                is_of_several.then(|| together.find(ticks, stamped, stores, lane)).flatten();
            let index = taken.unwrap_or(all.len());
            if taken.is_none() {
                all.push(Stamp { time, stamped, stores, election, is_of_begin });
                if is_of_several {
                    together.add(stamped, lane, index);
                }
            }
            all[index].is_of_begin &= is_of_begin;
            of_moments.push(index);
        }
        Self { all, of_moments, stored_apart: together.stored }
    }
}

/// The stamps of several lanes at one time, in the order in which the first lane took each.
#[derive(Default)]
struct Together {
    ticks: u64,
    /// What was stamped, and the stamp's index among all.
    stamps: Vec<(Stamped, usize)>,
    /// Of each lane, how many of them its next one lies behind.
    behind: [usize; LANES],
    /// Whether lanes took one together, at any time, that stores a record.
    stored: bool,
}

impl Together {
    /// A lane's stamp, if another lane has taken it.
    fn find(&mut self, ticks: u64, stamped: Stamped, stores: Stores, lane: u8) -> Option<usize> {
        if ticks != self.ticks {
            (self.ticks, self.behind) = (ticks, [0; LANES]);
            self.stamps.clear();
        }
        let behind = self.behind.get_mut(usize::from(lane))?;
        let ahead = &self.stamps[*behind..];
        let place = ahead.iter().take(STAMPS_MAX).position(|stamp| stamp.0 == stamped)?;
        let index = ahead[place].1;
        *behind += place + 1;
        self.stored |= stores != Stores::Nothing;
        Some(index)
    }

    /// Adds a lane's stamp that was not found.
    fn add(&mut self, stamped: Stamped, lane: u8, index: usize) {
        self.stamps.push((stamped, index));
        if let Some(behind) = self.behind.get_mut(usize::from(lane)) {
            *behind = self.stamps.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use profiler_wire::SiteKind;

    use super::*;
    use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};

    #[test]
    fn what_ends_comes_ahead_of_marks_and_anchors_and_what_begins_behind_them() {
        let mut module = SyntheticModule::new(Keep::First, 4);
        module.lane_capacity = Some(4);
        let kernel = module.site(SiteKind::Kernel, "k");
        let (region, mark) = (module.site(SiteKind::Region, "r"), module.site(SiteKind::Mark, "m"));
        let mut warp = SyntheticWarp::new(kernel, 1_000, 64_000);
        warp.range(region, None, 1_900, 2_000);
        for lane in [0, 1] {
            warp.lane(lane).mark(mark, None, 2_000).anchor(2_000, 65_000);
        }
        warp.lane(0).range(region, None, 2_000, 2_100);
        module.warps.push(warp.leave(65_000, 128_000).clone());
        let trace = crate::decode(&module.into_capture().expect("the sites are whole"));
        let order = moments(&trace.warps[0], false).into_iter().map(|moment| moment.what);
        let expected = [
            [What::Start(0), What::End(0)],
            [What::Mark(0), What::Mark(1)],
            [What::Anchor(0), What::Anchor(1)],
            [What::Start(1), What::End(1)],
        ];
        assert!(order.eq(expected.concat()));
    }
}
