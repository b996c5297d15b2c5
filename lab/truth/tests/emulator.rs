//! Every test runs on the emulator: all regions and marks are there, named and nested as they were
//! written, and the lines and drawings are written. The emulator's times are not a GPU's, so limits
//! on times are not asked for, but for those that hold with its exact clocks.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn truth(arguments: &[&str], out: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_truth"))
        .args(arguments)
        .arg("--out")
        .arg(out)
        .output()
        .expect("the program starts")
}

/// Runs one test; gives whether its limits held, its output and its lines.
fn run(test: &str) -> (bool, String, Vec<Value>) {
    let out = tempfile::tempdir().expect("a folder");
    let output = truth(&["run", "--backend", "emulator", test], out.path());
    let printed = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.is_empty(), "{printed}{errors}");
    let text = std::fs::read_to_string(out.path().join("truth.jsonl")).expect("written");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.iter().all(|line| line["test"] == test));
    let result = lines.last().expect("a result");
    assert_eq!(result["kind"], "result");
    assert_eq!(result["holds"].as_bool(), Some(output.status.success()), "{printed}");
    (output.status.success(), printed, lines)
}

/// Runs one test whose limits hold on the emulator too.
fn passes(test: &str) -> Vec<Value> {
    let (holds, printed, lines) = run(test);
    assert!(holds, "{printed}");
    assert!(printed.contains(&format!("passed {test}")), "{printed}");
    lines
}

fn of_kind<'l>(lines: &'l [Value], kind: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["kind"] == kind).collect()
}

#[test]
fn known_work() {
    let (_, printed, lines) = run("known-work");
    let result = lines.last().expect("a result");
    for broken in result["broken"].as_array().expect("a list") {
        let broken = broken.as_str().expect("text");
        // A reading costs 8 cycles here, which nested regions add up.
        let is_length = broken.contains("ticks off after subtraction");
        // The lanes of a warp run one after the other, lane 0 not always first.
        let is_order = ["thread, ", "when, "].iter().any(|lanes| broken.starts_with(lanes))
            && (broken.contains("begin before their warp entered")
                || broken.contains("an earlier time than the unit before"));
        assert!(is_length || is_order, "{broken}\n{printed}");
    }
    let cases = of_kind(&lines, "case");
    // 7 strategies, 2 clocks, 6 forms, 2 lengths, 1 + 8 levels.
    const OF_A_BUFFER: usize = 7 * 2 * 6 * 2 * 9;
    assert_eq!(cases.len(), 2 * OF_A_BUFFER);
    assert_eq!(cases.iter().filter(|case| case["buffer"] == "host").count(), OF_A_BUFFER);
    for case in cases {
        let recorders = match case["strategy"].as_str().expect("text") {
            "block" | "when" | "warp_group" | "warp(1)" => 2,
            "warp" | "elected" => 8,
            "thread" => 256,
            other => panic!("an unknown strategy {other}"),
        };
        let error = &case["error_ticks"];
        assert_eq!(error["count"], recorders * 3, "3 repeats: {case}");
        let (depth, level) = (case["depth"].as_i64(), case["level"].as_i64());
        let inner = depth.expect("a number") - level.expect("a number");
        if case["clock"] == "cycles" {
            // Each stamp within a region and its own two are readings of 8 cycles. In memory of the host
            // the record of a begin has one of its own.
            let of_inner = if case["buffer"] == "host" { 24 } else { 16 };
            let expected = (16 + of_inner * inner) as f64;
            assert_eq!(error["min"], expected, "{case}");
            assert_eq!(error["max"], expected, "{case}");
        }
    }
}

#[test]
fn crowded_work() {
    let lines = passes("crowded-work");
    let found = of_kind(&lines, "crowded");
    assert_eq!(found.len(), 3 * 6, "strategies and forms");
    for found in found {
        let recorders = if found["strategy"] == "thread" { 256 } else { 8 };
        // 2 lengths, 1 + 8 levels, 3 repeats.
        assert_eq!(found["regions"], recorders * 2 * 9 * 3, "{found}");
        let [raw, less] = ["raw_median_ticks", "median_ticks"].map(|name| found[name].as_f64());
        assert!(less < raw, "{found}");
    }
}

#[test]
fn mapping() {
    let (_, printed, lines) = run("mapping");
    for broken in lines.last().expect("a result")["broken"].as_array().expect("a list") {
        // Each lane that waits takes a turn here, and all turns of an SM take time.
        let broken = broken.as_str().expect("text");
        assert!(broken.contains("the marks lie ") || broken.contains(" marks lie "), "{printed}");
    }
    let releases = of_kind(&lines, "release");
    assert_eq!(
        releases.len(),
        4 * 3,
        "without anchors, with clocks kept, with one at each, and with some now and then"
    );
    for pair in releases.chunks(3).flat_map(|kernel| kernel.windows(2)) {
        let at = |release: &Value| release["since_entry_ns"].as_f64().expect("a number");
        assert!(at(pair[1]) > at(pair[0]) + 4_000.0, "releases are 5 µs apart");
    }
}

#[test]
fn latency() {
    let lines = passes("latency");
    let [found] = of_kind(&lines, "latency")[..] else { panic!("one footprint") };
    assert_eq!(found["single_cycles"]["count"], 2 * 1024, "two rounds");
    assert_eq!(found["chain_cycles"]["count"], 2);
}

