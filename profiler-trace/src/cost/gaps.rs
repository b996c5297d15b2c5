//! What passes between stamps of a clock that comes in steps.

use std::collections::HashMap;

use super::stamps::{Stamp, Stamped};
use crate::record_cost::{RecordCost, StampWaits};

/// Where more than this part of what is near to a stamp is something else, or in no known order, no mean is
/// taken: what seems to be next then depends on how it was read, and readings that were chosen so are off on
/// average.
const OTHERS_PART: u64 = 64;

/// What passed between two stamps, in ticks.
#[derive(Clone, Copy)]
pub(super) struct Gap {
    pub(super) ticks: f64,
    /// How far off that may be.
    pub(super) unsure: f64,
    /// Whether it is what passes there on average.
    pub(super) is_mean: bool,
}

/// So many readings at least are taken for the mean: their mean is then off by less than a quarter of a step,
/// two times in three.
const READINGS_MIN: u64 = 8;

/// What passes from a stamp to the next one.
///
/// Two readings of a clock that comes in steps tell what passed between them to a step: of 1 ns mostly
/// nothing, and now and then a whole step. But what a loop stamps again and again is read at another part of
/// a step each time, so that many readings' mean tells what one of them does not.
pub(super) struct Gaps {
    step: f64,
    /// Longer than recording takes, and a step: what passed is then work, and is taken as it was read.
    longest: f64,
    /// The sum of what was read between two stamps, and how often.
    read: HashMap<(Stamped, Stamped), (u64, u64)>,
    near: HashMap<Stamped, Near>,
}

/// How often something was read near to a stamp.
#[derive(Clone, Copy, Default)]
struct Near {
    behind: u64,
    ahead: u64,
    /// At one time with it, in an order that nothing tells.
    unordered: u64,
}

impl Gaps {
    /// Those between `stamps`; `cost` is in the ticks of their clock, whose steps are `step` ticks.
    pub(super) fn of(stamps: &[Stamp], cost: &RecordCost, step: f64) -> Self {
        let mut gaps = Self {
            step,
            longest: longest(cost) + step,
            read: HashMap::new(),
            near: HashMap::new(),
        };
        // All that passed between stamps of a clock without steps was read.
        if step > 0.0 {
            for pair in stamps.windows(2) {
                gaps.add(pair[0], pair[1]);
            }
            for stamps in stamps.chunk_by(|left, right| left.time.ticks == right.time.ticks) {
                gaps.add_unordered(stamps);
            }
        }
        gaps
    }

    fn add(&mut self, left: Stamp, right: Stamp) {
        let ticks = right.time.ticks.saturating_sub(left.time.ticks);
        if ticks as f64 <= self.longest {
            let read = self.read.entry((left.stamped, right.stamped)).or_default();
            (read.0, read.1) = (read.0.saturating_add(ticks), read.1 + 1);
            self.near.entry(left.stamped).or_default().behind += 1;
            self.near.entry(right.stamped).or_default().ahead += 1;
        }
    }

    /// Adds stamps that were read at one time. Regions nest, but nothing tells where a mark was.
    fn add_unordered(&mut self, stamps: &[Stamp]) {
        let is_mark = |stamp: &Stamp| matches!(stamp.stamped, Stamped::Mark(_) | Stamped::Anchor);
        if stamps.len() > 1 && stamps.iter().any(is_mark) {
            for stamp in stamps {
                self.near.entry(stamp.stamped).or_default().unordered += 1;
            }
        }
    }

    /// What passed between a stamp and the one behind it.
    pub(super) fn between(&self, left: Stamp, right: Stamp) -> Gap {
        let ticks = right.time.ticks.saturating_sub(left.time.ticks) as f64;
        let read = self.read.get(&(left.stamped, right.stamped));
        let near = |stamp: Stamp| self.near.get(&stamp.stamped).copied().unwrap_or_default();
        let is_known = |&&(_, count): &&(u64, u64)| {
            let (left, right) = (near(left), near(right));
            let of_left = [left.behind - count, left.unordered].map(|others| (others, left.behind));
            let of_right =
                [right.ahead - count, right.unordered].map(|others| (others, right.ahead));
            let mut all = of_left.into_iter().chain(of_right);
            ticks <= self.longest
                && count >= READINGS_MIN
                && all.all(|(others, near)| others <= near / OTHERS_PART)
        };
        match read.filter(is_known) {
            Some(&(sum, count)) => {
                let count = count as f64;
                let unsure = self.step / count.sqrt();
                Gap { ticks: sum as f64 / count, unsure, is_mean: true }
            }
            None => Gap { ticks, unsure: self.step, is_mean: false },
        }
    }
}

