use profiler_wire::SiteKind;

use super::*;
use crate::capture::Capture;
use crate::decode::Decoder;
use crate::diagnostic::DiagnosticKind;
use crate::model::Value;
use crate::record_cost::RecordCost;
use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};

const ALONE: StampWait = StampWait { mean_ticks: 20.0, most_ticks: 40.0 };

/// How long a stamp at 2000 may have waited for a unit at 1000, beside others at these times.
fn most_ticks(others: &[u64], ticks_per_cycle: f64) -> f64 {
    let others = Others { units: others.to_vec(), ticks_per_cycle, first: Cell::default() };
    let wait = others.lengthen(ALONE, 1_000, 2_000);
    assert_eq!(wait.mean_ticks, ALONE.mean_ticks);
    wait.most_ticks
}

#[test]
fn each_unit_of_another_warp_lengthens_a_wait() {
    let most = |others: &[u64]| most_ticks(others, 1.0);
    assert_eq!(most(&[]), 40.0);
    assert_eq!(most(&[1_000]), 44.0);
    assert_eq!(most(&[1_010, 1_010, 1_039]), 52.0);
    // Half a nanosecond is a cycle.
    assert_eq!(most_ticks(&[1_010], 0.5), 42.0);
}

#[test]
fn those_count_that_may_be_underway() {
    let most = |others: &[u64]| most_ticks(others, 1.0);
    // As long before as one waits alone, and no longer.
    assert_eq!([most(&[959]), most(&[960])], [40.0, 44.0]);
    // Until the wait is over, which others make later.
    assert_eq!([most(&[1_039]), most(&[1_040])], [44.0, 40.0]);
    assert_eq!([most(&[1_000, 1_043]), most(&[1_000, 1_044])], [48.0, 44.0]);
    // All the time, one in four cycles: no more than an SM may have underway, and no more than up to the stamp.
    let busy: Vec<u64> = (900..3_000).step_by(4).collect();
    assert_eq!(most(&busy), 40.0 + 128.0 * 4.0);
    let busier: Vec<u64> = (1_000..1_010).flat_map(|at| [at; 100]).collect();
    assert_eq!(most(&busier), 40.0 + 128.0 * 4.0);
    let others = Others { units: busy, ticks_per_cycle: 1.0, first: Cell::default() };
    // Whatever was asked before: from 40 before to the stamp.
    for (from, to) in [
        (1_000, 1_020),
        (2_000, 2_020),
        (2_900, 2_920),
        (1_000, 1_020),
        (1_004, 1_024),
        (1_000, 1_020),
    ] {
        let wait = others.lengthen(ALONE, from, to);
        assert_eq!(wait.most_ticks, 40.0 + 15.0 * 4.0, "{from}");
    }
}

#[test]
fn what_does_not_wait_for_its_own_record_waits_for_none() {
    let others = Others { units: vec![1_010], ticks_per_cycle: 1.0, first: Cell::default() };
    let none = StampWait::default();
    assert_eq!(others.lengthen(none, 1_000, 1_100), none);
}

/// Warps, all on one SM, of a kernel with a region and a mark.
fn capture(warps: impl IntoIterator<Item = impl Fn(&mut SyntheticWarp, u32, u32)>) -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 64);
    module.lane_capacity = Some(4);
    let kernel = module.site(SiteKind::Kernel, "k");
    let (region, mark) = (module.site(SiteKind::Region, "r"), module.site(SiteKind::Mark, "m"));
    for (block, record) in (0..).zip(warps) {
        let mut warp = SyntheticWarp::new(kernel, 1_000, 64_000);
        warp.header.block = [block, 0, 0];
        record(&mut warp, region, mark);
        warp.leave(65_000, 128_000);
        module.warps.push(warp);
    }
    let mut capture = module.into_capture().expect("the sites are whole");
    let mut cost = RecordCost::uniform(0.0, 0.0);
    cost.one_lane.waits.record = ALONE;
    capture.record_cost = Some(cost);
    capture
}

