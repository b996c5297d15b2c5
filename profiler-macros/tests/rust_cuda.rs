//! `#[profiled]` together with Rust-CUDA's own attribute, above it and below it.
#![deny(warnings)]
#![allow(unexpected_cfgs, reason = "`#[kernel]` names a target that rustc no longer has")]

use cuda_std_macros::kernel;
use profiler_device::{profile_region, profiled};

const PRODUCER: u32 = 1;

/// # Safety
///
/// `output` must be valid for one number.
#[kernel]
#[profiled(by = warp(PRODUCER), enabled = PRODUCER > 0, max_threads = PRODUCER * 64)]
pub unsafe fn above(output: *mut u32, rounds: u32) {
    let sum = profile_region!("sum", { rounds + 1 });
    // SAFETY: the caller's promise.
    unsafe { *output = sum };
}

/// # Safety
///
/// `output` must be valid for one number.
#[profiled(track = rounds)]
#[kernel]
pub unsafe fn below(output: *mut u32, rounds: u32) {
    profile_region!("all");
    // SAFETY: the caller's promise.
    unsafe { *output = rounds };
}

/// The signature is the one that `#[kernel]` gives.
#[test]
fn signatures_are_those_of_rust_cuda() {
    let kernels: [unsafe extern "C" fn(*mut u32, u32); 2] = [above, below];
    assert_ne!(kernels[0] as usize, kernels[1] as usize);
}
