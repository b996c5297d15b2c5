//! Sessions of kernels with `buffer = host`: at every capacity, watched while the kernel runs, and
//! stopped in its middle. What a kernel that fails leaves on a GPU is in `failures.rs`.

use crate::support::watching::{Flag, wait_for};
use crate::support::{never_stopping, on_both_back_ends, with_lane_buffers};

use profiler_emulator::LaunchError;
use profiler_host::trace::{
    Buffer, DiagnosticKind as Kind, Export, ExportOptions, StackGroup, Warp,
};
use profiler_host::{
    Backend, BackendChoice, Error, Keep, Profiler, ProfilerBuilder, Session, Slots, Trace, launch,
};
use profiler_test_tools::quick_or_all;
use test_kernels::watched as kernels;

const PTX: Option<&str> = profiler_host::include_ptx!("watched");

const BLOCKS: u32 = 2;
const WARPS: u32 = 3;
const THREADS: u32 = BLOCKS * WARPS * 32;
const ROUNDS: u32 = 3;

on_both_back_ends! {
    what_is_kept_and_what_is_lost_are_all
    regions_are_those_of_the_other_form
    what_recording_costs_is_measured_and_subtracted
    lanes_end_either_region_at_one_place
    a_running_kernel_is_watched
    a_ring_is_watched_while_it_turns
    a_reset_is_seen_by_who_watches
}

fn builder() -> ProfilerBuilder {
    Profiler::builder().max_warps(BLOCKS * WARPS)
}

fn session<'b>(backend: &'b Backend, builder: ProfilerBuilder) -> Session<'b> {
    backend.session(&builder.build().expect("the options")).expect("a session")
}

