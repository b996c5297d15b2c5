//! Statistics against values computed by hand.

use crate::support;

use profiler_trace::{DiagnosticKind, GroupBy, SiteIndex, StatsQuery, Trace, Value};
use profiler_wire::header::Clock;
use profiler_wire::{SiteKind, Strategy};

use support::{gpu, json, last, launch, launched, mark, region, said, site, time, warp, whole};

/// Two blocks of two warps, each 1000 ns in the kernel; warp 0 of block 0 loads ten times, for 1 to
/// 10 ns, and the others not at all.
fn ten_loads() -> (Trace, SiteIndex) {
    let mut trace = launched("gemm", [2, 1, 1], 0.0, 1000.0);
    let load = site(&mut trace, SiteKind::Region, "load");
    for block in 0..2 {
        for index in 0..2 {
            warp(&mut trace, [block, 0, 0], index, 0.0, 1000.0);
        }
    }
    for (at, length) in (1..).zip([3, 1, 2, 10, 9, 8, 7, 6, 5, 4]) {
        let start = f64::from(at) * 20.0;
        region(&mut trace, 0, load, 0, start, start + f64::from(length));
    }
    (trace, load)
}

#[track_caller]
fn assert_near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{found} is not {wanted}");
}

#[test]
fn figures_of_ten_durations() {
    let (trace, _) = ten_loads();
    let stats = trace.stats();
    let load = stats.get("load").expect("a row");
    assert_eq!((load.count, load.open, load.warps), (10, 0, 4));
    assert_near(load.ns.total, 55.0);
    assert_near(load.ns.mean, 5.5);
    // Squares of the deviations sum up to 82.5.
    assert_near(load.ns.standard_deviation, (82.5f64 / 9.0).sqrt());
    assert_eq!((load.ns.min, load.ns.max), (1.0, 10.0));
    assert_eq!((load.ns.p50, load.ns.p95, load.ns.p99), (5.0, 10.0, 10.0));
    assert_near(load.ns.mean_per_warp, 55.0 / 4.0);
    assert_near(load.share, 55.0 / 4000.0);
    let cycles = load.cycles.expect("the clock counts cycles");
    assert_near(cycles.total, 110.0);
    assert_eq!(cycles.p50, 10.0);
    let kernel = stats.get("gemm").expect("a row");
    assert_eq!(kernel.count, 4);
    assert_near(kernel.share, 1.0);
    assert_eq!(stats.rows[0].name, "gemm");
}

#[test]
fn share_counts_only_warps_that_could_record() {
    for (strategy, warps) in [
        (Strategy::Warp, 4),
        (Strategy::Block, 2),
        (Strategy::WarpIndex(1), 2),
        (Strategy::WarpGroup, 2),
        (Strategy::Thread, 4),
    ] {
        let (mut trace, load) = ten_loads();
        trace.sites[load.0 as usize].strategy = Some(strategy);
        let stats = trace.stats();
        let load = stats.get("load").expect("a row");
        assert_eq!(load.warps, warps, "{strategy:?}");
        assert_near(load.share, 55.0 / (warps as f64 * 1000.0));
        // Whoever records in it, all warps are in the kernel.
        let (mut trace, _) = ten_loads();
        trace.sites[0].strategy = Some(strategy);
        for warp in &mut trace.warps {
            warp.strategy = strategy;
        }
        let stats = trace.stats();
        let kernel = stats.get("gemm").expect("a row");
        assert_eq!((kernel.warps, kernel.ns.mean_per_warp), (4, 1000.0), "{strategy:?}");
        assert_near(kernel.share, 1.0);
    }
    // Whatever lanes of a warp record, it is the time of one warp.
    let (mut trace, _) = ten_loads();
    for region in &mut trace.warps[0].regions[..5] {
        region.lane = 7;
    }
    assert_near(trace.stats().get("load").expect("a row").share, 55.0 / 4000.0);
}

