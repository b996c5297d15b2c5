//! The Hopper gemm's kernel: C = A x B in bf16, with the means of compute capability 9.0.
//!
//! # Roles
//!
//! A block has three warp groups. One is the *producer*: a single warp of it lets the tensor
//! memory accelerator copy tiles of A and B into a ring of [`STAGES`] stages. The other two are
//! *consumers*: each multiplies half of the rows of every stage, 64 x 256 elements of C that stay in
//! registers from the first step along K to the last. Two mbarriers a stage hand it to and fro:
//! `full` is complete when both tiles have arrived, `empty` when all warps have read them.
//!
//! The grid is persistent, one block an SM, and its blocks take tiles of C in turn. While consumers
//! store one tile, the producer fills the ring for the next.
//!
//! # Shared memory
//!
//! Rows of a stage are 64 elements, 128 bytes, swizzled as `profiler_kernel::tma` tells; so are those
//! of the buffers in which warps put C together for the accelerator to store.

mod order;
mod reference;

use profiler_device::{Recorder, profile_region, profiled, recorder};
use profiler_kernel::mma::{pack_bf16, stmatrix_x4};
use profiler_kernel::shared::dynamic_shared;
use profiler_kernel::tma::{self, TensorMap};
use profiler_kernel::wgmma::{self, Factor};
use profiler_kernel::{mbarrier, shared_array, thread, warp, warp_group};

/// The format of all matrices, for who prepares and checks them.
pub use profiler_kernel::mma::{bf16_to_f32, f32_to_bf16};

pub use order::tile_at;
pub use reference::{REFERENCE_TILE, reference};

/// Rows of C that a block computes at a time, and rows of the box that is loaded of A.
pub const TILE_M: u32 = 128;
/// Columns of C that a block computes at a time, and rows of the box that is loaded of B.
pub const TILE_N: u32 = 256;
/// Elements along K that a stage holds, and columns of the boxes of A and B.
pub const TILE_K: u32 = 64;
/// Stages of the ring.
pub const STAGES: u32 = 4;
/// Rows of the box of C that is stored at once.
pub const STORE_ROWS: u32 = 16;
/// Columns of the box of C that is stored at once.
pub const STORE_COLUMNS: u32 = 64;
/// Threads of a block.
pub const BLOCK: u32 = (1 + CONSUMERS) * GROUP;
/// Bytes of dynamic shared memory of a block.
pub const SHARED_BYTES: u32 = ALIGNMENT + STAGES * STAGE_BYTES + BUFFERS_BYTES;

/// Warp groups that multiply.
const CONSUMERS: u32 = 2;
/// Threads of a warp group.
const GROUP: u32 = 128;
/// Warps that read a stage.
const READERS: u32 = CONSUMERS * GROUP / 32;
/// Rows of C that a consumer computes.
const CONSUMER_M: u32 = TILE_M / CONSUMERS;

/// Bytes of an element of the matrices.
const ELEMENT: u32 = 2;
/// Bytes of a row of a stage, and of a buffer.
const ROW: u32 = TILE_K * ELEMENT;
const A_BYTES: u32 = TILE_M * ROW;
const B_BYTES: u32 = TILE_N * ROW;
const STAGE_BYTES: u32 = A_BYTES + B_BYTES;
/// Bytes of one room for a box of C, and of all buffers of a block.
const BUFFER_BYTES: u32 = STORE_ROWS * ROW;
const BUFFERS_BYTES: u32 = READERS * BUFFERS * BUFFER_BYTES;
/// Buffers of a warp: one is filled while the other is read.
const BUFFERS: u32 = 2;
/// What swizzled tiles are aligned to.
const ALIGNMENT: u32 = 1024;
/// Bytes of what swizzling moves as a whole.
const CHUNK: u32 = 16;
/// Columns of C that one `stmatrix` stores.
const PAIR_COLUMNS: u32 = 16;

/// Elements along K of one product, and their bytes.
const MMA_K: u32 = 16;
const MMA_K_BYTES: u32 = MMA_K * ELEMENT;

/// Registers of a thread of the producer and of a consumer. Together they are what the block has:
/// 168 for each of its threads.
const PRODUCER_REGISTERS: u32 = 56;
const CONSUMER_REGISTERS: u32 = 224;

/// How long a thread waits before it takes the pipeline for broken and ends the kernel.
const WAIT_LIMIT_NS: u64 = 2_000_000_000;

