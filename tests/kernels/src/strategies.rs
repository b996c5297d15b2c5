//! Small kernels for end-to-end tests: every strategy, device functions, tokens, marks, names,
//! early exits.
//!
//! # Safety
//!
//! The pointers that a kernel gets must be valid for what it reads and writes: one number a thread of the grid, where
//! it says nothing else.
#![allow(clippy::missing_safety_doc, reason = "it is said above, for all kernels")]

use profiler_device::hardware::{clock64, globaltimer};
use profiler_device::{
    Recorder, profile_anchor, profile_mark, profile_names, profile_region, profile_signal,
    profile_wait, profiled, recorder, region_end, region_start, site,
};
use profiler_kernel::{atomic, thread};

profile_names!(pub TASK = ["load", "compute", "store"], unit = "bytes");

/// One region a round, by the default strategy. Writes each thread's number of rounds.
#[profiled]
pub unsafe extern "ptx-kernel" fn by_warp(output: *mut u32, rounds: u32) {
    let mut done = 0;
    while done < rounds {
        profile_region!("round", {
            done += 1;
        });
    }
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = done };
}

/// One region a round, by every thread; lane l of a warp makes l more rounds.
#[profiled(by = thread)]
pub unsafe extern "ptx-kernel" fn by_thread(output: *mut u32, rounds: u32) {
    let lane = thread::thread_idx_x() % 32;
    let mut done = 0;
    while done < rounds + lane {
        profile_region!("round", value = done);
        done += 1;
    }
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = done };
}

/// Each half of the warp takes an arm of its own; each arm elects a lane.
#[profiled(by = elected)]
pub unsafe extern "ptx-kernel" fn by_elected(output: *mut u32, rounds: u32) {
    let mut done = 0;
    while done < rounds {
        if thread::thread_idx_x() % 32 < 16 {
            profile_region!("low half", {
                done += 1;
            });
        } else {
            profile_region!("high half", {
                done += 1;
            });
        }
    }
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = done };
}

/// What macros cannot say: lanes that are given sites of their own at one call, and that end what they
/// began in different orders.
#[profiled(by = thread)]
pub unsafe extern "ptx-kernel" fn by_lanes_apart(output: *mut u32, rounds: u32) {
    let leader = recorder!().leader_thread();
    let is_odd = thread::thread_idx_x() % 2 == 1;
    let mut done = 0;
    while done < rounds {
        let site = if is_odd {
            site!(Region, "odd", by = thread)
        } else {
            site!(Region, "even", by = thread)
        };
        leader.region(site, 0, ()).end();
        let first = leader.region(site!(Region, "first", by = thread), 0, ());
        let second = leader.region(site!(Region, "second", by = thread), 0, ());
        let (sooner, later) = if is_odd { (first, second) } else { (second, first) };
        sooner.end();
        let begin = clock64();
        while clock64() - begin < 100 {}
        later.end();
        done += 1;
    }
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = done };
}

/// Marks that all lanes make together, and such that each has to make for itself: in an arm, at a site of its
/// own, with a value.
#[profiled(by = thread)]
pub unsafe extern "ptx-kernel" fn marks_of_lanes(output: *mut u32, rounds: u32) {
    let leader = recorder!().leader_thread();
    let is_odd = thread::thread_idx_x() % 2 == 1;
    profile_mark!("begin");
    let mut done = 0;
    while done < rounds {
        profile_mark!("round");
        if is_odd {
            profile_mark!("arm");
        }
        leader.mark(if is_odd {
            site!(Mark, "odd", by = thread)
        } else {
            site!(Mark, "even", by = thread)
        });
        profile_mark!("value", done);
        done += 1;
    }
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = done };
}

/// Each half of the warp takes an arm of its own; the strategy is the default, lane 0.
#[profiled]
pub unsafe extern "ptx-kernel" fn by_warp_in_arms(output: *mut u32, rounds: u32) {
    let mut done = 0;
    while done < rounds {
        if thread::thread_idx_x() % 32 < 16 {
            profile_region!("lane 0's arm", value = done);
        } else {
            profile_region!("the other arm", value = done);
            profile_mark!("mark in the other arm");
        }
        done += 1;
    }
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = done };
}

/// One region for each strategy that can be named on a region.
#[profiled(track = 7)]
pub unsafe extern "ptx-kernel" fn by_each(output: *mut u32, rounds: u32) {
    let thread_index = thread::thread_idx_x();
    let mut done = 0;
    while done < rounds {
        profile_region!("block", by = block);
        profile_region!("warp", by = warp);
        profile_region!("warp 1", by = warp(1));
        profile_region!("warp group", by = warp_group);
        profile_region!("when", by = when(thread_index == 5), track = 9);
        done += 1;
    }
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = done };
}

