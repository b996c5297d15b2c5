//! What changed between two sides, and whether that is more than noise.
//!
//! # The question
//!
//! Each side is one capture or several. Regions are matched by the names of their kernel and
//! themselves (or their path). Durations of one region are many, and far from independent: regions of
//! a warp follow each other, warps of a block wait for each other, blocks of an SM share its caches
//! and clock, launches share what the GPU was doing. Nor are they normal: they have several modes and
//! long tails. A test that takes each duration as a sample of its own therefore finds "significant"
//! changes between two runs of the same program.
//!
//! # The method
//!
//! - **Units.** Not regions are compared but [units](Unit): captures, where each side has
//!   [`ENOUGH_UNITS`] of them or more, otherwise launches, otherwise SMs, otherwise blocks, otherwise
//!   warps; or as [`DiffOptions::unit`] says. All that is correlated within a unit then does no harm
//!   (cluster sampling: W. G. Cochran, *Sampling Techniques*, 3rd edition, 1977, chapters 6 and 9A).
//!   Each unit gives a sum and a count; a side's mean is the ratio of the two over all its units,
//!   which is the plain mean of its durations.
//! - **Batches.** Launches, blocks and warps follow each other in time and may be correlated with
//!   their neighbours. Neighbours are put together two by two until the batches' autocorrelation of
//!   lag one is no longer significant, and until there are at most [`MOST_UNITS`] (batch means:
//!   G. S. Fishman, *Grouping Observations in Digital Simulation*, 1978). Where a side has fewer than
//!   twice [`ENOUGH_UNITS`], half of them would be too few for a test, and they are left as they are,
//!   alike or not, however many the other side has: units are dealt to both sides, so on both they
//!   must be of one size. The result says where they look alike ([`DiffRow::is_alike`], and a note): if they
//!   are, noise is found there more often than [`DiffOptions::false_discovery_rate`] says, and the
//!   interval is too short. So few units do not tell it well: where they are not alike, up to one row
//!   in ten looks so, and where they are, many do not.
//! - **Test.** A permutation test of the difference of the two means, divided by its standard error:
//!   units are dealt to the two sides anew, all ways if these are few, else at random. It is exact
//!   where both sides have one distribution, whatever that is, and remains right for large numbers
//!   of units where only their means are equal (A. Janssen, *Studentized permutation tests for
//!   non-i.i.d. hypotheses*, 1997; E. Chung and J. P. Romano, *Exact and asymptotically robust
//!   permutation tests*, 2013). Dealing at random ends early where there is nothing to find
//!   (J. Besag and P. Clifford, *Sequential Monte Carlo p-values*, 1991).
//! - **Quantiles.** The same test of the share of durations above the quantile of both sides together
//!   (a median test, A. M. Mood, *Introduction to the Theory of Statistics*, 1950, with units for
//!   samples). Of a tail there is little to go by, so a change of the 99th percentile is found later
//!   than one of the mean.
//! - **Counts.** The same test of the count per launch, where there are [`ENOUGH_UNITS`] captures or
//!   launches a side (within a launch, which block or warp has how many is no sample of anything). It
//!   is left out where every unit has the same count, which the program alone decides then, and where
//!   records were lost.
//! - **Many regions.** The false discovery rate over all tests of a comparison is held at
//!   [`DiffOptions::false_discovery_rate`] (Y. Benjamini and Y. Hochberg, *Controlling the False
//!   Discovery Rate*, 1995; right also under the positive dependence that figures of one region
//!   have: Y. Benjamini and D. Yekutieli, 2001).
//! - **Size.** What is significant and smaller than [`DiffOptions::min_effect`] is no change.
//! - **Coarser units.** Where there are several captures (launches) a side, but fewer than
//!   [`ENOUGH_UNITS`], they are too few for the test, yet no change is reported of which they show
//!   the contrary: their means must lie apart, all of one side below all of the other.
//! - **Interval.** [`DiffRow::interval`] is a bootstrap-t interval of the ratio of the means, over the
//!   same batches, at most [`MOST_UNITS`] a side (P. Hall, *Theoretical comparison of bootstrap
//!   confidence intervals*, 1988).
//!
//! # What it cannot know
//!
//! One launch a side says whether these two *launches* differ, not whether two programs do: what
//! changes from launch to launch by itself is not in the data. The result says so
//! ([`Diff::notes`]). Several captures a side, taken in turns, are the best.
//!
//! All that is random comes from [`DiffOptions::seed`]: the same input has the same result.
//!
//! ```
//! use profiler_trace::Trace;
//! use profiler_trace::diff::{DiffOptions, Threshold, diff};
//!
//! let (before, after) = (Trace::default(), Trace::default());
//! let result = diff(&[before], &[after], &DiffOptions::default())?;
//! println!("{result}");
//! let verdict = result.check(&Threshold::default());
//! println!("{verdict}");
//! # Ok::<(), profiler_trace::diff::DiffError>(())
//! ```

