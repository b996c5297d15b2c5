//! `profiler diff`: changes between two sets of captures, told from noise.

use clap::{Args, ValueEnum, ValueHint};
use profiler_trace::diff::{Diff, DiffOptions, DiffSide, Outcome, Threshold, ThresholdReport};
use profiler_trace::{Diagnostics, GroupBy, StatsQuery, WarpSource, printable};
use serde_json::Value;

use crate::arguments::{File, ReadingArguments};
use crate::console::Console;
use crate::exit::{self, Error, Verdict};
use crate::{load, output, terminal};

const EXAMPLES: &str = "\
Examples:
  profiler diff before.capture after.capture
  profiler diff before.capture after.capture --by path --name 'load*'
  profiler diff --before a1.capture a2.capture --after b1.capture b2.capture --fail-above 3%
  profiler diff before.capture after.capture --format json | jq '.rows[] | .verdict'";

/// Show what changed between two sides, and whether that is more than noise
///
/// Regions are matched by the names of their kernel and themselves. A permutation test compares whole
/// captures, launches, SMs, blocks or warps, never single regions, which depend on each other; the false
/// discovery rate is held over all regions. Best are several captures a side, taken in turns.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES,
          after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub(crate) struct Arguments {
    /// The capture before; `-` for standard input
    #[arg(value_name = "A", value_hint = ValueHint::FilePath,
          required_unless_present = "before", conflicts_with = "before", requires = "b")]
    a: Option<File>,
    /// The capture after
    #[arg(value_name = "B", value_hint = ValueHint::FilePath, conflicts_with = "after")]
    b: Option<File>,
    /// Captures before, instead of A
    #[arg(long, value_name = "CAPTURE", num_args = 1.., value_hint = ValueHint::FilePath,
          requires = "after")]
    before: Vec<File>,
    /// Captures after, instead of B
    #[arg(long, value_name = "CAPTURE", num_args = 1.., value_hint = ValueHint::FilePath,
          requires = "before")]
    after: Vec<File>,
    #[command(flatten)]
    reading: ReadingArguments,
    #[command(flatten)]
    comparison: ComparisonArguments,
    #[command(flatten)]
    threshold: ThresholdArguments,
    /// The output format
    #[arg(long, default_value = "table")]
    format: Format,
}

/// Options of the comparison.
#[derive(Args, Debug)]
struct ComparisonArguments {
    /// How regions are matched
    #[arg(long, value_name = "WHAT", default_value = "name")]
    by: By,
    /// Regions of this name only: `*` stands for any characters, `?` for one; may be repeated
    #[arg(long, value_name = "PATTERN")]
    name: Vec<String>,
    /// Launches of kernels of this name only; may be repeated
    #[arg(long, value_name = "PATTERN")]
    kernel: Vec<String>,
    /// The smallest change of a mean that is reported
    #[arg(long, value_name = "PERCENT", default_value = "1%", allow_hyphen_values = true,
          value_parser = percent)]
    min_effect: f64,
    /// The part of the reported changes that may be false
    #[arg(long, value_name = "PERCENT", default_value = "5%", allow_hyphen_values = true,
          value_parser = percent)]
    false_discovery_rate: f64,
}

/// Options of the threshold.
#[derive(Args, Debug)]
struct ThresholdArguments {
    /// Exit with 1 if a mean grew by more than this, and with 3 if the data cannot tell, as if growth may be
    /// noise
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = percent)]
    fail_above: Option<f64>,
    /// Do not exit with 3 because of losses, errors, or kernels that failed or still ran
    #[arg(long, requires = "fail_above")]
    allow_damage: bool,
    /// Do not exit with 3 because of regions that are gone
    #[arg(long, requires = "fail_above")]
    allow_missing: bool,
}

/// A way to match regions.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    /// By the names of their kernel and themselves
    Name,
    /// By the names of all enclosing regions, too
    Path,
}

/// An output format.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A table for people
    Table,
    /// One JSON object
    Json,
}

/// A percentage, as a part of 1.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is no percentage of 0 or more, such as 2.5%")),
    }
}

impl ComparisonArguments {
    /// Whether all regions of all kernels are compared.
    fn takes_all(&self) -> bool {
        self.name.is_empty() && self.kernel.is_empty()
    }

    fn options(&self) -> DiffOptions {
        let mut query = StatsQuery::new().by(match self.by {
            By::Name => GroupBy::Name,
            By::Path => GroupBy::Path,
        });
        for name in &self.name {
            query = query.name(name);
        }
        for kernel in &self.kernel {
            query = query.kernel(kernel);
        }
        DiffOptions {
            query,
            false_discovery_rate: self.false_discovery_rate,
            min_effect: self.min_effect,
        }
    }
}

