//! A kernel for each strategy that a kernel can have.

use profiler_device::{profile_region, profiled};
use profiler_kernel::thread;

/// Lanes that record in [`by_when`]: those of threads whose index is a multiple of it.
pub const WHEN_STEP: u32 = 3;

macro_rules! kernels {
    ($(
        $(#[$attribute:meta])*
        $name:ident by $strategy:ident $(($argument:expr))?;
    )*) => {$(
        $(#[$attribute])*
        /// One region with a value, which are two units, a round. Writes each thread's number of
        /// rounds.
        ///
        /// # Safety
        ///
        /// `output` must be valid for one number a thread of the grid.
        #[profiled(by = $strategy $(($argument))?)]
        pub unsafe extern "ptx-kernel" fn $name(output: *mut u32, rounds: u32) {
            let mut done = 0;
            while done < rounds {
                profile_region!("round", value = done);
                done += 1;
            }
            // SAFETY: one number a thread.
            unsafe { *output.add(thread::index_1d() as usize) = done };
        }
    )*};
}

kernels! {
    /// By lane 0 of warp 0.
    by_block by block;
    /// By lane 0 of each warp.
    by_warp by warp;
    /// By lane 0 of warp 1.
    by_warp_1 by warp(1);
    /// By lane 0 of every fourth warp.
    by_warp_group by warp_group;
    /// By one active lane.
    by_elected by elected;
    /// By every thread.
    by_thread by thread;
    /// By some threads.
    by_when by when(thread::thread_idx_x().is_multiple_of(WHEN_STEP));
}
