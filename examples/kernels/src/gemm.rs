//! The gemm's kernel: C = A x B in bf16 on tensor cores, fed by a pipeline of asynchronous copies.
//!
//! # Tiles
//!
//! A block computes a tile of 128 x 128 elements of C. It walks along K in steps of 64: each step is
//! one *stage* of shared memory, 128 x 64 of A and 64 x 128 of B, and while one stage is multiplied
//! the following [`STAGES`]` - 1` are on their way. Eight warps share a tile, 2 down and 4 across,
//! 64 x 32 elements of C each, which stay in registers from the first step to the last.
//!
//! # Shared memory without bank conflicts
//!
//! `ldmatrix` reads eight rows of 16 bytes at a time, and rows that lie a multiple of 128 bytes
//! apart would all fall on the same banks. So each row stores its 16-byte chunks in another order:
//! chunk c of row r lies where chunk c XOR (r mod 8) would. The eight chunks of one column in eight
//! rows that follow each other then lie on all 32 banks.

use profiler_device::{profile_region, profiled};
use profiler_kernel::copy::{cp_async_16, cp_async_commit, cp_async_wait};
use profiler_kernel::mma::{ldmatrix_x4, ldmatrix_x4_trans, mma_m16n8k16_bf16};
use profiler_kernel::shared::dynamic_shared;
use profiler_kernel::{thread, warp};

/// The format of A and B, for who prepares them.
pub use profiler_kernel::mma::{bf16_to_f32, f32_to_bf16};

/// Rows of C that a block computes.
pub const TILE_M: u32 = 128;
/// Columns of C that a block computes.
pub const TILE_N: u32 = 128;
/// Columns of A, and rows of B, that a stage holds.
pub const TILE_K: u32 = 64;
/// Stages of shared memory.
pub const STAGES: u32 = 3;
/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Bytes of dynamic shared memory of a block.
pub const SHARED_BYTES: u32 = STAGES * STAGE_BYTES;

/// Bytes of an element of A or B.
const ELEMENT: u32 = 2;
/// Bytes of a row of A's tile and of B's.
const A_ROW: u32 = TILE_K * ELEMENT;
const B_ROW: u32 = TILE_N * ELEMENT;
/// Where B's tile begins in a stage.
const B_OFFSET: u32 = TILE_M * A_ROW;
const STAGE_BYTES: u32 = B_OFFSET + TILE_K * B_ROW;
/// Bytes of one asynchronous copy, and of one row of a matrix of `ldmatrix`.
const CHUNK: u32 = 16;

/// Rows and columns of C that a warp computes, and how many warps share a row of the tile.
const WARP_M: u32 = 64;
const WARP_N: u32 = 32;
const WARPS_ACROSS: u32 = TILE_N / WARP_N;
/// The shape of one `mma`.
const MMA_M: u32 = 16;
const MMA_N: u32 = 8;
const MMA_K: u32 = 16;
/// Matrices of one `mma` in a warp's share, down and across.
const DOWN: usize = (WARP_M / MMA_M) as usize;
const ACROSS: usize = (WARP_N / MMA_N) as usize;
/// Operations (a multiplication and an addition count as two) of a warp in one step.
const STEP_FLOP: u32 = 2 * WARP_M * WARP_N * TILE_K;

/// Rows of a tile that the block copies at once, a chunk a thread.
const A_ROWS_AT_ONCE: u32 = BLOCK * CHUNK / A_ROW;
const B_ROWS_AT_ONCE: u32 = BLOCK * CHUNK / B_ROW;

const _: () = assert!(BLOCK / 32 == TILE_M / WARP_M * WARPS_ACROSS, "one warp a share of the tile");
// Rows that a thread copies are multiples of 8 apart, so that all lie in the same chunk.
const _: () = assert!(A_ROWS_AT_ONCE.is_multiple_of(8) && B_ROWS_AT_ONCE.is_multiple_of(8));

/// Where chunk `chunk` of row `row` lies in its row, in bytes.
#[inline(always)]
const fn swizzled(row: u32, chunk: u32) -> u32 {
    (chunk ^ (row % 8)) * CHUNK
}

