//! What one recorded region costs: the measurement, its checks, and what is made of its figures.
//!
//! The program `record-cost` launches the kernels of `profiler-bench-kernels` on a GPU and writes
//! `record-cost.jsonl` and `launch.jsonl`, or `record-combinations.jsonl`; `cargo lab cost-table` makes
//! a table of the first and of the last, and a picture of the first. `lab/measurements/record-cost.md`
//! says how the figures are to be read.

pub mod check;
mod claim_cost;
pub mod error;
pub mod gpu;
pub mod launch_cost;
mod linear_slots;
pub mod measure;
pub mod plot;
pub mod point;
pub mod report;
pub mod results;
pub mod schemes;
pub mod statistics;
pub mod table;

use std::sync::LazyLock;

pub use error::Error;
use profiler_bench_kernels::{BODIES, RECORDED, REGION_NAMES, kernel_name};
use profiler_ptx::{Options, instrument};

/// The kernels' PTX; `None` where no compiler for the GPU was found when this was built.
pub const PTX: Option<&str> = profiler_host::include_ptx!("bench_kernels");
/// That of the kernel whose records go to memory of the host.
pub const HOSTED_PTX: Option<&str> = profiler_host::include_ptx!("bench_hosted_kernels");
/// That of the kernels without annotations, which [`rewritten`] takes.
const PLAIN_PTX: Option<&str> = profiler_host::include_ptx!("bench_plain_kernels");

/// The PTX of the scheme `rewritten`: `profiler-ptx` has put in what records, around instructions by which it finds the
/// bodies. `None` where no compiler for the GPU was found.
///
/// # Panics
///
/// If it cannot be rewritten.
#[must_use]
pub fn rewritten() -> Option<&'static str> {
    static TEXT: LazyLock<Option<String>> = LazyLock::new(|| {
        let mut options = Options::default();
        let numbers = ["rn", "rz", "rm", "rp"].into_iter().zip(REGION_NAMES);
        let regions = numbers.map(|(rounding, name)| {
            format!("instruction fma.{rounding}.ftz.f32={name}").parse().expect("a pattern")
        });
        (options.regions, options.auto) = (regions.collect(), false);
        let all = BODIES.into_iter().flat_map(|body| RECORDED.map(|recorded| (body, recorded)));
        options.kernels =
            all.map(|(body, recorded)| kernel_name("rewritten", body, recorded)).collect();
        Some(instrument(PLAIN_PTX?, &options).expect("rustc's PTX can be rewritten").text)
    });
    TEXT.as_deref()
}

/// That of the kernels of every strategy with every clock and every kind of record; `None` without the
/// feature `combinations`.
pub const COMBINATIONS_PTX: Option<&str> = {
    #[cfg(feature = "combinations")]
    let ptx = profiler_host::include_ptx!("bench_combinations");
    #[cfg(not(feature = "combinations"))]
    let ptx = None;
    ptx
};
/// That of the same whose records go to memory of the host.
pub const HOSTED_COMBINATIONS_PTX: Option<&str> = {
    #[cfg(feature = "combinations")]
    let ptx = profiler_host::include_ptx!("bench_hosted_combinations");
    #[cfg(not(feature = "combinations"))]
    let ptx = None;
    ptx
};
