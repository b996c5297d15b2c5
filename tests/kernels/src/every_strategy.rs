//! Kernels to abuse: every strategy with both clocks, with lanes that leave early.

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
    ($buffer:ident; $($name:ident by $strategy:ident $(($argument:expr))? on $clock:ident;)*) => {$(
        /// One region a round, without a value where `values` is 0, with the round as one of 16 bits where
        /// it is 1, and of 32 bits otherwise. Where `leaving` is not 0, lanes leave as
        /// [`leaves_in`](crate::every_strategy::leaves_in) says, those in the middle of a region that it gives
        /// back. Writes each thread's number of rounds, of those that stay to the end, unless `output` is null.
        ///
        /// # Safety
        ///
        /// `output` must be null or valid for one number a thread of the grid.
        #[profiled(buffer = $buffer, by = $strategy $(($argument))?, clock = $clock)]
        pub unsafe extern "ptx-kernel" fn $name(
            output: *mut u32,
            rounds: u32,
            values: u32,
            leaving: u32,
        ) {
            let last = match $crate::every_strategy::leaves_in(thread::thread_rank() % 32) {
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
                } else if values == 1 {
                    profile_region!("round with a short value", value = done as u16, {
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
            // SAFETY: the caller's.
            unsafe { $crate::every_strategy::write(output, done) };
        }
    )*};
}
pub(crate) use kernels;

/// Writes a number to this thread's place.
///
/// # Safety
///
/// `output` must be null or valid for one number a thread of the grid.
#[inline(always)]
pub(crate) unsafe fn write(output: *mut u32, number: u32) {
    if output.is_null() {
        return;
    }
    let [width, height] = [thread::grid_dim_x(), thread::grid_dim_y()];
    let block = u64::from(thread::block_idx_z() * height + thread::block_idx_y())
        * u64::from(width)
        + u64::from(thread::block_idx_x());
    let threads = thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z();
    let index = block * u64::from(threads) + u64::from(thread::thread_rank());
    // SAFETY: one number a thread, x fastest, blocks before threads.
    unsafe { *output.add(index as usize) = number };
}
