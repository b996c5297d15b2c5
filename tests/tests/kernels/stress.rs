//! Sessions on modules that the program loads through `cust`, and shapes at the limits.
//!
//! What needs streams, graphs and modules of one's own runs on a GPU only; the rest on the emulator
//! too.

use crate::support::back_ends;
use crate::support::graph;

use std::collections::{BTreeMap, BTreeSet};

use back_ends::on_both_back_ends;
use cust::context::Context;
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use graph::Graph;
use profiler_host::{Backend, BackendChoice, Profiler, ProfilerBuilder, Session, Slots, Trace};
use profiler_wire::descriptor::FLAG_CLAIMED;
use test_kernels::strategies as kernels;

const STRATEGIES: Option<&str> = profiler_host::include_ptx!("strategies");
const THOUSAND: Option<&str> = profiler_host::include_ptx!("thousand");

/// Blocks and threads of a block of the launches through `cust`.
const GRID: u32 = 4;
const BLOCK: u32 = 64;
const WARPS: u32 = GRID * BLOCK / 32;

on_both_back_ends! {
    a_thousand_launches
    a_few_blocks_of_a_large_grid
    block_indices_are_not_cut_off
}

fn builder() -> ProfilerBuilder {
    Profiler::builder()
}

#[track_caller]
fn nothing_lost(trace: &Trace) {
    assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
}

/// Each launch's grid id, replay and rounds, by its kernel: a round is a record of each warp.
#[track_caller]
fn rounds(trace: &Trace) -> BTreeMap<&str, Vec<(u64, u32, u64)>> {
    let mut launches = BTreeMap::<&str, Vec<_>>::new();
    for launch in &trace.launches {
        let warps = &trace.warps[launch.warps.clone()];
        assert_eq!(warps.len(), WARPS as usize);
        let recorded = warps[0].recorded;
        assert!(warps.iter().all(|warp| (warp.recorded, warp.lost) == (recorded, 0)));
        let kernel = trace.site(launch.kernel).name.as_str();
        launches.entry(kernel).or_default().push((launch.grid_id, launch.replay, recorded));
    }
    launches
}

/// The rounds of a thousand launches.
fn rounds_of_launch(launch: u32) -> u32 {
    1 + launch % 7
}

/// Checks the trace of a thousand launches of `by_warp`.
#[track_caller]
fn check_a_thousand_launches(trace: &Trace) {
    nothing_lost(trace);
    assert_eq!(trace.launches.len(), 1000);
    let mut seen: Vec<u64> = rounds(trace)["by_warp"].iter().map(|launch| launch.2).collect();
    seen.sort_unstable();
    let mut expected: Vec<u64> =
        (0..1000).map(|launch| u64::from(rounds_of_launch(launch))).collect();
    expected.sort_unstable();
    assert_eq!(seen, expected);
    let places: BTreeSet<_> = trace
        .warps
        .iter()
        .map(|warp| (trace.launches[warp.launch].grid_id, warp.block, warp.warp))
        .collect();
    assert_eq!(places.len(), 1000 * WARPS as usize);
    let slots: BTreeSet<u32> = trace.warps.iter().map(|warp| warp.slot).collect();
    assert_eq!(slots.len(), places.len());
}

fn a_thousand_launches(choice: BackendChoice) {
    let backend = Backend::choose(choice, STRATEGIES).expect("the back end");
    let mut output = backend.zeroed::<u32>((GRID * BLOCK) as usize).expect("memory");
    let pointer = output.as_mut_ptr();
    // So many launches take the emulator seconds; its linear slots have smaller tests.
    let all: &[Slots] = match choice {
        BackendChoice::Emulator => &[Slots::Claimed],
        _ => &[Slots::Linear, Slots::Auto, Slots::Claimed],
    };
    for &slots in all {
        let builder = builder().slots(slots).records_per_warp(7);
        let profiler = builder.for_grid(GRID, BLOCK, 1000).build();
        let mut session = backend.session(&profiler.expect("the options")).expect("a session");
        let capture = session.capture().expect("nothing was launched yet");
        let claims = capture.modules[0].descriptor.flags & FLAG_CLAIMED != 0;
        assert_eq!(claims, slots != Slots::Linear, "{slots:?}: few warps of each launch record");
        for launch in 0..1000 {
            let rounds = rounds_of_launch(launch);
            // SAFETY: one number a thread.
            unsafe {
                profiler_host::launch!(session, kernels::by_warp<<<GRID, BLOCK>>>(pointer, rounds))
            }
            .expect("the launch");
        }
        check_a_thousand_launches(&session.finish().expect("a trace"));
    }
}