#[test]
fn what_a_warp_is_in_several_times_at_once_counts_once_in_its_time() {
    let (mut trace, load) = ten_loads();
    trace.warps[0].regions.clear();
    // All lanes for 100 ns, one of them a little longer, and another one for as long by itself.
    for lane in 0..32 {
        region(&mut trace, 0, load, lane, 100.0, if lane == 9 { 220.0 } else { 200.0 });
    }
    region(&mut trace, 0, load, 3, 210.0, 310.0);
    // In itself.
    region(&mut trace, 0, load, 0, 400.0, 500.0);
    region(&mut trace, 0, load, 0, 420.0, 480.0);
    // Another warp at the same time.
    region(&mut trace, 2, load, 0, 100.0, 190.0);
    let spent = 210.0 + 100.0 + 90.0;
    let stats = trace.stats();
    let row = stats.get("load").expect("a row");
    assert_near(row.ns.total, 32.0 * 100.0 + 20.0 + 100.0 + 160.0 + 90.0);
    assert_near(row.ns.mean_per_warp, spent / 4.0);
    assert_near(row.cycles.expect("cycles").mean_per_warp, 2.0 * spent / 4.0);
    assert_near(row.share, spent / 4000.0);
    // Of the time in a window, too: 50 and 10 of the first two, and 50 of the other warp.
    let window = trace.stats_of(&StatsQuery::new().window_ns(150.0..260.0));
    let row = window.get("load").expect("a row");
    assert_near(row.share, (110.0 + 40.0) / 440.0);
    assert_near(row.ns.mean_per_warp, 100.0 / 4.0);
    let balance = trace.balance(0).expect("a launch");
    let balance = balance.to_json();
    let rows = balance["rows"].as_array().expect("rows");
    let load = rows.iter().find(|row| row["name"] == "load" && row["over"] == "warp");
    assert_near(load.expect("a row")["max_ns"].as_f64().expect("a number"), 310.0);
    // By warp the kernel's own time is the most that a warp can be in anything.
    for row in trace.stats_by(GroupBy::Warp).rows {
        assert!((0.0..=1.0).contains(&row.share) && row.ns.mean_per_warp <= 1000.0, "{row:?}");
    }
}

#[test]
fn sites_of_one_name_are_one_row_unless_rows_are_about_sites() {
    let (mut trace, _) = ten_loads();
    let again = site(&mut trace, SiteKind::Region, "load");
    trace.sites[again.0 as usize].strategy = Some(Strategy::WarpIndex(1));
    region(&mut trace, 1, again, 0, 100.0, 145.0);
    // Values of another unit cannot be added up.
    let other = site(&mut trace, SiteKind::Region, "load");
    trace.sites[other.0 as usize].unit = Some("bytes".to_owned());
    region(&mut trace, 2, other, 0, 100.0, 105.0);
    let rows = |by| {
        let rows = trace.stats_by(by).rows.into_iter().filter(|row| row.name == "load");
        rows.map(|row| (row.sites.len(), row.count, row.warps, row.ns.total)).collect::<Vec<_>>()
    };
    assert_eq!(rows(GroupBy::Name), [(2, 11, 4, 100.0), (1, 1, 4, 5.0)]);
    assert_eq!(rows(GroupBy::Path), rows(GroupBy::Name));
    assert_eq!(rows(GroupBy::Site), [(1, 10, 4, 55.0), (1, 1, 2, 45.0), (1, 1, 4, 5.0)]);
}

#[test]
fn open_regions_are_counted_apart() {
    let (mut trace, load) = ten_loads();
    region(&mut trace, 1, load, 0, 500.0, 0.0);
    last(&mut trace, 1).end = None;
    trace.warps[3].exit = None;
    let stats = trace.stats();
    let load = stats.get("load").expect("a row");
    assert_eq!((load.count, load.open), (10, 1));
    assert_near(load.ns.total, 55.0);
    let kernel = stats.get("gemm").expect("a row");
    assert_eq!((kernel.count, kernel.open), (3, 1));
    assert!(whole(&stats).contains("+ 1 open"), "{stats}");
}

#[test]
fn values_with_a_unit_become_a_rate() {
    let (mut trace, load) = ten_loads();
    trace.sites[load.0 as usize].unit = Some("bytes".to_owned());
    for region in &mut trace.warps[0].regions {
        region.value = Some(Value::Unsigned(110));
    }
    // Neither an open region nor one without a value counts.
    region(&mut trace, 0, load, 0, 500.0, 600.0);
    region(&mut trace, 0, load, 0, 700.0, 0.0);
    last(&mut trace, 0).end = None;
    last(&mut trace, 0).value = Some(Value::Unsigned(1_000_000));
    let stats = trace.stats();
    let throughput = stats.get("load").expect("a row").throughput.clone().expect("values");
    assert_eq!((throughput.unit.as_str(), throughput.total), ("bytes", 1100.0));
    assert_near(throughput.per_second, 1100.0 / 55e-9);
    assert!(whole(&stats).contains("20 GB/s"), "{stats}");
}

