//! A module with a thousand sites.

use crate::support::on_both_back_ends;

use std::collections::BTreeSet;

use profiler_emulator::{Emulator, LaunchConfig};
use profiler_host::{Backend, BackendChoice, Profiler, launch};
use profiler_trace::SiteTable;
use profiler_wire::SiteKind;
use test_kernels::thousand as kernels;

const PTX: Option<&str> = profiler_host::include_ptx!("thousand");

on_both_back_ends! {
    every_region_once_by_its_own_name
}

#[test]
#[cfg_attr(
    no_nvptx_compiler,
    ignore = "needs a compiler for nvptx64; `cargo xtask tools` installs one"
)]
fn ids_are_distinct_and_dense() {
    let sites = SiteTable::from_ptx(PTX.expect("compiled")).expect("a site table");
    let ids: BTreeSet<u32> = sites.sites().iter().map(|site| site.id).collect();
    assert_eq!(ids.len(), sites.len());
    assert_eq!(ids.last().map(|&id| id as usize), Some(sites.len()), "ids begin at 1");
    let regions = sites.sites().iter().filter(|site| site.kind == SiteKind::Region);
    let names: BTreeSet<&str> = regions.map(|site| site.name.as_str()).collect();
    assert!((0..kernels::REGIONS).all(|region| names.contains(format!("{region:03}").as_str())));
}

/// Without optimisation the frame of a function with a thousand guards is far larger than an
/// emulated thread's stack is by default.
const STACK_BYTES: usize = 4 << 20;

fn back_end(choice: BackendChoice) -> Backend {
    if choice == BackendChoice::Emulator {
        let template =
            LaunchConfig { stack_bytes: STACK_BYTES, ..LaunchConfig::new([1; 3], [1; 3]) };
        return Backend::emulator(Emulator::default(), template);
    }
    Backend::choose(choice, PTX).expect("the back end")
}

fn every_region_once_by_its_own_name(choice: BackendChoice) {
    let backend = back_end(choice);
    let profiler =
        Profiler::builder().records_per_warp(kernels::REGIONS).build().expect("the options");
    let mut output = backend.zeroed::<u32>(96).expect("memory");
    let pointer = output.as_mut_ptr();
    let mut session = backend.session(&profiler).expect("a session");
    // SAFETY: one number a thread.
    unsafe { launch!(session, kernels::thousand<<<3, 32>>>(pointer)) }.expect("the launch");
    let trace = session.finish().expect("a trace");
    assert_eq!(output.read().expect("the results"), [kernels::REGIONS; 96]);
    assert_eq!((trace.warps.len(), trace.lost()), (3, 0), "{}", trace.diagnostics);
    let expected: Vec<String> =
        (0..kernels::REGIONS).map(|region| format!("{region:03}")).collect();
    for warp in &trace.warps {
        let names: Vec<&str> =
            warp.regions.iter().map(|region| trace.site(region.site).name.as_str()).collect();
        assert_eq!(names, expected);
    }
}
