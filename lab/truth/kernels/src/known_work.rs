//! Spins of a known number of cycles, in regions nested 1, 2, 4 and 8 deep, by every strategy, with
//! both clocks and in every form; into memory of the GPU and into memory of the host.

use profiler_device::hardware::{clock64, globaltimer};
use profiler_device::{Recorder, profile_region, profiled, recorder, region_end, region_start};
use profiler_kernel::thread;

use crate::{thread_of_grid, threads_of_grid};

/// Form: `profile_region!` with a block.
pub const RANGE: u32 = 0;
/// Form: `region_start!` and `region_end!`.
pub const TOKEN: u32 = 1;
/// Form: `profile_region!` with a block and a value.
pub const VALUE: u32 = 2;
/// Form: `profile_region!` with a block whose value the end waits for: a word of which the spin itself
/// has already waited, so that the region lasts no longer for it. (The spin's last reading would not do:
/// its true length ends when that is issued, and it is there some cycles later.)
pub const WAIT: u32 = 3;
/// Form: `profile_region!` with a block and a value of 16 bits.
pub const SHORT: u32 = 4;
/// [`WAIT`] of four words, which are added up. (For two the end waits by the instruction by which it waits for
/// one.)
pub const WAIT_FOUR: u32 = 5;

/// Names of the regions, from the outermost in.
pub const LEVELS: [&str; 8] =
    ["level 1", "level 2", "level 3", "level 4", "level 5", "level 6", "level 7", "level 8"];

/// How long the spin of repeat 0 is, in cycles: it brings the code into the instruction cache.
pub const WARM_UP_CYCLES: u64 = 64;
/// The longest pause after a repeat, in cycles: several steps of 32 ns of the timer.
const PAUSE_CYCLES: u64 = 1024;
/// As many as there may be warps in a grid, so that each warp pauses otherwise in each repeat.
pub const WARPS_APART: u32 = 32;
/// The thread of a block that records by the strategy `when`.
pub const WHEN_THREAD: u32 = 5;

/// Of what a spin has waited for, as much as the end of a region is to wait for.
#[inline(always)]
fn one_word([_, last]: [u64; 2]) -> u32 {
    last as u32
}

/// See [`one_word`].
#[inline(always)]
fn four_words(seen: [u64; 2]) -> [u64; 2] {
    seen
}

/// Work in nested regions of a form, one for each name of the list.
macro_rules! nest {
    ([$readings:ident $words:path], $recorder:ident, $value:ident, $work:expr, []) => {{
        let (readings, seen) = $work;
        $readings = readings;
        $words(seen)
    }};
    ($form:ident, $recorder:ident, $value:ident, $work:expr, []) => {
        $work.0
    };
    (range, $recorder:ident, $value:ident, $work:expr, [$name:tt $($inner:tt)*]) => {
        profile_region!($name, recorder = $recorder, {
            nest!(range, $recorder, $value, $work, [$($inner)*])
        })
    };
    (value, $recorder:ident, $value:ident, $work:expr, [$name:tt $($inner:tt)*]) => {
        profile_region!($name, recorder = $recorder, value = $value, {
            nest!(value, $recorder, $value, $work, [$($inner)*])
        })
    };
    (short, $recorder:ident, $value:ident, $work:expr, [$name:tt $($inner:tt)*]) => {
        profile_region!($name, recorder = $recorder, value = $value as u16, {
            nest!(short, $recorder, $value, $work, [$($inner)*])
        })
    };
    (wait, $recorder:ident, $value:ident, $work:expr, $names:tt) => {
        nest!(@wait one_word, $recorder, $value, $work, $names)
    };
    (wait_four, $recorder:ident, $value:ident, $work:expr, $names:tt) => {
        nest!(@wait four_words, $recorder, $value, $work, $names)
    };
    (@wait $words:path, $recorder:ident, $value:ident, $work:expr, $names:tt) => {{
        let readings;
        let _seen = nest!([readings $words], $recorder, $value, $work, $names);
        readings
    }};
    (
        [$readings:ident $words:path], $recorder:ident, $value:ident, $work:expr,
        [$name:tt $($inner:tt)*]
    ) => {
        profile_region!($name, recorder = $recorder, wait, {
            nest!([$readings $words], $recorder, $value, $work, [$($inner)*])
        })
    };
    (token, $recorder:ident, $value:ident, $work:expr, [$name:tt $($inner:tt)*]) => {{
        let token = region_start!($name, recorder = $recorder);
        let readings = nest!(token, $recorder, $value, $work, [$($inner)*]);
        region_end!(token);
        readings
    }};
}

