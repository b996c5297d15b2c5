//! Barriers that lanes of a warp may reach apart from each other (`barrier.sync` without
//! `.aligned`), each in a region.
//!
//! # Safety
//!
//! The pointers that a kernel gets must be valid for what it reads and writes: one number a thread of the grid, where
//! it says nothing else.
#![allow(clippy::missing_safety_doc, reason = "it is said above, for all kernels")]

use profiler_device::hardware::{clock64, lane_id};
use profiler_device::{profile_region, profiled};
use profiler_kernel::thread;

/// Waits for all threads of the block, wherever in the kernel they do (PTX ISA, "barrier").
#[inline(always)]
fn barrier() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: every thread of the block executes it once; memory is taken to change.
    unsafe {
        core::arch::asm!("barrier.sync 0;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    thread::sync_threads();
}

/// Spins until `cycles` have passed since `begin`.
#[inline(always)]
fn spin(begin: u64, cycles: u64) {
    while clock64() - begin < cycles {}
}

/// The warps come to a barrier `delay` cycles apart.
#[profiled]
pub unsafe extern "ptx-kernel" fn whole_warps(output: *mut u32, delay: u32) {
    let begin = clock64();
    spin(begin, u64::from(delay) * u64::from(thread::thread_rank() / 32));
    profile_region!("barrier", { barrier() });
    profile_region!("after the barrier", {
        // SAFETY: one number a thread.
        unsafe { output.add(thread::thread_rank() as usize).write_volatile(delay) };
    });
}

/// The warps come to a barrier `delay` cycles apart, each of them in two halves, one after the other.
#[profiled(by = elected)]
pub unsafe extern "ptx-kernel" fn halves_of_warps(output: *mut u32, delay: u32) {
    let begin = clock64();
    let late = u64::from(delay) * u64::from(thread::thread_rank() / 32);
    // SAFETY: one number a thread.
    let output = unsafe { output.add(thread::thread_rank() as usize) };
    if lane_id() < 16 {
        spin(begin, late);
        profile_region!("low half", { barrier() });
        // SAFETY: this thread's number.
        unsafe { output.write_volatile(delay) };
    } else {
        spin(begin, late);
        profile_region!("high half", { barrier() });
        // SAFETY: as above.
        unsafe { output.write_volatile(delay + 1) };
    }
}