const _: () = assert!(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= 3 * 168);
const _: () = assert!(STORE_COLUMNS * ELEMENT == ROW && STORE_ROWS * 4 == CONSUMER_M);

shared_array!(static HOPPER_FULL: [u64; STAGES as usize]);
shared_array!(static HOPPER_EMPTY: [u64; STAGES as usize]);

/// What the kernel is given of the three matrices. `maps[0]` is that of A, [`TILE_M`] x [`TILE_K`]
/// elements a box; `maps[1]` of B transposed, [`TILE_N`] x [`TILE_K`]; `maps[2]` of C,
/// [`STORE_ROWS`] x [`STORE_COLUMNS`].
pub type Maps = [TensorMap; 3];

/// C = A x B: `m` x `n` from `m` x `k` and `k` x `n`, where B is given transposed, `n` x `k`, so that
/// the rows of both factors lie along K.
///
/// The grid is any number of blocks of [`BLOCK`] threads with [`SHARED_BYTES`] of dynamic shared
/// memory; more than there are SMs or tiles gain nothing. Matrices need not be whole tiles.
///
/// # Safety
///
/// `maps` is in global memory, aligned to 64 bytes, and holds the maps of matrices with these
/// extents, in bf16, stored row by row, with boxes as [`Maps`] says and the 128-byte swizzle. None
/// of the extents is 0 or above 2^24; the launch has the shape above.
#[profiled(by = warp_group, max_threads = BLOCK, min_blocks = 1)]
pub unsafe extern "ptx-kernel" fn hopper_gemm(maps: *const Maps, m: u32, n: u32, k: u32) {
    let ring = Ring::of_the_block();
    let work = Work::new(m, n, k);
    let maps = maps.cast::<TensorMap>();
    if thread::thread_idx_x() == 0 {
        let mut stage = 0;
        while stage < STAGES as usize {
            // SAFETY: one thread, before the block's barrier. The producer arrives once, with the
            // bytes that it expects, and one lane of each warp that reads.
            unsafe {
                mbarrier::init(ring.full.add(stage), 1);
                mbarrier::init(ring.empty.add(stage), READERS);
            }
            stage += 1;
        }
        tma::fence();
        let mut map = 0;
        while map < 3 {
            // SAFETY: the caller's maps.
            unsafe { tma::acquire(maps.add(map)) };
            map += 1;
        }
    }
    thread::sync_threads();

    // SAFETY: all warps come here whole.
    let group = unsafe { warp_group::index() };
    if group == 0 {
        // SAFETY: the whole warp group comes here, and its block has this many for all.
        unsafe { warp_group::release_registers::<PRODUCER_REGISTERS>() };
        // SAFETY: the whole warp comes here. Its first lane tells the others, as in
        // `warp_group::index`.
        if unsafe { warp::shuffle(u32::MAX, warp::warp_id(), 0) } == 0 {
            // SAFETY: the caller's; one warp of the block comes here, whole.
            unsafe { produce(recorder!(), ring, work, maps) };
        }
    } else {
        // SAFETY: as above.
        unsafe { warp_group::take_registers::<CONSUMER_REGISTERS>() };
        // SAFETY: the caller's; the whole warp group comes here.
        unsafe { consume(recorder!(), ring, work, maps.add(2), group - 1) };
    }
}

/// What there is to do.
#[derive(Clone, Copy)]
struct Work {
    /// Tiles of C, down and across.
    down: u32,
    across: u32,
    /// Steps along K of each tile.
    steps: u32,
}

impl Work {
    #[inline(always)]
    fn new(m: u32, n: u32, k: u32) -> Self {
        Self { down: m.div_ceil(TILE_M), across: n.div_ceil(TILE_N), steps: k.div_ceil(TILE_K) }
    }

    #[inline(always)]
    fn tiles(self) -> u32 {
        self.down * self.across
    }

    /// The first row and column of C of a tile.
    #[inline(always)]
    fn origin(self, tile: u32) -> (u32, u32) {
        let (down, across) = tile_at(tile, self.down, self.across);
        (down * TILE_M, across * TILE_N)
    }
}

/// The stages of a block, their mbarriers, and the buffers after them.
#[derive(Clone, Copy)]
struct Ring {
    stages: *mut u8,
    full: *mut u64,
    empty: *mut u64,
}

