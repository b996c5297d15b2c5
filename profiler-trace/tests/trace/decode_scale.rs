//! Shapes that invite quadratic work are decoded, so many that it would be seen; nothing counts steps.

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{DiagnosticKind, Value, decode};
use profiler_wire::SiteKind;

/// Deep nesting, many open tokens and many signals, so many that quadratic work would not end.
#[test]
fn a_quarter_of_a_million_records_of_awkward_shapes() {
    const COUNT: u64 = 60_000;
    let mut module = SyntheticModule::new(Keep::First, 1 << 18);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "region");
    let signal = module.site(SiteKind::Signal, "s");
    let wait = module.site(SiteKind::Wait, "s");
    let mut warp = SyntheticWarp::new(kernel, 0, 64_000);
    for at in 1..=COUNT {
        warp.begin(region, None, at);
    }
    for at in COUNT + 1..=2 * COUNT {
        warp.mark(signal, None, at);
    }
    for at in 2 * COUNT + 1..=3 * COUNT {
        warp.mark(wait, None, at);
    }
    // Every second token stays open.
    for at in 3 * COUNT + 1..=3 * COUNT + COUNT / 2 {
        warp.end(region, None, at);
    }
    warp.leave(4 * COUNT, 64_000 + 32 * (COUNT / 16));
    module.warps.push(warp);
    let trace = decode(&module.into_capture().expect("the sites are whole"));
    assert_eq!(trace.recorded(), 3 * COUNT + COUNT / 2);
    assert_eq!(trace.edges.len() as u64, COUNT);
    let open = trace.warps[0].regions.iter().filter(|region| region.end.is_none()).count();
    assert_eq!(open as u64, COUNT / 2);
    assert_eq!(trace.warps[0].regions[40_000].depth, 40_000);
}

/// Regions whose begins are not there, values without regions, and tokens that all cross.
#[test]
fn as_many_records_that_do_not_go_together() {
    const COUNT: u64 = 60_000;
    let mut module = SyntheticModule::new(Keep::First, 1 << 19);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let regions: Vec<u32> =
        (0..COUNT).map(|number| module.site(SiteKind::Region, &format!("r{number}"))).collect();
    let other = module.site(SiteKind::Region, "other");
    let mut warp = SyntheticWarp::new(kernel, 0, 64_000);
    for (at, &region) in (1..).zip(&regions) {
        warp.watched(region, None, at, at).attach(other, at, Value::Unsigned(at));
    }
    for (at, &region) in (COUNT + 1..).zip(&regions) {
        warp.begin(region, None, at);
    }
    for (at, &region) in (2 * COUNT + 1..).zip(&regions) {
        warp.end(region, None, at);
    }
    warp.leave(4 * COUNT, 64_000 + 32 * (COUNT / 16));
    module.warps.push(warp);
    let trace = decode(&module.into_capture().expect("the sites are whole"));
    assert_eq!(trace.diagnostics.count(DiagnosticKind::OrphanedValue), COUNT);
    let regions = &trace.warps[0].regions;
    assert_eq!(regions.len() as u64, 2 * COUNT);
    assert!(regions.iter().all(|region| region.depth == 0 && region.end.is_some()));
}
