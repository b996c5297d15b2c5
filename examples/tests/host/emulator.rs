//! Every example runs on the emulator: right result, nothing lost, all files written.

use std::path::Path;
use std::process::{Command, Output};

use profiler_host::trace::{Capture, decode};
use serde_json::Value;

fn run(name: &str, arguments: &[&str]) -> Output {
    let test = std::env::current_exe().expect("the test's own program");
    // target/debug/deps/TEST and target/debug/examples/NAME.
    let folder = test.ancestors().nth(2).expect("it lies in a folder of a folder");
    let program = folder.join("examples").join(name);
    Command::new(program).args(arguments).output().expect("cargo test builds the examples")
}

/// Gives what the example printed.
fn check(name: &str) -> String {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let folder = out.to_str().expect("cargo's folder is text");
    let output = run(name, &["--backend", "emulator", "--out", folder]);
    let printed = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {printed}{errors}");
    assert!(printed.contains("these are not GPU times"), "{printed}");
    assert!(printed.contains("result: correct"), "{printed}");

    let summary = printed.lines().last().and_then(|line| line.strip_prefix("summary: "));
    let summary: Value = serde_json::from_str(summary.expect("the last line")).expect("JSON");
    assert_eq!(summary["example"], name);
    assert_eq!(summary["backend"], "emulator");
    assert_eq!(summary["result"], "correct");
    assert_eq!(summary["lost"], 0, "by default nothing is lost");
    assert!(summary["recorded"].as_u64() > Some(0), "{summary}");
    for overhead in ["overhead", "annotations_overhead"] {
        assert_eq!(summary.get(overhead), Some(&Value::Null), "only a GPU is timed");
    }

    let json = std::fs::read_to_string(out.join(format!("{name}.json"))).expect("written");
    let timeline: Value = serde_json::from_str(&json).expect("JSON");
    let events = timeline["traceEvents"].as_array().expect("a list of events");
    assert!(!events.is_empty());
    let perfetto = std::fs::metadata(out.join(format!("{name}.pftrace"))).expect("written");
    assert!(perfetto.len() > 0);
    let capture = Capture::read(out.join(format!("{name}.capture")));
    let (capture, damage) = capture.expect("written");
    assert_eq!(damage, []);
    assert_eq!(decode(&capture).recorded(), summary["recorded"].as_u64().expect("a count"));
    printed
}

#[test]
fn watch() {
    let printed = check("watch");
    // The last look is after the kernel's end.
    let looks: Vec<&str> = printed.lines().filter(|line| line.contains(" ms: ")).collect();
    assert!(looks.last().is_some_and(|last| last.ends_with("4 left")), "{printed}");
}

#[test]
fn softmax() {
    check("softmax");
}

#[test]
fn gemm() {
    check("gemm");
}

#[test]
fn pipeline() {
    check("pipeline");
}

#[test]
fn persistent() {
    check("persistent");
}

#[test]
fn help_names_the_options_and_an_example() {
    let output = run("softmax", &["--help"]);
    let help = String::from_utf8(output.stdout).expect("text");
    for part in ["--backend", "--out", "--size", "small on the emulator", "cargo run --release"] {
        assert!(help.contains(part), "{part} is missing in: {help}");
    }
}

#[test]
fn a_build_without_annotations_needs_a_gpu() {
    let reason = "compares two builds for the GPU, and this runs on the emulator";
    for name in ["softmax", "watch"] {
        let output = run(name, &["--backend", "emulator", "--unannotated", "other.ptx"]);
        assert!(!output.status.success(), "{name}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(reason), "{name}: {errors}");
    }
}

#[test]
fn a_wrong_argument_fails() {
    let output = run("softmax", &["--size", "medium"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("small, full"));
}
