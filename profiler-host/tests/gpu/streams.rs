//! Sessions of programs with several streams, modules and contexts, and of launches that are refused.

use std::ffi::c_void;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use cust::context::legacy::{self, ContextFlags, ContextStack};
use cust::device::Device;
use cust::module::Module;
use cust::stream::Stream;
use cust::sys::{CUcontext, CUresult, cuCtxGetCurrent, cuCtxSetCurrent};
use profiler_host::trace::HostSpanKind;
use profiler_host::{Error, HostRecorder, Profiler, Session, Shape, Slots, Trace};

use crate::{BLOCKS, Gpu, lost, new_stream};

/// Launches the module's kernel through the session.
fn launch(
    session: &mut Session<'_>,
    gpu: &Gpu,
    module: &Module,
    stream: &Stream,
    shape: (u32, u32),
) -> Result<(), Error> {
    let function = module.get_function("record").expect("the kernel");
    let (mut out, mut regions) = (gpu.out.as_device_ptr(), 1_u32);
    let mut arguments: [*mut c_void; 2] = [(&raw mut out).cast(), (&raw mut regions).cast()];
    // SAFETY: the kernel's two parameters; one element a block, of which there are at most `BLOCKS`.
    unsafe { session.launch(&function, Shape::new(shape.0, shape.1, 0), stream, &mut arguments) }
}

