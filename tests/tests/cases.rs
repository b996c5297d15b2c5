//! Cases of `docs/cases.md` that belong to no one crate: ways out of a region, recursion, a strategy
//! in a branch that its lane does not take, and the length of a kernel.

use cust::event::{Event, EventFlags};
use cust::launch;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use profiler_device::{Recorder, hardware, profile_mark, profile_region, profiled, recorder};
use profiler_host::{Backend, BackendChoice, Profiler, Session, Trace};

const STRATEGIES: Option<&str> = profiler_host::include_ptx!("strategies");

/// Records on the emulator.
#[track_caller]
fn record(run: impl FnOnce(&mut Session<'_>)) -> Trace {
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("the emulator");
    let profiler = Profiler::builder().build().expect("the options");
    let mut session = backend.session(&profiler).expect("a session");
    run(&mut session);
    let trace = session.finish().expect("a trace");
    assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
    trace
}

/// Regions of the first warp in the order of their begins: name, depth, begin and end in ticks.
/// All must have been closed.
#[track_caller]
fn regions(trace: &Trace) -> Vec<(&str, u16, u64, u64)> {
    let regions = trace.warps[0].regions.iter();
    regions
        .map(|region| {
            let name = trace.site(region.site).name.as_str();
            let end = region.end.unwrap_or_else(|| panic!("{name} was not closed"));
            (name, region.depth, region.start.ticks, end.ticks)
        })
        .collect()
}

/// A device function that leaves by `?`.
#[profiled]
fn leaves_by_question_mark(prof: Recorder<'_>, number: Option<u32>) -> Option<u32> {
    profile_region!("in the function");
    let number = profile_region!("around the question mark", { number? + 1 });
    Some(number)
}

#[profiled]
unsafe extern "ptx-kernel" fn leaves(rounds: u32) {
    profile_region!("to the end of the kernel");
    let mut round = 0;
    'outer: loop {
        profile_region!("loop");
        loop {
            profile_region!("inner loop", {
                round += 1;
                if round % 2 == 1 {
                    continue;
                }
                if round == rounds {
                    break 'outer;
                }
                break;
            });
        }
    }
    leaves_by_question_mark(recorder!(), None);
    leaves_by_question_mark(recorder!(), Some(1));
    profile_region!("around the return", {
        if round == rounds {
            return;
        }
    });
    profile_mark!("not reached");
}

#[test]
fn every_way_out_closes_its_region() {
    let trace = record(|session| {
        // SAFETY: the kernel touches no memory.
        unsafe { profiler_host::launch!(session, leaves<<<1, 32>>>(6)) }.expect("ran");
    });
    let seen: Vec<(&str, u16)> =
        regions(&trace).into_iter().map(|(name, depth, ..)| (name, depth)).collect();
    let mut expected = vec![("to the end of the kernel", 0)];
    for _ in 0..3 {
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
    assert_eq!(seen, expected);
    assert!(trace.warps[0].marks.is_empty());
}

/// Calls itself twice at each depth, inside of a region and behind it.
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
    let trace = record(|session| {
        // SAFETY: the pointer is valid while the session lives.
        unsafe { profiler_host::launch!(session, recursive<<<1, 32>>>(DEPTH, pointer)) }
            .expect("ran");
    });
    assert_eq!(calls, 1 << DEPTH);
    let mut expected = Vec::new();
    expected_depths(DEPTH, 0, &mut expected);
    let regions = regions(&trace);
    let depths: Vec<u16> = regions.iter().map(|region| region.1).collect();
    assert_eq!(depths, expected);
    // Each region lies in the last one before it that is one level up.
    for (index, &(_, depth, start, end)) in regions.iter().enumerate() {
        let outer = regions[..index].iter().rev().find(|outer| outer.1 + 1 == depth);
        assert_eq!(outer.is_some(), depth > 0);
        assert!(outer.is_none_or(|outer| outer.2 <= start && end <= outer.3), "region {index}");
    }
}

/// Each half of the warp takes an arm of its own; the strategy is the default, lane 0.
#[profiled]
unsafe extern "ptx-kernel" fn by_warp_in_arms(rounds: u32) {
    let mut round = 0;
    while round < rounds {
        if hardware::lane_id() < 16 {
            profile_region!("lane 0's arm", value = round);
        } else {
            profile_region!("the other arm", value = round);
            profile_mark!("mark in the other arm");
        }
        round += 1;
    }
}

#[test]
fn by_warp_records_the_arm_of_lane_0_and_nothing_else() {
    let trace = record(|session| {
        // SAFETY: the kernel touches no memory.
        unsafe { profiler_host::launch!(session, by_warp_in_arms<<<2, 105>>>(5)) }.expect("ran");
    });
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

/// Cycles that a warp waits: 0.3, 1 and 10 ms at 2 GHz.
const WAITS: [u32; 3] = [600_000, 2_000_000, 20_000_000];
/// Launches of each.
const LAUNCHES: usize = 5;
/// What the launch itself may take, which events around it enclose.
const LAUNCH_NS: f64 = 10_000.0;

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_kernel_lasts_as_long_as_events_say() {
    let _context = cust::quick_init().expect("a GPU");
    let ptx = STRATEGIES.expect("compiled");
    let module = Module::from_ptx(ptx, &[]).expect("the module loads");
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    let output = cust::memory::DeviceBuffer::from_slice(&[0_u32; 132 * 64]).expect("memory");
    for wait in WAITS {
        let profiler = Profiler::builder().build().expect("the options");
        let session = profiler.attach(&module, ptx).expect("a session");
        let mut events_ns = Vec::new();
        for _ in 0..LAUNCHES {
            let event = || Event::new(EventFlags::DEFAULT).expect("an event");
            let (begin, end) = (event(), event());
            begin.record(&stream).expect("recorded");
            let output = output.as_device_ptr();
            // SAFETY: one number a thread.
            unsafe { launch!(module.barrier_wait<<<132, 64, 0, stream>>>(output, wait)) }
                .expect("the launch");
            end.record(&stream).expect("recorded");
            end.synchronize().expect("the kernel ran");
            events_ns.push(f64::from(end.elapsed_time_f32(&begin).expect("two events")) * 1e6);
        }
        let trace = session.finish(&stream).expect("a trace");
        assert_eq!((trace.launches.len(), trace.lost()), (LAUNCHES, 0), "{}", trace.diagnostics);
        let launches = trace.launches.iter().map(|launch| launch.end_ns - launch.start_ns);
        let both: Vec<_> = launches.zip(events_ns).collect();
        let mut longer: Vec<f64> = both.iter().map(|(own, events)| events - own).collect();
        longer.sort_by(f64::total_cmp);
        let median = longer[LAUNCHES / 2];
        let percent = both[LAUNCHES / 2].1 / 100.0;
        assert!((-percent..=percent + LAUNCH_NS).contains(&median), "{wait} cycles: {both:?}");
    }
}
