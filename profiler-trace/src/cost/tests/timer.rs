//! Warps whose clock comes in steps of 32 ns.

use super::waits::waits;
use super::*;

const STEP: u64 = 32;
const NS_PER_CYCLE: f64 = 0.5;

/// What a made-up loop does in each turn.
#[derive(Clone, Copy, Debug)]
enum Do {
    /// Work of so many nanoseconds.
    Work(u64),
    Begin,
    End,
}

/// How long the regions of a loop's body, in the order of their begins, are on average of so many turns too
/// long, in nanoseconds, once the cost is subtracted.
fn mean_errors(body: &[Do], turns: u32, eighths: &[u8]) -> Vec<f64> {
    let mut module = SyntheticModule::new(Keep::First, 1 << 14);
    let kernel = module.site(SiteKind::Kernel, "k");
    let begins = body.iter().filter(|step| matches!(step, Do::Begin)).count();
    let sites: Vec<u32> =
        (0..begins).map(|index| module.site(SiteKind::Region, &format!("r{index}"))).collect();
    let mut warp = SyntheticWarp::new(kernel, 640_000, 640_000);
    warp.header.record_clock = Clock::GlobalTimer;
    let cost = RecordCost::uniform(2.0, 8.0).one_lane;
    let mut holds = Holds::new(waits(), eighths);
    let (mut now, mut real) = (650_000.0, 650_000.0);
    let mut worked = vec![0.0; begins];
    for turn in 0..turns {
        let (mut open, mut begun) = (Vec::new(), 0);
        let mut stamp = |now: &mut f64, real: f64, cost: StampCost, is_begin: bool| {
            *now = holds.stamp(*now, real, cost, is_begin, NS_PER_CYCLE);
            let read = *now as u64 / STEP * STEP;
            *now += cost.after_ticks * NS_PER_CYCLE;
            read
        };
        for step in body {
            match step {
                Do::Work(ns) => {
                    now += *ns as f64;
                    real += *ns as f64;
                    open.iter().for_each(|&(index, _)| worked[index] += *ns as f64);
                }
                Do::Begin => {
                    open.push((begun, stamp(&mut now, real, cost.region_begin, true)));
                    begun += 1;
                }
                Do::End => {
                    let Some((index, start)) = open.pop() else { continue };
                    let end = stamp(&mut now, real, cost.region_end, false);
                    warp.range(sites[index], None, start, end);
                }
            }
        }
        while let Some((index, start)) = open.pop() {
            let end = stamp(&mut now, real, cost.region_end, false);
            warp.range(sites[index], None, start, end);
        }
        // Each turn begins elsewhere in a step: by the golden ratio, spread evenly.
        let pause = 200.0 + (f64::from(turn) * 0.618_034).fract() * 320.0;
        (now, real) = (now + pause, real + pause);
    }
    let leave = now as u64 + 1_000;
    warp.leave(2 * leave, leave);
    module.warps.push(warp);
    let mut capture = module.into_capture().expect("the sites are whole");
    capture.device.clock_mhz = Some(1000.0 / NS_PER_CYCLE);
    capture.record_cost = Some(RecordCost {
        one_lane: FormCosts { waits: waits(), ..cost },
        ..RecordCost::default()
    });
    let mut trace = crate::decode(&capture);
    trace.timer_step_ns = STEP as f64;
    trace.subtract_record_cost();
    assert!(trace.diagnostics.is_empty(), "{}", trace.diagnostics);
    let mut recorded = vec![0.0; begins];
    for region in &trace.warps[0].regions {
        let name = &trace.site(region.site).name;
        let index: usize = name[1..].parse().expect("a number");
        recorded[index] += length(region) as f64;
    }
    let errors = recorded.iter().zip(&worked).map(|(got, real)| (got - real) / f64::from(turns));
    errors.collect()
}

#[test]
fn many_turns_tell_what_a_step_hides() {
    for eighths in [&[][..], &[0], &[8, 3], &[1, 7, 5]] {
        for depth in [1, 2, 4, 8] {
            for work in [40, 500] {
                let body = [vec![Do::Begin; depth], vec![Do::Work(work)], vec![Do::End; depth]];
                let errors = mean_errors(&body.concat(), 256, eighths);
                assert!(errors.iter().all(|error| error.abs() < 3.0), "{depth} {work} {errors:?}");
                // No time passes between nested begins, or ends.
                let apart = errors.iter().map(|error| (error - errors[0]).abs());
                assert!(apart.fold(0.0, f64::max) < 0.25, "{depth} {work} {errors:?}");
            }
        }
    }
}

#[test]
fn work_shorter_than_a_step_is_not_cut() {
    // Behind a begin nothing waits for longer than 5 ns.
    for work in [10, 20, 31] {
        let body = [Do::Begin, Do::Work(work), Do::Begin, Do::Work(400), Do::End];
        let body = [&body[..], &[Do::Work(300), Do::End]].concat();
        for (turns, limit) in [(256, 3.0), (8, 12.0), (1, STEP as f64)] {
            let errors = mean_errors(&body, turns, &[0]);
            assert!(errors.iter().all(|error| error.abs() <= limit), "{work} {turns} {errors:?}");
        }
    }
}

#[test]
fn a_short_region_is_not_taken_for_one_in_the_next() {
    // Most of the first lie at one time with the begin of the second.
    for before in [&[Do::Begin, Do::End][..], &[Do::Begin, Do::Begin, Do::End, Do::End]] {
        let body = [before, &[Do::Begin, Do::Work(500), Do::End]].concat();
        let errors = mean_errors(&body, 256, &[]);
        assert!(errors.iter().all(|error| error.abs() < 3.0), "{errors:?}");
    }
}

proptest::proptest! {
    /// Of any loop whose work lies beyond the reach of records or is none, the means are right to a quarter of
    /// a step.
    #[test]
    fn means_are_right(
        body in proptest::collection::vec(
            prop_oneof![
                (60_u64..300).prop_map(Do::Work),
                proptest::prelude::Just(Do::Begin),
                proptest::prelude::Just(Do::Begin),
                proptest::prelude::Just(Do::End),
                proptest::prelude::Just(Do::End),
            ],
            1..24,
        ),
        eighths in proptest::collection::vec(0_u8..=8, 1..20),
    ) {
        for (index, error) in mean_errors(&body, 256, &eighths).into_iter().enumerate() {
            proptest::prop_assert!(error.abs() <= STEP as f64 / 4.0, "{index}: {error}");
        }
    }
}