mod compare;
mod discovery;
mod interval;
mod json;
mod notes;
mod options;
mod permutation;
mod random;
mod side;
mod table;
mod threshold;
mod units;

use std::fmt;

use crate::model::Trace;

pub use options::{DiffError, DiffOptions, Measure, Unit};
pub use side::{DiffSide, SideFacts};
pub use threshold::{Outcome, Threshold, ThresholdReport};

/// Units a side that are enough for a test to find something: with six on each side the smallest
/// possible p-value is 2 in 924.
pub const ENOUGH_UNITS: usize = 6;

/// Batches a side at most, where each side can be put together with enough units left for a test.
pub const MOST_UNITS: usize = 128;

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Launches of a kernel, from the first entry of a warp to the last exit, in nanoseconds. Those with
    /// a warp that never left have no end.
    Launch {
        /// The kernel's name.
        kernel: String,
    },
    /// A kernel as its warps see it, from entry to exit.
    Kernel {
        /// The kernel's name.
        kernel: String,
    },
    /// A region.
    Region {
        /// The kernel's name.
        kernel: String,
        /// The names of the regions that enclose it, where paths are matched, and its own. Behind 64
        /// of them stands `…` for whatever else encloses it.
        path: Vec<String>,
    },
}

impl Subject {
    /// The kernel's name.
    #[must_use]
    pub fn kernel(&self) -> &str {
        match self {
            Self::Launch { kernel } | Self::Kernel { kernel } | Self::Region { kernel, .. } => {
                kernel
            }
        }
    }
}

/// `gemm (launches)`, `gemm`, `gemm › tile › load`.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launch { kernel } => write!(f, "{kernel} (launches)"),
            Self::Kernel { kernel } => f.write_str(kernel),
            Self::Region { kernel, path } => write!(f, "{kernel} › {}", path.join(" › ")),
        }
    }
}

/// What the times of a row are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// Cycles of the SM.
    Cycles,
    /// Nanoseconds.
    Nanoseconds,
}

/// What one side has of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Regions (warps, launches) with a begin and an end; all else is about these.
    pub count: u64,
    /// Those without an end.
    pub open: u64,
    /// `count` by the launches of the kernel on this side.
    pub count_per_launch: f64,
    /// Mean duration.
    pub mean: f64,
    /// Median duration, by nearest rank as all quantiles.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
}

/// How one figure changed from side A to side B.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// B less A, in the row's unit.
    pub absolute: f64,
    /// B by A, less 1; `None` where A is 0 and B is not.
    pub relative: Option<f64>,
    /// How likely a difference as large as this is where there is none: the p-value of this test
    /// alone. `None` where there is nothing to test by.
    pub p: Option<f64>,
    /// The smallest false discovery rate at which this is a discovery, among all tests of the
    /// comparison.
    pub q: Option<f64>,
    /// Whether it is large enough to be reported, should it be a discovery.
    pub is_large: bool,
    /// Whether it is reported as a change: a discovery, large enough, and not contradicted by
    /// coarser units.
    pub is_change: bool,
}

/// What is said of the times of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// No change was found: what difference there is may be noise, or is too small to care. How well
    /// it could have been found, [`DiffRow::interval`] tells.
    NoChange,
    /// All figures that changed grew.
    Slower,
    /// All figures that changed fell.
    Faster,
    /// Some figures grew and some fell.
    Mixed,
    /// Only side A has it.
    OnlyA,
    /// Only side B has it.
    OnlyB,
    /// Too few units for a test.
    TooFew,
    /// Recorded in cycles in one place and in nanoseconds in another; compare by
    /// [`Measure::Nanoseconds`].
    OtherClock,
}

