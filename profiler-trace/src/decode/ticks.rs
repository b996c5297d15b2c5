//! Widens the 40-bit stamps of one lane to the 64 bits of its warp's clock.
//!
//! Units lie in the order of writing, so each time follows from its neighbour's by a difference
//! modulo 2^40. A range holds the whole clock of its begin (one with a track or a value in its record only
//! 40 bits of it), and so says itself when it was written: it is *whole*. From the first whole time on, or from
//! the entry where nothing was overwritten, the walk goes forwards and takes the earliest time that
//! fits; before the first whole time of a ring whose oldest units are gone it goes backwards, and
//! without one it begins at the exit, so that a gap of any length may lie before the oldest survivor.
//!
//! A whole time is right if its region lasted less than 2^40 ticks. Where it would lie before the
//! unit before it, the region was longer. A time beyond entry or exit cannot be right and is taken
//! for a step in the other direction. Where 2^40 ticks or more remain between a time and what bounds
//! it, it may as well be that much off, and the times are ambiguous.

use profiler_wire::record::{TICK_BITS, TICK_MASK};

/// How far a lane other than lane 0 may record behind lane 0's exit; and, where nothing else tells
/// the two apart, how large a step back is taken for one and not for 2^40 ticks less than it.
pub(super) const SLACK: u64 = 1 << 32;
/// The longest region that is believed: almost ten hours at 2 GHz.
const REGION_MAX: u64 = 64 << TICK_BITS;

/// What bounds the times of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub entry: u64,
    /// Lane 0's exit.
    pub exit: Option<u64>,
    /// Whether the lane is lane 0, whose last unit cannot be behind the exit.
    pub leader: bool,
}

/// Why the begin that a range holds cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Implausible {
    /// It lies before the entry.
    BeforeEntry,
    /// The end would lie behind the exit.
    BehindExit,
}

impl Bounds {
    /// No unit of the lane was written later.
    pub(super) fn limit(&self) -> u64 {
        match self.exit {
            Some(exit) if self.leader => exit,
            Some(exit) => exit.saturating_add(SLACK),
            None => u64::MAX,
        }
    }

    /// When a range that began at `begin` was written, by a stamp of these ticks.
    pub(super) fn end_of_range(&self, begin: u64, ticks: u64) -> Result<u64, Implausible> {
        if begin < self.entry {
            return Err(Implausible::BeforeEntry);
        }
        begin
            .checked_add(ticks.wrapping_sub(begin) & TICK_MASK)
            .filter(|end| *end <= self.limit())
            .ok_or(Implausible::BehindExit)
    }

    /// When a region began whose record, written at `end`, holds 40 bits of it, and whether it may as well
    /// have been 2^40 ticks earlier.
    pub(super) fn start_before(&self, end: u64, start: u64) -> Result<(u64, bool), Implausible> {
        let start = end
            .checked_sub(end.wrapping_sub(start) & TICK_MASK)
            .filter(|start| *start >= self.entry)
            .ok_or(Implausible::BeforeEntry)?;
        Ok((start, start - self.entry > TICK_MASK))
    }
}

/// When a region began whose record, written at `end`, holds 40 bits of it, if its `Begin` is the one that was
/// written at `begin`: the first such moment behind that. `None` where that is implausible: the reading stands
/// right behind the record.
pub(super) fn start_behind(begin: u64, start: u64, end: u64) -> Option<u64> {
    let behind = start.wrapping_sub(begin) & TICK_MASK;
    let start = begin.checked_add(behind).filter(|start| *start <= end)?;
    (behind < SLACK).then_some(start)
}

/// When a unit was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// All 64 bits where `whole`, otherwise the low 40.
    pub time: u64,
    pub whole: bool,
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

impl Oddities {
    fn backward(&mut self, index: usize) {
        self.backward += 1;
        self.first_backward = Some(self.first_backward.map_or(index, |known| known.min(index)));
    }
}

/// Gives every unit its whole time.
pub(super) fn widen(times: &mut [Written], bounds: Bounds, oldest_lost: bool) -> Oddities {
    let mut odd = Oddities::default();
    let first_whole = times.iter().position(|written| written.whole);
    match (oldest_lost, first_whole, bounds.exit) {
        (true, Some(first), _) => {
            let whole = times[first].time;
            backwards(&mut times[..first], whole, &bounds, false, &mut odd);
            forwards(times, first, whole, &bounds, &mut odd);
        }
        (true, None, Some(exit)) => backwards(times, exit, &bounds, !bounds.leader, &mut odd),
        _ => forwards(times, 0, bounds.entry, &bounds, &mut odd),
    }
    odd
}

/// Widens the times from `first` on, none of which is before `last`.
fn forwards(
    times: &mut [Written],
    first: usize,
    mut last: u64,
    bounds: &Bounds,
    odd: &mut Oddities,
) {
    let limit = bounds.limit();
    for (index, written) in times.iter_mut().enumerate().skip(first) {
        let Written { time, whole } = *written;
        let step = time.wrapping_sub(last) & TICK_MASK;
        let back = (1 << TICK_BITS) - step;
        let next = last.checked_add(step).filter(|next| *next <= limit);
        let fitting = if whole && time >= last {
            // The unit before may have been written later. Without an exit, not even the first
            // time of all is bounded.
            odd.ambiguous |= (index > 0 || bounds.exit.is_none()) && time - last > TICK_MASK;
            Some(time)
        } else if whole {
            next.filter(|next| last - time >= SLACK && next - time <= REGION_MAX)
        } else {
            next.filter(|_| bounds.exit.is_some() || back >= SLACK)
        };
        match fitting {
            Some(fitting) => {
                last = fitting;
                written.time = fitting;
            }
            None => {
                odd.backward(index);
                if !whole {
                    written.time = last.saturating_sub(back).max(bounds.entry);
                }
            }
        }
    }
    odd.ambiguous |=
        bounds.exit.is_some() && !times.is_empty() && limit.saturating_sub(last) > TICK_MASK;
}

/// Widens times of which none is behind `next`; where the last ones may be `late`, they may be so
/// by [`SLACK`].
fn backwards(
    times: &mut [Written],
    mut next: u64,
    bounds: &Bounds,
    late: bool,
    odd: &mut Oddities,
) {
    let end = next;
    for (index, written) in times.iter_mut().enumerate().rev() {
        let back = next.wrapping_sub(written.time) & TICK_MASK;
        let ahead = (1 << TICK_BITS) - back;
        let late = late && next == end && ahead < SLACK;
        match next.checked_sub(back).filter(|time| *time >= bounds.entry && !late) {
            Some(whole) => next = whole,
            None if late => next = next.saturating_add(ahead),
            None => {
                odd.backward(index);
                written.time = next.saturating_add(ahead);
                continue;
            }
        }
        written.time = next;
    }
    odd.ambiguous |= !times.is_empty() && next.saturating_sub(bounds.entry) > TICK_MASK;
}

#[cfg(test)]
mod tests;
