//! Python's readers of CSV and JSON.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use profiler_test_tools::Tool;
use profiler_trace::{Export, GroupBy, HostSpanKind, SiteIndex, Stats, Trace, Value};
use profiler_wire::header::Clock;
use serde_json::{Map, Value as Json};

use crate::Test;
use crate::support::{gpu, last};
use crate::tools;
use crate::zoo::{KERNEL, STORE, host, zoo};

const NEEDS: &[Tool] = &[Tool::Python(&[])];

pub(crate) const TESTS: &[Test] = &[
    Test { name: "tables::events_are_read_back", needs: NEEDS, run: events_are_read_back },
    Test { name: "tables::statistics_are_read_back", needs: NEEDS, run: statistics_are_read_back },
    Test { name: "tables::columns_are_documented", needs: &[], run: columns_are_documented },
    Test { name: "tables::nothing_is_a_table_too", needs: NEEDS, run: nothing_is_a_table_too },
];

/// A row as Python read it. Floating point numbers are texts, as Python prints them: `serde_json`
/// itself does not read every number to the last bit.
type Row = Map<String, Json>;

fn rows(text: &str) -> Result<Vec<Row>, Failed> {
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// The rows of a CSV file, as `csv.DictReader` has them.
fn read_csv(file: &Path) -> Result<Vec<Row>, Failed> {
    const PROGRAM: &str = "import csv, json, sys\n\
        with open(sys.argv[1], newline='', encoding='utf-8') as file:\n\
        \x20   for row in csv.DictReader(file, strict=True):\n\
        \x20       assert None not in row and None not in row.values(), row\n\
        \x20       print(json.dumps(row))";
    let mut command = Command::new(Tool::Python(&[]).find()?);
    rows(&tools::output(command.args(["-c", PROGRAM]).arg(file))?)
}

/// The rows of a file of lines of JSON, as `json.loads` has them.
fn read_lines(file: &Path) -> Result<Vec<Row>, Failed> {
    const PROGRAM: &str = "import json, sys\n\
        for line in open(sys.argv[1], encoding='utf-8'):\n\
        \x20   row = json.loads(line, parse_float=lambda text: repr(float(text)))\n\
        \x20   print(json.dumps(row))";
    let mut command = Command::new(Tool::Python(&[]).find()?);
    rows(&tools::output(command.args(["-c", PROGRAM]).arg(file))?)
}

fn write(
    name: &str,
    write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>,
) -> Result<PathBuf, Failed> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    Ok(tools::file(name, &bytes)?)
}

/// A number of CSV or JSON, exactly.
fn number(row: &Row, column: &str) -> f64 {
    match &row[column] {
        Json::String(text) => text.parse().expect("a number"),
        value => value.as_f64().expect("a number"),
    }
}

fn whole(row: &Row, column: &str) -> u64 {
    match &row[column] {
        Json::String(text) => text.parse().expect("a whole number"),
        value => value.as_u64().expect("a whole number"),
    }
}

fn is_empty(row: &Row, column: &str) -> bool {
    row[column].is_null() || row[column] == ""
}

fn events_are_read_back() -> Result<(), Failed> {
    let (mut trace, sites) = zoo();
    trace.warps[1].clock = Clock::GlobalTimer;
    trace.warps[1].track = Some(3);
    trace.warps[2].cluster_rank = Some(1);
    last(&mut trace, 2).value = Some(Value::Signed(-5));
    last(&mut trace, 3).value = Some(Value::Float(f64::INFINITY));
    trace.host = host();
    let csv = read_csv(&write("events.csv", |bytes| trace.write_events_csv_to(bytes))?)?;
    let json = read_lines(&write("events.jsonl", |bytes| trace.write_events_json_to(bytes))?)?;
    for rows in [&csv, &json] {
        check_events(&trace, sites.signal, rows);
    }
    // The two have the same columns in the same order, and the same in them.
    for (csv, json) in csv.iter().zip(&json) {
        for (column, value) in json {
            let text = match value {
                Json::Null => String::new(),
                // 1500.0 is not written in the same way, and is the same number.
                Json::String(text) if text.parse::<f64>().is_ok() => {
                    assert_eq!(number(csv, column), number(json, column), "{column}");
                    continue;
                }
                Json::String(text) => text.clone(),
                value => value.to_string(),
            };
            assert_eq!(csv[column], text, "{column}");
        }
    }
    Ok(())
}

