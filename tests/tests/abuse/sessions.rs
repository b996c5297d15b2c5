//! Sessions that are used in ways that they are not meant for.

use std::time::Duration;

use profiler_host::{Error, Session, Slots, launch};
use test_kernels::abuse as kernels;

use crate::kernels::{Rounds, Shape, check_identity, kernel};
use crate::setting::{Setting, builder, output, overwrite_guards, record, session};

const SHAPE: Shape = Shape { grid: [3, 2, 1], block: [50, 1, 1] };

/// A thousand launches in one session, of one warp more and one round more by turns.
pub(crate) fn a_thousand_launches(setting: Setting) {
    let launches = setting.either(100, 1000);
    let backend = setting.backend();
    let kernel = kernel("warp_cycles");
    let shape = |launch: u32| Shape::new([1, 1, 1 + launch % 3], [33, 1, 1]);
    let rounds = |launch: u32| Rounds::all(1 + launch % 7);
    for slots in [Slots::Linear, Slots::Claimed] {
        let warps = (0..launches).map(|launch| shape(launch).warps()).sum();
        let builder = builder().slots(slots).records_per_warp(7).max_warps(warps);
        let mut session = session(&backend, builder);
        for launch in 0..launches {
            kernel.launch(&mut session, shape(launch), std::ptr::null_mut(), rounds(launch));
        }
        let trace = session.finish().expect("a trace");
        assert_eq!(trace.launches.len(), launches as usize, "{}", trace.diagnostics);
        assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
        // In one stream launches start in the order in which they were made.
        for (launch, index) in trace.launches.iter().zip(0..) {
            check_identity(&trace, launch, shape(index), |_, _| true);
            for warp in &trace.warps[launch.warps.clone()] {
                kernel.check_warp(&trace, warp, shape(index), rounds(index));
            }
        }
    }
}

/// A session that is dropped without being finished leaves nothing behind, neither for launches
/// without a session nor for the next one.
pub(crate) fn dropped_without_finish(setting: Setting) {
    let backend = setting.backend();
    let kernel = kernel("thread_cycles");
    let mut output = output(&backend, SHAPE);
    let pointer = output.as_mut_ptr();
    for round in 1..4 {
        let mut dropped = session(&backend, builder());
        kernel.launch(&mut dropped, SHAPE, pointer, Rounds::all(9));
        drop(dropped);
        let Shape { grid, block } = SHAPE;
        // SAFETY: one number a thread.
        unsafe { launch!(backend, kernels::thread_cycles<<<grid, block>>>(pointer, 8, 0, 0)) }
            .expect("the launch");
        let rounds = Rounds::all(round);
        let trace = record(&backend, builder(), kernel, SHAPE, rounds);
        kernel.check(&trace, SHAPE, rounds);
    }
}

/// Records can be read several times before the end, and after a reset there are none.
pub(crate) fn read_several_times(setting: Setting) {
    let backend = setting.backend();
    let kernel = kernel("warp_globaltimer");
    let rounds = Rounds::all(5);
    for slots in [Slots::Linear, Slots::Claimed] {
        let mut session = session(&backend, builder().slots(slots).max_warps(100));
        kernel.launch(&mut session, SHAPE, std::ptr::null_mut(), rounds);
        let first = session.trace().expect("a trace");
        kernel.check(&first, SHAPE, rounds);
        assert_eq!(session.trace().expect("a trace").warps, first.warps);
        assert_eq!(session.take_trace().expect("a trace").warps, first.warps);
        assert_eq!(session.trace().expect("a trace").warps.len(), 0, "they were taken");
        kernel.launch(&mut session, SHAPE, std::ptr::null_mut(), Rounds::all(2));
        kernel.check(&session.finish().expect("a trace"), SHAPE, Rounds::all(2));
    }
}

/// A selection that no block, or no warp, of the launch is in.
pub(crate) fn nothing_selected(setting: Setting) {
    let backend = setting.backend();
    let kernel = kernel("thread_cycles");
    for slots in [Slots::Linear, Slots::Claimed] {
        let no_block = builder().slots(slots).blocks(SHAPE.blocks()..);
        for builder in [no_block, builder().slots(slots).warps(7..9)] {
            let trace = record(&backend, builder, kernel, SHAPE, Rounds::all(3));
            assert_eq!((trace.warps.len(), trace.lost()), (0, 0), "{}", trace.diagnostics);
        }
    }
}

/// A kernel without annotations, between two that have them.
pub(crate) fn not_annotated(setting: Setting) {
    let backend = setting.backend();
    let kernel = kernel("warp_cycles");
    let rounds = Rounds::all(3);
    let mut output = output(&backend, SHAPE);
    let pointer = output.as_mut_ptr();
    for slots in [Slots::Linear, Slots::Claimed] {
        let mut session = session(&backend, builder().slots(slots).max_warps(100));
        kernel.launch(&mut session, SHAPE, pointer, rounds);
        let Shape { grid, block } = SHAPE;
        // SAFETY: one number a thread.
        unsafe { launch!(session, kernels::switched_off<<<grid, block>>>(pointer, 77)) }
            .expect("the launch");
        kernel.launch(&mut session, SHAPE, std::ptr::null_mut(), rounds);
        let trace = session.finish().expect("a trace");
        assert_eq!((trace.launches.len(), trace.lost()), (2, 0), "{}", trace.diagnostics);
        for launch in &trace.launches {
            check_identity(&trace, launch, SHAPE, |_, _| true);
        }
        assert!(output.read().expect("the results").iter().all(|&number| number == 77));
    }
}

