//! The arguments that all commands share.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use anstyle::AnsiColor;
use clap::builder::Styles;
use clap::{Args, Parser, ValueEnum, ValueHint};
use profiler_trace::CAPTURE_FORMAT_VERSION;
use profiler_wire::WIRE_VERSION;

use crate::command::Command;
use crate::{exit, units};

/// The looks of help and of errors about arguments.
const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  profiler record -o gemm -- python3 gemm.py
  profiler info gemm.capture
  profiler stats gemm.capture
  profiler timeline gemm.capture --window 20%..40%
  profiler export gemm.capture --to perfetto -o gemm.pftrace
  profiler check gemm.capture --deny warnings
  ssh gpu cat gemm.capture | profiler stats -";

const ENVIRONMENT: &str = "\
Environment:
  NO_COLOR        if set and not empty, no colour is used
  CLICOLOR_FORCE  if set and not 0, colour is used without a terminal, too";

/// See inside GPU kernels: record programs, and read, show and convert captures
///
/// `record` runs a program and writes a capture, a file that ends in `.capture`; so does a session of a program
/// whose kernels are annotated. All other commands work on any machine, without a GPU.
///
/// Results go to standard output; diagnostics, errors and progress to standard error.
#[derive(Debug, Parser)]
#[command(
    name = "profiler",
    version,
    long_version = long_version(),
    styles = STYLES,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{}\n\n{ENVIRONMENT}", exit::HELP),
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", display_order = order::GLOBAL)]
    pub(crate) color: Color,
    /// Show results and errors only: no progress, no notes, no warnings
    #[arg(long, short, global = true, display_order = order::GLOBAL + 1)]
    pub(crate) quiet: bool,
}

/// The place of shared options in help: after those of the command itself, before clap's own.
mod order {
    pub(super) const READING: usize = 800;
    pub(super) const GLOBAL: usize = 900;
}

fn long_version() -> String {
    format!(
        "{} (reads captures of format version {CAPTURE_FORMAT_VERSION} and wire version {WIRE_VERSION})",
        env!("CARGO_PKG_VERSION")
    )
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Sets it for the whole process.
    pub(crate) fn apply(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// A file; `-` is standard input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum File {
    /// Standard input or output.
    Standard,
    /// The file of this name.
    Path(PathBuf),
}

impl From<OsString> for File {
    fn from(text: OsString) -> Self {
        if text == "-" { Self::Standard } else { Self::Path(text.into()) }
    }
}

impl File {
    /// The file's path, if it has one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Standard => None,
            Self::Path(path) => Some(path),
        }
    }

    /// The name of the file as an input.
    pub(crate) fn input_name(&self) -> impl fmt::Display + '_ {
        self.path().map_or("standard input".into(), Path::to_string_lossy)
    }
}

/// The capture to read, and how.
#[derive(Args, Debug)]
pub(crate) struct CaptureArguments {
    /// The capture to read; `-` for standard input
    #[arg(value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    pub(crate) capture: File,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

/// Options of everything that reads a capture.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ReadingArguments {
    /// Subtract the cost of recording from all times, if the session measured it
    #[arg(long, display_order = order::READING)]
    pub(crate) subtract_cost: bool,
    /// Refuse captures that hold more than this, such as 512M or 2G [default: no limit]
    ///
    /// Use it for captures of strangers: a few bytes of a file can stand for many megabytes. For a moment,
    /// reading may take four times as much, and the command needs memory of its own.
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes,
          allow_negative_numbers = true, display_order = order::READING + 1)]
    pub(crate) memory_limit: Option<u64>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Arguments;

    #[test]
    fn the_arguments_fit_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        let command = Arguments::command();
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:\n  profiler "), "{}", command.get_name());
        }
    }
}
