//! A region around a barrier that lanes of a warp may reach apart from each other lasts until the
//! last thread of the block has come: `profiler-build` puts a completion after it.

use crate::support;

use crate::support::on_both_back_ends;

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use profiler_host::{Backend, BackendChoice, Profiler, Trace, launch};
use profiler_trace::Warp;
use support::{count, entry, ptx_test};
use test_kernels::barriers as kernels;

const PTX: Option<&str> = profiler_host::include_ptx!("barriers");

pub(crate) const WARPS: u32 = 8;
pub(crate) const THREADS: u32 = 32 * WARPS;
/// Cycles between the arrivals of two warps.
pub(crate) const DELAY: u32 = 20_000;
/// Cycles that warps and halves of a warp may be apart for other reasons: when they start, and in
/// which order a warp's halves run.
pub(crate) const TOLERANCE: u64 = 3_000;

on_both_back_ends! {
    whole_warps_wait_for_the_last
    halves_of_warps_wait_for_the_last
}

/// A GPU on which a barrier is never complete would hold up the tests for ever.
const GUARD: Duration = Duration::from_secs(60);

/// Runs a check that may hang.
fn guarded(check: impl FnOnce() + Send + 'static) {
    let (done, finished) = channel();
    let checking = thread::spawn(move || {
        check();
        // The guard may have given up.
        let _ = done.send(());
    });
    if finished.recv_timeout(GUARD) == Err(RecvTimeoutError::Timeout) {
        panic!("the kernel does not come to its end: its barriers hang");
    }
    if let Err(panic) = checking.join() {
        resume_unwind(panic);
    }
}

macro_rules! recorded {
    ($choice:expr, $kernel:ident, $result:expr) => {{
        let backend = Backend::choose($choice, PTX).expect("the back end");
        let mut output = backend.zeroed::<u32>(THREADS as usize).expect("memory");
        let profiler = Profiler::builder().build().expect("the options");
        let mut session = backend.session(&profiler).expect("a session");
        // SAFETY: one number a thread.
        unsafe { launch!(session, kernels::$kernel<<<1, THREADS>>>(output.as_mut_ptr(), DELAY)) }
            .expect("launch");
        let trace: Trace = session.finish().expect("a trace");
        for (thread, result) in output.read().expect("the results").into_iter().enumerate() {
            assert_eq!(result, $result(thread as u32), "thread {thread}");
        }
        assert_eq!(trace.lost(), 0, "{:?}", trace.diagnostics);
        assert_eq!(trace.warps.len(), WARPS as usize);
        trace
    }};
}

/// The lengths in cycles of a warp's regions of this name.
fn cycles(trace: &Trace, warp: &Warp, name: &str) -> Vec<u64> {
    let named = warp.regions.iter().filter(|region| trace.site(region.site).name == name);
    named.map(|region| region.end.expect("closed").ticks - region.start.ticks).collect()
}

fn is_as_long_as_the_wait(warp: &Warp, name: &str, waited: u64) {
    let expected = u64::from(DELAY) * u64::from(WARPS - 1 - warp.warp);
    assert!(
        waited.abs_diff(expected) < TOLERANCE,
        "{name} of warp {} took {waited} cycles, not {expected}",
        warp.warp
    );
}

fn whole_warps_wait_for_the_last(choice: BackendChoice) {
    guarded(move || {
        let trace = recorded!(choice, whole_warps, |_| DELAY);
        for warp in &trace.warps {
            let [waited] = cycles(&trace, warp, "barrier")[..] else { panic!("one region a warp") };
            is_as_long_as_the_wait(warp, "barrier", waited);
            let [after] = cycles(&trace, warp, "after the barrier")[..] else {
                panic!("one region a warp")
            };
            assert!(after < TOLERANCE, "the wait fell after the region: {after} cycles");
        }
    });
}

fn halves_of_warps_wait_for_the_last(choice: BackendChoice) {
    guarded(move || {
        let trace = recorded!(choice, halves_of_warps, |thread| DELAY + thread % 32 / 16);
        for warp in &trace.warps {
            for name in ["low half", "high half"] {
                // Hardware may split a half further; each part waits as long.
                let parts = cycles(&trace, warp, name);
                assert!(!parts.is_empty(), "{name} of warp {}", warp.warp);
                for waited in parts {
                    is_as_long_as_the_wait(warp, name, waited);
                }
            }
        }
    });
}

ptx_test! {
    fn the_completion_waits_for_the_lanes_that_are_there() {
        let ptx = PTX.expect("compiled");
        for (kernel, barriers) in [("whole_warps", 2), ("halves_of_warps", 4)] {
            let lines = entry(ptx, kernel);
            // In each of the two copies of the body.
            assert_eq!(count(&lines, &["barrier.sync"]), barriers, "{kernel}");
            for line in lines.iter().filter(|line| line.contains("barrier.sync")) {
                let (_, after) = line.split_once("barrier.sync 0;").expect("barrier 0");
                let mask = after.find("activemask.b32").expect("asks which lanes are there");
                assert!(after[mask..].contains("bar.warp.sync"), "{line}");
            }
        }
    }
}
