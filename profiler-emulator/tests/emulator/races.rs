//! Kernels with a race on purpose: that ThreadSanitizer reports it shows that it sees races at all.
//! `cargo lab sanitize thread` runs each of these by itself and expects it to fail.
#![cfg(profiler_races)]

use profiler_emulator::{LaunchConfig, barrier, block_index, launch, shared_memory, thread_index};

/// Warps of a block write one word, without a barrier between.
#[test]
#[ignore = "has a race on purpose"]
fn planted_race_between_warps() {
    launch(&LaunchConfig::new([1, 1, 1], [64, 1, 1]), || {
        let word = shared_memory(1, 4, 4).cast::<u32>();
        if thread_index()[0].is_multiple_of(32) {
            // SAFETY: the block's own word. That two threads write it is the point.
            unsafe { word.write(1) };
        }
        barrier(0, None);
    })
    .expect("the launch itself succeeds");
}

/// Blocks that follow each other on one SM, which orders nothing, write one word.
#[test]
#[ignore = "has a race on purpose"]
fn planted_race_between_blocks() {
    let mut word = 0_u32;
    let address = (&raw mut word).expose_provenance();
    launch(&LaunchConfig::new([200, 1, 1], [1, 1, 1]), || {
        let word = std::ptr::with_exposed_provenance_mut::<u32>(address);
        // SAFETY: a live word. That several threads write it is the point.
        unsafe { word.write(block_index()[0]) };
    })
    .expect("the launch itself succeeds");
}
