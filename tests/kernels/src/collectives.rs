//! Each collective of profiler-kernel between two branches on a value that differs between the
//! lanes of a warp, which tempts LLVM to put a copy of it into either arm.

use core::arch::asm;

use profiler_kernel::{mma, shared_array, thread, warp};

shared_array!(static TILE: [u16; 4096], align = 128);

/// Makes a kernel for each operation, which gets a number of the thread's own and gives one back.
macro_rules! between_branches {
    ($($(#[$attribute:meta])* $name:ident: |$value:ident| $operation:expr;)*) => {$(
        $(#[$attribute])*
        ///
        /// # Safety
        ///
        /// `output` must be valid for one number a thread of the block, which is a whole number of
        /// warps.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(output: *mut u32, odd: u32) {
            let index = thread::thread_idx_x();
            // SAFETY: one number a thread.
            let output = unsafe { output.add(index as usize) };
            let diverges = index & odd != 0;
            if diverges {
                // SAFETY: this thread's number.
                unsafe { output.write_volatile(1) };
            }
            let $value: u32 = index;
            // SAFETY: all lanes of all warps come here together; no operation reads or writes
            // memory but of `TILE`.
            #[allow(unused_unsafe, reason = "some operations are safe")]
            let result: u32 = unsafe { $operation };
            if diverges {
                // SAFETY: this thread's number.
                unsafe { output.write_volatile(result) };
            }
        }
    )*};
}

/// Where lane l gives row l of four 8 x 8 matrices.
fn row() -> *const u8 {
    // SAFETY: 16 bytes for each of the 32 lanes are inside the tile.
    unsafe { TILE.as_mut_ptr().cast::<u8>().add(16 * warp::lane_id() as usize) }
}

/// Bits of a product whose operands are all `value`.
unsafe fn product(value: u32) -> u32 {
    // SAFETY: the caller's lanes come together.
    let [first, ..] = unsafe { mma::mma_m16n8k16_bf16([value; 4], [value; 2], [1.0; 4]) };
    first.to_bits()
}

between_branches! {
    /// A barrier of the block.
    sync_threads: |value| { thread::sync_threads(); value };
    /// A named barrier.
    barrier_sync: |value| { thread::barrier_sync(1, 64); value };
    /// An arrival at a named barrier.
    barrier_arrive: |value| { thread::barrier_arrive(2, 64); value };
    /// A barrier of the warp.
    sync_warp: |value| { warp::sync_warp(warp::ALL_LANES); value };
    /// A shuffle from a lane.
    shuffle: |value| warp::shuffle(warp::ALL_LANES, value, 5);
    /// A shuffle between pairs.
    shuffle_xor: |value| warp::shuffle_xor(warp::ALL_LANES, value, 3);
    /// A shuffle from below.
    shuffle_up: |value| warp::shuffle_up(warp::ALL_LANES, value, 5);
    /// A shuffle from above.
    shuffle_down: |value| warp::shuffle_down(warp::ALL_LANES, value, 5);
    /// Five shuffles.
    reduce: |value| warp::reduce(value, |left, right| left + right);
    /// A vote.
    ballot: |value| warp::ballot(warp::ALL_LANES, value & 2 == 0);
    /// A vote on whether there is one.
    any: |value| u32::from(warp::any(warp::ALL_LANES, value == 7));
    /// A vote on whether it is all.
    all: |value| u32::from(warp::all(warp::ALL_LANES, value == 7));
    /// Which lanes have the same value.
    match_any: |value| warp::match_any(warp::ALL_LANES, value / 2);
    /// Whether all lanes have the same value.
    match_all: |value| u32::from(warp::match_all(warp::ALL_LANES, value));
    /// A barrier that counts.
    sync_threads_count: |value| thread::sync_threads_count(value < 7);
    /// A barrier that tells whether it is all.
    sync_threads_and: |value| u32::from(thread::sync_threads_and(value < 7));
    /// A barrier that tells whether there is one.
    sync_threads_or: |value| u32::from(thread::sync_threads_or(value == 7));
    /// Which lanes are active.
    active_mask: |value| warp::active_mask() ^ value;
    /// A load of matrices.
    ldmatrix: |value| mma::ldmatrix_x4(row())[0] ^ value;
    /// A load of transposed matrices.
    ldmatrix_trans: |value| mma::ldmatrix_x4_trans(row())[0] ^ value;
    /// A product of matrices.
    matrix_product: |value| product(value);
    /// A product of matrices of f16.
    matrix_product_f16: |value| mma::mma_m16n8k16_f16([value; 4], [value; 2], [1.0; 4])[0].to_bits();
    /// A product of matrices of tf32.
    matrix_product_tf32: |value| mma::mma_m16n8k8_tf32([value; 4], [value; 2], [1.0; 4])[0].to_bits();

    /// [`sync_threads`] without the guard: what it prevents.
    unguarded_barrier: |value| { asm!("bar.sync 0;", options(nostack)); value };
    /// [`shuffle_xor`] without the guard.
    unguarded_shuffle: |value| {
        let result: u32;
        asm!(
            "shfl.sync.bfly.b32 {}, {}, 3, 31, -1;",
            out(reg32) result,
            in(reg32) value,
            options(nomem, nostack),
        );
        result
    };
    /// [`ballot`] without the guard.
    unguarded_vote: |value| {
        let result: u32;
        asm!(
            "{{ .reg .pred holds;",
            "setp.ne.u32 holds, {1}, 0;",
            "vote.sync.ballot.b32 {0}, holds, -1; }}",
            out(reg32) result,
            in(reg32) value & 2,
            options(nomem, nostack),
        );
        result
    };
    /// A product of matrices without the guard.
    unguarded_product: |value| {
        let result: u32;
        asm!(
            "{{ .reg .f32 rest<3>;",
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
            "{{{0}, rest0, rest1, rest2}}, {{{1}, {1}, {1}, {1}}}, {{{1}, {1}}},",
            "{{0f3F800000, 0f3F800000, 0f3F800000, 0f3F800000}}; }}",
            out(reg32) result,
            in(reg32) value,
            options(nomem, nostack),
        );
        result
    };
}
