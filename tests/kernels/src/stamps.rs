//! One region around each kind of work, for the tests that look where it lies between its stamps.
//!
//! The module for `sm_90` has bulk copies and those of tiles too, that for `sm_90a` the matrix product
//! of a warp group. With the feature `twice` bodies are compiled twice, as by default.

use profiler_device::{profile_region, profiled};
use profiler_kernel::atomic::atomic_add_u32;
use profiler_kernel::{copy, math, mma, shared_array, thread, warp};

shared_array!(static TILE: [f32; 1024], align = 128);

/// Makes both forms of each kernel.
macro_rules! kernels {
    ($($(#[$attribute:meta])* fn $name:ident($($parameters:tt)*) $body:block)*) => {$(
        $(#[$attribute])*
        ///
        /// # Safety
        ///
        /// The pointers must be valid for what the kernel reads and writes: one number a thread, where it says
        /// nothing else.
        #[cfg_attr(feature = "twice", profiled)]
        #[cfg_attr(not(feature = "twice"), profiled(single_body))]
        pub unsafe extern "ptx-kernel" fn $name($($parameters)*) $body
    )*};
}

/// Links of a chain of dependent multiplications and additions.
const LINKS: u32 = 32;

#[inline(always)]
fn chain(mut x: f32, factor: f32) -> f32 {
    let mut link = 0;
    while link < LINKS {
        x = math::fma(x, factor, x);
        link += 1;
    }
    x
}

kernels! {
    /// A chain on a pinned variable.
    fn fma_pinned(output: *mut f32, factor: f32) {
        // SAFETY: one number a thread.
        let output = unsafe { output.add(thread::index_1d() as usize) };
        let mut x = factor;
        profile_region!("chain", pin = x, { x = chain(x, factor) });
        // SAFETY: this thread's number.
        unsafe { *output = x };
    }

    /// A chain that is the block's value.
    fn fma_value(output: *mut f32, factor: f32) {
        // SAFETY: one number a thread.
        let output = unsafe { output.add(thread::index_1d() as usize) };
        let x = profile_region!("chain", { chain(factor, factor) });
        // SAFETY: this thread's number.
        unsafe { *output = x };
    }

    /// A chain that is the block's value, which the end stamp waits for.
    fn fma_waited(output: *mut f32, factor: f32) {
        // SAFETY: one number a thread.
        let output = unsafe { output.add(thread::index_1d() as usize) };
        let x = profile_region!("chain", wait, { chain(factor, factor) });
        // SAFETY: this thread's number.
        unsafe { *output = x };
    }

    /// A store.
    fn store(output: *mut f32, factor: f32) {
        // SAFETY: two numbers a thread.
        let output = unsafe { output.add(2 * thread::index_1d() as usize) };
        // SAFETY: this thread's first number.
        profile_region!("store", { unsafe { output.write_volatile(factor) } });
        // SAFETY: this thread's second number.
        unsafe { output.add(1).write_volatile(factor * factor) };
    }

    /// A store and an atomic addition on either side of a region, and a store in it.
    /// `counters` as for [`atomic_issued`]; `output` must be valid for three numbers a thread.
    fn stores_around(counters: *mut u32, output: *mut f32, factor: f32) {
        let index = thread::index_1d();
        // SAFETY: only accessed atomically.
        let count = || unsafe { atomic_add_u32(counters.add(index as usize / 2), index) };
        // SAFETY: three numbers a thread.
        let store = |place: usize, value: f32| unsafe {
            output.add(3 * index as usize + place).write_volatile(value);
        };
        store(0, factor);
        count();
        profile_region!("store", { store(1, factor + factor) });
        count();
        store(2, factor * factor);
    }

    /// An atomic addition that is issued in the region, by two threads to each counter.
    /// `counters` must be valid for one number for two threads and only accessed atomically, `output` valid for
    /// one number a thread.
    fn atomic_issued(counters: *mut u32, output: *mut u32) {
        let index = thread::index_1d();
        // SAFETY: only accessed atomically.
        let counter = unsafe { counters.add(index as usize / 2) };
        // SAFETY: as above.
        let before = profile_region!("atomic", { unsafe { atomic_add_u32(counter, index) } });
        // SAFETY: this thread's number.
        unsafe { *output.add(index as usize) = before };
    }

    /// An atomic addition that the end stamp waits for.
    fn atomic_waited(counters: *mut u32, output: *mut u32) {
        let index = thread::index_1d();
        // SAFETY: only accessed atomically.
        let counter = unsafe { counters.add(index as usize / 2) };
        // SAFETY: as above.
        let before = profile_region!("atomic", wait, { unsafe { atomic_add_u32(counter, index) } });
        // SAFETY: this thread's number.
        unsafe { *output.add(index as usize) = before };
    }

    /// Four regions a round, one after the other, by the default form, and nothing else but a chain in each.
    fn four_regions(output: *mut f32, factor: f32, rounds: u32) {
        // SAFETY: one number a thread.
        let output = unsafe { output.add(thread::index_1d() as usize) };
        let mut x = factor;
        let mut round = 0;
        while round < rounds {
            profile_region!("first", pin = x, { x = chain(x, factor) });
            profile_region!("second", pin = x, { x = chain(x, factor) });
            profile_region!("third", pin = x, { x = chain(x, factor) });
            profile_region!("fourth", pin = x, { x = chain(x, factor) });
            round += 1;
        }
        // SAFETY: this thread's number.
        unsafe { *output = x };
    }

    /// A load that is issued in the region.
    fn load_issued(input: *const f32, output: *mut f32) {
        let index = thread::index_1d() as usize;
        // SAFETY: one number a thread.
        let x = profile_region!("load", { unsafe { *input.add(index) } });
        // SAFETY: this thread's number.
        unsafe { *output.add(index) = x * x };
    }

    /// A load that the end stamp waits for.
    fn load_waited(input: *const f32, output: *mut f32) {
        let index = thread::index_1d() as usize;
        // SAFETY: one number a thread.
        let x = profile_region!("load", wait, { unsafe { *input.add(index) } });
        // SAFETY: this thread's number.
        unsafe { *output.add(index) = x * x };
    }
}

macro_rules! waited {
    ($($name:ident: $type:ty, $result:ty, |$x:ident| $use:expr;)*) => {
        waited!($($name: $type, $result, |x| x, |$x| $use;)*);
    };
    ($($name:ident: $type:ty, $result:ty, |$loaded:ident| $value:expr, |$x:ident| $use:expr;)*) => {$(
        /// A load that the end stamp waits for, of a type or with a value that says something about
        /// its bits.
        ///
        /// # Safety
        ///
        /// As [`load_issued`].
        #[cfg_attr(feature = "twice", profiled)]
        #[cfg_attr(not(feature = "twice"), profiled(single_body))]
        pub unsafe extern "ptx-kernel" fn $name(input: *const $type, output: *mut $result) {
            let index = thread::index_1d() as usize;
            let $x = profile_region!("load", wait, {
                // SAFETY: one element a thread.
                let $loaded = unsafe { *input.add(index) };
                $value
            });
            // SAFETY: this thread's number.
            unsafe { *output.add(index) = $use };
        }
    )*};
}

waited! {
    load_waited_bool: bool, u32, |x| u32::from(x) * 3;
    load_waited_u8: u8, u32, |x| u32::from(x) * 3;
    load_waited_u16: u16, u32, |x| u32::from(x) * 3;
    load_waited_i8: i8, i32, |x| i32::from(x) * 3;
    load_waited_u64: u64, u64, |x| x * 3;
    load_waited_f64: f64, f64, |x| x * x;
    load_waited_array: [f32; 4], f32, |x| x[0] * x[1] * x[2] * x[3];
    load_waited_tuple: (f32, u64), u64, |x| x.1 * u64::from(x.0.to_bits());
    load_waited_pointer: *const u32, usize, |x| x.addr() * 3;
}

waited! {
    load_waited_masked: u32, u32, |loaded| loaded & 0x3ff, |x| x * 3;
    load_waited_comparison: u32, u32, |loaded| loaded > 9, |x| u32::from(x) * 3;
    load_waited_bf16: u16, f32, |loaded| mma::bf16_to_f32(loaded), |x| x * x;
}

/// By the other clock.
///
/// # Safety
///
/// As [`load_issued`].
#[cfg_attr(feature = "twice", profiled(clock = globaltimer))]
#[cfg_attr(not(feature = "twice"), profiled(clock = globaltimer, single_body))]
pub unsafe extern "ptx-kernel" fn load_waited_globaltimer(input: *const f32, output: *mut f32) {
    let index = thread::index_1d() as usize;
    // SAFETY: one number a thread.
    let x = profile_region!("load", wait, { unsafe { *input.add(index) } });
    // SAFETY: this thread's number.
    unsafe { *output.add(index) = x * x };
}

kernels! {
    /// A load through a reference, which the compiler knows not to change.
    fn load_reference(input: &[f32; 1024], output: *mut f32) {
        let index = thread::index_1d() as usize % 1024;
        let x = profile_region!("load", { input[index] });
        // SAFETY: this thread's number.
        unsafe { *output.add(index) = x * x };
    }

    /// Four loads in front of a region and four after it.
    /// `input` must be valid for nine numbers a thread, `output` for one.
    fn loads_around(input: *const f32, output: *mut f32) {
        let index = thread::index_1d() as usize;
        // SAFETY: numbers of this thread.
        let at = |place: usize| unsafe { *input.add(9 * index + place) };
        let before = at(0) * at(1) * at(2) * at(3);
        let x = profile_region!("load", { at(4) });
        let after = at(5) * at(6) * at(7) * at(8);
        // SAFETY: this thread's number.
        unsafe { *output.add(index) = before + x + after };
    }

    /// A loop over a tile in shared memory.
    fn tile_loop(output: *mut f32, rounds: u32) {
        let index = thread::thread_idx_x() as usize;
        // SAFETY: this thread's number; a barrier follows.
        unsafe { TILE.write(index, index as f32) };
        thread::sync_threads();
        let mut sum = 0.0_f32;
        profile_region!("tile", pin = sum, {
            let mut round = 0;
            while round < rounds {
                // SAFETY: inside the tile, which nobody writes any more.
                sum = math::fma(unsafe { TILE.read((index + round as usize) % 1024) }, 0.5, sum);
                round += 1;
            }
        });
        // SAFETY: this thread's number.
        unsafe { *output.add(index) = sum };
    }

    /// An asynchronous copy into shared memory.
    /// `input` must be valid for 16 bytes a thread and aligned to 16, `output` for one number a thread.
    fn async_copy(input: *const u8, output: *mut f32) {
        let index = thread::thread_idx_x() as usize;
        // SAFETY: inside the tile.
        let row = unsafe { TILE.as_mut_ptr().cast::<u8>().add(16 * index) };
        profile_region!("copy", {
            // SAFETY: 16 bytes of this thread.
            unsafe { copy::cp_async_16(row, input.add(16 * index)) };
            copy::cp_async_commit();
            copy::cp_async_wait::<0>();
        });
        // SAFETY: this thread's row, which has been copied.
        unsafe { *output.add(index) = TILE.read(4 * index) };
    }

    /// A barrier of the block.
    fn barrier(output: *mut f32) {
        let index = thread::thread_idx_x() as usize;
        // SAFETY: this thread's number; the barrier follows.
        unsafe { TILE.write(index, index as f32) };
        profile_region!("barrier", { thread::sync_threads() });
        // SAFETY: the barrier has been passed.
        unsafe { *output.add(index) = TILE.read(index ^ 1) };
    }

    /// A load of matrices from shared memory.
    fn matrix_load(output: *mut [u32; 4]) {
        let lane = warp::lane_id() as usize;
        // SAFETY: 16 bytes for each lane, inside the tile.
        let row = unsafe { TILE.as_mut_ptr().cast::<u8>().add(16 * lane) };
        // SAFETY: the whole warp comes here.
        let matrices = profile_region!("ldmatrix", { unsafe { mma::ldmatrix_x4(row) } });
        // SAFETY: this lane's words.
        unsafe { *output.add(lane) = matrices };
    }

    /// The same, which the end stamp waits for.
    fn matrix_load_waited(output: *mut [u32; 4]) {
        let lane = warp::lane_id() as usize;
        // SAFETY: 16 bytes for each lane, inside the tile.
        let row = unsafe { TILE.as_mut_ptr().cast::<u8>().add(16 * lane) };
        // SAFETY: the whole warp comes here.
        let matrices = profile_region!("ldmatrix", wait, { unsafe { mma::ldmatrix_x4(row) } });
        // SAFETY: this lane's words.
        unsafe { *output.add(lane) = matrices };
    }

    /// Products of matrices on pinned accumulators.
    fn product_pinned(output: *mut [f32; 4], a: u32, b: u32) {
        let lane = warp::lane_id() as usize;
        let mut sums = [0.0; 4];
        profile_region!("mma", pin = sums, {
            let mut round = 0;
            while round < 4 {
                // SAFETY: the whole warp comes here.
                sums = unsafe { mma::mma_m16n8k16_bf16([a; 4], [b; 2], sums) };
                round += 1;
            }
        });
        // SAFETY: this lane's numbers.
        unsafe { *output.add(lane) = sums };
    }

    /// A product of matrices and an asynchronous copy on either side of a region, and a product in it.
    /// `input` must be valid for 1024 bytes and aligned to 16, `output` for four numbers a thread of one warp.
    fn products_around(input: *const u8, output: *mut [f32; 4], a: u32, b: u32) {
        let lane = warp::lane_id() as usize;
        // SAFETY: inside the tile.
        let tile = unsafe { TILE.as_mut_ptr().cast::<u8>().add(16 * lane) };
        let copy_part = |part: usize| {
            // SAFETY: 16 bytes of this lane's, in either.
            unsafe { copy::cp_async_16(tile.add(512 * part), input.add(16 * lane + 512 * part)) };
            copy::cp_async_commit();
        };
        // SAFETY: the whole warp comes here.
        let product = |sums| unsafe { mma::mma_m16n8k16_bf16([a; 4], [b; 2], sums) };
        copy_part(0);
        let mut sums = product([0.0; 4]);
        profile_region!("mma", pin = sums, { sums = product(sums) });
        sums = product(sums);
        copy_part(1);
        copy::cp_async_wait::<0>();
        // SAFETY: what this lane has copied.
        sums[0] += unsafe { TILE.read(4 * lane) + TILE.read(4 * lane + 128) };
        // SAFETY: this lane's numbers.
        unsafe { *output.add(lane) = sums };
    }

    /// Products of matrices on pinned accumulators, in a loop of unknown length.
    fn product_loop(output: *mut [f32; 4], a: u32, b: u32, rounds: u32) {
        let lane = warp::lane_id() as usize;
        let mut sums = [0.0; 4];
        profile_region!("mma", pin = sums, {
            let mut round = 0;
            while round < rounds {
                // SAFETY: the whole warp comes here.
                sums = unsafe { mma::mma_m16n8k16_bf16([a; 4], [b; 2], sums) };
                round += 1;
            }
        });
        // SAFETY: this lane's numbers.
        unsafe { *output.add(lane) = sums };
    }

    /// Products of matrices that the end stamp waits for.
    fn product_waited(output: *mut [f32; 4], a: u32, b: u32) {
        let lane = warp::lane_id() as usize;
        let sums = profile_region!("mma", wait, {
            // SAFETY: the whole warp comes here.
            unsafe { mma::mma_m16n8k16_bf16([a; 4], [b; 2], [1.0; 4]) }
        });
        // SAFETY: this lane's numbers.
        unsafe { *output.add(lane) = sums };
    }

    /// A load and arithmetic on what it gives, pinned.
    fn load_pinned(input: *const f32, output: *mut f32, factor: f32) {
        let index = thread::index_1d() as usize;
        let mut x = factor;
        profile_region!("load", pin = x, {
            // SAFETY: one number a thread.
            x = math::fma(unsafe { *input.add(index) }, x, x);
        });
        // SAFETY: this thread's number.
        unsafe { *output.add(index) = x * x };
    }

    /// A pinned pointer, which is followed in the region.
    /// `node` must be valid for reads, and what it points to; `output` for a pointer.
    fn pointer_pinned(mut node: *const *const u8, output: *mut *const u8) {
        profile_region!("load", pin = node, {
            // SAFETY: the caller's.
            node = unsafe { *node }.cast();
        });
        // SAFETY: the caller's.
        unsafe { *output = *node };
    }

    /// A pinned variable that is worked out from a load before the region.
    fn entry_pinned(input: *const f32, output: *mut f32, factor: f32) {
        let index = thread::index_1d() as usize;
        // SAFETY: one number a thread.
        let mut x = unsafe { *input.add(index) } * factor;
        profile_region!("chain", pin = x, { x = chain(x, factor) });
        // SAFETY: this thread's number.
        unsafe { *output.add(index) = x };
    }
}

#[cfg(target_feature = "sm_90")]
pub mod bulk;
#[cfg(target_feature = "sm_90a")]
pub mod warp_group;
