//! A kernel's thread that overflows its stack, or accesses memory that is not there, ends the process with an
//! explanation. (With `profiler_os_threads`, std explains it.)
#![cfg(all(target_os = "linux", not(profiler_os_threads)))]

use std::hint::black_box;

use crate::common::{config, ending_of};
use profiler_emulator::{LaunchConfig, launch, yield_now};

const SIGSEGV: i32 = 11;

/// Runs a test in a process of its own, where its kernel ends it, and requires what it says.
fn check(test: &str, kernel: impl Fn() + Sync, said: &[&str], unsaid: &str) {
    let ended = ending_of(&format!("overflow::{test}"), SIGSEGV, || {
        launch(&config(2, 64), kernel).expect("the process ends before");
    });
    let Some(stderr) = ended else { return };
    let names = "thread [0, 0, 0] of block [0, 0, 0] of kernel `emulator::overflow::";
    assert!(said.iter().chain(&[names]).all(|part| stderr.contains(part)), "{stderr}");
    assert!(!stderr.contains(unsaid), "{stderr}");
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