type Launch = fn(&mut Session<'_>, *mut u32) -> Result<(), Error>;

macro_rules! launch_of {
    ($name:ident) => {
        // SAFETY: one number a thread.
        (|session, output| unsafe {
            launch!(session, kernels::$name<<<BLOCKS, 32 * WARPS>>>(output, ROUNDS))
        }) as Launch
    };
}

/// Each kernel that makes steps, and how many lanes of a warp record.
const STEPS: [(&str, Launch, u32); 3] = [
    ("steps", launch_of!(steps), 1),
    ("steps_by_thread", launch_of!(steps_by_thread), 32),
    ("steps_by_elected", launch_of!(steps_by_elected), 1),
];

fn what_is_kept_and_what_is_lost_are_all(choice: BackendChoice) {
    let (backend, _) = never_stopping(choice, PTX);
    let mut output = backend.zeroed::<u32>(THREADS as usize).expect("memory");
    let enough = ROUNDS * kernels::UNITS_OF_A_ROUND;
    for (name, launch, lanes) in STEPS {
        // Of the emulator's many lanes not at every capacity, as that takes long.
        let step = if lanes > 1 { 4 } else { 1 };
        for units in (0..=enough + 1).step_by(step).chain([enough]) {
            for (keep, slots, buffers) in [
                (Keep::First, Slots::Linear, true),
                (Keep::Last, Slots::Claimed, true),
                (Keep::Last, Slots::Linear, false),
            ] {
                let options = builder().records_per_warp(units).keep(keep).slots(slots);
                let options = with_lane_buffers(options, buffers, units);
                let mut session = session(&backend, options);
                launch(&mut session, output.as_mut_ptr()).expect("the launch");
                let trace = session.finish().expect("a trace");
                let what = format!("{name}, {units} units, {keep:?}: {}", trace.diagnostics);
                let emitted = BLOCKS * WARPS * lanes * ROUNDS * kernels::RECORDS_OF_A_ROUND;
                assert_eq!(trace.recorded() + trace.lost(), u64::from(emitted), "{what}");
                assert_eq!(trace.warps.len() as u32, BLOCKS * WARPS, "{what}");
                if units >= enough && buffers {
                    assert_eq!(trace.lost(), 0, "{what}");
                    assert!(!is_open(&trace), "{what}");
                }
                for kind in [Kind::UnitInFlight, Kind::UnwrittenUnit, Kind::DamagedUnit] {
                    assert_eq!(trace.diagnostics.count(kind), 0, "{what}");
                }
            }
        }
    }
    assert_eq!(output.read().expect("the results"), [ROUNDS; THREADS as usize]);
}

fn is_open(trace: &Trace) -> bool {
    trace.warps.iter().any(|warp| warp.regions.iter().any(|region| region.end.is_none()))
}

/// The names of the regions of a warp, with their depths, and whether they are open.
fn regions(trace: &Trace, warp: usize) -> Vec<(&str, u16, bool)> {
    let regions = trace.warps[warp].regions.iter();
    regions
        .map(|region| (trace.site(region.site).name.as_str(), region.depth, region.end.is_none()))
        .collect()
}

fn regions_are_those_of_the_other_form(choice: BackendChoice) {
    let (backend, _) = never_stopping(choice, PTX);
    let mut output = backend.zeroed::<u32>(THREADS as usize).expect("memory");
    let mut session = session(&backend, builder().max_warps(2 * BLOCKS * WARPS));
    for launch in [launch_of!(steps), launch_of!(in_global_form)] {
        launch(&mut session, output.as_mut_ptr()).expect("the launch");
    }
    let trace = session.finish().expect("a trace");
    assert_eq!((trace.lost(), trace.launches.len()), (0, 2), "{}", trace.diagnostics);
    for (number, launch) in trace.launches.iter().enumerate() {
        for warp in launch.warps.clone() {
            let found = regions(&trace, warp);
            if number == 1 {
                assert_eq!(found, [("round", 0, false); ROUNDS as usize]);
                continue;
            }
            let count = |name| found.iter().filter(|region| region.0 == name).count() as u32;
            for (name, depth) in [("round", 0), ("inner", 1), ("across", 0)] {
                assert_eq!(count(name), ROUNDS, "{name} of {found:?}");
                let right = |region: &&(&str, u16, bool)| region.0 == name;
                let mut of_name = found.iter().filter(right);
                assert!(of_name.all(|region| (region.1, region.2) == (depth, false)), "{found:?}");
            }
            let warp = &trace.warps[warp];
            let values: Vec<f64> = warp
                .regions
                .iter()
                .filter_map(|region| region.value.map(profiler_host::trace::Value::as_f64))
                .collect();
            assert_eq!(values, [0.0, 1.0, 2.0], "the values that `done` has at each begin");
            let on_track = warp.regions.iter().filter(|region| region.track == Some(3));
            assert_eq!(on_track.count() as u32, ROUNDS);
            assert_eq!(warp.marks.len() as u32, 2 * ROUNDS);
        }
    }
}

fn what_recording_costs_is_measured_and_subtracted(choice: BackendChoice) {
    let (backend, _) = never_stopping(choice, PTX);
    let mut output = backend.zeroed::<u32>(THREADS as usize).expect("memory");
    let builder = builder().max_warps(2 * BLOCKS * WARPS).measure_record_cost();
    let mut session = session(&backend, builder);
    for launch in [launch_of!(steps), launch_of!(in_global_form)] {
        launch(&mut session, output.as_mut_ptr()).expect("the launch");
    }
    let cost = session.record_cost().expect("it was measured");
    for (_, costs) in cost.elections() {
        let (inside, total) = (costs.inside_ticks(), costs.total_ticks());
        assert!(inside >= 0.0 && total > 0.0 && total >= inside, "{cost:?}");
    }
    let trace = session.finish().expect("a trace");
    assert_eq!((trace.lost(), trace.record_cost), (0, Some(cost)), "{}", trace.diagnostics);
    let mut less = trace.clone();
    less.subtract_record_cost();
    // Of the warps of the first kernel, where stores take as long as the bus does.
    let of_bus = if backend.is_gpu() { BLOCKS * WARPS } else { 0 };
    assert_eq!(less.diagnostics.count(Kind::CostUnknown), u64::from(of_bus));
    for (warp, less) in trace.warps.iter().zip(&less.warps) {
        let ticks = |warp: &Warp| -> u64 {
            let lengths = warp
                .regions
                .iter()
                .map(|region| region.end.expect("all have ended").ticks - region.start.ticks);
            lengths.sum()
        };
        let is_known = !backend.is_gpu()
            || trace.site(trace.launches[warp.launch].kernel).buffer == Buffer::Global;
        assert_eq!(
            ticks(less) < ticks(warp),
            is_known,
            "{} and {} ticks",
            ticks(less),
            ticks(warp)
        );
    }
}

/// Of two regions that all lanes began, some lanes end one and some the other at the same moment.
fn lanes_end_either_region_at_one_place(choice: BackendChoice) {
    const ALL: u32 = u32::MAX;
    let (backend, _) = never_stopping(choice, PTX);
    let earlier = [ALL, 0, 0xffff, 0xaaaa_aaaa, 1, ALL >> 1];
    let input = backend.upload(&earlier).expect("memory");
    let mut session = session(&backend, builder().records_per_warp(8));
    // SAFETY: one number a warp.
    unsafe { launch!(session, kernels::ends_crosswise<<<BLOCKS, 32 * WARPS>>>(input.as_ptr())) }
        .expect("the launch");
    let trace = session.finish().expect("a trace");
    assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
    for warp in &trace.warps {
        let mask = earlier[(warp.block[0] * WARPS + warp.warp) as usize];
        assert_eq!(warp.regions.len(), 64, "{mask:#x}");
        for lane in 0..32 {
            let of_lane = warp.regions.iter().filter(|region| region.lane == lane);
            let mut ends: Vec<_> = of_lane
                .map(|region| (region.end.expect("it has ended").ticks, region.site))
                .collect();
            ends.sort_unstable();
            let names: Vec<&str> = ends.iter().map(|end| trace.site(end.1).name.as_str()).collect();
            let expected = match mask >> lane & 1 {
                1 => ["first", "second"],
                _ => ["second", "first"],
            };
            assert_eq!(names, expected, "lane {lane} of {mask:#x}");
        }
    }
}

/// All that shows a trace shows one with open regions.
fn exports(trace: &Trace) {
    let name = "wait for the host";
    let options = ExportOptions::default();
    let shows = |what: &str, write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut bytes = Vec::new();
        write(&mut bytes).expect("written to memory");
        let shown = bytes.windows(name.len()).any(|window| window == name.as_bytes());
        assert!(shown, "{what} lacks the open region");
    };
    shows("Perfetto", &|bytes| trace.write_perfetto_to(bytes, &options));
    shows("Chrome", &|bytes| trace.write_chrome_to(bytes, &options));
    shows("CSV", &|bytes| trace.write_events_csv_to(bytes));
    shows("JSON", &|bytes| trace.write_events_json_to(bytes));
    shows("Hatchet", &|bytes| trace.write_hatchet_to(bytes));
    shows("folded stacks", &|bytes| trace.write_folded_to(bytes, StackGroup::default()));
}