/// A loop over the repeats of work in nested regions. The two readings are stored as they are: ptxas
/// would place their subtraction, which waits for the second one, before the end stamp. A pause of
/// another length after each repeat keeps the repeats out of step with the timer: were they in step,
/// all readings of a short spin would be rounded to the timer's steps alike, and no mean could tell.
macro_rules! repeat {
    (
        $truth:ident, $cycles:ident, $repeats:ident, $form:ident, $recorder:ident, $now:path, $names:tt
    ) => {{
        let mut repeat = 0;
        while repeat <= $repeats {
            let cycles = if repeat == 0 { WARM_UP_CYCLES } else { $cycles };
            let readings = nest!($form, $recorder, cycles, spin!($now, cycles), $names);
            // SAFETY: repeat <= repeats.
            unsafe { *$truth.add(repeat as usize * threads_of_grid()) = readings };
            pause(repeat);
            repeat += 1;
        }
    }};
}

/// The same at each of the depths; 8 is also what any other depth means. Each depth of each form
/// has a loop of its own: the compiler would hoist the begin stamp, with which all of them begin,
/// above a branch on form or depth within a common loop.
macro_rules! at_depth {
    ($depth:ident, $($repeat:tt)*) => {
        match $depth {
            1 => repeat!($($repeat)*, ["level 1"]),
            2 => repeat!($($repeat)*, ["level 1" "level 2"]),
            4 => repeat!($($repeat)*, ["level 1" "level 2" "level 3" "level 4"]),
            _ => repeat!($($repeat)*, [
                "level 1" "level 2" "level 3" "level 4" "level 5" "level 6" "level 7" "level 8"
            ]),
        }
    };
}

/// Spins for at least `cycles` cycles. Gives readings of the clock of the records, which are the
/// first and the last thing that is done, and four words that were there before the last one.
macro_rules! spin {
    ($now:path, $cycles:expr) => {{
        let begin = $now();
        let loop_begin = clock64();
        let mut last = clock64();
        while last - loop_begin < $cycles {
            last = clock64();
        }
        let end = $now();
        ([begin, end], [loop_begin, last])
    }};
}

/// Does nothing for up to [`PAUSE_CYCLES`], another time for each repeat and each warp.
#[inline(always)]
fn pause(repeat: u32) {
    let warp = (thread_of_grid() / 32) as u32;
    // The upper bits of a multiple of 2^32 divided by the golden ratio: spread evenly over all warps and
    // repeats. Of one warp each is 228 cycles, not a whole step, shorter than the one before, or longer.
    let spread = (repeat * WARPS_APART + warp).wrapping_mul(0x9e37_79b9);
    let cycles = (u64::from(spread) * PAUSE_CYCLES) >> 32;
    let begin = clock64();
    while clock64() - begin < cycles {}
}

/// What a kernel of known work does, by a clock: one function for all strategies, as which of them its recorder has is
/// known where it is compiled into a kernel. (Were it written out in each kernel, the compiler would check 2520
/// regions in place of 180, for minutes.)
macro_rules! work {
    ($name:ident, $now:path) => {
        /// See `known_work!`.
        ///
        /// # Safety
        ///
        /// `truth` must be valid for `repeats + 1` pairs, as many pairs apart as the grid has threads.
        // The CPU needs no copy in each kernel.
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        unsafe fn $name(
            recorder: Recorder<'_>,
            truth: *mut [u64; 2],
            form: u32,
            depth: u32,
            cycles: u64,
            repeats: u32,
        ) {
            match form {
                RANGE => at_depth!(depth, truth, cycles, repeats, range, recorder, $now),
                TOKEN => at_depth!(depth, truth, cycles, repeats, token, recorder, $now),
                VALUE => at_depth!(depth, truth, cycles, repeats, value, recorder, $now),
                WAIT => at_depth!(depth, truth, cycles, repeats, wait, recorder, $now),
                SHORT => at_depth!(depth, truth, cycles, repeats, short, recorder, $now),
                _ => at_depth!(depth, truth, cycles, repeats, wait_four, recorder, $now),
            }
        }
    };
}

work!(work_by_cycles, clock64);
work!(work_by_timer, globaltimer);