#[test]
fn a_unit_is_what_one_instruction_of_a_warp_stores() {
    let capture = capture([|warp: &mut SyntheticWarp, region, mark| {
        warp.range(region, None, 2_000, 3_000);
        warp.range_unsigned(region, 3_100, 3_200, 7);
        warp.range(region, None, 3_300, 3_400).attach(region, 3_400, Value::Unsigned(70_000));
        warp.open(region, None, 3_500, 3_600).mark(mark, None, 3_700).anchor(4_000, 67_000);
        for lane in [1, 2] {
            warp.lane(lane).mark(mark, None, 3_700).mark(mark, None, 3_800);
        }
    }]);
    let trace = crate::decode(&capture);
    let odd: Vec<_> = trace.diagnostics.list.iter().map(|odd| odd.kind).collect();
    assert_eq!(odd, [DiagnosticKind::OpenRegion]);
    let stored = Stored::of(&trace);
    assert_eq!(stored.beside(&trace.warps[0]), [3_000, 3_200, 3_400, 3_400, 3_700, 3_800, 4_000]);
}

/// What is left of 80 cycles from a region's end to a mark in the first warp: the reach is 55 alone, and 81 beside
/// five units.
fn left(capture: &Capture) -> u64 {
    let mut trace = crate::decode(capture);
    trace.subtract_record_cost();
    left_in(&trace.warps[0])
}

fn left_in(warp: &Warp) -> u64 {
    let end = warp.regions[0].end.expect("it ended");
    warp.marks[0].time.ticks - end.ticks
}

fn waiting(warp: &mut SyntheticWarp, region: u32, mark: u32) {
    warp.range(region, None, 2_000, 3_000).mark(mark, None, 3_080);
}

fn storing_at_once(warp: &mut SyntheticWarp, _: u32, mark: u32) {
    for at in 0..5 {
        warp.mark(mark, None, 3_000 + at);
    }
}

type Record = fn(&mut SyntheticWarp, u32, u32);

#[test]
fn who_records_beside_a_warp_on_its_sm_by_its_clock_holds_it_up() {
    let elsewhere: Record = |warp, region, mark| {
        warp.header.sm += 1;
        storing_at_once(warp, region, mark);
    };
    let by_timer: Record = |warp, region, mark| {
        warp.header.record_clock = profiler_wire::header::Clock::GlobalTimer;
        (warp.header.globaltimer, warp.header.clock) = (1_000, 64_000);
        storing_at_once(warp, region, mark);
    };
    assert_eq!(left(&capture([waiting as Record])), 80);
    assert_eq!(left(&capture([waiting, elsewhere])), 80);
    assert_eq!(left(&capture([waiting, by_timer])), 80);
    assert_eq!(left(&capture([waiting as Record, storing_at_once])), 0);
}

#[test]
fn the_emulator_takes_all_stores_at_once() {
    let mut capture = capture([waiting as Record, storing_at_once]);
    capture.device.emulated = true;
    assert_eq!(left(&capture), 80);
}

#[test]
fn a_decoder_asks_also_warps_that_it_does_not_show() {
    let capture = capture([waiting as Record, storing_at_once]);
    let decoder = || Decoder::new(&capture).subtract_record_cost().only(|warp| warp.block[0] == 0);
    assert_eq!(left_in(&decoder().trace().warps[0]), 0);
    let decoder = decoder();
    let each = |decoder: &Decoder<'_>| {
        let mut all = Vec::new();
        let visited = decoder.try_each_warp(|warp| {
            all.push(left_in(warp));
            Ok::<_, ()>(())
        });
        assert_eq!(visited, Ok(()));
        all
    };
    // As the first that asks, and once there is an outline.
    assert_eq!(each(&decoder), [0]);
    let decoder = Decoder::new(&capture).subtract_record_cost();
    assert_eq!(decoder.outline().warps[0].marks[0].time.ticks, 3_000);
    assert_eq!(each(&decoder.only(|warp| warp.block[0] == 0)), [0]);
}

/// What others stored beside a warp with a record at 10 000 and one at 20 000.
#[test]
fn only_what_others_stored_near_to_a_warps_records_is_kept() {
    let near: Record = |warp, _, mark| {
        warp.mark(mark, None, 10_000).mark(mark, None, 20_000);
    };
    let around: Record = |warp, _, mark| {
        for at in [5_903, 5_904, 10_000, 10_000, 15_000, 24_096, 24_097] {
            warp.mark(mark, None, at);
        }
    };
    let trace = crate::decode(&capture([near, around]));
    let stored = Stored::of(&trace);
    let beside = |warp| Others::of(&stored, warp, Buffer::Global, 1.0).units;
    // Two at one time by one warp are one record.
    assert_eq!(beside(&trace.warps[0]), [5_904, 10_000, 15_000, 24_096]);
    assert_eq!(beside(&trace.warps[1]), [10_000, 20_000]);
    assert!(Others::of(&stored, &trace.warps[0], Buffer::Host, 1.0).units.is_empty());
}
