//! Kernels for what it costs to enter and leave a profiled kernel.

use profiler_device::__private::wire::Strategy;
use profiler_device::__private::wire::header::Clock;
use profiler_device::__private::wire::site::Buffer;
use profiler_device::__private::{BufferChoice, Config, State, claim_slot_for_warp};
use profiler_device::{profile_region, profiled};
use profiler_kernel::thread::sync_threads;

use crate::instructions::{
    atomic_add, atomic_add_u64, block, clock64, clock64_after, globaltimer, lane, multiprocessor,
    opaque_increment, scheduler, thread, threads,
};
use crate::template::warp_of_grid;
use crate::{MOMENTS, WARP};

/// Spins for `cycles` cycles, and writes how long it took. It lasts as long whatever code is around it;
/// a loop of arithmetic would not.
///
/// # Safety
///
/// `output` must be valid for one number for each thread of the grid.
#[inline(always)]
unsafe fn work(output: *mut f32, cycles: u32) {
    let begin = clock64();
    let mut passed = 0;
    while passed < u64::from(cycles) {
        passed = clock64() - begin;
    }
    let index = block() as usize * threads() as usize + thread() as usize;
    // SAFETY: this thread's number.
    unsafe { *output.add(index) = passed as f32 };
}

/// The work in a kernel that is not annotated.
///
/// # Safety
///
/// As for [`work`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "ptx-kernel" fn launch_unannotated(output: *mut f32, cycles: u32) {
    // SAFETY: the caller's.
    unsafe { work(output, cycles) }
}

/// The work in a profiled kernel without a region: what is added is entry and exit.
///
/// # Safety
///
/// As for [`work`].
#[profiled]
pub(crate) unsafe extern "ptx-kernel" fn launch_profiled(output: *mut f32, cycles: u32) {
    // SAFETY: the caller's.
    unsafe { work(output, cycles) }
}

/// The work in a profiled kernel, in one region.
///
/// # Safety
///
/// As for [`work`].
#[profiled]
pub(crate) unsafe extern "ptx-kernel" fn launch_region(output: *mut f32, cycles: u32) {
    profile_region!("work", {
        // SAFETY: the caller's.
        unsafe { work(output, cycles) }
    });
}

/// How long lane 0 of each warp waits for one atomic in global memory: what claiming a slot cannot be
/// cheaper than. Counters are chosen as a claim chooses them, by SM and scheduler. In cycles, a number
/// for each warp of the grid.
///
/// # Safety
///
/// `counters` must be valid for a counter of 4 bytes for each scheduler of each SM, of which each has 128
/// bytes, and `output` for one number for each warp.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "ptx-kernel" fn launch_round_trip(output: *mut f32, counters: u64) {
    if !thread().is_multiple_of(WARP) {
        return;
    }
    let address = counters + 128 * u64::from(4 * multiprocessor() + scheduler());
    let begin = clock64();
    // SAFETY: the caller's. The second address is not known before the first add has come back, and a warp
    // issues in order, so that the clock is read after that.
    let end = unsafe {
        let first = atomic_add(address, 1);
        atomic_add(address + u64::from(first >> 31), 0);
        clock64()
    };
    let warp = (block() * threads() + thread()) / WARP;
    // SAFETY: this warp's number.
    unsafe { *output.add(warp as usize) = (end - begin) as f32 };
}

/// Times a `wait` at each of the [`MOMENTS`]: between two readings of the clock, the second of which is not
/// made before the number is there that `wait` gives. Lane 0 of each warp writes the cycles and the number.
///
/// # Safety
///
/// `output` must be valid for two numbers for each moment of each warp of the grid; all threads of the
/// block must come here, and blocks must have one dimension and whole warps.
#[inline(always)]
unsafe fn timed(output: *mut u64, wait: impl Fn() -> u32) {
    // SAFETY: within what the caller answers for.
    let mut pair = unsafe { output.add((2 * MOMENTS * warp_of_grid()) as usize) };
    let mut moment = 0;
    // One and the same code at each moment, so that it is in the instruction cache at the second.
    while moment < MOMENTS {
        if moment > 0 {
            sync_threads();
        }
        let begin = clock64();
        let number = wait();
        let cycles = clock64_after(number) - begin;
        if lane() == 0 {
            // SAFETY: this moment's pair of this warp's.
            unsafe {
                // All 64 bits, although their upper half says nothing: ptxas would read half a clock, which
                // takes longer.
                pair.write(cycles);
                pair.add(1).write(u64::from(number));
            }
        }
        // SAFETY: at most right after what the caller answers for.
        pair = unsafe { pair.add(2) };
        moment = opaque_increment(moment);
    }
}

/// What two readings of the clock take with nothing between them.
///
/// # Safety
///
/// As for [`timed`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "ptx-kernel" fn launch_clock_reads(output: *mut u64) {
    // SAFETY: the caller's.
    unsafe { timed(output, || 0) }
}

/// How long lane 0 waits for one atomic as a claim makes it, alone. A counter is the SM's where `sm_bytes`
/// lie between those of two SMs, and its scheduler's where `scheduler_bytes` do; where both are 0 there is
/// one for all.
///
/// # Safety
///
/// As for [`timed`]; and at `counters` must be the counters of 8 bytes of so many SMs.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "ptx-kernel" fn launch_atomic(
    output: *mut u64,
    counters: u64,
    sm_count: u32,
    sm_bytes: u32,
    scheduler_bytes: u32,
) {
    // As a claim has it: the number of an SM may exceed their count.
    let sm = multiprocessor().min(sm_count - 1);
    let address = counters + u64::from(sm * sm_bytes + scheduler() * scheduler_bytes);
    let wait = || {
        if lane() != 0 {
            return 0;
        }
        // SAFETY: the caller's.
        unsafe { atomic_add_u64(address, 1) as u32 }
    };
    // SAFETY: the caller's.
    unsafe { timed(output, wait) }
}

/// How long a warp takes to claim a slot, by the very code by which entering a profiled kernel does, until
/// all its lanes know it. Where no session is attached nothing is written.
///
/// # Safety
///
/// As for [`timed`]; and a session's slots must be claimed.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "ptx-kernel" fn launch_claim(output: *mut u64) {
    let config = Config {
        enabled: true,
        strategy: Strategy::Warp,
        when: false,
        clock: Clock::Cycles,
        buffer: BufferChoice::new(Buffer::Global),
        track: 0,
    };
    // What a kernel asks before it claims, so that what it reads of the descriptor is in the cache.
    if State::recorded_block(config).is_none() {
        return;
    }
    let (lane, warp) = (lane(), thread() / WARP);
    // SAFETY: the caller's; all lanes of a warp come to each moment.
    unsafe { timed(output, || claim_slot_for_warp(lane, warp)) }
}

/// What the clock's rate is: lane 0 of the grid's first warp spins for `cycles` cycles and writes by how
/// much both clocks went on, cycles first.
///
/// # Safety
///
/// `output` must be valid for two numbers.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "ptx-kernel" fn launch_clock_rate(output: *mut u64, cycles: u32) {
    if thread() + block() != 0 {
        return;
    }
    let (begin, begin_ns) = (clock64(), globaltimer());
    let mut passed = 0;
    while passed < u64::from(cycles) {
        passed = clock64() - begin;
    }
    let end_ns = globaltimer();
    // SAFETY: the two numbers.
    unsafe {
        output.write(passed);
        output.add(1).write(end_ns - begin_ns);
    }
}
