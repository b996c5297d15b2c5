//! Sessions on the emulator, from the launch to the trace.

use std::sync::Mutex;

use profiler_device::__private::{BufferChoice, Config, Recorder, SiteId, State};
use profiler_emulator::{Emulator, LaunchConfig};
use profiler_host::trace::HostSpanKind;
use profiler_host::{
    Backend, BackendChoice, Error, HostRecorder, Profiler, Session, Slots, Trace, launch,
    set_export, write_trace,
};
use profiler_wire::Strategy;
use profiler_wire::header::Clock;
use profiler_wire::site::Buffer;

/// Kernels as `#[profiled]` makes them, spelled out: this crate is below the macros.
mod kernels {
    use super::*;

    macro_rules! site {
        ($kind:ident, $name:literal) => {
            profiler_device::__site!(
                kind = $kind,
                name = $name,
                unit = "",
                strategy = profiler_wire::site::STRATEGY_OF_KERNEL,
                symbol = "",
                max_threads = 0,
                min_blocks = 0,
                max_registers = 0,
                names = []
            )
        };
    }

    fn config(strategy: Strategy) -> Config {
        let buffer = BufferChoice::new(Buffer::Global);
        Config { enabled: true, strategy, when: true, clock: Clock::Cycles, buffer, track: 0 }
    }

    fn linear_thread() -> u32 {
        let [block, ..] = profiler_emulator::block_index();
        let [width, ..] = profiler_emulator::block_dim();
        let [thread, ..] = profiler_emulator::thread_index();
        block * width + thread
    }

    /// # Safety
    ///
    /// It is the first thing that the kernel does, and `block` is what the state said of the block.
    unsafe fn enter(kernel: SiteId, config: Config, block: Option<u64>) -> State {
        match block {
            // SAFETY: the caller's.
            Some(block) => unsafe { State::enter_block(kernel, config, block) },
            None => State::silent(config),
        }
    }

    /// `repeats` regions in every warp, and one addition a thread.
    pub(crate) unsafe fn add_one(values: *mut u32, repeats: u32) {
        let (kernel, config) = (site!(Kernel, "add_one"), config(Strategy::Warp));
        // SAFETY: the first thing that the kernel does.
        let state = unsafe { enter(kernel, config, State::recorded_block(config)) };
        let recorder = Recorder::new(&state);
        for _ in 0..repeats {
            recorder.leader().region(site!(Region, "work"), 0, ()).end();
        }
        // SAFETY: the caller gives one element a thread.
        unsafe { *values.add(linear_thread() as usize) += 1 };
    }

    /// `repeats` regions in every thread.
    pub(crate) fn every_thread(repeats: u32) {
        let (kernel, config) = (site!(Kernel, "every_thread"), config(Strategy::Thread));
        // SAFETY: the first thing that the kernel does.
        let state = unsafe { enter(kernel, config, State::recorded_block(config)) };
        let recorder = Recorder::new(&state);
        for _ in 0..repeats {
            recorder.leader().region(site!(Region, "thread work"), 0, ()).end();
        }
    }
}

fn emulator() -> Backend {
    Backend::choose(BackendChoice::Emulator, None).expect("the emulator is always there")
}

/// Launches `add_one` on `blocks` blocks of two warps, with `repeats` regions a warp.
fn add_one(session: &mut Session<'_>, blocks: u32, repeats: u32) {
    let mut values = vec![0_u32; blocks as usize * 64];
    // SAFETY: one element a thread; the emulator has finished when the call returns.
    unsafe { launch!(session, kernels::add_one<<<blocks, 64>>>(values.as_mut_ptr(), repeats)) }
        .expect("the kernel runs");
    assert!(values.iter().all(|&value| value == 1));
}

fn regions(trace: &Trace, name: &str) -> usize {
    let of_name = |region: &&profiler_host::trace::Region| trace.site(region.site).name == name;
    trace.warps.iter().map(|warp| warp.regions.iter().filter(of_name).count()).sum()
}

fn lost(trace: &Trace) -> u64 {
    trace.warps.iter().map(|warp| warp.lost).sum()
}

