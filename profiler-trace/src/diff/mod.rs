//! Comparison of two sides: changes that are more than noise.
//!
//! Each side is one capture or several. Regions are matched by the names of their kernel and
//! themselves (or their path). Their durations are far from independent: regions of a warp follow
//! each other, warps of a block wait for each other, blocks of an SM share its caches, launches share
//! what the GPU was doing. Nor are they normal: they have several modes and long tails. So the mean of
//! each region is tested as follows.
//!
//! - **Time.** Durations are compared in the clock that recorded them: cycles of the SM, which do not change
//!   with its frequency, unless the kernel chose otherwise. Those of launches are in nanoseconds.
//! - **Units.** Units are compared, not regions: captures if each side has [`ENOUGH_UNITS`]
//!   of them, otherwise launches, SMs, blocks or warps. Correlation within a unit then does no
//!   harm (cluster sampling: W. G. Cochran, *Sampling Techniques*, 1977).
//! - **Groups.** Launches, blocks and warps may resemble their neighbours in time. Neighbours are put
//!   together until the smaller side has 16 to 31 groups. A side with fewer than 32 units is left as
//!   it is: if its launches drift, more of them settle it.
//! - **Test.** A permutation test of the difference of the two means, divided by its standard error:
//!   groups are dealt to the two sides anew, at random. It is exact if both sides have one
//!   distribution, whatever that is, and right for many groups if only their means are equal
//!   (E. Chung and J. P. Romano, *Exact and asymptotically robust permutation tests*, 2013). It ends
//!   early if there is nothing to find (J. Besag and P. Clifford, 1991).
//! - **Many regions.** The false discovery rate over all rows is held at
//!   [`DiffOptions::false_discovery_rate`] (Y. Benjamini and Y. Hochberg, 1995). What is smaller than
//!   [`DiffOptions::min_effect`] is no change.
//!
//! One launch a side says whether these two *launches* differ, not whether two programs do: what
//! changes from launch to launch by itself is not in the data. The result says so ([`Diff::notes`]).
//! Several captures a side, taken in turns, are the best. The same input has the same result.
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

mod json;
mod notes;
mod options;
mod row;
mod side;
mod table;
mod test;
#[cfg(test)]
mod tests;
mod threshold;

use std::fmt;

use serde::Serialize;

use crate::model::Trace;

use options::Unit;
pub use options::{DiffError, DiffOptions};
pub use side::DiffSide;
use side::SideFacts;
pub use threshold::{Outcome, Threshold, ThresholdReport};

/// Units a side that are enough for a test to find something: with six on each side the smallest
/// possible p-value is 2 in 924.
pub const ENOUGH_UNITS: usize = 6;

/// The subject of a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Subject {
    /// The kernel's name.
    kernel: String,
    part: Part,
}

/// What of a kernel a row is about, in the order of rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// Its launches, from the first entry of a warp to the last exit, in nanoseconds.
    /// Launches with a warp that never left have no end.
    Launches,
    /// The kernel as its warps see it, from entry to exit.
    Warps,
    /// A region: the names of the regions that enclose it, if paths are matched, and its own. After 64
    /// of them `…` stands for the others.
    Region(Vec<String>),
}

/// `gemm (launches)`, `gemm`, `gemm › tile › load`.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, part } = self;
        match part {
            Part::Launches => write!(f, "{kernel} (launches)"),
            Part::Warps => f.write_str(kernel),
            Part::Region(path) => write!(f, "{kernel} › {}", path.join(" › ")),
        }
    }
}

/// The figures of one side in a row. Their names are those in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct Figures {
    /// Regions (warps, launches) with a begin and an end; the mean is of these.
    count: u64,
    /// Those without an end.
    open: u64,
    /// `count` by the launches of the kernel on this side.
    count_per_launch: f64,
    /// Mean duration.
    mean: f64,
}

/// The conclusion about the times of a row. Its names are those in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// No change was found: the difference may be noise, or is too small.
    NoChange,
    /// The mean grew.
    Slower,
    /// The mean fell.
    Faster,
    /// Only side A has it.
    OnlyA,
    /// Only side B has it.
    OnlyB,
    /// Too few units for a test.
    TooFew,
    /// Recorded in cycles on one side and in nanoseconds on the other.
    OtherClock,
}

/// One region (or kernel) on both sides.
#[derive(Clone, Debug, PartialEq)]
struct DiffRow {
    subject: Subject,
    /// Whether its times are in cycles of the SM; otherwise they are in nanoseconds.
    in_cycles: bool,
    /// Side A; `None` if it has nothing of this.
    a: Option<Figures>,
    /// Side B.
    b: Option<Figures>,
    /// The mean of B less the mean of A.
    absolute: f64,
    /// The mean of B divided by the mean of A, less 1; `None` if A is 0 and B is not.
    relative: Option<f64>,
    /// The p-value of this test alone; `None` if nothing could be tested.
    p: Option<f64>,
    /// The smallest false discovery rate at which this is a discovery, among all tests of the
    /// comparison.
    q: Option<f64>,
    /// Whether it is reported as a change: a discovery, and large enough.
    is_change: bool,
    units: Option<Unit>,
    /// Groups of units on each side.
    unit_counts: (usize, usize),
    /// The number of neighbours in time that make a group.
    group: usize,
    /// The conclusion.
    verdict: Verdict,
}

impl DiffRow {
    /// The units that were compared, in plural (`launches`), if there was a test.
    fn units(&self) -> Option<&'static str> {
        self.units.map(Unit::plural)
    }

    /// Whether the change is large enough to be reported.
    fn is_large(&self, min_effect: f64) -> bool {
        self.absolute != 0.0 && self.relative.is_none_or(|relative| relative.abs() >= min_effect)
    }
}

/// A comparison. `Display` makes a table of it for a terminal.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// Rows in order of the kernels and regions of side A, then those that only B has.
    rows: Vec<DiffRow>,
    a: SideFacts,
    b: SideFacts,
    /// Notes: the limits of the numbers, and the reasons.
    pub notes: Vec<String>,
    /// Whether the two sides ran on devices of different names, or one on the emulator.
    pub devices_differ: bool,
    /// Whether either side has lost records, or diagnostics that say its numbers may be wrong.
    pub is_damaged: bool,
    /// The options of the comparison.
    pub options: DiffOptions,
}

impl Diff {
    /// Compares two sides that were gathered trace by trace.
    ///
    /// # Errors
    ///
    /// [`DiffError`] if the sides were not gathered by the same options.
    pub fn of(a: &DiffSide, b: &DiffSide) -> Result<Self, DiffError> {
        if a.options != b.options {
            let differ = "the two sides were gathered by different options: use the same for both";
            return Err(DiffError(differ.to_owned()));
        }
        let rows = row::rows(a, b);
        let devices_differ = a.facts.emulated != b.facts.emulated
            || (a.facts.captures > 0 && b.facts.captures > 0 && {
                let mut names = [a.facts.devices.clone(), b.facts.devices.clone()];
                names.iter_mut().for_each(|names| names.sort_unstable());
                names[0] != names[1] || names[0].len() > 1
            });
        let is_damaged =
            [a, b].iter().any(|side| side.facts.lost > 0 || !side.facts.errors.is_empty());
        let notes = notes::notes(a, b, &rows, devices_differ);
        let (options, a, b) = (a.options.clone(), a.facts.clone(), b.facts.clone());
        Ok(Self { rows, a, b, notes, devices_differ, is_damaged, options })
    }

    /// Whether neither side has a row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Compares the traces of side A (before) with those of side B (after). If the traces do not all
/// fit into memory, [`DiffSide`] takes them one by one.
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
