//! The queries of docs/parquet.md, against the trace's own statistics.

use std::collections::HashMap;

use libtest_mimic::Failed;
use profiler_trace::{GroupBy, MarkIndex, SiteStats, StatsPlace, Trace};
use serde_json::Value as Json;

use crate::Test;
use crate::reader::{Reader, Table, number};
use crate::support::{many_regions, zoo};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("regions_have_the_statistics_figures", regions),
    ("blocks_have_the_statistics_figures", imbalance),
    ("values_have_the_statistics_figures", throughput),
    ("waits_follow_their_signals", waits),
    ("own_times_add_up", own_time),
    ("metadata_is_found_by_sql", metadata),
    ("many_captures_are_read_at_once", many_captures),
    ("every_query_of_the_page_is_run", every_query_is_run),
];

const PAGE: &str = include_str!("../../../docs/parquet.md");

/// A query of the page.
fn query(name: &str) -> &'static str {
    let mark = format!("<!-- query: {name} -->\n```sql\n");
    let (_, rest) = PAGE.split_once(&mark).unwrap_or_else(|| panic!("no query {name}"));
    rest.split_once("```").expect("the block has an end").0
}

fn every_query_is_run(_: &Reader) -> Result<(), Failed> {
    let used = ["regions", "imbalance", "throughput", "waits", "own-time", "metadata"];
    assert_eq!(PAGE.matches("```sql").count(), used.len());
    for name in used {
        assert!(query(name).contains("trace.parquet"));
    }
    Ok(())
}

/// Sums may be formed in another order, and differ by what rounding leaves: far less than the
/// nanosecond.
#[track_caller]
fn assert_equal(found: f64, wanted: f64, unit_in_the_last_place: f64) {
    let tolerance = unit_in_the_last_place * wanted.abs().max(1.0);
    assert!((found - wanted).abs() <= tolerance, "{found} is not {wanted}");
}

/// Sums of nanoseconds: the same to a millionth of one.
#[track_caller]
fn assert_ns(found: &Json, wanted: f64) {
    assert!((number(found) - wanted).abs() < 1e-6, "{found} is not {wanted}");
}

fn text<'a>(table: &'a Table, row: usize, column: &str) -> &'a str {
    table.get(row, column).as_str().unwrap_or_else(|| panic!("{column} is no text"))
}

fn regions(reader: &Reader) -> Result<(), Failed> {
    for trace in [zoo(), many_regions(30_000)] {
        let found = reader.query(&trace, query("regions"))?;
        let stats = trace.stats_by(GroupBy::Site);
        assert_eq!(found.rows.len(), stats.rows.len());
        for row in 0..found.rows.len() {
            let name = (text(&found, row, "kernel"), text(&found, row, "name"));
            let place = (text(&found, row, "file"), found.get(row, "line").as_u64());
            let is_same = |stats: &&SiteStats| {
                let site = trace.site(stats.site);
                let kernel = trace.site(stats.kernel).name.as_str();
                (kernel, site.name.as_str()) == name
                    && (site.file.as_str(), Some(site.line.into())) == place
            };
            let stats = stats.rows.iter().find(is_same).expect("the statistics have the row");
            assert_eq!(*found.get(row, "count"), stats.count);
            assert_eq!(*found.get(row, "open"), stats.open);
            if stats.count == 0 {
                assert!(found.get(row, "total_ns").is_null());
                continue;
            }
            assert_ns(found.get(row, "total_ns"), stats.ns.total);
            assert_ns(found.get(row, "mean_ns"), stats.ns.mean);
            // These are durations themselves: the same to the bit.
            assert_eq!(number(found.get(row, "p50_ns")), stats.ns.p50, "{name:?}");
            assert_eq!(number(found.get(row, "p99_ns")), stats.ns.p99, "{name:?}");
            assert_eq!(number(found.get(row, "max_ns")), stats.ns.max, "{name:?}");
            let of_warps = stats.ns.mean_per_warp * stats.warps as f64;
            assert_equal(number(found.get(row, "time_of_warps_ns")), of_warps, 1e-9);
        }
    }
    Ok(())
}

