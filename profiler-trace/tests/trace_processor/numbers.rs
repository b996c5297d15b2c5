//! The numbers of a native timeline: counters, and SQL against the statistics.
#![allow(clippy::print_stdout, reason = "what was measured is for who runs it")]

use libtest_mimic::Failed;
use profiler_test_tools::synthetic::{Content, Keep, SyntheticModule, SyntheticWarp, sized};
use profiler_test_tools::trace_processor::Rows;
use profiler_trace::{ExportOptions, SiteStats, Time, Trace, Value, decode};
use profiler_wire::SiteKind;
use profiler_wire::header::Clock;
use serde_json::{Map, Value as Json, json};

use crate::perfetto::{ask, ask_with, one_warp};
use crate::support::{last, region, warp};
use crate::{Context, Format, Test};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("numbers::counters_of_warps_and_regions", counters_of_warps_and_regions),
    ("numbers::small_at_any_size", small_at_any_size),
    ("numbers::small_with_values", small_with_values),
    ("numbers::sql_says_what_statistics_say", sql_says_what_statistics_say),
    ("numbers::sql_says_the_same_nanoseconds", sql_says_the_same_nanoseconds),
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

/// What [`BY_NAME`] says of a name.
const FIGURES: [&str; 7] = ["count", "total_ns", "min_ns", "max_ns", "p50_ns", "p95_ns", "p99_ns"];

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
fn figures(row: &SiteStats) -> [f64; FIGURES.len()] {
    let ns = row.ns;
    [row.count as f64, ns.total, ns.min, ns.max, ns.p50, ns.p95, ns.p99]
}

fn made_up(regions: u64, content: Content) -> Result<profiler_trace::Capture, Failed> {
    Ok(sized(regions, content).map_err(|error| error.to_string())?)
}