macro_rules! known_work {
    (
        $(#[$attribute:meta])* $list:ident, buffer = $buffer:ident;
        $($name:ident: $strategy:literal, [$($by:tt)+], $clock:ident, $work:ident;)+
    ) => {
        $(
            /// Repeats a spin of `cycles` cycles in nested regions, `repeats` times after one of
            /// [`WARM_UP_CYCLES`]. `form` is [`RANGE`], [`TOKEN`], [`VALUE`], [`WAIT`], [`SHORT`]
            /// or [`WAIT_FOUR`], `depth` 1, 2, 4 or 8. Thread `t` of the grid writes what the clock of
            /// the records showed at the begin and at the end of the spin of repeat `r` to
            /// `truth[r * threads + t]`.
            ///
            /// # Safety
            ///
            /// `truth` must be valid for `repeats + 1` pairs a thread of the grid.
            #[profiled(by = $($by)+, clock = $clock, buffer = $buffer)]
            pub unsafe extern "ptx-kernel" fn $name(
                truth: *mut [u64; 2],
                form: u32,
                depth: u32,
                cycles: u64,
                repeats: u32,
            ) {
                // SAFETY: each thread has pairs of its own.
                unsafe {
                    let truth = truth.add(thread_of_grid());
                    $work(recorder!(), truth, form, depth, cycles, repeats);
                }
            }
        )+

        $(#[$attribute])*
        #[cfg(not(target_arch = "nvptx64"))]
        pub const $list: &[KnownWorkKernel] = &[$(KnownWorkKernel {
            name: stringify!($name),
            strategy: $strategy,
            clock: stringify!($clock),
            buffer: stringify!($buffer),
            function: $name,
        }),+];
    };
}

#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
known_work! {
    /// All kernels of known work whose records go to memory of the GPU.
    KNOWN_WORK, buffer = global;
    work_warp_cycles: "warp", [warp], cycles, work_by_cycles;
    work_warp_timer: "warp", [warp], globaltimer, work_by_timer;
    work_block_cycles: "block", [block], cycles, work_by_cycles;
    work_block_timer: "block", [block], globaltimer, work_by_timer;
    work_warp_index_cycles: "warp(1)", [warp(1)], cycles, work_by_cycles;
    work_warp_index_timer: "warp(1)", [warp(1)], globaltimer, work_by_timer;
    work_elected_cycles: "elected", [elected], cycles, work_by_cycles;
    work_elected_timer: "elected", [elected], globaltimer, work_by_timer;
    work_thread_cycles: "thread", [thread], cycles, work_by_cycles;
    work_thread_timer: "thread", [thread], globaltimer, work_by_timer;
    work_warp_group_cycles: "warp_group", [warp_group], cycles, work_by_cycles;
    work_warp_group_timer: "warp_group", [warp_group], globaltimer, work_by_timer;
    work_when_cycles: "when", [when(thread::thread_idx_x() == WHEN_THREAD)], cycles, work_by_cycles;
    work_when_timer: "when", [when(thread::thread_idx_x() == WHEN_THREAD)], globaltimer, work_by_timer;
}

#[cfg(any(not(target_arch = "nvptx64"), feature = "host-buffer"))]
known_work! {
    /// Those whose records go to memory of the host.
    HOSTED_WORK, buffer = host;
    hosted_warp_cycles: "warp", [warp], cycles, work_by_cycles;
    hosted_warp_timer: "warp", [warp], globaltimer, work_by_timer;
    hosted_block_cycles: "block", [block], cycles, work_by_cycles;
    hosted_block_timer: "block", [block], globaltimer, work_by_timer;
    hosted_warp_index_cycles: "warp(1)", [warp(1)], cycles, work_by_cycles;
    hosted_warp_index_timer: "warp(1)", [warp(1)], globaltimer, work_by_timer;
    hosted_elected_cycles: "elected", [elected], cycles, work_by_cycles;
    hosted_elected_timer: "elected", [elected], globaltimer, work_by_timer;
    hosted_thread_cycles: "thread", [thread], cycles, work_by_cycles;
    hosted_thread_timer: "thread", [thread], globaltimer, work_by_timer;
    hosted_warp_group_cycles: "warp_group", [warp_group], cycles, work_by_cycles;
    hosted_warp_group_timer: "warp_group", [warp_group], globaltimer, work_by_timer;
    hosted_when_cycles: "when", [when(thread::thread_idx_x() == WHEN_THREAD)], cycles, work_by_cycles;
    hosted_when_timer: "when", [when(thread::thread_idx_x() == WHEN_THREAD)], globaltimer, work_by_timer;
}

/// A kernel of known work, for the host to launch.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct KnownWorkKernel {
    /// Its symbol in the PTX.
    pub name: &'static str,
    /// Who records: the argument `by` of `#[profiled]`.
    pub strategy: &'static str,
    /// The clock of the records: the argument `clock` of `#[profiled]`.
    pub clock: &'static str,
    /// Where the records go: the argument `buffer` of `#[profiled]`.
    pub buffer: &'static str,
    /// Its twin.
    pub function: unsafe fn(*mut [u64; 2], u32, u32, u64, u32),
}
