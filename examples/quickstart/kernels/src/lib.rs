//! The quickstart's kernel: adds two vectors and sums each block's share of the result.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use profiler_device::{profile_region, profiled};
use profiler_kernel::{shared_array, thread};

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// `sum[i] = a[i] + b[i]`, and `block_sums[block]` = the sum of the block's `sum[i]`.
///
/// The threads walk through the vectors in steps of the whole grid, so any grid will do.
///
/// # Safety
///
/// `a`, `b` and `sum` must be valid for `n` numbers, `block_sums` for one number a block; blocks
/// have [`BLOCK`] threads.
#[profiled]
pub unsafe extern "ptx-kernel" fn vector_add(
    a: *const f32,
    b: *const f32,
    sum: *mut f32,
    block_sums: *mut f32,
    n: u32,
) {
    let partial: *mut f32 = shared_array!(static VECTOR_ADD_PARTIAL: [f32; BLOCK as usize]);
    let thread = thread::thread_idx_x();
    let mut index = thread::block_idx_x() * BLOCK + thread;
    let step = thread::grid_dim_x() * BLOCK;
    let mut total = 0.0;
    while index < n {
        let i = index as usize;
        // SAFETY: i < n.
        let (x, y) = profile_region!("load", wait, value = 256, unit = "bytes", {
            unsafe { (*a.add(i), *b.add(i)) }
        });
        profile_region!("add and store", {
            total += x + y;
            // SAFETY: i < n, and no other thread has this i.
            unsafe { *sum.add(i) = x + y };
        });
        index += step;
    }
    profile_region!("reduce", {
        // SAFETY: thread < BLOCK, and each thread writes its own element.
        unsafe { *partial.add(thread as usize) = total };
        profile_region!("barrier", { thread::sync_threads() });
        let mut half = BLOCK / 2;
        while half > 0 {
            if thread < half {
                // SAFETY: both indices are below BLOCK; the upper half was written before the
                // barrier, and no one writes it now.
                unsafe { *partial.add(thread as usize) += *partial.add((thread + half) as usize) };
            }
            profile_region!("barrier", { thread::sync_threads() });
            half /= 2;
        }
    });
    if thread == 0 {
        // SAFETY: one number a block.
        unsafe { *block_sums.add(thread::block_idx_x() as usize) = *partial };
    }
}