fn imbalance(reader: &Reader) -> Result<(), Failed> {
    for trace in [zoo(), many_regions(30_000)] {
        let found = reader.query(&trace, query("imbalance"))?;
        let stats = trace.stats_by(GroupBy::Block);
        // Of each launch and region, its blocks.
        let mut groups: HashMap<_, Vec<&SiteStats>> = HashMap::new();
        for row in stats.rows.iter().filter(|row| row.count > 0 && row.site != row.kernel) {
            groups.entry((row.place.launch, row.site)).or_default().push(row);
        }
        assert_eq!(found.rows.len(), groups.len());
        let mut seen: Vec<(u64, String, f64)> = Vec::new();
        for row in 0..found.rows.len() {
            let launch = found.get(row, "launch").as_u64().expect("a number");
            let worst: [u32; 3] = serde_json::from_value(found.get(row, "worst_block").clone())?;
            let worst_ns = number(found.get(row, "worst_ns"));
            let is_same = |blocks: &&Vec<&SiteStats>| {
                let StatsPlace { launch: of, .. } = blocks[0].place;
                of == Some(launch as usize)
                    && blocks[0].name == text(&found, row, "name")
                    && blocks.iter().any(|block| {
                        block.place.block == Some(worst) && (block.ns.total - worst_ns).abs() < 1e-6
                    })
            };
            let blocks = groups.values().find(is_same).expect("the statistics have the row");
            let largest = blocks.iter().map(|block| block.ns.total).fold(0.0, f64::max);
            let mean = blocks.iter().map(|block| block.ns.total).sum::<f64>() / blocks.len() as f64;
            assert_eq!(*found.get(row, "blocks"), blocks.len());
            assert_ns(found.get(row, "worst_ns"), largest);
            assert_ns(found.get(row, "mean_ns"), mean);
            match found.get(row, "worst_by_mean") {
                Json::Null => assert_eq!(mean, 0.0),
                by_mean => assert_equal(number(by_mean), largest / mean, 1e-12),
            }
            let sm = trace.warps.iter().find(|warp| warp.block == worst).map(|warp| warp.sm);
            assert_eq!(*found.get(row, "worst_sm"), sm.expect("the block ran"));
            seen.push((launch, text(&found, row, "name").to_owned(), worst_ns));
        }
        let rows = seen.len();
        seen.sort_by(|left, right| left.partial_cmp(right).expect("numbers"));
        seen.dedup();
        assert_eq!(seen.len(), rows, "a row stands twice");
    }
    Ok(())
}

fn throughput(reader: &Reader) -> Result<(), Failed> {
    let trace = zoo();
    let found = reader.query(&trace, query("throughput"))?;
    let stats = trace.stats();
    let flowing: Vec<_> =
        stats.rows.iter().filter_map(|row| Some((row, row.throughput.as_ref()?))).collect();
    assert_eq!(found.rows.len(), flowing.len());
    assert!(!flowing.is_empty());
    for row in 0..found.rows.len() {
        let key = (text(&found, row, "kernel"), text(&found, row, "name"));
        let (_, wanted) = flowing
            .iter()
            .find(|(row, _)| (trace.site(row.kernel).name.as_str(), row.name.as_str()) == key)
            .expect("the statistics have the row");
        assert_eq!(text(&found, row, "unit"), wanted.unit);
        assert_equal(number(found.get(row, "total")), wanted.total, 1e-12);
        assert_equal(number(found.get(row, "per_second")), wanted.per_second, 1e-12);
    }
    Ok(())
}

fn waits(reader: &Reader) -> Result<(), Failed> {
    let trace = zoo();
    let found = reader.query(&trace, query("waits"))?;
    let at = |MarkIndex { warp, mark }| {
        let warp = &trace.warps[warp];
        (warp.sm, warp.marks[mark].time.ns)
    };
    let mut rows = 0;
    for same_sm in [false, true] {
        let pairs = trace.edges.iter().map(|edge| (at(edge.from), at(edge.to)));
        let times: Vec<f64> = pairs
            .filter(|(from, to)| (from.0 == to.0) == same_sm)
            .map(|(from, to)| to.1 - from.1)
            .collect();
        if times.is_empty() {
            continue;
        }
        assert_eq!(text(&found, rows, "name"), "full");
        assert_eq!(*found.get(rows, "same_sm"), same_sm);
        assert_eq!(*found.get(rows, "count"), times.len());
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert_ns(found.get(rows, "mean_ns"), mean);
        let longest = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(number(found.get(rows, "max_ns")), longest);
        rows += 1;
    }
    assert!(rows > 0);
    assert_eq!(found.rows.len(), rows);
    Ok(())
}

