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

/// How far a lane other than lane 0 may record after lane 0's exit; and, where nothing else tells
/// the two apart, how large a step back is taken for one and not for 2^40 ticks less than it.
pub(super) const SLACK: u64 = 1 << 32;
/// The longest region that is believed: almost ten hours at 2 GHz.
const REGION_MAX: u64 = 64 << TICK_BITS;

/// The bounds of a lane's times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub entry: u64,
    /// Lane 0's exit.
    pub exit: Option<u64>,
    /// Whether the lane is lane 0, whose last unit cannot be after the exit.
    pub leader: bool,
}

/// Why the begin that a range holds cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Implausible {
    /// It lies before the entry.
    BeforeEntry,
    /// The end would lie after the exit.
    AfterExit,
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
            .ok_or(Implausible::AfterExit)
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
/// written at `begin`: the first such moment after that. `None` where that is implausible: the reading stands
/// right after the record.
pub(super) fn start_after(begin: u64, start: u64, end: u64) -> Option<u64> {
    let after = start.wrapping_sub(begin) & TICK_MASK;
    let start = begin.checked_add(after).filter(|start| *start <= end)?;
    (after < SLACK).then_some(start)
}

/// The time of a unit's stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// All 64 bits where `whole`, otherwise the low 40.
    pub time: u64,
    pub whole: bool,
}

/// Oddities of a lane's times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Oddities {
    /// Units that were written before the one before them: how many, and the first one's number.
    pub backward: u64,
    pub first_backward: Option<u32>,
    /// A gap of 2^40 ticks or more may hide.
    pub ambiguous: bool,
}

impl Oddities {
    fn backward(&mut self, number: u32) {
        self.backward += 1;
        self.first_backward = Some(self.first_backward.map_or(number, |known| known.min(number)));
    }
}

/// Gives the units of a lane their whole times, one after the other.
#[derive(Debug)]
pub(super) struct Widening<'a> {
    bounds: Bounds,
    /// The times of the first units, if they are found backwards, with their numbers.
    oldest: &'a [(u32, u64)],
    /// The time of the unit before.
    pub last: u64,
    /// The number of units so far.
    count: u64,
    odd: Oddities,
}

impl<'a> Widening<'a> {
    /// `oldest` are the ticks of the units before the first `whole` time, with their numbers, in a
    /// ring whose oldest units are lost; otherwise there are none.
    pub(super) fn new(bounds: Bounds, oldest: &'a mut Vec<(u32, u64)>, whole: Option<u64>) -> Self {
        let mut odd = Oddities::default();
        match (whole, bounds.exit) {
            (Some(whole), _) => backwards(oldest, whole, &bounds, false, &mut odd),
            (None, Some(exit)) => backwards(oldest, exit, &bounds, !bounds.leader, &mut odd),
            // Nothing is known to come after them.
            (None, None) => oldest.clear(),
        }
        Self { bounds, oldest, last: whole.unwrap_or(bounds.entry), count: 0, odd }
    }

    /// Whether the next unit's time was found backwards.
    #[inline]
    pub(super) fn is_among_oldest(&self) -> bool {
        self.count < self.oldest.len() as u64
    }

    /// Goes on after so many units, the last of which was written at `last`, and of which none is odd.
    #[inline]
    pub(super) fn forward(&mut self, last: u64, count: u64) {
        self.last = last;
        self.count += count;
    }

    /// When the next unit was written, whose number is given.
    pub(super) fn next(&mut self, number: u32, written: Written) -> u64 {
        let Written { time, whole } = written;
        let count = self.count;
        self.count += 1;
        if let Some((_, oldest)) = self.oldest.get(count as usize) {
            return *oldest;
        }
        let Bounds { entry, exit, .. } = self.bounds;
        let last = self.last;
        let step = time.wrapping_sub(last) & TICK_MASK;
        let back = (1 << TICK_BITS) - step;
        let next = last.checked_add(step).filter(|next| *next <= self.bounds.limit());
        let fitting = if whole && time >= last {
            // The unit before may have been written later. Without an exit, not even the first
            // time of all is bounded.
            self.odd.ambiguous |= (count > 0 || exit.is_none()) && time - last > TICK_MASK;
            Some(time)
        } else if whole {
            next.filter(|next| last - time >= SLACK && next - time <= REGION_MAX)
        } else {
            next.filter(|_| exit.is_some() || back >= SLACK)
        };
        if let Some(fitting) = fitting {
            self.last = fitting;
            return fitting;
        }
        self.odd.backward(number);
        if whole { time } else { last.saturating_sub(back).max(entry) }
    }

