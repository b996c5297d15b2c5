//! The numbers of a native timeline: counters, and SQL against the statistics.

use libtest_mimic::Failed;
use profiler_trace::synthetic::{Content, sized};
use profiler_trace::{ExportOptions, decode};

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

fn made_up(regions: u64) -> Result<profiler_trace::Capture, Failed> {
    Ok(sized(regions, Content::Regions).map_err(|error| error.to_string())?)
}

/// Counts what is written.
struct Count<'c>(&'c mut u64);

impl std::io::Write for Count<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        *self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
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

/// Count, sum, extremes and median by name are those of the statistics: the timeline has whole nanoseconds of both ends of a
/// slice, so that a duration may be one off, and a sum is that of the rounded ends.
fn sql_says_what_statistics_say(context: &Context) -> Result<(), Failed> {
    compare(context, 100_000)
}

fn sql_at_ten_million_regions(context: &Context) -> Result<(), Failed> {
    compare(context, 10_000_000)
}

fn compare(context: &Context, regions: u64) -> Result<(), Failed> {
    let trace = decode(&made_up(regions)?);
    let sql = "WITH ranked AS (SELECT s.name AS name, s.dur AS dur, \
        row_number() OVER (PARTITION BY s.name ORDER BY s.dur) AS place, \
        count(*) OVER (PARTITION BY s.name) AS n FROM slice s JOIN track t ON t.id = s.track_id \
        WHERE t.name != 'about this trace') \
        SELECT name, n, sum(dur), min(dur), max(dur), \
        max(CASE WHEN place = (n + 1) / 2 THEN dur END) FROM ranked GROUP BY name ORDER BY name";
    let mut plain = 0;
    trace.write_perfetto_to(Count(&mut plain), &ExportOptions::default())?;
    let each = plain as f64 / regions as f64;
    assert!(each <= 28.0, "{each} bytes a slice");
    let options = ExportOptions { gzip: true, ..ExportOptions::default() };
    let (path, bytes) = context.write(&trace, &options, Format::Perfetto)?;
    let answers = context.processor.query(&path, &[sql])?;
    std::fs::remove_file(&path)?;
    let each = bytes.len() as f64 / regions as f64;
    assert!(each <= 8.0, "{each} bytes a slice after gzip");
    let stats = trace.stats();
    let names = answers[0].texts(0);
    assert_eq!(names.len(), 7, "{names:?}");
    for (at, name) in names.iter().enumerate() {
        let row = stats.get(name).ok_or("a region that no statistics know")?;
        let number = |column: usize| answers[0].integers(column)[at] as f64;
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
    }
    Ok(())
}
