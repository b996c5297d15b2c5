//! A kernel that traps takes the whole process's context with it, hence a test program of its own.
#![cfg(feature = "cuda")]

mod support;

use profiler_host::{Backend, BackendChoice, Error, Profiler, launch};

/// The twin of the test module's kernel; only its type is used on the GPU.
unsafe fn fail() {}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn after_a_trap_the_session_says_that_the_records_are_gone() {
    let ptx: &'static str = support::ptx().leak();
    let backend = Backend::choose(BackendChoice::Gpu, Some(ptx)).expect("a GPU");
    let profiler = Profiler::builder().build().expect("options");
    let mut session = backend.session(&profiler).expect("a session");
    let error = session.watch().expect_err("its records lie in device memory");
    assert!(matches!(error, Error::NotWatchable), "{error}");
    assert!(error.to_string().contains("#[profiled(buffer = host)]"), "{error}");
    // SAFETY: the kernel touches no memory.
    unsafe { launch!(session, fail<<<1, 1>>>()) }.expect("the launch");
    let error = session.finish().expect_err("the kernel trapped");
    assert!(matches!(error, Error::KernelFailed { salvaged: None, .. }), "{error}");
    assert!(error.to_string().contains("device memory"), "{error}");
}
