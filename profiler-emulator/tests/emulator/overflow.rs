//! A kernel's thread that overflows its stack, or accesses memory that is not there, ends the process with an
//! explanation. (With `profiler_os_threads`, std explains it.)
#![cfg(all(target_os = "linux", not(profiler_os_threads)))]

use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use profiler_emulator::{LaunchConfig, launch, yield_now};

/// Set in the process that is to end.
const ENDS: &str = "PROFILER_EMULATOR_TEST_ENDS";

/// Runs a test in a process of its own, where its kernel ends it, and requires what it says.
fn check(test: &str, kernel: impl Fn() + Sync, said: &[&str], unsaid: &str) {
    if std::env::var_os(ENDS).is_some() {
        launch(&LaunchConfig::new([2, 1, 1], [64, 1, 1]), kernel).expect("the process ends before");
        return;
    }
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args([&format!("overflow::{test}"), "--exact", "--nocapture"])
        .env(ENDS, "1")
        .output()
        .expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(said.iter().all(|part| stderr.contains(part)) && !stderr.contains(unsaid), "{stderr}");
    assert_eq!(output.status.signal(), Some(11), "{output:?}");
}

/// Takes more stack than there is, a page and more at a time.
fn recurse(depth: u64) -> u64 {
    let page = black_box([depth; 1024]);
    if depth == 0 { 0 } else { recurse(depth - 1) + page[depth as usize % page.len()] }
}

#[test]
fn an_overflow_says_what_helps() {
    let overflow = || {
        yield_now();
        black_box(recurse(1 << 20));
    };
    let said = ["overflowed its stack", "stack_bytes"];
    check("an_overflow_says_what_helps", overflow, &said, "memory that is not there");
}

#[test]
fn another_fault_is_not_called_an_overflow() {
    let fault = || {
        let nowhere = black_box(std::ptr::without_provenance::<u32>(64));
        // SAFETY: none: nothing is there, and the process ends, which is what is tested.
        black_box(unsafe { nowhere.read_volatile() });
    };
    check(
        "another_fault_is_not_called_an_overflow",
        fault,
        &["memory that is not there"],
        "overflowed",
    );
}

/// A kernel takes as much as it was given.
#[test]
fn deep_stacks_are_there() {
    let config = LaunchConfig { stack_bytes: 32 << 20, ..LaunchConfig::new([1; 3], [2, 1, 1]) };
    launch(&config, || assert!(recurse(1000) > 0))
        .expect("32 MiB are enough for 1000 arrays of 8 KiB");
}
