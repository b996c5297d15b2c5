//! Kernels that nobody annotated, rewritten by `profiler-ptx`: they do what they did, and record as annotated
//! ones do.

use profiler_host::{Backend, BackendChoice, Keep, Profiler, Trace, launch};
use profiler_ptx::{Options, RegionKind, instrument};
use test_kernels::barriers as kernels;

use crate::barriers::{DELAY, THREADS, TOLERANCE, WARPS};

const PLAIN: Option<&str> = profiler_host::include_ptx!("barriers_off");

/// The module, and how its regions are named.
fn rewritten() -> (&'static str, Vec<String>) {
    let out = instrument(PLAIN.expect("compiled"), &Options::default()).expect("it is PTX");
    let kernel = out.kernels.iter().find(|it| it.name == "whole_warps").expect("the kernel");
    assert_eq!(kernel.reason, None);
    let kinds: Vec<RegionKind> = kernel.sites.iter().map(|site| site.kind).collect();
    assert!(kinds.contains(&RegionKind::Barrier) && kinds.contains(&RegionKind::Loop), "{kinds:?}");
    (out.text.leak(), kernel.sites.iter().map(profiler_ptx::Site::name).collect())
}

fn run(ptx: &'static str, profiler: Profiler) -> (Vec<u32>, Trace) {
    let backend = Backend::choose(BackendChoice::Gpu, Some(ptx)).expect("a GPU");
    let mut output = backend.zeroed::<u32>(THREADS as usize).expect("memory");
    let mut session = backend.session(&profiler).expect("a session");
    // SAFETY: one number a thread.
    unsafe { launch!(session, kernels::whole_warps<<<1, THREADS>>>(output.as_mut_ptr(), DELAY)) }
        .expect("the launch");
    let trace = session.finish().expect("a trace");
    (output.read().expect("the results"), trace)
}

#[test]
fn what_is_not_chosen_stays_byte_for_byte() {
    // Without a compiler for the GPU there is no PTX.
    if let Some(ptx) = PLAIN {
        let mut options = Options::default();
        options.kernels = vec!["none of them".to_owned()];
        assert_eq!(instrument(ptx, &options).expect("it is PTX").text, ptx);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_rewritten_kernel_records_its_waits_and_loops() {
    let (ptx, names) = rewritten();
    for keep in [Keep::First, Keep::Last] {
        let profiler = Profiler::builder().keep(keep).build().expect("the options");
        let (output, trace) = run(ptx, profiler);
        assert_eq!(output, [DELAY; THREADS as usize]);
        assert_eq!((trace.warps.len(), trace.lost()), (WARPS as usize, 0), "{}", trace.diagnostics);
        for warp in &trace.warps {
            let of = |kind: &str| -> Vec<u64> {
                let found =
                    warp.regions.iter().filter(|it| trace.site(it.site).name.starts_with(kind));
                found.map(|it| it.end.expect("closed").ticks - it.start.ticks).collect()
            };
            let [waited] = of("barrier")[..] else { panic!("one wait a warp: {:?}", warp.regions) };
            let expected = u64::from(DELAY) * u64::from(WARPS - 1 - warp.warp);
            assert!(waited.abs_diff(expected) < TOLERANCE, "warp {}: {waited}", warp.warp);
            let [spun] = of("loop")[..] else { panic!("one loop a warp: {:?}", warp.regions) };
            let expected = u64::from(DELAY) * u64::from(warp.warp);
            assert!(spun.abs_diff(expected) < TOLERANCE, "warp {}: {spun}", warp.warp);
            assert!(warp.regions.iter().all(|it| names.contains(&trace.site(it.site).name)));
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn what_a_rewritten_kernel_loses_is_counted() {
    let (ptx, _) = rewritten();
    let profiler = Profiler::builder().records_per_warp(1).build().expect("the options");
    let (output, trace) = run(ptx, profiler);
    assert_eq!(output, [DELAY; THREADS as usize]);
    assert_eq!((trace.recorded(), trace.lost()), (u64::from(WARPS), u64::from(WARPS)));
}