fn a_few_blocks_of_a_large_grid(choice: BackendChoice) {
    const BLOCKS: u32 = 1 << 20;
    let backend = Backend::choose(choice, STRATEGIES).expect("the back end");
    let mut output = backend.zeroed::<u32>(BLOCKS as usize).expect("memory");
    let pointer = output.as_mut_ptr();
    // No more slots than warps that are selected: the others take none.
    let builder = builder().blocks(1000..1004).block_stride(1 << 18).max_warps(4);
    // So many blocks take the emulator seconds; its claimed slots have smaller tests.
    let claimed = (choice != BackendChoice::Emulator).then_some(Slots::Claimed);
    for slots in claimed.into_iter().chain([Slots::Linear]) {
        let profiler = builder.clone().slots(slots).build().expect("the options");
        let mut session = backend.session(&profiler).expect("a session");
        // SAFETY: one number a thread.
        unsafe { profiler_host::launch!(session, kernels::by_warp<<<BLOCKS, 1>>>(pointer, 3)) }
            .expect("the launch");
        let trace = session.finish().expect("a trace");
        nothing_lost(&trace);
        let seen: Vec<(u32, u64)> =
            trace.warps.iter().map(|warp| (warp.block[0], warp.recorded)).collect();
        assert_eq!(seen, [0, 1, 2, 3].map(|index| (1000 + (index << 18), 3)));
    }
    assert!(output.read().expect("the results").iter().all(|&rounds| rounds == 3));
}

fn block_indices_are_not_cut_off(choice: BackendChoice) {
    let backend = Backend::choose(choice, STRATEGIES).expect("the back end");
    let mut output = backend.zeroed::<u32>(65_536).expect("memory");
    let pointer = output.as_mut_ptr();
    for grid in [[1, 1, 1], [4097, 1, 1], [65_536, 1, 1], [3, 50, 40]] {
        let builder = builder().records_per_warp(1).for_grid(grid, 1, 1);
        let profiler = builder.build().expect("the options");
        let mut session = backend.session(&profiler).expect("a session");
        // SAFETY: one number a thread of the grid's x extent.
        unsafe { profiler_host::launch!(session, kernels::by_warp<<<grid, 1>>>(pointer, 1)) }
            .expect("the launch");
        let trace = session.finish().expect("a trace");
        nothing_lost(&trace);
        let seen: BTreeSet<[u32; 3]> = trace.warps.iter().map(|warp| warp.block).collect();
        let [width, height, depth] = grid;
        let expected: BTreeSet<[u32; 3]> = (0..depth)
            .flat_map(|z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z])))
            .collect();
        assert!(seen == expected, "{grid:?}: {} of {} blocks", seen.len(), expected.len());
        assert_eq!((trace.warps.len(), trace.recorded()), (seen.len(), seen.len() as u64));
    }
}

/// A GPU with the module of the strategies, as a program of its own would have it.
struct Gpu {
    ptx: &'static str,
    module: Module,
    stream: Stream,
    output: DeviceBuffer<u32>,
    _context: Context,
}

impl Gpu {
    fn new() -> Self {
        let context = cust::quick_init().expect("a GPU");
        let ptx = STRATEGIES.expect("compiled");
        Self {
            ptx,
            module: Module::from_ptx(ptx, &[]).expect("the module loads"),
            stream: new_stream(),
            output: new_output(),
            _context: context,
        }
    }

    fn attach(&self, builder: ProfilerBuilder) -> Session<'_> {
        builder.build().expect("options").attach(&self.module, self.ptx).expect("a session")
    }

    fn launch_by_warp(&self, stream: &Stream, output: &DeviceBuffer<u32>, rounds: u32) {
        let module = &self.module;
        let output = output.as_device_ptr();
        // SAFETY: one number a thread.
        unsafe { launch!(module.by_warp<<<GRID, BLOCK, 0, stream>>>(output, rounds)) }
            .expect("the launch");
    }
}

fn new_stream() -> Stream {
    Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream")
}

/// A number for each thread of a launch.
fn new_output() -> DeviceBuffer<u32> {
    DeviceBuffer::from_slice(&[0; (GRID * BLOCK) as usize]).expect("memory")
}

