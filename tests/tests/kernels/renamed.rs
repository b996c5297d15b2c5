//! Kernels that know `profiler-device` under another name, in edition 2021, and names that are no words:
//! what they record, and that nothing of it is left when profiling is off.

use crate::support;
use crate::support::on_both_back_ends;

use profiler_host::{Backend, BackendChoice, Profiler, Trace, launch};
use profiler_trace::SiteTable;
use support::{code, count, entry, ptx_test};
use test_kernels_renamed as kernels;

const PTX: Option<&str> = profiler_host::include_ptx!("renamed");
const PTX_OFF: Option<&str> = profiler_host::include_ptx!("renamed_off");

on_both_back_ends! {
    each_kernel_records
}

/// Names of the regions of each warp, which must be the same for all, and how many marks it has.
#[track_caller]
fn recorded(trace: &Trace) -> (Vec<&str>, usize) {
    assert_eq!((trace.warps.len(), trace.lost()), (4, 0), "{}", trace.diagnostics);
    let of = |warp: &profiler_trace::Warp| -> (Vec<&str>, usize) {
        let regions = warp.regions.iter().map(|region| trace.site(region.site).name.as_str());
        (regions.collect(), warp.marks.len())
    };
    let first = of(&trace.warps[0]);
    assert!(trace.warps.iter().all(|warp| of(warp) == first));
    first
}

fn each_kernel_records(choice: BackendChoice) {
    let backend = Backend::choose(choice, PTX).expect("the back end");
    let mut output = backend.zeroed::<u32>(128).expect("memory");
    macro_rules! check {
        ([$($kernel:tt)*], $result:expr, $regions:expr, $marks:expr) => {
            let profiler = Profiler::builder().build().expect("the options");
            let mut session = backend.session(&profiler).expect("a session");
            let pointer = output.as_mut_ptr();
            // SAFETY: one number a thread.
            unsafe { launch!(session, $($kernel)*<<<2, 64>>>(pointer, 4)) }.expect("the launch");
            let trace = session.finish().expect("a trace");
            assert_eq!(recorded(&trace), ($regions.to_vec(), $marks));
            assert_eq!(output.read().expect("the results"), [$result; 128]);
        };
    }
    let path = ["token", "statement", "even", "odd", "even", "odd", "helper"];
    check!([kernels::by_path::path], 7_u32, path, 3);
    let shadowed = ["even", "helper", "generic", "odd", "helper", "generic"].repeat(2);
    // Each thread records the mark.
    check!([kernels::by_extern_crate::shadowed], 3_u32, shadowed, 32);
    check!([kernels::of_a_macro], 4_u32, ["region of the macro"], 0);
    check!([kernels::any_name::r#match], 4_u32, kernels::any_name::NAMES, 0);
}

ptx_test! {
    fn names_of_any_text_are_read_back() {
        let sites = SiteTable::from_ptx(PTX.expect("compiled")).expect("a site table");
        let kernel = sites.sites().iter().find(|site| site.symbol.as_deref() == Some("match")).expect("by its symbol");
        assert_eq!(kernel.name, "r#match \"{}\" \0 ✓");
        for name in kernels::any_name::NAMES {
            assert!(sites.sites().iter().any(|site| site.name == name), "{name:?}");
        }
    }
}

ptx_test! {
    fn off_leaves_no_site() {
        let (on, off) = (PTX.expect("compiled"), PTX_OFF.expect("compiled"));
        for kernel in ["path", "shadowed", "of_a_macro"] {
            let records = |ptx| count(&entry(ptx, kernel), &["st.global.v4.b32"]);
            assert!(records(on) > 0, "{kernel}");
            assert_eq!(records(off), 0, "{kernel}");
        }
        let lines = |ptx| code(ptx).into_iter();
        assert!(lines(on).filter(|line| line.contains("PROFILER_SITE")).count() >= 12);
        assert!(lines(off).all(|line| !line.contains("PROFILER_SITE") && !line.contains("%clock")));
    }
}
