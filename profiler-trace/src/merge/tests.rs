use profiler_wire::SiteKind;

use super::*;
use crate::capture::Capture;
use crate::host::{ClockPair, HostCapture, HostRecord};
use crate::model::Value;
use crate::record_cost::RecordCost;
use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};

fn trace(name: &str, globaltimer: u64) -> Trace {
    let mut module = SyntheticModule::new(Keep::First, 8);
    let kernel = module.site(SiteKind::Kernel, name);
    let signal = module.site(SiteKind::Signal, "s");
    let wait = module.site(SiteKind::Wait, "s");
    let mut warp = SyntheticWarp::new(kernel, 1_000, globaltimer);
    warp.value(signal, 1_100, Value::Unsigned(1)).value(wait, 1_200, Value::Unsigned(1));
    warp.leave(65_000, globaltimer + 64_000);
    module.warps.push(warp);
    crate::decode(&module.into_capture().expect("the sites are whole"))
}

#[test]
fn launches_come_in_order_on_one_axis() {
    let (late, early) = (trace("late", 9_600_000), trace("early", 6_400_000));
    let merged = Trace::merge([late.clone(), early]);
    assert_eq!(merged.origin_ns, 6_400_000);
    let names: Vec<&str> =
        merged.launches.iter().map(|launch| &*merged.site(launch.kernel).name).collect();
    assert_eq!(names, ["early", "late"]);
    assert_eq!(merged.launches[1].start_ns, late.launches[0].start_ns + 3_200_000.0);
    assert_eq!(merged.warps[1].marks[0].time.ns, late.warps[0].marks[0].time.ns + 3_200_000.0);
    for (index, launch) in merged.launches.iter().enumerate() {
        assert_eq!(launch.warps, index..index + 1);
        assert_eq!(merged.warps[index].launch, index);
    }
    assert_eq!(merged.edges.len(), 2);
    assert!(merged.edges.is_sorted_by_key(|edge| edge.to));
    for Edge { from, to } in &merged.edges {
        assert_eq!(from.warp, to.warp);
        assert_eq!(
            merged.site(merged.warps[from.warp].marks[from.mark].site).kind,
            SiteKind::Signal
        );
    }
    assert_eq!(merged.recorded(), 4);
    assert!(merged.diagnostics.is_empty());
}

#[test]
fn what_a_host_did_without_a_launch_keeps_its_place() {
    let clock = |device_ns| vec![ClockPair { host_ns: 1_000, device_ns, uncertainty_ns: 0.0 }];
    let host_alone = |device_ns| {
        let span = HostRecord {
            thread: 0,
            name: "read".to_owned(),
            is_launch: false,
            start_ns: 1_500,
            end_ns: 1_700,
        };
        let host = HostCapture {
            clock: clock(device_ns),
            threads: vec!["main".to_owned()],
            spans: vec![span],
        };
        crate::decode(&Capture { host, ..Capture::default() })
    };
    let launched = trace("k", 6_400_000);
    let begins = |merged: &Trace| -> Vec<u64> {
        let spans = merged.host.spans();
        spans.map(|span| merged.origin_ns + span.start_ns as u64).collect()
    };
    for (device_ns, origin_ns) in [(3_200_000, 3_200_000), (9_600_000, 6_400_000)] {
        let host = host_alone(device_ns);
        for traces in [[host.clone(), launched.clone()], [launched.clone(), host]] {
            let merged = Trace::merge(traces);
            assert_eq!((merged.origin_ns, begins(&merged)), (origin_ns, vec![device_ns + 500]));
            let moved = merged.launches[0].start_ns - launched.launches[0].start_ns;
            assert_eq!(moved, (6_400_000 - origin_ns) as f64);
        }
    }
    let merged = Trace::merge([host_alone(9_600_000), host_alone(3_200_000)]);
    assert_eq!(begins(&merged), [3_200_500, 9_600_500]);
}

#[test]
fn a_merged_clock_is_as_coarse_as_the_coarsest() {
    let fine = trace("k", 6_400_000);
    assert_eq!(fine.timer_step_ns, 32.0);
    let coarse = Trace {
        resolution_ns: fine.resolution_ns + 1.0,
        alignment_ns: fine.alignment_ns + 2.0,
        timer_step_ns: 1024.0,
        ..fine.clone()
    };
    let of = |trace: &Trace| (trace.resolution_ns, trace.alignment_ns, trace.timer_step_ns);
    for order in [[&fine, &coarse], [&coarse, &fine]] {
        assert_eq!(of(&Trace::merge(order.map(Trace::clone))), of(&coarse));
    }
}

#[test]
fn the_costs_are_those_of_the_first_trace_that_says_them() {
    let with_cost = |record_cost| Trace { record_cost, ..trace("k", 6_400_000) };
    let [first, second] = [(5.0, 20.0), (6.0, 21.0)]
        .map(|(inside_ticks, total_ticks)| RecordCost::uniform(inside_ticks, total_ticks));
    let merged = |costs: [Option<RecordCost>; 3]| Trace::merge(costs.map(with_cost)).record_cost;
    assert_eq!(merged([None; 3]), None);
    assert_eq!(merged([None, Some(first), Some(second)]), Some(first));
}

#[test]
fn one_trace_is_itself_and_others_are_checked() {
    let one = trace("one", 6_400_000);
    assert_eq!(Trace::merge([one.clone()]), one);
    assert_eq!(Trace::merge([]), Trace::default());
    let mut other = one.clone();
    other.device.name = "another".to_owned();
    other.cost_subtracted = true;
    let merged = Trace::merge([one, other]);
    assert_eq!(merged.diagnostics.count(DiagnosticKind::DevicesDiffer), 1);
    assert_eq!(merged.diagnostics.count(DiagnosticKind::CostSubtractedInPart), 1);
}
