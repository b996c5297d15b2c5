//! Captures of strangers, whose names must not steer the terminal, and of nothing, of which all that is made
//! is empty and says so.

use crate::support;

use profiler_test_tools::synthetic::{Keep, SyntheticModule};
use support::{Folder, steering};

#[test]
fn no_name_steers_the_terminal() {
    let folder = Folder::new();
    folder.save("steering\x1b[1A.capture", &steering());
    let commands = [
        "info --all",
        "stats",
        "stats --by path",
        "stats --by warp --kernel nobody --name nobody",
        "stats --show balance,waits,critical-path",
        "timeline",
        "export -o out\x1b[1A.csv",
        "check",
        "check missing\x1b[1A.capture",
        "diff steering\x1b[1A.capture --fail-above 1%",
    ];
    for words in commands {
        let (command, more) = words.split_once(' ').unwrap_or((words, ""));
        let ran = folder.run(&format!("{command} steering\x1b[1A.capture {more} --color always"));
        let said = format!("{}{}", ran.text(), ran.stderr);
        assert!(!said.contains("\x1b[8m"), "{words}: {said:?}");
        let plain = without_colours(&said);
        let steers = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{2066}".contains(c);
        assert!(!plain.contains(steers), "{words}: {said:?}");
        assert!(said.len() > 20, "{words}: {said:?}");
    }
}

#[test]
fn an_empty_path_is_called_empty() {
    let folder = Folder::with_captures();
    folder.run("stats '' --by sm").refused("cannot read a capture: the path is empty");
    folder.run("stats gemm.capture -o ''").refused("cannot write a file: the path is empty");
}

/// Without the sequences that only choose a colour or a weight.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match rest.strip_prefix('m') {
            Some(rest) => plain + rest,
            None => plain + "\x1b[" + part,
        }
    })
}

/// A capture of a session in which no kernel was launched.
fn empty() -> Folder {
    let folder = Folder::new();
    let module = SyntheticModule::new(Keep::First, 8);
    folder.save("empty.capture", &module.into_capture().expect("there are no sites"));
    folder
}

#[test]
fn a_check_says_that_there_is_nothing_and_fails_if_asked_to() {
    let folder = empty();
    let ran = folder.run("check empty.capture");
    assert_eq!(ran.text(), "empty.capture: passed: no kernel was recorded; 0 records, 0 lost\n");
    assert_eq!(ran.code, Some(0));
    let ran = folder.run("check empty.capture --deny empty");
    assert_eq!(ran.text(), "empty.capture: FAILED: no kernel was recorded; 0 records, 0 lost\n");
    assert_eq!(ran.code, Some(1));
    let check = folder.run("check empty.capture --deny empty --format json").json();
    assert_eq!((&check["denied"], &check["captures"][0]["empty"]), (&true.into(), &true.into()));
    let folder = Folder::with_captures();
    assert_eq!(folder.run("check gemm.capture --deny empty").code, Some(0));
}

#[test]
fn every_command_says_that_there_is_nothing() {
    let folder = empty();
    for more in ["", "--by path", "--show balance", "--show waits", "--show critical-path"] {
        let words = format!("stats empty.capture {more}");
        let ran = folder.run(&words).done();
        assert!(ran.text().contains("no kernel was recorded"), "{words}: {}", ran.transcript());
        if let Some(show) = more.strip_prefix("--show ") {
            let json = folder.run(&format!("{words} --format json")).json();
            assert_eq!(json[show.replace('-', "_")], serde_json::json!([]));
        }
    }
    folder.run("timeline empty.capture").refused("no kernel was recorded");
    let diff = folder.run("diff empty.capture empty.capture --fail-above 1%");
    assert!(diff.text().contains("there is nothing to compare"), "{}", diff.transcript());
    assert_eq!(diff.code, Some(3));
}

#[test]
fn every_format_has_a_file_of_it() {
    let folder = empty();
    let mut endings = vec!["pftrace", "json", "hatchet", "folded", "csv", "jsonl"];
    if cfg!(feature = "parquet") {
        endings.extend(["parquet", "arrow"]);
    }
    for ending in endings {
        folder.run(&format!("export empty.capture -o out.{ending}")).done();
    }
    // Of nothing there is no picture.
    folder.run("export empty.capture -o out.svg").refused("record at least one launch");
    folder.run("report empty.capture -o out.html").done();
}
