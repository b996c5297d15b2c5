//! Warps of which several lanes record.

use super::*;

#[test]
fn lanes_of_a_strategy_for_one_lane_share_their_stamps_too() {
    let trace = trace_of(table(), false, |warp| {
        for lane in [0, 1] {
            warp.lane(lane).range(REGION, None, 2_000, 2_100);
        }
    });
    assert_eq!(lengths(&trace), [98, 98]);
    assert_eq!(trace.diagnostics.count(DiagnosticKind::CostIsRough), 1);
}

#[test]
fn lanes_that_take_turns_cost_each_for_itself() {
    let trace = trace_of(RecordCost::uniform(10.0, 30.0), false, |warp| {
        warp.lane(0).range(REGION, None, 2_100, 2_200).range(OTHER, None, 2_000, 3_000);
        warp.lane(1).range(REGION, None, 2_400, 2_500);
    });
    assert_eq!(lengths(&trace), [1_000 - 10 - 2 * 30, 90, 90]);
    assert!(trace.diagnostics.is_empty(), "{}", trace.diagnostics);
}

#[test]
fn a_warp_of_the_emulator_leaves_with_the_last_of_its_lanes() {
    // Lane 0 records for 300 ticks, so that it would leave at 64 700; it does not leave later than
    // it did.
    for (last, exit) in [(64_500, 64_700), (64_900, 64_890), (65_500, 65_000)] {
        let trace = trace_of(RecordCost::uniform(10.0, 30.0), true, |warp| {
            warp.lane(0);
            for start in (10_000..20_000).step_by(1_000) {
                warp.range(REGION, None, start, start + 100);
            }
            warp.lane(1).range(REGION, None, last - 100, last);
        });
        assert_eq!(trace.warps[0].exit.map(|exit| exit.ticks), Some(exit));
    }
}

#[test]
fn lanes_of_the_emulator_have_clocks_of_their_own() {
    let trace = trace_of(RecordCost::uniform(10.0, 30.0), true, |warp| {
        for lane in [0, 1] {
            warp.lane(lane).range(REGION, None, 2_100, 2_200).range(OTHER, None, 2_000, 3_000);
        }
    });
    assert_eq!(lengths(&trace), [960, 960, 90, 90]);
    assert!(trace.diagnostics.is_empty(), "{}", trace.diagnostics);
    // What each stamps at one time is not one either.
    let trace = trace_of(RecordCost::uniform(0.0, 30.0), true, |warp| {
        for lane in [0, 1] {
            warp.lane(lane).range(REGION, None, 2_000, 2_000);
        }
    });
    assert!(trace.diagnostics.is_empty(), "{}", trace.diagnostics);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]

    /// Whatever all lanes record together, it becomes what one lane's would.
    #[test]
    fn lanes_agree_with_one_lane(
        steps in proptest::collection::vec(step(), 0..40),
        lanes in 2_u8..32,
    ) {
        let of_lane_0 = |step: Step| match step {
            Step::Open(_) => Step::Open(false),
            Step::Mark(_) => Step::Mark(false),
            other => other,
        };
        let steps: Vec<Step> = steps.into_iter().map(of_lane_0).collect();
        let (one, _) = simulate(&steps);
        let (all, _) = simulate_holding(&steps, lanes, Holds::default());
        let of = |trace: &Trace, lane: u8| {
            let warp = &trace.warps[0];
            let regions = warp.regions.iter().filter(|region| region.lane == lane);
            let marks = warp.marks.iter().filter(|mark| mark.lane == lane);
            let mut times: Vec<[u64; 2]> = regions
                .map(|region| [region.start.ticks, region.end.map_or(0, |end| end.ticks)])
                .chain(marks.map(|mark| [mark.time.ticks; 2]))
                .collect();
            times.sort_unstable();
            times
        };
        for lane in 0..lanes {
            proptest::prop_assert_eq!(of(&all, lane), of(&one, 0));
        }
        let warp = &all.warps[0];
        let apart = u64::from(warp.marks.len() + warp.regions.len() + warp.anchors.len() > 0);
        proptest::prop_assert_eq!(all.diagnostics.count(DiagnosticKind::CostIsRough), apart);
        let exit = |trace: &Trace| trace.warps[0].exit.map(|exit| exit.ticks);
        proptest::prop_assert_eq!(exit(&all), exit(&one));
    }

    /// Whatever lanes record, order and nesting stay.
    #[test]
    fn times_never_cross(
        lanes in proptest::collection::vec(
            proptest::collection::vec((0_u64..12, 0_u64..4, proptest::bool::ANY), 1..20),
            1..5,
        ),
        step in 1_u64..300,
        inside in 0.0..40.0_f64,
        extra in 0.0..40.0_f64,
    ) {
        let subtract = |cost: RecordCost| trace_of(cost, false, |warp| {
            for (lane, regions) in (0..).zip(&lanes) {
                let mut sorted = regions.clone();
                sorted.sort_by_key(|(start, length, _)| start + length);
                warp.lane(lane);
                for (start, length, is_other) in sorted {
                    let [start, end] = [start, start + length].map(|at| 2_000 + step * at);
                    warp.range(if is_other { OTHER } else { REGION }, None, start, end);
                }
            }
        });
        let before = subtract(RecordCost::uniform(0.0, 0.0));
        order_stays(&before, &subtract(RecordCost::uniform(inside, inside + extra)))?;
    }
}

#[test]
fn an_anchor_is_taken_by_the_lane_that_records_by_the_kernels_strategy() {
    for (strategy, ahead) in [(Strategy::Warp, 4), (Strategy::Thread, 4), (Strategy::Elected, 69)] {
        let trace = trace_of(table(), false, |warp| {
            warp.header.strategy = u32::from(strategy.code());
            warp.anchor(2_500, 65_500).range(REGION, None, 2_000, 3_000);
        });
        assert_eq!(lengths(&trace), [1_000 - 2 - ahead - 90], "{strategy:?}");
    }
}

#[test]
fn what_lanes_stamp_together_is_one_after_all_that_one_of_them_stamped_by_itself() {
    let trace = trace_of(RecordCost::uniform(10.0, 30.0), false, |warp| {
        warp.lane(0);
        for _ in 0..40 {
            warp.anchor(2_100, 65_100);
        }
        warp.range(REGION, None, 2_100, 2_900).range(OTHER, None, 2_000, 3_000);
        warp.lane(1).range(REGION, None, 2_100, 2_900);
    });
    assert_eq!(lengths(&trace), [1_000 - 10 - 30, 800 - 10, 800 - 10]);
    // Twice it would cost more than passed.
    assert_eq!(trace.diagnostics.count(DiagnosticKind::CostExceedsDuration), 0);
}
