//! Traces made by hand: 1 tick is half a nanosecond.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io;

use profiler_trace::{
    DeviceInfo, Diagnostic, DiagnosticKind, Edge, Launch, Mark, MarkIndex, Region, Site, SiteIndex,
    Time, Trace, Value, Warp,
};
use profiler_wire::SiteKind;
use profiler_wire::header::Dim3;

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

/// All that is written.
pub(crate) fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("memory takes everything");
    bytes
}

/// All that is written, as text.
pub(crate) fn text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    String::from_utf8(written(write)).expect("UTF-8")
}

/// All that is written, as JSON.
pub(crate) fn json(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> serde_json::Value {
    serde_json::from_slice(&written(write)).expect("JSON")
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
        entry: time(entry),
        exit: Some(time(exit)),
        ..Warp::default()
    });
    trace.launches[launch].warps.end = trace.warps.len();
    trace.warps.len() - 1
}

/// A trace of one launch of a kernel of this name, which is site 0. Its warps follow by [`warp`].
pub(crate) fn launched(kernel: &str, grid_dim: Dim3, start: f64, end: f64) -> Trace {
    let mut trace = gpu();
    let kernel = site(&mut trace, SiteKind::Kernel, kernel);
    launch(&mut trace, kernel, grid_dim, start, end);
    trace
}

/// A trace of one warp, which is in a kernel of this name from 0 on for so long; and the warp.
pub(crate) fn lone_warp(kernel: &str, ns: f64) -> (Trace, usize) {
    let mut trace = launched(kernel, [1, 1, 1], 0.0, ns);
    let warp = warp(&mut trace, [0, 0, 0], 0, 0.0, ns);
    (trace, warp)
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
    let (start, end) = (time(start), Some(time(end)));
    warp.regions.push(Region { site, depth, start, end, ..Region::default() });
    warp.recorded += 1;
}

/// A diagnostic of no place.
pub(crate) fn said(kind: DiagnosticKind, count: u64, number: u64) -> Diagnostic {
    Diagnostic { kind, count, number, place: None }
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
    let value = Some(Value::Unsigned(value));
    marks.push(Mark { site, time: time(at), value, ..Mark::default() });
    MarkIndex { warp, mark: marks.len() - 1 }
}

/// Begin, end and depth of the regions of the only warp, in ticks.
pub(crate) fn spans(trace: &Trace) -> Vec<(u64, Option<u64>, u16)> {
    let end = |region: &Region| region.end.map(|end| end.ticks);
    let regions = trace.warps[0].regions.iter();
    regions.map(|region| (region.start.ticks, end(region), region.depth)).collect()
}

/// A warp, a site, and nanoseconds.
type At = (usize, SiteIndex, f64);

/// A signal, and a wait that it releases.
pub(crate) fn hand_over(trace: &mut Trace, signal: At, wait: At, key: u64) {
    let [from, to] = [signal, wait].map(|(warp, site, ns)| mark(trace, warp, site, ns, key));
    edge(trace, from, to);
}

pub(crate) fn edge(trace: &mut Trace, from: MarkIndex, to: MarkIndex) {
    let at = trace.edges.partition_point(|edge| edge.to <= to);
    trace.edges.insert(at, Edge { from, to });
}