/// What the calls of a trace launched, by the blocks of it, in the order of the calls.
fn called(trace: &Trace) -> Vec<(&str, Option<u32>)> {
    let blocks = |span: &profiler_host::trace::HostSpan| match span.kind {
        HostSpanKind::Launch(launch) => launch.map(|launch| trace.launches[launch].grid_dim[0]),
        HostSpanKind::Span => panic!("all are calls"),
    };
    trace.host.spans().map(|span| (span.name.as_str(), blocks(span))).collect()
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn calls_lead_to_what_they_launched_in_any_stream() {
    let gpu = Gpu::new();
    let other = new_stream();
    // It is loaded then, for which the driver may wait for what runs.
    gpu.launch(1);
    gpu.stream.synchronize().expect("the kernel ran");
    let host = HostRecorder::new();
    let mut session = gpu.attach(Profiler::builder().slots(Slots::Claimed).host(&host));
    let (go_on, is_to_go_on) = mpsc::channel::<()>();
    let hold = move || {
        let _ended = is_to_go_on.recv();
    };
    gpu.stream.add_callback(Box::new(hold)).expect("the stream is held up");
    launch(&mut session, &gpu, &gpu.module, &gpu.stream, (2, 32)).expect("the launch");
    launch(&mut session, &gpu, &gpu.module, &other, (3, 2048)).expect_err("no block is that large");
    launch(&mut session, &gpu, &gpu.module, &other, (4, 32)).expect("the launch");
    other.synchronize().expect("it does not wait for the first");
    drop(go_on);
    let trace = session.trace().expect("a trace");
    let begun: Vec<u32> = trace.launches.iter().map(|launch| launch.grid_dim[0]).collect();
    assert_eq!(begun, [4, 2], "the second call's began first");
    assert_eq!(called(&trace), [("record", Some(2)), ("record", Some(4))]);
    // One more past the session: none can be told.
    gpu.launch_on(&gpu.stream, 5, 1);
    let trace = session.finish().expect("a trace");
    assert_eq!(called(&trace), [("record", None), ("record", None)]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_call_leads_to_no_launch_of_another_module() {
    let gpu = Gpu::new();
    let second = Module::from_ptx(&gpu.ptx, &[]).expect("the module loads");
    let host = HostRecorder::new();
    let mut session = gpu.attach(Profiler::builder().host(&host));
    // The session is not attached to it, so that nothing of it is recorded.
    launch(&mut session, &gpu, &second, &gpu.stream, (2, 32)).expect("the launch");
    gpu.launch_on(&gpu.stream, 3, 1);
    let trace = session.finish().expect("a trace");
    assert_eq!(trace.launches.len(), 1);
    assert_eq!(called(&trace), [("(kernel of another module)", None)]);
}

/// With linear slots too.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn records_are_read_when_the_launches_have_ended() {
    let gpu = Gpu::new();
    gpu.launch(1);
    gpu.stream.synchronize().expect("the kernel ran");
    let builder = || Profiler::builder().slots(Slots::Linear).max_warps(BLOCKS);
    let launch_late = |session: &mut Session<'_>| {
        session.prepare(&gpu.stream, BLOCKS, 32).expect("announced");
        let late = || thread::sleep(Duration::from_millis(200));
        gpu.stream.add_callback(Box::new(late)).expect("the stream is held up");
        gpu.launch(3);
    };
    let check = |trace: Trace| {
        assert_eq!(
            (trace.warps.len(), lost(&trace)),
            (BLOCKS as usize, 0),
            "{}",
            trace.diagnostics
        );
        assert!(trace.warps.iter().all(|warp| warp.exit.is_some()));
    };
    let mut session = gpu.attach(builder());
    launch_late(&mut session);
    check(session.take_trace().expect("a trace"));
    assert!(session.finish().expect("a trace").warps.is_empty(), "the trace was taken");
    let mut session = gpu.attach(builder());
    launch_late(&mut session);
    check(session.finish().expect("a trace"));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_launch_that_is_refused_takes_no_slots() {
    let gpu = Gpu::new();
    let second = Module::from_ptx(&gpu.ptx, &[]).expect("the module loads");
    let linear = || Profiler::builder().slots(Slots::Linear).max_warps(8);
    let refused = |session: &mut Session<'_>, module: &Module| {
        let error = launch(session, &gpu, module, &gpu.stream, (4, 2048));
        let error = error.expect_err("no block is that large");
        assert!(matches!(error, Error::Cuda { .. }), "{error}");
    };
    let mut session = gpu.attach(linear());
    for blocks in [4, 4] {
        refused(&mut session, &gpu.module);
        launch(&mut session, &gpu, &gpu.module, &gpu.stream, (blocks, 32)).expect("the launch");
    }
    let trace = session.finish().expect("a trace");
    assert_eq!((trace.launches.len(), trace.warps.len(), lost(&trace)), (2, 8, 0));

    // Slots are taken back in the module of the kernel alone.
    let mut session = gpu.attach(linear());
    session.attach_also(&second, &gpu.ptx).expect("attached");
    for blocks in [4, 4] {
        launch(&mut session, &gpu, &gpu.module, &gpu.stream, (blocks, 32)).expect("the launch");
        refused(&mut session, &second);
        launch(&mut session, &gpu, &second, &gpu.stream, (blocks, 32)).expect("the launch");
    }
    let trace = session.finish().expect("a trace");
    assert_eq!((trace.launches.len(), trace.warps.len(), lost(&trace)), (4, 16, 0));
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
    foreign = Module::from_ptx(&gpu.ptx, &[]).expect("the module loads");
    let error = session.attach_also(&foreign, &gpu.ptx).expect_err("it is of another context");
    assert!(matches!(error, Error::OtherContext), "{error}");
    // In the session's context neither: it is the module's that counts. Nor does a session begin there, one
    // of its own descriptor as little.
    // SAFETY: the context lives as long as `gpu`.
    assert_eq!(unsafe { cuCtxSetCurrent(own) }, CUresult::CUDA_SUCCESS);
    let error = session.attach_also(&foreign, &gpu.ptx).expect_err("it is of another context");
    assert!(matches!(error, Error::ModuleOfOtherContext), "{error}");
    for apart in [false, true] {
        let profiler = Profiler::builder().apart(apart).build().expect("options");
        let error = profiler.attach(&foreign, &gpu.ptx).expect_err("it is of another context");
        assert!(matches!(error, Error::ModuleOfOtherContext), "{error}");
    }
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
