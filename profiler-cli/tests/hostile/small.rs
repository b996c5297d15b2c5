//! The smallest capture that has something of everything.

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{Capture, KeptClock, ModuleCapture, RecordCost, ResourceEffect, Value};
use profiler_wire::SiteKind;

use crate::captures::host;

/// One launch of one block with two warps, by whose records and those of the first one's lane 7 all kinds
/// are there; the second waits for the signal of the first. Two threads of the host launch it, and what
/// recording costs and does to the kernel is known, and the session has kept the clock.
pub(crate) fn small() -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 16);
    module.lane_capacity = Some(4);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site_with_unit(SiteKind::Region, "region", "bytes");
    let mark = module.site(SiteKind::Mark, "mark");
    let signal = module.site(SiteKind::Signal, "s");
    let wait = module.site(SiteKind::Wait, "s");
    let names = module.names("TASK", &["copy", "compute"]);
    // 2 ticks a nanosecond.
    let ns = |ticks: u64| 64_000 + (ticks - 1_000) / 2;
    for index in 0..2 {
        let entry = 1_000 + 10 * u64::from(index);
        let mut warp = SyntheticWarp::new(kernel, entry, ns(entry));
        warp.header.block_dim = [64, 1, 1];
        warp.header.grid_dim = [1, 1, 1];
        warp.header.warp = index;
        if index == 0 {
            warp.begin(region, Some(2), entry + 10);
            warp.range(region, None, entry + 20, entry + 25);
            warp.attach(region, entry + 25, Value::Float(1.5));
            warp.range(names + 1, Some(3), entry + 30, entry + 90);
            warp.mark(mark, Some(4), entry + 95);
            warp.range_unsigned(region, entry + 96, entry + 99, 7);
            warp.anchor(entry + 100, ns(entry + 100));
            warp.watched(region, Some(2), entry + 12, entry + 102);
            warp.begin(region, None, entry + 103).end(region, None, entry + 104);
            warp.open(region, None, entry + 95, entry + 105);
            warp.value(signal, entry + 110, Value::Unsigned(1));
            warp.begin(names, None, entry + 115).mark(mark, None, entry + 117).lane(7);
            warp.range_signed(region, entry + 40, entry + 60, -7);
        } else {
            warp.range(region, None, entry + 20, entry + 110);
            warp.value(wait, entry + 150, Value::Signed(1));
        }
        warp.leave(2_000, ns(2_000));
        module.warps.push(warp);
    }
    let readings = [900, 1_400, 2_100].map(|ticks| (ticks, 64_000 + ticks / 2 - 500));
    let clock = KeptClock { sm: 0, readings: readings.to_vec(), ended: true };
    let clocks = ModuleCapture::of_clocks(&[clock]).expect("the site is whole");
    let modules = vec![module.capture().expect("the sites are whole"), clocks];
    Capture {
        modules,
        host: host(),
        record_cost: Some(RecordCost::uniform(7.1, 0.1 + 0.2)),
        resources: vec![ResourceEffect { kernel: "gemm".to_owned(), ..ResourceEffect::default() }],
        ..module.into_capture().expect("the sites are whole")
    }
}

/// The arrays, to be altered.
pub(crate) fn arrays_mut(module: &mut ModuleCapture) -> [&mut Vec<u8>; 4] {
    [&mut module.headers, &mut module.records, &mut module.lanes, &mut module.lane_counts]
}
