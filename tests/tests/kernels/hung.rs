//! A kernel with `buffer = host` that hangs, and is stopped from outside: its process is killed. What was
//! saved of it by then, by a thread that watched, can be read.
#![cfg(unix)]

use crate::support::back_ends;
use crate::support::flag;
use crate::support::watching;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use back_ends::on_both_back_ends;
use flag::Flag;
use profiler_emulator::{Emulator, LaunchConfig};
use profiler_host::trace::{CaptureEnd, DiagnosticKind as Kind, decode};
use profiler_host::{Backend, BackendChoice, Capture, Profiler, Trace, launch};
use test_kernels::watched as kernels;
use watching::wait_for;

const PTX: Option<&str> = profiler_host::include_ptx!("watched");

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
    let name =
        format!("hung::{back_end}::a_kernel_that_hangs_is_killed_and_what_was_saved_is_readable");
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
        let before = warp.regions.iter().find(|region| trace.site(region.site).name == "before");
        assert!(before.is_some_and(|region| region.end.is_some()), "{:?}", warp.regions);
    }
    the_next_kernel_runs(choice);
}

/// In the process that is to be killed: a kernel that waits for what never comes, watched by a thread that
/// saves what it sees. It does not return.
fn hangs(choice: BackendChoice, folder: &Path) {
    let backend = back_end(choice);
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

/// The emulator's kernels may wait for ever.
fn back_end(choice: BackendChoice) -> Backend {
    match choice {
        BackendChoice::Emulator => {
            let mut template = LaunchConfig::new([1; 3], [1; 3]);
            template.yield_limit = u64::MAX;
            Backend::emulator(Emulator::default(), template)
        }
        choice => Backend::choose(choice, PTX).expect("the back end"),
    }
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
    let backend = back_end(choice);
    let profiler = Profiler::builder().max_warps(BLOCKS * WARPS).build().expect("the options");
    let mut output = backend.zeroed::<u32>((BLOCKS * WARPS * 32) as usize).expect("memory");
    let mut session = backend.session(&profiler).expect("a session");
    let pointer = output.as_mut_ptr();
    // SAFETY: one number a thread.
    unsafe { launch!(session, kernels::steps<<<BLOCKS, 32 * WARPS>>>(pointer, 1)) }
        .expect("the launch");
    let trace = session.finish().expect("a trace");
    let records = BLOCKS * WARPS * kernels::RECORDS_OF_A_ROUND;
    assert_eq!((trace.recorded(), trace.lost()), (u64::from(records), 0), "{}", trace.diagnostics);
}
