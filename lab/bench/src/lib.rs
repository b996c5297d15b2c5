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
pub mod measure;
pub mod plot;
pub mod point;
pub mod report;
pub mod results;
pub mod schemes;
pub mod statistics;
pub mod table;

pub use error::Error;

/// The kernels' PTX; `None` where no compiler for the GPU was found when this was built.
pub const PTX: Option<&str> = profiler_host::include_ptx!("bench_kernels");
/// That of the kernel whose records go to memory of the host.
pub const HOSTED_PTX: Option<&str> = profiler_host::include_ptx!("bench_hosted_kernels");
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
