//! Sessions of several modules and of CUDA graphs with kernels of `buffer = host`, looked at while they
//! run. What a replay that fails leaves is in `failures.rs`.

use crate::support::graph::Graph;
use crate::support::watching::{Flag, LIMIT, wait_for};
use crate::support::{modules, never_stopping};

use std::collections::BTreeSet;
use std::sync::mpsc::{RecvTimeoutError, channel};

use cust::event::{Event, EventFlags, EventStatus};
use cust::stream::Stream;
use cust::sys::{
    CUresult, CUstreamCaptureMode, cuGraphDestroy, cuGraphGetNodes, cuStreamBeginCapture_v2,
    cuStreamEndCapture,
};
use modules::State::{Left, Within};
use modules::{BLOCKS, Gpu, WARPS, builder, launches, new_stream};
use profiler_host::trace::DiagnosticKind as Kind;
use profiler_host::{BackendChoice, launch};

/// What launches waits for no kernel: many stand after one that ends when it is told to.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn launches_wait_for_no_kernel() {
    const COUNT: u32 = 1000;
    let gpu = Gpu::new();
    let ([first, _], stream) = (&gpu.watched, &gpu.stream);
    let flag = Flag::new(BackendChoice::Gpu);
    let session = gpu.attach(builder().records_per_warp(32).max_warps((COUNT + 1) * WARPS));
    let ended = Event::new(EventFlags::DISABLE_TIMING).expect("an event");
    flag.lower();
    let (done, is_done) = channel();
    std::thread::scope(|scope| {
        let flag = &flag;
        scope.spawn(move || {
            // Without this a launch that waits would wait for ever.
            let late = is_done.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout);
            flag.raise();
            assert!(!late, "the launches were not through in {LIMIT:?}");
        });
        gpu.waits(first, stream, flag);
        ended.record(stream).expect("recorded");
        for _ in 0..COUNT {
            gpu.by_warp(stream);
        }
        let status = ended.query().expect("the kernel has not failed");
        done.send(()).expect("who waits is there");
        assert!(status == EventStatus::NotReady, "the first kernel has ended");
    });
    let trace = session.finish().expect("a trace");
    assert_eq!(trace.launches.len() as u32, COUNT + 1, "{}", trace.diagnostics);
    assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
}

/// How many operations the calls give to a stream, which captures them meanwhile.
fn operations(stream: &Stream, calls: impl FnOnce()) -> usize {
    let check = |code| assert_eq!(code, CUresult::CUDA_SUCCESS);
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    let (mut graph, mut count) = (std::ptr::null_mut(), 0);
    // SAFETY: the stream is live and captures nothing yet.
    check(unsafe { cuStreamBeginCapture_v2(stream.as_inner(), mode) });
    calls();
    // SAFETY: the stream captures; the pointer is to a live variable.
    check(unsafe { cuStreamEndCapture(stream.as_inner(), &raw mut graph) });
    // SAFETY: the graph is live; without an array only the number is written.
    check(unsafe { cuGraphGetNodes(graph, std::ptr::null_mut(), &raw mut count) });
    // SAFETY: made above, and used no more.
    check(unsafe { cuGraphDestroy(graph) });
    count
}

