//! What passes between stamps of a clock that comes in steps.

use std::collections::HashMap;

use super::stamps::{Stamp, Stamped};
use crate::record_cost::{RecordCost, StampWaits};

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
}

impl Gaps {
    /// Those between `stamps`; `cost` is in the ticks of their clock, whose steps are `step` ticks.
    pub(super) fn of(stamps: &[Stamp], cost: &RecordCost, step: f64) -> Self {
        let mut gaps = Self { step, longest: longest(cost) + step, read: HashMap::new() };
        // All that passed between stamps of a clock without steps was read.
        if step > 0.0 {
            for pair in stamps.windows(2) {
                let ticks = pair[1].time.ticks.saturating_sub(pair[0].time.ticks);
                if ticks as f64 <= gaps.longest {
                    let read = gaps.read.entry((pair[0].stamped, pair[1].stamped)).or_default();
                    (read.0, read.1) = (read.0.saturating_add(ticks), read.1 + 1);
                }
            }
        }
        gaps
    }

    /// What passed between a stamp and the one behind it.
    pub(super) fn between(&self, left: Stamp, right: Stamp) -> Gap {
        let ticks = right.time.ticks.saturating_sub(left.time.ticks) as f64;
        let read = self.read.get(&(left.stamped, right.stamped));
        match read.filter(|read| ticks <= self.longest && read.1 >= READINGS_MIN) {
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
