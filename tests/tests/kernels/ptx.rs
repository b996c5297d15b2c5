//! What the annotations become in PTX.

use crate::support;

use support::{code, count, entry, ptx_test};

const PLAIN: &str = include_str!(concat!(env!("OUT_DIR"), "/plain_off.ptx"));
const ANNOTATED_OFF: &str = include_str!(concat!(env!("OUT_DIR"), "/annotated_off.ptx"));
const ANNOTATED_HOSTED_OFF: &str =
    include_str!(concat!(env!("OUT_DIR"), "/annotated_hosted_off.ptx"));
const WATCHED: &str = include_str!(concat!(env!("OUT_DIR"), "/watched.ptx"));
const STRATEGIES: &str = include_str!(concat!(env!("OUT_DIR"), "/strategies.ptx"));
const STRATEGIES_OFF: &str = include_str!(concat!(env!("OUT_DIR"), "/strategies_off.ptx"));
const INTRINSICS: &str = include_str!(concat!(env!("OUT_DIR"), "/intrinsics.ptx"));

/// Kernels with and without profiling, of which those of the examples have shared memory of their
/// own.
macro_rules! both {
    ($($name:literal)*) => {
        [$((
            $name,
            include_str!(concat!(env!("OUT_DIR"), "/", $name, ".ptx")),
            include_str!(concat!(env!("OUT_DIR"), "/", $name, "_off.ptx")),
        ),)*]
    };
}
const BOTH: [(&str, &str, &str); 5] = both!("annotated" "stamps" "softmax" "gemm" "pipeline");

/// The store of a record.
const RECORD: &str = "st.global.v4.b32";

#[test]
fn there_is_a_compiler_where_tools_are_required() {
    let has_compiler = !cfg!(no_nvptx_compiler);
    assert!(
        has_compiler || !profiler_test_tools::are_required(),
        "no compiler for nvptx64; `cargo xtask tools` installs one"
    );
}

ptx_test! {
    fn off_leaves_nothing() {
        assert!(PLAIN.contains(".entry scale("));
        assert_eq!(code(PLAIN), code(ANNOTATED_OFF));
        assert_eq!(code(PLAIN), code(ANNOTATED_HOSTED_OFF));
    }
}

ptx_test! {
    fn a_kernel_that_is_switched_off_is_as_with_profiling_off() {
        // Its labels have its number in the module.
        let unnumbered = |line: &str| match line.split_once("$L__BB") {
            Some((before, label)) => format!("{before}{}", label.trim_start_matches(char::is_numeric)),
            None => line.to_owned(),
        };
        let kernel = |ptx| entry(ptx, "switched_off").into_iter().map(unnumbered).collect::<Vec<_>>();
        assert_eq!(kernel(STRATEGIES), kernel(STRATEGIES_OFF));
    }
}

ptx_test! {
    fn no_atomic_fence_or_barrier_per_event() {
        let costly = ["atom.", "red.", "fence.", "membar.", "bar.", "barrier."];
        let one_region = count(&entry(STRATEGIES, "by_warp"), &costly);
        let five_regions = count(&entry(STRATEGIES, "by_each"), &costly);
        let everything = count(&entry(STRATEGIES, "everything"), &costly);
        // Entry and exit: two claims, the warp's meeting after them, three counters of what was lost.
        assert_eq!(one_region, 6);
        assert_eq!(count(&entry(STRATEGIES, "by_each"), &["bar.warp.sync"]), 1);
        assert_eq!(five_regions, one_region);
        assert_eq!(everything, one_region);
    }
}

ptx_test! {
    fn a_record_for_the_host_is_one_predicated_relaxed_store_and_no_fence() {
        const UNIT: &str = "st.relaxed.sys.global.v2.b64";
        const HEADER_STORES: usize = 6; // four at entry, two at exit
        let costly = ["atom.", "red.", "fence.", "membar.", "bar.", "barrier."];
        const STEPS: usize = test_kernels::watched::UNITS_OF_A_ROUND as usize;
        // The last has three regions and a mark.
        for (name, units) in [("steps", STEPS), ("steps_by_thread", STEPS), ("waits", 7)] {
            let kernel = entry(WATCHED, name);
            // Entry and exit: two claims, the warp's meeting after them, three counters of what was
            // lost, and one fence for the exit.
            assert_eq!(count(&kernel, &costly), 7, "{name}");
            assert_eq!(count(&kernel, &["fence.acq_rel.sys"]), 1, "{name}");
            let stores = kernel.iter().filter(|line| line.contains(UNIT));
            let (records, headers): (Vec<&str>, Vec<&str>) =
                stores.partition(|line| line.trim_start().starts_with('@'));
            assert_eq!(headers.len(), HEADER_STORES, "{name}");
            assert!(records.len() >= units, "{name}: {}", records.len());
            assert_eq!(count(&kernel, &[RECORD]), 0, "{name} stores as for global memory");
        }
        // Beside them in the module, kernels of the other form are as they were.
        let other = entry(WATCHED, "in_global_form");
        assert_eq!(count(&other, &[UNIT, "fence."]), 0);
        assert!(count(&other, &[RECORD]) > 0);
    }
}

