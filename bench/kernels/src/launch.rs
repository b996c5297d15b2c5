//! Kernels for what it costs to enter and leave a profiled kernel.

use profiler_device::{profile_region, profiled};

use crate::WARP;
use crate::instructions::{atomic_add, block, clock64, multiprocessor, scheduler, thread, threads};

/// Spins for `cycles` cycles, and writes how long it took. It lasts as long whatever code is around it;
/// a loop of arithmetic would not.
///
/// # Safety
///
/// `output` must be valid for one number for each thread of the grid.
#[inline(always)]
unsafe fn work(output: *mut f32, cycles: u32) {
    let begin = clock64();
    let mut passed = 0;
    while passed < u64::from(cycles) {
        passed = clock64() - begin;
    }
    let index = block() as usize * threads() as usize + thread() as usize;
    // SAFETY: this thread's number.
    unsafe { *output.add(index) = passed as f32 };
}

/// The work in a kernel that is not annotated.
///
/// # Safety
///
/// As for [`work`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "ptx-kernel" fn launch_unannotated(output: *mut f32, cycles: u32) {
    // SAFETY: the caller's.
    unsafe { work(output, cycles) }
}

/// The work in a profiled kernel without a region: what is added is entry and exit.
///
/// # Safety
///
/// As for [`work`].
#[profiled]
pub(crate) unsafe extern "ptx-kernel" fn launch_profiled(output: *mut f32, cycles: u32) {
    // SAFETY: the caller's.
    unsafe { work(output, cycles) }
}

/// The work in a profiled kernel, in one region.
///
/// # Safety
///
/// As for [`work`].
#[profiled]
pub(crate) unsafe extern "ptx-kernel" fn launch_region(output: *mut f32, cycles: u32) {
    profile_region!("work", {
        // SAFETY: the caller's.
        unsafe { work(output, cycles) }
    });
}

/// How long lane 0 of each warp waits for one atomic in global memory: what claiming a slot cannot be
/// cheaper than. Counters are chosen as a claim chooses them, by SM and scheduler. In cycles, a number
/// for each warp of the grid.
///
/// # Safety
///
/// `counters` must be valid for a counter of 4 bytes for each scheduler of each SM, of which each has 128
/// bytes, and `output` for one number for each warp.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "ptx-kernel" fn launch_round_trip(output: *mut f32, counters: u64) {
    if !thread().is_multiple_of(WARP) {
        return;
    }
    let address = counters + 128 * u64::from(4 * multiprocessor() + scheduler());
    let begin = clock64();
    // SAFETY: the caller's. The second address is not known before the first add has come back, and a warp
    // issues in order, so that the clock is read behind that.
    let end = unsafe {
        let first = atomic_add(address, 1);
        atomic_add(address + u64::from(first >> 31), 0);
        clock64()
    };
    let warp = (block() * threads() + thread()) / WARP;
    // SAFETY: this warp's number.
    unsafe { *output.add(warp as usize) = (end - begin) as f32 };
}
