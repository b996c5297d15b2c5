//! Every cell of a table, against rows made from the trace in the plainest way.

use libtest_mimic::Failed;
use profiler_parquet::schema;
use profiler_trace::{
    HostSpan, HostSpanKind, HostThread, Mark, MarkIndex, Region, SiteIndex, Time, Trace, Value,
    Warp,
};
use profiler_wire::SiteKind;
use profiler_wire::header::Clock;
use serde_json::{Map, Value as Json, json};

use crate::Test;
use crate::reader::{Reader, Table, exact};
use crate::support::{many_regions, zoo};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("duckdb_reads_every_cell_of_parquet", duckdb_reads_every_cell),
    ("pyarrow_reads_every_cell_of_arrow", pyarrow_reads_every_cell),
    ("types_are_those_of_the_schema", types_are_those_of_the_schema),
    ("metadata_says_what_the_trace_says", metadata_says_what_the_trace_says),
    ("tables_of_nothing_are_read", tables_of_nothing_are_read),
    ("tables_of_many_batches_are_read", tables_of_many_batches_are_read),
];

/// What encloses a region or mark most closely: index of a region.
fn parent(warp: &Warp, lane: u8, track: Option<u32>, span: (u64, u64), at: usize) -> Option<usize> {
    let end = |region: &Region| region.end.map_or(u64::MAX, |end| end.ticks);
    let others = warp.regions.iter().enumerate().take(at);
    others
        .filter(|(_, other)| other.lane == lane && other.track == track)
        .filter(|(_, other)| other.start.ticks <= span.0 && end(other) >= span.1)
        .min_by_key(|(index, other)| (end(other), std::cmp::Reverse(*index)))
        .map(|(index, _)| index)
}

fn parent_of_region(warp: &Warp, index: usize) -> Option<usize> {
    let region = &warp.regions[index];
    let end = region.end.map_or(u64::MAX, |end| end.ticks);
    parent(warp, region.lane, region.track, (region.start.ticks, end), index)
}

fn parent_of_mark(warp: &Warp, mark: &Mark) -> Option<usize> {
    let ticks = mark.time.ticks;
    parent(warp, mark.lane, mark.track, (ticks, ticks), warp.regions.len())
}

/// The rows that a trace should have.
fn rows(trace: &Trace) -> Vec<Json> {
    let mut first_rows = Vec::new();
    let mut rows = Vec::new();
    let mut next = 0;
    for warp in &trace.warps {
        first_rows.push(next);
        next += 1 + warp.regions.len() + warp.marks.len();
    }
    let mark_row =
        |MarkIndex { warp, mark }| first_rows[warp] + 1 + trace.warps[warp].regions.len() + mark;
    for (index, warp) in trace.warps.iter().enumerate() {
        let launch = &trace.launches[warp.launch];
        let first = first_rows[index];
        let mut row = |kind: &str, site: SiteIndex, start: Time, end: Option<Time>, more: Json| {
            let known = trace.site(site);
            let mut row = json!({
                "event": rows.len(), "kind": kind, "launch": warp.launch,
                "grid_id": launch.grid_id, "replay": launch.replay,
                "kernel": trace.site(launch.kernel).name,
                "grid_x": launch.grid_dim[0], "grid_y": launch.grid_dim[1],
                "grid_z": launch.grid_dim[2], "threads_x": launch.block_dim[0],
                "threads_y": launch.block_dim[1], "threads_z": launch.block_dim[2],
                "block_x": warp.block[0], "block_y": warp.block[1], "block_z": warp.block[2],
                "cluster_rank": warp.cluster_rank, "warp": warp.warp, "lane": null, "sm": warp.sm,
                "slot": warp.slot, "track": null, "depth": null, "parent": null,
                "site": site.0, "name": known.name, "file": known.file, "line": known.line,
                "clock": if warp.clock == Clock::Cycles { "cycles" } else { "globaltimer" },
                "start_ticks": start.ticks, "end_ticks": end.map(|end| end.ticks),
                "start_ns": exact(start.ns), "end_ns": end.map(|end| exact(end.ns)),
                "value_unsigned": null, "value_signed": null, "value_float": null,
                "unit": known.unit, "released_by": null, "recorded": null, "lost": null,
            });
            merge(&mut row, more);
            rows.push(row);
        };
        let kernel = &trace.site(launch.kernel).name;
        let whole = json!({ "path": kernel, "recorded": warp.recorded, "lost": warp.lost });
        row("kernel", launch.kernel, warp.entry, warp.exit, whole);
        let mut paths: Vec<String> = Vec::new();
        let mut depths: Vec<u16> = Vec::new();
        let within = |parent: Option<usize>| parent.map_or(first, |parent| first + 1 + parent);
        for (at, region) in warp.regions.iter().enumerate() {
            let parent = parent_of_region(warp, at);
            let outer = parent.map_or(kernel, |parent| &paths[parent]);
            let path = format!("{outer}/{}", trace.site(region.site).name);
            depths.push(region.depth);
            let mut more = json!({
                "lane": region.lane, "track": region.track, "depth": region.depth, "path": path,
                "parent": within(parent),
            });
            paths.push(path);
            merge(&mut more, value(region.value));
            row("region", region.site, region.start, region.end, more);
        }
        for (at, mark) in warp.marks.iter().enumerate() {
            let kind = match trace.site(mark.site).kind {
                SiteKind::Signal => "signal",
                SiteKind::Wait => "wait",
                _ => "mark",
            };
            let parent = parent_of_mark(warp, mark);
            let outer = parent.map_or(kernel, |parent| &paths[parent]);
            let this = MarkIndex { warp: index, mark: at };
            let edge = trace.edges.iter().find(|edge| edge.to == this);
            let mut more = json!({
                "lane": mark.lane, "track": mark.track, "parent": within(parent),
                "path": format!("{outer}/{}", trace.site(mark.site).name),
                "released_by": edge.map(|edge| mark_row(edge.from)),
            });
            merge(&mut more, value(mark.value));
            row(kind, mark.site, mark.time, None, more);
        }
    }
    rows
}

