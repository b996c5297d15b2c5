//! Whatever a capture holds, statistics, balance, paths and comparisons are consistent.

use crate::figures;

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::diff::{DiffOptions, Verdict, diff};
use profiler_trace::{Capture, GroupBy, Trace, Value, decode};
use profiler_wire::SiteKind;
use proptest::prelude::*;

/// Four blocks on two SMs, one after the other, with nested and crossing regions, two recording
/// lanes, and signals and waits between the two warps of a block.
fn whole() -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 32);
    module.lane_capacity = Some(16);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let outer = module.site(SiteKind::Region, "outer");
    let inner = module.site(SiteKind::Region, "wait");
    let signal = module.site(SiteKind::Signal, "s");
    let wait = module.site(SiteKind::Wait, "s");
    for number in 0..8_u32 {
        let (block, index) = (number / 2, number % 2);
        let from = 1_000 + 1_500 * u64::from(block / 2);
        let mut warp = SyntheticWarp::new(kernel, from, 63_000 + from);
        warp.header.block = [block, 0, 0];
        warp.header.grid_dim = [4, 1, 1];
        warp.header.block_dim = [64, 1, 1];
        warp.header.warp = index;
        warp.header.sm = block % 2;
        for lane in [0, 7] {
            warp.lane(lane).begin(outer, Some(2), from + 5);
            for step in 0..4 {
                let start = from + 20 + 100 * step;
                warp.range(inner, None, start + 10, start + 40);
                let key = Value::Unsigned(step);
                warp.value(if index == 0 { signal } else { wait }, start + 42, key);
                warp.range(outer, None, start, start + 60 + 7 * u64::from(number));
            }
            warp.end(outer, Some(2), from + 700);
        }
        warp.leave(from + 1_000, 64_000 + from);
        module.warps.push(warp);
    }
    module.into_capture().expect("the sites are whole")
}

fn check(trace: &Trace) {
    let groups = GroupBy::ALL;
    groups.into_iter().for_each(|by| figures::statistics(trace, by));
    figures::launches(trace);
    let options = DiffOptions::default();
    let side = std::slice::from_ref(trace);
    let same = diff(side, side, &options).expect("usable options");
    let is_same =
        |verdict| matches!(verdict, Verdict::NoChange | Verdict::TooFew | Verdict::OtherClock);
    assert!(same.rows.iter().all(|row| is_same(row.verdict)), "{same}");
    assert!(!same.to_string().contains("NaN") && !same.to_json().to_string().contains("NaN"));
}

#[test]
fn a_whole_capture() {
    let trace = decode(&whole());
    check(&trace);
    assert_eq!((trace.warps.len(), trace.edges.len()), (8, 32));
    let path = trace.critical_path(0).expect("a launch");
    assert!(path.steps.len() > 2, "{path:?}");
    check(&Trace::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn altered_bytes(
        changes in prop::collection::vec((0_usize..4, any::<prop::sample::Index>(), any::<u8>()), 0..40),
    ) {
        let mut capture = whole();
        let module = &mut capture.modules[0];
        let arrays =
            [&mut module.headers, &mut module.records, &mut module.lanes, &mut module.lane_counts];
        for (array, at, byte) in changes {
            let at = at.index(arrays[array].len());
            arrays[array][at] = byte;
        }
        check(&decode(&capture));
    }
}