/// Launches that the driver refuses, an empty grid among them, say so, and the session goes on.
pub(crate) fn refused_launches(setting: Setting) {
    let backend = setting.backend();
    let kernel = kernel("warp_cycles");
    let rounds = Rounds::all(3);
    for slots in [Slots::Linear, Slots::Claimed] {
        let mut session = session(&backend, builder().slots(slots).max_warps(200));
        kernel.launch(&mut session, SHAPE, std::ptr::null_mut(), rounds);
        for (grid, block) in [
            ([0, 1, 1], [32, 1, 1]),
            ([4, 0, 1], [32, 1, 1]),
            ([4, 1, 1], [0, 1, 1]),
            ([2, 1, 1], [1025, 1, 1]),
        ] {
            let nothing = std::ptr::null_mut();
            // SAFETY: the kernel writes nothing.
            let refused = unsafe {
                launch!(session, kernels::warp_cycles<<<grid, block>>>(nothing, 3, 0, 0))
            };
            let error = refused.expect_err("no such shape");
            let right = match &error {
                Error::Cuda { reason, .. } => reason.contains("CUDA_ERROR_INVALID_VALUE"),
                Error::Emulator(_) => !setting.is_gpu(),
                _ => false,
            };
            assert!(right, "{grid:?} {block:?}: {error}");
        }
        kernel.launch(&mut session, SHAPE, std::ptr::null_mut(), rounds);
        let trace = session.finish().expect("a trace");
        assert_eq!((trace.launches.len(), trace.lost()), (2, 0), "{}", trace.diagnostics);
        for launch in &trace.launches {
            check_identity(&trace, launch, SHAPE, |_, _| true);
        }
    }
}

/// How many readings of clocks a session holds, apart from its records.
fn clock_readings(session: &mut Session<'_>) -> usize {
    let capture = session.capture().expect("what was recorded");
    assert!(!capture.modules[0].is_of_clocks(), "the user's modules come first");
    capture.modules.iter().map(|module| module.clock_readings()).sum()
}

/// Clocks are kept for no time and for longer than a kernel takes, ended in each of the ways that there are,
/// and begun twice; records stay as they are. A kernel that needs all shared memory of an SM waits for the
/// end.
pub(crate) fn clocks_kept(setting: Setting) {
    let backend = setting.backend();
    let kernel = kernel("warp_cycles");
    let rounds = Rounds::all(5);
    // One when it begins and one when it ends.
    let least = if setting.is_gpu() { 2 * backend.device_info().sm_count as usize } else { 0 };
    let launch = |session: &mut Session<'_>| {
        kernel.launch(session, SHAPE, std::ptr::null_mut(), rounds);
    };
    for slots in [Slots::Linear, Slots::Claimed] {
        for at_most in [Duration::ZERO, Duration::from_millis(300)] {
            let mut session = session(&backend, builder().slots(slots).max_warps(100));
            session.stop_clocks().expect("nothing to end");
            session.keep_clocks(at_most).expect("a place on each SM");
            launch(&mut session);
            let readings = clock_readings(&mut session);
            assert!((readings >= least) && (readings == 0) == (least == 0), "{readings}");
            kernel.check(&session.trace().expect("a trace"), SHAPE, rounds);
            assert_eq!(clock_readings(&mut session), readings, "it has ended");
            session.keep_clocks(at_most).expect("a place on each SM");
            session.keep_clocks(at_most).expect("a place on each SM");
            launch(&mut session);
            assert!(clock_readings(&mut session) >= readings + 2 * least);
            session.keep_clocks(at_most).expect("a place on each SM");
            session.reset().expect("a reset");
            assert_eq!(clock_readings(&mut session), 0, "they were forgotten");
            session.keep_clocks(at_most).expect("a place on each SM");
            launch(&mut session);
            session.stop_clocks().expect("the end");
            session.stop_clocks().expect("it is told already");
            assert!(clock_readings(&mut session) >= least);
            kernel.check(&session.finish().expect("a trace"), SHAPE, rounds);
        }
    }
    if setting.is_gpu() {
        use cust::device::{Device, DeviceAttribute::MaxSharedMemoryPerMultiprocessor};

        let device = Device::get_device(0).expect("the first one");
        let shared = device.get_attribute(MaxSharedMemoryPerMultiprocessor).expect("a number");
        // A block gets all but what is kept back for each block (CUDA C++ Programming Guide, "Compute
        // Capability 8.x").
        let shared = u32::try_from(shared).expect("no less than nothing") - 1024;
        let mut session = session(&backend, builder());
        session.keep_clocks(Duration::from_millis(50)).expect("a place on each SM");
        let (Shape { grid, block }, nothing) = (SHAPE, std::ptr::null_mut());
        // SAFETY: the kernel writes nothing.
        unsafe {
            launch!(session, kernels::warp_cycles<<<grid, block, shared>>>(nothing, 5, 0, 0))
        }
        .expect("the launch");
        kernel.check(&session.finish().expect("a trace"), SHAPE, rounds);
    }
    let mut dropped = session(&backend, builder());
    dropped.keep_clocks(Duration::from_millis(300)).expect("a place on each SM");
    launch(&mut dropped);
    drop(dropped);
    kernel.check(&record(&backend, builder(), kernel, SHAPE, rounds), SHAPE, rounds);
}

/// A kernel that writes one word before, within, between or after the arrays of a session: what every other
/// case relies on to be seen is seen, and where it is.
pub(crate) fn guards_are_overwritten(setting: Setting) {
    let backend = setting.backend();
    overwrite_guards(
        &backend,
        |session| {
            kernel("warp_cycles").launch(session, SHAPE, std::ptr::null_mut(), Rounds::all(3));
        },
        // SAFETY: a guard word of the session, which only the session's next reading looks at.
        |session, word| unsafe { launch!(session, kernels::write_to<<<1, 1>>>(word)) },
    );
}
