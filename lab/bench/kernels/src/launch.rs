//! Kernels for what it costs to enter and leave a profiled kernel.

use profiler_device::__private::wire::Strategy;
use profiler_device::__private::wire::header::Clock;
use profiler_device::__private::wire::site::Buffer;
use profiler_device::__private::{BufferChoice, Config, State, claim_slot_for_warp};
use profiler_device::hardware::{clock64, globaltimer, lane_id, sm_id, warp_id};
use profiler_device::{profile_region, profiled};
use profiler_kernel::thread::{block_dim_x, block_idx_x, sync_threads, thread_idx_x};

use crate::template::{instructions, opaque_increment, warp_of_grid};
use crate::{MOMENTS, WARP};

instructions! {
    /// A relaxed atomic add to a counter of 4 bytes; the value before it.
    ///
    /// # Safety
    ///
    /// `address` must be that of such a counter in global memory, aligned to its size.
    [unsafe] fn atomic_add(address: u64 as reg64, value: u32 as reg32) out (before as reg32) -> u32 {
        "atom.relaxed.gpu.global.add.u32 {before}, [{address}], {value};"
    }

    /// The same of a counter of 8 bytes, as a slot is claimed.
    ///
    /// # Safety
    ///
    /// As for [`atomic_add`].
    [unsafe] fn atomic_add_u64(address: u64 as reg64, value: u64 as reg64) out (before as reg64) -> u64 {
        "atom.relaxed.gpu.global.add.u64 {before}, [{address}], {value};"
    }

    /// The SM's cycles once a number is there, which is waited for as the profiler's own `wait` waits: the
    /// predicate holds for every number, of which ptxas knows nothing.
    fn clock64_after(number: u32 as reg32) out (ticks as reg64) -> u64 {
        "{{ .reg .pred %p_there; .reg .f32 %f_number;",
        "mov.b32 %f_number, {number};",
        "abs.f32 %f_number, %f_number;",
        "setp.leu.f32 %p_there, %f_number, 0f7F800000;",
        "mov.u64 {ticks}, 0;",
        "@%p_there mov.u64 {ticks}, %clock64; }}"
    }
}

/// Which of an SM's four schedulers issues for the warp: they take warps in turn.
#[inline(always)]
fn scheduler() -> u32 {
    warp_id() % 4
}

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
    let index = block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize;
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
    if !thread_idx_x().is_multiple_of(WARP) {
        return;
    }
    let address = counters + 128 * u64::from(4 * sm_id() + scheduler());
    let begin = clock64();
    // SAFETY: the caller's. The second address is not known before the first add has come back, and a warp
    // issues in order, so that the clock is read after that.
    let end = unsafe {
        let first = atomic_add(address, 1);
        atomic_add(address + u64::from(first >> 31), 0);
        clock64()
    };
    let warp = (block_idx_x() * block_dim_x() + thread_idx_x()) / WARP;
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
        if lane_id() == 0 {
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
    let sm = sm_id().min(sm_count - 1);
    let address = counters + u64::from(sm * sm_bytes + scheduler() * scheduler_bytes);
    let wait = || {
        if lane_id() != 0 {
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
    let (lane, warp) = (lane_id(), thread_idx_x() / WARP);
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
    if thread_idx_x() + block_idx_x() != 0 {
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