impl Ring {
    #[inline(always)]
    fn of_the_block() -> Self {
        let base = dynamic_shared();
        let past = base.addr() % ALIGNMENT as usize;
        let skipped = if past == 0 { 0 } else { ALIGNMENT as usize - past };
        Self {
            // SAFETY: SHARED_BYTES has this much to spare.
            stages: unsafe { base.add(skipped) },
            full: HOPPER_FULL.as_mut_ptr(),
            empty: HOPPER_EMPTY.as_mut_ptr(),
        }
    }
}

/// A position in the ring: a stage, and the parity of its phases there.
#[derive(Clone, Copy)]
struct Position {
    stage: u32,
    parity: u32,
}

impl Position {
    const FIRST: Self = Self { stage: 0, parity: 0 };

    #[inline(always)]
    fn advance(&mut self) {
        self.stage += 1;
        if self.stage == STAGES {
            *self = Self { stage: 0, parity: self.parity ^ 1 };
        }
    }
}

/// Has the tiles of all steps of the block's tiles copied, as stages become free.
///
/// The whole warp goes round the loop, though one lane of it starts the copies. To ptxas a loop of
/// one thread is one in which lanes may differ, and it would hand the copies' operands over lane by
/// lane, in a loop around each.
///
/// # Safety
///
/// As [`hopper_gemm`]; one warp of the block calls it, all lanes together.
#[profiled]
#[inline(always)]
unsafe fn produce(prof: Recorder<'_>, ring: Ring, work: Work, maps: *const TensorMap) {
    let lane = warp::lane_id();
    let mut position = Position::FIRST;
    let mut tile = thread::block_idx_x();
    while tile < work.tiles() {
        let (row, column) = work.origin(tile);
        let mut step = 0;
        while step < work.steps {
            let stage = position.stage as usize;
            // SAFETY: stage < STAGES, and there are as many mbarriers of each kind.
            let (full, empty) = unsafe { (ring.full.add(stage), ring.empty.add(stage)) };
            profile_region!("wait empty", {
                // SAFETY: the mbarrier was made before the block's barrier. In the first round the
                // parity is that of the phase before the first: nobody has to leave the stage.
                unsafe { mbarrier::wait_parity_or_trap(empty, position.parity ^ 1, WAIT_LIMIT_NS) }
            });
            profile_region!("issue loads", {
                // SAFETY: all warps have left the stage, whose two tiles are aligned to 1024 bytes;
                // the maps are the caller's, and boxes have the tiles' shapes, so that the bytes of
                // a stage arrive. One lane expects and copies them, and the others wait for it.
                unsafe {
                    let to = ring.stages.add(stage * STAGE_BYTES as usize);
                    let along = step * TILE_K;
                    if lane == 0 {
                        mbarrier::arrive_expecting_bytes(full, STAGE_BYTES);
                        tma::load_2d(to, maps, along, row, full);
                        tma::load_2d(to.add(A_BYTES as usize), maps.add(1), along, column, full);
                    }
                    warp::sync_warp(u32::MAX);
                }
            });
            position.advance();
            step += 1;
        }
        tile += thread::grid_dim_x();
    }
}

