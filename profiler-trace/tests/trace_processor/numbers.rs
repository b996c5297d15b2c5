//! The numbers of a native timeline: counters, and SQL against the statistics.
#![allow(clippy::print_stdout, reason = "what was measured is for who runs it")]

use libtest_mimic::Failed;
use profiler_trace::synthetic::{Content, sized};
use profiler_trace::{ExportOptions, Trace, decode};
use profiler_trace_check::Rows;
use serde_json::json;

use crate::perfetto::{ask, ask_with, one_warp};
use crate::support::{last, region, warp};
use crate::{Context, Format, Test};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("numbers::counters_of_warps_and_regions", counters_of_warps_and_regions),
    ("numbers::small_at_any_size", small_at_any_size),
    ("numbers::sql_says_what_statistics_say", sql_says_what_statistics_say),
];

/// Tests that take minutes and gigabytes, and run where they are asked for: `-- --ignored large`.
pub(crate) const LARGE: &[(&str, Test)] =
    &[("numbers::large::sql_at_ten_million_regions", sql_at_ten_million_regions)];

fn counters_of_warps_and_regions(context: &Context) -> Result<(), Failed> {
    let (mut trace, [_, load, math], first) = one_warp();
    // On SMs 0, 1 and 0; the launch lasts from 100 to 1100.
    let second = warp(&mut trace, [1, 0, 0], 0, 200.0, 500.0);
    let third = warp(&mut trace, [4, 0, 0], 0, 500.0, 1100.0);
    for warp in [first, second] {
        region(&mut trace, warp, load, 0, 300.0, 400.0);
    }
    region(&mut trace, third, math, 0, 600.0, 0.0);
    last(&mut trace, third).end = None;
    let values = "SELECT t.name, c.ts, c.value, extract_arg(t.source_arg_set_id, 'unit') \
        FROM counter c JOIN counter_track t ON t.id = c.track_id \
        WHERE t.name GLOB 'SM *' ORDER BY t.name, c.ts";
    // The integral of the counter is the time in the region, here of two warps that overlap.
    let area = "WITH steps AS (SELECT t.name AS name, c.value AS value, c.ts AS ts, \
        lead(c.ts) OVER (PARTITION BY t.id ORDER BY c.ts) - c.ts AS dur \
        FROM counter c JOIN counter_track t ON t.id = c.track_id WHERE t.name NOT GLOB 'SM *') \
        SELECT name, max(value), min(value), CAST(round(sum(value * dur) / 10.0) AS INT) * 10 \
        FROM steps GROUP BY name ORDER BY name";
    let names = "SELECT p.name, count(*) FROM track p JOIN track t ON t.parent_id = p.id \
        WHERE p.name GLOB 'active *' GROUP BY p.name ORDER BY p.name";
    let answers = ask(context, &trace, &[values, area, names])?;
    let unit = |row: &str| row.rsplit_once('|').map(|(values, _)| values.to_owned());
    let seen: Vec<_> = answers[0].iter().filter_map(|row| unit(row)).collect();
    let expected = ["SM 0|100|1", "SM 0|500|2", "SM 0|1100|0", "SM 1|200|1", "SM 1|500|0"];
    assert_eq!(seen, expected);
    assert_eq!(answers[1], ["load|2|0|200", "mma|1|0|500"]);
    assert_eq!(answers[2], ["active regions|2", "active warps|2"]);
    let options = ExportOptions { counters: false, ..ExportOptions::default() };
    let answers = ask_with(context, &trace, &options, &["SELECT count(*) FROM counter"])?;
    assert_eq!(answers[0], ["0"]);
    Ok(())
}

/// Count, sum, least, most and median (by nearest rank) of the durations of each name.
const BY_NAME: &str = "WITH ranked AS (SELECT s.name AS name, s.dur AS dur, \
    row_number() OVER (PARTITION BY s.name ORDER BY s.dur) AS place, \
    count(*) OVER (PARTITION BY s.name) AS n FROM slice s JOIN track t ON t.id = s.track_id \
    WHERE t.name != 'about this trace') \
    SELECT name, n, sum(dur), min(dur), max(dur), \
    max(CASE WHEN place = (n + 1) / 2 THEN dur END) FROM ranked GROUP BY name ORDER BY name";

fn made_up(regions: u64) -> Result<profiler_trace::Capture, Failed> {
    Ok(sized(regions, Content::Regions).map_err(|error| error.to_string())?)
}

