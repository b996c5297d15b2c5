//! Chrome JSON.

use libtest_mimic::Failed;
use profiler_test_tools::synthetic::Content;
use profiler_trace::{ExportOptions, Value, decode};
use profiler_wire::SiteKind;
use serde_json::json;

use crate::numbers::{agrees, made_up};
use crate::support::{edge, last, launched, lone_warp, mark, region, site, warp};
use crate::{Context, Format, Test, with_diagnostics};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("chrome::times_names_and_arguments", times_names_and_arguments),
    ("chrome::crossing_regions_have_rows", crossing_regions_have_rows),
    ("chrome::arrows", arrows),
    ("chrome::is_json_with_other_data", is_json_with_other_data),
    ("chrome::a_million_slices_load", a_million_slices_load),
];

fn times_names_and_arguments(context: &Context) -> Result<(), Failed> {
    let mut trace = launched("gemm \"quoted\"\n🚀", [2, 1, 1], 0.0, 5_000_000.0);
    let load = site(&mut trace, SiteKind::Region, "load");
    let warp = warp(&mut trace, [1, 0, 0], 0, 0.0, 5_000_000.0);
    region(&mut trace, warp, load, 0, 1_234_567.0, 1_234_568.0);
    last(&mut trace, warp).value = Some(Value::Float(0.5));
    region(&mut trace, warp, load, 0, 2_000_000.0, 2_000_000.0);
    mark(&mut trace, warp, load, 3_000_001.0, 7);
    let sql = "SELECT s.name, s.ts, s.dur, s.depth, t.name, p.name FROM slice s \
        JOIN thread_track ON thread_track.id = s.track_id JOIN thread t USING (utid) \
        JOIN process p USING (upid) WHERE t.name != 'about this trace' ORDER BY s.ts";
    let arguments = "SELECT key, display_value FROM slice JOIN args USING (arg_set_id) \
        WHERE slice.ts = 1234567 AND key GLOB 'args.*' ORDER BY key";
    let answers =
        context.ask(&trace, &ExportOptions::default(), Format::Chrome, &[sql, arguments])?;
    let times: Vec<(i64, i64, i64)> = answers[0]
        .rows
        .iter()
        .map(|row| {
            let cell = |at: usize| row[at].as_i64().unwrap_or(-1);
            (cell(1), cell(2), cell(3))
        })
        .collect();
    assert_eq!(times, [(0, 5_000_000, 0), (1_234_567, 1, 1), (2_000_000, 0, 1), (3_000_001, 0, 1)]);
    assert_eq!(answers[0].texts(0)[0], "gemm \"quoted\"\n🚀");
    assert_eq!(answers[0].texts(4)[0], "block 1, warp 0 · SM 1");
    assert_eq!(answers[0].texts(5)[0], "gemm \"quoted\"\n🚀, launch 0");
    assert_eq!(answers[1].texts(0), ["args.source", "args.value"]);
    assert_eq!(answers[1].texts(1), ["src/kernel.rs:11:5", "0.5"]);
    Ok(())
}

fn crossing_regions_have_rows(context: &Context) -> Result<(), Failed> {
    let (mut trace, warp) = lone_warp("gemm", 1000.0);
    let load = site(&mut trace, SiteKind::Region, "load");
    region(&mut trace, warp, load, 0, 200.0, 400.0);
    region(&mut trace, warp, load, 0, 300.0, 500.0);
    region(&mut trace, warp, load, 0, 600.0, 0.0);
    last(&mut trace, warp).end = None;
    let sql = "SELECT s.name, s.ts, s.dur, t.name FROM slice s \
        JOIN thread_track ON thread_track.id = s.track_id JOIN thread t USING (utid) \
        WHERE s.name GLOB 'load*' ORDER BY s.ts";
    let answers = context.ask(&trace, &ExportOptions::default(), Format::Chrome, &[sql])?;
    assert_eq!(answers[0].texts(0), ["load", "load", "load (open)"]);
    assert_eq!(answers[0].integers(2), [200, 200, 400]);
    let own = "block 0, warp 0 · SM 0";
    assert_eq!(answers[0].texts(3), [own, &format!("{own} / overlapping 1"), own]);
    Ok(())
}

fn arrows(context: &Context) -> Result<(), Failed> {
    let (mut trace, consumer) = lone_warp("pipeline", 1000.0);
    let full = site(&mut trace, SiteKind::Signal, "full");
    let wait = site(&mut trace, SiteKind::Wait, "wait full");
    let producer = warp(&mut trace, [0, 0, 0], 1, 0.0, 1000.0);
    for (signal, released) in [(100.0, 150.0), (300.0, 300.0)] {
        let from = mark(&mut trace, producer, full, signal, 1);
        let to = mark(&mut trace, consumer, wait, released, 1);
        // On a track of its own, where no kernel encloses it.
        trace.warps[consumer].marks[to.mark].track = Some(3);
        edge(&mut trace, from, to);
    }
    let sql = "SELECT a.name, a.ts, b.name, b.ts FROM flow JOIN slice a ON a.id = slice_out \
        JOIN slice b ON b.id = slice_in ORDER BY a.ts";
    let answers = context.ask(&trace, &ExportOptions::default(), Format::Chrome, &[sql])?;
    assert_eq!(answers[0].texts(0), ["full", "full"]);
    assert_eq!(answers[0].integers(1), [100, 300]);
    assert_eq!(answers[0].texts(2), ["wait full", "wait full"]);
    assert_eq!(answers[0].integers(3), [150, 300]);
    Ok(())
}

fn is_json_with_other_data(context: &Context) -> Result<(), Failed> {
    let (trace, sentences) = with_diagnostics();
    let (path, bytes) = context.write(&trace, &ExportOptions::default(), Format::Chrome)?;
    context.processor.check(&path)?;
    std::fs::remove_file(&path)?;
    let json: serde_json::Value = serde_json::from_slice(&bytes)?;
    let data = &json["otherData"];
    assert_eq!((&data["lost"], &data["device"]), (&json!(7), &json!("NVIDIA H200")));
    assert_eq!(data["resolution_ns"], 0.5);
    assert_eq!(data["diagnostics"], json!(sentences));
    let events = json["traceEvents"].as_array().expect("a list of events");
    assert!(events.iter().any(|event| event["name"] == "LOST 7 records" && event["ph"] == "i"));
    Ok(())
}

/// None is left out, and together they are no nanosecond longer or shorter than in the statistics.
fn a_million_slices_load(context: &Context) -> Result<(), Failed> {
    let by_name = "SELECT s.name, count(*), sum(s.dur), min(s.dur), max(s.dur) FROM slice s \
        JOIN thread_track ON thread_track.id = s.track_id JOIN thread t USING (utid) \
        WHERE t.name != 'about this trace' GROUP BY s.name";
    let trace = decode(&made_up(1_000_000, Content::Regions)?);
    let answers = context.ask(&trace, &ExportOptions::default(), Format::Chrome, &[by_name])?;
    agrees(&trace, &answers[0])
}