/// Where slots are claimed, a session gives a stream nothing of its own between two launches.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn claimed_slots_write_nothing_between_launches() {
    const LAUNCHES: u32 = 10;
    let gpu = Gpu::new();
    let _session = gpu.attach(builder().records_per_warp(32).max_warps(LAUNCHES * WARPS));
    let count = operations(&gpu.stream, || {
        for _ in 0..LAUNCHES {
            gpu.by_warp(&gpu.stream);
        }
    });
    assert_eq!(count, LAUNCHES as usize);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_replayed_graph_is_watched() {
    const REPLAYS: u32 = 5;
    let gpu = Gpu::new();
    let (module, other_stream) = (&gpu.watched[0], new_stream());
    let flag = Flag::new(BackendChoice::Gpu);
    let session = gpu.attach(builder().records_per_warp(32).max_warps(2 * REPLAYS * WARPS));
    let watch = session.watch().expect("the kernels can be watched");
    let graph = Graph::of(&gpu.stream, || {
        gpu.steps(module, &gpu.stream);
        gpu.waits(module, &gpu.stream, &flag);
    });
    let all = |count: u32| {
        let of_kernel = |name| (0..count).map(move |replay| (name, replay, Left));
        of_kernel("steps").chain(of_kernel("waits")).collect::<Vec<_>>()
    };
    for replay in 0..REPLAYS {
        let stream = if replay % 2 == 0 { &gpu.stream } else { &other_stream };
        let mut expected = all(replay + 1);
        *expected.last_mut().expect("two launches a replay") = ("waits", replay, Within);
        flag.lower();
        graph.launch(stream);
        let trace =
            flag.raise_after(|| wait_for(&watch, || (), |trace| launches(trace) == expected));
        assert_eq!(trace.diagnostics.count(Kind::KernelRunning), 1, "{}", trace.diagnostics);
        stream.synchronize().expect("the replay ended");
    }
    let trace = session.finish().expect("a trace");
    assert_eq!(launches(&trace), all(REPLAYS), "{}", trace.diagnostics);
    assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
    let grids: BTreeSet<(&str, u64)> = (trace.launches.iter())
        .map(|launch| (trace.site(launch.kernel).name.as_str(), launch.grid_id))
        .collect();
    assert_eq!(grids.len(), 2, "a graph repeats the grids of its kernels: {grids:?}");
    assert_eq!(launches(&watch.snapshot().expect("a snapshot")), all(REPLAYS));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn several_modules_in_one_session_are_watched() {
    let gpu = Gpu::new();
    let ([first, second], stream) = (&gpu.watched, &gpu.stream);
    let flag = Flag::new(BackendChoice::Gpu);
    // Each module has slots of its own, for one launch.
    let session = gpu.attach(builder().records_per_warp(32).max_warps(WARPS));
    let watch = session.watch().expect("the kernels can be watched");
    flag.lower();
    gpu.by_warp(stream);
    gpu.steps(first, stream);
    gpu.waits(second, stream, &flag);
    let expected = [("steps", 0, Left), ("waits", 0, Within)];
    flag.raise_after(|| wait_for(&watch, || (), |trace| launches(trace) == expected));
    let trace = session.finish().expect("a trace");
    let expected = [("by_warp", 0, Left), ("steps", 0, Left), ("waits", 0, Left)];
    assert_eq!(launches(&trace), expected, "{}", trace.diagnostics);
    // What is in device memory cannot be watched; who watches knows the others only.
    let last = watch.snapshot().expect("a snapshot");
    assert_eq!(launches(&last), expected[1..]);
}

/// On the emulator a session has the kernels of all crates.
#[test]
fn kernels_of_two_crates_are_watched_in_one_session() {
    let (backend, stop) = never_stopping(BackendChoice::Emulator, None);
    let mut output = backend.zeroed::<u32>((32 * WARPS) as usize).expect("memory");
    let flag = Flag::new(BackendChoice::Emulator);
    let profiler = builder().max_warps(3 * WARPS).build().expect("the options");
    let mut session = backend.session(&profiler).expect("a session");
    let watch = session.watch().expect("the kernels can be watched");
    let (pointer, threads) = (output.as_mut_ptr(), modules::THREADS);
    // SAFETY: one number a thread.
    unsafe { launch!(session, test_kernels::strategies::by_warp<<<BLOCKS, threads>>>(pointer, 3)) }
        .expect("the launch");
    // SAFETY: one number a thread.
    unsafe { launch!(session, test_kernels::watched::steps<<<BLOCKS, threads>>>(pointer, 3)) }
        .expect("the launch");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let expected = [("by_warp", 0, Left), ("steps", 0, Left), ("waits", 0, Within)];
            flag.raise_after(|| {
                wait_for(&watch, || stop.stop(), |trace| launches(trace) == expected)
            })
        });
        // SAFETY: the flag lives until the launch has ended.
        unsafe {
            launch!(session, test_kernels::watched::waits<<<BLOCKS, threads>>>(flag.as_ptr()))
        }
    })
    .expect("the launch");
    let trace = session.finish().expect("a trace");
    let expected = [("by_warp", 0, Left), ("steps", 0, Left), ("waits", 0, Left)];
    assert_eq!(launches(&trace), expected, "{}", trace.diagnostics);
    assert_eq!(watch.snapshot().expect("a snapshot").warps, trace.warps);
}