#[test]
fn a_session_records_every_warp_of_every_launch() {
    for slots in [Slots::Auto, Slots::Linear, Slots::Claimed] {
        let backend = emulator();
        let profiler = Profiler::builder().slots(slots).max_warps(64).build().expect("options");
        let mut session = backend.session(&profiler).expect("a session");
        for _ in 0..3 {
            add_one(&mut session, 4, 5);
        }
        let trace = session.finish().expect("a trace");
        assert!(trace.device.emulated);
        assert_eq!(trace.launches.len(), 3, "{slots:?}");
        assert_eq!(trace.warps.len(), 3 * 4 * 2);
        assert_eq!(regions(&trace, "work"), 3 * 4 * 2 * 5);
        assert_eq!(lost(&trace), 0, "{}", trace.diagnostics);
    }
}

#[test]
fn capacity_is_inferred_from_a_first_run() {
    let backend = emulator();
    let run = |profiler: &Profiler| {
        let mut session = backend.session(profiler)?;
        add_one(&mut session, 3, 37);
        // SAFETY: the kernel touches no memory but the session's.
        unsafe { launch!(session, kernels::every_thread<<<2, 40>>>(9)) }?;
        session.capture()
    };
    let profiler = Profiler::builder().records_per_warp(2).build().expect("options");
    let profiler = profiler.infer_capacity(run).expect("a capacity");
    let capture = run(&profiler).expect("a capture");
    let trace = profiler_host::trace::decode(&capture);
    assert_eq!(lost(&trace), 0);
    assert_eq!(trace.recorded(), 3 * 2 * 37 + 2 * 40 * 9);
    let descriptor = capture.modules[0].descriptor;
    assert_eq!((descriptor.record_limit, descriptor.lane_limit), (37 * 16, 9 * 512));
    assert_eq!(descriptor.slot_count, 3 * 2 + 2 * 2);

    let nothing = profiler.infer_capacity(|profiler| backend.session(profiler)?.capture());
    let Err(Error::Capacity(reason)) = nothing else { panic!("nothing was recorded") };
    assert!(reason.starts_with("no warp recorded in the run"), "{reason}");
}

#[test]
fn lanes_without_buffers_are_counted() {
    let backend = emulator();
    let profiler = Profiler::builder().lane_buffers(false).build().expect("options");
    let mut session = backend.session(&profiler).expect("a session");
    // SAFETY: the kernel touches no memory but the session's.
    unsafe { launch!(session, kernels::every_thread<<<1, 40>>>(3)) }.expect("the kernel runs");
    let lost = session.capture().expect("a capture").modules[0].lost;
    assert_eq!((lost.warps, lost.units), (0, (31 + 7) * 3));
    let trace = session.finish().expect("a trace");
    assert_eq!((trace.recorded(), trace.lost()), (2 * 3, (31 + 7) * 3));
    assert_eq!(regions(&trace, "thread work"), 2 * 3);
}

#[test]
fn the_cost_of_a_record_is_measured_and_subtracted() {
    let backend = emulator();
    let profiler = Profiler::builder().subtract_record_cost(true).build().expect("options");
    let mut session = backend.session(&profiler).expect("a session");
    add_one(&mut session, 1, 4);
    let cost = session.record_cost().expect("it was measured");
    for costs in [cost.one_lane, cost.elected] {
        let (inside, total) = (costs.inside_ticks(), costs.total_ticks());
        assert!(total >= inside && inside > 0.0, "{cost:?}");
    }
    let trace = session.finish().expect("a trace");
    assert!(trace.cost_subtracted);
    assert_eq!(trace.record_cost, Some(cost));
}

#[test]
fn a_backend_launches_without_a_session_and_never_past_one() {
    let backend = emulator();
    let mut values = backend.zeroed::<u32>(64).expect("a buffer");
    // SAFETY: one element a thread.
    let run =
        |values: *mut u32| unsafe { launch!(backend, kernels::add_one<<<1, 64>>>(values, 3)) };
    run(values.as_mut_ptr()).expect("the kernel runs");
    let profiler = Profiler::builder().build().expect("options");
    let session = backend.session(&profiler).expect("a session");
    assert!(matches!(run(values.as_mut_ptr()), Err(Error::LaunchPastSession)));
    assert!(matches!(backend.session(&profiler), Err(Error::AlreadyAttached)));
    drop(session);
    let ((), _duration) = backend.time(|| run(values.as_mut_ptr())).expect("the kernel runs");
    assert_eq!(values.read().expect("readable"), [2; 64]);
}

