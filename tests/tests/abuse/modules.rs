//! Streams, graphs and modules of a program's own, on a GPU.

use cust::context::Context;
use cust::launch;
use cust::memory::{DeviceBuffer, DevicePointer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use profiler_host::{Error, ProfilerBuilder, Session, Trace};

use crate::graph::Graph;
use crate::kernels::{Rounds, Shape, check_identity, kernel};
use crate::setting::{PTX, Setting, builder};

const PLAIN: Option<&str> = profiler_host::include_ptx!("plain_off");
const THOUSAND: Option<&str> = profiler_host::include_ptx!("thousand");

const GRID: u32 = 6;
const BLOCK: u32 = 70;
const SHAPE: Shape = Shape { grid: [GRID, 1, 1], block: [BLOCK, 1, 1] };
/// Warps of a launch.
const WARPS: u32 = GRID * BLOCK.div_ceil(32);

/// A context with a stream; modules are the cases' own.
struct Gpu {
    stream: Stream,
    _context: Context,
}

impl Gpu {
    fn new() -> Self {
        let context = cust::quick_init().expect("a GPU");
        Self { stream: new_stream(), _context: context }
    }
}

fn new_stream() -> Stream {
    Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream")
}

fn ptx() -> &'static str {
    PTX.expect("compiled")
}

fn load(ptx: &str) -> Module {
    Module::from_ptx(ptx, &[]).expect("the module loads")
}

fn attach(module: &Module, builder: ProfilerBuilder) -> Session<'_> {
    let profiler = builder.build().expect("the options");
    profiler.attach(module, ptx()).expect("a session")
}

/// Launches `warp_cycles`, which writes nothing.
fn launch_warps(module: &Module, stream: &Stream, rounds: u32) {
    let nothing = DevicePointer::<u32>::null();
    // SAFETY: the kernel takes a null pointer.
    unsafe {
        launch!(module.warp_cycles<<<GRID, BLOCK, 0, stream>>>(nothing, rounds, 0_u32, 0_u32))
    }
    .expect("the launch");
}

/// Launches `warps_leave`, which writes nothing.
fn launch_leaving(module: &Module, stream: &Stream, rounds: u32) {
    let nothing = DevicePointer::<u32>::null();
    // SAFETY: the kernel takes a null pointer.
    unsafe { launch!(module.warps_leave<<<GRID, BLOCK, 0, stream>>>(nothing, rounds)) }
        .expect("the launch");
}

/// Checks that all launches are whole, and gives the rounds of those of `warp_cycles`, sorted.
#[track_caller]
fn check_all(trace: &Trace) -> Vec<u64> {
    assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
    let mut rounds = Vec::new();
    for launch in &trace.launches {
        check_identity(trace, launch, SHAPE, |_, _| true);
        if trace.site(launch.kernel).name != "warp_cycles" {
            continue;
        }
        let recorded = trace.warps[launch.warps.start].recorded;
        for warp in &trace.warps[launch.warps.clone()] {
            let expected = Rounds::all(recorded as u32);
            kernel("warp_cycles").check_warp(trace, warp, SHAPE, expected);
        }
        rounds.push(recorded);
    }
    rounds.sort_unstable();
    rounds
}

/// A thousand launches in two streams at once.
pub(crate) fn two_streams(_: Setting) {
    const LAUNCHES: u32 = 1000;
    let gpu = Gpu::new();
    let module = load(ptx());
    let other = new_stream();
    let session = attach(&module, builder().records_per_warp(40).max_warps(LAUNCHES * WARPS));
    for launch in 0..LAUNCHES {
        let stream = if launch % 2 == 0 { &gpu.stream } else { &other };
        launch_warps(&module, stream, 1 + launch % 40);
    }
    let trace = session.finish().expect("a trace");
    let mut rounds: Vec<u64> = (0..LAUNCHES).map(|launch| (1 + launch % 40).into()).collect();
    rounds.sort_unstable();
    assert_eq!(check_all(&trace), rounds);
}

/// Two modules in one session, one of them loaded twice.
pub(crate) fn two_modules(_: Setting) {
    let gpu = Gpu::new();
    let (first, second) = (load(ptx()), load(ptx()));
    let (other_ptx, stream) = (THOUSAND.expect("compiled"), &gpu.stream);
    let other = load(other_ptx);
    let builder = builder().records_per_warp(1000).max_warps(3 * WARPS);
    let mut session = attach(&first, builder);
    session.attach_also(&second, ptx()).expect("attached");
    session.attach_also(&other, other_ptx).expect("attached");
    for (module, rounds) in [(&first, 1), (&second, 2), (&first, 3)] {
        launch_warps(module, stream, rounds);
    }
    let output = DeviceBuffer::from_slice(&[0_u32; (GRID * BLOCK) as usize]).expect("memory");
    let pointer = output.as_device_ptr();
    // SAFETY: one number a thread.
    unsafe { launch!(other.thousand<<<GRID, BLOCK, 0, stream>>>(pointer)) }.expect("the launch");
    let trace = session.finish().expect("a trace");
    assert_eq!(trace.launches.len(), 4);
    assert_eq!(check_all(&trace), [1, 2, 3]);
    // The ids of each module begin at 1; the names must not be mixed up.
    for warp in &trace.warps {
        let is_other = trace.site(trace.launches[warp.launch].kernel).name == "thousand";
        let mut names = warp.regions.iter().map(|region| trace.site(region.site).name.as_str());
        assert_eq!(names.next(), Some(if is_other { "000" } else { "round" }));
        assert!(names.all(|name| (name == "round") != is_other));
        assert!(!is_other || warp.recorded == 1000);
    }
}