#[test]
fn groups_add_up() {
    let (mut trace, load) = ten_loads();
    region(&mut trace, 1, load, 0, 100.0, 140.0);
    region(&mut trace, 3, load, 0, 100.0, 105.0);
    let kernel = SiteIndex(0);
    launch(&mut trace, kernel, [2, 1, 1], 2000.0, 2100.0);
    let later = warp(&mut trace, [1, 0, 0], 0, 2000.0, 2100.0);
    region(&mut trace, later, load, 0, 2000.0, 2050.0);
    for (by, rows) in
        [(GroupBy::Name, 1), (GroupBy::Launch, 2), (GroupBy::Block, 3), (GroupBy::Warp, 4)]
    {
        let stats = trace.stats_by(by);
        let loads: Vec<_> = stats.rows.iter().filter(|row| row.name == "load").collect();
        assert_eq!(loads.len(), rows, "{by:?}");
        assert_eq!(loads.iter().map(|row| row.count).sum::<u64>(), 13);
        assert_near(loads.iter().map(|row| row.ns.total).sum(), 150.0);
    }
    let stats = trace.stats_by(GroupBy::Warp);
    let shares: Vec<f64> =
        stats.rows.iter().filter(|row| row.name == "load").map(|row| row.share).collect();
    for (found, wanted) in shares.iter().zip([0.055, 0.04, 0.005, 0.5]) {
        assert_near(*found, wanted);
    }
    assert!(whole(&stats).contains("gemm, launch 0, block 1, warp 1"), "{stats}");
}

#[test]
fn cycles_are_left_out_where_they_were_not_recorded() {
    let (mut trace, load) = ten_loads();
    trace.warps[1].clock = Clock::GlobalTimer;
    region(&mut trace, 1, load, 0, 100.0, 140.0);
    assert_eq!(trace.stats().get("load").expect("a row").cycles, None);
}

#[test]
fn what_must_be_known_is_printed() {
    let (mut trace, _) = ten_loads();
    trace.device.emulated = true;
    trace.device.name = "emulator".to_owned();
    trace.warps[2].lost = 90;
    trace.diagnostics.add(said(DiagnosticKind::BufferTooSmall, 90, 512));
    let text = whole(&trace.stats());
    assert!(text.starts_with("emulator: these are not GPU times"), "{text}");
    assert!(text.contains("LOST 90 of 100 records"), "{text}");
    assert!(text.contains(".records_per_warp(512)"), "{text}");
}

#[test]
fn the_table_stays_a_table() {
    let (mut trace, load) = ten_loads();
    trace.sites[load.0 as usize].name = format!("two\nlines {}", "long ".repeat(1000));
    let text = whole(&trace.stats());
    assert!(text.lines().all(|line| line.chars().count() < 260), "{text}");
    assert!(text.contains("two lines long"), "{text}");
    // A trace without anything has no table and no trouble.
    assert!(whole(&gpu().stats()).contains("no kernel was recorded"));
    let mut zero = gpu();
    let kernel = site(&mut zero, SiteKind::Kernel, "empty");
    launch(&mut zero, kernel, [1, 1, 1], 5.0, 5.0);
    let only = warp(&mut zero, [0, 0, 0], 0, 5.0, 5.0);
    region(&mut zero, only, kernel, 0, 5.0, 5.0);
    zero.warps[only].exit = Some(time(5.0));
    assert_eq!(zero.stats().rows[0].share, 0.0);
}

#[test]
fn marks_are_counted_by_name_and_their_values_summed_up() {
    let (mut trace, _) = ten_loads();
    let retries = site(&mut trace, SiteKind::Mark, "retries");
    trace.sites[retries.0 as usize].unit = Some("tries".to_owned());
    let flag = site(&mut trace, SiteKind::Mark, "flag");
    let signal = site(&mut trace, SiteKind::Signal, "full");
    for value in 1..=100 {
        mark(&mut trace, (value % 4) as usize, retries, value as f64, value);
    }
    for at in 0..3 {
        mark(&mut trace, 1, flag, f64::from(at), 0);
        trace.warps[1].marks.last_mut().expect("just set").value = None;
    }
    mark(&mut trace, 1, signal, 5.0, 7);
    let stats = trace.stats();
    let [values, plain] = &stats.marks[..] else { panic!("{:?}", stats.marks) };
    assert_eq!((values.name.as_str(), values.count, values.valued), ("retries", 100, 100));
    let of = values.values.expect("values");
    assert_eq!(
        (of.total, of.mean, of.min, of.p50, of.p99, of.max),
        (5050.0, 50.5, 1.0, 50.0, 99.0, 100.0)
    );
    assert_eq!((plain.name.as_str(), plain.count, plain.values), ("flag", 3, None));
    // Filters are those of the regions.
    let some = StatsQuery::new().by(GroupBy::Warp).name("r*").window_ns(0.0..50.0);
    let some = trace.stats_of(&some);
    assert_eq!(some.marks.iter().map(|mark| mark.count).sum::<u64>(), 49);
    assert_eq!(some.marks.len(), 4);
    let json = json(|bytes| stats.write_json_to(bytes));
    assert_eq!(json["marks"][0]["sum"], 5050.0);
    assert_eq!(json["marks"][0]["unit"], "tries");
    assert_eq!(json["marks"][1]["count"], 3);
    assert!(json["marks"][1]["mean"].is_null());
}
