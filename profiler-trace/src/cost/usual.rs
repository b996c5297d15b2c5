//! Between which places records mostly stand back to back.

use std::collections::HashMap;

use super::axis::Holder;
use super::gaps::Gap;
use super::others::Others;
use super::stamps::{Stamp, Stamped, Stores};
use crate::record_cost::{RecordCost, StampWait};

/// So many times at least a warp must have come from one place to another.
const TIMES_MIN: u64 = 8;
/// One in so many of these may have taken longer than what waits mostly do; the first time, when the code is in no
/// cache yet, is among them.
const LONGER_PART: u64 = 4;

/// How often a warp came from a place that stored a record to a later one, and how often within what it
/// mostly waits there.
///
/// Warps that record at once wait for each other, now and then much longer than mostly. Where a warp comes by
/// the same two places again and again and hardly ever takes that long, that was such a wait, and not work.
#[derive(Default)]
pub(super) struct Usual(HashMap<Places, Times>);

/// A place that stored a record, the one behind it, and whether a region began by the one or between the two.
pub(super) type Places = (Stamped, Stamped, bool);

#[derive(Clone, Copy, Default)]
struct Times {
    all: u64,
    longer: u64,
}

impl Usual {
    /// What `stamps` tell; `cost` is in the ticks of their clock. (A step of the timer hides more than by how much
    /// rare waits are longer.)
    pub(super) fn of(stamps: &[Stamp], cost: &RecordCost, others: &Others) -> Self {
        let mut is_asked = false;
        for_each_held(stamps, (cost, others), |_, passed, wait| is_asked |= wait.is_rare(passed));
        let mut usual = Self::default();
        // Mostly nothing is to be decided.
        if is_asked {
            for_each_held(stamps, (cost, others), |places, passed, wait| {
                let times = usual.0.entry(places).or_default();
                times.all += 1;
                times.longer += u64::from(!wait.is_within_reach(passed));
            });
        }
        usual
    }

    /// Whether what passes between the two is mostly no longer than a wait.
    pub(super) fn is_back_to_back(&self, stored: &Holder, next: Stamped) -> bool {
        let times = self.0.get(&stored.places_to(next)).copied().unwrap_or_default();
        times.all >= TIMES_MIN && times.longer <= times.all / LONGER_PART
    }
}

/// Calls `held` for each stamp behind a stored record: with the two places, with what passed between them less
/// what recording takes by itself, and with how long the stamp may have waited.
fn for_each_held(
    stamps: &[Stamp],
    (cost, others): (&RecordCost, &Others),
    mut held: impl FnMut(Places, f64, StampWait),
) {
    let mut stored: Option<Holder> = None;
    let mut before: Option<Stamp> = None;
    for &stamp in stamps {
        let costs = cost.of(stamp.election);
        let of_stamp = stamp.cost(costs);
        let gap = before
            .replace(stamp)
            .map_or(0, |before| stamp.time.ticks.saturating_sub(before.time.ticks));
        if let Some(holder) = &mut stored {
            holder.pass(Gap { ticks: gap as f64, unsure: 0.0, is_mean: false }, of_stamp);
            let wait = holder.wait(stamp, &costs.waits, others);
            held(holder.places_to(stamp.stamped), holder.beyond_apart(), wait);
        }
        match (stamp.stores, &mut stored) {
            (Stores::Nothing, None) => {}
            (Stores::Nothing, Some(holder)) => holder.begin(of_stamp),
            (Stores::Begin | Stores::Record, _) => stored = Some(Holder::new(stamp, of_stamp)),
        }
    }
}
