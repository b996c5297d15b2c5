//! Kernels with `buffer = host` that fail, hang or trap, and what is left of them. On a GPU such a kernel takes the
//! process's context with it: `run.sh` of the bundle runs each of these modules in a process of its own.

use profiler_host::trace::{CaptureEnd, DiagnosticKind as Kind, decode};
use profiler_host::{Backend, BackendChoice, Capture, Error, Profiler, Session, Trace};

const PTX: Option<&str> = profiler_host::include_ptx!("watched");

/// Launches in a session, with a number that stays 0, and checks that the failure is told where it belongs.
fn run(
    choice: BackendChoice,
    launch: impl FnOnce(&mut Session<'_>, *const u32) -> Result<(), Error>,
) -> Trace {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("failed.capture");
    let backend = Backend::choose(choice, PTX).expect("the back end");
    let never = backend.zeroed::<u32>(1).expect("memory");
    let profiler = Profiler::builder().max_warps(64).build().expect("the options");
    let mut session = backend.session(&profiler).expect("a session");
    let watch = session.watch().expect("the kernels can be watched");
    session.export_on_drop(&path).expect("a format");
    let launched = launch(&mut session, never.as_ptr());
    let trace = match choice {
        BackendChoice::Gpu => {
            launched.expect("a launch does not wait");
            let error = session.finish().expect_err("the kernel failed");
            let Error::KernelFailed { code, .. } = &error else { panic!("{error}") };
            assert_ne!(*code, 0);
            assert!(error.to_string().contains("Error::salvaged"), "{error}");
            let capture = error.salvaged().expect("records in the memory of the host");
            assert_eq!(capture.end, CaptureEnd::Failed { code: *code });
            decode(capture)
        }
        _ => {
            let error = launched.expect_err("the kernel failed");
            assert!(matches!(error, Error::Emulator(_)), "{error}");
            session.finish().expect("a trace")
        }
    };
    assert_eq!(trace.diagnostics.count(Kind::KernelFailed), 1, "{}", trace.diagnostics);
    assert!(trace.diagnostics.count(Kind::OpenRegion) > 0, "{}", trace.diagnostics);
    // The export, and whoever watched, show the same.
    let capture = Capture::read(&path).expect("the capture was written");
    assert_eq!(decode(&capture).warps, trace.warps);
    assert_eq!(watch.snapshot().expect("a snapshot").warps, trace.warps);
    trace
}

/// What a kernel leaves that fails in its middle.
mod failed {
    use profiler_host::{BackendChoice, Trace, launch};
    use test_kernels::watched as kernels;

    const BLOCKS: u32 = 2;
    const WARPS: u32 = 2;
    const ROUNDS: u32 = 3;

    /// The names of the regions of a warp, and whether they are open.
    fn regions(trace: &Trace, block: u32, warp: u32) -> Vec<(&str, bool)> {
        let of = trace.warps.iter().find(|of| (of.block[0], of.warp) == (block, warp));
        let regions = of.map_or(&[][..], |warp| &warp.regions);
        regions
            .iter()
            .map(|region| (trace.site(region.site).name.as_str(), region.end.is_none()))
            .collect()
    }

    fn check(choice: BackendChoice) {
        let trace = super::run(choice, |session, never| {
            // SAFETY: the number lives until the session has ended.
            unsafe { launch!(session, kernels::fails<<<BLOCKS, 32 * WARPS>>>(never, ROUNDS, 1, 1)) }
        });
        let mut expected =
            vec![("all rounds", true), ("round", true), ("the one that fails", true)];
        expected.extend([("round", false); ROUNDS as usize]);
        expected.sort_unstable();
        // Several may have begun in one step of the timer.
        let mut found = regions(&trace, 1, 1);
        found.sort_unstable();
        assert_eq!(found, expected, "{}", trace.diagnostics);
        for (block, warp) in [(0, 0), (0, 1), (1, 0)] {
            // How far the others came is not known, on a GPU not even whether they began.
            let found = regions(&trace, block, warp);
            let closed = found.iter().filter(|region| !region.1).count() as u32;
            assert!(closed <= ROUNDS, "{found:?}");
            assert!(found.is_empty() || found.contains(&("all rounds", true)), "{found:?}");
        }
    }

    #[test]
    fn the_emulator_keeps_what_a_kernel_recorded_before_it_failed() {
        check(BackendChoice::Emulator);
    }

    #[test]
    #[ignore = "needs an NVIDIA GPU"]
    fn the_gpu_keeps_what_a_kernel_recorded_before_it_failed() {
        check(BackendChoice::Gpu);
    }
}

/// What is left where a replay of a CUDA graph fails, in a session of several modules: the replays
/// before it, the other module with `buffer = host`, of the one without its sites alone, and what the
/// host did.
mod failed_replay {
    use std::collections::BTreeSet;

    use profiler_host::trace::{CaptureEnd, DiagnosticKind as Kind, HostSpanKind, decode};
    use profiler_host::{BackendChoice, Capture, Error, HostRecorder, launch};

    use crate::support::graph::Graph;
    use crate::support::modules::State::Left;
    use crate::support::modules::{self, Gpu, WARPS, builder, launches};
    use crate::support::{never_stopping, watching::Flag};

    #[test]
    #[ignore = "needs an NVIDIA GPU"]
    fn the_gpu_keeps_what_a_graph_recorded_before_a_replay_failed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("failed.capture");
        let gpu = Gpu::new();
        let ([first, second], stream) = (&gpu.watched, &gpu.stream);
        let flag = Flag::new(BackendChoice::Gpu);
        let host = HostRecorder::new();
        let options = builder().records_per_warp(32).max_warps(6 * WARPS).host(&host);
        let mut session = gpu.attach(options);
        session.export_on_drop(&path).expect("a format");
        let watch = session.watch().expect("the kernels can be watched");
        let graph = Graph::of(stream, || {
            gpu.steps(first, stream);
            gpu.gives_up(first, stream, &flag);
        });
        gpu.by_warp(stream);
        gpu.steps(second, stream);
        flag.raise();
        for _ in 0..2 {
            graph.launch(stream);
        }
        stream.synchronize().expect("two replays end");
        flag.lower();
        graph.launch(stream);
        host.in_span("wait", || stream.synchronize()).expect_err("the third one fails");

        // Whatever the session is asked for next, it says so, and has the records.
        let error = session.reset().expect_err("the kernel failed");
        assert!(error.salvaged().is_some(), "{error}");
        let error = session.finish().expect_err("the kernel failed");
        let Error::KernelFailed { code, .. } = &error else { panic!("{error}") };
        let said = error.to_string();
        assert!(said.contains("Error::salvaged has them (of 1 module, "), "{said}");
        let capture = error.salvaged().expect("records in the memory of the host");
        assert_eq!(capture.end, CaptureEnd::Failed { code: *code });
        // The first module's records were in device memory.
        let there: Vec<bool> = capture.modules.iter().map(|it| !it.headers.is_empty()).collect();
        assert_eq!(there, [false, true, true]);
        assert!(capture.modules.iter().all(|module| !module.sites.is_empty()));
        let trace = decode(capture);
        let spans: Vec<&str> = trace.host.spans().map(|span| span.name.as_str()).collect();
        assert_eq!(spans, ["wait"]);
        assert_eq!(trace.diagnostics.count(Kind::RecordsGone), 1, "{}", trace.diagnostics);
        let mut found = launches(&trace);
        // How far the other warps came when the first gave up is not known.
        found.retain(|launch| launch.2 == Left || launch.1 != 2);
        assert_eq!(trace.launches.len() - found.len(), 1, "{}", trace.diagnostics);
        let open: BTreeSet<&str> = (trace.warps.iter().flat_map(|warp| &warp.regions))
            .filter(|region| region.end.is_none())
            .map(|region| trace.site(region.site).name.as_str())
            .collect();
        assert_eq!(open, BTreeSet::from(["wait with a limit"]), "{}", trace.diagnostics);
        // Those of the graph, and that of the other module.
        let steps = [0, 0, 1, 2].map(|replay| ("steps", replay, Left));
        let ended = [("gives_up", 0, Left), ("gives_up", 1, Left)];
        assert_eq!(found, [&ended[..], &steps].concat(), "{}", trace.diagnostics);
        assert_eq!(trace.diagnostics.count(Kind::KernelFailed), 1, "{}", trace.diagnostics);
        // The export, and whoever watched, show the same.
        let exported = Capture::read(&path).expect("the capture was written");
        assert_eq!(decode(&exported).warps, trace.warps);
        assert_eq!(decode(&exported).host, trace.host);
        let seen = watch.snapshot().expect("a snapshot");
        assert_eq!((seen.warps, seen.host), (trace.warps, trace.host));
    }

    /// On the emulator a session has the kernels of all crates, and goes on after a failure.
    #[test]
    fn the_emulator_keeps_the_launches_before_one_that_fails() {
        let (backend, _) = never_stopping(BackendChoice::Emulator, None);
        let mut output = backend.zeroed::<u32>((32 * WARPS) as usize).expect("memory");
        let flag = Flag::new(BackendChoice::Emulator);
        flag.raise();
        let host = HostRecorder::new();
        let profiler = builder().max_warps(4 * WARPS).host(&host).build().expect("the options");
        let mut session = backend.session(&profiler).expect("a session");
        let pointer = output.as_mut_ptr();
        let (blocks, threads) = (modules::BLOCKS, modules::THREADS);
        // SAFETY: one number a thread.
        unsafe {
            launch!(session, test_kernels::strategies::by_warp<<<blocks, threads>>>(pointer, 3))
        }
        .expect("the launch");
        // SAFETY: one number a thread.
        unsafe { launch!(session, test_kernels::watched::steps<<<blocks, threads>>>(pointer, 3)) }
            .expect("the launch");
        for is_raised in [true, false] {
            if !is_raised {
                flag.lower();
            }
            // SAFETY: the flag lives until the launch has ended.
            let launched = unsafe {
                launch!(
                    session,
                    test_kernels::watched::gives_up<<<blocks, threads>>>(flag.as_ptr(), 100_000)
                )
            };
            assert_eq!(launched.is_ok(), is_raised, "{launched:?}");
        }
        let trace = session.finish().expect("a trace");
        let mut found = launches(&trace);
        assert_eq!(found.len(), 4, "{found:?}");
        found.retain(|launch| launch.2 == Left);
        let expected = [("by_warp", 0, Left), ("gives_up", 0, Left), ("steps", 0, Left)];
        assert_eq!(found, expected, "{}", trace.diagnostics);
        let open = trace.warps.iter().flat_map(|warp| &warp.regions);
        assert!(open.filter(|region| region.end.is_none()).count() > 0, "{}", trace.diagnostics);
        assert_eq!(trace.diagnostics.count(Kind::KernelFailed), 1, "{}", trace.diagnostics);
        // What failed had been launched.
        let calls: Vec<_> = trace.host.spans().map(|span| span.kind).collect();
        assert_eq!(calls, [0, 1, 2, 3].map(|launch| HostSpanKind::Launch(Some(launch))));
    }
}

