//! Sessions on a GPU beside what a program does there by itself.
#![allow(clippy::print_stdout, reason = "figures for whoever runs the tests on a GPU")]

use cust::context::{Context, CurrentContext, legacy};
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::Stream;
use profiler_host::{Backend, BackendChoice, Error, HostRecorder, Profiler, ProfilerBuilder};
use test_kernels::strategies as kernels;

use crate::support::modules::{new_stream, ptx};

pub(crate) const BLOCKS: u32 = 500;

/// A module, and what a program launches its kernel `by_warp` with.
pub(crate) struct Gpu {
    module: Module,
    pub(crate) stream: Stream,
    out: DeviceBuffer<u32>,
    _context: Context,
}

impl Gpu {
    pub(crate) fn new() -> Self {
        let context = cust::quick_init().expect("a GPU");
        Self {
            module: Module::from_ptx(ptx(), &[]).expect("the module loads"),
            stream: new_stream(),
            out: DeviceBuffer::from_slice(&[0; 32 * BLOCKS as usize]).expect("memory"),
            _context: context,
        }
    }

    /// The program's own launch, as `cust` makes it, in blocks of one warp.
    pub(crate) fn launch(&self, regions: u32) {
        let (module, stream, out) = (&self.module, &self.stream, self.out.as_device_ptr());
        // SAFETY: one number a thread.
        unsafe { launch!(module.by_warp<<<BLOCKS, 32, 0, stream>>>(out, regions)) }
            .expect("the launch");
    }

