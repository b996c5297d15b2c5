//! Traces made by hand: 1 tick is half a nanosecond.
#![allow(dead_code, reason = "each test uses a part of it")]

use profiler_trace::{
    DeviceInfo, Edge, Launch, Mark, MarkIndex, Region, Site, SiteIndex, Time, Trace, Value, Warp,
};
use profiler_wire::header::{Clock, Dim3};
use profiler_wire::{SiteKind, Strategy};

/// A trace on a GPU, with nothing in it.
pub(crate) fn gpu() -> Trace {
    Trace {
        device: DeviceInfo {
            name: "NVIDIA H200".to_owned(),
            compute_capability: Some((9, 0)),
            sm_count: 132,
            ..DeviceInfo::default()
        },
        resolution_ns: 0.5,
        ..Trace::default()
    }
}

/// A table with all that is in it, however wide the terminal is on which the test runs.
pub(crate) fn whole(table: &dyn std::fmt::Display) -> String {
    format!("{table:0$}", 0)
}

pub(crate) fn time(ns: f64) -> Time {
    Time { ticks: 1_000_000_u64.saturating_add((ns * 2.0).round() as u64), ns }
}

pub(crate) fn site(trace: &mut Trace, kind: SiteKind, name: &str) -> SiteIndex {
    let index = trace.sites.len() as u32;
    trace.sites.push(Site {
        id: index + 1,
        kind,
        name: name.to_owned(),
        list: None,
        file: "src/kernel.rs".to_owned(),
        module: "kernels".to_owned(),
        line: 10 + index,
        column: 5,
        unit: None,
        strategy: None,
        symbol: None,
        buffer: profiler_trace::Buffer::Global,
    });
    SiteIndex(index)
}

/// Begins a launch; its warps follow by [`warp`].
pub(crate) fn launch(
    trace: &mut Trace,
    kernel: SiteIndex,
    grid_dim: Dim3,
    start: f64,
    end: f64,
) -> usize {
    let warps = trace.warps.len();
    trace.launches.push(Launch {
        kernel,
        grid_id: trace.launches.len() as u64 + 1,
        replay: 0,
        grid_dim,
        block_dim: [64, 1, 1],
        warps: warps..warps,
        start_ns: start,
        end_ns: end,
    });
    trace.launches.len() - 1
}

/// Adds a warp to the last launch, in the kernel from `entry` to `exit`.
pub(crate) fn warp(trace: &mut Trace, block: Dim3, warp: u32, entry: f64, exit: f64) -> usize {
    let launch = trace.launches.len() - 1;
    trace.warps.push(Warp {
        launch,
        slot: trace.warps.len() as u32,
        block,
        warp,
        sm: block[0] % 4,
        cluster_rank: None,
        strategy: Strategy::Warp,
        track: None,
        clock: Clock::Cycles,
        entry: time(entry),
        exit: Some(time(exit)),
        regions: Vec::new(),
        marks: Vec::new(),
        anchors: Vec::new(),
        recorded: 0,
        lost: 0,
    });
    trace.launches[launch].warps.end = trace.warps.len();
    trace.warps.len() - 1
}

/// Adds a region to a warp, which keeps its order.
pub(crate) fn region(
    trace: &mut Trace,
    warp: usize,
    site: SiteIndex,
    depth: u16,
    start: f64,
    end: f64,
) {
    let warp = &mut trace.warps[warp];
    warp.regions.push(Region {
        site,
        track: None,
        lane: 0,
        value_in_record: false,
        depth,
        start: time(start),
        end: Some(time(end)),
        value: None,
    });
    warp.recorded += 1;
}

/// The region that was added last.
pub(crate) fn last(trace: &mut Trace, warp: usize) -> &mut Region {
    trace.warps[warp].regions.last_mut().expect("a region was added")
}

pub(crate) fn mark(
    trace: &mut Trace,
    warp: usize,
    site: SiteIndex,
    at: f64,
    value: u64,
) -> MarkIndex {
    let marks = &mut trace.warps[warp].marks;
    marks.push(Mark {
        site,
        track: None,
        lane: 0,
        time: time(at),
        value: Some(Value::Unsigned(value)),
    });
    MarkIndex { warp, mark: marks.len() - 1 }
}

pub(crate) fn edge(trace: &mut Trace, from: MarkIndex, to: MarkIndex) {
    let at = trace.edges.partition_point(|edge| edge.to <= to);
    trace.edges.insert(at, Edge { from, to });
}