ptx_test! {
    fn a_record_is_two_clock_reads_and_one_predicated_store() {
        const HEADER_STORES: usize = 6; // four at entry, two at exit
        // Records in the machine code (loops may be unrolled), and clock reads beside theirs.
        let records_and_anchors = |name: &str| {
            let kernel = entry(STRATEGIES, name);
            for line in kernel.iter().filter(|line| line.contains(RECORD)) {
                assert!(line.trim_start().starts_with('@'), "a store without a predicate: {line}");
            }
            assert_eq!(count(&kernel, &["st.global.v2.u64"]), HEADER_STORES);
            let records = count(&kernel, &[RECORD]);
            let clocks = kernel.iter().filter(|line| line.contains("%clock64")).count();
            (records, clocks - 2 * records)
        };
        let (one, anchors) = records_and_anchors("by_warp");
        let (five, same_anchors) = records_and_anchors("by_each");
        assert!(one >= 1 && five >= 5, "{one} and {five} records");
        assert_eq!(anchors, same_anchors, "a record reads the clock twice, no more");
    }
}

ptx_test! {
    fn a_short_value_is_in_the_record_of_its_region() {
        // One region with an `i16`; no loop.
        let kernel = entry(INTRINSICS, "pins");
        assert_eq!(count(&kernel, &[RECORD]), 1);
    }
}

ptx_test! {
    fn clocks_are_read_whole() {
        for (name, ptx) in [("strategies", STRATEGIES), ("watched", WATCHED)] {
            let reads = |register: &str| {
                let lines = code(ptx);
                lines.into_iter().filter(|line| line.split([',', ';', ' ', '\t']).any(|word| word == register)).count()
            };
            for whole in ["%clock64", "%globaltimer"] {
                assert!(reads(whole) > 0, "{name}: {whole}");
            }
            for half in ["%clock", "%clock_hi", "%globaltimer_lo", "%globaltimer_hi"] {
                assert_eq!(reads(half), 0, "{name}: {half}");
            }
        }
    }
}

ptx_test! {
    fn no_shared_memory_is_taken() {
        let shared = |ptx| -> Vec<String> {
            // Names differ by the hash of the crate's features.
            let lines = code(ptx).into_iter().filter(|line| line.contains(".shared .align"));
            lines.map(|line| line.split('[').skip(1).collect()).collect()
        };
        let mut arrays = 0;
        for (name, on, off) in BOTH {
            assert_eq!(shared(on), shared(off), "{name}");
            arrays += shared(on).len();
        }
        assert!(arrays > 0, "some kernels have shared arrays");
    }
}

ptx_test! {
    fn without_a_session_a_warp_reads_one_constant() {
        let kernel = entry(STRATEGIES, "by_warp");
        let first_branch = kernel
            .iter()
            .position(|line| line.contains("bra"))
            .expect("entry branches on whether there is a session");
        let loads = count(&kernel[..first_branch], &["ld.const"]);
        assert_eq!(loads, 1, "before the branch that skips entry");
    }
}

ptx_test! {
    fn the_body_without_a_session_reads_no_clock() {
        let (one, two) = (entry(STRATEGIES, "pinned"), entry(STRATEGIES, "pinned_apart"));
        for (instruction, bodies) in [("mul.rn.f32", 2), ("%clock64", 1), (RECORD, 1)] {
            let in_one = count(&one, &[instruction]);
            assert!(in_one > 0, "{instruction}");
            assert_eq!(count(&two, &[instruction]), bodies * in_one, "{instruction}");
        }
        let in_parts = entry(STRATEGIES, "in_parts");
        assert_eq!(count(&in_parts, &["mul.rn.f32"]), 2, "the body is there twice");
        assert_eq!(count(&in_parts, &[RECORD]), 1, "and records once");
    }
}

ptx_test! {
    fn collectives_are_not_duplicated() {
        // LLVM writes its own instructions, the guards among them, with a tab after the name.
        let masks = |name: &str| {
            entry(STRATEGIES, name).iter().filter(|line| line.contains("activemask.b32 %")).count()
        };
        // The region between the two branches.
        assert_eq!(masks("guarded_collective"), 1);
        // The same without the guard, to show that this test would see it break.
        assert_eq!(masks("unguarded_collective"), 2);
    }
}

ptx_test! {
    fn a_stamp_after_a_barrier_waits_for_it() {
        let kernel = entry(STRATEGIES, "barrier_wait");
        let barriers = kernel.iter().filter(|line| line.contains("bar.sync"));
        let mut count = 0;
        for line in barriers {
            assert!(line.contains("bar.warp.sync"), "{line}");
            count += 1;
        }
        assert!(count > 0, "the kernel has a barrier");
    }
}

ptx_test! {
    fn pinned_arithmetic_stays_on_its_side_of_the_stamps() {
        let kernel = entry(STRATEGIES, "pinned");
        let only = |instruction: &str| {
            let found: Vec<usize> = (0..kernel.len())
                .filter(|&line| kernel[line].trim_start().starts_with(instruction))
                .collect();
            assert_eq!(found.len(), 1, "{instruction}");
            found[0]
        };
        let stamps = |lines: &[&str]| lines.iter().filter(|line| line.contains("%clock64")).count();
        let (division, square) = (only("div.rn.f32"), only("mul.rn.f32"));
        assert!(division < square);
        assert_eq!(stamps(&kernel[division..square]), 1, "the begin stamp");
        let record = kernel[square..].iter().position(|line| line.contains(RECORD));
        let store = square + record.expect("the region's record is stored");
        assert_eq!(stamps(&kernel[square..store]), 1, "the end stamp");
    }
}
