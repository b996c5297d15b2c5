//! `profiler check`: diagnostics, and an exit code for continuous integration.

use std::fmt::Write;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use profiler_trace::{Diagnostic, DiagnosticKind as Kind, Severity, Trace, printable};
use serde_json::{Value, json};

use crate::arguments::{File, ReadingArguments};
use crate::console::{Console, heading};
use crate::exit::{self, Error, Verdict};
use crate::units::counted;
use crate::{load, output};

const EXAMPLES: &str = "\
Examples:
  profiler check gemm.capture
  profiler check gemm.capture --deny warnings
  profiler check *.capture --deny losses,open-region --allow clock-uncertain
  profiler check gemm.capture --format json";

/// Show diagnostics, with an exit code for continuous integration
///
/// Errors mean that numbers may be wrong, warnings that something is missing; notes are good to know. Exits
/// with 1 if a denied diagnostic was found, and with 2 if a capture could not be read. Errors are
/// denied, unless --allow names them.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES,
          after_long_help = format!("{EXAMPLES}\n\n{}\n\n{}", exit::HELP, names()))]
pub(crate) struct Arguments {
    /// The captures to read; `-` for standard input
    #[arg(value_name = "CAPTURE", required = true, value_hint = ValueHint::FilePath)]
    captures: Vec<File>,
    #[command(flatten)]
    reading: ReadingArguments,
    /// Fail on these, too: `warnings`, `notes` (and warnings), `losses` (records or values that were emitted
    /// and not kept), `empty` (no kernel was recorded), or a diagnostic, named as in --help
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = classes(),
          hide_possible_values = true)]
    deny: Vec<Class>,
    /// Never fail on these diagnostics, named as in --help, not even on errors
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = kinds(),
          hide_possible_values = true)]
    allow: Vec<Kind>,
    /// The output format
    #[arg(long, default_value = "text")]
    format: Format,
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each capture, and below it one for each diagnostic, the gravest first
    Text,
    /// One JSON object
    Json,
}

/// A class of findings that can be denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Warnings,
    Notes,
    Losses,
    Empty,
    Kind(Kind),
}

const CLASSES: [(&str, Class); 4] = [
    ("warnings", Class::Warnings),
    ("notes", Class::Notes),
    ("losses", Class::Losses),
    ("empty", Class::Empty),
];

fn class(text: &str) -> Result<Class, String> {
    let class = CLASSES.iter().find(|(name, _)| *name == text).map(|(_, class)| *class);
    class.map_or_else(|| kind(text).map(Class::Kind), Ok)
}

fn kind(text: &str) -> Result<Kind, String> {
    let known = Kind::ALL.iter().find(|kind| kind.name() == text);
    known.copied().ok_or_else(|| format!("`{text}` is no diagnostic"))
}

/// The names for `--deny` and `--allow`, with severity and meaning, for the help.
fn names() -> String {
    let wrapped = textwrap::Options::new(80).initial_indent("      ").subsequent_indent("      ");
    let entry = |kind: &Kind| {
        let meaning = textwrap::fill(kind.meaning(), &wrapped);
        format!("\n  {} ({})\n{meaning}", kind.name(), kind.severity().name())
    };
    "Diagnostics:".to_owned() + &Kind::ALL.iter().map(entry).collect::<String>()
}

fn kinds() -> impl TypedValueParser<Value = Kind> {
    let names = Kind::ALL.iter().map(|kind| PossibleValue::new(kind.name()));
    PossibleValuesParser::new(names).try_map(|text| kind(&text))
}

fn classes() -> impl TypedValueParser<Value = Class> {
    let classes = CLASSES.iter().map(|(name, _)| PossibleValue::new(*name));
    let kinds = Kind::ALL.iter().map(|kind| PossibleValue::new(kind.name()));
    PossibleValuesParser::new(classes.chain(kinds)).try_map(|text| class(&text))
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    load::check(&arguments.captures)?;
    let mut checks = Vec::new();
    let mut unreadable = 0;
    for file in &arguments.captures {
        let name = file.input_name().to_string();
        match load::capture(file, arguments.reading, console) {
            Ok(loaded) => {
                let outline = load::outlined(loaded.capture, arguments.reading, console);
                checks.push(Check::new(arguments, name, &outline.trace));
            }
            Err(error) if arguments.captures.len() == 1 => return Err(error),
            Err(error) => {
                console.error(&error);
                unreadable += 1;
            }
        }
    }
    let denied = checks.iter().any(Check::is_denied);
    match arguments.format {
        Format::Text => output::print_lines(&checks.iter().map(Check::text).collect::<String>())?,
        Format::Json => {
            let checks: Vec<Value> = checks.iter().map(Check::json).collect();
            let all = json!({ "schema": 1, "denied": denied, "captures": checks });
            output::print_json(&format!("{all:#}\n"))?;
        }
    }
    if unreadable > 0 {
        let all = arguments.captures.len();
        return Err(Error::new(format!("{unreadable} of {all} captures could not be read")));
    }
    Ok(Verdict::found_if(denied))
}

