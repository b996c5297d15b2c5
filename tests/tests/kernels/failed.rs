//! What a kernel with `buffer = host` leaves that fails in its middle. On a GPU it takes the process's
//! context with it, hence a test program of its own, with one test on the GPU.

use crate::support::failure;

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
    let trace = failure::run(choice, |session, never| {
        // SAFETY: the number lives until the session has ended.
        unsafe { launch!(session, kernels::fails<<<BLOCKS, 32 * WARPS>>>(never, ROUNDS, 1, 1)) }
    });
    let mut expected = vec![("all rounds", true), ("round", true), ("the one that fails", true)];
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