/// A module that is unloaded and loaded again between sessions, with one that was dropped before each; and one that
/// no session is attached to beside one that has a session.
pub(crate) fn module_reloaded(_: Setting) {
    let gpu = Gpu::new();
    let without = load(ptx());
    for rounds in 1..6 {
        let module = load(ptx());
        let dropped = attach(&module, builder());
        launch_warps(&module, &gpu.stream, 7);
        drop(dropped);
        // Between two sessions nothing is recorded, and the arrays of the last are gone.
        launch_warps(&module, &gpu.stream, 8);
        let session = attach(&module, builder().max_warps(WARPS));
        launch_warps(&module, &gpu.stream, rounds);
        launch_warps(&without, &gpu.stream, 9);
        let trace = session.finish().expect("a trace");
        assert_eq!(check_all(&trace), [u64::from(rounds)]);
    }
}

/// Two sessions of two modules at once, which end in either order.
pub(crate) fn two_sessions(_: Setting) {
    let gpu = Gpu::new();
    let (first, second) = (load(ptx()), load(ptx()));
    for first_ends_first in [true, false] {
        let sessions = [&first, &second].map(|module| attach(module, builder().max_warps(WARPS)));
        launch_warps(&first, &gpu.stream, 3);
        launch_warps(&second, &gpu.stream, 4);
        let [one, two] = sessions;
        let (earlier, later) = if first_ends_first { (one, two) } else { (two, one) };
        let expected = if first_ends_first { [3, 4] } else { [4, 3] };
        for (session, rounds) in [earlier, later].into_iter().zip(expected) {
            assert_eq!(check_all(&session.finish().expect("a trace")), [rounds]);
        }
    }
}

/// A graph of two kernels, replayed several times in one stream and another.
pub(crate) fn graph_replays(_: Setting) {
    const REPLAYS: u32 = 7;
    let gpu = Gpu::new();
    let (module, other) = (load(ptx()), new_stream());
    // A kernel is loaded when it is first launched, which is not allowed while a stream captures.
    launch_warps(&module, &gpu.stream, 1);
    launch_leaving(&module, &gpu.stream, 1);
    gpu.stream.synchronize().expect("the kernels ran");
    let session = attach(&module, builder().records_per_warp(20).max_warps(2 * REPLAYS * WARPS));
    let graph = Graph::of(&gpu.stream, || {
        launch_warps(&module, &gpu.stream, 5);
        launch_leaving(&module, &gpu.stream, 6);
    });
    for replay in 0..REPLAYS {
        graph.launch(if replay % 3 == 2 { &other } else { &gpu.stream });
    }
    let trace = session.finish().expect("a trace");
    assert_eq!(check_all(&trace), [5; REPLAYS as usize]);
    let order = trace.launches.iter().map(|launch| trace.site(launch.kernel).name.as_str());
    assert_eq!(order.collect::<Vec<_>>(), ["warp_cycles", "warps_leave"].repeat(REPLAYS as usize));
    for name in ["warp_cycles", "warps_leave"] {
        let of_kernel: Vec<_> = (trace.launches.iter())
            .filter(|launch| trace.site(launch.kernel).name == name)
            .collect();
        let replays: Vec<u32> = of_kernel.iter().map(|launch| launch.replay).collect();
        assert_eq!(replays, (0..REPLAYS).collect::<Vec<_>>(), "{name}");
        let grid_id = of_kernel[0].grid_id;
        assert!(of_kernel.iter().all(|launch| launch.grid_id == grid_id), "{name}");
    }
}

/// Modules without a profiled kernel, and PTX that is not that of the module.
pub(crate) fn module_without_annotations(_: Setting) {
    let gpu = Gpu::new();
    let plain_ptx = PLAIN.expect("compiled");
    let (plain, annotated) = (load(plain_ptx), load(ptx()));
    let profiler = builder().build().expect("the options");
    let error = profiler.attach(&plain, plain_ptx).expect_err("nothing to record");
    assert!(matches!(error, Error::Sites(_)), "{error}");
    assert!(error.to_string().contains("built with profiling off"), "{error}");
    let error = profiler.attach(&plain, ptx()).expect_err("not its PTX");
    assert!(matches!(error, Error::NoDescriptor), "{error}");
    // Neither attempt leaves anything behind.
    let session = attach(&annotated, builder());
    launch_warps(&annotated, &gpu.stream, 2);
    assert_eq!(check_all(&session.finish().expect("a trace")), [2]);
}