impl ThresholdArguments {
    fn threshold(&self) -> Option<Threshold> {
        Some(Threshold {
            slowdown: self.fail_above?,
            allow_damage: self.allow_damage,
            allow_missing: self.allow_missing,
        })
    }
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let sides = [(&arguments.a, &arguments.before), (&arguments.b, &arguments.after)];
    load::check(sides.into_iter().flat_map(|(one, several)| one.iter().chain(several)))?;
    let options = arguments.comparison.options();
    let mut found = Vec::new();
    let mut side = |name: &'static str, one: &Option<File>, several: &[File]| {
        let mut side = DiffSide::new(&options).map_err(|error| Error::new(error.to_string()))?;
        for file in one.iter().chain(several) {
            let read = load::capture(file, arguments.reading, console)?.capture;
            let decoder = load::decoder(&read, arguments.reading);
            let trace = load::streamed(&decoder, console);
            let capture = file.input_name().to_string();
            let begin = format!("side {name}, {}: ", printable(&capture));
            console.diagnostics_after(&begin, &trace.outline().diagnostics);
            console.work("gathering", || side.add(&trace));
            let diagnostics = trace.into_outline().diagnostics;
            found.push(Found { side: name, capture, diagnostics });
        }
        Ok(side)
    };
    let a = side("A", &arguments.a, &arguments.before)?;
    let b = side("B", &arguments.b, &arguments.after)?;
    let diff = console
        .work("comparing", || Diff::of(&a, &b))
        .map_err(|error| Error::new(error.to_string()))?;
    let report = arguments.threshold.threshold().map(|threshold| diff.check(&threshold));
    match arguments.format {
        Format::Table => output::print(&text(&diff, report.as_ref()))?,
        Format::Json => output::print_json(&json(&diff, &found, report.as_ref()))?,
    }
    // A threshold says itself that nothing was compared.
    if diff.is_empty() && report.is_none() && !arguments.comparison.takes_all() {
        return Err(Error::new("nothing is compared: no chosen region is on either side")
            .with_help("choose others by --name and --kernel; `profiler info` lists them"));
    }
    Ok(match report.map(|report| report.outcome) {
        None | Some(Outcome::Pass) => Verdict::Clean,
        Some(Outcome::Fail) => Verdict::Found,
        Some(Outcome::Inconclusive) => Verdict::Unknown,
    })
}

/// The diagnostics of a capture.
struct Found {
    side: &'static str,
    capture: String,
    diagnostics: Diagnostics,
}

impl Found {
    /// An object for each, as `check` writes it, with its side and capture.
    fn json(&self) -> impl Iterator<Item = Value> {
        self.diagnostics.list.iter().map(|diagnostic| {
            let mut found = diagnostic.to_json();
            found["side"] = self.side.to_lowercase().into();
            found["capture"] = self.capture.as_str().into();
            found
        })
    }
}

fn text(diff: &Diff, report: Option<&ThresholdReport>) -> String {
    let width = terminal::width_of_stdout();
    let mut text = terminal::fitted(diff, width);
    if let Some(report) = report {
        text += &terminal::lines(&format!("{report}\n"), width);
    }
    text
}

fn json(diff: &Diff, found: &[Found], report: Option<&ThresholdReport>) -> String {
    let mut json = diff.to_json();
    if let Some(object) = json.as_object_mut() {
        let diagnostics = found.iter().flat_map(Found::json).collect();
        object.insert("diagnostics".to_owned(), Value::Array(diagnostics));
        let report = report.map(ThresholdReport::to_json);
        object.insert("threshold".to_owned(), report.unwrap_or_default());
    }
    format!("{json:#}\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::percent;

    proptest! {
        #[test]
        fn any_text_is_a_share_or_refused(text in "(\\PC|[0-9]|[.e+-]|%|inf|NaN){0,8}") {
            match percent(&text) {
                Ok(share) => prop_assert!(share.is_finite() && share >= 0.0),
                Err(error) => prop_assert!(error.contains("2.5%")),
            }
        }

        #[test]
        fn a_percentage_that_was_written_is_read(number in 0.0..f64::MAX) {
            prop_assert_eq!(percent(&format!("{number}%")), Ok(number / 100.0));
            prop_assert_eq!(percent(&format!("{number}")), Ok(number / 100.0));
        }
    }

    #[test]
    fn percentages_are_read() {
        assert_eq!(percent("2.5%"), Ok(0.025));
        assert_eq!(percent("5 %"), Ok(0.05));
        assert_eq!(percent("3"), Ok(0.03));
        for text in ["", "%", "-1%", "NaN", "inf%", "x"] {
            assert!(percent(text).is_err(), "{text}");
        }
    }
}
