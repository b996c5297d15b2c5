//! Kernels for what it costs to enter and leave a profiled kernel.

use profiler_device::{profile_region, profiled};

use crate::instructions::{block, clock64, thread, threads};

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
