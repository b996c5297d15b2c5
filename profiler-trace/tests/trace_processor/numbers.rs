//! The numbers of a native timeline: counters, and SQL against the statistics.
#![allow(clippy::print_stdout, reason = "what was measured is for who runs it")]

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use libtest_mimic::Failed;
use profiler_test_tools::quick_or_all;
use profiler_test_tools::synthetic::{Content, sized};
use profiler_test_tools::trace_processor::Rows;
use profiler_trace::{ExportOptions, SiteStats, Time, Trace, decode};
use serde_json::json;

use crate::perfetto::{ask, ask_with, one_warp};
use crate::support::warp;
use crate::{Context, Format, Test};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("numbers::counters_of_warps", counters_of_warps),
    ("numbers::small_at_any_size", small_at_any_size),
    ("numbers::sql_says_what_statistics_say", sql_says_what_statistics_say),
];

/// Tests that take minutes and gigabytes, and run where they are asked for: `-- --ignored large`.
pub(crate) const LARGE: &[(&str, Test)] =
    &[("numbers::large::sql_at_ten_million_regions", sql_at_ten_million_regions)];

fn counters_of_warps(context: &Context) -> Result<(), Failed> {
    let (mut trace, ..) = one_warp();
    // On SMs 0, 1 and 0; the launch lasts from 100 to 1100.
    warp(&mut trace, [1, 0, 0], 0, 200.0, 500.0);
    warp(&mut trace, [4, 0, 0], 0, 500.0, 1100.0);
    let values = "SELECT t.name, c.ts, c.value, extract_arg(t.source_arg_set_id, 'unit') \
        FROM counter c JOIN counter_track t ON t.id = c.track_id \
        WHERE t.name GLOB 'SM *' ORDER BY t.name, c.ts";
    let names = "SELECT p.name, count(*) FROM track p JOIN track t ON t.parent_id = p.id \
        WHERE p.name GLOB 'active *' GROUP BY p.name ORDER BY p.name";
    let answers = ask(context, &trace, &[values, names])?;
    let unit = |row: &str| row.rsplit_once('|').map(|(values, _)| values.to_owned());
    let seen: Vec<_> = answers[0].iter().filter_map(|row| unit(row)).collect();
    let expected = ["SM 0|100|1", "SM 0|500|2", "SM 0|1100|0", "SM 1|200|1", "SM 1|500|0"];
    assert_eq!(seen, expected);
    assert_eq!(answers[1], ["active warps|2"]);
    let options = ExportOptions { counters: false, ..ExportOptions::default() };
    let answers = ask_with(context, &trace, &options, &["SELECT count(*) FROM counter"])?;
    assert_eq!(answers[0], ["0"]);
    Ok(())
}

/// Count, sum, least, most and three percentiles of the durations of each name. The percentiles are by
/// nearest rank, in whole numbers, as those of the statistics.
const BY_NAME: &str = "WITH ranked AS (SELECT s.name AS name, s.dur AS dur, \
    row_number() OVER (PARTITION BY s.name ORDER BY s.dur) AS place, \
    count(*) OVER (PARTITION BY s.name) AS n FROM slice s JOIN track t ON t.id = s.track_id \
    WHERE t.name != 'about this trace') \
    SELECT name, n, sum(dur), min(dur), max(dur), \
    max(CASE WHEN place = (n * 50 + 99) / 100 THEN dur END), \
    max(CASE WHEN place = (n * 95 + 99) / 100 THEN dur END), \
    max(CASE WHEN place = (n * 99 + 99) / 100 THEN dur END) FROM ranked GROUP BY name ORDER BY name";

/// The same figures of the statistics.
fn figures(row: &SiteStats) -> [f64; 7] {
    let ns = row.ns;
    [row.count as f64, ns.total, ns.min, ns.max, ns.p50, ns.p95, ns.p99]
}

pub(crate) fn made_up(regions: u64, content: Content) -> Result<profiler_trace::Capture, Failed> {
    Ok(sized(regions, content).map_err(|error| error.to_string())?)
}

