//! Options of a comparison.

use std::fmt;

use crate::file::debug_as_display;
use crate::stats::rows::group_name;
use crate::stats::{GroupBy, StatsQuery};

/// The unit of a test. All regions within a unit are taken together, because they depend on each
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Unit {
    /// A capture.
    Capture,
    /// A launch.
    Launch,
    /// An SM, with all that ran on it in all launches of its side.
    Sm,
    /// A block of a launch.
    Block,
    /// A warp of a launch.
    Warp,
}

impl Unit {
    /// From the coarsest to the finest.
    pub(super) const ALL: [Self; 5] =
        [Self::Capture, Self::Launch, Self::Sm, Self::Block, Self::Warp];

    /// Its name for so many.
    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::Capture => "captures",
            Self::Launch => "launches",
            Self::Sm => "SMs",
            Self::Block => "blocks",
            Self::Warp => "warps",
        }
    }
}

/// Options of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffOptions {
    /// The launches, warps and regions of the comparison. By [`GroupBy::Name`], the default,
    /// regions are matched by their name within their kernel, so sites with one name are one row.
    /// By [`GroupBy::Path`] they are matched by the names of their enclosing regions as well.
    pub query: StatsQuery,
    /// The tolerated share of false ones among the reported changes; above 0 and below 1.
    pub false_discovery_rate: f64,
    /// The smallest relative change that is reported; from 0 on.
    pub min_effect: f64,
}

/// A false discovery rate of 5 %, changes from 1 % on.
impl Default for DiffOptions {
    fn default() -> Self {
        Self { query: StatsQuery::new(), false_discovery_rate: 0.05, min_effect: 0.01 }
    }
}

impl DiffOptions {
    pub(super) fn check(&self) -> Result<(), DiffError> {
        let group = self.query.group_by();
        if !matches!(group, GroupBy::Name | GroupBy::Path) {
            return Err(DiffError(format!(
                "regions of two sides cannot be matched by {}: group by name or by path",
                group_name(group)
            )));
        }
        let rate = self.false_discovery_rate;
        if !(rate > 0.0 && rate < 1.0) {
            return Err(DiffError(format!(
                "a false discovery rate of {} % makes no sense: take one above 0 and below 100 %, \
                 such as 5 %",
                rate * 100.0
            )));
        }
        if !(self.min_effect >= 0.0 && self.min_effect.is_finite()) {
            return Err(DiffError(format!(
                "a smallest effect of {} % makes no sense: take one from 0 on, such as 1 %",
                self.min_effect * 100.0
            )));
        }
        Ok(())
    }
}

/// Options that cannot be, or sides of different options. `Display` names the remedy, and `Debug` is
/// the same text.
#[derive(Clone, PartialEq)]
pub struct DiffError(pub(super) String);

impl fmt::Display for DiffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

debug_as_display!(DiffError);

impl std::error::Error for DiffError {}