#[track_caller]
fn check_events(trace: &Trace, signal: SiteIndex, rows: &[Row]) {
    let mut rows = rows.iter();
    for warp in &trace.warps {
        let launch = &trace.launches[warp.launch];
        let mut next = |kind: &str, name: &str| {
            let row = rows.next().expect("a row");
            assert_eq!((row["kind"].as_str(), row["name"].as_str()), (Some(kind), Some(name)));
            assert_eq!(row["kernel"], trace.site(launch.kernel).name);
            assert_eq!((whole(row, "schema"), whole(row, "warp")), (2, warp.warp.into()));
            assert_eq!(whole(row, "launch"), warp.launch as u64);
            assert_eq!(whole(row, "block_x"), u64::from(warp.block[0]));
            row
        };
        let kernel = next("kernel", &trace.site(launch.kernel).name);
        assert_eq!((whole(kernel, "recorded"), whole(kernel, "lost")), (warp.recorded, warp.lost));
        assert_eq!(is_empty(kernel, "end_ns"), warp.exit.is_none());
        assert_eq!(is_empty(kernel, "cluster_rank"), warp.cluster_rank.is_none());
        for region in &warp.regions {
            let row = next("region", &trace.site(region.site).name);
            // To the last bit.
            assert_eq!(number(row, "start_ns").to_bits(), region.start.ns.to_bits());
            assert_eq!(whole(row, "start_ticks"), region.start.ticks);
            assert_eq!(whole(row, "lane"), u64::from(region.lane));
            assert_eq!(whole(row, "depth"), u64::from(region.depth));
            assert_eq!(is_empty(row, "track"), warp.track.is_none());
            let Some(end) = region.end else {
                assert!(
                    ["end_ns", "end_ticks", "duration_ns"].map(|at| is_empty(row, at)) == [true; 3]
                );
                continue;
            };
            assert_eq!(number(row, "duration_ns"), end.ns - region.start.ns);
            match warp.clock {
                Clock::Cycles => {
                    assert_eq!(whole(row, "cycles"), end.ticks - region.start.ticks);
                }
                Clock::GlobalTimer => assert!(is_empty(row, "cycles")),
            }
            match region.value {
                None => assert!(is_empty(row, "value")),
                Some(Value::Unsigned(value)) => assert_eq!(whole(row, "value"), value),
                Some(Value::Signed(value)) => assert_eq!(number(row, "value"), value as f64),
                Some(Value::Float(value)) => assert_eq!(number(row, "value"), value),
            }
        }
        for mark in &warp.marks {
            let row = next("signal", &trace.site(signal).name);
            assert_eq!(whole(row, "value"), u64::MAX);
            assert_eq!(number(row, "end_ns").to_bits(), mark.time.ns.to_bits());
        }
    }
    for thread in &trace.host.threads {
        for span in &thread.spans {
            let row = rows.next().expect("a row of the host");
            let (kind, kernel) = match span.kind {
                HostSpanKind::Span => ("host_span", None),
                HostSpanKind::Launch(launch) => ("host_launch", launch),
            };
            let texts = ["kind", "name", "thread"].map(|column| row[column].as_str());
            let expected = [kind, span.name.as_str(), thread.name.as_str()].map(Some);
            assert_eq!(texts, expected);
            assert_eq!(number(row, "start_ns").to_bits(), span.start_ns.to_bits());
            assert_eq!(number(row, "duration_ns"), span.end_ns - span.start_ns);
            assert_eq!(is_empty(row, "launch"), kernel.is_none());
            if let Some(launch) = kernel {
                assert_eq!(whole(row, "launch"), launch as u64);
                assert_eq!(row["kernel"], trace.site(trace.launches[launch].kernel).name);
            }
            for column in ["warp", "sm", "slot", "start_ticks", "clock", "file"] {
                assert!(is_empty(row, column), "{column}");
            }
        }
    }
    assert!(rows.next().is_none());
}

fn statistics_are_read_back() -> Result<(), Failed> {
    const PROGRAM: &str = "import json, sys\n\
        text = open(sys.argv[1], encoding='utf-8').read()\n\
        document = json.loads(text, parse_float=lambda text: repr(float(text)))\n\
        rows = document.pop('rows')\n\
        for row in [document] + rows: print(json.dumps(row))";
    let (mut trace, sites) = zoo();
    trace.sites[sites.load.0 as usize].unit = Some("by,\"tes\"".to_owned());
    for by in GroupBy::ALL {
        let stats = trace.stats_by(by);
        let csv = write(&format!("stats-{by:?}.csv"), |bytes| stats.write_csv_to(bytes))?;
        check_statistics(&stats, &read_csv(&csv)?);
        let json = write(&format!("stats-{by:?}.json"), |bytes| stats.write_json_to(bytes))?;
        let mut command = Command::new(Tool::Python(&[]).find()?);
        let mut json = rows(&tools::output(command.args(["-c", PROGRAM]).arg(json))?)?;
        let document = json.remove(0);
        check_statistics(&stats, &json);
        assert_eq!((whole(&document, "schema"), &document["notes"]), (1, &stats.notes.into()));
        let diagnostic = &document["diagnostics"][0];
        assert_eq!(diagnostic["kind"], "buffer-too-small");
        assert_eq!(
            (diagnostic["severity"].as_str(), diagnostic["count"].as_u64()),
            (Some("warning"), Some(7))
        );
        assert!(
            diagnostic["text"].as_str().is_some_and(|text| text.contains(".records_per_warp("))
        );
    }
    Ok(())
}