fn value(value: Option<Value>) -> Json {
    match value {
        None => json!({}),
        Some(Value::Unsigned(value)) => json!({ "value_unsigned": value }),
        Some(Value::Signed(value)) => json!({ "value_signed": value }),
        Some(Value::Float(value)) => json!({ "value_float": exact(value) }),
    }
}

fn merge(row: &mut Json, more: Json) {
    if let (Json::Object(row), Json::Object(more)) = (row, more) {
        row.extend(more);
    }
}

#[track_caller]
fn assert_same(found: &Table, trace: &Trace) {
    let wanted = rows(trace);
    assert_eq!(found.rows.len(), wanted.len());
    for (cells, wanted) in found.rows.iter().zip(&wanted) {
        let cells = found.columns.iter().cloned().zip(cells.iter().cloned());
        assert_eq!(&Json::Object(cells.collect::<Map<_, _>>()), wanted);
    }
}

/// The zoo must have what the test is about.
fn rich() -> Trace {
    let trace = zoo();
    let rows = rows(&trace);
    let some = |what: &str, holds: fn(&Json) -> bool| {
        assert!(rows.iter().any(holds), "no row has {what}");
    };
    some("a wait that was released", |row| !row["released_by"].is_null());
    some("an open region", |row| row["kind"] == "region" && row["end_ns"].is_null());
    some("a warp that never left", |row| row["kind"] == "kernel" && row["end_ns"].is_null());
    some("lost records", |row| row["lost"].as_u64() > Some(0));
    some("a float", |row| !row["value_float"].is_null());
    some("a signed value", |row| row["value_signed"] == -3);
    some("the largest value", |row| row["value_unsigned"] == u64::MAX);
    some("a track", |row| row["track"] == 9);
    some("another lane", |row| row["lane"] == 5);
    some("depth", |row| row["depth"].as_u64() >= Some(2));
    some("a timer", |row| row["clock"] == "globaltimer");
    some("a cluster", |row| row["cluster_rank"] == 1);
    let regions = &trace.warps[0].regions;
    let crosses = |left: &Region, right: &Region| {
        left.track == right.track
            && left.start.ticks < right.start.ticks
            && left.end.zip(right.end).is_some_and(|(left_end, right_end)| {
                right.start.ticks < left_end.ticks && left_end.ticks < right_end.ticks
            })
    };
    let crossing = regions.iter().filter(|left| regions.iter().any(|right| crosses(left, right)));
    assert!(crossing.count() >= 2, "regions cross on the user's track and on the warp's own");
    trace
}

fn duckdb_reads_every_cell(reader: &Reader) -> Result<(), Failed> {
    let trace = rich();
    assert_same(&reader.parquet(&trace)?, &trace);
    Ok(())
}

