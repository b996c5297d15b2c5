use profiler_wire::SiteKind;

use super::*;
use crate::diagnostic::DiagnosticKind;
use crate::model::Region;
use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};

/// Decodes one warp of 1 cycle per nanosecond that `record`s on a region and a mark.
fn trace(inside: f64, total: f64, record: impl Fn(&mut SyntheticWarp, u32, u32)) -> Trace {
    let mut module = SyntheticModule::new(Keep::First, 64);
    let kernel = module.site(SiteKind::Kernel, "k");
    let (region, mark) = (module.site(SiteKind::Region, "r"), module.site(SiteKind::Mark, "m"));
    let mut warp = SyntheticWarp::new(kernel, 1_000, 64_000);
    record(&mut warp, region, mark);
    warp.leave(65_000, 128_000);
    module.warps.push(warp);
    let mut capture = module.into_capture().expect("the sites are whole");
    capture.record_cost = Some(RecordCost { inside_ticks: inside, total_ticks: total });
    let mut trace = crate::decode(&capture);
    trace.subtract_record_cost();
    trace
}

fn length(region: &Region) -> u64 {
    region.end.map_or(0, |end| end.ticks - region.start.ticks)
}

#[test]
fn own_cost_and_that_of_all_nested_records() {
    let trace = trace(10.0, 30.0, |warp, region, mark| {
        warp.range(region, None, 2_100, 2_200)
            .mark(mark, None, 2_300)
            .range(region, None, 2_400, 2_500)
            .range(region, None, 2_050, 2_600)
            .range(region, None, 2_000, 3_000);
    });
    let regions = &trace.warps[0].regions;
    let lengths: Vec<u64> = regions.iter().map(length).collect();
    assert_eq!(lengths, [1000 - 10 - 4 * 30, 550 - 10 - 3 * 30, 90, 90]);
    let starts: Vec<u64> = regions.iter().map(|region| region.start.ticks).collect();
    assert_eq!(starts, [2_000, 2_050, 2_100, 2_400 - 60]);
    assert_eq!(trace.warps[0].marks[0].time.ticks, 2_300 - 30);
    assert_eq!(trace.warps[0].exit.map(|exit| exit.ticks), Some(65_000 - 150));
    for region in regions {
        let ns = region.end.map_or(0.0, |end| end.ns) - region.start.ns;
        assert!((ns - length(region) as f64).abs() < 0.01, "{ns}");
    }
    assert!(trace.cost_subtracted && trace.diagnostics.is_empty(), "{}", trace.diagnostics);
}

#[test]
fn a_region_shorter_than_its_cost_becomes_zero_and_is_counted() {
    let trace = trace(10.0, 30.0, |warp, region, _| {
        warp.range(region, None, 2_000, 2_004).range(region, None, 2_010, 2_100);
    });
    let lengths: Vec<u64> = trace.warps[0].regions.iter().map(length).collect();
    assert_eq!(lengths[0], 0);
    assert!(trace.diagnostics.count(DiagnosticKind::CostExceedsDuration) >= 1);
}

#[test]
fn nothing_is_subtracted_twice_or_without_a_cost() {
    let mut once = trace(10.0, 30.0, |warp, region, _| {
        warp.range(region, None, 2_000, 2_100);
    });
    let before = once.clone();
    once.subtract_record_cost();
    assert_eq!(once, before);
    let mut unknown = Trace::default();
    unknown.subtract_record_cost();
    assert_eq!(unknown.diagnostics.count(DiagnosticKind::CostUnknown), 1);
    assert!(!unknown.cost_subtracted);
}

proptest::proptest! {
    /// Whatever was recorded, order and nesting stay.
    #[test]
    fn times_never_cross(
        regions in proptest::collection::vec((1_000_u64..5_000, 0_u64..300), 1..30),
        inside in 0.0..40.0_f64,
        extra in 0.0..40.0_f64,
    ) {
        let mut sorted = regions.clone();
        sorted.sort_by_key(|region| region.0 + region.1);
        let record = |warp: &mut SyntheticWarp, region: u32, _| {
            for &(start, length) in &sorted {
                warp.range(region, None, start, start + length);
            }
        };
        let after = trace(inside, inside + extra, record);
        let before = trace(0.0, 0.0, record);
        let regions = |trace: &Trace| trace.warps[0].regions.clone();
        let pairs: Vec<(Region, Region)> =
            regions(&before).into_iter().zip(regions(&after)).collect();
        let times = |region: &Region| [region.start, region.end.unwrap_or(region.start)];
        for (old, new) in &pairs {
            let [start, end] = times(new);
            proptest::prop_assert!(end.ticks >= start.ticks && end.ns >= start.ns);
            for (other_old, other_new) in &pairs {
                for (left, left_new) in times(old).into_iter().zip(times(new)) {
                    for (right, right_new) in times(other_old).into_iter().zip(times(other_new)) {
                        if left.ticks < right.ticks {
                            proptest::prop_assert!(left_new.ticks <= right_new.ticks);
                            proptest::prop_assert!(left_new.ns <= right_new.ns);
                        }
                    }
                }
            }
        }
    }
}
