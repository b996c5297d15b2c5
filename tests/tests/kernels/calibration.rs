//! The kernels that measure what a record costs: in modules of their own, and in none of users'.

use crate::support::carried;
#[path = "../../../calibration/ptx.rs"]
mod ptx;
use crate::support;

use std::path::Path;

use carried::carried;
use profiler_wire::symbol::{CALIBRATION, CALIBRATION_OF_HOST};
use support::{code, count, entry, ptx_test};

const QUICKSTART: &str = include_str!(concat!(env!("OUT_DIR"), "/quickstart.ptx"));
const STRATEGIES: &str = include_str!(concat!(env!("OUT_DIR"), "/strategies.ptx"));
const WATCHED: &str = include_str!(concat!(env!("OUT_DIR"), "/watched.ptx"));

/// Lines of code in the module of the quickstart's only kernel, at most. A calibration kernel has 7000.
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
fn each_kernel_stores_as_those_do_whose_records_it_measures() {
    let global = carried("calibration");
    let host = carried("calibration_host");
    let (of_gpu, of_host) = (entry(&global, CALIBRATION), entry(&host, CALIBRATION_OF_HOST));
    let host_record = |kernel: &[&str]| {
        let is_predicated = |line: &&&str| line.trim_start().starts_with('@');
        let stores = kernel.iter().filter(|line| line.contains("st.relaxed.sys.global"));
        stores.filter(is_predicated).count()
    };
    let record = |kernel: &[&str]| count(kernel, &["st.global.v4.b32"]);
    assert!(record(&of_gpu) > 80 && host_record(&of_gpu) == 0);
    assert!(record(&of_host) == 0 && host_record(&of_host) > 100);
}

ptx_test! {
    /// Compared where the compiler at hand is the one that made them, which the first line names.
    fn what_is_carried_is_made_of_the_sources() {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let first_line = ptx::first_line().expect("a compiler");
        for module in ptx::MODULES {
            let carried = carried(module.name);
            if carried.lines().next() != Some(&first_line) {
                continue;
            }
            let out = target.join("calibration");
            let made = module.compile(&repository, &out, target).expect("it compiles");
            let differs = made.lines().zip(carried.lines()).position(|(made, carried)| made != carried);
            assert!(
                made == carried,
                "{} differs from line {differs:?} on: `cargo xtask calibration-ptx` writes it anew",
                module.file
            );
        }
    }
}
