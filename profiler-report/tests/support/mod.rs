//! Traces made by hand.
#![allow(dead_code, reason = "each user of the module uses a part of it")]

#[path = "../../../profiler-trace/tests/support/mod.rs"]
mod by_hand;

use profiler_trace::{HostSpan, HostSpanKind, HostThread, HostTrace, SiteIndex, Trace};
use profiler_wire::SiteKind;
use profiler_wire::header::Dim3;

pub(crate) use by_hand::{site, time};

/// A trace on a GPU, with nothing in it.
pub(crate) fn gpu() -> Trace {
    Trace { clock_mhz: Some(2000.0), ..by_hand::gpu() }
}

/// Begins a launch; its warps follow by [`warp`].
pub(crate) fn launch(trace: &mut Trace, kernel: SiteIndex, grid_dim: Dim3, start_ns: f64) {
    let at = by_hand::launch(trace, kernel, grid_dim, start_ns, start_ns);
    trace.launches[at].block_dim = [128, 1, 1];
}

/// Adds a warp to the last launch.
pub(crate) fn warp(trace: &mut Trace, block: u32, warp: u32, sm: u32, entry: f64, exit: f64) {
    let at = by_hand::warp(trace, [block, 0, 0], warp, entry, exit);
    trace.warps[at].sm = sm;
    let launch = trace.launches.last_mut().expect("a launch");
    launch.end_ns = launch.end_ns.max(exit);
}

/// Adds a region to the last warp.
pub(crate) fn region(trace: &mut Trace, site: SiteIndex, span: (f64, f64), depth: u16) {
    by_hand::region(trace, trace.warps.len() - 1, site, depth, span.0, span.1);
}

/// Adds a mark to the last warp.
pub(crate) fn mark(trace: &mut Trace, site: SiteIndex, ns: f64) {
    let warp = trace.warps.len() - 1;
    by_hand::mark(trace, warp, site, ns, 7);
    trace.warps[warp].recorded += 1;
}

/// Adds two threads of the host around the launches of a trace: a step, in it both calls, and a
/// span that crosses its end; beside it a thread that began `early_ns` before the kernels.
pub(crate) fn host(trace: &mut Trace, early_ns: f64) {
    let end = trace.launches.last().expect("a launch").end_ns;
    let second = trace.launches[1].start_ns;
    let span = |name: &str, start_ns, end_ns, kind| HostSpan {
        name: name.to_owned(),
        start_ns,
        end_ns,
        kind,
    };
    let main = vec![
        span("step", -900.0, end, HostSpanKind::Span),
        span("gemm", -500.0, -300.5, HostSpanKind::Launch(Some(0))),
        span("gemm", second - 400.0, second - 100.0, HostSpanKind::Launch(Some(1))),
        span("late", end - 200.0, end + 300.0, HostSpanKind::Span),
    ];
    let early = vec![span("read <file>", -early_ns, 100.0, HostSpanKind::Span)];
    let thread = |name: &str, spans| HostThread { name: name.to_owned(), spans };
    trace.host = HostTrace {
        threads: vec![thread("main", main), thread("<b>loader</b>", early)],
        uncertainty_ns: 40.0,
    };
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    /// Between 0 and 1.
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Two launches of a kernel of 132 SMs, two blocks an SM at a time, four warps a block, about as many
/// regions as asked for: tiles, and in each a load, a wait and a product; at the end a store.
pub(crate) fn large(regions: usize) -> Trace {
    let mut trace = gpu();
    let kernel = site(&mut trace, SiteKind::Kernel, "gemm");
    let [tile, load, wait, mma, store] = ["tile", "load", "wait", "mma", "store"]
        .map(|name| site(&mut trace, SiteKind::Region, name));
    let done = site(&mut trace, SiteKind::Mark, "tile done");
    let (tiles, warps) = (10, 4);
    let per_block = (tiles * 4 + 1) * warps;
    let blocks = (regions / 2 / per_block).max(1) as u32;
    let mut numbers = Numbers(1);
    let mut start = 0.0;
    for _ in 0..2 {
        launch(&mut trace, kernel, [blocks, 1, 1], start);
        let mut free = vec![start; 264];
        for block in 0..blocks {
            let place = (0..free.len()).min_by(|&a, &b| free[a].total_cmp(&free[b])).expect("SMs");
            let (sm, entry) = ((place % 132) as u32, free[place] + 40.0 * numbers.next());
            let slow = if sm == 17 { 1.3 } else { 1.0 };
            let mut last = entry;
            for index in 0..warps as u32 {
                let from = entry + f64::from(index) * 3.5;
                warp(&mut trace, block, index, sm, from, from);
                let mut at = from + 50.0;
                for _ in 0..tiles {
                    let parts = [
                        (load, 30.0 + 20.0 * numbers.next()),
                        (wait, slow * (60.0 + 200.0 * numbers.next().powi(4))),
                        (mma, 90.0 + 3.0 * numbers.next()),
                    ];
                    let end = at + parts.iter().map(|part| part.1).sum::<f64>() + 8.0;
                    region(&mut trace, tile, (at, end), 0);
                    at += 2.0;
                    for (site, ns) in parts {
                        region(&mut trace, site, (at, at + ns), 1);
                        at += ns + 2.0;
                    }
                    at = end + 4.0;
                    mark(&mut trace, done, end);
                }
                region(&mut trace, store, (at, at + 80.0), 0);
                let exit = at + 95.0;
                let warp = trace.warps.last_mut().expect("a warp");
                warp.exit = Some(time(exit));
                last = f64::max(last, exit);
                let launch = trace.launches.last_mut().expect("a launch");
                launch.end_ns = launch.end_ns.max(exit);
            }
            free[place] = last + 200.0;
        }
        start = trace.launches.last().expect("a launch").end_ns + 5000.0;
    }
    trace
}
