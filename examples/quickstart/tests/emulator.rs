//! The quickstart runs on the emulator and writes its three files.

use std::path::Path;
use std::process::{Command, Output};

use profiler_host::trace::{Capture, decode};

fn quickstart(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quickstart")).args(arguments).output().expect("it runs")
}

#[test]
fn it_is_right_loses_nothing_and_writes_its_files() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("quickstart");
    let folder = out.to_str().expect("cargo's folder is text");
    let output = quickstart(&["--backend", "emulator", "--out", folder]);
    let printed = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("times are not GPU times"), "{printed}");
    assert!(printed.contains("result: correct"), "{printed}");
    for ending in ["pftrace", "json"] {
        let file = std::fs::metadata(out.join("quickstart").with_extension(ending));
        assert!(file.expect("written").len() > 0);
    }
    let capture = Capture::read(out.join("quickstart.capture")).expect("written");
    let trace = decode(&capture);
    assert!(trace.recorded() > 0);
    assert_eq!(trace.lost(), 0);
}

#[test]
fn a_wrong_argument_fails_and_says_which_there_are() {
    let [wrong, unknown] = [&["--size", "full"], &["--backend", "cpu"]].map(|arguments| {
        let output = quickstart(arguments);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("text")
    });
    assert!(wrong.contains("[--out DIR]"), "{wrong}");
    assert!(unknown.contains("unknown back end `cpu`"), "{unknown}");
}