/// The most that recording may take from a stamp to one behind it.
fn longest(cost: &RecordCost) -> f64 {
    let of_elections = cost.elections().map(|(_, costs)| {
        let StampWaits { nested, begin, end, record } = costs.waits;
        let waits = [nested, begin, end, record].into_iter().filter_map(|wait| wait.reach_ticks());
        let stamps = costs.stamps().into_iter().map(|(_, stamp)| stamp);
        let [before, after] = [
            stamps.clone().map(|stamp| stamp.before_ticks).fold(0.0, f64::max),
            stamps.map(|stamp| stamp.after_ticks).fold(0.0, f64::max),
        ];
        before + after + costs.value.total_ticks() + waits.fold(0.0, f64::max)
    });
    of_elections.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::stamps::Stores;
    use crate::model::{SiteIndex, Time};
    use crate::record_cost::{Election, FormCosts, StampCost, StampWait};

    const STEP: f64 = 32.0;
    const MARK: Stamped = Stamped::Mark(SiteIndex(9));

    fn start(site: u32) -> Stamped {
        Stamped::Start(SiteIndex(site))
    }

    fn stamps(list: &[(u64, Stamped)]) -> Vec<Stamp> {
        let stamp = |&(ticks, stamped): &(u64, Stamped)| Stamp {
            time: Time { ticks, ns: ticks as f64 },
            stamped,
            stores: Stores::Nothing,
            election: Election::OneLane,
            is_of_begin: false,
        };
        list.iter().map(stamp).collect()
    }

    /// Turns of a loop, far apart: in each of them these stamps, so many ticks from its begin.
    fn turns(count: u64, turn: &[(u64, Stamped)]) -> Vec<Stamp> {
        let at = |index: u64| 10_000 * (index + 1);
        let all = (0..count)
            .flat_map(|index| turn.iter().map(move |(ticks, of)| (at(index) + ticks, *of)));
        stamps(&all.collect::<Vec<_>>())
    }

    /// What recording may take is 40 ticks by this.
    fn cost() -> RecordCost {
        RecordCost::uniform(10.0, 40.0)
    }

    /// The gap between the first two stamps.
    fn gap(list: &[Stamp], step: f64) -> Gap {
        Gaps::of(list, &cost(), step).between(list[0], list[1])
    }

    #[test]
    fn a_mean_is_that_of_eight_readings_and_as_sure_as_those() {
        let mut list = turns(8, &[(0, start(1)), (0, start(2))]);
        assert!(gap(&list, STEP).is_mean);
        list[3].time.ticks += 32;
        let Gap { ticks, unsure, is_mean } = gap(&list, STEP);
        assert_eq!((ticks, is_mean), (4.0, true));
        assert!((unsure - STEP / 8.0_f64.sqrt()).abs() < 1e-9, "{unsure}");
        let few = gap(&list[..14], STEP);
        assert_eq!((few.ticks, few.unsure, few.is_mean), (0.0, STEP, false));
        // A clock without steps is taken as it was read.
        assert_eq!((gap(&list, 0.0).ticks, gap(&list, 0.0).is_mean), (0.0, false));
    }

    #[test]
    fn one_in_64_may_be_something_else() {
        for (turns_of_all, others, is_mean) in [(64, 1, true), (64, 2, false), (130, 2, true)] {
            let mut list = turns(turns_of_all, &[(0, start(1)), (0, start(2))]);
            for pair in list.chunks_exact_mut(2).skip(1).take(others) {
                pair[1].stamped = start(3);
            }
            assert_eq!(gap(&list, STEP).is_mean, is_mean, "{others} of {turns_of_all}, behind");
            for pair in list.chunks_exact_mut(2) {
                (pair[0].stamped, pair[1].stamped) = match pair[1].stamped {
                    Stamped::Start(SiteIndex(3)) => (start(3), start(2)),
                    _ => (start(1), start(2)),
                };
            }
            assert_eq!(gap(&list, STEP).is_mean, is_mean, "{others} of {turns_of_all}, ahead");
        }
    }

    #[test]
    fn what_is_longer_than_recording_and_a_step_is_no_reading() {
        let longest = longest(&cost()) as u64 + 32;
        for (ticks, is_mean) in [(longest, true), (longest + 1, false)] {
            let list = turns(8, &[(0, start(1)), (ticks, start(2))]);
            let gap = gap(&list, STEP);
            assert_eq!((gap.ticks, gap.is_mean), (ticks as f64, is_mean));
        }
    }

    #[test]
    fn marks_at_one_time_with_others_have_no_order() {
        // One that stands apart has.
        assert!(gap(&turns(8, &[(0, MARK), (32, start(2))]), STEP).is_mean);
        assert!(!gap(&turns(8, &[(0, MARK), (0, start(2))]), STEP).is_mean);
        assert!(!gap(&turns(8, &[(0, start(2)), (0, MARK)]), STEP).is_mean);
    }

    #[test]
    fn the_longest_is_the_most_of_all_that_recording_may_take() {
        let one_lane = FormCosts {
            region_begin: StampCost { before_ticks: 3.0, after_ticks: 5.0 },
            region_end: StampCost { before_ticks: 2.0, after_ticks: 70.0 },
            value: StampCost { before_ticks: 0.5, after_ticks: 6.0 },
            waits: StampWaits {
                end: StampWait { mean_ticks: 1.0, most_ticks: 30.0 },
                record: StampWait { mean_ticks: 1.0, most_ticks: 9.0 },
                ..StampWaits::default()
            },
            ..FormCosts::default()
        };
        let cost = RecordCost { one_lane, ..RecordCost::default() };
        let reach = one_lane.waits.end.reach_ticks().expect("a wait");
        assert_eq!(longest(&cost), 3.0 + 70.0 + 6.5 + reach);
    }
}
