//! Widens the 40-bit ticks of one lane to the 64 bits of its warp's anchors.
//!
//! Units lie in the order of writing, so each time follows from its neighbour's by a difference
//! modulo 2^40. Where nothing was overwritten, the walk goes forwards from the entry; where the
//! oldest units were, backwards from the exit, so that a gap of any length may lie before the
//! oldest survivor. A time beyond the other anchor cannot be right and is taken for a step in the
//! other direction. Where 2^40 ticks or more remain between the end of the walk and the other
//! anchor, they may as well lie between two units, and the times are ambiguous.

use profiler_wire::record::{TICK_BITS, TICK_MASK};

/// How far a lane other than lane 0 may record behind lane 0's exit; and, where no exit bounds the
/// times, how large a step back is taken for one and not for 2^40 ticks less than it.
const SLACK: u64 = 1 << 32;

/// What bounds the times of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub entry: u64,
    /// Lane 0's exit.
    pub exit: Option<u64>,
    /// Whether the lane is lane 0, whose last unit cannot be behind the exit.
    pub leader: bool,
}

/// What was odd about a lane's times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Oddities {
    /// Units that were written before the one before them: how many, and the first.
    pub backward: u64,
    pub first_backward: Option<usize>,
    /// A gap of 2^40 ticks or more may hide.
    pub ambiguous: bool,
}

/// Replaces the low 40 bits of the times at which units were written by the whole times.
pub(super) fn widen(times: &mut [u64], bounds: Bounds, oldest_lost: bool) -> Oddities {
    let mut odd = Oddities::default();
    let mut backward = |index: usize| {
        odd.backward += 1;
        odd.first_backward = Some(odd.first_backward.map_or(index, |known| known.min(index)));
    };
    match bounds.exit {
        Some(exit) if oldest_lost => {
            let mut next = exit;
            for (index, time) in times.iter_mut().enumerate().rev() {
                let back = next.wrapping_sub(*time) & TICK_MASK;
                let ahead = (1 << TICK_BITS) - back;
                let late = !bounds.leader && next == exit && ahead < SLACK;
                match next.checked_sub(back).filter(|time| *time >= bounds.entry && !late) {
                    Some(whole) => next = whole,
                    None if late => next = next.saturating_add(ahead),
                    None => {
                        backward(index);
                        *time = next.saturating_add(ahead);
                        continue;
                    }
                }
                *time = next;
            }
            odd.ambiguous = !times.is_empty() && next.saturating_sub(bounds.entry) > TICK_MASK;
        }
        _ => {
            let limit = match bounds.exit {
                Some(exit) if bounds.leader => exit,
                Some(exit) => exit.saturating_add(SLACK),
                None => u64::MAX,
            };
            let mut last = bounds.entry;
            for (index, time) in times.iter_mut().enumerate() {
                let step = time.wrapping_sub(last) & TICK_MASK;
                let back = (1 << TICK_BITS) - step;
                let unbounded = bounds.exit.is_none() && back < SLACK;
                match last.checked_add(step).filter(|time| *time <= limit && !unbounded) {
                    Some(whole) => {
                        last = whole;
                        *time = whole;
                    }
                    None => {
                        backward(index);
                        *time = last.saturating_sub(back).max(bounds.entry);
                    }
                }
            }
            let gap = bounds.exit.map_or(0, |_| limit.saturating_sub(last));
            odd.ambiguous = !times.is_empty() && gap > TICK_MASK;
        }
    }
    odd
}

#[cfg(test)]
mod tests;