/// Computes one half, by rows, of each of the block's tiles.
///
/// # Safety
///
/// As [`hopper_gemm`]; all threads of consumer number `consumer` come together. `map` is that of C.
#[profiled]
#[inline(always)]
unsafe fn consume(
    prof: Recorder<'_>,
    ring: Ring,
    work: Work,
    map: *const TensorMap,
    consumer: u32,
) {
    let lane = warp::lane_id();
    let warp = thread::thread_idx_x() / 32 - GROUP / 32;
    // SAFETY: within the dynamic shared memory: after the stages come the buffers of each warp.
    let buffers =
        unsafe { ring.stages.add((STAGES * STAGE_BYTES + warp * BUFFERS * BUFFER_BYTES) as usize) };
    let a_first = Factor::along_k(ring.stages).advanced(consumer * CONSUMER_M * ROW);
    let b_first = Factor::along_k(ring.stages).advanced(A_BYTES);
    let mut position = Position::FIRST;
    let mut tile = thread::block_idx_x();
    while tile < work.tiles() {
        profile_region!("tile", {
            let mut sums = wgmma::ZEROS;
            let mut step = 0;
            while step < work.steps {
                let stage = position.stage as usize;
                // SAFETY: stage < STAGES, and there are as many mbarriers of each kind.
                let (full, empty) = unsafe { (ring.full.add(stage), ring.empty.add(stage)) };
                profile_region!("wait full", {
                    // SAFETY: the mbarrier was made before the block's barrier; all lanes of the
                    // warp come here, and go on together, as the products ask for.
                    unsafe {
                        mbarrier::wait_parity_or_trap(full, position.parity, WAIT_LIMIT_NS);
                        warp::sync_warp(u32::MAX);
                    }
                });
                profile_region!("wgmma", {
                    let a = a_first.advanced(position.stage * STAGE_BYTES);
                    let b = b_first.advanced(position.stage * STAGE_BYTES);
                    // SAFETY: the whole warp group comes here. Both tiles have arrived, and stay
                    // until one lane of each warp has arrived at `empty`, once for each step, when
                    // the warp's products are complete.
                    unsafe {
                        wgmma::fence();
                        products(&mut sums, a, b);
                        wgmma::commit();
                        wgmma::wait::<0>(&mut sums);
                        if lane == 0 {
                            mbarrier::arrive(empty);
                        }
                    }
                });
                position.advance();
                step += 1;
            }
            profile_region!("epilogue", {
                let (row, column) = work.origin(tile);
                let target = Target { map, buffers, row: row + warp * STORE_ROWS, column, lane };
                // SAFETY: all lanes of the warp come here; the buffers are the warp's own.
                unsafe { store(&sums, target) };
            });
        });
        tile += thread::grid_dim_x();
    }
    // Shared memory belongs to the block only as long as it runs.
    tma::wait_stores_read::<0>();
}

/// Starts the products of one stage.
///
/// Written out, as [`store`] is: sums stay in registers only where each is named by a constant, and
/// the compiler does not unroll loops around these instructions.
///
/// # Safety
///
/// All threads of the warp group come together; see [`wgmma::m64n256k16_bf16`].
#[inline(always)]
unsafe fn products(sums: &mut [f32; wgmma::SUMS], a: Factor, b: Factor) {
    const { assert!(TILE_K / MMA_K == 4) };
    // SAFETY: the caller's.
    unsafe {
        wgmma::m64n256k16_bf16(sums, a, b);
        wgmma::m64n256k16_bf16(sums, a.advanced(MMA_K_BYTES), b.advanced(MMA_K_BYTES));
        wgmma::m64n256k16_bf16(sums, a.advanced(2 * MMA_K_BYTES), b.advanced(2 * MMA_K_BYTES));
        wgmma::m64n256k16_bf16(sums, a.advanced(3 * MMA_K_BYTES), b.advanced(3 * MMA_K_BYTES));
    }
}

/// Where a warp puts C together, and where it belongs.
#[derive(Clone, Copy)]
struct Target {
    map: *const TensorMap,
    /// The warp's buffers.
    buffers: *mut u8,
    /// The first row and column of C.
    row: u32,
    column: u32,
    lane: u32,
}

/// Stores the 16 x 256 elements of C of a warp.
///
/// # Safety
///
/// All lanes of the warp come together; nobody else uses its buffers, and the map is that of C.
#[inline(always)]
unsafe fn store(sums: &[f32; wgmma::SUMS], target: Target) {
    const { assert!(TILE_N / STORE_COLUMNS == 4) };
    // SAFETY: the caller's.
    unsafe {
        store_box::<0>(sums, target);
        store_box::<1>(sums, target);
        store_box::<2>(sums, target);
        store_box::<3>(sums, target);
    }
}

/// Stores box number `BOX` of a warp.
///
/// # Safety
///
/// As [`store`].
#[inline(always)]
unsafe fn store_box<const BOX: u32>(sums: &[f32; wgmma::SUMS], target: Target) {
    const { assert!(STORE_COLUMNS / PAIR_COLUMNS == 4) };
    // SAFETY: one of the warp's buffers.
    let buffer = unsafe { target.buffers.add((BOX % BUFFERS * BUFFER_BYTES) as usize) };
    if target.lane == 0 {
        // The store before the last has read this buffer.
        tma::wait_stores_read::<{ BUFFERS as usize - 1 }>();
    }
    // SAFETY: the caller's; lane 0 of the warp has waited for the buffer.
    unsafe {
        warp::sync_warp(u32::MAX);
        fill::<BOX, 0>(sums, buffer, target.lane);
        fill::<BOX, 1>(sums, buffer, target.lane);
        fill::<BOX, 2>(sums, buffer, target.lane);
        fill::<BOX, 3>(sums, buffer, target.lane);
    }
    tma::fence();
    // SAFETY: the caller's.
    unsafe { warp::sync_warp(u32::MAX) };
    if target.lane == 0 {
        // SAFETY: the buffer is full, and stays as it is until the wait above.
        unsafe {
            tma::store_2d(target.map, target.column + BOX * STORE_COLUMNS, target.row, buffer);
        }
        tma::commit_stores();
    }
}

