//! Kernels that fail: what the host is told, and what goes on.

use std::ptr;
use std::time::Duration;

use profiler_host::trace::decode;
use profiler_host::{Backend, BackendChoice, Error, launch};
use test_kernels::abuse as kernels;
use test_kernels::watched;

use crate::kernels::{Rounds, Shape, kernel};
use crate::process;
use crate::setting::{PTX, Setting, builder, record, session};

const SHAPE: Shape = Shape { grid: [5, 1, 1], block: [70, 1, 1] };

/// A kernel that traps in the middle of a region.
pub(crate) fn trap(setting: Setting) {
    let backend = setting.backend();
    let kernel = kernel("warp_cycles");
    let mut session = session(&backend, builder());
    kernel.launch(&mut session, SHAPE, ptr::null_mut(), Rounds::all(3));
    let Shape { grid, block } = SHAPE;
    // SAFETY: the kernel touches no memory.
    let launched = unsafe { launch!(session, kernels::trap_in_the_last_block<<<grid, block>>>(4)) };
    if setting.is_gpu() {
        // A launch does not wait for the kernel.
        launched.expect("the launch");
        let error = session.finish().expect_err("the kernel trapped");
        is_lost(&backend, &error);
    } else {
        let error = launched.expect_err("the kernel trapped");
        assert!(matches!(error, Error::Emulator(_)), "{error}");
        assert!(error.to_string().contains("a trap"), "{error}");
        // Memory of the host outlives its kernels.
        let trace = session.finish().expect("a trace");
        let first = &trace.launches[0];
        crate::kernels::check_identity(&trace, first, SHAPE, |_, _| true);
        assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
    }
    goes_on();
}

/// A kernel that traps while the session keeps clocks.
pub(crate) fn trap_while_clocks_are_kept(setting: Setting) {
    let backend = setting.hosted_backend();
    let never = backend.zeroed::<u32>(1).expect("memory");
    let mut session = session(&backend, builder());
    session.keep_clocks(Duration::from_secs(20)).expect("a place on each SM");
    // SAFETY: the number lives until the session has ended.
    let launched = unsafe { launch!(session, watched::fails<<<2, 64>>>(never.as_ptr(), 3, 1, 1)) };
    if setting.is_gpu() {
        launched.expect("a launch does not wait");
        let error = session.finish().expect_err("the kernel failed");
        assert!(matches!(error, Error::KernelFailed { overwritten: None, .. }), "{error}");
        let capture = error.salvaged().expect("records in the memory of the host");
        let clocks = capture.modules.last().expect("two modules");
        // Each SM has read them when it began.
        let sms = backend.device_info().sm_count as usize;
        assert!(clocks.is_of_clocks() && clocks.clock_readings() >= sms, "{error}");
        assert!(
            !error.to_string().contains("1 module"),
            "no module of the user's is gone: {error}"
        );
        let regions = decode(capture).warps.iter().map(|warp| warp.regions.len()).sum::<usize>();
        assert!(regions > 0);
    } else {
        launched.expect_err("the kernel failed");
    }
    goes_on();
}

/// A kernel that writes before the arrays of a session, and one after it that traps, with records in memory of the
/// host: both are said, and the records are there.
pub(crate) fn guards_and_a_trap(setting: Setting) {
    let backend = setting.hosted_backend();
    let never = backend.zeroed::<u32>(1).expect("memory");
    let mut session = session(&backend, builder());
    let capture = session.capture().expect("intact so far");
    let before_all = capture.modules[0].descriptor.records - 8;
    let target = ptr::with_exposed_provenance_mut(before_all as usize);
    // SAFETY: a guard word of the session, which only the session's next reading looks at.
    unsafe { launch!(session, watched::hosted_write_to<<<1, 1>>>(target)) }.expect("the launch");
    // SAFETY: the number lives until the session has ended.
    let launched = unsafe { launch!(session, watched::fails<<<1, 32>>>(never.as_ptr(), 2, 0, 0)) };
    let error = if setting.is_gpu() {
        launched.expect("a launch does not wait");
        let error = session.finish().expect_err("the kernel failed");
        let Error::KernelFailed { salvaged: Some(capture), overwritten: Some(guards), .. } = error
        else {
            panic!("{error}")
        };
        assert_eq!(decode(&capture).warps.len(), 2, "a warp of each kernel");
        *guards
    } else {
        let error = launched.expect_err("the kernel failed");
        assert!(matches!(error, Error::Emulator(_)), "{error}");
        session.finish().expect_err("a guard was overwritten")
    };
    assert!(matches!(error, Error::GuardsOverwritten { words: 1, .. }), "{error}");
    assert!(error.to_string().contains("before all arrays"), "{error}");
    goes_on();
}

/// A kernel that writes to an address that is nobody's.
pub(crate) fn illegal_address(setting: Setting) {
    let backend = setting.backend();
    let mut session = session(&backend, builder());
    kernel("thread_cycles").launch(&mut session, SHAPE, ptr::null_mut(), Rounds::all(3));
    let target = ptr::without_provenance_mut(16);
    // SAFETY: no memory of the host is there, nor any of the device, which ends the kernel.
    unsafe { launch!(session, kernels::write_to<<<1, 32>>>(target)) }.expect("the launch");
    let error = session.finish().expect_err("the kernel failed");
    is_lost(&backend, &error);
    goes_on();
}

/// What is asked of a GPU after a kernel failed says that, and nothing that would mislead.
#[track_caller]
fn is_lost(backend: &Backend, error: &Error) {
    assert!(matches!(error, Error::KernelFailed { salvaged: None, .. }), "{error}");
    assert!(error.to_string().contains("device memory"), "{error}");
    let profiler = builder().build().expect("the options");
    let again = backend.session(&profiler).expect_err("the context is lost");
    assert!(matches!(again, Error::KernelFailed { .. }), "{again}");
    let again = Backend::choose(BackendChoice::Gpu, PTX).expect_err("the process has lost the GPU");
    assert!(matches!(again, Error::KernelFailed { .. }), "{again}");
}

/// The process goes on: on the emulator it records.
#[track_caller]
fn goes_on() {
    let emulator = Backend::choose(BackendChoice::Emulator, PTX).expect("the emulator");
    let (kernel, rounds) = (kernel("warp_cycles"), Rounds::all(2));
    let trace = record(&emulator, builder(), kernel, SHAPE, rounds);
    kernel.check(&trace, SHAPE, rounds);
}

/// A kernel of another process traps while this one has a session.
pub(crate) fn trap_in_another_process(setting: Setting) {
    let backend = setting.backend();
    let (kernel, rounds) = (kernel("thread_cycles"), Rounds::all(3));
    let mut session = session(&backend, builder());
    kernel.launch(&mut session, SHAPE, ptr::null_mut(), rounds);
    let finished = process::case("trap", setting, crate::cases::LIMIT).expect("it was started");
    assert!(finished.passed(), "{}", finished.output);
    kernel.launch(&mut session, SHAPE, ptr::null_mut(), rounds);
    let trace = session.finish().expect("a trace");
    assert_eq!((trace.launches.len(), trace.lost()), (2, 0), "{}", trace.diagnostics);
    for launch in &trace.launches {
        crate::kernels::check_identity(&trace, launch, SHAPE, |_, _| true);
    }
}