#[test]
fn buffers_keep_what_is_written_and_say_what_does_not_fit() {
    let backend = emulator();
    let mut buffer = backend.upload(&[1.5_f32, -2.0]).expect("a buffer");
    assert_eq!(buffer.read().expect("readable"), [1.5, -2.0]);
    if cfg!(target_os = "linux") {
        assert_eq!(buffer.as_ptr().addr() % 4096, 4096 - 8, "it ends where a guard page begins");
    }
    let aligned = emulator().with_buffer_alignment(256);
    let aligned = aligned.zeroed::<u8>(1000).expect("a buffer").as_ptr();
    assert_eq!(aligned.addr() % 256, 0);
    buffer.write(&[3.0, 4.0]).expect("the same length");
    assert_eq!(buffer.read().expect("readable"), [3.0, 4.0]);
    let error = buffer.write(&[1.0]).expect_err("another length");
    assert!(error.to_string().contains("2 elements cannot take 1"), "{error}");
    let empty = backend.zeroed::<u64>(0).expect("an empty buffer");
    assert!(empty.is_empty() && empty.read().expect("readable").is_empty());
    assert!(matches!(backend.zeroed::<u64>(usize::MAX), Err(Error::BufferTooLarge(_))));
}

#[test]
fn memory_that_is_not_there_is_an_error_that_says_what_to_lower() {
    let backend = emulator();
    let builder = Profiler::builder().records_per_warp(1 << 25).max_warps(1 << 24);
    let error = backend.session(&builder.build().expect("options")).expect_err("9 petabytes");
    let text = error.to_string();
    assert!(text.contains("max_warps (16777216 slots here)"), "{text}");
    assert!(text.contains("records_per_warp") && text.contains("records_per_lane"), "{text}");
    let error = backend.zeroed::<u8>(usize::MAX / 2).expect_err("more than there is");
    assert!(error.to_string().contains("smaller buffers"), "{error}");
}

#[test]
fn a_kernel_that_panics_is_an_error() {
    mod failing {
        pub(crate) fn kernel() {
            panic!("out of luck");
        }
    }
    let backend = emulator();
    // SAFETY: the kernel touches no memory.
    let error = unsafe { launch!(backend, failing::kernel<<<1, 1>>>()) }.expect_err("it panics");
    assert!(error.to_string().contains("out of luck"), "{error}");
    // SAFETY: the kernel touches no memory.
    let error = unsafe { launch!(backend, failing::kernel<<<0, 1>>>()) }.expect_err("no block");
    assert!(error.to_string().contains("grid"), "{error}");
}

#[test]
fn shapes_take_expressions() {
    let emulator = Backend::emulator(Emulator::new(2), LaunchConfig::new([1; 3], [1; 3]));
    let profiler = Profiler::builder().build().expect("options");
    let mut session = emulator.session(&profiler).expect("a session");
    let (grid, shared) = ((2_u32, 3), 128);
    // SAFETY: the kernel touches no memory but the session's.
    unsafe {
        launch!(session, kernels::every_thread<<<grid, (4, 2, 1 + 1), shared * 2>>>(1))
            .expect("the kernel runs");
        launch!(session, self::kernels::every_thread<<<[1, 1, 2], 8_u32 / 2>>>(1,))
            .expect("the kernel runs");
    }
    let trace = session.finish().expect("a trace");
    assert_eq!(trace.launches[0].grid_dim, [2, 3, 1]);
    assert_eq!(trace.launches[0].block_dim, [4, 2, 2]);
    assert_eq!(trace.launches[1].grid_dim, [1, 1, 2]);
    assert_eq!(trace.launches[1].block_dim, [4, 1, 1]);
}

/// Tests that depend on the switch of the whole process take turns.
static SWITCH: Mutex<()> = Mutex::new(());