/// What one thread copies from global memory into each stage.
struct Copies {
    /// The thread's first chunk of the next tile of A and of B.
    a: *const u8,
    b: *const u8,
    /// Bytes between two chunks that this thread copies.
    a_stride: u32,
    b_stride: u32,
    /// Bytes from one tile of B to the next (of A: a row of the tile).
    b_next: usize,
    /// Where the thread's first chunks lie in a stage.
    a_to: u32,
    b_to: u32,
}

impl Copies {
    /// The calling thread's share of its block's tiles.
    ///
    /// # Safety
    ///
    /// `a` and `b` must be valid as [`gemm`] says.
    #[inline(always)]
    unsafe fn new(a: *const u16, b: *const u16, n: u32, k: u32) -> Self {
        let thread = thread::thread_idx_x();
        let (a_row, a_chunk) = (thread / (A_ROW / CHUNK), thread % (A_ROW / CHUNK));
        let (b_row, b_chunk) = (thread / (B_ROW / CHUNK), thread % (B_ROW / CHUNK));
        let first_row = thread::block_idx_y() * TILE_M + a_row;
        let first_column = thread::block_idx_x() * TILE_N;
        let a_bytes = first_row as usize * (k * ELEMENT) as usize + (a_chunk * CHUNK) as usize;
        let b_bytes = b_row as usize * (n * ELEMENT) as usize
            + (first_column * ELEMENT + b_chunk * CHUNK) as usize;
        Self {
            // SAFETY: first_row < m and first_column < n, by the shape of the grid; the chunk is
            // one of the tile's first, and K has at least one tile.
            a: unsafe { a.cast::<u8>().add(a_bytes) },
            // SAFETY: as for a.
            b: unsafe { b.cast::<u8>().add(b_bytes) },
            a_stride: A_ROWS_AT_ONCE * k * ELEMENT,
            b_stride: B_ROWS_AT_ONCE * n * ELEMENT,
            b_next: (TILE_K * ELEMENT) as usize * n as usize,
            a_to: a_row * A_ROW + swizzled(a_row, a_chunk),
            b_to: B_OFFSET + b_row * B_ROW + swizzled(b_row, b_chunk),
        }
    }

    /// Issues the copies of the next tiles into the stage at `stage`; they have arrived when the
    /// group that they are committed to has.
    ///
    /// # Safety
    ///
    /// There must be such tiles, and no thread may still read the stage.
    #[inline(always)]
    unsafe fn issue(&self, stage: *mut u8) {
        let mut row = 0;
        while row < TILE_M / A_ROWS_AT_ONCE {
            // SAFETY: `row * A_ROWS_AT_ONCE` rows further down, still in the tile and the stage;
            // chunks are aligned to 16 bytes, since rows of A and of a stage are.
            unsafe {
                cp_async_16(
                    stage.add((self.a_to + row * A_ROWS_AT_ONCE * A_ROW) as usize),
                    self.a.add((row * self.a_stride) as usize),
                );
            }
            row += 1;
        }
        let mut row = 0;
        while row < TILE_K / B_ROWS_AT_ONCE {
            // SAFETY: as for A.
            unsafe {
                cp_async_16(
                    stage.add((self.b_to + row * B_ROWS_AT_ONCE * B_ROW) as usize),
                    self.b.add((row * self.b_stride) as usize),
                );
            }
            row += 1;
        }
    }

    /// Goes on to the next tiles along K.
    #[inline(always)]
    fn advance(&mut self) {
        // After the last tile the pointers lie outside the matrices, and are not used.
        self.a = self.a.wrapping_add(A_ROW as usize);
        self.b = self.b.wrapping_add(self.b_next);
    }
}

/// Two neighbours of a row of C, stored at once.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Pair([f32; 2]);

