//! A trace with something of everything that a kernel can record, and a host beside it.
#![allow(dead_code, reason = "each test uses a part of it")]

use profiler_trace::{
    DiagnosticKind, HostSpan, HostSpanKind, HostThread, HostTrace, Region, SiteIndex, Trace, Value,
};
use profiler_wire::{SiteKind, Strategy};

use crate::support::{gpu, last, launch, mark, region, said, site, time, warp};

/// Names that no format may trip over.
pub(crate) const KERNEL: &str = "gemm<\"f16\", 128>; a\\b 🚀";
pub(crate) const STORE: &str = "store, then\nfence";
pub(crate) const COMPUTE: &str = "計算 100%";

/// The sites of [`zoo`].
pub(crate) struct Sites {
    pub(crate) kernel: SiteIndex,
    pub(crate) load: SiteIndex,
    pub(crate) store: SiteIndex,
    pub(crate) compute: SiteIndex,
    pub(crate) leader: SiteIndex,
    pub(crate) signal: SiteIndex,
}

/// Two launches of a kernel and one of another, on two blocks of two warps each. All times are odd
/// multiples of fractions of a nanosecond.
pub(crate) fn zoo() -> (Trace, Sites) {
    let mut trace = gpu();
    let sites = Sites {
        kernel: site(&mut trace, SiteKind::Kernel, KERNEL),
        load: site(&mut trace, SiteKind::Region, "load"),
        store: site(&mut trace, SiteKind::Region, STORE),
        compute: site(&mut trace, SiteKind::Region, COMPUTE),
        leader: site(&mut trace, SiteKind::Region, "leader"),
        signal: site(&mut trace, SiteKind::Signal, "full"),
    };
    trace.sites[sites.load.0 as usize].unit = Some("bytes".to_owned());
    trace.sites[sites.leader.0 as usize].strategy = Some(Strategy::Block);
    let other = site(&mut trace, SiteKind::Kernel, "axpy");
    trace.clock_mhz = Some(2000.0);
    for (index, kernel) in [sites.kernel, sites.kernel, other].into_iter().enumerate() {
        let start = 1000.25 + 50_000.0 * index as f64;
        launch(&mut trace, kernel, [2, 1, 1], start, start + 40_000.0);
        for block in 0..2 {
            for of_block in 0..2 {
                let entry = start + 100.0 * f64::from(block) + 3.3 * f64::from(of_block);
                let exit = entry + 20_000.7 + 1000.0 * f64::from(of_block);
                let warp = warp(&mut trace, [block, 0, 0], of_block, entry, exit);
                fill(&mut trace, warp, entry, &sites);
            }
        }
    }
    let lossy = &mut trace.warps[5];
    lossy.lost = 7;
    trace.diagnostics.add(said(DiagnosticKind::BufferTooSmall, 7, 512));
    trace.warps[7].exit = None;
    (trace, sites)
}

fn fill(trace: &mut Trace, warp: usize, entry: f64, sites: &Sites) {
    let at = |ns: f64| entry + ns;
    if trace.warps[warp].warp == 0 {
        region(trace, warp, sites.leader, 0, at(50.1), at(90.6));
    }
    for step in 0..5 {
        let from = 100.0 + 2000.0 * f64::from(step);
        region(trace, warp, sites.compute, 0, at(from), at(from + 1500.3));
        region(trace, warp, sites.load, 1, at(from + 10.2), at(from + 300.9));
        last(trace, warp).value = Some(Value::Unsigned(4096));
        // The same again in itself, and one that takes no time.
        region(trace, warp, sites.load, 2, at(from + 20.4), at(from + 120.4));
        region(trace, warp, sites.store, 1, at(from + 400.0), at(from + 400.0));
    }
    // Tokens that cross each other.
    region(trace, warp, sites.load, 0, at(12_000.0), at(13_000.5));
    region(trace, warp, sites.store, 0, at(12_500.0), at(14_000.5));
    // Another lane, at the same time as lane 0.
    let other_lane = |start: f64, end: f64| Region {
        site: sites.store,
        lane: 9,
        start: time(at(start)),
        end: Some(time(at(end))),
        value: Some(Value::Float(-0.125)),
        ..Region::default()
    };
    trace.warps[warp].regions.push(other_lane(12_600.0, 15_000.25));
    mark(trace, warp, sites.signal, at(15_500.0), u64::MAX);
    if trace.warps[warp].warp == 1 {
        region(trace, warp, sites.load, 0, at(16_000.0), 0.0);
        last(trace, warp).end = None;
    }
}

/// What two threads of the host did meanwhile; two spans of one of them cross.
pub(crate) fn host() -> HostTrace {
    let span = |name: &str, start_ns, end_ns, kind| HostSpan {
        name: name.to_owned(),
        start_ns,
        end_ns,
        kind,
    };
    let main = vec![
        span("all", -3000.5, 9000.25, HostSpanKind::Span),
        span(KERNEL, 100.0, 200.0, HostSpanKind::Launch(Some(1))),
        span("late", 8000.0, 10_000.0, HostSpanKind::Span),
    ];
    let loader = vec![span("a call", 50.0, 60.0, HostSpanKind::Launch(None))];
    let thread = |name: &str, spans| HostThread { name: name.to_owned(), spans };
    HostTrace {
        threads: vec![thread("main", main), thread("a, \"loader\"", loader)],
        uncertainty_ns: 12.5,
    }
}
