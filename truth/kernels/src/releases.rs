//! Moments that all SMs see nearly together: releases of the whole grid by a flag.

use profiler_device::hardware::{globaltimer, lane_id};
use profiler_device::{profile_anchor, profile_mark, profiled, recorder};
use profiler_kernel::atomic::{atomic_add_u32, load_acquire_u32, spin_until, store_release_u32};

use crate::{thread_of_grid, threads_of_grid};

/// Index into `sync` of the number of the last release.
pub const FLAG: usize = 0;
/// Index into `sync` of how often a warp has seen a release; in a cache line of its own.
pub const ARRIVED: usize = 32;
/// Index into `sync` of how many warps gave up for want of time.
pub const EXPIRED: usize = 64;
/// Numbers that `sync` has.
pub const SYNC_WORDS: usize = 96;

/// `count` releases, `interval_ns` apart: thread 0 of the grid writes the number of the release to
/// a flag, from 1 on, once all warps have seen the one before. Every warp polls the flag. When it
/// sees release `r`, it reads `%globaltimer`, marks "release" with the value `r`, and writes the
/// reading to `timers[(r - 1) * warps + warp of the grid]`. A warp that has been in the kernel for
/// `limit_ns` waits no longer, and says so in `sync[EXPIRED]`. Where `anchors` is not 0, every warp
/// reads both clocks behind each mark; where `anchor_cycles` is not 0, while it polls, each time that
/// so many cycles have passed.
///
/// # Safety
///
/// `timers` must be valid for `count` numbers a warp of the grid, `sync` for [`SYNC_WORDS`] zeros.
/// Blocks are one-dimensional and of whole warps, and the GPU holds all of them at once.
#[profiled]
pub unsafe extern "ptx-kernel" fn releases(
    timers: *mut u64,
    sync: *mut u32,
    count: u32,
    interval_ns: u64,
    limit_ns: u64,
    anchors: u32,
    anchor_cycles: u32,
) {
    let recorder = recorder!();
    // SAFETY: all three lie in `sync`.
    let (flag, arrived, expired) =
        unsafe { (sync.add(FLAG), sync.add(ARRIVED), sync.add(EXPIRED)) };
    let (warp, warps) = (thread_of_grid() / 32, threads_of_grid() / 32);
    let begin = globaltimer();
    let is_late = || globaltimer() - begin > limit_ns;
    let anchor_now_and_then = || {
        if anchor_cycles != 0 {
            profile_anchor!(every = anchor_cycles, recorder = recorder);
        }
    };
    let mut release = 1;
    while release <= count {
        if thread_of_grid() == 0 {
            let due_ns = u64::from(release) * interval_ns;
            let before = (release - 1) * warps as u32;
            spin_until(|| {
                anchor_now_and_then();
                // SAFETY: only accessed atomically.
                let all_arrived = unsafe { load_acquire_u32(arrived) } >= before;
                all_arrived && globaltimer() - begin >= due_ns || is_late()
            });
            // SAFETY: as above.
            unsafe { store_release_u32(flag, release) };
        }
        spin_until(|| {
            anchor_now_and_then();
            // SAFETY: as above.
            unsafe { load_acquire_u32(flag) >= release || is_late() }
        });
        let timer = globaltimer();
        profile_mark!("release", release, recorder = recorder);
        if anchors != 0 {
            profile_anchor!(recorder = recorder);
        }
        if lane_id() == 0 {
            // SAFETY: each warp has a number of its own for each release; the counter is only
            // accessed atomically.
            unsafe {
                *timers.add((release - 1) as usize * warps + warp) = timer;
                atomic_add_u32(arrived, 1);
            }
        }
        release += 1;
    }
    if is_late() && lane_id() == 0 {
        // SAFETY: only accessed atomically.
        unsafe { atomic_add_u32(expired, 1) };
    }
}