/// C = A x B, in bf16 with sums in f32.
///
/// The grid is `n / TILE_N` blocks across and `m / TILE_M` down, of [`BLOCK`] threads and
/// [`SHARED_BYTES`] of dynamic shared memory.
///
/// # Safety
///
/// All matrices are stored row by row without gaps: `a` is `m` x `k` and `b` `k` x `n` elements of
/// bf16, aligned to 16 bytes, `c` `m` x `n` of f32, aligned to 8. `m` is a multiple of [`TILE_M`],
/// `n` of [`TILE_N`] and `k` of [`TILE_K`], none of them 0 nor above
/// 2^24; the launch has the shape above.
#[profiled(max_threads = BLOCK, min_blocks = 2)]
pub unsafe extern "ptx-kernel" fn gemm(a: *const u16, b: *const u16, c: *mut f32, n: u32, k: u32) {
    let stages = dynamic_shared();
    // SAFETY: the caller's.
    let mut copies = unsafe { Copies::new(a, b, n, k) };
    let steps = k / TILE_K;
    let mut stage = 0;
    while stage < STAGES - 1 {
        if stage < steps {
            // SAFETY: there is such a tile, and nothing has been read from any stage yet.
            unsafe { copies.issue(stages.add((stage * STAGE_BYTES) as usize)) };
        }
        // A group for each stage, be it empty: so the wait below can count groups.
        cp_async_commit();
        copies.advance();
        stage += 1;
    }

    let lane = warp::lane_id();
    let warp = thread::thread_idx_x() / 32;
    let (warp_down, warp_across) = (warp / WARPS_ACROSS, warp % WARPS_ACROSS);
    // Where in a stage the row lies that this lane names to `ldmatrix`: lanes 0 to 15 the left chunk
    // of 16 rows, lanes 16 to 31 the chunk to the right of it. Going on by a multiple of 8 rows is a
    // sum. Going on by an even number of chunks is an exclusive or with their bytes: so it is in the
    // unswizzled row, where these bits are 0, and swizzling is an exclusive or too.
    let a_from = {
        let row = warp_down * WARP_M + lane % 16;
        row * A_ROW + swizzled(row, lane / 16)
    };
    let b_from = {
        let row = lane % 16;
        let chunk = warp_across * (WARP_N * ELEMENT / CHUNK) + lane / 16;
        B_OFFSET + row * B_ROW + swizzled(row, chunk)
    };
    let mut sums = [[[0.0_f32; 4]; ACROSS]; DOWN];
    let (mut read, mut write) = (0, (STAGES - 1) * STAGE_BYTES);
    let mut step = 0;
    while step < steps {
        profile_region!("wait", {
            // The groups after the next STAGES - 2 have arrived: this step's among them.
            cp_async_wait::<{ STAGES as usize - 2 }>();
        });
        // After it everyone's copies have arrived, and everyone has read the stage of the step before.
        profile_region!("barrier", { thread::sync_threads() });
        profile_region!("load", {
            if step + STAGES - 1 < steps {
                // SAFETY: there is such a tile, and the stage is that of the step before, which all
                // have read.
                unsafe { copies.issue(stages.add(write as usize)) };
            }
            cp_async_commit();
        });
        copies.advance();
        profile_region!("mma", value = STEP_FLOP, unit = "flop", {
            let (a_stage, b_stage) = (read + a_from, read + b_from);
            for inner in 0..TILE_K / MMA_K {
                let a_at = a_stage ^ (inner * MMA_K * ELEMENT);
                let b_at = b_stage + inner * MMA_K * B_ROW;
                let mut a_parts = [[0; 4]; DOWN];
                for (down, part) in a_parts.iter_mut().enumerate() {
                    // SAFETY: all lanes come here; a row of this stage's tile of A, which has
                    // arrived.
                    *part = unsafe {
                        let row = stages.add(a_at as usize + down * (MMA_M * A_ROW) as usize);
                        ldmatrix_x4(row)
                    };
                }
                let mut b_parts = [[0; 2]; ACROSS];
                for (pair, parts) in b_parts.chunks_exact_mut(2).enumerate() {
                    // SAFETY: as for A.
                    let [k0, k8, next_k0, next_k8] = unsafe {
                        let row = stages.add((b_at ^ (pair as u32 * 2 * MMA_N * ELEMENT)) as usize);
                        ldmatrix_x4_trans(row)
                    };
                    parts[0] = [k0, k8];
                    parts[1] = [next_k0, next_k8];
                }
                for (row, a_part) in sums.iter_mut().zip(&a_parts) {
                    for (sum, b_part) in row.iter_mut().zip(&b_parts) {
                        // SAFETY: all warps and all their lanes come here together.
                        *sum = unsafe { mma_m16n8k16_bf16(*a_part, *b_part, *sum) };
                    }
                }
            }
        });
        read = next_stage(read);
        write = next_stage(write);
        step += 1;
    }

    profile_region!("store", {
        let row = thread::block_idx_y() * TILE_M + warp_down * WARP_M + lane / 4;
        let column = thread::block_idx_x() * TILE_N + warp_across * WARP_N + lane % 4 * 2;
        for (down, sums) in sums.iter().enumerate() {
            let row = row as usize + down * MMA_M as usize;
            for (across, &[x, y, x_below, y_below]) in sums.iter().enumerate() {
                let column = column as usize + across * MMA_N as usize;
                // SAFETY: row + 8 < m and column + 1 < n, by the shape of the grid; the column is
                // even and n too, so that pairs are aligned. No other lane has these elements.
                unsafe {
                    let to = c.add(row * n as usize + column).cast::<Pair>();
                    *to = Pair([x, y]);
                    *to.byte_add(8 * n as usize * size_of::<f32>()) = Pair([x_below, y_below]);
                }
            }
        }
    });
}

