//! A kernel that runs for long, and is looked at meanwhile.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use profiler_device::hardware::globaltimer;
use profiler_device::{profile_region, profiled};
use profiler_kernel::{atomic, thread};

/// Threads of a block.
pub const BLOCK: u32 = 64;

/// Each warp goes through `steps` steps of two phases each. The phases of the last warp of the grid are
/// sixteen times as long as those of the others, which then wait for nothing: it is the one that a
/// program hangs on. Writes each warp's number of steps.
///
/// # Safety
///
/// `done` must be valid for one number a warp; blocks have [`BLOCK`] threads.
#[profiled(buffer = host, clock = globaltimer)]
pub unsafe extern "ptx-kernel" fn long(done: *mut u32, steps: u32, phase_ns: u32) {
    let warp = thread::index_1d() / 32;
    let last = thread::grid_dim_x() * BLOCK / 32 - 1;
    let phase_ns = if warp == last { 16 * phase_ns } else { phase_ns };
    let mut step = 0;
    while step < steps {
        profile_region!("fetch", { work_for(phase_ns) });
        profile_region!("compute", value = step, { work_for(2 * phase_ns) });
        step += 1;
    }
    if thread::thread_idx_x().is_multiple_of(32) {
        // SAFETY: one number a warp, written by one thread.
        unsafe { *done.add(warp as usize) = step };
    }
}

/// Stands for work that takes so long.
fn work_for(ns: u32) {
    let begin = globaltimer();
    atomic::spin_until(|| globaltimer() - begin > u64::from(ns));
}