/// Where everything ends and nests, own times add up to the kernel's time.
fn own_time(reader: &Reader) -> Result<(), Failed> {
    let trace: Trace = many_regions(30_000);
    let found = reader.query(&trace, query("own-time"))?;
    let own: f64 = (0..found.rows.len()).map(|row| number(found.get(row, "own_ns"))).sum();
    let stats = trace.stats();
    let total = |name: &str| stats.get(name).expect("a row").ns.total;
    assert_equal(own, total("kernel"), 1e-12);
    let tile = (0..found.rows.len())
        .find(|&row| text(&found, row, "path") == "kernel/tile")
        .expect("the path is there");
    assert_ns(found.get(tile, "total_ns"), total("tile"));
    let parts: f64 = ["load", "wait", "multiply", "reduce", "store"].map(total).into_iter().sum();
    assert_ns(found.get(tile, "own_ns"), total("tile") - parts);
    Ok(())
}

fn metadata(reader: &Reader) -> Result<(), Failed> {
    let trace = zoo();
    let found = reader.query(&trace, query("metadata"))?;
    let lost = (0..found.rows.len())
        .find(|&row| text(&found, row, "key") == "profiler.lost")
        .expect("the key is there");
    assert!(trace.lost() > 0);
    assert_eq!(text(&found, lost, "value"), trace.lost().to_string());
    Ok(())
}

/// What the page says to write in place of the file where there are many captures.
const MANY: &str = "read_parquet('captures/*.parquet', filename = true)";

/// Which capture a row is of, by the name of its file.
fn capture_of(table: &Table, row: usize) -> usize {
    let file = text(table, row, "filename");
    let number = file.strip_prefix("captures/").and_then(|file| file.strip_suffix(".parquet"));
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{file} is no capture"))
}

fn many_captures(reader: &Reader) -> Result<(), Failed> {
    assert!(PAGE.contains(&format!("write `{MANY}` instead of the file, and group and join by")));
    let mut shorter = zoo();
    shorter.warps.last_mut().expect("the zoo has warps").regions.clear();
    // Of the same kernels and sites, so that only the files tell two of them apart.
    let traces = [zoo(), many_regions(3000), shorter];
    let count = |trace: &Trace| -> usize {
        trace.warps.iter().map(|warp| 1 + warp.regions.len() + warp.marks.len()).sum()
    };
    assert_ne!(count(&traces[0]), count(&traces[2]));
    let all = "SELECT count(*) AS rows FROM 'captures/*.parquet'";
    let found = reader.query_all(&traces, all)?;
    assert_eq!(*found.get(0, "rows"), traces.iter().map(count).sum::<usize>());
    let each = format!("SELECT filename, count(*) AS rows FROM {MANY} GROUP BY filename");
    let found = reader.query_all(&traces, &each)?;
    assert_eq!(found.rows.len(), traces.len());
    for row in 0..found.rows.len() {
        assert_eq!(*found.get(row, "rows"), count(&traces[capture_of(&found, row)]));
    }
    // The page's own queries, so changed, say of each file what they say of it alone.
    let each = query("regions")
        .replace("'trace.parquet'", MANY)
        .replace("SELECT kernel", "SELECT filename, kernel")
        .replace("PARTITION BY ", "PARTITION BY filename, ")
        .replace("GROUP BY ", "GROUP BY filename, ");
    same_as_alone(reader, &traces, query("regions"), &each)?;
    let each = query("waits")
        .replace("'trace.parquet'", MANY)
        .replace("SELECT ", "SELECT waits.filename, ")
        .replace("signals.event", "signals.event AND waits.filename = signals.filename")
        .replace("GROUP BY ", "GROUP BY waits.filename, ");
    same_as_alone(reader, &traces, query("waits"), &each)
}

/// What a query says of files one by one is, but for the file's name, what another says of all.
fn same_as_alone(reader: &Reader, traces: &[Trace], one: &str, all: &str) -> Result<(), Failed> {
    let all = reader.query_all(traces, all)?;
    let mut of_files = vec![Vec::new(); traces.len()];
    for row in 0..all.rows.len() {
        of_files[capture_of(&all, row)].push(all.rows[row][1..].to_vec());
    }
    // Rows of which the times are the same may come in any order.
    let key = |row: &Vec<Json>| {
        let cells = row.iter().filter(|cell| !cell.is_object());
        cells.map(Json::to_string).collect::<Vec<_>>()
    };
    for (trace, mut found) in traces.iter().zip(of_files) {
        let mut alone = reader.query(trace, one)?;
        assert_eq!(all.columns[1..], alone.columns);
        assert_eq!(found.len(), alone.rows.len());
        found.sort_by_key(key);
        alone.rows.sort_by_key(key);
        for (found, wanted) in found.iter().flatten().zip(alone.rows.iter().flatten()) {
            match wanted.is_object() {
                true => assert_ns(found, number(wanted)),
                false => assert_eq!(found, wanted),
            }
        }
    }
    Ok(())
}
