//! The persistent example's kernel: blocks that stay on their SM and take tasks from a queue until
//! it is empty.

use profiler_device::{profile_names, profile_region, profiled};
use profiler_kernel::atomic::atomic_add_u32;
use profiler_kernel::math::fma;
use profiler_kernel::{shared_array, thread, warp};

/// Threads of a block.
pub const BLOCK: u32 = 256;
/// Rows and columns of the product that a `matmul` computes; its inner dimension is a multiple.
pub const TILE: u32 = 32;
/// The factor of an `axpy`.
pub const FACTOR: f32 = 0.5;

// The names of the kinds of tasks, in the order of the constants below.
profile_names!(
    /// What a task is called in the timeline: `TASK[kind]`.
    pub TASK = ["copy", "axpy", "sum", "matmul"],
    unit = "bytes"
);
/// `output[i] = input[i]` for `count` numbers.
pub const COPY: u32 = 0;
/// `output[i] = FACTOR * input[i] + input[count + i]` for `count` numbers.
pub const AXPY: u32 = 1;
/// `output[0]` = the sum of `count` numbers of `input`.
pub const SUM: u32 = 2;
/// `output[row * TILE + column]` = the sum over `i < count` of `a[i * TILE + row] *
/// b[i * TILE + column]`, where `a` is `input` and `b` what lies after it.
pub const MATMUL: u32 = 3;

/// One task. `input` and `output` are offsets into the kernel's arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Task {
    /// [`COPY`], [`AXPY`], [`SUM`] or [`MATMUL`].
    pub kind: u32,
    /// How much there is to do; see the kinds.
    pub count: u32,
    /// Where its input begins.
    pub input: u32,
    /// Where its output begins.
    pub output: u32,
}

impl Task {
    /// How many numbers it reads.
    #[must_use]
    #[inline(always)]
    pub const fn inputs(&self) -> u32 {
        match self.kind {
            COPY | SUM => self.count,
            AXPY => 2 * self.count,
            _ => 2 * TILE * self.count,
        }
    }

    /// How many numbers it writes.
    #[must_use]
    #[inline(always)]
    pub const fn outputs(&self) -> u32 {
        match self.kind {
            COPY | AXPY => self.count,
            SUM => 1,
            _ => TILE * TILE,
        }
    }

    /// How many bytes it reads and writes.
    #[must_use]
    #[inline(always)]
    pub const fn bytes(&self) -> u32 {
        4 * (self.inputs() + self.outputs())
    }
}

/// Numbers that a thread has on their way at once.
const PER_THREAD: usize = 4;
const WARPS: usize = BLOCK as usize / 32;
const TILE_ELEMENTS: usize = (TILE * TILE) as usize;
/// Elements of a tile to a thread.
const SHARE: usize = TILE_ELEMENTS / BLOCK as usize;

shared_array!(static PERSISTENT_NEXT: [u32; 1]);
shared_array!(static PERSISTENT_SUMS: [f32; WARPS]);
shared_array!(static PERSISTENT_A: [f32; TILE_ELEMENTS]);
shared_array!(static PERSISTENT_B: [f32; TILE_ELEMENTS]);

/// Does `count` tasks; blocks that are done with one take the next.
///
/// # Safety
///
/// `tasks` must be valid for `count` tasks of the kinds above whose inputs lie in `input` and whose
/// outputs lie in `output` and do not overlap; `queue` for one number, which is 0. A `matmul`'s
/// count is a multiple of [`TILE`]. Blocks have [`BLOCK`] threads.
#[profiled(max_threads = BLOCK, min_blocks = 1)]
pub unsafe extern "ptx-kernel" fn persistent(
    tasks: *const Task,
    count: u32,
    queue: *mut u32,
    input: *const f32,
    output: *mut f32,
) {
    loop {
        let next = profile_region!("fetch", {
            if thread::thread_idx_x() == 0 {
                // SAFETY: only this operation touches the queue, and only this thread the array;
                // what it held has been read, by the second barrier of the turn before.
                unsafe { PERSISTENT_NEXT.write(0, atomic_add_u32(queue, 1)) };
            }
            thread::sync_threads();
            // SAFETY: written before the barrier.
            let next = unsafe { PERSISTENT_NEXT.read(0) };
            thread::sync_threads();
            next
        });
        if next >= count {
            break;
        }
        // SAFETY: next < count.
        let task = unsafe { *tasks.add(next as usize) };
        profile_region!(TASK[task.kind], value = task.bytes(), {
            // SAFETY: the task's arrays lie there, as the caller says; all threads have this task.
            unsafe {
                let from = input.add(task.input as usize);
                let to = output.add(task.output as usize);
                match task.kind {
                    COPY => each(task.count, to, |i| *from.add(i)),
                    AXPY => {
                        let second = from.add(task.count as usize);
                        each(task.count, to, |i| fma(FACTOR, *from.add(i), *second.add(i)));
                    }
                    SUM => sum(task.count, from, to),
                    _ => matmul(task.count, from, to),
                }
            }
        });
    }
}