    pub(crate) fn attach(&self, builder: ProfilerBuilder) -> profiler_host::Session<'_> {
        builder.build().expect("options").attach(&self.module, ptx()).expect("a session")
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_context_that_may_be_destroyed_is_refused() {
    cust::init(cust::CudaFlags::empty()).expect("a driver");
    let device = cust::device::Device::get_device(0).expect("a GPU");
    let context = legacy::Context::create_and_push(legacy::ContextFlags::SCHED_AUTO, device);
    let context = context.expect("a context");
    let module = Module::from_ptx(ptx(), &[]).expect("the module loads");
    let error = Profiler::builder().build().expect("options").attach(&module, ptx()).err();
    let error = error.expect("a session cannot rely on this context");
    assert!(matches!(error, Error::Context(_)), "{error}");
    assert!(error.to_string().contains("cust::quick_init()"), "{error}");
    // Nor is it where there is none.
    legacy::ContextStack::pop().expect("the context");
    let error = Profiler::builder().build().expect("options").attach(&module, ptx()).err();
    assert!(matches!(error, Some(Error::Context(text)) if text.contains("has no CUDA context")));
    legacy::ContextStack::push(&context).expect("the context");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn of_threads_that_attach_at_once_one_does() {
    let gpu = Gpu::new();
    let barrier = std::sync::Barrier::new(4);
    for _ in 0..20 {
        let attach = || {
            CurrentContext::set_current(&gpu._context).expect("the context");
            barrier.wait();
            let session = Profiler::builder().build().expect("options").attach(&gpu.module, ptx());
            barrier.wait();
            match session {
                Ok(_session) => true,
                Err(Error::AlreadyAttached) => false,
                Err(error) => panic!("{error}"),
            }
        };
        let attached = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(attach)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .filter(|&it| it)
                .count()
        });
        assert_eq!(attached, 1);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn one_trace_per_iteration_and_an_inferred_capacity() {
    let gpu = Gpu::new();
    let profiler = Profiler::builder().build().expect("options");
    let profiler = profiler
        .infer_capacity(|counting| {
            let mut session = counting.attach(&gpu.module, ptx())?;
            gpu.launch(33);
            session.capture()
        })
        .expect("a capacity");
    let mut session = profiler.attach(&gpu.module, ptx()).expect("a session");
    for regions in [1, 33, 5] {
        gpu.launch(regions);
        let trace = session.take_trace().expect("a trace");
        assert_eq!(trace.recorded(), u64::from(BLOCKS * regions));
        assert_eq!(trace.lost(), 0);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_session_that_ended_leaves_the_kernel_alone() {
    let gpu = Gpu::new();
    let session = gpu.attach(Profiler::builder());
    gpu.launch(1);
    drop(session);
    gpu.launch(2);
    gpu.stream.synchronize().expect("the kernel ran");
    let mut out = vec![0; gpu.out.len()];
    gpu.out.copy_to(&mut out).expect("readable");
    assert_eq!(out, [2; 32 * BLOCKS as usize]);
    let trace = gpu.attach(Profiler::builder()).finish().expect("a trace");
    assert_eq!(trace.warps.len(), 0);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn what_cannot_work_is_said() {
    let gpu = Gpu::new();
    let session = gpu.attach(Profiler::builder());
    let profiler = Profiler::builder().build().expect("options");
    let second = profiler.attach(&gpu.module, ptx());
    assert!(matches!(second, Err(Error::AlreadyAttached)));
    drop(session);
    // What measures the cost is in a module of its own.
    let session = gpu.attach(Profiler::builder().measure_record_cost());
    assert!(session.record_cost().is_some());
    drop(session);

    let huge = Profiler::builder().records_per_warp(1 << 25).max_warps(1 << 20);
    let error = huge.build().expect("options").attach(&gpu.module, ptx()).expect_err("no buffer");
    let text = error.to_string();
    assert!(text.contains("records_per_warp") && text.contains("bytes"), "{text}");

    let error = profiler.attach(&gpu.module, ".version 7.0\n").expect_err("no sites");
    assert!(matches!(error, Error::Sites(_)), "{error}");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_backend_on_the_gpu() {
    let backend = Backend::choose(BackendChoice::Auto, Some(ptx())).expect("a backend");
    assert!(backend.is_gpu() && backend.reason().is_none());
    println!("{backend}");
    let mut out = backend.zeroed::<u32>(32 * BLOCKS as usize).expect("a buffer");
    let profiler = Profiler::builder().max_warps(3 * BLOCKS).build().expect("options");
    let mut session = backend.session(&profiler).expect("a session");
    for shared in [0, 64 * 1024, 0] {
        // SAFETY: nothing of it runs.
        unsafe {
            profiler_host::launch!(session, kernels::by_warp<<<BLOCKS, 2048>>>(out.as_mut_ptr(), 4))
        }
        .expect_err("no block is that large, and it takes no slots");
        // SAFETY: one number a thread.
        unsafe {
            profiler_host::launch!(session, kernels::by_warp<<<BLOCKS, 32, shared>>>(out.as_mut_ptr(), 4))
        }
        .expect("the launch");
    }
    let trace = session.finish().expect("a trace");
    assert_eq!(trace.launches.len(), 3);
    assert!(!trace.device.emulated && trace.device.sm_count > 0, "{:?}", trace.device);
    assert_eq!((trace.recorded(), trace.lost()), (u64::from(3 * BLOCKS * 4), 0));
    // SAFETY: as above.
    let run = |out: *mut u32| unsafe {
        profiler_host::launch!(backend, kernels::by_warp<<<BLOCKS, 32>>>(out, 4))
    };
    let ((), duration) = backend.time(|| run(out.as_mut_ptr())).expect("the launch");
    assert!(!duration.is_zero());
    assert_eq!(out.read().expect("readable"), [4; 32 * BLOCKS as usize]);

    // SAFETY: never launched: there is no such kernel.
    unsafe fn missing() {}
    // SAFETY: as above.
    let error = unsafe { profiler_host::launch!(backend, missing<<<1, 1>>>()) }
        .expect_err("no such kernel");
    assert!(error.to_string().contains("it has "), "{error}");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_host_lies_on_the_axis_of_the_gpu_within_what_is_stated() {
    let gpu = Gpu::new();
    let host = HostRecorder::new();
    let session = gpu.attach(Profiler::builder().host(&host));
    for _ in 0..20 {
        let _around = host.span("around");
        gpu.launch(2);
        gpu.stream.synchronize().expect("the kernel");
    }
    let trace = session.finish().expect("a trace");
    let uncertainty = trace.host.uncertainty_ns;
    println!("host and GPU: within {uncertainty} ns");
    assert!(uncertainty > 0.0 && uncertainty < 50_000.0, "{uncertainty} ns");
    let spans = &trace.host.threads[0].spans;
    assert_eq!((spans.len(), trace.launches.len()), (20, 20));
    let mut least = f64::INFINITY;
    for (span, launch) in spans.iter().zip(&trace.launches) {
        // The kernel runs between what the host did before and after it.
        assert!(span.start_ns - uncertainty <= launch.start_ns, "{span:?} {launch:?}");
        assert!(launch.end_ns <= span.end_ns + uncertainty, "{span:?} {launch:?}");
        least = least.min(launch.start_ns - span.start_ns).min(span.end_ns - launch.end_ns);
    }
    println!("host and GPU: at least {least} ns between them");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn spans_from_before_a_session_are_in_it() {
    let backend = Backend::choose(BackendChoice::Gpu, Some(ptx())).expect("a GPU");
    let host = HostRecorder::new();
    let values = host.in_span("upload", || backend.upload(&[0_u32; 64])).expect("memory");
    let profiler = Profiler::builder().host(&host).build().expect("options");
    let session = backend.session(&profiler).expect("a session");
    host.in_span("read", || values.read()).expect("the values");
    let trace = session.finish().expect("a trace");
    let names: Vec<&str> = trace.host.spans().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["upload", "read"]);
}
