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
