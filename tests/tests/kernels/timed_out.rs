//! What a kernel with `buffer = host` leaves that waits in vain and gives up. See `failed.rs`.

use crate::support::failure;

use profiler_host::{BackendChoice, launch};
use test_kernels::watched as kernels;

/// How long the kernel waits.
const LIMIT_NS: u32 = 100_000;

fn check(choice: BackendChoice) {
    let trace = failure::run(choice, |session, never| {
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
