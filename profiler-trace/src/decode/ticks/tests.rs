use super::*;
use proptest::prelude::*;

const WRAP: u64 = 1 << TICK_BITS;

fn low(times: &[u64]) -> Vec<u64> {
    times.iter().map(|time| time & TICK_MASK).collect()
}

fn leader(entry: u64, exit: Option<u64>) -> Bounds {
    Bounds { entry, exit, leader: true }
}

#[test]
fn many_wraps_forwards_and_backwards() {
    let times: Vec<u64> = (0..20).map(|step| 7 + step * (WRAP - 3)).collect();
    for oldest_lost in [false, true] {
        let mut widened = low(&times);
        let odd = widen(&mut widened, leader(5, Some(times[19] + 9)), oldest_lost);
        assert_eq!(widened, times);
        assert_eq!(odd, Oddities::default());
    }
}

#[test]
fn a_gap_that_may_hide_is_flagged() {
    let mut times = low(&[100, 200]);
    let odd = widen(&mut times, leader(50, Some(200 + WRAP)), false);
    assert!(odd.ambiguous);
    let mut times = low(&[100, 200]);
    assert!(!widen(&mut times, leader(50, Some(199 + WRAP)), false).ambiguous);
}

#[test]
fn a_gap_before_the_oldest_survivor_may_be_one_behind_it() {
    for is_leader in [true, false] {
        let bounds = Bounds { leader: is_leader, ..leader(50, Some(300 + WRAP)) };
        let mut times = low(&[49 + WRAP, 200 + WRAP]);
        assert!(!widen(&mut times, bounds, true).ambiguous);
        let mut times = low(&[50 + WRAP, 200 + WRAP]);
        assert!(widen(&mut times, bounds, true).ambiguous);
        assert_eq!(times, [50 + WRAP, 200 + WRAP]);
    }
}

#[test]
fn of_another_lane_the_gap_reaches_beyond_the_exit_of_lane_0() {
    let bounds = |exit| Bounds { leader: false, ..leader(50, Some(exit)) };
    let mut times = low(&[100, 200]);
    assert!(!widen(&mut times, bounds(199 + WRAP - SLACK), false).ambiguous);
    let mut times = low(&[100, 200]);
    assert!(widen(&mut times, bounds(200 + WRAP - SLACK), false).ambiguous);
    // A lane that recorded nothing has no times to be wrong.
    assert!(!widen(&mut [], bounds(1 << 50), false).ambiguous);
    assert!(!widen(&mut [], bounds(1 << 50), true).ambiguous);
}

#[test]
fn a_step_back_is_flagged_and_its_time_kept() {
    for exit in [Some(2000), None] {
        let mut times = low(&[1000, 900, 1100]);
        let odd = widen(&mut times, leader(500, exit), false);
        assert_eq!(times, [1000, 900, 1100]);
        assert_eq!((odd.backward, odd.first_backward), (1, Some(1)));
    }
    let mut times = low(&[600, 1200, 1100]);
    let odd = widen(&mut times, leader(500, Some(2000)), true);
    assert_eq!(times, [600, 1200, 1100]);
    assert_eq!((odd.backward, odd.first_backward), (1, Some(1)));
}

#[test]
fn another_lane_may_record_behind_the_exit_of_lane_0() {
    let bounds = Bounds { leader: false, ..leader(WRAP, Some(WRAP + 100)) };
    for oldest_lost in [false, true] {
        let mut times = low(&[WRAP + 50, WRAP + 150]);
        let odd = widen(&mut times, bounds, oldest_lost);
        assert_eq!(times, [WRAP + 50, WRAP + 150]);
        assert_eq!(odd, Oddities::default());
    }
}

proptest! {
    #[test]
    fn exact_for_any_gaps_below_the_limit(
        entry in 0_u64..1 << 50,
        gaps in prop::collection::vec(0..WRAP, 1..50),
        oldest_lost: bool,
    ) {
        let mut at = entry;
        let times: Vec<u64> = gaps.iter().map(|gap| { at += gap; at }).collect();
        let mut widened = low(&times);
        let odd = widen(&mut widened, leader(entry, Some(at)), oldest_lost);
        prop_assert_eq!(widened, times);
        prop_assert_eq!(odd, Oddities::default());
    }

    #[test]
    fn any_ticks_are_widened_without_panic(
        entry: u64,
        exit: Option<u64>,
        mut times in prop::collection::vec(0..WRAP, 0..20),
        leader: bool,
        oldest_lost: bool,
    ) {
        let bounds = Bounds { entry, exit: exit.map(|exit| exit.max(entry)), leader };
        let odd = widen(&mut times, bounds, oldest_lost);
        prop_assert!(odd.backward <= times.len() as u64);
    }
}
