//! The pipeline's kernel: producer warps copy tiles into shared memory, consumer warps compute on
//! them, and barriers in shared memory hand the stages to and fro.

use profiler_device::{Recorder, profile_region, profile_signal, profile_wait, profiled, recorder};
use profiler_kernel::copy::{cp_async_16, cp_async_commit, cp_async_wait};
use profiler_kernel::math::fma;
use profiler_kernel::{mbarrier, shared_array, thread, warp};

/// Rows of a tile.
pub const ROWS: u32 = 16;
/// Columns of a tile, and of the whole input.
pub const COLUMNS: u32 = 128;
/// Stages of shared memory.
pub const STAGES: u32 = 4;
/// Warps that copy.
pub const PRODUCERS: u32 = 2;
/// Warps that compute.
pub const CONSUMERS: u32 = 4;
/// Threads of a block.
pub const BLOCK: u32 = (PRODUCERS + CONSUMERS) * 32;

/// Elements of a tile.
const TILE: u32 = ROWS * COLUMNS;
/// Elements of one asynchronous copy (16 bytes), and those of a row that one lane computes on.
const CHUNK: u32 = 4;
/// Operations of one consumer on a tile, for each term.
const WARP_FLOP: u32 = 2 * TILE / CONSUMERS;
const TILE_CHUNKS: u32 = TILE / CHUNK;
const TILE_BYTES: u32 = TILE * size_of::<f32>() as u32;

shared_array!(static TILES: [Chunk; (STAGES * TILE_CHUNKS) as usize]);
shared_array!(static FULL: [u64; STAGES as usize]);
shared_array!(static EMPTY: [u64; STAGES as usize]);

const _: () = assert!(COLUMNS == 32 * CHUNK, "a warp reads a row, a chunk a lane");
const _: () = assert!(ROWS.is_multiple_of(CONSUMERS) && STAGES.is_multiple_of(PRODUCERS));

/// A chunk: what is copied and read at once.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Chunk(pub [f32; CHUNK as usize]);

/// `output[row]` = the sum over a row's elements x of 1 + x + x^2 + .. , with `early_terms` terms in
/// the first half of the tiles and `late_terms` in the second ([`terms_of`]).
///
/// Block b takes tiles b, b + grid, b + 2 x grid, .. of `tiles`. The more terms, the more work a
/// tile is for the consumers, while the copy stays the same: so the terms decide who waits for whom.
///
/// # Safety
///
/// `input` is `tiles` x [`ROWS`] rows of [`COLUMNS`] numbers, aligned to 16 bytes, and `output` one
/// number a row. Blocks have [`BLOCK`] threads.
#[profiled(max_threads = BLOCK, min_blocks = 1)]
pub unsafe extern "ptx-kernel" fn pipeline(
    input: *const Chunk,
    output: *mut f32,
    tiles: u32,
    early_terms: u32,
    late_terms: u32,
) {
    let stages =
        Stages { data: TILES.as_mut_ptr(), full: FULL.as_mut_ptr(), empty: EMPTY.as_mut_ptr() };
    if thread::thread_idx_x() == 0 {
        let mut stage = 0;
        while stage < STAGES as usize {
            // SAFETY: one thread, before the block's barrier. Every lane of the one producer that
            // fills a stage arrives, and every lane of all consumers.
            unsafe {
                mbarrier::init(stages.full.add(stage), 32);
                mbarrier::init(stages.empty.add(stage), CONSUMERS * 32);
            }
            stage += 1;
        }
    }
    thread::sync_threads();

    let warp = warp::warp_id();
    if warp < PRODUCERS {
        // SAFETY: the caller's.
        unsafe { produce(recorder!(), stages, warp, input, tiles) };
    } else {
        // SAFETY: the caller's.
        unsafe {
            let terms = [early_terms, late_terms];
            consume(recorder!(), stages, warp - PRODUCERS, output, tiles, terms);
        }
    }
}

/// How many of `terms`, the early and the late ones, a tile is given.
#[inline(always)]
#[must_use]
pub const fn terms_of(tile: u32, tiles: u32, terms: [u32; 2]) -> u32 {
    if tile < tiles / 2 { terms[0] } else { terms[1] }
}

/// The stages of a block.
#[derive(Clone, Copy)]
struct Stages {
    data: *mut Chunk,
    /// Complete when a tile has arrived.
    full: *mut u64,
    /// Complete when the consumers have left a tile.
    empty: *mut u64,
}

impl Stages {
    /// The stage in which the block's tile number `turn` lies.
    #[inline(always)]
    fn of(self, turn: u32) -> Stage {
        let index = (turn % STAGES) as usize;
        // SAFETY: index < STAGES, and there are as many stages and barriers of each kind.
        unsafe {
            Stage {
                data: self.data.add(index * TILE_CHUNKS as usize),
                full: self.full.add(index),
                empty: self.empty.add(index),
                before: turn / STAGES,
            }
        }
    }
}

/// A stage, for one tile.
struct Stage {
    data: *mut Chunk,
    full: *mut u64,
    empty: *mut u64,
    /// How many tiles lay in it before.
    before: u32,
}