/// A file of a timeline, compressed as `profiler export --gzip` does if so, and its bytes.
fn write(context: &Context, trace: &Trace, gzip: bool) -> Result<(PathBuf, Vec<u8>), Failed> {
    let (path, bytes) = context.write(trace, &ExportOptions::default(), Format::Perfetto)?;
    if !gzip {
        return Ok((path, bytes));
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(3));
    encoder.write_all(&bytes)?;
    let bytes = encoder.finish()?;
    std::fs::write(&path, &bytes)?;
    Ok((path, bytes))
}

/// The bytes of a slice, counters and all. Values cannot be had for 28 bytes a slice, but after gzip for 8:
/// where one slice in ten has one, and where each region has one of its own.
fn small_at_any_size(context: &Context) -> Result<(), Failed> {
    for (records, (content, gzip, most)) in
        [10_000, quick_or_all(50_000, 200_000)].into_iter().flat_map(|records| {
            let contents = [
                (Content::Regions, false, 28.0),
                (Content::Regions, true, 8.0),
                (Content::Mixed, true, 8.0),
                (Content::HeldValues, true, 8.0),
            ];
            contents.map(|content| (records, content))
        })
    {
        let trace = decode(&made_up(records, content)?);
        let (path, bytes) = write(context, &trace, gzip)?;
        let slices = trace.warps.iter().map(|warp| 1 + warp.regions.len() + warp.marks.len());
        let slices = slices.sum::<usize>() as u64;
        let each = bytes.len() as f64 / slices as f64;
        assert!(each <= most, "{each} bytes a slice, {records} of {content:?}, gzip: {gzip}");
        if (records, content) == (10_000, Content::Regions) {
            // Four slices tell about the trace, and one about the launch.
            let summary = context.processor.check(&path)?;
            assert_eq!((summary.slices, summary.unfinished), (slices + 5, 0));
            assert_eq!((summary.tracks, summary.processes), (trace.warps.len() as u64 + 1, 1));
        }
        std::fs::remove_file(&path)?;
    }
    Ok(())
}

/// The timeline has whole nanoseconds of both ends of a slice, so that a duration may be one off.
fn sql_says_what_statistics_say(context: &Context) -> Result<(), Failed> {
    compare(context, 100_000)
}

fn sql_at_ten_million_regions(context: &Context) -> Result<(), Failed> {
    compare(context, 10_000_000)
}

fn compare(context: &Context, regions: u64) -> Result<(), Failed> {
    let trace = decode(&made_up(regions, Content::Regions)?);
    for gzip in [false, true] {
        agrees(&trace, &measured(context, &trace, gzip)?)?;
    }
    Ok(())
}

/// Has the trace processor load a trace and answer [`BY_NAME`], and prints what that took.
fn measured(context: &Context, trace: &Trace, gzip: bool) -> Result<Rows, Failed> {
    let (path, bytes) = write(context, trace, gzip).map(|(path, bytes)| (path, bytes.len()))?;
    let answers = context.processor.query_with_cost(&path, &[BY_NAME]);
    std::fs::remove_file(&path)?;
    let (mut answers, cost) = answers?;
    let regions: usize = trace.warps.iter().map(|warp| warp.regions.len()).sum();
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
    Ok(answers.remove(0))
}

/// A trace with the times that its timeline shows.
fn as_shown(trace: &Trace) -> Trace {
    let mut shown = trace.clone();
    let round = |time: &mut Time| time.ns = time.ns.round();
    for warp in &mut shown.warps {
        round(&mut warp.entry);
        warp.exit.iter_mut().for_each(round);
        for region in &mut warp.regions {
            round(&mut region.start);
            region.end.iter_mut().for_each(round);
        }
    }
    shown
}

/// What SQL says of each name is what the statistics say of the times that are shown, with no tolerance.
pub(crate) fn agrees(trace: &Trace, answer: &Rows) -> Result<(), Failed> {
    let stats = as_shown(trace).stats();
    let names = answer.texts(0);
    assert_eq!(names.len(), stats.rows.len(), "{names:?}");
    for (at, name) in names.iter().enumerate() {
        let of_shown = figures(stats.get(name).ok_or("a region that no statistics know")?);
        for (column, figure) in (1..answer.columns.len()).zip(of_shown) {
            assert_eq!(answer.integers(column)[at] as f64, figure, "{name}, column {column}");
        }
    }
    Ok(())
}
