//! How long statistics, critical paths and comparisons take, by the number of regions:
//! `cargo bench -p profiler-trace --bench stats`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use profiler_trace::diff::{DiffOptions, diff};
use profiler_trace::{
    Edge, GroupBy, Launch, Mark, MarkIndex, Region, Site, SiteIndex, StatsQuery, Time, Trace,
    Value, Warp,
};
use profiler_wire::header::Clock;
use profiler_wire::{SiteKind, Strategy};

const SIZES: [usize; 3] = [10_000, 1_000_000, 10_000_000];

/// A trace of so many regions, 1000 a warp, in launches of 128 warps: tiles, each with three regions,
/// a wait and a signal between two warps of a block. Durations are spread over a factor of two.
fn trace(regions: usize) -> Trace {
    let names = ["kernel", "tile", "load", "mma", "store", "full", "full"];
    let kinds = [
        SiteKind::Kernel,
        SiteKind::Region,
        SiteKind::Region,
        SiteKind::Region,
        SiteKind::Region,
        SiteKind::Signal,
        SiteKind::Wait,
    ];
    let site = |(number, (name, kind)): (usize, (&str, SiteKind))| Site {
        id: number as u32 + 1,
        kind,
        name: name.to_owned(),
        list: None,
        file: "src/kernel.rs".to_owned(),
        module: "kernels".to_owned(),
        line: 1,
        column: 1,
        unit: None,
        strategy: None,
        symbol: None,
        buffer: profiler_trace::Buffer::Global,
    };
    let sites = names.into_iter().zip(kinds).enumerate().map(site).collect();
    let mut trace = Trace { sites, resolution_ns: 0.5, ..Trace::default() };
    let time = |ns: f64| Time { ticks: 1_000_000 + (ns * 2.0) as u64, ns };
    let mut state = 1u64;
    let mut random = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    for number in 0..regions / 1000 {
        if number % 128 == 0 {
            trace.launches.push(Launch {
                kernel: SiteIndex(0),
                grid_id: trace.launches.len() as u64,
                replay: 0,
                grid_dim: [64, 1, 1],
                block_dim: [64, 1, 1],
                warps: number..number,
                start_ns: trace.launches.len() as f64 * 1e6,
                end_ns: trace.launches.len() as f64 * 1e6 + 4e5,
            });
        }
        let launch = trace.launches.len() - 1;
        let of = &mut trace.launches[launch];
        of.warps.end = number + 1;
        let (mut at, block) = (of.start_ns, (number % 128 / 2) as u32);
        let mut warp = Warp {
            launch,
            slot: number as u32,
            block: [block, 0, 0],
            warp: (number % 2) as u32,
            sm: block % 132,
            cluster_rank: None,
            strategy: Strategy::Warp,
            track: None,
            clock: Clock::Cycles,
            entry: time(at),
            exit: Some(time(of.end_ns)),
            regions: Vec::with_capacity(1000),
            marks: Vec::with_capacity(250),
            anchors: Vec::new(),
            recorded: 1250,
            lost: 0,
        };
        for tile in 0..250 {
            let start = at;
            let outer = warp.regions.len();
            for site in [1, 2, 3, 4] {
                let end = at + if site == 1 { 0.0 } else { 200.0 + 200.0 * random() };
                warp.regions.push(Region {
                    site: SiteIndex(site),
                    track: None,
                    lane: 0,
                    value_in_record: false,
                    depth: u16::from(site != 1),
                    start: time(at),
                    end: Some(time(end)),
                    value: None,
                });
                at = end;
            }
            warp.regions[outer].start = time(start);
            warp.regions[outer].end = Some(time(at));
            warp.marks.push(Mark {
                site: SiteIndex(5 + (number % 2) as u32),
                track: None,
                lane: 0,
                time: time(at),
                value: Some(Value::Unsigned(tile)),
            });
        }
        trace.warps.push(warp);
        if number % 2 == 1 {
            let edge = |mark| Edge {
                from: MarkIndex { warp: number - 1, mark },
                to: MarkIndex { warp: number, mark },
            };
            trace.edges.extend((0..250).map(edge));
        }
    }
    trace
}

fn stats(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("stats");
    group.sample_size(10);
    for size in SIZES {
        let trace = trace(size);
        group.throughput(Throughput::Elements(size as u64));
        for by in [GroupBy::Site, GroupBy::Path, GroupBy::Sm, GroupBy::Warp] {
            group.bench_function(
                BenchmarkId::new(format!("stats by {by:?}").to_lowercase(), size),
                |bencher| {
                    bencher.iter(|| black_box(trace.stats_by(by)));
                },
            );
        }
        let end = trace.launches.iter().map(|launch| launch.end_ns).fold(0.0, f64::max);
        let query = StatsQuery::new().name("m*").window_ns(end * 0.25..end * 0.75);
        group.bench_function(BenchmarkId::new("stats by window and name", size), |bencher| {
            bencher.iter(|| black_box(trace.stats_of(&query)));
        });
        group.bench_function(BenchmarkId::new("critical paths", size), |bencher| {
            let launches = 0..trace.launches.len();
            bencher.iter(|| launches.clone().map(|at| trace.critical_path(at)).collect::<Vec<_>>());
        });
        group.bench_function(BenchmarkId::new("diff", size), |bencher| {
            let side = std::slice::from_ref(&trace);
            bencher.iter(|| black_box(diff(side, side, &DiffOptions::default())));
        });
    }
}

criterion_group!(benches, stats);
criterion_main!(benches);
