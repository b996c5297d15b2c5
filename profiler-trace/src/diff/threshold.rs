//! Whether a comparison is good enough, for a machine to decide.

use std::fmt;

use super::{Diff, DiffRow, ENOUGH_UNITS, Figures, Part, Unit, Verdict};
use crate::display::printable;
use crate::units::digits;

/// Limits for side B of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The largest relative growth of a mean that is tolerated: 0.05 for 5 %.
    pub slowdown: f64,
    /// Whether lost records, diagnostics that say that numbers may be wrong, and captures of kernels
    /// that failed or were still running are tolerated.
    pub allow_damage: bool,
    /// Whether regions that are only on side A are tolerated.
    pub allow_missing: bool,
}

/// Means may grow by up to 5 %; nothing may be lost or missing.
impl Default for Threshold {
    fn default() -> Self {
        Self { slowdown: 0.05, allow_damage: false, allow_missing: false }
    }
}

/// Whether side B is good enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It is, as far as can be told.
    Pass,
    /// The data do not tell.
    Inconclusive,
    /// It is not.
    Fail,
}

impl Outcome {
    /// A stable name, for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}

/// An outcome and its reasons. `Display` gives one line for the outcome and one for each reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThresholdReport {
    /// The worst of the reasons.
    pub outcome: Outcome,
    /// Why, the worst first.
    pub reasons: Vec<(Outcome, String)>,
    /// The limit in words: `grew by more than 5 %`.
    asked: String,
}

impl fmt::Display for ThresholdReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked = &self.asked;
        match self.outcome {
            Outcome::Pass => write!(f, "pass: no mean {asked}")?,
            Outcome::Inconclusive => {
                write!(f, "inconclusive: whether a mean {asked} cannot be told")?;
            }
            Outcome::Fail => write!(f, "fail: a mean {asked}")?,
        }
        for (outcome, reason) in &self.reasons {
            write!(f, "\n  {}: {}", outcome.name(), printable(reason))?;
        }
        Ok(())
    }
}

impl Diff {
    /// Holds side B to a threshold.
    ///
    /// It fails if a growth that is a change, and not noise, exceeds the threshold. It is
    /// inconclusive if a row looks slower by more than the threshold but has too few units for a
    /// test or may be noise, if something ended on one side only, if clocks or devices differ, if
    /// something is missing, damaged or cut off by the end of the capture, or if nothing could be
    /// tested. A growth below [`DiffOptions::min_effect`](super::DiffOptions::min_effect) is none.
    #[must_use]
    pub fn check(&self, threshold: &Threshold) -> ThresholdReport {
        let mut reasons = Vec::new();
        let mut inconclusive = |reason: String| reasons.push((Outcome::Inconclusive, reason));
        if self.devices_differ {
            inconclusive("the two sides ran on different devices".to_owned());
        }
        if self.is_damaged && !threshold.allow_damage {
            inconclusive("records were lost, or numbers may be wrong, on a side".to_owned());
        }
        for (name, side) in [("A", &self.a), ("B", &self.b)] {
            if side.unfinished > 0 && !threshold.allow_damage {
                inconclusive(format!("a kernel of side {name} failed or was still running"));
            }
        }
        if !self.rows.iter().any(|row| row.p.is_some()) {
            inconclusive("nothing could be tested: too few units, or nothing in common".to_owned());
        }
        for row in &self.rows {
            match row.verdict {
                Verdict::OnlyA if !threshold.allow_missing => {
                    inconclusive(format!("{} is on side A only", row.subject));
                }
                Verdict::OtherClock => inconclusive(format!(
                    "{} was recorded in cycles here and in nanoseconds there",
                    row.subject
                )),
                _ if let Some(side) = never_ended(row) => {
                    inconclusive(format!("{} did not end on side {side}", row.subject));
                }
                Verdict::TooFew if exceeds(row, threshold) => {
                    inconclusive(format!(
                        "{} looks slower by {} but has too few units for a test",
                        row.subject,
                        percent(row.relative)
                    ));
                }
                _ => {}
            }
        }
        for row in self.rows.iter().filter(|row| exceeds(row, threshold)) {
            let grew = format!("{}: the mean grew by {}", row.subject, percent(row.relative));
            if row.is_change {
                reasons.push((Outcome::Fail, grew));
            } else if row.p.is_some() && row.is_large(self.options.min_effect) {
                let reason = format!(
                    "{grew}, and that may be noise: give each side more captures ({} or more), \
                     taken in turns",
                    help(row)
                );
                reasons.push((Outcome::Inconclusive, reason));
            }
        }
        reasons.sort_by_key(|(outcome, _)| std::cmp::Reverse(*outcome));
        let outcome = reasons.first().map_or(Outcome::Pass, |(outcome, _)| *outcome);
        let asked = format!("grew by more than {}", percent(Some(threshold.slowdown)));
        ThresholdReport { outcome, reasons, asked }
    }
}

/// The side on which something did not end that ended on the other. Regions may be left open now
/// and then, so they count if none ended; launches count if any did not end.
fn never_ended(row: &DiffRow) -> Option<&'static str> {
    let (a, b) = (row.a?, row.b?);
    let is_launch = row.subject.part == Part::Launches;
    let on = |one: Figures, other: Figures| {
        one.count == 0 && other.count > 0 || is_launch && one.open > 0 && other.open == 0
    };
    if on(b, a) { Some("B") } else { on(a, b).then_some("A") }
}

/// Whether the mean grew by more than is tolerated.
fn exceeds(row: &DiffRow, threshold: &Threshold) -> bool {
    row.relative.map_or(row.absolute > 0.0, |relative| relative > threshold.slowdown)
}

/// The number of captures on each side that may settle a test: more than there were.
fn help(row: &DiffRow) -> usize {
    match row.units {
        Some(Unit::Capture) => ENOUGH_UNITS.max(2 * row.unit_counts.0.min(row.unit_counts.1)),
        _ => ENOUGH_UNITS,
    }
}

/// A relative change as people read it.
pub(super) fn percent(relative: Option<f64>) -> String {
    relative
        .map_or_else(|| "from 0".to_owned(), |relative| format!("{} %", digits(relative * 100.0)))
}
