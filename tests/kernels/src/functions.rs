//! More functions of profiler-kernel, called by kernels whose results a test compares on both back ends: lanes,
//! counting barriers, atomics, number formats, arithmetic, arrays of functions, and the shim.
//!
//! # Safety
//!
//! The pointers that a kernel gets must be valid for what it reads and writes: one number a thread of the grid, where
//! it says nothing else.
#![allow(clippy::missing_safety_doc, reason = "it is said above, for all kernels")]

use profiler_device::profiled;
use profiler_kernel::atomic::{self, spin_until};
use profiler_kernel::shared::{Element, SharedArray};
use profiler_kernel::{math, mma, shared_array, shim, thread, warp};

use crate::write;

/// Numbers that a lane of [`lanes`] writes.
pub const LANES: usize = 13;
/// Numbers that a thread of [`counts`] writes.
pub const COUNTS: usize = 10;
/// Numbers that a thread of [`places`] writes.
pub const PLACES: usize = 21;
/// Numbers of the kernels of atomic operations on integers.
pub const OPERATIONS: usize = 9;
/// Numbers that a thread of [`arithmetic`] writes.
pub const ARITHMETIC: usize = 10;

/// A number of 64 bits of a lane, of which both halves tell it from others.
#[must_use]
#[inline(always)]
pub fn wide(lane: u32) -> u64 {
    u64::from(lane) << 33 | u64::from(100 + lane)
}

/// Shuffles of both widths, of the warp and of segments, and matches; one warp.
#[profiled]
pub unsafe extern "ptx-kernel" fn lanes(output: *mut u64) {
    const ALL: u32 = warp::ALL_LANES;
    let lane = warp::lane_id();
    let value = wide(lane);
    // SAFETY: all lanes come to each of these calls, but to the last the half that its mask names.
    unsafe {
        let half = if lane < 16 { 0xffff } else { 0xffff_0000 };
        let numbers = [
            warp::shuffle(ALL, value, 7),
            warp::shuffle_up(ALL, value, 3),
            warp::shuffle_down(ALL, value, 5),
            warp::shuffle_xor(ALL, value, 9),
            warp::shuffle_width(ALL, value, 11, 8),
            warp::shuffle_up_width(ALL, value, 3, 8),
            warp::shuffle_down_width(ALL, value, 3, 16),
            warp::shuffle_xor_width(ALL, value, 9, 8),
            warp::shuffle_up(ALL, -f64::from(lane), 1).to_bits(),
            warp::shuffle_down_width(ALL, -(lane as i32), 1, 4) as u64,
            warp::match_any(ALL, lane % 5).into(),
            warp::match_any(ALL, -(i64::from(lane % 3) << 40)).into(),
            u64::from(warp::match_all(ALL, 0.5_f64))
                + 2 * u64::from(warp::match_all(ALL, value))
                + 4 * u64::from(warp::match_all(half, lane / 16)),
        ];
        write(output, lane as usize, numbers);
    }
}

/// Counts at barriers, three rounds of them; blocks have one dimension.
#[profiled]
pub unsafe extern "ptx-kernel" fn counts(output: *mut u32) {
    let (rank, dim) = (thread::thread_rank(), thread::block_dim_x());
    let mut numbers = [0; COUNTS];
    let mut round = 0;
    while round < 3 {
        let at = 3 * round as usize;
        numbers[at] = thread::sync_threads_count(rank.is_multiple_of(round + 2));
        numbers[at + 1] = thread::sync_threads_and(rank != dim - 1 + round).into();
        numbers[at + 2] = thread::sync_threads_or(rank == dim + round - 1).into();
        round += 1;
    }
    numbers[9] = shim::thread::sync_threads_count(rank & 6)
        + 1000 * shim::thread::sync_threads_and(rank + 1)
        + 2000 * shim::thread::sync_threads_or(rank & 1024);
    // SAFETY: the caller's.
    unsafe { write(output, thread::index_1d() as usize, numbers) };
}

