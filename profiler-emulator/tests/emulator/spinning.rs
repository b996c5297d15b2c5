//! A thread that spins on an atomic of `core` for ever ends the process, with a message that names it.
#![cfg(unix)]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use crate::common::{config, ending_of, thread};
use profiler_emulator::{LaunchConfig, Threads, barrier, block_index, launch};

const SIGABRT: i32 = 6;

/// Runs a kernel that never ends, of which one thread waits for another one that cannot run, requires what the
/// process says, and gives it. That a kernel which ends is left alone is tested by none of these, since it takes time.
fn check(test: &str, threads: Threads, name: Option<&'static str>, kernel: &str) -> Option<String> {
    let ended = ending_of(&format!("spinning::{test}"), SIGABRT, || {
        let flag = AtomicU32::new(0);
        // Long enough for a thread that does not spin to get a turn, however many others want the processor.
        let spin_limit = Duration::from_secs(1);
        let config = LaunchConfig { threads, name, spin_limit, ..config(2, 64) };
        launch(&config, || {
            barrier(0, None);
            match (block_index()[0], thread()) {
                (1, 40) => {
                    while flag.load(Relaxed) == 0 {
                        std::hint::spin_loop();
                    }
                }
                // Does not come to this: it waits for thread 40.
                (1, 0) => {
                    barrier(1, None);
                    flag.store(1, Relaxed);
                }
                _ => {}
            }
        })
        .expect("the process ends before");
    });
    let stderr = ended?;
    let thread = "thread [40, 0, 0] of block [1, 0, 0] of kernel";
    for said in [thread, kernel, "yield_now", "spin_until", "spin_limit"] {
        assert!(stderr.contains(said), "{said}: {stderr}");
    }
    Some(stderr)
}

#[test]
fn the_thread_and_its_place_are_named() {
    let test = "the_thread_and_its_place_are_named";
    let run = || check(test, Threads::Coroutines, Some("waits"), "kernel `waits`");
    // A sanitizer and an optimised build without lines cannot say the place. Nor can a thread that is interrupted at
    // an instruction from which its stack cannot be followed: seldom, and not in each of five processes.
    let has_place = cfg!(all(target_os = "linux", debug_assertions, not(profiler_os_threads)));
    for _ in 0..5 {
        // `None` in the process that was to end.
        if run().is_none_or(|said| !has_place || said.contains("spinning.rs:")) {
            return;
        }
    }
    panic!("none of five processes says the place");
}

#[test]
fn a_thread_of_the_operating_system_is_named() {
    let test = "a_thread_of_the_operating_system_is_named";
    check(test, Threads::Os, None, "kernel `emulator::spinning::check");
}
