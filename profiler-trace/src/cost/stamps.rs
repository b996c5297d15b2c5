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
        let election_at = |site: SiteIndex, shared: bool| {
            let of_site = sites.get(site.0 as usize).and_then(|site| site.strategy);
            Election::of(of_site.unwrap_or(warp.strategy), shared)
        };
        // Apart, since at one site lanes may share a region and record another one each for itself: no
        // stamp of the one is one of the other.
        let (mut shared, mut own) = (Together::default(), Together::default());
        let has_lanes = moments.iter().any(|moment| moment.lane != moments[0].lane);
        let mut all: Vec<Stamp> = Vec::with_capacity(moments.len());
        // The lanes that left the region open that began last.
        let mut left_open: u32 = 0;
        let mut of_moments = Vec::with_capacity(moments.len());
        for &Moment { ticks, what, lane, .. } in moments {
            let mut is_of_begin = false;
            let (stamped, election, time) = match what {
                What::Start(index) => {
                    let region = &warp.regions[index];
                    let election = election_at(region.site, region.record.is_begun_by_all());
                    is_of_begin = region.end.is_none() && buffer == Buffer::Host;
                    (Stamped::Start(region.site), election, region.start)
                }
                What::End(index) => {
                    let region = &warp.regions[index];
                    let Some(time) = region.end else { continue };
                    let election = election_at(region.site, region.is_shared());
                    (Stamped::End(region.site, region.has_value_apart()), election, time)
                }
                What::Mark(index) => {
                    let mark = &warp.marks[index];
                    (Stamped::Mark(mark.site), election_at(mark.site, mark.is_shared), mark.time)
                }
                What::Anchor(index) => {
                    // An anchor has no site that would say who was to take it: by the kernel's way.
                    let election = Election::of(warp.strategy, false);
                    (Stamped::Anchor, election, warp.anchors[index].time)
                }
            };
            let stores = match (stamped, buffer) {
                (Stamped::Start(_), Buffer::Global) => Stores::Nothing,
                (Stamped::Start(_), Buffer::Host) => Stores::Begin,
                _ => Stores::Record,
            };
            let together = match election {
                Election::AllLanes => Some(&mut shared),
                Election::OneLane => Some(&mut own),
                // Of lanes that are elected, each stamps by itself.
                Election::Elected => None,
            };
            let mut together = together.filter(|_| has_lanes);
            let lane_bit = 1_u32.checked_shl(lane.into()).unwrap_or(0);
            let taken = together.as_mut().and_then(|of| of.find(ticks, stamped, stores, lane));
            // What others of its lanes read again right behind a record is of the same begin.
            let is_read_again = |last: &Stamp| {
                last.is_of_begin
                    && (last.stamped, last.election) == (stamped, Election::AllLanes)
                    && !is_of_begin
                    && left_open & lane_bit == 0
            };
            let index = taken.or_else(|| {
                let index = all.len().checked_sub(1).filter(|last| is_read_again(&all[*last]))?;
                all[index].time = time;
                Some(index)
            });
            let index = index.unwrap_or_else(|| {
                left_open = 0;
                all.push(Stamp { time, stamped, stores, election, is_of_begin });
                all.len() - 1
            });
            if let (None, Some(together)) = (taken, together) {
                together.add(stamped, lane, index);
            }
            if is_of_begin {
                left_open |= lane_bit;
            } else {
                all[index].is_of_begin = false;
            }
            of_moments.push(index);
        }
        Self { all, of_moments, stored_apart: own.stored }
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
    use crate::model::{Region, RegionRecord};
    use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};

    /// When each stamp was taken of regions with `buffer = host`, by `thread`, and whether it is the record of a
    /// begin alone. A region is its lane, its record, its site, its begin, and its end if it has one.
    fn begins(regions: &[(u8, RegionRecord, u32, u64, Option<u64>)]) -> Vec<(u64, bool)> {
        let mut module = SyntheticModule::new(Keep::First, 4);
        let kernel = module.site(SiteKind::Kernel, "k");
        module.warps.push(SyntheticWarp::new(kernel, 0, 64_000).leave(1_000, 65_000).clone());
        let mut trace = crate::decode(&module.into_capture().expect("the sites are whole"));
        let warp = &mut trace.warps[0];
        warp.strategy = profiler_wire::Strategy::Thread;
        let time = |ticks| Time { ticks, ns: ticks as f64 };
        let region = |&(lane, record, site, start, end): &(u8, RegionRecord, u32, u64, _)| Region {
            site: SiteIndex(site),
            track: None,
            lane,
            record,
            depth: 0,
            start: time(start),
            end: Option::map(end, time),
            value: None,
        };
        warp.regions = regions.iter().map(region).collect();
        let stamps = Stamps::of(&moments(warp, false), warp, &[], Buffer::Host).all;
        let starts = stamps.iter().filter(|stamp| matches!(stamp.stamped, Stamped::Start(_)));
        starts.map(|stamp| (stamp.time.ticks, stamp.is_of_begin)).collect()
    }

    /// Where some lanes left a region open, the others' reading behind its record is of the same begin.
    #[test]
    fn a_begin_of_all_lanes_is_one_stamp_however_they_end_it() {
        use RegionRecord::{Own, Parted, Shared};
        let open = |lane, start| (lane, Shared, 1, start, None);
        let ended = |lane, start| (lane, Parted, 1, start, Some(200));
        assert_eq!(begins(&[open(0, 100), ended(1, 110)]), [(110, false)]);
        assert_eq!(begins(&[open(0, 100), open(2, 100), ended(1, 110)]), [(110, false)]);
        // By the timer both may be in one step.
        assert_eq!(begins(&[open(0, 100), ended(1, 100)]), [(100, false)]);
        assert_eq!(begins(&[open(0, 100), open(1, 100)]), [(100, true)]);
        // Of another begin: a lane's that left the first one open, a record, or what is of another site.
        let apart = [(100, true), (110, false)];
        assert_eq!(begins(&[open(0, 100), ended(0, 110)]), apart);
        assert_eq!(begins(&[open(0, 100), open(1, 100), ended(1, 110)]), apart);
        assert_eq!(begins(&[open(0, 100), open(1, 110)]), [(100, true), (110, true)]);
        assert_eq!(begins(&[open(0, 100), (1, Parted, 2, 110, Some(200))]), apart);
        // What lanes began each for itself.
        assert_eq!(begins(&[(0, Own, 1, 100, None), (1, Own, 1, 110, Some(200))]), apart);
    }

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
