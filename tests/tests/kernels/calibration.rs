//! The kernel that measures what a record costs: in a module of its own, and in none of users'.

use crate::support::carried;
#[path = "../../../calibration/ptx.rs"]
mod ptx;
use crate::support;

use std::path::Path;

use carried::carried;
use profiler_wire::symbol::CALIBRATION;
use support::{code, count, entry, ptx_test};

const QUICKSTART: &str = include_str!(concat!(env!("OUT_DIR"), "/quickstart.ptx"));
const STRATEGIES: &str = include_str!(concat!(env!("OUT_DIR"), "/strategies.ptx"));
const WATCHED: &str = include_str!(concat!(env!("OUT_DIR"), "/watched.ptx"));

/// Lines of code in the module of the quickstart's only kernel, at most. The calibration kernel has 7000.
const QUICKSTART_LINES: usize = 2000;

ptx_test! {
    fn modules_of_users_have_no_calibration_kernel() {
        for (name, ptx) in [("quickstart", QUICKSTART), ("strategies", STRATEGIES), ("watched", WATCHED)] {
            assert!(ptx.contains(".entry ") && !ptx.contains("calibrat"), "{name}");
        }
        let lines = code(QUICKSTART).len();
        assert!(lines <= QUICKSTART_LINES, "{lines} lines");
    }
}

#[test]
fn the_kernel_stores_as_those_do_whose_records_it_measures() {
    let ptx = carried("calibration");
    let kernel = entry(&ptx, CALIBRATION);
    assert!(count(&kernel, &["st.global.v4.b32"]) > 80);
    assert!(!kernel.iter().any(|line| line.contains("st.relaxed.sys.global.v2")));
}

ptx_test! {
    /// Compared where the compiler at hand is the one that made them, which the first line names.
    fn what_is_carried_is_made_of_the_sources() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let target = repository.join("target");
        let first_line = ptx::first_line().expect("a compiler");
        for module in ptx::MODULES {
            let carried = carried(module.name);
            if carried.lines().next() != Some(&first_line) {
                continue;
            }
            let out = target.join("tmp/calibration");
            let made = module.compile(&repository, &out, &target).expect("it compiles");
            let differs = made.lines().zip(carried.lines()).position(|(made, carried)| made != carried);
            assert!(
                made == carried,
                "{} differs from line {differs:?} on: `cargo xtask calibration-ptx` writes it anew",
                module.file
            );
        }
    }
}
