//! The softmax example's kernel: rows of unequal length, short ones in the registers of a warp, long
//! ones by a whole block.

use core::f32::consts::LOG2_E;

use profiler_device::{Recorder, profile_region, profiled, recorder};
use profiler_kernel::math::exp2;
use profiler_kernel::{shared_array, thread, warp};

/// Warps of a block, and rows that a block takes at once.
pub const WARPS: u32 = 8;
/// Threads of a block.
pub const BLOCK: u32 = 32 * WARPS;
/// Blocks that an SM runs at once.
pub const BLOCKS_PER_SM: u32 = 4;
/// The longest row that a warp computes alone.
pub const SHORT: u32 = 32 * PER_LANE as u32;

/// Elements of a short row that a lane holds.
const PER_LANE: usize = 8;
/// Elements of a long row that a thread loads at once.
const PER_THREAD: usize = 4;

// What each warp found in its part of a long row.
shared_array!(static SOFTMAX_MAXIMA: [f32; WARPS as usize]);
shared_array!(static SOFTMAX_SUMS: [f32; WARPS as usize]);

/// `output[i] = exp(input[i]) / sum of exp(input[j]) over the row of i`.
///
/// Row r is elements `offsets[r]` to `offsets[r + 1]`. A block takes [`WARPS`] neighbouring rows at
/// once: first each warp its own, if that is short, then all warps together each of the long ones.
/// Any grid will do.
///
/// # Safety
///
/// `offsets` must be valid for `rows + 1` numbers that do not fall, `input` and `output` for as many
/// as the last of them says; both are aligned to 128 bytes. Blocks have [`BLOCK`] threads; `rows`
/// and the rows that the grid takes at once are together below 2^32, the elements less than 2^32 -
/// 2^16.
#[profiled(max_threads = BLOCK, min_blocks = BLOCKS_PER_SM)]
pub unsafe extern "ptx-kernel" fn softmax(
    input: *const f32,
    output: *mut f32,
    offsets: *const u32,
    rows: u32,
) {
    // SAFETY: asked for rows below `rows` only.
    let row_at = |row: u32| unsafe {
        Row { first: *offsets.add(row as usize), end: *offsets.add(row as usize + 1) }
    };
    let mut group = thread::block_idx_x() * WARPS;
    while group < rows {
        let own = group + warp::warp_id();
        if own < rows {
            let row = row_at(own);
            if row.length() <= SHORT {
                profile_region!("short row", value = row.length(), unit = "elements", {
                    // SAFETY: all lanes of the warp have this row, and nobody else.
                    unsafe { short_row(recorder!(), input, output, row) }
                });
            }
        }
        let mut next = group;
        while next < rows && next < group + WARPS {
            let row = row_at(next);
            if row.length() > SHORT {
                profile_region!("long row", by = block, value = row.length(), unit = "elements", {
                    // SAFETY: all threads of the block have this row, and nobody else.
                    unsafe { long_row(recorder!(), input, output, row) }
                });
            }
            next += 1;
        }
        group += thread::grid_dim_x() * WARPS;
    }
}

/// Where a row lies.
#[derive(Clone, Copy)]
struct Row {
    first: u32,
    end: u32,
}

impl Row {
    #[inline(always)]
    fn length(self) -> u32 {
        self.end - self.first
    }

    /// An element, or negative infinity, which adds nothing, after the end.
    ///
    /// # Safety
    ///
    /// `input` is valid for `self.end` elements.
    #[inline(always)]
    unsafe fn load(self, input: *const f32, index: u32) -> f32 {
        if index < self.end {
            // SAFETY: the index is below the end.
            unsafe { *input.add(index as usize) }
        } else {
            f32::NEG_INFINITY
        }
    }
}

/// e to the power `x - maximum`; 0 for negative infinity.
#[inline(always)]
fn exp_above(x: f32, maximum: f32) -> f32 {
    exp2((x - maximum) * LOG2_E)
}

/// A row that fits the registers of one warp.
///
/// # Safety
///
/// As [`softmax`]; all lanes of the warp come together with the same row of at most [`SHORT`].
// Always inlined, as all that takes a recorder: in a call its registers would go through memory.
#[inline(always)]
unsafe fn short_row(prof: Recorder<'_>, input: *const f32, output: *mut f32, row: Row) {
    let first = row.first + warp::lane_id();
    let mut x = profile_region!("load", wait, recorder = prof, {
        let mut x = [0.0; PER_LANE];
        for (turn, x) in x.iter_mut().enumerate() {
            // SAFETY: the caller's.
            *x = unsafe { row.load(input, first + turn as u32 * 32) };
        }
        x
    });
    let sum = profile_region!("reduce", wait, recorder = prof, {
        let mut maximum = x[0];
        for &x in &x {
            maximum = maximum.max(x);
        }
        // SAFETY: all lanes are here.
        maximum = unsafe { warp::reduce(maximum, f32::max) };
        let mut sum = 0.0;
        for x in &mut x {
            *x = exp_above(*x, maximum);
            sum += *x;
        }
        // SAFETY: all lanes are here.
        unsafe { warp::reduce(sum, |a, b| a + b) }
    });
    profile_region!("store", recorder = prof, {
        for (turn, x) in x.iter().enumerate() {
            let index = first + turn as u32 * 32;
            if index < row.end {
                // SAFETY: the index is in the row, and each lane writes its own elements.
                unsafe { *output.add(index as usize) = x / sum };
            }
        }
    });
}