impl Verdict {
    /// A stable name, for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoChange => "no-change",
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Mixed => "mixed",
            Self::OnlyA => "only-a",
            Self::OnlyB => "only-b",
            Self::TooFew => "too-few",
            Self::OtherClock => "other-clock",
        }
    }
}

/// One region (or kernel) on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffRow {
    /// What it is about.
    pub subject: Subject,
    /// What its times are in.
    pub unit: TimeUnit,
    /// Side A; `None` if it has nothing of this.
    pub a: Option<Figures>,
    /// Side B.
    pub b: Option<Figures>,
    /// Change of the count per launch; it says nothing of times, and [`DiffRow::verdict`] nothing of
    /// it.
    pub count: Change,
    /// Change of the mean.
    pub mean: Change,
    /// Change of the median.
    pub p50: Change,
    /// Change of the 95th percentile.
    pub p95: Change,
    /// Change of the 99th percentile.
    pub p99: Change,
    /// A 95 % confidence interval of the relative change of the mean, for this row alone; `None`
    /// where there are too few units.
    pub interval: Option<(f64, f64)>,
    /// What was taken as a unit, where there was a test.
    pub units: Option<Unit>,
    /// Units of each side, after neighbours were put together.
    pub unit_counts: (usize, usize),
    /// How many neighbours were put together.
    pub batch: usize,
    /// Whether neighbours in time may be alike, in times or in the count per launch, and were too few
    /// to be put together: noise may then look like a change.
    pub is_alike: bool,
    /// What is said of it.
    pub verdict: Verdict,
}

impl DiffRow {
    /// The changes of times, which are tested, by their names.
    #[must_use]
    pub fn tested(&self) -> [(&'static str, &Change); 4] {
        [("mean", &self.mean), ("p50", &self.p50), ("p95", &self.p95), ("p99", &self.p99)]
    }
}

/// A comparison. `Display` makes a table of it for a terminal.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// Rows in order of the kernels and regions of side A, then those that only B has.
    pub rows: Vec<DiffRow>,
    /// What side A was made of.
    pub a: SideFacts,
    /// What side B was made of.
    pub b: SideFacts,
    /// What a reader must know: what the numbers cannot tell, and why.
    pub notes: Vec<String>,
    /// Whether the two sides ran on devices of different names, or one on the emulator.
    pub devices_differ: bool,
    /// Whether either side has lost records, or diagnostics that say its numbers may be wrong.
    pub is_damaged: bool,
    /// How it was made.
    pub options: DiffOptions,
}

impl Diff {
    /// Compares two sides that were gathered trace by trace.
    ///
    /// # Errors
    ///
    /// [`DiffError`] if the sides were not gathered by the same options.
    pub fn of(a: &DiffSide, b: &DiffSide) -> Result<Self, DiffError> {
        compare::compare(a, b)
    }

    /// The rows whose times or count changed.
    pub fn changed(&self) -> impl Iterator<Item = &DiffRow> {
        self.rows.iter().filter(|row| {
            row.count.is_change
                || matches!(row.verdict, Verdict::Slower | Verdict::Faster | Verdict::Mixed)
        })
    }

    /// The row of a region (or kernel) as [`Subject`]'s `Display` calls it.
    #[must_use]
    pub fn get(&self, subject: &str) -> Option<&DiffRow> {
        self.rows.iter().find(|row| row.subject.to_string() == subject)
    }
}

/// Compares traces with traces: A, which was before, with B, which is after. Where the traces do not
/// all fit into memory, [`DiffSide`] takes them one by one.
///
/// # Errors
///
/// [`DiffError`] says which option cannot be.
pub fn diff(a: &[Trace], b: &[Trace], options: &DiffOptions) -> Result<Diff, DiffError> {
    let side = |traces: &[Trace]| {
        let mut side = DiffSide::new(options)?;
        traces.iter().for_each(|trace| side.add(trace));
        Ok(side)
    };
    Diff::of(&side(a)?, &side(b)?)
}
