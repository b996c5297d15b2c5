//! The program itself, on the emulator.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn agreement(report: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_agreement"))
        .args(["--backend", "emulator", "--seconds", "300", "--report"])
        .arg(report)
        .args(arguments)
        .output()
        .expect("the program runs")
}

fn lines(report: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(report).expect("the report");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_seed_gives_the_same_programs_and_a_line_for_each_batch() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("agreement.jsonl");
    let run = |arguments: &[&str]| {
        let output = agreement(&report, arguments);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("programs agree"), "{text}");
        lines(&report)
    };
    let all = run(&["--seed", "7", "--programs", "12", "--batch", "5"]);
    let programs: Vec<&Value> = all.iter().map(|line| &line["programs"]).collect();
    assert_eq!(programs, [5, 5, 2]);
    assert!(all.iter().all(|line| line["seed"] == 7 && line["device"] == "emulator"));
    // The emulator elects as the emulator does.
    assert!(all.iter().all(|line| line["electing"] == line["elected_alike"]));
    let of_last = |line: &Value| (line["recorded"].clone(), line["lost"].clone());
    let last = run(&["--seed", "7", "--first", "10", "--programs", "2"]);
    assert_eq!(last.iter().map(of_last).collect::<Vec<_>>(), [of_last(&all[2])]);
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = agreement(&folder.path().join("no/such/folder/file"), &["--programs", "1"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("cannot be written"), "{text}");
}