/// Puts pair number `PAIR` of 8 columns of a box into its buffer.
///
/// # Safety
///
/// As [`store`]; nobody reads the buffer.
#[inline(always)]
unsafe fn fill<const BOX: u32, const PAIR: u32>(
    sums: &[f32; wgmma::SUMS],
    buffer: *mut u8,
    lane: u32,
) {
    // Of the four matrices of 8 x 8 that are stored at once, two lie below each other. Lanes 0 to 7
    // name the rows of the first, 8 to 15 those of the one below it, and so on.
    let row = lane % 16;
    let chunk = (2 * PAIR + lane / 16) ^ (row % 8);
    let first = const { ((BOX * STORE_COLUMNS + PAIR * PAIR_COLUMNS) / 2) as usize };
    let parts = [
        pack_bf16(sums[first], sums[first + 1]),
        pack_bf16(sums[first + 2], sums[first + 3]),
        pack_bf16(sums[first + 4], sums[first + 5]),
        pack_bf16(sums[first + 6], sums[first + 7]),
    ];
    // SAFETY: all lanes come here; each names another chunk of the buffer.
    unsafe { stmatrix_x4(buffer.add((row * ROW + chunk * CHUNK) as usize), parts) };
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use profiler_host::{Backend, BackendChoice, launch};

    use super::*;

    #[test]
    fn every_tile_is_computed_once() {
        for (down, across) in [(1, 1), (3, 5), (16, 4), (17, 3), (64, 32)] {
            let tiles: HashSet<(u32, u32)> =
                (0..down * across).map(|index| tile_at(index, down, across)).collect();
            assert_eq!(tiles.len(), (down * across) as usize, "{down} x {across}");
            assert!(tiles.iter().all(|&(row, column)| row < down && column < across));
        }
    }

    #[test]
    fn the_reference_is_exact_for_integers() {
        let backend = Backend::choose(BackendChoice::Emulator, None).expect("always there");
        let (m, n, k) = (33_u32, 40_u32, 24_u32);
        let a_at = |row: u32, inner: u32| ((row * 7 + inner) % 5) as f32 - 2.0;
        let b_at = |column: u32, inner: u32| ((column * 3 + inner) % 7) as f32 - 3.0;
        let bits = |rows: u32, at: &dyn Fn(u32, u32) -> f32| -> Vec<u16> {
            (0..rows * k).map(|index| f32_to_bf16(at(index / k, index % k))).collect()
        };
        let a = backend.upload(&bits(m, &a_at)).expect("memory");
        let b = backend.upload(&bits(n, &b_at)).expect("memory");
        let mut c = backend.zeroed::<f32>((m * n) as usize).expect("memory");
        let (from_a, from_b, to_c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        // SAFETY: the buffers hold matrices of these extents, k is a multiple of 8, and two blocks down
        // and two across cover C.
        unsafe {
        launch!(
            backend,
            reference<<<(2, 2), (REFERENCE_TILE, REFERENCE_TILE)>>>(from_a, from_b, to_c, m, n, k)
        )
    }
    .expect("the kernel runs");
        for (index, got) in c.read().expect("there").into_iter().enumerate() {
            let (row, column) = (index as u32 / n, index as u32 % n);
            let wanted: f32 = (0..k).map(|inner| a_at(row, inner) * b_at(column, inner)).sum();
            assert_eq!(got, wanted, "row {row}, column {column}");
        }
    }

    #[test]
    fn on_the_emulator_the_launch_fails_and_says_why() {
        let backend = Backend::choose(BackendChoice::Emulator, None).expect("always there");
        let maps = backend.zeroed::<u64>(48).expect("memory");
        let from = maps.as_ptr().cast::<Maps>();
        // SAFETY: the kernel ends before it looks at the maps.
        let launched = unsafe {
            launch!(backend, hopper_gemm<<<1, BLOCK, SHARED_BYTES>>>(from, 128, 256, 64))
        };
        let error = launched.expect_err("there is no twin").to_string();
        assert!(error.contains("compute capability 9.0"), "{error}");
    }
}
