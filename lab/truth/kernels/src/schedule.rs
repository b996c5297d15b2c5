//! Regions at times that a schedule says, by `%globaltimer`.

use profiler_device::hardware::{clock64, globaltimer, lane_id};
use profiler_device::{profile_anchor, profile_region, profiled, recorder};

use crate::thread_of_grid;

/// Numbers of a step of a schedule: when it begins, and how long it lasts, in nanoseconds since the
/// warp entered the kernel.
pub const STEP_WORDS: usize = 2;
/// Numbers of a reading: `%globaltimer` and `%clock64` at the begin, `%clock64` and `%globaltimer`
/// at the end.
pub const READING_WORDS: usize = 4;

/// A region "step" of so many nanoseconds, in which a warp reads the clocks, spins by
/// `%globaltimer` and reads the clocks again; gives the readings. While it spins it does `$meanwhile`.
macro_rules! step {
    ($recorder:ident, $length_ns:ident, $meanwhile:block) => {
        profile_region!("step", recorder = $recorder, {
            let timer_begin = globaltimer();
            let clock_begin = clock64();
            while globaltimer() - timer_begin < $length_ns $meanwhile
            let clock_end = clock64();
            let timer_end = globaltimer();
            [timer_begin, clock_begin, clock_end, timer_end]
        })
    };
}
pub(crate) use step;

macro_rules! scheduled {
    ($($name:ident: $clock:ident;)*) => {
        $(
            /// Region "step" for each step of the schedule, all in a region "schedule". What warp
            /// `w` reads in step `s` goes to `readings[(w * count + s) * READING_WORDS]` and
            /// after. Where `anchors` is not 0, both clocks are recorded before and after each
            /// step.
            ///
            /// # Safety
            ///
            /// `steps` must be valid for `count` times [`STEP_WORDS`] numbers, `readings` for
            /// `count` times [`READING_WORDS`] numbers a warp of the grid. Blocks are of whole
            /// warps.
            #[profiled(clock = $clock)]
            pub unsafe extern "ptx-kernel" fn $name(
                steps: *const u64,
                count: u32,
                readings: *mut u64,
                anchors: u32,
            ) {
                let recorder = recorder!();
                let origin = globaltimer();
                let first = thread_of_grid() / 32 * count as usize;
                profile_region!("schedule", recorder = recorder, {
                    let mut step = 0;
                    while step < count as usize {
                        // SAFETY: step < count.
                        let (begin_ns, length_ns) = unsafe {
                            (*steps.add(step * STEP_WORDS), *steps.add(step * STEP_WORDS + 1))
                        };
                        while globaltimer() - origin < begin_ns {}
                        if anchors != 0 {
                            profile_anchor!(recorder = recorder);
                        }
                        let reading = step!(recorder, length_ns, {});
                        if anchors != 0 {
                            profile_anchor!(recorder = recorder);
                        }
                        if lane_id() == 0 {
                            // SAFETY: step < count, and each warp has readings of its own.
                            unsafe {
                                *readings.add((first + step) * READING_WORDS).cast() = reading;
                            }
                        }
                        step += 1;
                    }
                });
            }
        )*
    };
}

scheduled! {
    scheduled_cycles: cycles;
    scheduled_timer: globaltimer;
}