#[test]
fn a_session_exports_when_it_is_dropped_or_finished() {
    let _turn = SWITCH.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder");
    let backend = emulator();
    let profiler = Profiler::builder().build().expect("options");
    let endings = ["pftrace", "json", "capture"];
    for (name, ending) in
        ["dropped", "finished"].map(|name| endings.map(|ending| (name, ending))).concat()
    {
        let path = folder.path().join(format!("{name}.{ending}"));
        let mut session = backend.session(&profiler).expect("a session");
        session.export_on_drop(&path).expect("a known format");
        add_one(&mut session, 1, 2);
        assert!(!path.exists());
        let trace = if name == "finished" {
            session.finish().expect("a trace")
        } else {
            let trace = session.trace().expect("a trace");
            drop(session);
            trace
        };
        assert!(std::fs::metadata(&path).expect("it was written").len() > 0, "{name}.{ending}");
        if ending == "capture" {
            let capture = profiler_host::Capture::read(&path).expect("a capture");
            assert_eq!(profiler_host::trace::decode(&capture), trace);
            let error = write_trace(&trace, &path).expect_err("a trace is no capture");
            assert!(error.to_string().contains("Capture::write"), "{error}");
        }
    }
    let mut session = backend.session(&profiler).expect("a session");
    let error = session.export_on_drop("").expect_err("no path");
    assert!(error.to_string().starts_with("an empty path does not say"), "{error}");
    let error = session.export_on_drop("trace.xml").expect_err("an unknown format");
    assert!(error.to_string().contains(".pftrace"), "{error}");
}

#[test]
fn exports_can_be_switched_off_for_all_and_for_one() {
    let _turn = SWITCH.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder");
    let backend = emulator();
    let path = folder.path().join("trace.json");
    let profiler = Profiler::builder().build().expect("options");
    let exported = |change: fn(&mut Session<'_>)| {
        let mut session = backend.session(&profiler).expect("a session");
        session.export_on_drop(&path).expect("a known format");
        add_one(&mut session, 1, 1);
        change(&mut session);
        drop(session);
        let exported = path.exists();
        if exported {
            std::fs::remove_file(&path).expect("it was just written");
        }
        exported
    };
    assert!(exported(|_| ()));
    assert!(!exported(|session| session.set_export(false)));
    set_export(false);
    assert!(!exported(|_| ()));
    set_export(true);
    assert!(exported(|_| ()));
}

#[test]
fn what_the_host_does_lies_on_the_axis_of_the_kernels() {
    let host = HostRecorder::new();
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("the emulator");
    let mut values =
        host.in_span("upload", || backend.upload(&[0_u32; 64])).expect("memory for 64 numbers");
    let profiler = Profiler::builder().host(&host).build().expect("options");
    let mut session = backend.session(&profiler).expect("a session");
    for _ in 0..2 {
        let _step = host.span("step");
        // SAFETY: one element a thread.
        unsafe { launch!(session, kernels::add_one<<<2, 32>>>(values.as_mut_ptr(), 3)) }
            .expect("the launch");
    }
    host.in_span("read", || values.read()).expect("the values");
    let capture = session.capture().expect("a capture");
    let trace = session.decode(&capture);
    assert_eq!((trace.host.threads.len(), trace.host.uncertainty_ns), (1, 0.0));
    let spans = &trace.host.threads[0].spans;
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["upload", "step", "add_one", "step", "add_one", "read"]);
    for (call, launch) in [(2, 0), (4, 1)] {
        let (call, step) = (&spans[call], &spans[call - 1]);
        assert_eq!(call.kind, HostSpanKind::Launch(Some(launch)));
        let launch = &trace.launches[launch];
        // A launch on the emulator returns when the kernel has run.
        assert!(step.start_ns <= call.start_ns && call.start_ns <= launch.start_ns, "{call:?}");
        assert!(launch.end_ns <= call.end_ns && call.end_ns <= step.end_ns, "{call:?}");
    }
    assert!(spans[0].end_ns <= trace.launches[0].start_ns);
    assert!(spans[5].start_ns >= trace.launches[1].end_ns);
    // Of a session that begins anew, the launches are forgotten; the program's spans are its own.
    session.reset().expect("memory");
    let trace = session.trace().expect("a trace");
    assert!(trace.host.spans().all(|span| span.kind == HostSpanKind::Span));
    assert_eq!(trace.host.spans().count(), 4);
    host.clear();
    assert!(session.trace().expect("a trace").host.is_empty());
}

/// The emulator runs the kernel's twin, of which nothing was compiled for an SM.
#[test]
fn what_a_kernel_takes_of_an_sm_is_asked_of_a_gpu() {
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("the emulator");
    let error = backend.resources("add_one", 32, 0).expect_err("it has no registers");
    assert!(matches!(error, Error::NoResources), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("BackendChoice::Gpu") && text.contains("backend.is_gpu()"), "{text}");
}