/// The bytes of a slice, counters and all, and that nothing is lost for it.
fn small_at_any_size(context: &Context) -> Result<(), Failed> {
    for regions in [10_000, 200_000] {
        let trace = decode(&made_up(regions, Content::Regions)?);
        for (gzip, most) in [(false, 28.0), (true, 8.0)] {
            let options = ExportOptions { gzip, ..ExportOptions::default() };
            let (path, bytes) = context.write(&trace, &options, Format::Perfetto)?;
            let each = bytes.len() as f64 / regions as f64;
            assert!(each <= most, "{each} bytes a slice, {regions} of them, gzip: {gzip}");
            if regions == 10_000 {
                let summary = context.processor.check(&path)?;
                let warps = trace.warps.len() as u64;
                assert_eq!((summary.slices, summary.unfinished), (regions + warps + 5, 0));
            }
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Values cannot be had for 28 bytes a slice, but after gzip for 8: where one slice in ten has one, and
/// where each region has one of its own.
fn small_with_values(context: &Context) -> Result<(), Failed> {
    for records in [10_000, 200_000] {
        let mixed = decode(&made_up(records, Content::Mixed)?);
        let mut valued = decode(&made_up(records, Content::Regions)?);
        let mut numbers = Numbers(records);
        for region in valued.warps.iter_mut().flat_map(|warp| &mut warp.regions) {
            region.value = Some(Value::Unsigned(16 * numbers.below(1024)));
        }
        for (content, trace) in [("mixed", mixed), ("valued", valued)] {
            let options = ExportOptions { gzip: true, ..ExportOptions::default() };
            let (path, bytes) = context.write(&trace, &options, Format::Perfetto)?;
            std::fs::remove_file(&path)?;
            let slices = trace.warps.iter().map(|warp| 1 + warp.regions.len() + warp.marks.len());
            let each = bytes.len() as f64 / slices.sum::<usize>() as f64;
            assert!(each <= 8.0, "{each} bytes a slice, {records} of them, {content}");
        }
    }
    Ok(())
}

/// The timeline has whole nanoseconds of both ends of a slice, so that a duration may be one off.
fn sql_says_what_statistics_say(context: &Context) -> Result<(), Failed> {
    compare(context, 100_000)
}

fn sql_at_ten_million_regions(context: &Context) -> Result<(), Failed> {
    compare(context, 10_000_000)?;
    let trace = whole_nanoseconds(Clock::GlobalTimer, 10_000_000)?;
    let answer = measured(context, &trace, "whole nanoseconds", false)?;
    print_rows(&trace, &answer)?;
    agrees_to_the_nanosecond(&trace, &answer)
}

fn compare(context: &Context, regions: u64) -> Result<(), Failed> {
    let trace = decode(&made_up(regions, Content::Regions)?);
    for gzip in [false, true] {
        let answer = measured(context, &trace, "fractions of nanoseconds", gzip)?;
        print_rows(&trace, &answer)?;
        agrees(&trace, &answer)?;
    }
    Ok(())
}

/// Has the trace processor load a trace and answer [`BY_NAME`], and prints what that took.
fn measured(context: &Context, trace: &Trace, times: &str, gzip: bool) -> Result<Rows, Failed> {
    let options = ExportOptions { gzip, ..ExportOptions::default() };
    let (path, bytes) = context
        .write(trace, &options, Format::Perfetto)
        .map(|(path, bytes)| (path, bytes.len()))?;
    let answers = context.processor.query_with_cost(&path, &[BY_NAME]);
    std::fs::remove_file(&path)?;
    let (mut answers, cost) = answers?;
    let regions: usize = trace.warps.iter().map(|warp| warp.regions.len()).sum();
    println!(
        "{}",
        json!({
            "kind": "trace processor", "regions": regions, "times": times, "gzip": gzip, "bytes": bytes,
            "load_seconds": cost.loading.elapsed.as_secs_f64(),
            "load_processor_seconds": cost.loading.processor.as_secs_f64(),
            "query_seconds": cost.answering.elapsed.as_secs_f64(),
            "query_processor_seconds": cost.answering.processor.as_secs_f64(),
            "peak_bytes": cost.peak_bytes,
        })
    );
    let (each, most) = (bytes as f64 / regions as f64, if gzip { 8.0 } else { 28.0 });
    assert!(each <= most, "{each} bytes a slice, gzip: {gzip}");
    Ok(answers.remove(0))
}

/// A simple generator of random numbers (D. E. Knuth's multiplier and increment).
struct Numbers(u64);

impl Numbers {
    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Names of what [`whole_nanoseconds`] records: the kernel, and a region around two others.
pub(crate) const NAMES: [&str; 4] = ["kernel", "tile", "load", "wait"];
/// Of each of its warps.
const TILES: u64 = 341;

/// A capture of at least so many regions, decoded, by a clock of one tick a nanosecond, so that all
/// times are whole nanoseconds. Cycles are converted by a line that was fitted, and the last bits of a
/// time may be rounded.
pub(crate) fn whole_nanoseconds(clock: Clock, regions: u64) -> Result<Trace, Failed> {
    let mut module = SyntheticModule::new(Keep::First, 1024);
    let kernel = module.site(SiteKind::Kernel, NAMES[0]);
    let [tile, load, wait] = [1, 2, 3].map(|at| module.site(SiteKind::Region, NAMES[at]));
    let warps = regions.div_ceil(3 * TILES) as u32;
    let mut numbers = Numbers(regions);
    for number in 0..warps {
        let entry = 64_000 + 32 * u64::from(number);
        let sm = number % 132;
        // Each SM's counter began at another time.
        let cycles = |ns: u64| ns + 1_000_000 * u64::from(sm) + 17;
        let ticks = |ns: u64| if clock == Clock::Cycles { cycles(ns) } else { ns };
        let mut warp = SyntheticWarp::new(kernel, cycles(entry), entry);
        warp.header.record_clock = clock;
        warp.header.grid_dim = [warps, 1, 1];
        warp.header.block = [number, 0, 0];
        warp.header.sm = sm;
        let mut now = entry + 7;
        for at in 0..TILES {
            let start = now;
            for part in [load, wait] {
                let begin = now + numbers.below(5);
                // Some in no time at all, and a few that are long.
                let most = if numbers.below(100) == 0 { 100_000 } else { 300 };
                now = begin + numbers.below(most);
                // One tile has a part less, so that one number of regions is odd.
                if at > 0 || number > 0 || part == load {
                    warp.range(part, None, ticks(begin), ticks(now));
                }
            }
            now += numbers.below(3);
            warp.range(tile, None, ticks(start), ticks(now));
        }
        // Readings of the timer are such as a GPU's, which steps by 32 ns.
        let exit = (now + 50).next_multiple_of(32);
        warp.leave(cycles(exit), exit);
        module.warps.push(warp);
    }
    Ok(decode(&module.into_capture().map_err(|error| error.to_string())?))
}

fn sql_says_the_same_nanoseconds(context: &Context) -> Result<(), Failed> {
    for clock in [Clock::GlobalTimer, Clock::Cycles] {
        let trace = whole_nanoseconds(clock, 50_000)?;
        let options = ExportOptions::default();
        let answers = context.ask(&trace, &options, Format::Perfetto, &[BY_NAME])?;
        agrees_to_the_nanosecond(&trace, &answers[0])?;
    }
    Ok(())
}

/// What SQL says of each name, beside what the statistics say.
fn print_rows(trace: &Trace, answer: &Rows) -> Result<(), Failed> {
    let stats = trace.stats();
    for (row, name) in answer.rows.iter().zip(answer.texts(0)) {
        let known = stats.get(&name).ok_or("a region that no statistics know")?;
        let sql = FIGURES.into_iter().map(str::to_owned).zip(row[1..].iter().cloned());
        let figures = FIGURES.into_iter().map(str::to_owned).zip(figures(known).map(Json::from));
        let (sql, mut figures): (Map<_, _>, Map<_, _>) = (sql.collect(), figures.collect());
        figures.insert("count".to_owned(), known.count.into());
        println!("{}", json!({ "kind": "name", "name": name, "sql": sql, "statistics": figures }));
    }
    Ok(())
}

/// Count, sum, least, most and, where they were asked for, percentiles of each name are those of the
/// statistics, with no tolerance.
pub(crate) fn agrees_to_the_nanosecond(trace: &Trace, answer: &Rows) -> Result<(), Failed> {
    let stats = trace.stats();
    let mut names = answer.texts(0);
    for (at, name) in names.iter().enumerate() {
        let row = stats.get(name).ok_or("a region that no statistics know")?;
        for (column, figure) in (1..answer.columns.len()).zip(figures(row)) {
            // The times are whole nanoseconds but for their last bits.
            assert!((figure - figure.round()).abs() < 1e-3, "{name}: {figure} ns is not whole");
            let found = answer.rows[at][column].as_i64();
            assert_eq!(found, Some(figure.round() as i64), "{name}, column {column}");
        }
    }
    names.sort();
    let mut recorded = NAMES;
    recorded.sort_unstable();
    assert_eq!(names, recorded);
    Ok(())
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

/// What SQL says of each name is what the statistics say: of the times that are shown with no tolerance, and
/// of those that were recorded as far as rounding goes.
fn agrees(trace: &Trace, answer: &Rows) -> Result<(), Failed> {
    let (recorded, shown) = (trace.stats(), as_shown(trace).stats());
    let names = answer.texts(0);
    assert_eq!(names.len(), 7, "{names:?}");
    assert_eq!(answer.columns.len(), 1 + FIGURES.len());
    for (at, name) in names.iter().enumerate() {
        let sql: Vec<f64> =
            (1..).zip(FIGURES).map(|(column, _)| answer.integers(column)[at] as f64).collect();
        let of_shown = shown.get(name).ok_or("a region that no statistics know")?;
        assert_eq!(sql, figures(of_shown), "{name}");
        let of_recorded = recorded.get(name).ok_or("a region that no statistics know")?;
        let [_, total, bounds_and_percentiles @ ..] = figures(of_recorded);
        assert!((sql[1] / total - 1.0).abs() < 1e-3, "{name}");
        for (sql, ns) in sql[2..].iter().zip(bounds_and_percentiles) {
            assert!((sql - ns).abs() <= 1.0, "{name}: {sql} and {ns}");
        }
    }
    Ok(())
}