fn every_warp_is_in(trace: &Trace, name: &str) -> bool {
    let is_in =
        |warp| regions(trace, warp).iter().any(|region| (region.0, region.2) == (name, true));
    trace.warps.len() as u32 == BLOCKS * WARPS && (0..trace.warps.len()).all(is_in)
}

fn a_running_kernel_is_watched(choice: BackendChoice) {
    let (backend, stop) = never_stopping(choice, PTX);
    for keep in [Keep::First, Keep::Last] {
        let flag = Flag::new(choice);
        let mut session = session(&backend, builder().keep(keep).records_per_warp(16));
        let watch = session.watch().expect("the kernels can be watched");
        assert!(watch.snapshot().expect("a snapshot").warps.is_empty());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                flag.raise_after(|| {
                    let is_there = |trace: &Trace| every_warp_is_in(trace, "wait for the host");
                    let trace = wait_for(&watch, || stop.stop(), is_there);
                    assert_eq!(trace.diagnostics.count(Kind::KernelRunning), 1);
                    assert_eq!(trace.diagnostics.count(Kind::KernelFailed), 0);
                    for (index, warp) in trace.warps.iter().enumerate() {
                        // They may have begun in one step of the timer.
                        let mut found = regions(&trace, index);
                        found.sort_unstable();
                        let names = found.iter().map(|region| (region.0, region.2));
                        let expected = [("before", false), ("wait for the host", true)];
                        assert_eq!(names.collect::<Vec<_>>(), expected);
                        assert_eq!((warp.exit, warp.marks.len(), warp.recorded), (None, 1, 4));
                    }
                    exports(&trace);
                })
            });
            // SAFETY: the flag lives until the launch has ended.
            unsafe { launch!(session, kernels::waits<<<BLOCKS, 32 * WARPS>>>(flag.as_ptr())) }
        })
        .expect("the launch");
        let trace = session.finish().expect("a trace");
        assert_eq!((trace.recorded(), trace.lost()), (u64::from(7 * BLOCKS * WARPS), 0));
        assert!(!is_open(&trace), "{}", trace.diagnostics);
        // What was watched shows its end, too.
        let last = watch.snapshot().expect("a snapshot");
        assert_eq!(last.warps, trace.warps);
    }
}