/// Where the stage after the one at `stage` begins.
#[inline(always)]
const fn next_stage(stage: u32) -> u32 {
    if stage == (STAGES - 1) * STAGE_BYTES { 0 } else { stage + STAGE_BYTES }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use profiler_host::{Backend, BackendChoice, launch};

    use super::*;

    /// `ldmatrix` reads eight rows of 16 bytes at a time; 128 bytes are all the banks.
    #[test]
    fn rows_that_are_read_together_lie_on_different_banks() {
        for row_bytes in [A_ROW, B_ROW] {
            for chunk in 0..row_bytes / CHUNK {
                for first in (0..TILE_K).step_by(8) {
                    let place = |row| row * row_bytes + swizzled(row, chunk);
                    let banks: HashSet<u32> =
                        (first..first + 8).map(|row| place(row) % 128).collect();
                    assert_eq!(banks.len(), 8, "chunk {chunk} of rows {first} and on");
                }
            }
        }
    }

    #[test]
    fn each_chunk_of_a_row_has_its_own_place() {
        for (chunks, row) in [(A_ROW / CHUNK, 5), (B_ROW / CHUNK, 6)] {
            let places: HashSet<u32> = (0..chunks).map(|chunk| swizzled(row, chunk)).collect();
            assert_eq!(places.len(), chunks as usize);
            assert!(places.iter().all(|&place| place < chunks * CHUNK));
        }
    }

    /// Steps along K: fewer than stages, as many, more, and not a multiple of them. The elements are
    /// small integers, so that all sums are exact.
    #[test]
    fn the_product_is_exact_for_integers() {
        let backend = Backend::choose(BackendChoice::Emulator, None).expect("always there");
        for (down, across, steps) in [(1, 1, 1), (1, 2, 2), (2, 1, 3), (1, 1, 7)] {
            let [m, n, k] = [down * TILE_M, across * TILE_N, steps * TILE_K].map(|x| x as usize);
            let small = |seed: usize| move |index: usize| (index * seed % 17) as f32 - 8.0;
            let (a_at, b_at) = (small(7), small(5));
            let bits = |count: usize, at: &dyn Fn(usize) -> f32| -> Vec<u16> {
                (0..count).map(|index| f32_to_bf16(at(index))).collect()
            };
            let a = backend.upload(&bits(m * k, &a_at)).expect("memory");
            let b = backend.upload(&bits(k * n, &b_at)).expect("memory");
            let mut c = backend.zeroed::<f32>(m * n).expect("memory");
            let (from_a, from_b, to_c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
            let (n_u32, k_u32) = (across * TILE_N, steps * TILE_K);
            // SAFETY: whole tiles, and the launch that the kernel asks for.
            unsafe {
            launch!(
                backend,
                gemm<<<(across, down), BLOCK, SHARED_BYTES>>>(from_a, from_b, to_c, n_u32, k_u32)
            )
        }
        .expect("the kernel runs");
            for (index, got) in c.read().expect("there").into_iter().enumerate() {
                let (row, column) = (index / n, index % n);
                let wanted: f32 = (0..k).map(|i| a_at(row * k + i) * b_at(i * n + column)).sum();
                assert_eq!(got, wanted, "row {row}, column {column} of {m} x {n} x {k}");
            }
        }
    }
}
