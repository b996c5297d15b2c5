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