/// A kernel that hangs, and is stopped from outside: its process is killed. What was saved of it by then,
/// by a thread that watched, can be read.
#[cfg(unix)]
mod hung {
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use profiler_host::trace::{CaptureEnd, DiagnosticKind as Kind, decode};
    use profiler_host::{BackendChoice, Capture, Profiler, Trace, launch};
    use test_kernels::watched as kernels;

    use super::PTX;
    use crate::support::watching::{self, Flag, wait_for};
    use crate::support::{never_stopping, on_both_back_ends};

    const BLOCKS: u32 = 2;
    const WARPS: u32 = 3;
    /// The variable that tells the process that hangs where it saves.
    const FOLDER: &str = "PROFILER_TEST_HANGS_AND_SAVES_IN";
    /// In that folder, when it is whole.
    const SAVED: &str = "hung.capture";
    const SIGKILL: i32 = 9;

    on_both_back_ends! {
        a_kernel_that_hangs_is_killed_and_what_was_saved_is_readable
    }

    fn a_kernel_that_hangs_is_killed_and_what_was_saved_is_readable(choice: BackendChoice) {
        if let Some(folder) = std::env::var_os(FOLDER) {
            return hangs(choice, Path::new(&folder));
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let back_end = if choice == BackendChoice::Gpu { "gpu" } else { "emulator" };
        let name = format!(
            "failures::hung::{back_end}::a_kernel_that_hangs_is_killed_and_what_was_saved_is_readable"
        );
        let mut process = Command::new(std::env::current_exe().expect("this program"))
            .args([name.as_str(), "--exact", "--include-ignored", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdin(Stdio::null())
            .spawn()
            .expect("the program starts");
        let saved = folder.path().join(SAVED);
        wait_for_file(&mut process, &saved);
        process.kill().expect("it runs");
        let status = process.wait().expect("it was started");
        assert_eq!(status.signal(), Some(SIGKILL), "it hung until it was killed");

        let capture = Capture::read(&saved).expect("a capture");
        assert_eq!(capture.end, CaptureEnd::Running);
        let trace = decode(&capture);
        assert_eq!(trace.diagnostics.count(Kind::KernelRunning), 1, "{}", trace.diagnostics);
        assert!(every_warp_waits(&trace), "{:?}", trace.warps);
        for warp in &trace.warps {
            assert_eq!((warp.exit, warp.marks.len()), (None, 1));
            let before =
                warp.regions.iter().find(|region| trace.site(region.site).name == "before");
            assert!(before.is_some_and(|region| region.end.is_some()), "{:?}", warp.regions);
        }
        the_next_kernel_runs(choice);
    }

    /// In the process that is to be killed: a kernel that waits for what never comes, watched by a thread that
    /// saves what it sees. It does not return.
    fn hangs(choice: BackendChoice, folder: &Path) {
        let (backend, _) = never_stopping(choice, PTX);
        let never = Flag::new(choice);
        let profiler = Profiler::builder().max_warps(BLOCKS * WARPS).build().expect("the options");
        let mut session = backend.session(&profiler).expect("a session");
        let watch = session.watch().expect("the kernels can be watched");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                wait_for(&watch, || std::process::abort(), every_warp_waits);
                // Whoever sees the file under its name sees all of it.
                let part = folder.join("hung.part");
                watch.capture().expect("what is there").write(&part).expect("written");
                std::fs::rename(part, folder.join(SAVED)).expect("renamed");
            });
            // SAFETY: the number lives as long as the process.
            unsafe { launch!(session, kernels::waits<<<BLOCKS, 32 * WARPS>>>(never.as_ptr())) }
                .expect("on a GPU, the launch");
            session.finish().expect("nothing that ever comes");
        });
    }

    fn every_warp_waits(trace: &Trace) -> bool {
        let waits = |warp: &profiler_host::trace::Warp| {
            let mut regions = warp.regions.iter();
            regions.any(|region| {
                trace.site(region.site).name == "wait for the host" && region.end.is_none()
            })
        };
        trace.warps.len() as u32 == BLOCKS * WARPS && trace.warps.iter().all(waits)
    }

    /// Waits for what the process saves; kills it where nothing comes.
    fn wait_for_file(process: &mut Child, file: &Path) {
        let begin = Instant::now();
        while !file.exists() {
            if let Some(status) = process.try_wait().expect("its status") {
                panic!("it ended before it had saved anything: {status}");
            }
            if begin.elapsed() > watching::LIMIT {
                process.kill().expect("it runs");
                panic!("it saved nothing in {:?}", watching::LIMIT);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What was killed has left the GPU to others.
    fn the_next_kernel_runs(choice: BackendChoice) {
        let (backend, _) = never_stopping(choice, PTX);
        let profiler = Profiler::builder().max_warps(BLOCKS * WARPS).build().expect("the options");
        let mut output = backend.zeroed::<u32>((BLOCKS * WARPS * 32) as usize).expect("memory");
        let mut session = backend.session(&profiler).expect("a session");
        let pointer = output.as_mut_ptr();
        // SAFETY: one number a thread.
        unsafe { launch!(session, kernels::steps<<<BLOCKS, 32 * WARPS>>>(pointer, 1)) }
            .expect("the launch");
        let trace = session.finish().expect("a trace");
        let records = BLOCKS * WARPS * kernels::RECORDS_OF_A_ROUND;
        assert_eq!(
            (trace.recorded(), trace.lost()),
            (u64::from(records), 0),
            "{}",
            trace.diagnostics
        );
    }
}

/// What a kernel leaves that waits in vain and gives up.
mod timed_out {
    use profiler_host::{BackendChoice, launch};
    use test_kernels::watched as kernels;

    /// How long the kernel waits.
    const LIMIT_NS: u32 = 100_000;

    fn check(choice: BackendChoice) {
        let trace = super::run(choice, |session, never| {
            // SAFETY: the number lives until the session has ended.
            unsafe { launch!(session, kernels::gives_up<<<1, 32>>>(never, LIMIT_NS)) }
        });
        let [warp] = trace.warps.as_slice() else { panic!("one warp: {:?}", trace.warps) };
        let [region] = warp.regions.as_slice() else { panic!("one region: {:?}", warp.regions) };
        assert_eq!(trace.site(region.site).name, "wait with a limit");
        assert_eq!((region.end, warp.exit), (None, None));
    }

    #[test]
    fn the_emulator_shows_where_a_kernel_waited_in_vain() {
        check(BackendChoice::Emulator);
    }

    #[test]
    #[ignore = "needs an NVIDIA GPU"]
    fn the_gpu_shows_where_a_kernel_waited_in_vain() {
        check(BackendChoice::Gpu);
    }
}

/// A kernel that traps.
mod trap {
    use profiler_emulator::{Emulator, LaunchConfig};
    use profiler_host::{Backend, BackendChoice, launch};
    use test_kernels::intrinsics as kernels;

    use crate::support::on_both_back_ends;

    const PTX: Option<&str> = profiler_host::include_ptx!("intrinsics");

    on_both_back_ends! {
        a_wait_in_vain_ends_the_kernel
    }

    fn a_wait_in_vain_ends_the_kernel(choice: BackendChoice) {
        let backend = match choice {
            BackendChoice::Emulator => {
                // The emulator sees that nobody gets on.
                let template =
                    LaunchConfig { yield_limit: 1000, ..LaunchConfig::new([1; 3], [1; 3]) };
                Backend::emulator(Emulator::new(1), template)
            }
            choice => Backend::choose(choice, PTX).expect("the back end"),
        };
        let mut output = backend.zeroed::<u32>(1).expect("memory");
        // SAFETY: room for one number.
        let launched =
            unsafe { launch!(backend, kernels::waits_in_vain<<<1, 1>>>(output.as_mut_ptr())) };
        if choice == BackendChoice::Emulator {
            let error = launched.expect_err("it waits for nothing");
            assert!(error.to_string().contains("livelock"), "{error}");
            // After the wait it would write.
            assert_eq!(output.read().expect("memory of the host outlives its kernels"), [0]);
        } else {
            // A launch that the driver takes does not wait for its kernel.
            launched.expect("the launch");
            let error = backend.synchronize().expect_err("it waits for nothing");
            // What the driver says of `trap` (CUDA's errors 715 and 719).
            let text = error.to_string();
            let is_trap = text.contains("CUDA_ERROR_LAUNCH_FAILED")
                || text.contains("CUDA_ERROR_ILLEGAL_INSTRUCTION");
            assert!(is_trap, "{text}");
        }
    }
}
