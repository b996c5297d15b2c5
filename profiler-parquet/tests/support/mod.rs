//! Traces for tests and measurements.
#![allow(dead_code, reason = "each user needs a part of it")]

pub(crate) mod zoo;

use profiler_trace::{DeviceInfo, Launch, Region, Site, SiteIndex, Time, Trace, Value, Warp};
use profiler_wire::header::Clock;
use profiler_wire::{SiteKind, Strategy};

/// Numbers that look random and are the same in every run (Knuth's MMIX multiplier and increment).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A site; the index is of the trace's next one.
fn site(trace: &mut Trace, kind: SiteKind, name: &str, unit: Option<&str>) -> SiteIndex {
    let index = trace.sites.len() as u32;
    trace.sites.push(Site {
        id: index + 1,
        kind,
        name: name.to_owned(),
        list: None,
        file: "kernels/src/lib.rs".to_owned(),
        module: "kernels".to_owned(),
        line: 40 + index,
        column: 9,
        unit: unit.map(str::to_owned),
        strategy: None,
        symbol: None,
        buffer: profiler_trace::Buffer::Global,
    });
    SiteIndex(index)
}

/// A trace of so many regions as a matrix product leaves it on a GPU of 132 SMs: in each warp tiles,
/// in each tile a load with a count of bytes, a wait and a computation.
pub(crate) fn many_regions(regions: u64) -> Trace {
    /// Cycles are a little longer than half a nanosecond.
    const NS: f64 = 1000.0 / 1755.0;
    const WARPS: u32 = 8;
    const BLOCKS: u64 = 264;
    const REGIONS: u64 = 512;
    let mut trace = Trace {
        device: DeviceInfo { name: "made up".to_owned(), sm_count: 132, ..DeviceInfo::default() },
        ..Trace::default()
    };
    let kernel = site(&mut trace, SiteKind::Kernel, "gemm", None);
    let tile = site(&mut trace, SiteKind::Region, "tile", None);
    let steps = [
        site(&mut trace, SiteKind::Region, "load", Some("bytes")),
        site(&mut trace, SiteKind::Region, "wait", None),
        site(&mut trace, SiteKind::Region, "mma", None),
    ];
    let mut numbers = Numbers(1);
    let mut left = regions;
    let mut base = 1 << 40;
    while left > 0 {
        let launch = trace.launches.len();
        let first = trace.warps.len();
        let mut last = base;
        'blocks: for block in 0..BLOCKS {
            for warp in 0..WARPS {
                if left == 0 {
                    break 'blocks;
                }
                let mut ticks = base + numbers.below(2000);
                let time = |ticks: u64| Time { ticks, ns: (ticks - (1 << 40)) as f64 * NS };
                let entry = time(ticks);
                let count = left.min(REGIONS);
                left -= count;
                let mut list = Vec::with_capacity(count as usize);
                let region = |site, depth, start, end| Region {
                    site,
                    track: None,
                    lane: 0,
                    value_in_record: false,
                    depth,
                    start: time(start),
                    end: Some(time(end)),
                    value: None,
                };
                while (list.len() as u64) < count {
                    let parts = (count - list.len() as u64 - 1).min(3) as usize;
                    let at = list.len();
                    let start = ticks + 20 + numbers.below(30);
                    ticks = start + 10;
                    list.push(region(tile, 0, start, start));
                    for &site in &steps[..parts] {
                        let start = ticks + 4 + numbers.below(8);
                        ticks = start + 100 + numbers.below(400);
                        let mut part = region(site, 1, start, ticks);
                        if site == steps[0] {
                            part.value = Some(Value::Unsigned(4096));
                        }
                        list.push(part);
                    }
                    ticks += 10;
                    list[at].end = Some(time(ticks));
                }
                let exit = time(ticks + 100);
                last = last.max(exit.ticks);
                trace.warps.push(Warp {
                    launch,
                    slot: trace.warps.len() as u32,
                    block: [block as u32 % 12, block as u32 / 12, 0],
                    warp,
                    sm: block as u32 % 132,
                    cluster_rank: None,
                    strategy: Strategy::Warp,
                    track: None,
                    clock: Clock::Cycles,
                    entry,
                    exit: Some(exit),
                    recorded: count,
                    lost: 0,
                    regions: list,
                    marks: Vec::new(),
                    anchors: Vec::new(),
                });
            }
        }
        let ns = |ticks: u64| (ticks - (1 << 40)) as f64 * NS;
        trace.launches.push(Launch {
            kernel,
            grid_id: launch as u64 + 1,
            replay: 0,
            grid_dim: [12, 22, 1],
            block_dim: [32 * WARPS, 1, 1],
            warps: first..trace.warps.len(),
            start_ns: ns(base),
            end_ns: ns(last),
        });
        base = last + 5000;
    }
    trace
}
