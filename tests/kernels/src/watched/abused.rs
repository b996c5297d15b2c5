//! Kernels to abuse: every strategy with both clocks into memory of the host, in buffers that are too small,
//! with lanes that leave early.

use profiler_device::{profile_region, profiled};
use profiler_kernel::thread;

/// Threads that record in the kernels by `when`: those whose index in the block is a multiple of it.
pub const WHEN_STEP: u32 = 3;

/// In the middle of which round a lane leaves that does so early; `None` for those that leave before the
/// first. Lane 0 is the first of the others.
#[inline(always)]
#[must_use]
pub const fn leaves_in(lane: u32) -> Option<u32> {
    if lane % 8 == 7 { None } else { Some(lane * 7 % 16) }
}

macro_rules! kernels {
    ($($name:ident by $strategy:ident $(($argument:expr))? on $clock:ident;)*) => {$(
        /// One region a round, with the round as its value where `values` is not 0. Where `leaving` is not
        /// 0, lanes leave as [`leaves_in`] says, those in the middle of a region that it gives back.
        /// Writes each thread's number of rounds, of those that stay to the end.
        ///
        /// # Safety
        ///
        /// `output` must be valid for one number a thread of the grid.
        #[profiled(buffer = host, by = $strategy $(($argument))?, clock = $clock)]
        pub unsafe extern "ptx-kernel" fn $name(
            output: *mut u32,
            rounds: u32,
            values: u32,
            leaving: u32,
        ) {
            let last = match leaves_in(thread::thread_rank() % 32) {
                _ if leaving == 0 => u32::MAX,
                Some(round) => round,
                None => return,
            };
            let mut done = 0;
            while done < rounds {
                if values == 0 {
                    profile_region!("round", {
                        if done == last {
                            return;
                        }
                    });
                } else {
                    profile_region!("round with a value", value = done, {
                        if done == last {
                            return;
                        }
                    });
                }
                done += 1;
            }
            // SAFETY: one number a thread.
            unsafe { *output.add(thread::index_1d() as usize) = done };
        }
    )*};
}

kernels! {
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
///
/// # Safety
///
/// `target` must be valid for a write.
#[profiled(buffer = host)]
pub unsafe extern "ptx-kernel" fn hosted_write_to(target: *mut u32) {
    profile_region!("write", {
        // SAFETY: the caller's.
        unsafe { target.write_volatile(1) };
    });
}