/// Where a thread is, in two and three dimensions, and by the names of the shim.
#[profiled]
pub unsafe extern "ptx-kernel" fn places(output: *mut u32) {
    use shim::nvptx::*;
    use shim::thread as other;

    let (flat, solid) = (thread::index_2d(), thread::index_3d());
    let (of_thread, of_block) = (other::thread_idx(), other::block_idx());
    // SAFETY: all threads come to the barrier; the rest is the caller's.
    unsafe {
        let of_core = [
            _thread_idx_x() == of_thread.x && _block_idx_x() == of_block.x,
            _thread_idx_y() == of_thread.y && _block_idx_y() == of_block.y,
            _thread_idx_z() == of_thread.z && _block_idx_z() == of_block.z,
            _block_dim_x() == other::block_dim().x && _grid_dim_x() == other::grid_dim().x,
            _block_dim_y() == other::block_dim().y && _grid_dim_y() == other::grid_dim().y,
            _block_dim_z() == other::block_dim().z && _grid_dim_z() == other::grid_dim().z,
        ];
        _syncthreads();
        other::grid_fence();
        other::system_fence();
        if of_thread.x == u32::MAX {
            trap();
        }
        let numbers = [
            flat.x,
            flat.y,
            solid.x,
            solid.y,
            solid.z,
            of_thread.x,
            of_thread.y,
            of_thread.z,
            of_block.x,
            of_block.y,
            of_block.z,
            other::index(),
            other::first().into(),
            other::warp_size(),
            thread::thread_rank(),
            of_core[0].into(),
            of_core[1].into(),
            of_core[2].into(),
            of_core[3].into(),
            of_core[4].into(),
            of_core[5].into(),
        ];
        write(output, other::index() as usize, numbers);
    }
}

