//! Regions of one length while other warps of the same blocks draw so much power for a while that
//! the GPU lowers its clock.

use core::array;

use profiler_device::hardware::{clock64, globaltimer, lane_id};
use profiler_device::{profile_anchor, profile_region, profiled, recorder};
use profiler_kernel::mma::mma_m16n8k16_bf16;
use profiler_kernel::{thread, warp};

use crate::schedule::step;
use crate::{Line, READING_WORDS, thread_of_grid, threads_of_grid};

/// Numbers that say when what is done: the length of a step in nanoseconds, and when the load begins
/// and when it ends, in nanoseconds since a warp entered the kernel.
pub const TIME_WORDS: usize = 3;
/// Threads of a block at most: a warp that is measured, eight that multiply and eight that read.
pub const LOADED_THREADS: u32 = 17 * WARP;
/// Products of matrices of a warp in a round: so many go by between two looks at the time.
pub const ROUND_PRODUCTS: u64 = (PRODUCTS * CHAINS) as u64;
/// Floating-point operations of a product of 16 x 16 by 16 x 8 numbers.
pub const PRODUCT_FLOPS: u64 = 2 * 16 * 16 * 8;
/// Lines that a thread reads in a round, all of them under way at once.
pub const ROUND_READS: u64 = READS as u64;

const WARP: u32 = 32;
const ALL_LANES: u32 = u32::MAX;
/// Products of a chain in a round, each added to the one before.
const PRODUCTS: usize = 4;
/// Chains of products of a warp that need nothing of each other.
const CHAINS: usize = 8;
/// Factors of each side that the chains are made of.
const FACTORS: usize = 4;
const READS: usize = 8;
/// The sign bits of two bf16.
const SIGNS: u32 = 0x8000_8000;

/// Bits that look random: all of the input's bits change all of the output's (a finalizer of two
/// multiplications and three shifts, by a search of Wellons for the least bias).
#[inline(always)]
fn hash(mut bits: u32) -> u32 {
    bits = (bits ^ bits >> 16).wrapping_mul(0x7feb_352d);
    bits = (bits ^ bits >> 15).wrapping_mul(0x846c_a68b);
    bits ^ bits >> 16
}

/// Two bf16 of random sign, from 0.5 to 2.
#[inline(always)]
fn numbers(seed: u32) -> u32 {
    hash(seed) & 0x80ff_80ff | 0x3f00_3f00
}

/// Fills `lines` with random bits. Each thread of the grid fills one, and does nothing where there
/// are fewer.
///
/// # Safety
///
/// `lines` must be valid for `count` of them.
#[profiled(enabled = false)]
pub unsafe extern "ptx-kernel" fn fill(lines: *mut Line, count: u32) {
    let index = thread_of_grid() as u32;
    if index < count {
        let line = Line(array::from_fn(|word| hash(index * 4 + word as u32)));
        // SAFETY: index < count, and each thread has a line of its own.
        unsafe { *lines.add(index as usize) = line };
    }
}

/// Multiplies random matrices of bf16 until `is_over`, which is asked after each round and is the
/// same for all lanes. Gives the number of rounds, and what they add up to: as the sign of one
/// factor changes with each product, that stays small.
///
/// # Safety
///
/// All lanes of the warp come together.
#[inline(always)]
unsafe fn multiply(is_over: impl Fn() -> bool) -> [u64; 2] {
    let seed = thread_of_grid() as u32 * (6 * FACTORS) as u32;
    let a: [[u32; 4]; FACTORS] =
        array::from_fn(|factor| array::from_fn(|word| numbers(seed + (4 * factor + word) as u32)));
    let mut b: [[u32; 2]; FACTORS] = array::from_fn(|factor| {
        array::from_fn(|word| numbers(seed + (4 * FACTORS + 2 * factor + word) as u32))
    });
    let mut sums = [[0.0_f32; 4]; CHAINS];
    let mut rounds = 0;
    loop {
        for _ in 0..PRODUCTS {
            for (chain, sums) in sums.iter_mut().enumerate() {
                let (a, b) = (a[chain % FACTORS], b[(chain + chain / FACTORS) % FACTORS]);
                // SAFETY: the caller's; how often the loop runs is the same for all lanes.
                *sums = unsafe { mma_m16n8k16_bf16(a, b, *sums) };
            }
            for word in b.as_flattened_mut() {
                *word ^= SIGNS;
            }
        }
        rounds += 1;
        if is_over() {
            let sum: f32 = sums.as_flattened().iter().sum();
            return [rounds, u64::from(sum.to_bits())];
        }
    }
}

