//! What holds of the figures of any trace. The fuzz targets check it too.

use profiler_trace::{GroupBy, Stats, StatsQuery, Trace};
use serde_json::Value;

/// Every record is in one row, in all and by halves of time; figures are in order.
pub(crate) fn statistics(trace: &Trace, by: GroupBy) {
    let regions: usize = trace.warps.iter().map(|warp| warp.regions.len()).sum();
    let all = (regions + trace.warps.len()) as u64;
    let count = |query: StatsQuery| {
        let stats = trace.stats_of(&query.by(by));
        rows(&stats);
        stats.rows.iter().map(|row| row.count + row.open).sum::<u64>()
    };
    assert_eq!(count(StatsQuery::new()), all, "{by:?}");
    let windows = [f64::NEG_INFINITY..300.0, 300.0..f64::INFINITY];
    let parts = windows.map(|window| count(StatsQuery::new().window_ns(window)));
    assert_eq!(parts.iter().sum::<u64>(), all, "{by:?}");
}

fn rows(stats: &Stats) {
    for row in &stats.rows {
        let of = &row.ns;
        assert!([of.min, of.p50, of.p95, of.p99, of.max].is_sorted(), "{row:?}");
        assert!(of.total.is_finite() && row.share.is_finite() && row.share >= 0.0, "{row:?}");
        assert!(row.cycles.is_none_or(|cycles| cycles.p50 <= cycles.max));
    }
    assert!(!stats.to_string().is_empty());
    let mut bytes = Vec::new();
    stats.write_json_to(&mut bytes).expect("memory can be written");
    let json: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(stats.rows.len()));
    bytes.clear();
    stats.write_csv_to(&mut bytes).expect("memory can be written");
    assert!(!bytes.is_empty());
}

/// Critical path, waits and balance of every launch are of one piece; that a path has no gap is an
/// assertion of its own.
pub(crate) fn launches(trace: &Trace) {
    for launch in 0..trace.launches.len() {
        let path = trace.critical_path(launch).expect("a launch has warps");
        let waits = trace.waits(launch).expect("a launch");
        let rows = &waits.to_json()["rows"];
        let is_possible = |row: &Value| row["blocked"].as_u64() <= row["count"].as_u64();
        assert!(rows.as_array().expect("rows").iter().all(is_possible), "{rows}");
        let balance = trace.balance(launch).expect("a launch has warps");
        for load in [balance.warps, balance.blocks, balance.sms, balance.sms_done] {
            assert!((0.0..=1.0 + 1e-9).contains(&load.imbalance()), "{load:?}");
        }
        for text in [path.to_string(), waits.to_string(), balance.to_string()] {
            assert!(!text.is_empty());
        }
    }
}
