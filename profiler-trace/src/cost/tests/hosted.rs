//! Warps whose records went to memory of the host.

use super::waits::waits;
use super::*;
use crate::record_cost::StampWait;

/// Decodes a warp with one region of 100 ticks, and subtracts the cost.
fn of_host(cost: RecordCost, emulated: bool) -> Trace {
    let mut trace = trace(0.0, 0.0, |warp, region, _| {
        warp.begin(region, None, 2_000).watched(region, None, 2_000, 2_100);
    });
    let kernel = trace.launches[0].kernel;
    trace.sites[kernel.0 as usize].buffer = Buffer::Host;
    (trace.warps[0].slot, trace.device.emulated) = (7, emulated);
    (trace.record_cost, trace.cost_subtracted) = (Some(cost), false);
    trace.subtract_record_cost();
    trace
}

/// What is said of the only warp, and of nothing else.
fn said(trace: &Trace, kind: Option<DiagnosticKind>) {
    let place = Some(Location { slot: Some(7), ..Location::default() });
    let said = trace.diagnostics.list.iter().map(|said| (said.kind, said.count, said.place));
    let expected: Vec<_> = kind.into_iter().map(|kind| (kind, 1, place)).collect();
    assert_eq!(said.collect::<Vec<_>>(), expected);
}

#[test]
fn nothing_is_subtracted_where_its_cost_was_not_measured() {
    for (emulated, length_seen, kind) in
        [(false, 100, Some(DiagnosticKind::CostUnknown)), (true, 90, None)]
    {
        let trace = of_host(RecordCost::uniform(10.0, 30.0), emulated);
        assert_eq!(length(&trace.warps[0].regions[0]), length_seen);
        said(&trace, kind);
    }
}

#[test]
fn its_own_cost_is_subtracted_and_said_to_be_that_of_an_idle_bus() {
    let costs = FormCosts::uniform(17.0, 40.0);
    let host = HostCost { one_lane: costs, elected: FormCosts::uniform(60.0, 70.0) };
    let cost = RecordCost { host: Some(host), ..RecordCost::uniform(10.0, 30.0) };
    for (emulated, kind) in [(false, Some(DiagnosticKind::CostOfIdleBus)), (true, None)] {
        let trace = of_host(cost, emulated);
        assert_eq!(length(&trace.warps[0].regions[0]), 83);
        said(&trace, kind);
    }
}

/// Two ticks, and a third beyond the longest wait that the calibration kernel saw, or two thirds over the bus.
#[test]
fn over_the_bus_a_stamp_may_wait_longer() {
    let reach = |most_ticks: f64, buffer| {
        StampWait { mean_ticks: 0.0, most_ticks }.reach_ticks(buffer).map(f64::round)
    };
    assert_eq!(reach(48.0, Buffer::Global), Some(66.0));
    assert_eq!(reach(48.0, Buffer::Host), Some(82.0));
    assert_eq!((reach(0.5, Buffer::Global), reach(0.4375, Buffer::Global)), (Some(3.0), None));
}

#[test]
fn regions_are_right_at_each_depth() {
    for (elected, with_value) in [(false, true), (true, false)] {
        for depth in [1, 2, 4, 8] {
            let mut steps = vec![Step::Open(elected); depth];
            steps.push(Step::Work(1_000));
            steps.extend(vec![Step::Close(with_value); depth]);
            let holds = Holds::default().in_host(true);
            let (trace, _) = simulate_holding(&steps, Clock::Cycles, 1, holds);
            let lengths: Vec<u64> = trace.warps[0].regions.iter().map(length).collect();
            assert_eq!(lengths, vec![1_000; depth], "{elected}");
        }
    }
}

#[test]
fn a_begin_is_a_record_that_others_wait_for() {
    for eighths in [&[][..], &[0], &[1, 7, 5]] {
        let mut steps = vec![Step::Open(false); 8];
        steps.push(Step::Work(1_000));
        steps.extend(vec![Step::Close(true); 8]);
        steps.extend([Step::Open(false), Step::Close(false)].repeat(8));
        let holds = Holds::new(waits(), eighths).in_host(true);
        let (trace, _) = simulate_holding(&steps, Clock::Cycles, 1, holds);
        let mut lengths: Vec<u64> = trace.warps[0].regions.iter().map(length).collect();
        lengths.sort_unstable();
        assert_eq!(lengths, [[0; 8], [1_000; 8]].concat());
    }
    // Of a region that stands alone, what is within the reach of its begin may be that of the wait.
    let limit = waits().end.reach_ticks(Buffer::Host).expect("there is a wait") as u64;
    for (work, seen) in [(limit, 0), (limit + 1, limit + 1)] {
        let steps = [Step::Open(false), Step::Work(work), Step::Close(false)];
        let holds = Holds::new(waits(), &[0]).in_host(true);
        let (trace, _) = simulate_holding(&steps, Clock::Cycles, 1, holds);
        assert_eq!(length(&trace.warps[0].regions[0]), seen);
    }
}