fn contents(output: &DeviceBuffer<u32>) -> Vec<u32> {
    let mut contents = vec![0; output.len()];
    output.copy_to(&mut contents).expect("readable");
    contents
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_thousand_launches_in_two_streams() {
    let gpu = Gpu::new();
    let session = gpu.attach(builder().records_per_warp(7).max_warps(1000 * WARPS));
    let (other_stream, other_output) = (new_stream(), new_output());
    for launch in 0..1000 {
        let (stream, output) = match launch % 2 {
            0 => (&gpu.stream, &gpu.output),
            _ => (&other_stream, &other_output),
        };
        gpu.launch_by_warp(stream, output, rounds_of_launch(launch));
    }
    check_a_thousand_launches(&session.finish().expect("a trace"));
    assert_eq!(contents(&gpu.output), [rounds_of_launch(998); (GRID * BLOCK) as usize]);
    assert_eq!(contents(&other_output), [rounds_of_launch(999); (GRID * BLOCK) as usize]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn replays_of_a_graph_are_told_apart() {
    let gpu = Gpu::new();
    // A kernel is loaded when it is first launched, which is not allowed while a stream captures.
    let module = &gpu.module;
    let (output, stream) = (gpu.output.as_device_ptr(), &gpu.stream);
    let by_thread = module.get_function("by_thread").expect("the kernel");
    gpu.launch_by_warp(&gpu.stream, &gpu.output, 1);
    // SAFETY: one number a thread.
    unsafe { launch!(by_thread<<<GRID, BLOCK, 0, stream>>>(output, 0)) }.expect("the launch");
    gpu.stream.synchronize().expect("the kernels ran");

    let session = gpu.attach(builder().records_per_lane(70).max_warps(6 * WARPS));
    let graph = Graph::of(&gpu.stream, || {
        gpu.launch_by_warp(&gpu.stream, &gpu.output, 5);
        // SAFETY: one number a thread.
        unsafe { launch!(by_thread<<<GRID, BLOCK, 0, stream>>>(output, 2)) }.expect("the launch");
    });
    for _ in 0..3 {
        graph.launch(&gpu.stream);
    }
    let trace = session.finish().expect("a trace");
    nothing_lost(&trace);
    // Lane l of `by_thread` goes through 2 + l rounds.
    let expected = [("by_thread", (2..34).sum::<u64>()), ("by_warp", 5)];
    let seen = rounds(&trace);
    assert_eq!(seen.len(), expected.len());
    for (kernel, recorded) in expected {
        let grid_id = seen[kernel][0].0;
        let replays: Vec<_> = (0..3).map(|replay| (grid_id, replay, recorded)).collect();
        assert_eq!(seen[kernel], replays, "{kernel}");
    }
    let order: Vec<&str> =
        trace.launches.iter().map(|launch| trace.site(launch.kernel).name.as_str()).collect();
    assert_eq!(order, ["by_warp", "by_thread"].repeat(3));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn two_modules_in_one_session() {
    let gpu = Gpu::new();
    let ptx = THOUSAND.expect("compiled");
    let other = Module::from_ptx(ptx, &[]).expect("the module loads");
    let mut session = gpu.attach(builder().records_per_warp(1000).max_warps(2 * WARPS));
    session.attach_also(&other, ptx).expect("attached");
    let (output, stream) = (gpu.output.as_device_ptr(), &gpu.stream);
    for rounds in [3, 4] {
        gpu.launch_by_warp(stream, &gpu.output, rounds);
        // SAFETY: one number a thread.
        unsafe { launch!(other.thousand<<<GRID, BLOCK, 0, stream>>>(output)) }.expect("the launch");
    }
    let trace = session.finish().expect("a trace");
    nothing_lost(&trace);
    let recorded = |kernel: &str| -> Vec<u64> {
        rounds(&trace)[kernel].iter().map(|launch| launch.2).collect()
    };
    assert_eq!(trace.launches.len(), 4);
    assert_eq!(recorded("by_warp"), [3, 4]);
    assert_eq!(recorded("thousand"), [1000, 1000]);
    // The ids of both modules begin at 1; the names must not be mixed up.
    for warp in &trace.warps {
        let kernel = trace.site(trace.launches[warp.launch].kernel).name.as_str();
        let mut names = warp.regions.iter().map(|region| trace.site(region.site).name.as_str());
        assert_eq!(names.next(), Some(if kernel == "by_warp" { "round" } else { "000" }));
        assert!(names.all(|name| (name == "round") == (kernel == "by_warp")));
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn attached_dropped_and_attached_again() {
    let gpu = Gpu::new();
    for records in [1, 32, 1000] {
        let session = gpu.attach(builder());
        gpu.launch_by_warp(&gpu.stream, &gpu.output, 9);
        drop(session);
        // Between two sessions nothing is recorded, and the arrays of the last are gone.
        gpu.launch_by_warp(&gpu.stream, &gpu.output, 8);
        let session = gpu.attach(builder().records_per_warp(records).max_warps(WARPS));
        gpu.launch_by_warp(&gpu.stream, &gpu.output, 1);
        let trace = session.finish().expect("a trace");
        nothing_lost(&trace);
        assert_eq!((trace.launches.len(), trace.recorded()), (1, u64::from(WARPS)));
        assert_eq!(contents(&gpu.output), [1; (GRID * BLOCK) as usize]);
    }
}