/// Rounds of [`ROUND_CYCLES`], before each of which there may be an anchor: at most one in `every` cycles.
#[profiled]
pub unsafe extern "ptx-kernel" fn anchors_now_and_then(output: *mut u32, rounds: u32, every: u32) {
    let mut done = 0;
    while done < rounds {
        let begin = clock64();
        profile_anchor!(every = every);
        profile_anchor!(every = every, by = when(thread::thread_idx_x() == 35));
        while clock64() - begin < ROUND_CYCLES {}
        done += 1;
    }
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = done };
}

/// Cycles of a round of [`anchors_now_and_then`].
pub const ROUND_CYCLES: u64 = 1000;

/// Device functions, tokens that cross, marks, names chosen at run time, arrows, early exit.
#[profiled]
pub unsafe extern "ptx-kernel" fn everything(output: *mut u32, rounds: u32) {
    // SAFETY: one number a thread.
    let output = unsafe { output.add(thread_of_grid()) };
    let mut prof = recorder!();
    let outer = region_start!("outer");
    let crossing = region_start!("crossing");
    region_end!(outer);
    let mut sum = 0;
    let mut round = 0;
    while round < rounds {
        sum += profile_region!(TASK[round], value = 4 * u64::from(round), {
            if round == 1 {
                round += 1;
                continue;
            }
            twice(&mut prof, round)
        });
        profile_mark!("round done", round);
        round += 1;
    }
    profile_signal!("all rounds", 42);
    region_end!(crossing, value = sum);
    profile_wait!("all rounds", 42);
    let _never_ended = region_start!("never ended");
    // SAFETY: this thread's number.
    unsafe { *output = sum };
}

/// A device function: its body is a region of its own.
#[profiled]
fn twice(prof: &mut Recorder, value: u32) -> u32 {
    if value == 0 {
        return 0;
    }
    profile_region!("nested in a function");
    value * 2
}

/// Stamps by the global timer, in lane 0 of warp 0; spins for `nanoseconds` of it.
#[profiled(clock = globaltimer, by = block)]
pub unsafe extern "ptx-kernel" fn on_globaltimer(output: *mut u32, nanoseconds: u32) {
    profile_region!("spin", {
        let begin = globaltimer();
        while globaltimer() - begin < u64::from(nanoseconds) {}
    });
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = nanoseconds };
}

/// Warp w comes w times `delay` cycles late to a barrier; all wait for the last.
#[profiled]
pub unsafe extern "ptx-kernel" fn barrier_wait(output: *mut u32, delay: u32) {
    let late = u64::from(delay) * u64::from(thread::thread_idx_x() / 32);
    let begin = clock64();
    while clock64() - begin < late {}
    profile_region!("barrier", { thread::sync_threads() });
    profile_region!("after the barrier", {
        // SAFETY: one number a thread.
        unsafe { output.add(thread_of_grid()).write_volatile(delay) };
    });
}

/// Raises the flag `own` of two and waits for the other one, which another launch raises, for
/// `nanoseconds` at most. Writes for each thread whether it came.
#[profiled]
pub unsafe extern "ptx-kernel" fn meets(
    output: *mut u32,
    flags: *mut u32,
    own: u32,
    nanoseconds: u32,
) {
    // SAFETY: the caller's.
    let other = unsafe { flags.add(1 - own as usize) };
    // SAFETY: the caller's.
    unsafe { atomic::store_release_u32(flags.add(own as usize), 1) };
    let came = profile_region!("wait for the other launch", {
        let begin = globaltimer();
        loop {
            // SAFETY: the caller's.
            let came = unsafe { atomic::load_acquire_u32(other) };
            if came != 0 || globaltimer() - begin > u64::from(nanoseconds) {
                break came;
            }
        }
    });
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = came };
}

/// A division whose result a pinned region squares: the division belongs before the region, the
/// multiplication into it.
#[profiled(single_body)]
pub unsafe extern "ptx-kernel" fn pinned(output: *mut f32, dividend: f32, divisor: f32) {
    let mut value = dividend / divisor;
    profile_region!("square", pin = value, {
        value *= value;
    });
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = value };
}

/// The same with the copy of the body that runs without a session.
#[profiled]
pub unsafe extern "ptx-kernel" fn pinned_apart(output: *mut f32, dividend: f32, divisor: f32) {
    let mut value = dividend / divisor;
    profile_region!("square", pin = value, {
        value *= value;
    });
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = value };
}

/// What [`in_parts`] squares, and on which lane it is recorded.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Parts {
    /// The value.
    pub value: f32,
    /// The lane.
    pub lane: u32,
}

/// A kernel that takes its parameters apart, and whose choice of a thread names one of the parts.
#[profiled(by = when(thread::thread_idx_x() == lane))]
pub unsafe extern "ptx-kernel" fn in_parts(
    output: *mut f32,
    Parts { mut value, lane }: Parts,
    _: u32,
) {
    profile_region!("square", pin = value, {
        value *= value;
    });
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = value + lane as f32 };
}

