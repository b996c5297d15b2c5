//! Accesses beyond the ends of a buffer end the process, with a message that names the buffer and the thread. (With
//! `profiler_os_threads`, a sanitizer may end it otherwise.)
#![cfg(all(target_os = "linux", not(profiler_os_threads)))]

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::common::{config, ending_of, thread};
use profiler_emulator::{GuardedMemory, LaunchConfig, Threads, launch};

const SIGSEGV: i32 = 11;

/// Adds 1 to `numbers[thread + shift]` in 64 threads, and requires what the process says before it ends.
fn check(test: &str, threads: Threads, numbers: usize, shift: isize, said: &[&str]) {
    let ended = ending_of(&format!("guards::{test}"), SIGSEGV, || {
        let memory = GuardedMemory::zeroed::<u32>(numbers, 1).expect("memory");
        let address = memory.as_ptr().addr();
        let config = LaunchConfig { threads, name: Some("add_one"), ..config(1, 64) };
        launch(&config, || {
            let number = std::ptr::with_exposed_provenance_mut::<u32>(address)
                .wrapping_offset(thread() as isize + shift);
            // SAFETY: none beyond the buffer: the process ends there, which is what is tested.
            unsafe { number.write_volatile(number.read_volatile() + 1) };
        })
        .expect("the process ends before");
    });
    let Some(stderr) = ended else { return };
    for said in said.iter().chain(&["guards.rs:", "of block [0, 0, 0] of kernel `add_one`"]) {
        assert!(stderr.contains(said), "{said}: {stderr}");
    }
}

#[test]
fn the_first_element_after_the_end_is_named() {
    check(
        "the_first_element_after_the_end_is_named",
        Threads::Coroutines,
        5,
        0,
        &[
            "thread [5, 0, 0]",
            "element 5 of a buffer of 5 u32, which is the first one after its end",
        ],
    );
}

#[test]
fn an_element_far_after_the_end_is_named() {
    check(
        "an_element_far_after_the_end_is_named",
        Threads::Coroutines,
        5,
        5 + 59,
        &["thread [0, 0, 0]", "element 64 of a buffer of 5 u32, which is 59 after its end"],
    );
}

#[test]
fn an_element_before_the_first_is_named() {
    check(
        "an_element_before_the_first_is_named",
        Threads::Coroutines,
        1024,
        -1,
        &[
            "thread [0, 0, 0]",
            "element -1 of a buffer of 1024 u32, which is 1 before its first one",
        ],
    );
}

#[test]
fn a_buffer_without_elements_has_none() {
    check(
        "a_buffer_without_elements_has_none",
        Threads::Coroutines,
        0,
        0,
        &["thread [0, 0, 0]", "element 0 of a buffer of 0 u32"],
    );
}

#[test]
fn threads_of_the_operating_system_are_named_too() {
    check(
        "threads_of_the_operating_system_are_named_too",
        Threads::Os,
        5,
        0,
        &["thread [5, 0, 0]", "element 5 of a buffer of 5 u32"],
    );
}

#[test]
fn the_host_is_told_apart_from_a_kernel() {
    let ended = ending_of("guards::the_host_is_told_apart_from_a_kernel", SIGSEGV, || {
        let memory = GuardedMemory::zeroed::<[u8; 3]>(2, 1).expect("memory");
        // SAFETY: none: the process ends, which is what is tested.
        black_box(unsafe { memory.as_ptr().wrapping_add(6).read_volatile() });
    });
    if let Some(stderr) = ended {
        assert!(
            stderr.contains("the host accessed element 2 of a buffer of 2 [u8; 3]"),
            "{stderr}"
        );
    }
}

#[test]
fn memory_is_zero_and_as_aligned_as_asked_for() {
    for (alignment, bytes) in [(1, 5), (16, 5), (256, 1000), (4096, 4097), (1, 0)] {
        let memory = GuardedMemory::zeroed::<u8>(bytes, alignment).expect("memory");
        assert_eq!((memory.as_ptr().addr() % alignment, memory.bytes()), (0, bytes));
        // SAFETY: so many bytes are there, and nothing writes to them.
        let all = unsafe { std::slice::from_raw_parts(memory.as_ptr(), bytes) };
        assert!(all.iter().all(|&byte| byte == 0));
    }
    let words = GuardedMemory::zeroed::<AtomicU32>(3, 1).expect("memory");
    assert_eq!(words.as_ptr().addr() % 4, 0);
    // SAFETY: the third of three words, aligned to 4.
    let last = unsafe { AtomicU32::from_ptr(words.as_ptr().cast::<u32>().add(2)) };
    assert_eq!((last.fetch_add(1, Relaxed), last.load(Relaxed)), (0, 1));
    assert!(GuardedMemory::zeroed::<u64>(usize::MAX / 2, 1).is_none());
    assert!(GuardedMemory::zeroed::<u8>(usize::MAX / 2, 1).is_none());
}
