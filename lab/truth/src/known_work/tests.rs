//! Limits, and what is told from errors.

use super::*;
use crate::known_work::beyond::Place;

fn of_clock(clock: &str) -> Subject {
    let kernel = KNOWN_WORK.iter().find(|kernel| kernel.clock == clock);
    Subject { kernel: kernel.expect("there is one"), grid: Grid::FEW, form: "range" }
}

#[test]
fn limits_are_a_part_or_some_ticks() {
    assert_eq!([90.0, 20_000.0].map(|truth| limit("range", truth, 1.0)), [8.0, 200.0]);
    // Of half a nanosecond each.
    assert_eq!([90.0, 20_000.0].map(|truth| limit("wait", truth, 0.5)), [4.0, 200.0]);
    assert_eq!([90.0, 20_000.0].map(|truth| limit(ADDED_UP.0, truth, 0.5)), [6.0, 200.0]);
    let by_timer = of_clock("globaltimer");
    let mut trace = Trace { clock_mhz: Some(2000.0), ..Trace::default() };
    assert_eq!(by_timer.ticks_per_cycle(&trace).ok(), Some(0.5));
    assert_eq!(of_clock("cycles").ticks_per_cycle(&trace).ok(), Some(1.0));
    trace.clock_mhz = None;
    assert!(by_timer.ticks_per_cycle(&trace).is_err());
    assert_eq!(of_clock("cycles").to_string(), "warp, cycles, range");
}

#[test]
fn short_spins_are_repeated_more_often_where_the_timer_measures() {
    let cases = [(64, 12), (10_000, 12)];
    let cases = cases.map(|(cycles, repeats)| Case { depth: 1, cycles, repeats });
    let repeats =
        |of: Subject| -> Vec<u32> { of.repeated(&cases).iter().map(|case| case.repeats).collect() };
    assert_eq!(repeats(of_clock("cycles")), [12, 12]);
    assert_eq!(repeats(of_clock("globaltimer")), [200, 12]);
    let hosted = HOSTED_WORK.iter().find(|kernel| kernel.clock == "globaltimer");
    let hosted = Subject { kernel: hosted.expect("there is one"), grid: Grid::FEW, form: "range" };
    assert_eq!(repeats(hosted), [12, 12]);
    let by_one = HOSTED_WORK.iter().find(|kernel| kernel.name == "hosted_when_timer");
    let by_one = Subject { kernel: by_one.expect("it exists"), grid: Grid::FEW, form: "range" };
    assert_eq!(repeats(by_one), [48, 12]);
}

#[test]
fn of_errors_in_steps_the_mean_is_typical() {
    let errors = Summary::of([0.0, 0.0, 32.0, 32.0, 32.0]).expect("there are some");
    assert_eq!(of_clock("cycles").typical(&errors), 32.0);
    assert!((of_clock("globaltimer").typical(&errors) - 19.2).abs() < 1e-9);
}

#[test]
fn what_goes_to_the_host_says_so() {
    let kernel = HOSTED_WORK.first().expect("there is one");
    assert_eq!(
        Subject { kernel, grid: Grid::FEW, form: "wait" }.to_string(),
        "warp, cycles, wait, host"
    );
}

#[test]
fn every_strategy_has_both_clocks_and_buffers() {
    for kernels in [KNOWN_WORK, HOSTED_WORK] {
        for clock in ["cycles", "globaltimer"] {
            let of_clock = kernels.iter().filter(|kernel| kernel.clock == clock);
            let strategies: Vec<&str> = of_clock.map(|kernel| kernel.strategy).collect();
            let all = ["warp", "block", "warp(1)", "elected", "thread", "warp_group", "when"];
            assert_eq!(strategies, all);
        }
    }
}

#[test]
fn costs_are_told_from_errors() {
    let mut seen = SeenCost::default();
    assert_eq!((seen.inside_ticks(), seen.total_ticks()), (None, None));
    for (inner, error) in [(0, 4.0), (0, 6.0), (0, 5.0), (1, 40.0)] {
        seen.add(inner, error);
    }
    assert_eq!((seen.inside_ticks(), seen.total_ticks()), (Some(5.0), Some(35.0)));
    seen.add(7, 75.0);
    assert_eq!(seen.total_ticks(), Some(10.0));
}

#[test]
fn the_worst_is_farthest_from_zero() {
    let mut worst = Worst::default();
    for (raw, subtracted) in [(20.0, 3.0), (10.0, -7.0), (9.0, 8.5)] {
        let less = [length(subtracted, 1)];
        let level = summarize(&[length(raw, 1)], &less).expect("one region");
        worst.add((of_clock("cycles"), 64), &level, &less, usize::from(subtracted > 8.0));
    }
    assert_eq!((worst.raw_typical, worst.subtracted_typical), (20.0, 8.5));
    assert_eq!((worst.raw, worst.subtracted), (20.0, 8.5));
    assert_eq!((worst.beyond, worst.regions), (1, 3));
    assert!(summarize(&[], &[]).is_none());
}

/// A region of 100 ticks that is off, by a lane of warp 2 of block 1.
fn length(error: f64, repeat: usize) -> Length {
    let place = Place { block: 1, warp: 2, repeat };
    Length { recorded: 100.0 + error, truth: 100.0, place }
}

#[test]
fn regions_beyond_the_limit_are_named_by_warp_and_repeat() {
    let lengths = [(8.0, 1), (-9.0, 2), (61.0, 2), (-60.0, 2), (-8.25, 3), (8.0, 3)];
    let lengths = lengths.map(|(error, repeat)| length(error, repeat));
    let beyond = Beyond::of(&lengths, |truth| if truth == 100.0 { 8.0 } else { 0.0 });
    assert_eq!(beyond.iter().map(|beyond| beyond.lanes).sum::<usize>(), 4);
    let first = beyond.first().expect("there are two").json();
    assert_eq!(first, json!({"block": 1, "warp": 2, "repeat": 2, "lanes": 3, "error_ticks": 61.0}));
    assert_eq!(Beyond::of(&lengths, |_| 100.0), []);
}