/// A collective between two branches on a value that differs between the lanes of a warp, which
/// tempts LLVM to put a copy of it into either arm.
#[profiled(single_body)]
pub unsafe extern "ptx-kernel" fn guarded_collective(output: *mut u32, odd: u32) {
    // SAFETY: one number a thread.
    let output = unsafe { output.add(thread_of_grid()) };
    let diverges = thread::thread_idx_x() & odd != 0;
    if diverges {
        // SAFETY: this thread's number.
        unsafe { output.write_volatile(1) };
    }
    profile_region!("between", by = elected);
    if diverges {
        // SAFETY: as above.
        unsafe { output.write_volatile(2) };
    }
}

/// The same with a bare `asm!`: what the guard prevents.
#[cfg(target_arch = "nvptx64")]
#[profiled(single_body)]
pub unsafe extern "ptx-kernel" fn unguarded_collective(output: *mut u32, odd: u32) {
    // SAFETY: one number a thread.
    let output = unsafe { output.add(thread_of_grid()) };
    let diverges = thread::thread_idx_x() & odd != 0;
    if diverges {
        // SAFETY: this thread's number.
        unsafe { output.write_volatile(1) };
    }
    let mask: u32;
    // SAFETY: reads which lanes are active.
    unsafe { core::arch::asm!("activemask.b32 {mask};", mask = out(reg32) mask) };
    if diverges {
        // SAFETY: as above.
        unsafe { output.write_volatile(mask) };
    }
}

/// Switched off by a constant, among kernels that record.
#[profiled(enabled = false, by = thread, track = 3)]
pub unsafe extern "ptx-kernel" fn switched_off(output: *mut u32, rounds: u32) {
    let whole = region_start!("whole", by = elected);
    let mut done = 0;
    while done < rounds {
        profile_anchor!(every = 1_000);
        profile_region!(TASK[done % 3], by = when(done > 3), value = done);
        profile_mark!("a round", done);
        done = addition(recorder!(), done);
    }
    region_end!(whole, value = done);
    // SAFETY: one number a thread.
    unsafe { *output.add(thread_of_grid()) = done };
}

#[profiled]
fn addition(prof: Recorder<'_>, value: u32) -> u32 {
    profile_signal!("added", value, recorder = prof);
    value + 1
}

#[inline(always)]
fn thread_of_grid() -> usize {
    (thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize
}

/// Regions that are left by every way out of a block, by each strategy of which a whole warp has one
/// way.
pub mod ways_out {
    use profiler_device::{Recorder, profile_mark, profile_region, profiled, recorder};
    use profiler_kernel::thread;

    /// A device function that is left by `?` where there is no number.
    #[profiled]
    fn leaves_by_question_mark(prof: Recorder<'_>, number: Option<u32>) -> Option<u32> {
        profile_region!("in the function");
        let number = profile_region!("around the question mark", { number? + 1 });
        Some(number)
    }

    macro_rules! leaves {
        ($($(#[$attribute:meta])* $name:ident by $strategy:ident;)*) => {$(
            $(#[$attribute])*
            /// Leaves regions by `continue`, `break`, `break` to a label and the end of a function, and by
            /// `?` and `return` where `leave` is not 0, which only the launch decides. Writes for each
            /// thread what its calls of a function add up to.
            ///
            /// # Safety
            ///
            /// `output` must be valid for one number a thread of the grid; `rounds` must be even and not 0.
            #[profiled(by = $strategy)]
            pub unsafe extern "ptx-kernel" fn $name(output: *mut u32, rounds: u32, leave: u32) {
                profile_region!("to the end of the kernel");
                let mut round = 0;
                'outer: loop {
                    profile_region!("loop");
                    loop {
                        profile_region!("inner loop", {
                            round += 1;
                            if round % 2 == 1 {
                                continue;
                            }
                            if round == rounds {
                                break 'outer;
                            }
                            break;
                        });
                    }
                }
                let left = leaves_by_question_mark(recorder!(), (leave == 0).then_some(round));
                let whole = leaves_by_question_mark(recorder!(), Some(round));
                // SAFETY: one number a thread.
                unsafe {
                    *output.add(thread::index_1d() as usize) =
                        left.unwrap_or_default() + whole.unwrap_or_default();
                }
                profile_region!("around the return", {
                    if leave != 0 {
                        return;
                    }
                });
                profile_mark!("after the return");
            }
        )*};
    }

    leaves! {
        /// By lane 0.
        leaves by warp;
        /// By one active lane.
        leaves_elected by elected;
        /// By every thread.
        leaves_by_thread by thread;
    }
}