fn a_ring_is_watched_while_it_turns(choice: BackendChoice) {
    let snapshots = quick_or_all(30, 100);
    let (backend, stop) = never_stopping(choice, PTX);
    for records in [1, 4, 32, 128] {
        let flag = Flag::new(choice);
        let mut session = session(&backend, builder().keep(Keep::Last).records_per_warp(records));
        let watch = session.watch().expect("the kernels can be watched");
        let mut seen = None;
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                flag.raise_after(|| {
                    let mut rounds = Vec::new();
                    for _ in 0..snapshots {
                        let trace =
                            wait_for(&watch, || stop.stop(), |trace| !trace.warps.is_empty());
                        rounds.push(check_turning(&trace));
                    }
                    rounds
                })
            });
            // SAFETY: the flag lives until the launch has ended.
            unsafe { launch!(session, kernels::goes_on<<<BLOCKS, 32 * WARPS>>>(flag.as_ptr())) }
                .expect("the launch");
            let rounds = watcher.join().expect("every snapshot is right");
            seen = rounds.into_iter().max();
        });
        let trace = session.finish().expect("a trace");
        assert_eq!(trace.warps.len() as u32, BLOCKS * WARPS);
        // The last records of a small ring are the ends, without a number.
        let last = check_turning(&trace);
        assert!(last > 0 || records < 32, "{trace:?}");
        assert!(last == 0 || Some(last) >= seen, "{last} and {seen:?}");
    }
}

/// Checks that what is there of each warp follows in time without a gap; gives the latest round seen.
fn check_turning(trace: &Trace) -> u64 {
    let mut latest = 0;
    for kind in [
        Kind::UnitInFlight,
        Kind::UnwrittenUnit,
        Kind::DamagedUnit,
        Kind::TimeNotMonotonic,
        Kind::DamagedHeader,
    ] {
        assert_eq!(trace.diagnostics.count(kind), 0, "{}", trace.diagnostics);
    }
    for warp in &trace.warps {
        let numbers: Vec<u64> = warp
            .marks
            .iter()
            .filter_map(|mark| mark.value.map(|value| value.as_f64() as u64))
            .collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
        latest = latest.max(numbers.last().copied().unwrap_or(0));
        let open = warp
            .regions
            .iter()
            .filter(|region| region.end.is_none() && trace.site(region.site).name == "round");
        assert!(open.count() <= 1, "one round at a time: {:?}", warp.regions);
    }
    latest
}

fn a_reset_is_seen_by_who_watches(choice: BackendChoice) {
    let (backend, _) = never_stopping(choice, PTX);
    let mut output = backend.zeroed::<u32>(THREADS as usize).expect("memory");
    let mut session = session(&backend, builder());
    let watch = session.watch().expect("the kernels can be watched");
    for _ in 0..2 {
        launch_of!(steps)(&mut session, output.as_mut_ptr()).expect("the launch");
        let trace = session.trace().expect("a trace");
        assert_eq!(watch.snapshot().expect("a snapshot").warps, trace.warps);
        session.reset().expect("reset");
        backend.synchronize().expect("the reset");
        assert!(watch.snapshot().expect("a snapshot").warps.is_empty());
    }
}

#[test]
fn a_kernel_that_is_stopped_leaves_its_open_regions() {
    let (backend, stop) = never_stopping(BackendChoice::Emulator, None);
    let flag = Flag::new(BackendChoice::Emulator);
    let mut session = session(&backend, builder());
    let watch = session.watch().expect("a view");
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for(&watch, || stop.stop(), |trace| every_warp_is_in(trace, "wait for the host"));
            stop.stop();
        });
        // SAFETY: the flag lives until the launch has ended.
        unsafe { launch!(session, kernels::waits<<<BLOCKS, 32 * WARPS>>>(flag.as_ptr())) }
    });
    assert!(matches!(ended, Err(Error::Emulator(LaunchError::Stopped))), "{ended:?}");
    let trace = session.finish().expect("a trace");
    assert!(every_warp_is_in(&trace, "wait for the host"));
    assert_eq!(trace.diagnostics.count(Kind::KernelFailed), 1);
    assert_eq!(trace.diagnostics.count(Kind::WarpNeverLeft), u64::from(BLOCKS * WARPS));
}
