//! One line of results.

use serde::{Deserialize, Serialize};

/// [`Header::measurement`] of a file with the costs of all schemes.
pub const RECORD_COST: &str = "record-cost";
/// Of one with those of every strategy with every clock, kind of record and buffer.
pub const COMBINATIONS: &str = "record-combinations";

/// The first line of a file of results: what it was measured on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// What the lines below are: [`RECORD_COST`], [`COMBINATIONS`] or `launch`.
    pub measurement: String,
    /// When, in UTC.
    pub date: String,
    /// The GPU's name.
    pub gpu: String,
    /// How many SMs it has.
    pub sm_count: u32,
    /// The highest frequency of the SMs' clock in MHz, as the driver says. Times of whole kernels are shown
    /// in cycles of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<u32>,
    /// The driver's version.
    pub driver: String,
    /// The sources that the program was built from.
    pub commit: String,
}

impl Header {
    /// The header of a measurement. What the program cannot know itself is in its environment:
    /// `BENCH_DATE`, `BENCH_DRIVER` and `BENCH_COMMIT`, which the bundle's `run.sh` sets.
    #[must_use]
    pub fn new(measurement: &str, gpu: &str, sm_count: u32, clock_mhz: u32) -> Self {
        let variable = |name| std::env::var(name).unwrap_or_else(|_| "unknown".to_owned());
        Self {
            measurement: measurement.to_owned(),
            date: variable("BENCH_DATE"),
            gpu: gpu.to_owned(),
            sm_count,
            clock_mhz: Some(clock_mhz),
            driver: variable("BENCH_DRIVER"),
            commit: variable("BENCH_COMMIT"),
        }
    }
}

/// What one scheme costs in one shape of launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The scheme.
    pub scheme: String,
    /// Warps of a block.
    pub warps: u32,
    /// FMAs of a body.
    pub body: u32,
    /// Blocks of an SM.
    pub blocks_per_sm: u32,
    /// What a region adds to the time of its warp, in cycles: the slope over the number of recorded
    /// bodies.
    pub cycles_per_region: Option<f64>,
    /// The same slope, of the time of the warp that takes longest.
    #[serde(default)]
    pub cycles_per_region_longest: Option<f64>,
    /// The same slope, of the time of the whole kernel by events around it, in nanoseconds. Where several
    /// blocks share an SM the older ones go first, so that a mean over warps says little, and the younger
    /// ones may begin their loops when the older ones have ended theirs, which the time of no warp's loop
    /// shows: this is what all warps of an SM take together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_ns_per_region: Option<f64>,
    /// How straight the first line is; absent where nothing varies.
    pub r2: Option<f64>,
    /// Bytes that are written for a region.
    pub bytes_per_region: Option<f64>,
    /// Registers of a thread of the kernel with all bodies recorded.
    pub registers: Option<u32>,
    /// Cycles of an iteration without a recorded body.
    pub baseline_cycles: Option<f64>,
    /// How many bodies are recorded, and the cycles of an iteration then: the points of the first line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iteration_cycles: Vec<(f64, f64)>,
    /// How far the launches of one kernel differ at most, in cycles of an iteration.
    pub spread: Option<f64>,
    /// Why there is no figure, or why it must not be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}