/// The operand of a thread in a kernel of atomic operations; as integers of any type, some are negative.
#[must_use]
#[inline(always)]
pub fn operand(thread: u32) -> u64 {
    u64::from(thread + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Makes a kernel of each integer type: every thread does each operation on one of [`OPERATIONS`] numbers in
/// global memory, and on one of the block's, which begin as they do.
macro_rules! operations {
    ($($(#[$attribute:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$attribute])*
        ///
        /// # Safety
        ///
        /// `initial` must be valid for [`OPERATIONS`] numbers, `output` for as many, which begin as those, and
        /// `of_blocks` for as many a block.
        #[profiled]
        pub unsafe extern "ptx-kernel" fn $name(
            initial: *const $type,
            output: *mut $type,
            of_blocks: *mut $type,
        ) {
            let numbers = shared_array!([$type; OPERATIONS]);
            let (index, rank) = (thread::index_1d(), thread::thread_rank() as usize);
            let value = operand(index) as $type;
            // SAFETY: between the barriers numbers are only changed by atomics. Before and after, a thread
            // reads and writes its own.
            unsafe {
                if rank < OPERATIONS {
                    numbers.write(rank, *initial.add(rank));
                }
                thread::sync_threads();
                atomic::atomic_add(output, value);
                atomic::atomic_min(output.add(1), value);
                atomic::atomic_max(output.add(2), value);
                atomic::atomic_and(output.add(3), value | 0xff);
                atomic::atomic_or(output.add(4), value & 0xff);
                atomic::atomic_xor(output.add(5), value);
                let before = atomic::atomic_exch(output.add(6), value);
                atomic::atomic_add(output.add(7), before);
                let mut expected = 0;
                spin_until(|| {
                    let before = atomic::atomic_cas(output.add(8), expected, expected + 1);
                    core::mem::replace(&mut expected, before) == before
                });
                numbers.atomic_add(0, value);
                numbers.atomic_min(1, value);
                numbers.atomic_max(2, value);
                numbers.atomic_and(3, value | 0xff);
                numbers.atomic_or(4, value & 0xff);
                numbers.atomic_xor(5, value);
                let before = numbers.atomic_exch(6, value);
                numbers.atomic_add(7, before);
                let mut expected = 0;
                spin_until(|| {
                    let before = numbers.atomic_cas(8, expected, expected + 1);
                    core::mem::replace(&mut expected, before) == before
                });
                thread::sync_threads();
                if rank < OPERATIONS {
                    let of_block = of_blocks.add(OPERATIONS * thread::block_idx_x() as usize);
                    *of_block.add(rank) = numbers.read(rank);
                }
            }
        }
    )*};
}

operations! {
    /// Of 32 bits.
    atomics_u32: u32;
    /// Of 32 bits with a sign.
    atomics_i32: i32;
    /// Of 64 bits.
    atomics_u64: u64;
    /// Of 64 bits with a sign.
    atomics_i64: i64;
}

/// Adds a quarter of each thread's index to the first number, in global and in shared memory; and hands numbers
/// on by the second, to add up in the third.
/// `f32s` and `f64s` must be valid for three numbers, all 0, and `of_blocks` for three a block.
#[profiled]
pub unsafe extern "ptx-kernel" fn float_atomics(
    f32s: *mut f32,
    f64s: *mut f64,
    of_blocks: *mut f64,
) {
    let (singles, doubles) = (shared_array!([f32; 1]), shared_array!([f64; 2]));
    let value = thread::index_1d() as f32 / 4.0;
    // SAFETY: numbers are only changed by atomics; those of the block by one thread before and after barriers.
    unsafe {
        if thread::thread_rank() == 0 {
            singles.write(0, 0.0);
            doubles.write(0, 0.0);
            doubles.write(1, 0.0);
        }
        thread::sync_threads();
        atomic::atomic_add(f32s, value);
        atomic::atomic_add(f32s.add(2), atomic::atomic_exch(f32s.add(1), value));
        atomic::atomic_add(f64s, value.into());
        atomic::atomic_add(f64s.add(2), atomic::atomic_exch(f64s.add(1), value.into()));
        singles.atomic_add(0, value);
        doubles.atomic_add(0, value.into());
        doubles.atomic_exch(1, 0.5);
        thread::sync_threads();
        if thread::thread_rank() == 0 {
            let sums = [singles.read(0).into(), doubles.read(0), doubles.read(1)];
            write(of_blocks, thread::block_idx_x() as usize, sums);
        }
    }
}

/// A small integer of a matrix, exact in each number format.
#[must_use]
#[inline(always)]
pub fn element(row: usize, column: usize, seed: usize) -> f32 {
    ((row * 7 + column * 3 + seed) % 11) as f32 - 5.0
}

/// Products of f16 and of tf32, by one warp: four sums of each, whose factors and addends are [`element`]s of seeds 0,
/// 4 and 9.
#[profiled]
pub unsafe extern "ptx-kernel" fn products(output: *mut f32) {
    let lane = warp::lane_id() as usize;
    let (g, t) = (lane / 4, lane % 4);
    let halves = |row: usize, column: usize| {
        mma::pack_f16(element(row, column, 0), element(row, column + 1, 0))
    };
    let halves_below = |row: usize| mma::pack_f16(element(row, g, 4), element(row + 1, g, 4));
    let a = |row: usize, column: usize| mma::f32_to_tf32(element(row, column, 0));
    let b = |row: usize| mma::f32_to_tf32(element(row, g, 4));
    let c = [
        element(g, 2 * t, 9),
        element(g, 2 * t + 1, 9),
        element(g + 8, 2 * t, 9),
        element(g + 8, 2 * t + 1, 9),
    ];
    // SAFETY: all lanes come here.
    unsafe {
        let [f0, f1, f2, f3] = mma::mma_m16n8k16_f16(
            [
                halves(g, 2 * t),
                halves(g + 8, 2 * t),
                halves(g, 2 * t + 8),
                halves(g + 8, 2 * t + 8),
            ],
            [halves_below(2 * t), halves_below(2 * t + 8)],
            c,
        );
        let [t0, t1, t2, t3] = mma::mma_m16n8k8_tf32(
            [a(g, t), a(g + 8, t), a(g, t + 4), a(g + 8, t + 4)],
            [b(t), b(t + 4)],
            c,
        );
        write(output, lane, [f0, f1, f2, f3, t0, t1, t2, t3]);
    }
}

/// A number as f16, that one's value, and as tf32.
/// `input` must be valid for one number a thread, and `output` for three.
#[profiled]
pub unsafe extern "ptx-kernel" fn conversions(input: *const f32, output: *mut u32) {
    let index = thread::index_1d() as usize;
    // SAFETY: the caller's.
    unsafe {
        let x = *input.add(index);
        let half = mma::f32_to_f16(x);
        let numbers = [half.into(), mma::f16_to_f32(half).to_bits(), mma::f32_to_tf32(x)];
        write(output, index, numbers);
    }
}

/// Fast functions of a number of the thread's own.
/// `input` must be valid for one number a thread, and `output` for [`ARITHMETIC`].
#[profiled]
pub unsafe extern "ptx-kernel" fn arithmetic(input: *const f32, output: *mut f32) {
    let index = thread::index_1d() as usize;
    // SAFETY: the caller's.
    unsafe {
        let x = *input.add(index);
        let numbers = [
            math::exp2(x),
            math::rsqrt(x),
            math::log2(x),
            math::log(x),
            math::rcp(x),
            math::sin(x),
            math::cos(x),
            math::tanh(x),
            math::fma(x, x, -1.0),
            f32::from_bits(mma::pack_bf16(x, -x)),
        ];
        write(output, index, numbers);
    }
}

/// Bits of accurate functions of a number.
#[must_use]
#[inline(always)]
pub fn accurate(x: f32) -> [u64; 4] {
    let wide = f64::from(x);
    [
        math::libm::sinf(x).to_bits().into(),
        math::libm::powf(x, 1.25).to_bits().into(),
        math::libm::exp(wide).to_bits(),
        math::libm::erf(wide).to_bits(),
    ]
}

/// [`accurate`] of a number of the thread's own.
/// `input` must be valid for one number a thread, and `output` for four.
#[profiled]
pub unsafe extern "ptx-kernel" fn accurately(input: *const f32, output: *mut u64) {
    let index = thread::index_1d() as usize;
    // SAFETY: the caller's.
    unsafe { write(output, index, accurate(*input.add(index))) };
}

/// Hands the numbers of a block's first `N` threads on to their opposites and neighbours, through two arrays.
/// All threads of the block come to the call.
#[inline(always)]
unsafe fn handed_on<T: Element, const N: usize>(value: T) -> [T; 2] {
    let first: SharedArray<T, N> = shared_array!([T; N]);
    let second = shared_array!([T; N], align = 128);
    let rank = thread::thread_rank() as usize;
    // SAFETY: a thread writes its own element of each array, and reads others between barriers.
    unsafe {
        if rank < N {
            first.write(rank, value);
            second.write(rank, value);
        }
        thread::sync_threads();
        let numbers = [first.read(N - 1 - rank % N), second.read((rank + 1) % N)];
        thread::sync_threads();
        numbers
    }
}

/// Numbers handed on by arrays of a generic function: of two lengths, and of two types, in two rounds; blocks have
/// 64 threads.
#[profiled]
pub unsafe extern "ptx-kernel" fn local_arrays(output: *mut u32) {
    let rank = thread::thread_rank();
    let mut numbers = [0; 8];
    let mut round = 0;
    while round < 2 {
        let value = 100 * round + rank;
        // SAFETY: all threads come here.
        unsafe {
            let [opposite, next] = handed_on::<u32, 64>(value);
            let [opposite_of_32, next_of_32] = handed_on::<u16, 32>(value as u16);
            let at = 4 * round as usize;
            (numbers[at], numbers[at + 1]) = (opposite, next);
            (numbers[at + 2], numbers[at + 3]) = (opposite_of_32.into(), next_of_32.into());
        }
        round += 1;
    }
    // SAFETY: the caller's.
    unsafe { write(output, thread::index_1d() as usize, numbers) };
}