/// Reads lines until `is_over`, which is asked after each round: thread `first`, then the one
/// `stride` lines on, and so forth. Gives the number of rounds, and all that was read, mixed.
///
/// # Safety
///
/// `lines` must be valid for `count` of them, a power of two.
#[inline(always)]
unsafe fn read(
    lines: *const Line,
    count: usize,
    [first, stride]: [usize; 2],
    is_over: impl Fn() -> bool,
) -> [u64; 2] {
    let (mut at, mut mixed, mut rounds) = (first, 0, 0);
    loop {
        let read: [Line; READS] = array::from_fn(|index| {
            // SAFETY: the mask makes the index less than the count.
            unsafe { *lines.add((at + index * stride) & (count - 1)) }
        });
        for Line(words) in read {
            mixed = words.into_iter().fold(mixed, |mixed, word| mixed ^ word);
        }
        at += READS * stride;
        rounds += 1;
        if is_over() {
            return [rounds, u64::from(mixed)];
        }
    }
}

macro_rules! loaded {
    ($($name:ident: $clock:ident, anchors_within = $within:literal;)*) => {
        $(
            /// Warp 0 of each block has `count` regions "step", one after the other. What that of
            /// block `b` reads in step `s` goes to `readings[(b * count + s) * READING_WORDS]` and
            /// after. Where `anchor_every` is not 0, both clocks are recorded before each
            /// `anchor_every`-th step, from the first on; by the kernel with anchors within steps there,
            /// each time that `anchor_every` cycles have passed.
            ///
            /// The other warps are the load. One half of them multiplies matrices on the tensor
            /// cores, the other one reads `lines`; thread `t` of the grid writes how many rounds it
            /// did, and what came out, to `work[t]`.
            ///
            /// # Safety
            ///
            /// `times` must be valid for [`TIME_WORDS`] numbers, `readings` for `count` times
            /// [`READING_WORDS`] numbers a block, `lines` for `lines_count` of them, a power of two,
            /// `work` for a pair a thread of the grid. Blocks are of whole warps.
            #[profiled(clock = $clock, max_threads = LOADED_THREADS)]
            pub unsafe extern "ptx-kernel" fn $name(
                times: *const u64,
                count: u32,
                anchor_every: u32,
                readings: *mut u64,
                lines: *const Line,
                lines_count: u32,
                work: *mut [u64; 2],
            ) {
                let recorder = recorder!();
                let origin = globaltimer();
                // SAFETY: there are so many.
                let times = unsafe { *times.cast::<[u64; TIME_WORDS]>() };
                let [length_ns, load_begin_ns, load_end_ns] = times;
                let warp_of_block = thread::thread_idx_x() / WARP;
                if warp_of_block == 0 {
                    let first = thread::block_idx_x() as usize * count as usize;
                    let mut step = 0;
                    let mut to_anchor = 0;
                    while step < count as usize {
                        if !$within && anchor_every != 0 {
                            if to_anchor == 0 {
                                profile_anchor!(recorder = recorder);
                                to_anchor = anchor_every;
                            }
                            to_anchor -= 1;
                        }
                        let reading = step!(recorder, length_ns, {
                            if $within {
                                profile_anchor!(every = anchor_every, recorder = recorder);
                            }
                        });
                        if lane_id() == 0 {
                            // SAFETY: step < count, and each block has readings of its own.
                            unsafe {
                                *readings.add((first + step) * READING_WORDS).cast() = reading;
                            }
                        }
                        step += 1;
                    }
                } else {
                    let loads = thread::block_dim_x() / WARP - 1;
                    let has_come = |due_ns: u64| {
                        let is_due = globaltimer() - origin >= due_ns;
                        // SAFETY: all lanes of a warp of the load come here.
                        unsafe { warp::any(ALL_LANES, is_due) }
                    };
                    while !has_come(load_begin_ns) {}
                    let is_over = || has_come(load_end_ns);
                    let done = if warp_of_block <= loads / 2 {
                        // SAFETY: so they do here.
                        unsafe { multiply(is_over) }
                    } else {
                        let place = [thread_of_grid(), threads_of_grid()];
                        // SAFETY: the caller's.
                        unsafe { read(lines, lines_count as usize, place, is_over) }
                    };
                    // SAFETY: each thread has a pair of its own.
                    unsafe { *work.add(thread_of_grid()) = done };
                }
            }
        )*
    };
}

loaded! {
    loaded_cycles: cycles, anchors_within = false;
    loaded_anchored: cycles, anchors_within = true;
    loaded_timer: globaltimer, anchors_within = false;
}