fn pyarrow_reads_every_cell(reader: &Reader) -> Result<(), Failed> {
    let trace = rich();
    assert_same(&reader.arrow(&trace)?, &trace);
    Ok(())
}

fn types_are_those_of_the_schema(reader: &Reader) -> Result<(), Failed> {
    let trace = zoo();
    let parquet = reader.parquet(&trace)?;
    let arrow = reader.arrow(&trace)?;
    let schema = schema();
    let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    assert_eq!(parquet.columns.iter().collect::<Vec<_>>(), names);
    assert_eq!(arrow.columns.iter().collect::<Vec<_>>(), names);
    for (at, field) in schema.fields().iter().enumerate() {
        let (sql, python) = match field.data_type().to_string().as_str() {
            "UInt8" => ("UTINYINT", "uint8"),
            "UInt16" => ("USMALLINT", "uint16"),
            "UInt32" => ("UINTEGER", "uint32"),
            "UInt64" => ("UBIGINT", "uint64"),
            "Int64" => ("BIGINT", "int64"),
            "Float64" => ("DOUBLE", "double"),
            _ => ("VARCHAR", "dictionary<values=string, indices=int32, ordered=0>"),
        };
        assert_eq!(parquet.types[at], sql, "{}", field.name());
        assert_eq!(arrow.types[at], python, "{}", field.name());
    }
    Ok(())
}

fn metadata_says_what_the_trace_says(reader: &Reader) -> Result<(), Failed> {
    let mut trace = zoo();
    trace.device.compute_capability = Some((9, 0));
    trace.device.driver = "580.159.04".to_owned();
    trace.lost_unplaced = 5;
    trace.left_out_warps = 2;
    let kind = HostSpanKind::Span;
    let span = HostSpan { name: "copy".to_owned(), start_ns: 1.0, end_ns: 2.0, kind };
    trace.host.threads = vec![HostThread { name: "main".to_owned(), spans: vec![span; 3] }];
    let parquet = reader.parquet(&trace)?.metadata;
    let arrow = reader.arrow(&trace)?.metadata;
    for metadata in [&parquet, &arrow] {
        let said = |key: &str| metadata[format!("profiler.{key}")].as_str().unwrap_or_default();
        for (key, value) in [
            ("schema_version", "1"),
            ("device", "synthetic"),
            ("compute_capability", "9.0"),
            ("driver", "580.159.04"),
            ("sm_count", "132"),
            ("emulated", "false"),
            ("cost_subtracted", "false"),
            ("origin_ns", &trace.origin_ns.to_string()),
            ("recorded", &trace.recorded().to_string()),
            ("lost", &trace.lost().to_string()),
            ("lost_unplaced", "5"),
            ("host_spans_left_out", "3"),
            ("warps_left_out", "2"),
        ] {
            assert_eq!(said(key), value, "{key}");
        }
        assert_eq!(said("clock_mhz").parse(), Ok(trace.clock_mhz.expect("cycles were recorded")));
        assert_eq!(said("resolution_ns").parse(), Ok(trace.resolution_ns));
        assert_eq!(said("alignment_ns").parse(), Ok(trace.alignment_ns));
        let diagnostics: Vec<Json> = serde_json::from_str(said("diagnostics"))?;
        assert_eq!(diagnostics.len(), trace.diagnostics.list.len());
        for (found, wanted) in diagnostics.iter().zip(&trace.diagnostics.list) {
            assert_eq!(found["kind"], wanted.kind.name());
            assert_eq!(found["count"], wanted.count);
            assert_eq!(found["text"], wanted.to_string());
        }
        assert!(diagnostics.iter().any(|found| found["kind"] == "open-region"));
    }
    Ok(())
}

fn tables_of_nothing_are_read(reader: &Reader) -> Result<(), Failed> {
    let nothing = Trace::default();
    let parquet = reader.parquet(&nothing)?;
    let arrow = reader.arrow(&nothing)?;
    for table in [parquet, arrow] {
        assert!(table.rows.is_empty());
        assert_eq!(table.columns.len(), schema().fields().len());
    }
    Ok(())
}

/// More rows than are made at once: 2^13 of Parquet, 2^16 of Arrow.
fn tables_of_many_batches_are_read(reader: &Reader) -> Result<(), Failed> {
    let trace = many_regions(10_000);
    assert_same(&reader.parquet(&trace)?, &trace);
    let trace = many_regions(70_000);
    assert_same(&reader.arrow(&trace)?, &trace);
    Ok(())
}
