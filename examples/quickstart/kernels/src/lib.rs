//! The quickstart's kernel: adds two vectors and sums each block's share of the result.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]

use profiler_device::{profile_region, profiled};
use profiler_kernel::{shared_array, thread, warp};

/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Numbers that a thread adds in each turn.
pub const PER_THREAD: usize = 16;
/// Numbers that a block adds in each turn.
pub const CHUNK: u32 = BLOCK * PER_THREAD as u32;

/// Numbers that a warp adds in each turn.
const WARP_CHUNK: u32 = 32 * PER_THREAD as u32;

shared_array!(static VECTOR_ADD_PARTIAL: [f32; BLOCK as usize]);

/// `sum[i] = a[i] + b[i]`, and `block_sums[block]` = the sum of the block's `sum[i]`.
///
/// The blocks walk through the vectors in turns of [`CHUNK`] numbers each, so any grid will do.
///
/// # Safety
///
/// `a`, `b` and `sum` must be valid for `n` numbers, `block_sums` for one number a block; blocks
/// have [`BLOCK`] threads; `n` and the numbers of one turn of the grid are together below 2^32.
#[profiled(max_threads = BLOCK)]
pub unsafe extern "ptx-kernel" fn vector_add(
    a: *const f32,
    b: *const f32,
    sum: *mut f32,
    block_sums: *mut f32,
    n: u32,
) {
    let thread = thread::thread_idx_x();
    let mut total = 0.0;
    let mut chunk = thread::block_idx_x() * CHUNK;
    while chunk < n {
        let warp_first = chunk + thread / 32 * WARP_CHUNK;
        let first = warp_first + warp::lane_id();
        let of_warp = n.saturating_sub(warp_first).min(WARP_CHUNK);
        let (x, y) = profile_region!("load", wait, value = of_warp * 8, unit = "bytes", {
            let (mut x, mut y) = ([0.0; PER_THREAD], [0.0; PER_THREAD]);
            for turn in 0..PER_THREAD {
                // After the end, the last number is loaded again: no branch between the loads.
                let i = (first + turn as u32 * 32).min(n - 1) as usize;
                // SAFETY: i < n, as chunk < n.
                (x[turn], y[turn]) = unsafe { (*a.add(i), *b.add(i)) };
            }
            (x, y)
        });
        profile_region!("add and store", {
            for turn in 0..PER_THREAD {
                let i = first + turn as u32 * 32;
                if i < n {
                    total += x[turn] + y[turn];
                    // SAFETY: i < n, and no other thread has this i.
                    unsafe { *sum.add(i as usize) = x[turn] + y[turn] };
                }
            }
        });
        chunk += thread::grid_dim_x() * CHUNK;
    }
    profile_region!("reduce", {
        let index = thread as usize;
        // SAFETY: index < BLOCK, and each thread writes its own element.
        unsafe { VECTOR_ADD_PARTIAL.write(index, total) };
        let mut half = BLOCK as usize / 2;
        loop {
            profile_region!("barrier", { thread::sync_threads() });
            if half == 0 {
                break;
            }
            if index < half {
                // SAFETY: both indices are below BLOCK; the upper half was written before the
                // barrier, and no one writes it now; each thread writes its own element.
                unsafe {
                    let pair =
                        VECTOR_ADD_PARTIAL.read(index) + VECTOR_ADD_PARTIAL.read(index + half);
                    VECTOR_ADD_PARTIAL.write(index, pair);
                }
            }
            half /= 2;
        }
    });
    if thread == 0 {
        // SAFETY: one number a block; the sum was written before the last barrier.
        unsafe { *block_sums.add(thread::block_idx_x() as usize) = VECTOR_ADD_PARTIAL.read(0) };
    }
}
