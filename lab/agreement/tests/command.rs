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
        let mut lines = lines(&report);
        // The last one, and what is printed, is of all batches.
        let all = lines.pop().expect("a line");
        let of_batches = |key: &str| -> u64 {
            lines.iter().map(|line| line[key].as_u64().expect("a number")).sum()
        };
        let (programs, hosted) = (of_batches("programs"), of_batches("hosted"));
        let agreed = [&all["agreed"]["device"], &all["agreed"]["host"]];
        assert_eq!(agreed.map(Value::as_u64), [Some(programs - hosted), Some(hosted)]);
        let seconds = all["seconds"].as_f64().expect("a number");
        let says = format!(
            "\n{programs} programs agree in {seconds:.1} s: {} with records in memory of the device, \
             {hosted} with records in memory of the host\n",
            programs - hosted
        );
        assert!(text.ends_with(&says), "{says} is not the end of {text}");
        lines
    };
    let all = run(&["--seed", "9", "--programs", "12", "--batch", "5"]);
    let programs: Vec<&Value> = all.iter().map(|line| &line["programs"]).collect();
    assert_eq!(programs, [5, 5, 2]);
    assert!(all.iter().all(|line| line["seed"] == 9 && line["device"] == "emulator"));
    // One in four, by chance.
    let hosted = all.iter().filter_map(|line| line["hosted"].as_u64()).sum::<u64>();
    assert!((1..12).contains(&hosted), "{hosted} of 12");
    // The emulator elects as the emulator does.
    assert!(all.iter().all(|line| line["electing"] == line["elected_alike"]));
    let of_last = |line: &Value| (line["recorded"].clone(), line["lost"].clone());
    let last = run(&["--seed", "9", "--first", "10", "--programs", "2"]);
    assert_eq!(last.iter().map(of_last).collect::<Vec<_>>(), [of_last(&all[2])]);
}

/// What is wrong is found in a program in the middle of a run, and the run says how to see it again.
#[test]
fn a_planted_record_and_a_planted_count_are_named_with_program_and_seed() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("agreement.jsonl");
    let run = |arguments: &[&str]| {
        let output = agreement(&report, &[&["--seed", "2"], arguments].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    for (plant, says) in [("record", "and not\n"), ("count", "1 lost, not ")] {
        let (code, text) = run(&["--plant", plant]);
        assert_eq!(code, Some(1), "{text}");
        let lines = lines(&report);
        let found = lines.last().expect("a line of the disagreement");
        assert_eq!(found["seed"], 2);
        let (number, difference) = (&found["program"], &found["difference"]);
        let difference = difference.as_str().expect("a text");
        assert!(difference.starts_with("on the emulator, times aside: launch 0"), "{difference}");
        assert!(difference.contains(says), "{difference}");
        let named =
            format!("program {number} of seed 2 disagrees with the reference\n{difference}");
        assert!(text.contains(&named), "{named} is not in {text}");
        assert!(text.contains("\non the emulator:\nlaunch 0, block "), "{text}");
        assert!(text.contains("\nthe smallest that disagrees too:\nCase {"), "{text}");

        let again = format!("--seed 2 --first {number} --programs 1 --plant {plant}");
        assert!(text.contains(&format!("again: agreement {again}\n")), "{text}");
        let arguments: Vec<&str> = again.split(' ').skip(2).collect();
        let (code, text) = run(&arguments);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(&named), "{named} is not in {text}");
        // Without it the same program agrees.
        let (code, text) = run(&arguments[..4]);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("\n1 programs agree in "), "{text}");
    }
}

#[test]
fn where_nothing_could_be_planted_nothing_was_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("agreement.jsonl");
    let output = agreement(&report, &["--plant", "record", "--programs", "0"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("nothing could be planted in 0 programs"), "{text}");
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = agreement(&folder.path().join("no/such/folder/file"), &["--programs", "1"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("cannot be written"), "{text}");
}
