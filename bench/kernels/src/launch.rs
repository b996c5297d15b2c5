//! Kernels for what it costs to enter and leave a profiled kernel.

use core::arch::asm;

use profiler_device::{profile_region, profiled};

use crate::instructions::{block, lane, opaque_increment, thread, threads};

/// Some work, and one number for each thread.
///
/// # Safety
///
/// `output` must be valid for one number for each thread of the grid.
#[inline(always)]
unsafe fn work(output: *mut f32, rounds: u32) {
    let mut x = lane() as f32;
    let mut done = 0;
    while done < rounds {
        done = opaque_increment(done);
        // SAFETY: arithmetic on a register.
        unsafe {
            asm!("fma.rn.f32 {x}, {x}, 0fC0000000, {x};", x = inout(reg32) x, options(nostack));
        }
    }
    let index = block() as usize * threads() as usize + thread() as usize;
    // SAFETY: this thread's number.
    unsafe { *output.add(index) = x };
}

/// The work in a kernel that is not annotated.
///
/// # Safety
///
/// As for [`work`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "ptx-kernel" fn launch_unannotated(output: *mut f32, rounds: u32) {
    // SAFETY: the caller's.
    unsafe { work(output, rounds) }
}

/// The work in a profiled kernel without a region: what is added is entry and exit.
///
/// # Safety
///
/// As for [`work`].
#[profiled]
pub(crate) unsafe extern "ptx-kernel" fn launch_profiled(output: *mut f32, rounds: u32) {
    // SAFETY: the caller's.
    unsafe { work(output, rounds) }
}

/// The work in a profiled kernel, in one region.
///
/// # Safety
///
/// As for [`work`].
#[profiled]
pub(crate) unsafe extern "ptx-kernel" fn launch_region(output: *mut f32, rounds: u32) {
    profile_region!("work", {
        // SAFETY: the caller's.
        unsafe { work(output, rounds) }
    });
}
