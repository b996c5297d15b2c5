//! Kernels to abuse: every strategy with both clocks, in grids and blocks of any shape; threads and
//! warps that leave early; kernels that fail.
//!
//! # Safety
//!
//! The pointers that a kernel gets must be valid for what it reads and writes: one number a thread of the grid, where
//! it says nothing else.
#![allow(clippy::missing_safety_doc, reason = "it is said above, for all kernels")]

use profiler_device::{profile_region, profiled};
use profiler_kernel::thread;

use crate::every_strategy::{WHEN_STEP, kernels, write};

/// The lanes that leave `lanes_leave` early are those below it.
pub const LEAVING_LANES: u32 = 7;

kernels! {
    global;
    block_cycles by block on cycles;
    warp_cycles by warp on cycles;
    warp_1_cycles by warp(1) on cycles;
    warp_group_cycles by warp_group on cycles;
    elected_cycles by elected on cycles;
    thread_cycles by thread on cycles;
    when_cycles by when(thread::thread_rank().is_multiple_of(WHEN_STEP)) on cycles;
    block_globaltimer by block on globaltimer;
    warp_globaltimer by warp on globaltimer;
    warp_1_globaltimer by warp(1) on globaltimer;
    warp_group_globaltimer by warp_group on globaltimer;
    elected_globaltimer by elected on globaltimer;
    thread_globaltimer by thread on globaltimer;
    when_globaltimer by when(thread::thread_rank().is_multiple_of(WHEN_STEP)) on globaltimer;
}

/// Warps of odd index leave before anything is recorded in them; the last warp leaves in the middle
/// of a region of its second round.
/// `output` must be null or valid for one number a thread of the grid.
#[profiled]
pub unsafe extern "ptx-kernel" fn warps_leave(output: *mut u32, rounds: u32) {
    let warp = thread::thread_rank() / 32;
    if warp % 2 == 1 {
        return;
    }
    let threads = thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z();
    let is_last = warp == (threads - 1) / 32;
    let mut done = 0;
    while done < rounds {
        profile_region!("round", {
            if is_last && done == 1 {
                return;
            }
            done += 1;
        });
    }
    // SAFETY: the caller's.
    unsafe { write(output, done) };
}

/// The lanes below [`LEAVING_LANES`] leave before the first round, and lane l of the others in the
/// middle of a region of round l, if there is one.
/// `output` must be null or valid for one number a thread of the grid.
#[profiled(by = thread)]
pub unsafe extern "ptx-kernel" fn lanes_leave(output: *mut u32, rounds: u32) {
    let lane = thread::thread_rank() % 32;
    if lane < LEAVING_LANES {
        return;
    }
    let mut done = 0;
    while done < rounds {
        profile_region!("round", {
            if done == lane {
                return;
            }
            done += 1;
        });
    }
    // SAFETY: the caller's.
    unsafe { write(output, done) };
}

/// Likewise, recorded by one of the lanes that are still there: `rounds` regions in each warp with a
/// lane that stays.
/// `output` must be null or valid for one number a thread of the grid.
#[profiled(by = elected)]
pub unsafe extern "ptx-kernel" fn elected_of_the_rest(output: *mut u32, rounds: u32) {
    if thread::thread_rank() % 32 < LEAVING_LANES {
        return;
    }
    let mut done = 0;
    while done < rounds {
        profile_region!("round", {
            done += 1;
        });
    }
    // SAFETY: the caller's.
    unsafe { write(output, done) };
}

/// A kernel in which profiling is switched off, so that its PTX is that of one without annotations.
/// `output` must be null or valid for one number a thread of the grid.
#[profiled(enabled = false)]
pub unsafe extern "ptx-kernel" fn switched_off(output: *mut u32, rounds: u32) {
    // SAFETY: the caller's.
    unsafe { write(output, rounds) };
}

/// Traps in the last block, in the middle of a region.
#[profiled]
pub unsafe extern "ptx-kernel" fn trap_in_the_last_block(rounds: u32) {
    let mut done = 0;
    while done < rounds {
        profile_region!("round", {
            assert!(done != 1 || thread::block_idx_x() + 1 != thread::grid_dim_x(), "a trap");
            done += 1;
        });
    }
}

/// Writes to an address, in the middle of a region.
/// To be sound, `target` must be valid for a write. Where it is not, a GPU ends the kernel and every
/// other of the process.
#[profiled]
pub unsafe extern "ptx-kernel" fn write_to(target: *mut u32) {
    profile_region!("write", {
        // SAFETY: the caller's.
        unsafe { target.write_volatile(1) };
    });
}
