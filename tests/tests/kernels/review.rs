//! Corners of the device runtime: warps that are not whole, lanes that leave before others, values
//! that could hide what an end stamp waits for.

use crate::support::with_lane_buffers;

use profiler_device::{
    Wait, hardware, profile_mark, profile_region, profiled, region_end, region_start,
};
use profiler_host::{Backend, BackendChoice, Keep, Profiler, Slots, Trace, launch};

/// Lanes leave one after the other, lane 0 first; until then, all sorts of records. Adds up in
/// `emitted` what each thread emitted.
///
/// # Safety
///
/// `emitted` must be valid for one number a thread of the grid.
#[profiled]
unsafe extern "ptx-kernel" fn leaving(emitted: *mut u32) {
    let [x, y, z] = hardware::block_index();
    let [columns, rows, _] = hardware::grid_dim();
    let threads: u32 = hardware::block_dim().iter().product();
    let [column, row, layer] = hardware::thread_index();
    let [width, height, _] = hardware::block_dim();
    let thread = (layer * height + row) * width + column;
    let block = (z * rows + y) * columns + x;
    // SAFETY: this thread's number.
    let emitted = unsafe { &mut *emitted.add((block * threads + thread) as usize) };
    let lane = hardware::lane_id();
    for round in 0..64 {
        if round > lane {
            return;
        }
        profile_region!("by thread", by = thread, value = round);
        *emitted += 1;
        profile_mark!("odd lanes", by = when(lane % 2 == 1));
        *emitted += lane % 2;
        profile_region!("lane 0", value = round);
        *emitted += u32::from(lane == 0);
        let token = region_start!("token", by = thread);
        region_end!(token, value = round);
        *emitted += 1;
    }
}

/// Grid and block of [`leaving`]: every block has three whole warps and nine lanes.
const GRID: [u32; 3] = [3, 2, 2];
const BLOCK: [u32; 3] = [7, 5, 3];
const BLOCKS: u32 = 12;
const THREADS: u32 = 105;

/// Runs [`leaving`]; gives the trace and what each thread emitted.
fn leave(profiler: &Profiler) -> (Trace, Vec<u32>) {
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("the emulator");
    let mut emitted = backend.zeroed::<u32>((BLOCKS * THREADS) as usize).expect("memory");
    let mut session = backend.session(profiler).expect("a session");
    // SAFETY: one number a thread.
    unsafe { launch!(session, leaving<<<GRID, BLOCK>>>(emitted.as_mut_ptr())) }
        .expect("the launch");
    let trace = session.finish().expect("a trace");
    (trace, emitted.read().expect("the numbers"))
}

#[test]
fn nothing_is_lost_uncounted_where_lanes_leave_early() {
    let selected_warps = 0b1011;
    for keep in [Keep::First, Keep::Last] {
        for slots in [Slots::Linear, Slots::Claimed] {
            for lane_buffers in [true, false] {
                // Buffers that end between a region and its value, and ones that keep nothing; slots
                // for all warps and for a few.
                for records in [0, 5, 512] {
                    for max_warps in [7, 64] {
                        let options = Profiler::builder()
                            .warp_mask(selected_warps)
                            .blocks(1..)
                            .block_stride(2)
                            .keep(keep)
                            .slots(slots)
                            .records_per_warp(records)
                            .max_warps(max_warps);
                        let options = with_lane_buffers(options, lane_buffers, records);
                        let profiler = options.build().expect("the options");
                        let (trace, emitted) = leave(&profiler);
                        let expected: u64 = (0_u32..)
                            .zip(&emitted)
                            .filter(|(thread, _)| {
                                let (block, warp) = (thread / THREADS, thread % THREADS / 32);
                                block % 2 == 1 && selected_warps >> warp & 1 == 1
                            })
                            .map(|(_, emitted)| u64::from(*emitted))
                            .sum();
                        assert_eq!(
                            trace.recorded() + trace.lost(),
                            expected,
                            "{keep:?} {slots:?} {lane_buffers:?} {records} {max_warps}: {}",
                            trace.diagnostics
                        );
                    }
                }
            }
        }
    }
}

/// The last warp of the largest block.
#[profiled(by = thread)]
unsafe extern "ptx-kernel" fn large() {
    profile_region!("work");
}

#[test]
fn the_largest_block_has_a_slot_for_each_warp() {
    for warp_mask in [u32::MAX, 1 << 31, 1] {
        for slots in [Slots::Linear, Slots::Claimed] {
            let profiler = Profiler::builder()
                .warp_mask(warp_mask)
                .slots(slots)
                .max_warps(2 * warp_mask.count_ones())
                .build()
                .expect("the options");
            let backend = Backend::choose(BackendChoice::Emulator, None).expect("the emulator");
            let mut session = backend.session(&profiler).expect("a session");
            // SAFETY: the kernel touches no memory.
            unsafe { launch!(session, large<<<2, 1024>>>()) }.expect("the launch");
            let trace = session.finish().expect("a trace");
            assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
            assert_eq!(trace.recorded(), 2 * 32 * u64::from(warp_mask.count_ones()));
            for warp in &trace.warps {
                assert_eq!(warp_mask >> warp.warp & 1, 1);
            }
        }
    }
}

/// An end stamp waits for a value through its folded bits: they must depend on the value also where
/// its parts do.
#[test]
fn parts_of_a_value_do_not_cancel() {
    fn differs<T: Wait>(parts: impl Fn(u32) -> T) -> bool {
        parts(3).fold() != parts(70).fold()
    }
    assert!(differs(|value| [value; 2]));
    assert!(differs(|value| [value; 32]));
    assert!(differs(|value| (value, value)));
    assert!(differs(|value| (value as f32, -(value as f32))));
    assert!(differs(|value| [f64::from(value), -f64::from(value)]));
    assert!(differs(|value| (u64::from(value) << 32) | u64::from(value)));
}

/// Lane 0 is late: it looks again and again at something before it is known whether it records.
#[profiled(by = when({
    if hardware::lane_id() == 0 {
        for _ in 0..8 {
            profiler_emulator::yield_now();
        }
    }
    true
}))]
unsafe extern "ptx-kernel" fn lane_0_is_late() {
    profile_region!("work");
}

#[test]
fn a_claimed_slot_reaches_all_lanes() {
    let profiler =
        Profiler::builder().slots(Slots::Claimed).lane_buffers(true).build().expect("the options");
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("the emulator");
    let mut session = backend.session(&profiler).expect("a session");
    // SAFETY: the kernel touches no memory.
    unsafe { launch!(session, lane_0_is_late<<<4, 105>>>()) }.expect("the launch");
    let trace = session.finish().expect("a trace");
    assert_eq!((trace.recorded(), trace.lost()), (4 * 105, 0), "{}", trace.diagnostics);
    for warp in &trace.warps {
        let lanes = if warp.warp < 3 { 32 } else { 105 % 32 };
        assert_eq!(warp.recorded, lanes, "block {:?}, warp {}", warp.block, warp.warp);
    }
}
