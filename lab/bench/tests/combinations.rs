//! The kernels of every combination, which only the feature `combinations` compiles.
#![cfg(feature = "combinations")]

use std::collections::BTreeSet;

use profiler_bench::schemes::{Kernels, combinations};
use profiler_bench::{COMBINATIONS_PTX, HOSTED_COMBINATIONS_PTX};
use profiler_bench_kernels::{BODIES, RECORDED, kernel_name};

#[test]
fn every_scheme_has_its_kernels_in_its_module() {
    for (kernels, ptx) in [
        (Kernels::Combinations, COMBINATIONS_PTX),
        (Kernels::HostedCombinations, HOSTED_COMBINATIONS_PTX),
    ] {
        let ptx = ptx.expect("`cargo xtask tools` installs a compiler");
        let entries: BTreeSet<&str> = ptx
            .lines()
            .filter_map(|line| line.strip_prefix(".visible .entry ")?.strip_suffix('('))
            .collect();
        let mut count = 0;
        for scheme in combinations().iter().filter(|scheme| scheme.kernels == kernels) {
            for (body, recorded) in
                BODIES.into_iter().flat_map(|body| RECORDED.map(|recorded| (body, recorded)))
            {
                let name = kernel_name(scheme.kernel, body, recorded);
                assert!(entries.contains(name.as_str()), "{} has no {name}", scheme.name);
                count += 1;
            }
        }
        assert_eq!(entries.len(), count);
    }
}
