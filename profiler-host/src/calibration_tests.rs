use profiler_trace::{Region, Site, SiteIndex, Time, Warp};
use profiler_wire::header::Clock;
use profiler_wire::{SiteKind, Strategy};

use super::*;

fn site(name: &str) -> Site {
    Site {
        id: 1,
        kind: SiteKind::Region,
        name: name.to_owned(),
        list: None,
        file: String::new(),
        module: String::new(),
        line: 1,
        column: 1,
        unit: None,
        strategy: None,
        symbol: None,
    }
}

fn region(site: u32, depth: u16, start: u64, end: u64) -> Region {
    let time = |ticks| Time { ticks, ns: ticks as f64 };
    Region {
        site: SiteIndex(site),
        track: None,
        lane: 0,
        depth,
        start: time(start),
        end: Some(time(end)),
        value: None,
    }
}

/// Rounds of the calibration kernel, in which each empty region lasts `inside` ticks and follows the
/// last after `between`.
fn trace(rounds: u32, inside: u64, between: u64) -> Trace {
    let mut sites: Vec<Site> = CALIBRATION_COUNTS.iter().map(|(name, _)| site(name)).collect();
    let empty = sites.len() as u32;
    sites.push(site(CALIBRATION_EMPTY));
    let mut regions = Vec::new();
    let mut now = 1000;
    for _ in 0..rounds {
        for (index, (_, count)) in CALIBRATION_COUNTS.into_iter().enumerate() {
            let (start, mut inner) = (now, Vec::new());
            now += 50;
            for _ in 0..count {
                inner.push(region(empty, 1, now, now + inside));
                now += inside + between;
            }
            now += 50;
            regions.push(region(index as u32, 0, start, now));
            regions.extend(inner);
            now += 100;
        }
    }
    let warp = Warp {
        launch: 0,
        slot: 0,
        block: [0; 3],
        warp: 0,
        sm: 0,
        cluster_rank: None,
        strategy: Strategy::Warp,
        track: None,
        clock: Clock::Cycles,
        entry: Time { ticks: 0, ns: 0.0 },
        exit: None,
        recorded: regions.len() as u64,
        regions,
        marks: Vec::new(),
        lost: 0,
    };
    Trace { sites, warps: vec![warp], ..Trace::default() }
}

#[test]
fn the_cost_is_the_median_inside_and_the_slope_outside() {
    let cost = record_cost(&trace(3, 9, 13)).expect("a whole calibration run");
    assert_eq!(cost.inside_ticks, 9.0);
    assert!((cost.total_ticks - 22.0).abs() < 1e-9, "{}", cost.total_ticks);
}

#[test]
fn a_slow_first_round_changes_nothing() {
    let mut trace = trace(5, 9, 13);
    for region in &mut trace.warps[0].regions[..11] {
        region.end = Some(Time { ticks: region.start.ticks + 4000, ns: 0.0 });
    }
    let cost = record_cost(&trace).expect("still whole");
    assert_eq!(cost.inside_ticks, 9.0);
    assert!((cost.total_ticks - 22.0).abs() < 1e-9, "{}", cost.total_ticks);
}

#[test]
fn a_trace_that_does_not_tell_is_refused() {
    let refused = |trace: &Trace| record_cost(trace).expect_err("must be refused");
    assert_eq!(refused(&Trace::default()), CalibrationError::NoRegion(CALIBRATION_EMPTY));
    let mut lossy = trace(2, 9, 13);
    lossy.warps[0].lost = 3;
    assert_eq!(refused(&lossy), CalibrationError::Lost(3));
    let mut changed = trace(2, 9, 13);
    changed.cost_subtracted = true;
    assert_eq!(refused(&changed), CalibrationError::AlreadySubtracted);
    let mut renamed = trace(2, 9, 13);
    renamed.sites[1].name = "other".into();
    assert_eq!(refused(&renamed), CalibrationError::NoRegion(CALIBRATION_COUNTS[1].0));
    let mut backwards = trace(2, 9, 13);
    for region in backwards.warps[0].regions.iter_mut().filter(|region| region.site.0 == 3) {
        region.end = Some(region.start);
    }
    assert!(matches!(refused(&backwards), CalibrationError::Implausible(cost) if cost < 0.0));
}

#[test]
fn open_regions_are_left_out() {
    let mut open = trace(3, 9, 13);
    let last_outer = open.warps[0].regions.iter_mut().rfind(|region| region.depth == 0);
    last_outer.expect("there are outer regions").end = None;
    let cost = record_cost(&open).expect("the other rounds are whole");
    assert!((cost.total_ticks - 22.0).abs() < 1e-9, "{}", cost.total_ticks);
}
