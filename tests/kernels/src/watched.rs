//! Kernels with `buffer = host`: they are looked at while they run and after they failed, and abused.
//!
//! # Safety
//!
//! The pointers that a kernel gets must be valid for what it reads and writes: one number a thread of the grid, where
//! it says nothing else.
#![allow(clippy::missing_safety_doc, reason = "it is said above, for all kernels")]

use core::sync::atomic::{AtomicU32, Ordering};

use profiler_device::{profile_mark, profile_region, profiled, recorder, region_end, region_start};
use profiler_kernel::{atomic, thread};

use crate::every_strategy::{WHEN_STEP, kernels};

/// Units that a round of [`steps`], and of its like, emits.
pub const UNITS_OF_A_ROUND: u32 = 9;
/// Records of those, the value being none of its own.
pub const RECORDS_OF_A_ROUND: u32 = 8;

macro_rules! steps {
    ($($(#[$attribute:meta])* $name:ident by $strategy:ident;)*) => {$(
        $(#[$attribute])*
        /// Regions in regions, a value, a mark and a region by a token on a track, each round.
        ///
        /// # Safety
        ///
        /// `output` must be valid for one number a thread of the grid.
        #[profiled(buffer = host, by = $strategy)]
        pub unsafe extern "ptx-kernel" fn $name(output: *mut u32, rounds: u32) {
            let mut done = 0;
            while done < rounds {
                let token = region_start!("across", track = 3);
                profile_region!("round", value = done, {
                    profile_region!("inner", {
                        done += 1;
                    });
                    profile_mark!("middle", done);
                });
                region_end!(token);
                profile_mark!("between");
            }
            // SAFETY: one number a thread.
            unsafe { *output.add(thread::index_1d() as usize) = done };
        }
    )*};
}

steps! {
    /// By lane 0.
    steps by warp;
    /// By every thread.
    steps_by_thread by thread;
    /// By one active lane.
    steps_by_elected by elected;
}

/// A region as `by = warp` records it in `buffer = global`, in the same module.
#[profiled]
pub unsafe extern "ptx-kernel" fn in_global_form(output: *mut u32, rounds: u32) {
    let mut done = 0;
    while done < rounds {
        profile_region!("round", {
            done += 1;
        });
    }
    // SAFETY: one number a thread.
    unsafe { *output.add(thread::index_1d() as usize) = done };
}

/// All lanes begin two regions together, `first` and `second`, and end both together: half of them, those whose
/// bit in `earlier` is set, the first one earlier, the others the second one.
/// `earlier` must be valid for one number a warp of the grid.
#[profiled(buffer = host, by = thread)]
pub unsafe extern "ptx-kernel" fn ends_crosswise(earlier: *const u32) {
    let warp = thread::index_1d() / 32;
    // SAFETY: one number a warp.
    let earlier = unsafe { earlier.add(warp as usize).read() };
    let first = region_start!("first");
    let second = region_start!("second");
    let (one, other) = match earlier >> (thread::index_1d() % 32) & 1 {
        1 => (first, second),
        _ => (second, first),
    };
    region_end!(one);
    region_end!(other);
}

/// Goes through `rounds` rounds, and fails in the next one in lane 0 of warp `warp` of block `block`,
/// within two regions. All others wait for it.
/// `never` must be valid for reads of one number, which stays 0.
#[profiled(buffer = host, clock = globaltimer)]
pub unsafe extern "ptx-kernel" fn fails(never: *const u32, rounds: u32, block: u32, warp: u32) {
    let is_it = thread::block_idx_x() == block && thread::thread_idx_x() == 32 * warp;
    profile_region!("all rounds");
    let mut round = 0;
    loop {
        profile_region!("round");
        if round == rounds {
            if is_it {
                profile_region!("the one that fails");
                panic!("as it should");
            }
            profile_region!("wait for what never comes");
            // SAFETY: the caller's.
            unsafe { wait_for(never) };
        }
        profile_mark!("step", round);
        round += 1;
    }
}

/// Waits in each warp until the host says go on, between two regions.
/// `go_on` must be valid for reads of one number by whole words.
#[profiled(buffer = host, clock = globaltimer)]
pub unsafe extern "ptx-kernel" fn waits(go_on: *const u32) {
    profile_region!("before", {
        profile_mark!("here", thread::thread_idx_x() / 32);
    });
    profile_region!("wait for the host", {
        // SAFETY: the caller's.
        unsafe { wait_for(go_on) };
    });
    profile_region!("after");
}

/// Records without end, until the host says stop: rings turn while they are read.
#[profiled(buffer = host, clock = globaltimer)]
pub unsafe extern "ptx-kernel" fn goes_on(stop: *const u32) {
    profile_region!("all");
    let mut round: u32 = 0;
    // SAFETY: the caller's.
    while unsafe { load(stop) } == 0 {
        profile_region!("round", value = round, {
            profile_mark!("number", round);
        });
        round = round.wrapping_add(1);
        yield_to_others();
    }
}

/// Waits for what never comes, and gives up after a time, as a kernel with a limit of its own does.
#[profiled(buffer = host, clock = globaltimer)]
pub unsafe extern "ptx-kernel" fn gives_up(never: *const u32, limit_ns: u32) {
    let prof = recorder!();
    prof.leader().anchor();
    profile_region!("wait with a limit", {
        let begin = profiler_device::hardware::globaltimer();
        // SAFETY: the caller's.
        while unsafe { load(never) } == 0 {
            let waited = profiler_device::hardware::globaltimer() - begin;
            assert!(waited < u64::from(limit_ns), "waited for too long");
            yield_to_others();
        }
    });
}

/// # Safety
///
/// `place` must be valid for reads of one number, which the host may write meanwhile.
unsafe fn load(place: *const u32) -> u32 {
    // SAFETY: the caller's.
    unsafe { AtomicU32::from_ptr(place.cast_mut()) }.load(Ordering::Relaxed)
}

/// # Safety
///
/// As [`load`].
unsafe fn wait_for(place: *const u32) {
    // SAFETY: the caller's.
    atomic::spin_until(|| unsafe { load(place) } != 0);
}

/// Lets other threads of the emulator run.
fn yield_to_others() {
    let mut asked = false;
    atomic::spin_until(|| core::mem::replace(&mut asked, true));
}

kernels! {
    host;
    hosted_block_cycles by block on cycles;
    hosted_warp_cycles by warp on cycles;
    hosted_warp_1_cycles by warp(1) on cycles;
    hosted_warp_group_cycles by warp_group on cycles;
    hosted_elected_cycles by elected on cycles;
    hosted_thread_cycles by thread on cycles;
    hosted_when_cycles by when(thread::thread_rank().is_multiple_of(WHEN_STEP)) on cycles;
    hosted_block_globaltimer by block on globaltimer;
    hosted_warp_globaltimer by warp on globaltimer;
    hosted_warp_1_globaltimer by warp(1) on globaltimer;
    hosted_warp_group_globaltimer by warp_group on globaltimer;
    hosted_elected_globaltimer by elected on globaltimer;
    hosted_thread_globaltimer by thread on globaltimer;
    hosted_when_globaltimer by when(thread::thread_rank().is_multiple_of(WHEN_STEP)) on globaltimer;
}

/// Writes to an address, in the middle of a region.
/// `target` must be valid for a write.
#[profiled(buffer = host)]
pub unsafe extern "ptx-kernel" fn hosted_write_to(target: *mut u32) {
    profile_region!("write", {
        // SAFETY: the caller's.
        unsafe { target.write_volatile(1) };
    });
}