#[test]
fn cross_check() {
    let out = tempfile::tempdir().expect("a folder");
    let output = truth(&["run", "--backend", "emulator", "cross-check"], out.path());
    assert!(output.status.success(), "{output:?}");
    let path = out.path().join("truth.jsonl");
    let mut text = std::fs::read_to_string(&path).expect("written");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let bodies = of_kind(&lines, "body");
    assert_eq!(bodies.len(), 7 * 3, "bodies and numbers of warps");
    for body in &bodies {
        let count = 3 * body["warps"].as_u64().expect("a number");
        assert_eq!(body["recorded_cycles"]["count"], count, "3 of 4 regions: {body}");
        // A reading costs 8 cycles here, a multiply-add nothing.
        assert_eq!(body["recorded_cycles"]["mean"], 8.0, "{body}");
        assert_eq!(body["less_cost_cycles"]["mean"], 0.0, "{body}");
        assert_eq!(body["truth_cycles"], 0.0, "{body}");
    }
    // As a peer writes it.
    let mut peer = bodies[1].clone();
    peer["profiler"] = "proton".into();
    peer["recorded_cycles"]["mean"] = 1234.5.into();
    text += &peer.to_string();
    std::fs::write(&path, text).expect("written");
    let output = truth(&["table"], out.path());
    assert!(output.status.success(), "{output:?}");
    let table = std::fs::read_to_string(out.path().join("cross-check.md")).expect("written");
    assert_eq!(table.lines().count(), 2 + 7 * 3, "{table}");
    assert!(table.contains("| 8 FMAs | 1 |") && table.contains("| 1234.5 |"), "{table}");
}

#[test]
fn frequency() {
    let (holds, printed, lines) = run("frequency");
    assert!(holds, "{printed}");
    assert_eq!(printed.matches("no change was provoked").count(), 6, "{printed}");
    let found = of_kind(&lines, "millisecond");
    assert_eq!(found.len(), 6 * 14);
    for region in found {
        let mhz = region["mhz"]["median"].as_f64().expect("a number");
        assert!((mhz - 2000.0).abs() < 20.0, "{region}");
        // The emulator's clock is steady, so that the map is right without anchors too.
        assert!(region["error_part"].as_f64().expect("a number") < 0.005, "{region}");
    }
    let variants = of_kind(&lines, "variant");
    let anchors = variants.iter().map(|variant| variant["anchors"].as_u64().expect("a number"));
    let anchors: Vec<u64> = anchors.collect();
    // 14 regions of 8 µs, of which each has room for 8 pauses of 2000 cycles, less what an anchor takes.
    assert!((14 * 6..=14 * 8).contains(&anchors[4]), "{anchors:?}");
    assert_eq!([&anchors[..4], &anchors[5..]].concat(), [14, 2, 0, 0, 0]);
    for variant in variants {
        assert_eq!(variant["has_changed"], false);
        for load in ["load_flops", "load_bytes_per_second"] {
            assert!(variant[load].as_f64().expect("a number") > 0.0, "{variant}");
        }
    }
}

#[test]
fn boost() {
    let (holds, printed, lines) = run("boost");
    assert!(holds, "{printed}");
    assert_eq!(printed.matches("no change was provoked").count(), 1, "{printed}");
    let regions = of_kind(&lines, "region");
    assert_eq!(regions.len(), 14);
    for region in regions {
        assert!((region["mhz"].as_f64().expect("a number") - 2000.0).abs() < 20.0, "{region}");
        assert!(region["error_part"].as_f64().expect("a number") < 0.005, "{region}");
    }
    let [found] = of_kind(&lines, "boost")[..] else { panic!("one course") };
    assert_eq!((&found["has_changed"], &found["idle_seconds"]), (&false.into(), &0.0.into()));
    let mhz = |name: &str| found[name].as_f64().expect("a number");
    assert!(mhz("mhz_low") <= mhz("mhz_first") && mhz("mhz_first") <= mhz("mhz_high"), "{found}");
}

#[test]
fn long() {
    let lines = passes("long");
    assert_eq!(of_kind(&lines, "step").len(), 3 * 51, "both clocks, and one that is kept");
}

#[test]
fn density() {
    let lines = passes("density");
    let parts: Vec<&str> = of_kind(&lines, "part")
        .into_iter()
        .map(|part| part["part"].as_str().expect("text"))
        .collect();
    assert_eq!(parts, ["part 1", "part 3", "part 5", "part 7"]);
}

#[test]
fn idle() {
    let lines = passes("idle");
    let kernels = of_kind(&lines, "kernel");
    assert_eq!(kernels.len(), 6);
    assert!(kernels.iter().all(|kernel| kernel["registers"].is_null()), "only a GPU has any");
}

#[test]
fn what_was_found_is_drawn() {
    let out = tempfile::tempdir().expect("a folder");
    // Times of the emulator need not keep to the limits, and are drawn.
    let output = truth(&["run", "--backend", "emulator", "mapping", "frequency"], out.path());
    assert!(output.stderr.is_empty(), "{output:?}");
    let output = truth(&["plot"], out.path());
    assert!(output.status.success(), "{output:?}");
    for (file, there) in [("mapping.svg", true), ("frequency.svg", true), ("long.svg", false)] {
        assert_eq!(out.path().join(file).exists(), there, "{file}");
    }
}

#[test]
fn an_unknown_test_is_an_error_that_names_the_tests() {
    let out = tempfile::tempdir().expect("a folder");
    let output = truth(&["run", "maping"], out.path());
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("mapping, latency"));
}

/// The sanitizers' script names them, as each is run at a size of its own.
#[test]
fn sanitizers_run_every_test() {
    let script = include_str!("../../xtask/src/sanitize.sh");
    let lines = script.lines().map(str::trim_start).filter(|line| line.starts_with("truth "));
    let mut named: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    named.retain(|word| profiler_truth::TESTS.iter().any(|test| test.name == *word));
    named.sort_unstable();
    let mut all: Vec<&str> = profiler_truth::TESTS.iter().map(|test| test.name).collect();
    all.sort_unstable();
    assert_eq!(named, all);
}
