//! Cases of `docs/cases.md` that belong to no one crate: ways out of a region, recursion, a strategy
//! in a branch that its lane does not take, the length of a kernel, two launches at once, and kernels of
//! other versions.

use crate::support::on_both_back_ends;

use std::io::Write as _;

use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use profiler_device::{Recorder, profile_region, profiled, recorder};
use profiler_host::{Backend, BackendChoice, Error, Profiler, Session, Trace};
use profiler_trace::Warp;
use test_kernels::strategies as kernels;

const STRATEGIES: Option<&str> = profiler_host::include_ptx!("strategies");

on_both_back_ends! {
    every_way_out_closes_its_region
    by_warp_records_the_arm_of_lane_0_and_nothing_else
}

/// Records in a session of its own.
#[track_caller]
fn record(backend: &Backend, run: impl FnOnce(&mut Session<'_>) -> Result<(), Error>) -> Trace {
    let profiler = Profiler::builder().build().expect("the options");
    let mut session = backend.session(&profiler).expect("a session");
    run(&mut session).expect("ran");
    let trace = session.finish().expect("a trace");
    assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
    trace
}

/// Regions of a lane in the order of their begins: name, depth, begin and end in ticks. All must have
/// been closed.
#[track_caller]
fn regions<'t>(trace: &'t Trace, warp: &Warp, lane: u8) -> Vec<(&'t str, u16, u64, u64)> {
    let regions = warp.regions.iter().filter(|region| region.lane == lane);
    regions
        .map(|region| {
            let name = trace.site(region.site).name.as_str();
            let end = region.end.unwrap_or_else(|| panic!("{name} was not closed"));
            (name, region.depth, region.start.ticks, end.ticks)
        })
        .collect()
}

/// Blocks and threads of the kernels with every way out, and the rounds of their loop.
const LEAVING_BLOCKS: u32 = 2;
const LEAVING_THREADS: u32 = 64;
const LEAVING_ROUNDS: u32 = 6;