/// `to[i] = element(i)` for `count` numbers, by all threads of the block.
///
/// # Safety
///
/// `to` must be valid for `count` numbers.
#[inline(always)]
unsafe fn each(count: u32, to: *mut f32, element: impl Fn(usize) -> f32) {
    let mut first = thread::thread_idx_x();
    // Several loads before the first store, so that they are on their way together.
    while first + (PER_THREAD as u32 - 1) * BLOCK < count {
        let mut x = [0.0; PER_THREAD];
        for (turn, x) in x.iter_mut().enumerate() {
            *x = element(first as usize + turn * BLOCK as usize);
        }
        for (turn, x) in x.iter().enumerate() {
            // SAFETY: the index is below count, by the loop's condition.
            unsafe { *to.add(first as usize + turn * BLOCK as usize) = *x };
        }
        first += PER_THREAD as u32 * BLOCK;
    }
    while first < count {
        // SAFETY: the index is below count.
        unsafe { *to.add(first as usize) = element(first as usize) };
        first += BLOCK;
    }
}

/// The sum of `count` numbers.
///
/// # Safety
///
/// `from` must be valid for `count` numbers and `to` for one; all threads of the block come here.
#[inline(always)]
unsafe fn sum(count: u32, from: *const f32, to: *mut f32) {
    let mut sums = [0.0; PER_THREAD];
    let mut first = thread::thread_idx_x();
    while first < count {
        for (turn, sum) in sums.iter_mut().enumerate() {
            let index = first + turn as u32 * BLOCK;
            if index < count {
                // SAFETY: the index is below count.
                *sum += unsafe { *from.add(index as usize) };
            }
        }
        first += PER_THREAD as u32 * BLOCK;
    }
    let mut total = 0.0;
    for sum in &sums {
        total += sum;
    }
    // SAFETY: all lanes are here.
    total = unsafe { warp::reduce(total, |a, b| a + b) };
    if warp::lane_id() == 0 {
        // SAFETY: each warp writes its own; those of the sum before were read by thread 0, which
        // has been through the barriers of a fetch since.
        unsafe { PERSISTENT_SUMS.write(warp::warp_id() as usize, total) };
    }
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        let mut total = 0.0;
        for warp in 0..WARPS {
            // SAFETY: written before the barrier.
            total += unsafe { PERSISTENT_SUMS.read(warp) };
        }
        // SAFETY: the caller's.
        unsafe { *to = total };
    }
}

/// The product of a transposed `count` x [`TILE`] and a `count` x [`TILE`] matrix.
///
/// # Safety
///
/// `count` is a multiple of [`TILE`]; `from` must be valid for both matrices and `to` for
/// `TILE * TILE` numbers; all threads of the block come here.
#[inline(always)]
unsafe fn matmul(count: u32, from: *const f32, to: *mut f32) {
    let thread = thread::thread_idx_x() as usize;
    let tile = TILE as usize;
    // SAFETY: the second matrix lies after the first.
    let second = unsafe { from.add((count * TILE) as usize) };
    // A thread computes SHARE elements of one row, a column's breadth of threads apart.
    let (row, column) = (thread / (tile / SHARE), thread % (tile / SHARE));
    let mut sums = [0.0; SHARE];
    let mut first = 0;
    while first < (count * TILE) as usize {
        for turn in 0..SHARE {
            let index = thread + turn * BLOCK as usize;
            // SAFETY: the rows of both matrices from `first` on make a tile; each thread writes its
            // own elements, and all have read those of the turn before.
            unsafe {
                PERSISTENT_A.write(index, *from.add(first + index));
                PERSISTENT_B.write(index, *second.add(first + index));
            }
        }
        thread::sync_threads();
        let mut inner = 0;
        while inner < tile {
            // SAFETY: in the tiles, which were written before the barrier.
            let a = unsafe { PERSISTENT_A.read(inner * tile + row) };
            for (turn, sum) in sums.iter_mut().enumerate() {
                let index = inner * tile + column + turn * (tile / SHARE);
                // SAFETY: as for a.
                *sum = fma(a, unsafe { PERSISTENT_B.read(index) }, *sum);
            }
            inner += 1;
        }
        thread::sync_threads();
        first += TILE_ELEMENTS;
    }
    for (turn, sum) in sums.iter().enumerate() {
        // SAFETY: an element of the product, which no other thread writes.
        unsafe { *to.add(row * tile + column + turn * (tile / SHARE)) = *sum };
    }
}