/// The bytes of a slice, counters and all, and that nothing is lost for it.
fn small_at_any_size(context: &Context) -> Result<(), Failed> {
    for regions in [10_000, 200_000] {
        let trace = decode(&made_up(regions)?);
        for (gzip, most) in [(false, 28.0), (true, 8.0)] {
            let options = ExportOptions { gzip, ..ExportOptions::default() };
            let (path, bytes) = context.write(&trace, &options, Format::Perfetto)?;
            let each = bytes.len() as f64 / regions as f64;
            assert!(each <= most, "{each} bytes a slice, {regions} of them, gzip: {gzip}");
            if regions == 10_000 {
                let summary = context.processor.check(&path)?;
                let warps = trace.warps.len() as u64;
                assert_eq!((summary.slices, summary.unfinished), (regions + warps + 4, 0));
            }
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// The timeline has whole nanoseconds of both ends of a slice, so that a duration may be one off, and
/// a sum is that of the rounded ends.
fn sql_says_what_statistics_say(context: &Context) -> Result<(), Failed> {
    compare(context, 100_000)
}

fn sql_at_ten_million_regions(context: &Context) -> Result<(), Failed> {
    compare(context, 10_000_000)
}

fn compare(context: &Context, regions: u64) -> Result<(), Failed> {
    let trace = decode(&made_up(regions)?);
    for (gzip, most) in [(false, 28.0), (true, 8.0)] {
        let options = ExportOptions { gzip, ..ExportOptions::default() };
        let (path, bytes) = context
            .write(&trace, &options, Format::Perfetto)
            .map(|(path, bytes)| (path, bytes.len()))?;
        let answers = context.processor.query_with_cost(&path, &[BY_NAME]);
        std::fs::remove_file(&path)?;
        let (answers, cost) = answers?;
        println!(
            "{}",
            json!({
                "kind": "trace processor", "regions": regions, "gzip": gzip, "bytes": bytes,
                "load_seconds": cost.loading.elapsed.as_secs_f64(),
                "load_processor_seconds": cost.loading.processor.as_secs_f64(),
                "query_seconds": cost.answering.elapsed.as_secs_f64(),
                "query_processor_seconds": cost.answering.processor.as_secs_f64(),
                "peak_bytes": cost.peak_bytes,
            })
        );
        let each = bytes as f64 / regions as f64;
        assert!(each <= most, "{each} bytes a slice, gzip: {gzip}");
        agrees(&trace, &answers[0])?;
    }
    Ok(())
}

/// What SQL says of each name is what the statistics say.
fn agrees(trace: &Trace, answer: &Rows) -> Result<(), Failed> {
    let stats = trace.stats();
    let names = answer.texts(0);
    assert_eq!(names.len(), 7, "{names:?}");
    for (at, name) in names.iter().enumerate() {
        let row = stats.get(name).ok_or("a region that no statistics know")?;
        let number = |column: usize| answer.integers(column)[at] as f64;
        assert_eq!(number(1), row.count as f64, "{name}");
        for (column, ns) in [(3, row.ns.min), (4, row.ns.max), (5, row.ns.p50)] {
            assert!((number(column) - ns).abs() <= 1.0, "{name}: {} and {ns}", number(column));
        }
        let rounded: f64 = trace
            .warps
            .iter()
            .flat_map(|warp| {
                let regions = warp.regions.iter();
                let own = (trace.site(trace.launches[warp.launch].kernel).name == *name)
                    .then(|| warp.exit.map_or(0.0, |exit| exit.ns.round()) - warp.entry.ns.round());
                let regions = regions.filter(|region| trace.site(region.site).name == *name);
                regions
                    .map(|region| {
                        region.end.map_or(0.0, |end| end.ns.round()) - region.start.ns.round()
                    })
                    .chain(own)
            })
            .sum();
        assert_eq!(number(2), rounded, "{name}");
        assert!((number(2) / row.ns.total - 1.0).abs() < 1e-3, "{name}");
        println!(
            "{}",
            json!({
                "kind": "name", "name": name,
                "sql": {
                    "count": number(1), "total_ns": number(2), "min_ns": number(3),
                    "max_ns": number(4), "p50_ns": number(5),
                },
                "statistics": {
                    "count": row.count, "total_ns": row.ns.total, "min_ns": row.ns.min,
                    "max_ns": row.ns.max, "p50_ns": row.ns.p50,
                },
            })
        );
    }
    Ok(())
}