/// The sum of `exp(x - maximum)` over the elements so far, and the largest of them.
#[derive(Clone, Copy)]
struct Partial {
    maximum: f32,
    sum: f32,
}

impl Partial {
    /// Of no elements. The least finite number rather than negative infinity, whose difference from
    /// itself is no number.
    const EMPTY: Self = Self { maximum: f32::MIN, sum: 0.0 };

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        let maximum = self.maximum.max(other.maximum);
        let sum = self.sum * exp_above(self.maximum, maximum)
            + other.sum * exp_above(other.maximum, maximum);
        Self { maximum, sum }
    }

    #[inline(always)]
    fn and_elements<const N: usize>(self, elements: [f32; N]) -> Self {
        let mut maximum = self.maximum;
        for &x in &elements {
            maximum = maximum.max(x);
        }
        let mut sum = self.sum * exp_above(self.maximum, maximum);
        for &x in &elements {
            sum += exp_above(x, maximum);
        }
        Self { maximum, sum }
    }
}

/// A row that the whole block computes in two passes: find maximum and sum, then write.
///
/// Lane l only touches elements whose index is l modulo 32, so that each access of a warp is one
/// aligned line. A row that begins in the middle of a line has a head, which warp 0 treats apart,
/// without its first lanes.
///
/// # Safety
///
/// As [`softmax`]; all threads of the block come together with the same row.
#[inline(always)]
unsafe fn long_row(prof: Recorder<'_>, input: *const f32, output: *mut f32, row: Row) {
    let (warp, lane) = (warp::warp_id(), warp::lane_id());
    let body = row.first.next_multiple_of(32);
    let head = row.first % 32;
    let in_head = warp == 0 && head != 0 && lane >= head;
    let first = body + thread::thread_idx_x();
    let mut partial = Partial::EMPTY;
    profile_region!("find maximum and sum", recorder = prof, {
        if in_head {
            // Lane 0 is not here: `elected` lets one of those record that are.
            profile_region!(
                "head",
                by = elected,
                value = body - row.first,
                unit = "elements",
                recorder = prof,
                {
                    // SAFETY: the caller's; a long row is longer than its head.
                    let x = unsafe { row.load(input, body - 32 + lane) };
                    partial = partial.and_elements([x]);
                }
            );
        }
        let mut index = first;
        while index < row.end {
            let mut x = [0.0; PER_THREAD];
            for (turn, x) in x.iter_mut().enumerate() {
                // SAFETY: the caller's.
                *x = unsafe { row.load(input, index + turn as u32 * BLOCK) };
            }
            partial = partial.and_elements(x);
            index += BLOCK * PER_THREAD as u32;
        }
        // SAFETY: all lanes are here.
        unsafe {
            let maximum = warp::reduce(partial.maximum, f32::max);
            let sum = partial.sum * exp_above(partial.maximum, maximum);
            partial = Partial { maximum, sum: warp::reduce(sum, |a, b| a + b) };
        }
        if lane == 0 {
            // SAFETY: warp < WARPS, and each warp writes its own; those of the row before have been
            // read, by the barrier at the end.
            unsafe {
                SOFTMAX_MAXIMA.write(warp as usize, partial.maximum);
                SOFTMAX_SUMS.write(warp as usize, partial.sum);
            }
        }
    });
    profile_region!("barrier after sums", recorder = prof, { thread::sync_threads() });
    profile_region!("write", recorder = prof, {
        let mut whole = Partial::EMPTY;
        for warp in 0..WARPS as usize {
            // SAFETY: written before the barrier.
            let (maximum, sum) = unsafe { (SOFTMAX_MAXIMA.read(warp), SOFTMAX_SUMS.read(warp)) };
            whole = whole.and(Partial { maximum, sum });
        }
        let scale = 1.0 / whole.sum;
        if in_head {
            let index = (body - 32 + lane) as usize;
            // SAFETY: an element of the row, which no other thread writes.
            unsafe { *output.add(index) = exp_above(*input.add(index), whole.maximum) * scale };
        }
        let mut index = first;
        while index < row.end {
            // SAFETY: as above.
            unsafe {
                let x = *input.add(index as usize);
                *output.add(index as usize) = exp_above(x, whole.maximum) * scale;
            }
            index += BLOCK;
        }
    });
    profile_region!("barrier after write", recorder = prof, { thread::sync_threads() });
}