/// The findings in one capture.
struct Check {
    name: String,
    /// The gravest first; whether it is denied.
    diagnostics: Vec<(Diagnostic, bool)>,
    recorded: u64,
    lost: u64,
    lost_denied: bool,
    /// Whether no kernel was recorded, which is no fault of the capture.
    is_empty: bool,
    empty_denied: bool,
    /// A sentence about sites that recorded nothing though their kernel ran.
    never_recorded: Option<String>,
}

impl Check {
    fn new(arguments: &Arguments, name: String, trace: &Trace) -> Self {
        let denied = |diagnostic: &Diagnostic| {
            let by = |class: &Class| match *class {
                Class::Warnings => diagnostic.severity() >= Severity::Warning,
                Class::Notes => diagnostic.severity() >= Severity::Info,
                Class::Losses => diagnostic.kind.is_loss(),
                Class::Empty => false,
                Class::Kind(kind) => diagnostic.kind == kind,
            };
            let grave = diagnostic.severity() == Severity::Error;
            !arguments.allow.contains(&diagnostic.kind) && (grave || arguments.deny.iter().any(by))
        };
        let list = trace.diagnostics.list.iter();
        let mut diagnostics: Vec<_> = list.map(|found| (*found, denied(found))).collect();
        diagnostics.sort_by_key(|(diagnostic, _)| std::cmp::Reverse(diagnostic.severity()));
        // A loss may be known by its number alone.
        let explained = diagnostics.iter().any(|(found, _)| found.kind.is_loss());
        let lost = trace.lost();
        let is_empty = trace.launches.is_empty();
        Self {
            name,
            diagnostics,
            recorded: trace.recorded(),
            lost,
            lost_denied: lost > 0 && !explained && arguments.deny.contains(&Class::Losses),
            is_empty,
            empty_denied: is_empty && arguments.deny.contains(&Class::Empty),
            never_recorded: trace.never_recorded_note(),
        }
    }

    fn is_denied(&self) -> bool {
        self.lost_denied || self.empty_denied || self.diagnostics.iter().any(|(_, denied)| *denied)
    }

    fn text(&self) -> String {
        let verdict = if self.is_denied() { "FAILED" } else { "passed" };
        let mut text = format!(
            "{}: {verdict}: {}; {}, {} lost\n",
            printable(&self.name),
            self.counts(),
            counted(self.recorded as usize, "record"),
            self.lost
        );
        for (diagnostic, denied) in &self.diagnostics {
            let denied = if *denied { ", denied" } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {}: {diagnostic}", heading(diagnostic, denied));
        }
        if let Some(note) = &self.never_recorded {
            let _ = writeln!(text, "  note: {}", printable(note));
        }
        text
    }

    fn counts(&self) -> String {
        let of = |severity: Severity, one: &str| {
            let count = self.diagnostics.iter().filter(|(it, _)| it.severity() == severity).count();
            (count > 0).then(|| counted(count, one))
        };
        let counts: Vec<String> = [
            self.is_empty.then(|| "no kernel was recorded".to_owned()),
            of(Severity::Error, "error"),
            of(Severity::Warning, "warning"),
            of(Severity::Info, "note"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if counts.is_empty() { "nothing was odd".to_owned() } else { counts.join(", ") }
    }

    fn json(&self) -> Value {
        let diagnostics = self.diagnostics.iter().map(|(found, denied)| {
            let mut found = found.to_json();
            found["denied"] = json!(denied);
            found
        });
        json!({
            "capture": self.name,
            "denied": self.is_denied(),
            "recorded": self.recorded,
            "lost": self.lost,
            "empty": self.is_empty,
            "never_recorded": self.never_recorded,
            "diagnostics": diagnostics.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, Class, Kind, names};

    #[test]
    fn help_says_of_each_diagnostic_how_grave_it_is_and_what_it_means() {
        let help = names();
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for kind in Kind::ALL {
            let heading = format!("\n  {} ({})\n      ", kind.name(), kind.severity().name());
            assert_eq!(help.matches(&heading).count(), 1, "{heading}");
        }
        let buffer =
            "  buffer-too-small (warning)\n      Records that did not fit the buffer of lane 0\n";
        assert!(help.contains(buffer), "{help}");
    }

    #[test]
    fn every_class_and_every_diagnostic_is_read_by_its_name() {
        for (name, class) in CLASSES {
            assert_eq!(super::class(name), Ok(class));
        }
        for &kind in Kind::ALL {
            assert_eq!(super::class(kind.name()), Ok(Class::Kind(kind)));
        }
        for text in ["", "Warnings", "losses ", "no-such-kind"] {
            assert!(super::class(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_diagnostic_has_the_name_of_a_class() {
        for (class, _) in CLASSES {
            assert!(Kind::ALL.iter().all(|kind| kind.name() != class), "{class}");
        }
    }
}
