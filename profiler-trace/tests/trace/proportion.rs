//! Very many of one thing: what goes through all of them for each takes minutes here, and what does not
//! takes seconds.

use crate::support;

use profiler_trace::diff::{DiffOptions, diff};
use profiler_trace::{Export, ExportOptions, GroupBy, SiteIndex, Trace};
use profiler_wire::SiteKind;

use support::{
    edge, gpu, hand_over, last, launch, launched, lone_warp, mark, region, site, text, warp,
    written,
};

fn rows(table: &serde_json::Value) -> Vec<serde_json::Value> {
    table["rows"].as_array().expect("rows").clone()
}

/// Each warp once looked at all lanes and tracks that any warp before it had.
#[test]
fn a_warp_on_many_tracks_costs_nothing_after_it() {
    const TRACKS: u32 = 50_000;
    let mut trace = launched("kernel", [TRACKS, 1, 1], 0.0, 100.0);
    let name = site(&mut trace, SiteKind::Region, "region");
    for block in 0..TRACKS {
        warp(&mut trace, [block, 0, 0], 0, 0.0, 100.0);
    }
    for track in 0..TRACKS {
        region(&mut trace, 0, name, 0, 10.0, 20.0);
        last(&mut trace, 0).track = Some(track);
    }
    let stats = trace.stats_by(GroupBy::Path);
    let counts: Vec<u64> = stats.rows.iter().map(|row| row.count).collect();
    assert_eq!(counts, [u64::from(TRACKS); 2]);
}

/// What a signal was given in was once looked for anew for each wait that it released, among all regions
/// that ended at its tick.
#[test]
fn a_signal_may_release_many_waits() {
    const WAITS: u64 = 50_000;
    let (mut trace, of) = lone_warp("kernel", 100.0);
    let waiting = site(&mut trace, SiteKind::Region, "waiting");
    let signal = site(&mut trace, SiteKind::Signal, "full");
    let wait = site(&mut trace, SiteKind::Wait, "full");
    for _ in 0..WAITS {
        region(&mut trace, of, waiting, 0, 10.0, 50.0);
    }
    let from = mark(&mut trace, of, signal, 50.0, 0);
    for _ in 0..WAITS {
        let to = mark(&mut trace, of, wait, 60.0, 0);
        edge(&mut trace, from, to);
    }
    let waits = trace.waits(0).expect("a launch");
    let rows = rows(&waits.to_json());
    assert_eq!((rows.len(), &rows[0]["count"]), (1, &WAITS.into()));
    assert_eq!(rows[0]["signaller"], "waiting");
    assert_eq!(trace.critical_path(0).expect("a launch").span_ns, 100.0);
}

/// The names of all sites were once gone through for each lane that waited.
#[test]
fn many_warps_may_wait_and_many_sites_be_there() {
    const WARPS: u32 = 20_000;
    let mut trace = launched("kernel", [WARPS, 1, 1], 0.0, 100.0);
    let waiting = site(&mut trace, SiteKind::Region, "WAITING");
    let signal = site(&mut trace, SiteKind::Signal, "full");
    let wait = site(&mut trace, SiteKind::Wait, "full");
    for number in 0..WARPS {
        site(&mut trace, SiteKind::Region, &format!("a region of a long name, {number}"));
    }
    for block in 0..WARPS {
        let of = warp(&mut trace, [block, 0, 0], 0, 0.0, 100.0);
        region(&mut trace, of, waiting, 0, 40.0, 50.0);
        hand_over(&mut trace, (of, signal, 30.0), (of, wait, 60.0), 0);
    }
    let waits = trace.waits(0).expect("a launch");
    let rows = rows(&waits.to_json());
    assert_eq!((rows.len(), &rows[0]["count"]), (1, &WARPS.into()));
    assert_eq!(rows[0]["waiter"], "WAITING");
}