/// A launch of one of these kernels.
type Leaving = fn(&mut Session<'_>, *mut u32, u32) -> Result<(), Error>;

macro_rules! leaving {
    ($kernel:ident) => {
        |session, output, leave| {
            // SAFETY: one number a thread, and the rounds are even.
            unsafe {
                profiler_host::launch!(
                    session,
                    kernels::ways_out::$kernel<<<LEAVING_BLOCKS, LEAVING_THREADS>>>(
                        output,
                        LEAVING_ROUNDS,
                        leave
                    )
                )
            }
        }
    };
}

/// Each of them, and how many lanes of a warp record.
const LEAVING: [(&str, Leaving, u8); 3] = [
    ("leaves", leaving!(leaves), 1),
    ("leaves_elected", leaving!(leaves_elected), 1),
    ("leaves_by_thread", leaving!(leaves_by_thread), 32),
];

/// What a lane that records has of them: each region's name and depth.
fn of_leaving() -> Vec<(&'static str, u16)> {
    let mut expected = vec![("to the end of the kernel", 0)];
    for _ in 0..LEAVING_ROUNDS / 2 {
        expected.extend([("loop", 1), ("inner loop", 2), ("inner loop", 2)]);
    }
    for _ in 0..2 {
        expected.extend([
            ("leaves_by_question_mark", 1),
            ("in the function", 2),
            ("around the question mark", 3),
        ]);
    }
    expected.push(("around the return", 1));
    expected
}

fn every_way_out_closes_its_region(choice: BackendChoice) {
    let backend = Backend::choose(choice, STRATEGIES).expect("the back end");
    let threads = LEAVING_BLOCKS * LEAVING_THREADS;
    let mut output = backend.zeroed::<u32>(threads as usize).expect("memory");
    for (name, launch, lanes) in LEAVING {
        for leave in [1, 0] {
            let trace = record(&backend, |session| launch(session, output.as_mut_ptr(), leave));
            // A call that was not left gives one more than the rounds.
            let sum = (2 - leave) * (LEAVING_ROUNDS + 1);
            let results = output.read().expect("the results");
            assert_eq!(results, vec![sum; threads as usize], "{name}");
            assert_eq!(trace.warps.len(), threads as usize / 32, "{name}");
            for warp in &trace.warps {
                for lane in 0..32 {
                    let regions = regions(&trace, warp, lane);
                    let seen: Vec<_> = regions.iter().map(|region| (region.0, region.1)).collect();
                    let expected = if lane < lanes { of_leaving() } else { Vec::new() };
                    assert_eq!(seen, expected, "{name}, lane {lane}");
                }
                // Without the `return` the same kernel gets there.
                let marks = if leave == 0 { usize::from(lanes) } else { 0 };
                assert_eq!(warp.marks.len(), marks, "{name}");
            }
        }
    }
}

/// Calls itself twice at each depth, inside of a region and after it.
#[profiled(name = "recurse")]
fn recurse(prof: Recorder<'_>, depth: u32) -> u32 {
    if depth == 0 {
        return 1;
    }
    let inside = profile_region!("recurse", { recurse(prof, depth - 1) });
    inside + recurse(prof, depth - 1)
}

#[profiled]
unsafe extern "ptx-kernel" fn recursive(depth: u32, calls: *mut u32) {
    let sum = recurse(recorder!(), depth);
    // SAFETY: the caller's promise; each thread writes the same.
    unsafe { calls.write_volatile(sum) };
}

/// What [`recurse`] records from a depth on: how deep each region lies, in the order of their begins.
fn expected_depths(depth: u32, outside: u16, depths: &mut Vec<u16>) {
    depths.push(outside);
    if depth == 0 {
        return;
    }
    depths.push(outside + 1);
    expected_depths(depth - 1, outside + 2, depths);
    expected_depths(depth - 1, outside + 1, depths);
}

#[test]
fn a_recursive_function_under_one_name_pairs() {
    const DEPTH: u32 = 4;
    let mut calls = 0_u32;
    let pointer = &raw mut calls;
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("the emulator");
    let trace = record(&backend, |session| {
        // SAFETY: the pointer is valid while the session lives.
        unsafe { profiler_host::launch!(session, recursive<<<1, 32>>>(DEPTH, pointer)) }
    });
    assert_eq!(calls, 1 << DEPTH);
    let mut expected = Vec::new();
    expected_depths(DEPTH, 0, &mut expected);
    let regions = regions(&trace, &trace.warps[0], 0);
    let depths: Vec<u16> = regions.iter().map(|region| region.1).collect();
    assert_eq!(depths, expected);
    // Each region lies in the last one before it that is one level up.
    for (index, &(_, depth, start, end)) in regions.iter().enumerate() {
        let outer = regions[..index].iter().rev().find(|outer| outer.1 + 1 == depth);
        assert_eq!(outer.is_some(), depth > 0);
        assert!(outer.is_none_or(|outer| outer.2 <= start && end <= outer.3), "region {index}");
    }
}

fn by_warp_records_the_arm_of_lane_0_and_nothing_else(choice: BackendChoice) {
    const BLOCKS: u32 = 2;
    const THREADS: u32 = 105;
    let backend = Backend::choose(choice, STRATEGIES).expect("the back end");
    let mut output = backend.zeroed::<u32>((BLOCKS * THREADS) as usize).expect("memory");
    let trace = record(&backend, |session| {
        let output = output.as_mut_ptr();
        // SAFETY: one number a thread.
        unsafe {
            profiler_host::launch!(session, kernels::by_warp_in_arms<<<BLOCKS, THREADS>>>(output, 5))
        }
    });
    assert_eq!(output.read().expect("the results"), [5; (BLOCKS * THREADS) as usize]);
    assert_eq!(trace.warps.len(), 8);
    for warp in &trace.warps {
        assert!(warp.regions.iter().all(|region| region.lane == 0 && region.depth == 0));
        let rounds: Vec<(&str, Option<f64>)> = warp
            .regions
            .iter()
            .map(|region| {
                let value = region.value.map(profiler_trace::Value::as_f64);
                (trace.site(region.site).name.as_str(), value)
            })
            .collect();
        let expected: Vec<_> =
            (0..5).map(|round| ("lane 0's arm", Some(f64::from(round)))).collect();
        assert_eq!((rounds, warp.marks.len()), (expected, 0));
    }
}

/// Launches between two events, and the cycles that a warp waits in each: 0.2, 0.3, 1 and 10 ms at 2 GHz.
/// Events enclose the begin and the end of work on the GPU besides, 4 µs of an H200; with several launches
/// of 0.2 ms between them it is less for each.
const BETWEEN_EVENTS: [(usize, u32); 5] =
    [(1, 400_000), (8, 400_000), (1, 600_000), (1, 2_000_000), (1, 20_000_000)];
/// How often each is measured.
const TIMES: usize = 15;

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_kernel_lasts_as_long_as_events_say() {
    let _context = cust::quick_init().expect("a GPU");
    let ptx = STRATEGIES.expect("compiled");
    let module = Module::from_ptx(ptx, &[]).expect("the module loads");
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    let output = DeviceBuffer::from_slice(&[0_u32; 132 * 64]).expect("memory");
    for (launches, wait) in BETWEEN_EVENTS {
        // Two warps in each of 132 blocks.
        let warps = 2 * 132 * (launches * TIMES) as u32;
        let profiler = Profiler::builder().max_warps(warps).build().expect("the options");
        let session = profiler.attach(&module, ptx).expect("a session");
        let mut events_ns = Vec::new();
        for _ in 0..TIMES {
            let event = || Event::new(EventFlags::DEFAULT).expect("an event");
            let (begin, end) = (event(), event());
            // The stream is held up until all of it is queued, as a slow host would be in what the events
            // enclose.
            let (queued, is_queued) = std::sync::mpsc::channel::<()>();
            let hold = move || {
                let _ended = is_queued.recv();
            };
            stream.add_callback(Box::new(hold)).expect("a callback");
            begin.record(&stream).expect("recorded");
            for _ in 0..launches {
                let output = output.as_device_ptr();
                // SAFETY: one number a thread.
                unsafe { launch!(module.barrier_wait<<<132, 64, 0, stream>>>(output, wait)) }
                    .expect("the launch");
            }
            end.record(&stream).expect("recorded");
            drop(queued);
            end.synchronize().expect("the kernel ran");
            events_ns.push(f64::from(end.elapsed_time_f32(&begin).expect("two events")) * 1e6);
        }
        let trace = session.finish().expect("a trace");
        assert_eq!(
            (trace.launches.len(), trace.lost()),
            (launches * TIMES, 0),
            "{}",
            trace.diagnostics
        );
        let own = trace.launches.chunks(launches).map(|together| {
            together.iter().map(|launch| launch.end_ns - launch.start_ns).sum::<f64>()
        });
        // In percent of what the events say.
        let mut longer: Vec<f64> =
            own.zip(&events_ns).map(|(own, events)| (events - own) / events * 100.0).collect();
        longer.sort_by(f64::total_cmp);
        // Figures are to be seen; where nobody reads them is no reason to fail.
        let _ = writeln!(
            std::io::stdout(),
            "{launches} of {wait} cycles: by events {longer:.2?} percent longer"
        );
        assert!((-1.0..=2.0).contains(&longer[TIMES / 2]), "{launches} of {wait}: {longer:?}");
    }
}

/// What a launch waits for the other one at most: seconds more than it takes to make a launch.
const PATIENCE_NS: u32 = 2_000_000_000;

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn two_launches_in_two_streams_wait_for_each_other() {
    const BLOCKS: u32 = 4;
    const THREADS: u32 = 64;
    let _context = cust::quick_init().expect("a GPU");
    let ptx = STRATEGIES.expect("compiled");
    let module = Module::from_ptx(ptx, &[]).expect("the module loads");
    let streams = [(); 2].map(|()| Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream"));
    let new = |length| DeviceBuffer::from_slice(&vec![0_u32; length]).expect("memory");
    let outputs = [(); 2].map(|()| new((BLOCKS * THREADS) as usize));
    // A kernel is loaded when it is first launched, which may wait for those that run.
    for patience in [0, PATIENCE_NS] {
        let flags = new(2);
        let profiler = Profiler::builder().max_warps(2 * BLOCKS * THREADS / 32).build();
        let session = profiler.expect("the options").attach(&module, ptx).expect("a session");
        for ((own, stream), output) in (0_u32..).zip(&streams).zip(&outputs) {
            let (output, flags) = (output.as_device_ptr(), flags.as_device_ptr());
            // SAFETY: one number a thread, and two flags.
            unsafe {
                launch!(module.meets<<<BLOCKS, THREADS, 0, stream>>>(output, flags, own, patience))
            }
            .expect("the launch");
        }
        let trace = session.finish().expect("a trace");
        assert_eq!((trace.launches.len(), trace.lost()), (2, 0), "{}", trace.diagnostics);
        if patience == 0 {
            continue;
        }
        for output in &outputs {
            let mut came = vec![0; output.len()];
            output.copy_to(&mut came).expect("readable");
            // Each thread of either launch ended when it had seen the other launch, or its patience had.
            assert_eq!(came, [1; (BLOCKS * THREADS) as usize], "one launch ran after the other");
        }
        // So they lie on the axis, too.
        let [first, second] = [&trace.launches[0], &trace.launches[1]];
        let [last_start, first_end] =
            [first.start_ns.max(second.start_ns), first.end_ns.min(second.end_ns)];
        assert!(last_start < first_end, "{:?}", trace.launches);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn kernels_of_other_versions_are_not_attached_to() {
    let _context = cust::quick_init().expect("a GPU");
    let (ptx, stream) = (
        STRATEGIES.expect("compiled"),
        Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream"),
    );
    let module = Module::from_ptx(ptx, &[]).expect("the module loads");
    let output = DeviceBuffer::from_slice(&[0_u32; 64]).expect("memory");
    let profiler = Profiler::builder().build().expect("the options");
    for version in [profiler_wire::WIRE_VERSION + 1, 255] {
        let own = format!("__profiler_descriptor_v{}", profiler_wire::WIRE_VERSION);
        let other_ptx = ptx.replace(&own, &format!("__profiler_descriptor_v{version}"));
        let other = Module::from_ptx(&other_ptx, &[]).expect("the module loads");
        let check = |error: Error| {
            assert!(matches!(error, Error::Sites(_)), "{error}");
            let text = error.to_string();
            let parts = [
                format!("descriptor_v{version},"),
                format!("wire version {}", profiler_wire::WIRE_VERSION),
                "build the kernels with the same version of the profiler".to_owned(),
            ];
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        };
        check(profiler.attach(&other, &other_ptx).map(drop).expect_err("another version"));
        // To measure comes before to attach, and the name of the kernel that measures has the version in it.
        let measuring = Profiler::builder().measure_record_cost().build().expect("the options");
        check(measuring.attach(&other, &other_ptx).map(drop).expect_err("another version"));
        // A session that has another module goes on with that.
        let mut session = profiler.attach(&module, ptx).expect("a session");
        check(session.attach_also(&other, &other_ptx).expect_err("another version"));
        let output = output.as_device_ptr();
        // SAFETY: one number a thread.
        unsafe { launch!(module.by_warp<<<1, 64, 0, stream>>>(output, 3)) }.expect("the launch");
        // Nothing listens to this one, which records nothing.
        // SAFETY: as above.
        unsafe { launch!(other.by_warp<<<1, 64, 0, stream>>>(output, 3)) }.expect("the launch");
        let trace = session.finish().expect("a trace");
        assert_eq!((trace.launches.len(), trace.recorded(), trace.lost()), (1, 6, 0));
    }
}
