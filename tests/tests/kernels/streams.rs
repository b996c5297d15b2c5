//! Sessions of programs with several modules and contexts, and launches that end late.

use std::thread;
use std::time::Duration;

use cust::context::legacy::{self, ContextFlags, ContextStack};
use cust::device::Device;
use cust::module::Module;
use cust::sys::{CUcontext, CUresult, cuCtxGetCurrent, cuCtxSetCurrent};
use profiler_host::{HostRecorder, Profiler, Trace};

use crate::sessions::{BLOCKS, Gpu};
use crate::support::modules::ptx;

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn records_are_read_when_the_launches_have_ended() {
    let gpu = Gpu::new();
    gpu.launch(1);
    gpu.stream.synchronize().expect("the kernel ran");
    let launch_late = || {
        let late = || thread::sleep(Duration::from_millis(200));
        gpu.stream.add_callback(Box::new(late)).expect("the stream is held up");
        gpu.launch(3);
    };
    let check = |trace: Trace| {
        assert_eq!(
            (trace.warps.len(), trace.lost()),
            (BLOCKS as usize, 0),
            "{}",
            trace.diagnostics
        );
        assert!(trace.warps.iter().all(|warp| warp.exit.is_some()));
    };
    let mut session = gpu.attach(Profiler::builder());
    launch_late();
    check(session.take_trace().expect("a trace"));
    assert!(session.finish().expect("a trace").warps.is_empty(), "the trace was taken");
    let session = gpu.attach(Profiler::builder());
    launch_late();
    check(session.finish().expect("a trace"));
}

fn current_context() -> CUcontext {
    let mut context = std::ptr::null_mut();
    // SAFETY: the pointer is to a live variable.
    let code = unsafe { cuCtxGetCurrent(&raw mut context) };
    assert_eq!(code, CUresult::CUDA_SUCCESS);
    context
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_session_works_in_its_context_and_leaves_the_programs_current() {
    let gpu = Gpu::new();
    let own = current_context();
    let host = HostRecorder::new();
    let attach = || {
        let session = gpu.attach(Profiler::builder().host(&host));
        gpu.launch(1);
        session
    };
    // The session's end is before that of what it was given.
    let foreign;
    let mut session = gpu.attach(Profiler::builder().host(&host));
    gpu.launch(1);
    let device = Device::get_device(0).expect("the device");
    let context = legacy::Context::create_and_push(ContextFlags::SCHED_AUTO, device);
    let context = context.expect("a second context");
    let second = current_context();
    assert_ne!(second, own);
    // It reads its records in its own context, and takes no module of another.
    let trace = session.trace().expect("a trace");
    assert_eq!((trace.warps.len(), current_context()), (BLOCKS as usize, second));
    foreign = Module::from_ptx(ptx(), &[]).expect("the module loads");
    let error = session.attach_also(&foreign, ptx()).expect_err("it is of another context");
    assert!(error.to_string().starts_with("the session began in another CUDA context"), "{error}");
    // In the session's context neither: it is the module's that counts. Nor does a session begin there.
    // SAFETY: the context lives as long as `gpu`.
    assert_eq!(unsafe { cuCtxSetCurrent(own) }, CUresult::CUDA_SUCCESS);
    let error = session.attach_also(&foreign, ptx()).expect_err("it is of another context");
    assert!(error.to_string().starts_with("the module was loaded in another CUDA"), "{error}");
    let profiler = Profiler::builder().build().expect("options");
    let error = profiler.attach(&foreign, ptx()).expect_err("it is of another context");
    assert!(error.to_string().starts_with("the module was loaded in another CUDA"), "{error}");
    // SAFETY: the second context lives.
    assert_eq!(unsafe { cuCtxSetCurrent(second) }, CUresult::CUDA_SUCCESS);
    drop(session);
    drop(foreign);
    assert_eq!(current_context(), second);
    ContextStack::pop().expect("the second context");
    drop(context);
    assert_eq!(current_context(), own);

    let session = attach();
    // SAFETY: null stands for no context.
    let code = unsafe { cuCtxSetCurrent(std::ptr::null_mut()) };
    assert_eq!(code, CUresult::CUDA_SUCCESS);
    drop(session);
    assert!(current_context().is_null());
    // SAFETY: the context lives as long as `gpu`.
    let code = unsafe { cuCtxSetCurrent(own) };
    assert_eq!(code, CUresult::CUDA_SUCCESS);

    // What the sessions held was released in their own context: the module is free for another.
    let trace = attach().finish().expect("a trace");
    assert_eq!((trace.warps.len(), current_context()), (BLOCKS as usize, own));
}