/// Arrows of all launches were once gone through for each.
#[test]
fn many_launches_may_have_arrows() {
    const LAUNCHES: u32 = 30_000;
    let mut trace = gpu();
    let kernel = site(&mut trace, SiteKind::Kernel, "kernel");
    let signal = site(&mut trace, SiteKind::Signal, "full");
    let wait = site(&mut trace, SiteKind::Wait, "full");
    for number in 0..LAUNCHES {
        let start = f64::from(number) * 100.0;
        launch(&mut trace, kernel, [1, 1, 1], start, start + 50.0);
        let of = warp(&mut trace, [0, 0, 0], 0, start, start + 50.0);
        hand_over(&mut trace, (of, signal, start + 20.0), (of, wait, start + 30.0), 0);
    }
    for number in 0..LAUNCHES as usize {
        let rows = rows(&trace.waits(number).expect("a launch").to_json());
        assert_eq!((rows.len(), &rows[0]["hand_off_total_ns"]), (1, &10.0.into()));
        assert_eq!(trace.critical_path(number).expect("a launch").span_ns, 50.0);
    }
}

/// A launch of each of so many kernels.
fn kernels(count: u32) -> Trace {
    let mut trace = gpu();
    for number in 0..count {
        site(&mut trace, SiteKind::Kernel, &format!("a kernel of a long name, {number}"));
    }
    for number in 0..count {
        let start = f64::from(number) * 10.0;
        launch(&mut trace, SiteIndex(number), [1, 1, 1], start, start + 5.0);
        warp(&mut trace, [0, 0, 0], 0, start, start + 5.0);
    }
    trace
}

/// Each kernel was once looked for among all others.
#[test]
fn many_kernels_may_be_launched() {
    const KERNELS: u32 = 20_000;
    let trace = kernels(KERNELS);
    for by in [GroupBy::Site, GroupBy::Path] {
        let rows = trace.stats_by(by).rows;
        assert!(rows.iter().map(|row| row.kernel).eq((0..KERNELS).map(SiteIndex)));
    }
}

/// They once were by their names, and several times each.
#[test]
fn many_kernels_may_be_compared() {
    const KERNELS: u32 = 20_000;
    let trace = kernels(KERNELS);
    let side = std::slice::from_ref(&trace);
    let rows = rows(&diff(side, side, &DiffOptions::default()).expect("right options").to_json());
    assert_eq!(rows.len(), 2 * KERNELS as usize);
    assert!(rows.iter().all(|row| row["verdict"] == "too-few"));
    let kernels = rows.chunks_exact(2).map(|of| [&of[0]["kernel"], &of[1]["kernel"]]);
    for (number, of) in kernels.enumerate() {
        assert_eq!(of, [format!("a kernel of a long name, {number}").as_str(); 2]);
    }
}

/// Regions of one lane that all cross each other, each of a name of its own: each begins one nanosecond after the one before it, and ends so.
#[test]
fn statistics_and_timelines_of_crossing_regions() {
    const CROSSING: usize = 40_000;
    let length = CROSSING as f64;
    let (mut trace, of) = lone_warp("kernel", 3.0 * length);
    for number in 0..CROSSING {
        let own = site(&mut trace, SiteKind::Region, &format!("region {number}"));
        let start = number as f64;
        region(&mut trace, of, own, 0, start, start + length);
    }
    for by in [GroupBy::Site, GroupBy::Path] {
        let stats = trace.stats_by(by);
        assert_eq!(stats.rows.len(), CROSSING + 1);
        assert!(stats.rows[1..].iter().all(|row| row.count == 1 && row.path.is_empty()));
    }
    let options = ExportOptions::default();
    let chrome = text(|bytes| trace.write_chrome_to(bytes, &options));
    let slices = chrome.lines().filter(|line| line.contains("\"region "));
    assert_eq!(slices.count(), CROSSING);
    let perfetto = written(|bytes| trace.write_perfetto_to(bytes, &options));
    let last = format!("region {}", CROSSING - 1);
    assert!(memchr::memmem::find(&perfetto, last.as_bytes()).is_some());
}
