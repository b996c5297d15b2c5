//! Warps whose records went to memory of the host.

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
