//! The time that warps spend in a region is one figure, whatever shows it: statistics, timeline, page, Hatchet
//! and the tables of events.

use crate::support;

use std::collections::BTreeMap;

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{Capture, decode};
use profiler_wire::SiteKind;
use proptest::prelude::*;
use serde_json::Value;

use support::Folder;

const NAMES: [&str; 3] = ["load", "mma", "store"];
/// The regions of the kernel, of which two have one name.
const SITES: [&str; 4] = ["load", "mma", "store", "load"];
/// Ticks, and nanoseconds, of a warp in the kernel.
const STAY: u64 = 10_000;
/// Ticks of a phase: in each, some lanes of a warp are in one region.
const PHASE: u64 = 400;

/// A region of a lane in its phase: lane, begin, end.
type Span = (u8, u64, u64);
/// The phases of a warp: which region, and who is in it when.
type Program = Vec<(usize, Vec<Span>)>;

fn program() -> impl Strategy<Value = Program> {
    let span = (0u8..32, 0..PHASE / 2, 0..PHASE / 2)
        .prop_map(|(lane, start, length)| (lane, start, start + length));
    let phase = (0..SITES.len(), prop::collection::vec(span, 0..8));
    prop::collection::vec(phase, 0..20)
}

/// The spans of a phase, one a lane, in order of their begins.
fn spans(of: &[Span]) -> Vec<Span> {
    let mut lanes = BTreeMap::new();
    for &(lane, start, end) in of {
        lanes.entry(lane).or_insert((start, end));
    }
    let mut spans: Vec<Span> =
        lanes.into_iter().map(|(lane, (from, to))| (lane, from, to)).collect();
    spans.sort_by_key(|&(lane, start, _)| (start, lane));
    spans
}

fn capture(warps: &[Program]) -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 64);
    module.lane_capacity = Some(64);
    let kernel = module.site(SiteKind::Kernel, "gemm");
    let sites = SITES.map(|name| module.site(SiteKind::Region, name));
    for (index, program) in (0..).zip(warps) {
        let mut warp = SyntheticWarp::new(kernel, 0, 1_000_000);
        warp.header.block_dim = [32 * warps.len() as u32, 1, 1];
        warp.header.warp = index;
        for (phase, (site, of)) in (0..).zip(program) {
            for (lane, start, end) in spans(of) {
                let at = 100 + phase * PHASE;
                warp.lane(lane).range(sites[*site], None, at + start, at + end);
            }
        }
        warp.leave(STAY, 1_000_000 + STAY);
        module.warps.push(warp);
    }
    module.into_capture().expect("the sites are in order")
}

/// Time that all warps spend in each region: a count of ticks in which any lane is.
fn spent(warps: &[Program]) -> [f64; 3] {
    let mut spent = [0.0; 3];
    for (site, of) in warps.iter().flatten() {
        let spans = spans(of);
        let is_in = |tick: &u64| spans.iter().any(|(_, start, end)| (start..end).contains(&tick));
        spent[*site % NAMES.len()] += (0..PHASE).filter(is_in).count() as f64;
    }
    spent
}

/// Cycles of the warps in frames of this name and all in them, as `proton-viewer` sums them up.
fn normalized(frame: &Value, name: &str, inside: bool) -> f64 {
    let inside = inside || frame["frame"]["name"] == name;
    let own = frame["metrics"]["normalized_cycles"].as_f64().unwrap_or(0.0);
    let below = frame["children"].as_array().into_iter().flatten();
    let below: f64 = below.map(|child| normalized(child, name, inside)).sum();
    below + if inside { own } else { 0.0 }
}

/// The share of a region in the table of the page.
fn share_in_page(page: &str, name: &str) -> f64 {
    let row = page.split("<tr ").find(|row| row.contains(&format!("</i>{name}</button>")));
    let share = row.and_then(|row| row.split("class=\"n share\" data-value=\"").nth(1));
    share.and_then(|share| share.split('"').next()?.parse().ok()).expect("a share")
}

#[track_caller]
fn assert_near(found: f64, wanted: f64, most: f64, what: &str) {
    assert!((found - wanted).abs() <= most, "{what}: {found} is not {wanted}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn all_figures_of_time_in_a_region_are_one(warps in prop::collection::vec(program(), 1..4)) {
        let capture = capture(&warps);
        let folder = Folder::new();
        folder.save("a.capture", &capture);
        let run = |words: &str| {
            folder.run(words).done().text()
        };
        let stats: Value = serde_json::from_str(&run("stats a.capture --format json")).expect("JSON");
        let timeline = run("timeline a.capture");
        run("export a.capture -o a.hatchet");
        let hatchet: Value = serde_json::from_slice(&folder.bytes("a.hatchet")).expect("JSON");
        run("report a.capture -o a.html");
        let page = String::from_utf8(folder.bytes("a.html")).expect("text");
        let events = run("export a.capture --to events-json -o -");
        let balance = decode(&capture).balance(0).expect("a launch").to_json();
        let stay = warps.len() as f64 * STAY as f64;
        for (name, spent) in NAMES.into_iter().zip(spent(&warps)) {
            let rows = stats["rows"].as_array().expect("rows");
            let Some(row) = rows.iter().find(|row| row["name"] == name) else {
                assert_eq!(spent, 0.0);
                continue;
            };
            let number = |member: &str| row[member].as_f64().expect("a number");
            assert_near(number("share"), spent / stay, 1e-6, "share");
            let per_warp = spent / warps.len() as f64;
            assert_near(number("mean_per_warp_ns"), per_warp, 1e-3, "nanoseconds a warp");
            assert_near(number("mean_per_warp_cycles"), per_warp, 1e-9, "cycles a warp");
            assert_near(normalized(&hatchet[0], name, false), per_warp, 1e-9, "Hatchet");
            assert_near(share_in_page(&page, name), number("share"), 1e-12, "the page");
            let rows = balance["rows"].as_array().expect("rows");
            let is_region = |row: &&Value| row["name"] == name && row["over"] == "warp";
            let region = rows.iter().find(is_region).expect("a row");
            let all = ["mean_ns", "count"].map(|member| region[member].as_f64().expect("a number"));
            let all = all[0] * all[1];
            assert_near(all, spent, 1e-3, "balance");
            // Those that never last are not on the timeline.
            let line = timeline.lines().find(|line| line.split_whitespace().next() == Some(name));
            let share = line.map_or(0.0, |line| {
                line.split_whitespace().nth(1).and_then(|share| share.parse().ok()).expect("a share")
            });
            assert_near(share, number("share") * 100.0, 0.051, "timeline");
            // What a reader of the events adds up.
            let mut of_events = 0.0;
            let mut until = (Value::Null, f64::NEG_INFINITY);
            for event in events.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
                if event["kind"] != "region" || event["name"] != name {
                    continue;
                }
                let [start, end] = ["start_ns", "end_ns"].map(|at| event[at].as_f64().expect("a time"));
                if until.0 != event["warp"] {
                    until = (event["warp"].clone(), f64::NEG_INFINITY);
                }
                of_events += (end - start.max(until.1)).max(0.0);
                until.1 = end.max(until.1);
            }
            assert_near(of_events, spent, 1e-3, "events");
        }
    }
}