/// What was recorded is not lost with the folder that it was to go to.
#[test]
fn an_export_that_fails_gives_the_records_back() {
    let backend = emulator();
    let profiler = Profiler::builder().max_warps(8).build().expect("options");
    for name in ["work.capture", "work.pftrace", "work.json"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut session = backend.session(&profiler).expect("a session");
        let nowhere = folder.path().join("none").join(name);
        let error = session.export_on_drop(&nowhere).expect_err("there is no such folder");
        assert!(matches!(&error, Error::Export { path, .. } if *path == nowhere), "{error:?}");
        assert!(error.salvaged().is_none());
        session.export_on_drop(folder.path().join(name)).expect("there is one");
        add_one(&mut session, 4, 1);
        folder.close().expect("it is empty");
        let error = session.finish().expect_err("the folder is gone");
        let text = error.to_string();
        assert!(text.contains("Error::salvaged has it"), "{text}");
        assert_eq!(format!("{error:?}"), text, "a `main` that returns it prints this");
        let trace = profiler_host::trace::decode(error.salvaged().expect("all of it"));
        assert_eq!((trace.warps.len(), regions(&trace, "work")), (8, 8), "{name}");
    }
}

#[test]
fn a_launch_that_is_refused_takes_no_slots_and_is_no_call() {
    let host = HostRecorder::new();
    let backend = emulator();
    let builder = Profiler::builder().slots(Slots::Linear).max_warps(8).host(&host);
    let profiler = builder.build().expect("options");
    let mut session = backend.session(&profiler).expect("a session");
    add_one(&mut session, 2, 1);
    for threads in [(2048, 1, 1), (1 << 22, 1 << 22, 1 << 22)] {
        // SAFETY: no thread of it runs.
        unsafe { launch!(session, kernels::add_one<<<4, threads>>>(std::ptr::null_mut(), 1)) }
            .expect_err("no block is that large");
    }
    add_one(&mut session, 2, 1);
    let trace = session.finish().expect("a trace");
    assert_eq!((trace.launches.len(), trace.warps.len(), lost(&trace)), (2, 8, 0));
    let calls: Vec<_> = trace.host.spans().map(|span| (span.name.as_str(), span.kind)).collect();
    let expected = [0, 1].map(|launch| ("add_one", HostSpanKind::Launch(Some(launch))));
    assert_eq!(calls, expected);
}

#[test]
fn a_view_of_a_session_has_what_the_host_does() {
    let host = HostRecorder::new();
    let backend = emulator();
    let profiler = Profiler::builder().max_warps(8).host(&host).build().expect("options");
    let mut session = backend.session(&profiler).expect("a session");
    host.in_span("before", || ());
    let watch = session.watch().expect("a view");
    let capture = watch.capture().expect("a capture");
    assert_eq!(capture.host.spans.len(), 1);
    // A file must have a reading of both clocks.
    let mut file = Vec::new();
    capture.write_to(&mut file).expect("memory takes everything");
    let read = profiler_host::Capture::read_from(file.as_slice()).expect("a whole file");
    assert_eq!(read.host, capture.host);
    add_one(&mut session, 2, 1);
    let seen = watch.snapshot().expect("a snapshot").host;
    let kinds: Vec<_> = seen.spans().map(|span| (span.name.as_str(), span.kind)).collect();
    let launch = HostSpanKind::Launch(Some(0));
    assert_eq!(kinds, [("before", HostSpanKind::Span), ("add_one", launch)]);
    assert_eq!(session.finish().expect("a trace").host, seen);
}

#[test]
fn a_selection_that_takes_nothing_says_so() {
    let backend = emulator();
    let selections = [
        (Profiler::builder().blocks(10..), 1),
        (Profiler::builder().warps(8..), 1),
        (Profiler::builder().blocks(..2), 0),
        (Profiler::builder(), 0),
    ];
    for (builder, said) in selections {
        let profiler = builder.max_warps(8).build().expect("options");
        let mut session = backend.session(&profiler).expect("a session");
        add_one(&mut session, 4, 1);
        let trace = session.finish().expect("a trace");
        assert_eq!(trace.warps.is_empty(), said == 1);
        let kind = profiler_host::trace::DiagnosticKind::NothingSelected;
        assert_eq!(trace.diagnostics.count(kind), said, "{}", trace.diagnostics);
    }
}
