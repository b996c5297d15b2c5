//! A thread of a kernel that overflows its stack, or reaches for memory that is not there, ends the process;
//! what it says before that. (Where each is a
//! thread of the operating system, std says it.)
#![cfg(all(target_os = "linux", not(profiler_os_threads)))]

use std::ffi::c_void;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use profiler_emulator::{LaunchConfig, launch, yield_now};

/// In the process that is to end: what its kernel does.
const DOES: &str = "PROFILER_EMULATOR_TEST_DOES";

/// Runs one of the tests below in a process of its own, in which its kernel does something.
fn process(test: &str, does: &str) -> Output {
    Command::new(std::env::current_exe().expect("this program"))
        .args([&format!("overflow::{test}"), "--exact", "--nocapture"])
        .env(DOES, does)
        .output()
        .expect("the program starts")
}

fn does(what: &str) -> bool {
    std::env::var(DOES).is_ok_and(|does| does == what)
}

/// Takes more stack than there is, a page and more at a time.
fn recurse(depth: u64) -> u64 {
    let page = black_box([depth; 1024]);
    if depth == 0 { 0 } else { recurse(depth - 1) + page[depth as usize % page.len()] }
}

fn launches(kernel: impl Fn() + Sync) {
    let config = LaunchConfig::new([2, 1, 1], [64, 1, 1]);
    launch(&config, kernel).expect("the process ends before");
}

#[test]
fn an_overflow_says_what_helps() {
    if does("overflow") {
        return launches(|| {
            yield_now();
            black_box(recurse(1 << 20));
        });
    }
    let output = process("an_overflow_says_what_helps", "overflow");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("overflowed its stack") && said.contains("stack_bytes"), "{said}");
    assert_eq!(output.status.signal(), Some(6), "aborted: {output:?}");
}

/// The same on a thread that std did not begin, and that has no stack for signals.
#[test]
fn an_overflow_on_a_foreign_thread_says_what_helps() {
    extern "C" fn overflows(_: *mut c_void) -> *mut c_void {
        launches(|| {
            black_box(recurse(1 << 20));
        });
        std::ptr::null_mut()
    }
    if does("foreign") {
        let mut thread = MaybeUninit::uninit();
        // SAFETY: the place is there, no attributes are the default ones, and the function takes nothing.
        unsafe {
            let begun = libc::pthread_create(
                thread.as_mut_ptr(),
                std::ptr::null(),
                overflows,
                std::ptr::null_mut(),
            );
            assert_eq!(begun, 0);
            libc::pthread_join(thread.assume_init(), std::ptr::null_mut());
        }
        return;
    }
    let output = process("an_overflow_on_a_foreign_thread_says_what_helps", "foreign");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("overflowed its stack"), "{said}");
    assert_eq!(output.status.signal(), Some(6), "aborted: {output:?}");
}

#[test]
fn another_fault_is_not_called_an_overflow() {
    if does("fault") {
        return launches(|| {
            let nowhere = black_box(std::ptr::without_provenance::<u32>(64));
            // SAFETY: none: nothing is there, and the process ends, which is what is tested.
            black_box(unsafe { nowhere.read_volatile() });
        });
    }
    let output = process("another_fault_is_not_called_an_overflow", "fault");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("overflowed") && said.contains("memory that is not there"), "{said}");
    assert_eq!(output.status.signal(), Some(11), "by the fault: {output:?}");
}

/// A kernel takes as much as it was given.
#[test]
fn deep_stacks_are_there() {
    let config = LaunchConfig { stack_bytes: 32 << 20, ..LaunchConfig::new([1; 3], [2, 1, 1]) };
    launch(&config, || assert!(recurse(1000) > 0))
        .expect("32 MiB are enough for 1000 arrays of 8 KiB");
}
