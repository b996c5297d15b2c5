//! A capture of a session in which no kernel was launched: what is made of it is empty, and says so.

use crate::support;

use profiler_test_tools::synthetic::{Keep, SyntheticModule};
use support::Folder;

fn folder() -> Folder {
    let folder = Folder::new();
    let module = SyntheticModule::new(Keep::First, 8);
    folder.save("empty.capture", &module.into_capture().expect("there are no sites"));
    folder
}

#[test]
fn a_check_says_that_there_is_nothing_and_fails_if_asked_to() {
    let folder = folder();
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
    let folder = folder();
    for words in [
        "stats empty.capture",
        "stats empty.capture --by path",
        "stats empty.capture --show balance",
        "stats empty.capture --show waits",
        "stats empty.capture --show critical-path",
    ] {
        let ran = folder.run(words);
        assert!(ran.text().contains("no kernel was recorded"), "{words}: {}", ran.transcript());
        assert_eq!(ran.code, Some(0), "{words}");
    }
    let timeline = folder.run("timeline empty.capture");
    assert!(timeline.stderr.contains("no kernel was recorded"), "{}", timeline.stderr);
    assert_eq!(timeline.code, Some(2));
    let diff = folder.run("diff empty.capture empty.capture --fail-above 1%");
    assert!(diff.text().contains("there is nothing to compare"), "{}", diff.transcript());
    assert_eq!(diff.code, Some(3));
}

#[test]
fn every_format_has_a_file_of_it() {
    let folder = folder();
    let mut endings = vec!["pftrace", "json", "hatchet", "folded", "csv", "jsonl"];
    if cfg!(feature = "parquet") {
        endings.extend(["parquet", "arrow"]);
    }
    for ending in endings {
        let ran = folder.run(&format!("export empty.capture -o out.{ending}"));
        assert_eq!(ran.code, Some(0), "{ending}: {}", ran.stderr);
    }
    // Of nothing there is no picture.
    let flamegraph = folder.run("export empty.capture -o out.svg");
    assert!(flamegraph.stderr.contains("record at least one launch"), "{}", flamegraph.stderr);
    assert_eq!(flamegraph.code, Some(2));
    assert_eq!(folder.run("report empty.capture -o out.html").code, Some(0));
}