    /// The oddities.
    pub(super) fn finish(self) -> Oddities {
        let Self { bounds, oldest, last, count, mut odd } = self;
        let went_forwards = count > oldest.len() as u64;
        odd.ambiguous |= bounds.exit.is_some()
            && went_forwards
            && bounds.limit().saturating_sub(last) > TICK_MASK;
        odd
    }
}

/// Widens times of which none is after `next`; if the last ones may be `late`, they may be so
/// by [`SLACK`].
fn backwards(
    times: &mut [(u32, u64)],
    mut next: u64,
    bounds: &Bounds,
    late: bool,
    odd: &mut Oddities,
) {
    let end = next;
    for (number, time) in times.iter_mut().rev() {
        let back = next.wrapping_sub(*time) & TICK_MASK;
        let ahead = (1 << TICK_BITS) - back;
        let late = late && next == end && ahead < SLACK;
        match next.checked_sub(back).filter(|time| *time >= bounds.entry && !late) {
            Some(whole) => next = whole,
            None if late => next = next.saturating_add(ahead),
            None => {
                odd.backward(*number);
                *time = next.saturating_add(ahead);
                continue;
            }
        }
        *time = next;
    }
    odd.ambiguous |= !times.is_empty() && next.saturating_sub(bounds.entry) > TICK_MASK;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WRAP: u64 = 1 << TICK_BITS;

    /// Widens stamps of these times; gives the times that came out, too.
    fn widen_low(times: &[u64], bounds: Bounds, oldest_lost: bool) -> (Vec<u64>, Oddities) {
        widen_some(times.iter().map(|time| (*time, false)), bounds, oldest_lost)
    }

    /// Likewise; where a time is whole, it is given with all its bits.
    fn widen_some(
        times: impl IntoIterator<Item = (u64, bool)>,
        bounds: Bounds,
        oldest_lost: bool,
    ) -> (Vec<u64>, Oddities) {
        let given =
            |(time, whole)| Written { time: if whole { time } else { time & TICK_MASK }, whole };
        let written: Vec<Written> = times.into_iter().map(given).collect();
        let numbered = || (0..).zip(&written);
        let whole = written.iter().find(|written| written.whole).map(|written| written.time);
        let whole = whole.filter(|_| oldest_lost);
        let before = numbered().take_while(|(_, written)| oldest_lost && !written.whole);
        let mut oldest = before.map(|(number, written)| (number, written.time)).collect();
        let mut widening = Widening::new(bounds, &mut oldest, whole);
        let times = numbered().map(|(number, written)| widening.next(number, *written)).collect();
        (times, widening.finish())
    }

    fn leader(entry: u64, exit: Option<u64>) -> Bounds {
        Bounds { entry, exit, leader: true }
    }

    #[test]
    fn a_gap_that_may_hide_is_flagged() {
        let ambiguous = |exit| widen_low(&[100, 200], leader(50, Some(exit)), false).1.ambiguous;
        assert!(ambiguous(200 + WRAP));
        assert!(!ambiguous(199 + WRAP));
    }

    #[test]
    fn a_gap_before_the_oldest_survivor_may_be_one_after_it() {
        for is_leader in [true, false] {
            let bounds = Bounds { leader: is_leader, ..leader(50, Some(300 + WRAP)) };
            assert!(!widen_low(&[49 + WRAP, 200 + WRAP], bounds, true).1.ambiguous);
            let (times, odd) = widen_low(&[50 + WRAP, 200 + WRAP], bounds, true);
            assert!(odd.ambiguous);
            assert_eq!(times, [50 + WRAP, 200 + WRAP]);
        }
    }

    #[test]
    fn of_another_lane_the_gap_reaches_beyond_the_exit_of_lane_0() {
        let bounds = |exit| Bounds { leader: false, ..leader(50, Some(exit)) };
        assert!(!widen_low(&[100, 200], bounds(199 + WRAP - SLACK), false).1.ambiguous);
        assert!(widen_low(&[100, 200], bounds(200 + WRAP - SLACK), false).1.ambiguous);
        // A lane that recorded nothing has no times to be wrong.
        assert!(!widen_low(&[], bounds(1 << 50), false).1.ambiguous);
        assert!(!widen_low(&[], bounds(1 << 50), true).1.ambiguous);
    }

    #[test]
    fn a_step_back_is_flagged_and_its_time_kept() {
        for exit in [Some(2000), None] {
            for whole in [false, true] {
                let times = [(1000, false), (900, whole), (1100, false)];
                let (widened, odd) = widen_some(times, leader(500, exit), false);
                assert_eq!(widened, [1000, 900, 1100]);
                assert_eq!((odd.backward, odd.first_backward), (1, Some(1)));
            }
        }
        let (times, odd) = widen_low(&[600, 1200, 1100], leader(500, Some(2000)), true);
        assert_eq!(times, [600, 1200, 1100]);
        assert_eq!((odd.backward, odd.first_backward), (1, Some(1)));
    }

    #[test]
    fn another_lane_may_record_after_the_exit_of_lane_0() {
        let bounds = Bounds { leader: false, ..leader(WRAP, Some(WRAP + 100)) };
        for oldest_lost in [false, true] {
            let (times, odd) = widen_low(&[WRAP + 50, WRAP + 150], bounds, oldest_lost);
            assert_eq!(times, [WRAP + 50, WRAP + 150]);
            assert_eq!(odd, Oddities::default());
        }
    }

    #[test]
    fn a_whole_time_anchors_its_neighbours() {
        let far = 3 * WRAP;
        let times = [(100, false), (200, false), (far + 7, true), (far + 500, false)];
        let bounds = leader(50, Some(far + 1000));
        let (widened, odd) = widen_some(times, bounds, false);
        assert_eq!(widened, [100, 200, far + 7, far + 500]);
        assert!(odd.ambiguous, "the second may have been written later");
        // In a ring, those before it are taken as late as they fit.
        let (widened, odd) = widen_some(times, bounds, true);
        assert_eq!(widened, [100 + 2 * WRAP, 200 + 2 * WRAP, far + 7, far + 500]);
        assert!(odd.ambiguous);
        // With nothing before it, nothing is open.
        for oldest_lost in [false, true] {
            let (widened, odd) = widen_some(times[2..].to_vec(), bounds, oldest_lost);
            assert_eq!((widened, odd), (vec![far + 7, far + 500], Oddities::default()));
        }
        // Nothing bounds a lane without an exit.
        assert!(widen_some(times[2..].to_vec(), leader(50, None), false).1.ambiguous);
    }

    #[test]
    fn a_whole_time_before_another_unit_is_of_a_longer_region() {
        let times = [(2 * WRAP - 9, true), (5, true), (2 * WRAP + 7, false)];
        let (widened, odd) = widen_some(times, leader(0, Some(2 * WRAP + 9)), false);
        assert_eq!(widened, [2 * WRAP - 9, 2 * WRAP + 5, 2 * WRAP + 7]);
        assert_eq!(odd, Oddities::default());
        // As long as no one believes a region to be, it is a step back.
        let far = REGION_MAX + 2 * WRAP;
        let (widened, odd) = widen_some([(far, true), (5, true)], leader(0, None), false);
        assert_eq!((widened, odd.backward), (vec![far, 5], 1));
    }

    #[test]
    fn where_a_range_ended() {
        let bounds = leader(1000, Some(3 * WRAP));
        let end = |begin: u64, end: u64| bounds.end_of_range(begin, end & TICK_MASK);
        for (begin, at) in [(1000, 1000), (1000, 999 + WRAP), (5 + WRAP, 4 + 2 * WRAP)] {
            assert_eq!(end(begin, at), Ok(at));
        }
        assert_eq!(end(999, 1500), Err(Implausible::BeforeEntry));
        assert_eq!(end(3 * WRAP, 3 * WRAP + 1), Err(Implausible::AfterExit));
        assert_eq!(end(u64::MAX, 7), Err(Implausible::AfterExit));
        let late = Bounds { leader: false, ..bounds };
        assert_eq!(late.end_of_range(3 * WRAP, 1), Ok(3 * WRAP + 1));
    }

    proptest! {
        #[test]
        fn exact_for_any_gaps_below_the_limit(
            entry in 0_u64..1 << 50,
            gaps in prop::collection::vec((0..WRAP, any::<bool>()), 1..50),
            oldest_lost: bool,
        ) {
            let mut at = entry;
            let times: Vec<(u64, bool)> =
                gaps.iter().map(|&(gap, whole)| { at += gap; (at, whole) }).collect();
            let bounds = leader(entry, Some(at));
            let (widened, odd) = widen_some(times.iter().copied(), bounds, oldest_lost);
            let exact: Vec<u64> = times.iter().map(|time| time.0).collect();
            prop_assert_eq!(widened, exact);
            prop_assert!(odd.backward == 0);
            // Only in a ring may there be more before the first time than its bits tell.
            prop_assert!(!odd.ambiguous || oldest_lost && !times[0].1);
        }

        #[test]
        fn any_ticks_are_widened_without_panic(
            entry: u64,
            exit: Option<u64>,
            times in prop::collection::vec((any::<u64>(), any::<bool>()), 0..20),
            leader: bool,
            oldest_lost: bool,
        ) {
            let bounds = Bounds { entry, exit: exit.map(|exit| exit.max(entry)), leader };
            let times = times.into_iter().map(|(time, whole)| (time, whole && time >= entry));
            let (widened, odd) = widen_some(times, bounds, oldest_lost);
            prop_assert!(odd.backward <= widened.len() as u64);
        }
    }
}