#[track_caller]
fn check_statistics(stats: &Stats, rows: &[Row]) {
    assert_eq!(rows.len(), stats.rows.len());
    for (row, wanted) in rows.iter().zip(&stats.rows) {
        assert_eq!(row["name"], wanted.name);
        assert!(row["kernel"] == KERNEL || row["kernel"] == "axpy");
        assert_eq!(row["kind"] == "kernel", wanted.site == wanted.kernel);
        assert_eq!((whole(row, "count"), whole(row, "open")), (wanted.count, wanted.open));
        assert_eq!(whole(row, "warps"), wanted.warps);
        assert_eq!(number(row, "share").to_bits(), wanted.share.to_bits());
        assert_eq!(row["worst_diagnostic"], "warning");
        match wanted.place.sm {
            Some(sm) => assert_eq!(whole(row, "sm"), u64::from(sm)),
            None => assert!(is_empty(row, "sm")),
        }
        if stats.by == GroupBy::Path {
            let path = row["path"].as_str().expect("a path");
            let regions = wanted.path.len() + usize::from(wanted.site != wanted.kernel);
            assert_eq!(path.split(';').count(), 1 + regions);
        } else {
            assert!(is_empty(row, "path"));
        }
        match wanted.place.block {
            Some([_, _, z]) => assert_eq!(whole(row, "block_z"), u64::from(z)),
            None => assert!(is_empty(row, "block_z")),
        }
        if wanted.count == 0 {
            assert!(is_empty(row, "mean_ns") && is_empty(row, "mean_cycles"));
            continue;
        }
        assert_eq!(number(row, "total_ns").to_bits(), wanted.ns.total.to_bits());
        assert_eq!(number(row, "p95_ns").to_bits(), wanted.ns.p95.to_bits());
        assert_eq!(number(row, "mean_per_warp_ns"), wanted.ns.mean_per_warp);
        let cycles = wanted.cycles.expect("all clocks count cycles");
        assert_eq!(whole(row, "total_cycles") as f64, cycles.total);
        assert_eq!(whole(row, "max_cycles") as f64, cycles.max);
        assert_eq!(number(row, "standard_deviation_cycles"), cycles.standard_deviation);
        match &wanted.throughput {
            Some(throughput) => {
                assert_eq!(number(row, "value_total"), throughput.total);
                assert_eq!(row["value_unit"], throughput.unit);
            }
            None => assert!(is_empty(row, "value_unit")),
        }
    }
    assert!(rows.iter().any(|row| row["name"] == STORE));
}

/// The columns of the first line of CSV.
fn header(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().next().unwrap_or_default();
    line.split(',').map(str::to_owned).collect()
}

/// Every column has its line in the documentation, in order.
fn columns_are_documented() -> Result<(), Failed> {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/formats.md");
    let text = std::fs::read_to_string(pages)?;
    let mut events = Vec::new();
    gpu().write_events_csv_to(&mut events)?;
    let mut statistics = Vec::new();
    gpu().stats().write_csv_to(&mut statistics)?;
    for (table, bytes) in [("events", events), ("statistics", statistics)] {
        let start = text.find(&format!("<!-- columns: {table} -->")).ok_or("no such table")?;
        let lines = text[start..].lines().skip_while(|line| !line.starts_with("| `"));
        let lines = lines.take_while(|line| line.starts_with('|'));
        let documented: Vec<&str> = lines
            .flat_map(|line| line.split('|').nth(1).into_iter().flat_map(|cell| cell.split(',')))
            .map(|name| name.trim().trim_matches('`'))
            .collect();
        assert_eq!(documented, header(&bytes), "{table}");
    }
    Ok(())
}

fn nothing_is_a_table_too() -> Result<(), Failed> {
    let events = write("nothing.csv", |bytes| gpu().write_events_csv_to(bytes))?;
    assert!(read_csv(&events)?.is_empty());
    let lines = write("nothing.jsonl", |bytes| gpu().write_events_json_to(bytes))?;
    assert!(read_lines(&lines)?.is_empty());
    let stats = write("nothing-stats.csv", |bytes| gpu().stats().write_csv_to(bytes))?;
    assert!(read_csv(&stats)?.is_empty());
    Ok(())
}