/// Copies every [`PRODUCERS`]-th tile of the block.
///
/// # Safety
///
/// As [`pipeline`]; `producer` is the warp's number among the producers.
#[profiled]
#[inline(always)]
unsafe fn produce(
    prof: Recorder<'_>,
    stages: Stages,
    producer: u32,
    input: *const Chunk,
    tiles: u32,
) {
    let lane = warp::lane_id();
    let blocks = thread::grid_dim_x();
    let mut turn = producer;
    let mut tile = thread::block_idx_x() + turn * blocks;
    while tile < tiles {
        let stage = stages.of(turn);
        if stage.before > 0 {
            profile_region!("wait empty", {
                // SAFETY: the barrier was made before the block's barrier.
                unsafe { mbarrier::wait_parity(stage.empty, (stage.before - 1) % 2) }
            });
            profile_wait!("empty", tile - STAGES * blocks);
        }
        profile_region!("copy", value = TILE_BYTES, unit = "bytes", {
            // SAFETY: tile < tiles, and the consumers have left the stage.
            unsafe { copy_tile(input.add((tile * TILE_CHUNKS) as usize), stage.data, lane) };
        });
        profile_signal!("full", tile);
        // SAFETY: as above; this is one of the 32 arrivals.
        unsafe { mbarrier::arrive(stage.full) };
        turn += PRODUCERS;
        tile += PRODUCERS * blocks;
    }
}

/// Computes every [`CONSUMERS`]-th row of all tiles of the block.
///
/// # Safety
///
/// As [`pipeline`]; `consumer` is the warp's number among the consumers.
#[profiled]
#[inline(always)]
unsafe fn consume(
    prof: Recorder<'_>,
    stages: Stages,
    consumer: u32,
    output: *mut f32,
    tiles: u32,
    terms: [u32; 2],
) {
    let lane = warp::lane_id();
    let mut turn = 0;
    let mut tile = thread::block_idx_x();
    while tile < tiles {
        let stage = stages.of(turn);
        profile_region!("wait full", {
            // SAFETY: the barrier was made before the block's barrier.
            unsafe { mbarrier::wait_parity(stage.full, stage.before % 2) }
        });
        profile_wait!("full", tile);
        let terms = terms_of(tile, tiles, terms);
        profile_region!("compute", value = WARP_FLOP * terms, unit = "flop", {
            let mut row = consumer;
            while row < ROWS {
                // SAFETY: row < ROWS; the tile has arrived, and stays until all have arrived at
                // `empty`.
                let x = unsafe { *stage.data.add((row * 32 + lane) as usize) };
                let sum = power_sums(x, terms);
                // SAFETY: all lanes of the warp come here.
                let sum = unsafe { warp::reduce(sum, |x, y| x + y) };
                if lane == 0 {
                    // SAFETY: one number a row, and this warp alone has this row.
                    unsafe { *output.add(tile as usize * ROWS as usize + row as usize) = sum };
                }
                row += CONSUMERS;
            }
        });
        profile_signal!("empty", tile);
        // SAFETY: as above; each lane of each consumer arrives once for each tile.
        unsafe { mbarrier::arrive(stage.empty) };
        turn += 1;
        tile += thread::grid_dim_x();
    }
}

/// Copies a tile, and returns when this lane's share has arrived.
///
/// # Safety
///
/// `from` must be valid for a tile in global memory, `to` for one in shared memory that nobody uses.
#[inline(always)]
unsafe fn copy_tile(from: *const Chunk, to: *mut Chunk, lane: u32) {
    let mut chunk = lane as usize;
    while chunk < TILE_CHUNKS as usize {
        // SAFETY: the chunk is in the tile, and chunks are aligned to 16 bytes.
        unsafe { cp_async_16(to.add(chunk).cast(), from.add(chunk).cast()) };
        chunk += 32;
    }
    cp_async_commit();
    cp_async_wait::<0>();
}

/// The sum over a chunk's elements x of 1 + x + .. + x^(terms - 1), by Horner's rule.
#[inline(always)]
fn power_sums(Chunk(x): Chunk, terms: u32) -> f32 {
    let mut sums = [0.0; CHUNK as usize];
    let mut term = 0;
    while term < terms {
        for (sum, x) in sums.iter_mut().zip(&x) {
            *sum = fma(*sum, *x, 1.0);
        }
        term += 1;
    }
    sums[0] + sums[1] + (sums[2] + sums[3])
}

#[cfg(test)]
mod tests {
    use profiler_host::{Backend, BackendChoice, launch};

    use super::*;

    /// Tiles: none, fewer than blocks, fewer than stages, and enough to use all stages several times.
    /// With elements of 0 and 1, all sums are exact.
    #[test]
    fn every_row_has_its_sum() {
        let backend = Backend::choose(BackendChoice::Emulator, None).expect("always there");
        for (blocks, tiles, terms) in
            [(2, 0, [1, 1]), (3, 2, [4, 7]), (1, 3, [1, 5]), (2, 37, [0, 9])]
        {
            let rows = (tiles * ROWS) as usize;
            let ones_of = |row: usize| row * 31 % (COLUMNS as usize + 1);
            let elements: Vec<f32> = (0..rows)
                .flat_map(|row| (0..COLUMNS as usize).map(move |at| f32::from(at < ones_of(row))))
                .collect();
            let input = backend.upload(&elements).expect("memory");
            let mut output = backend.upload(&vec![f32::NAN; rows]).expect("memory");
            let (from, to) = (input.as_ptr().cast::<Chunk>(), output.as_mut_ptr());
            let [early, late] = terms;
            // SAFETY: the buffers hold this many tiles and rows.
            unsafe { launch!(backend, pipeline<<<blocks, BLOCK>>>(from, to, tiles, early, late)) }
                .expect("the kernel runs");
            for (row, got) in output.read().expect("there").into_iter().enumerate() {
                let terms = terms_of(row as u32 / ROWS, tiles, terms);
                // An element of 1 gives as many as there are terms, one of 0 gives its first term.
                let zeros = COLUMNS as usize - ones_of(row);
                let wanted = ones_of(row) * terms as usize + zeros * usize::from(terms > 0);
                assert_eq!(got, wanted as f32, "row {row} of {tiles} tiles in {blocks} blocks");
            }
        }
    }
}
