//! Launches of a crate that denies every lint, from one that does too. That both compile is the test; clippy's
//! lints are checked where clippy looks at the workspace.
#![deny(warnings, unused, rust_2018_idioms, clippy::all, clippy::pedantic)]
#![deny(
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unused_lifetimes,
    unused_qualifications,
    unused_results
)]

#[allow(dead_code, reason = "this test reads less of the PTX than others")]
use crate::support;
use crate::support::on_both_back_ends;

use std::{ptr, slice};

use profiler_host::{Backend, BackendChoice, Profiler, launch};
use profiler_trace::{SiteTable, Trace};
use support::{entry, ptx_test};
use test_kernels::linted as kernels;

const PTX: Option<&str> = profiler_host::include_ptx!("linted");

on_both_back_ends! {
    what_draws_no_lint_records
    references_and_slices_arrive
    thirty_two_parameters_arrive_in_order
    each_instance_of_a_generic_function_is_launched
}

/// The names of the regions of the warps, each in its order.
fn names(trace: &Trace) -> Vec<&str> {
    let regions = trace.warps.iter().flat_map(|warp| &warp.regions);
    regions.map(|region| trace.site(region.site).name.as_str()).collect()
}

fn what_draws_no_lint_records(choice: BackendChoice) {
    let backend = Backend::choose(choice, PTX).expect("the back end");
    let mut output = backend.zeroed::<u32>(1).expect("memory");
    let profiler = Profiler::builder().build().expect("the options");
    let mut session = backend.session(&profiler).expect("a session");
    // SAFETY: one thread has the number.
    unsafe { launch!(session, kernels::writes<<<1, 1>>>(output.as_mut_ptr(), 3)) }.expect("a run");
    let shape = [1, 1, 1];
    // SAFETY: the kernel touches no memory.
    unsafe { launch!(session, kernels::safe::safe<<<shape, (1, 1), 64>>>()) }.expect("a run");
    let trace = session.finish().expect("a trace");
    assert_eq!(output.read().expect("the number"), [4]);
    assert_eq!(trace.launches.len(), 2);
    assert_eq!(names(&trace), ["write", "safe"]);
}

fn references_and_slices_arrive(choice: BackendChoice) {
    let backend = Backend::choose(choice, PTX).expect("the back end");
    let [mut output, mut input, mut raw] =
        [0; 3].map(|_| backend.zeroed::<u32>(64).expect("memory"));
    let mut count = backend.zeroed::<u32>(1).expect("memory");
    let numbers: Vec<u32> = (0..64).collect();
    input.write(&numbers).expect("the input");
    raw.write(&[3; 64]).expect("the input");
    let doubled = ptr::slice_from_raw_parts_mut(raw.as_mut_ptr(), raw.len());
    let (sum, counter) = (output.as_mut_ptr(), count.as_mut_ptr());
    // SAFETY: the buffers outlive the kernel, of which each thread has its own elements.
    unsafe {
        launch!(
            backend,
            kernels::of_slices<<<2, 32>>>(
                slice::from_raw_parts_mut(sum, 64),
                &mut *counter,
                slice::from_raw_parts(input.as_ptr(), 64),
                doubled
            )
        )
    }
    .expect("a run");
    assert_eq!(output.read().expect("the sums"), numbers);
    assert_eq!(count.read().expect("the count"), [1]);
    assert_eq!(raw.read().expect("the products"), [6; 64]);
}

fn thirty_two_parameters_arrive_in_order(choice: BackendChoice) {
    let backend = Backend::choose(choice, PTX).expect("the back end");
    let mut output = backend.zeroed::<u64>(1).expect("memory");
    let pointer = output.as_mut_ptr();
    // SAFETY: one thread has the number.
    unsafe {
        launch!(
            backend,
            kernels::of_many<<<1, 1>>>(
                pointer, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                22, 23, 24, 25, 26, 27, 28, 29, 30, 31
            )
        )
    }
    .expect("a run");
    let expected = (1..=31_u64).fold(0, |sum, number| sum * 2 + number);
    assert_eq!(output.read().expect("the number"), [expected]);
}

fn each_instance_of_a_generic_function_is_launched(choice: BackendChoice) {
    let backend = Backend::choose(choice, PTX).expect("the back end");
    let mut floats = backend.zeroed::<f32>(4).expect("memory");
    let mut numbers = backend.zeroed::<u64>(2).expect("memory");
    floats.write(&[0.5; 4]).expect("the input");
    numbers.write(&[3, 5]).expect("the input");
    let profiler = Profiler::builder().build().expect("the options");
    let mut session = backend.session(&profiler).expect("a session");
    let (float, number) = (floats.as_mut_ptr(), numbers.as_mut_ptr());
    // SAFETY: one thread has all numbers.
    unsafe { launch!(session, kernels::scale_f32_4<<<1, 1>>>(float, 3.0)) }.expect("a run");
    // SAFETY: likewise.
    unsafe { launch!(session, kernels::scale_u64_2<<<1, 1>>>(number, 2)) }.expect("a run");
    let trace = session.finish().expect("a trace");
    assert_eq!(floats.read().expect("the products"), [1.5_f32; 4]);
    assert_eq!(numbers.read().expect("the products"), [6, 10]);
    let count = |name| names(&trace).iter().filter(|&&region| region == name).count();
    assert_eq!((count("scale"), count("scale one")), (2, 6));
}

ptx_test! {
    fn instances_and_slices_are_in_the_ptx() {
        let ptx = PTX.expect("compiled");
        for instance in ["scale_f32_4", "scale_u64_2"] {
            assert!(ptx.contains(&format!(".visible .entry {instance}(")), "{instance}");
        }
        let sites = SiteTable::from_ptx(ptx).expect("a site table");
        assert!(sites.sites().iter().any(|site| site.symbol.as_deref() == Some("scale_u64_2")));
        // A slice is one parameter of two words, as the host hands it over.
        let text = entry(ptx, "of_slices").join("\n");
        let [head, _body] = text.splitn(2, '{').collect::<Vec<_>>()[..] else { panic!("a body") };
        let words: Vec<usize> = head
            .lines()
            .filter(|line| line.contains(".param"))
            .map(|line| if line.contains("[16]") { 2 } else { 1 })
            .collect();
        assert_eq!(words, [2, 1, 2, 2], "{head}");
    }
}

ptx_test! {
    // LLVM would not: without the macro's attribute the function is called.
    fn a_large_profiled_function_is_inlined_wherever_it_is_called() {
        let kernel = entry(PTX.expect("compiled"), "calls_twice");
        let calls: Vec<&&str> = kernel.iter().filter(|line| line.trim().starts_with("call")).collect();
        assert!(calls.is_empty(), "{calls:?}");
    }
}
