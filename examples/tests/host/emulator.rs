//! Every example runs on the emulator: right result, nothing lost, all files written.

use std::path::Path;
use std::process::{Command, Output};

use profiler_host::trace::{Capture, decode};

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

    let perfetto = std::fs::metadata(out.join(name).with_extension("pftrace")).expect("written");
    assert!(perfetto.len() > 0);
    let capture = Capture::read(out.join(name).with_extension("capture"));
    let trace = decode(&capture.expect("written"));
    assert!(trace.recorded() > 0);
    assert_eq!(trace.lost(), 0);
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
fn help_names_the_options() {
    let output = run("softmax", &["--help"]);
    let help = String::from_utf8(output.stdout).expect("text");
    for part in ["Usage: softmax", "--backend <auto|gpu|emulator>", "--out", "--small"] {
        assert!(help.contains(part), "{part} is missing in: {help}");
    }
}

#[test]
fn a_wrong_argument_fails() {
    let output = run("softmax", &["--backend", "cpu"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown back end `cpu`"));
}
