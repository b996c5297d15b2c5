//! Moments that all SMs see together: releases of the whole grid, each at a time that was agreed on.

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
/// Index into `sync` of the moment of the last release, by `%globaltimer`: two numbers.
pub const MOMENT: usize = 80;
/// Numbers that `sync` has.
pub const SYNC_WORDS: usize = 96;

/// How long before the moment of a release it is agreed on. A flag reaches all SMs within a part of it.
pub const NOTICE_NS: u64 = 2_000;

/// `count` barriers of the whole grid, `interval_ns` apart: once all warps have seen the one before, thread 0
/// of the grid writes down a moment, [`NOTICE_NS`] from then, and the number of the release, from 1 on, to a
/// flag. A flag would be seen earlier on one SM than on another; so every warp that sees it waits until
/// `%globaltimer` shows the moment. Then it marks "release" with the value `r`, and writes what the timer
/// showed to `timers[(r - 1) * warps + warp of the grid]`. A warp that has been in the kernel for
/// `limit_ns` waits no longer, and says so in `sync[EXPIRED]`. Where `anchors` is not 0, every warp
/// reads both clocks after each mark; where `anchor_cycles` is not 0, while it polls, each time that
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
    let (flag, arrived, expired, moment) =
        unsafe { (sync.add(FLAG), sync.add(ARRIVED), sync.add(EXPIRED), sync.add(MOMENT)) };
    let moment: *mut u64 = moment.cast();
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
            // SAFETY: the counter and the flag are only accessed atomically. The moment is two numbers of
            // `sync`: who has arrived has read it, and reads it again after the flag.
            unsafe {
                if load_acquire_u32(arrived) >= before {
                    *moment = globaltimer() + NOTICE_NS;
                }
                store_release_u32(flag, release);
            }
        }
        spin_until(|| {
            anchor_now_and_then();
            // SAFETY: as above.
            unsafe { load_acquire_u32(flag) >= release || is_late() }
        });
        // SAFETY: the flag as above; the moment was written before it, and is not written again until this
        // warp has arrived.
        let moment = unsafe { if load_acquire_u32(flag) >= release { moment.read() } else { 0 } };
        let mut timer = globaltimer();
        while timer < moment {
            timer = globaltimer();
        }
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
