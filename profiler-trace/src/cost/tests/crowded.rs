//! Warps that record beside others on their SM.

use super::*;

/// Slots of crowded warps: how many, and the first. Warps are an SM, when they enter and leave in microseconds,
/// and whether they record.
fn crowded(warps: &[(u32, u64, u64, bool)], emulated: bool) -> (u64, Option<u32>) {
    let mut module = SyntheticModule::new(Keep::First, 64);
    let kernel = module.site(SiteKind::Kernel, "k");
    let mark = module.site(SiteKind::Mark, "m");
    for (block, &(sm, enters, leaves, records)) in (0..).zip(warps) {
        let mut warp = SyntheticWarp::new(kernel, 1_000 * enters, 64_000 + 1_000 * enters);
        (warp.header.sm, warp.header.block) = (sm, [block, 0, 0]);
        if records {
            warp.mark(mark, None, 1_000 * enters + 10);
        }
        module.warps.push(warp.leave(1_000 * leaves, 64_000 + 1_000 * leaves).clone());
    }
    let mut capture = module.into_capture().expect("the sites are whole");
    capture.device.emulated = emulated;
    capture.record_cost = Some(RecordCost::uniform(10.0, 30.0));
    let mut trace = crate::decode(&capture);
    trace.subtract_record_cost();
    let decoder = || crate::Decoder::new(&capture).subtract_record_cost();
    assert_eq!(decoder().trace(), trace);
    assert_eq!(decoder().diagnostics(), trace.diagnostics);
    // Also of a trace that shows none of the others.
    let alone = decoder().only(|warp| warp.slot == 0).outline();
    let found = |trace: &Trace| trace.diagnostics.get(DiagnosticKind::CostIsRough).copied();
    assert_eq!(found(&alone), found(&trace));
    let found = found(&trace);
    let slot = found.and_then(|found| found.place).and_then(|place| place.slot);
    (found.map_or(0, |found| found.count), slot)
}

#[test]
fn more_than_four_recording_warps_of_an_sm_are_said() {
    let warps = |count: usize| vec![(3, 10, 20, true); count];
    assert_eq!(crowded(&warps(4), false), (0, None));
    assert_eq!(crowded(&warps(6), false), (2, Some(4)));
    assert_eq!(crowded(&warps(6), true), (0, None));
}

#[test]
fn warps_of_other_sms_and_times_and_those_that_record_nothing_do_not_crowd() {
    let fifth = |fifth| [vec![(3, 10, 20, true); 4], vec![fifth]].concat();
    assert_eq!(crowded(&fifth((3, 19, 30, true)), false), (1, Some(4)));
    for other in [(4, 10, 20, true), (3, 20, 30, true), (3, 10, 20, false)] {
        assert_eq!(crowded(&fifth(other), false), (0, None), "{other:?}");
    }
}
