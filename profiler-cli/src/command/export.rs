//! `profiler export`: a capture in the formats of other tools.

mod format;

use std::collections::BTreeMap;

use clap::{Args, ValueEnum, ValueHint};
use profiler_trace::{ExportOptions, Grouping};

use crate::arguments::{CaptureArguments, File};
use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::{load, output};
use format::Format;

const EXAMPLES: &str = "\
Examples:
  profiler export gemm.capture -o gemm.pftrace
  profiler export gemm.capture --to perfetto --group-by sm -o by-sm.pftrace
  profiler export gemm.capture --to chrome | gzip > gemm.json.gz";

/// Write a capture in the format of another tool
///
/// Where --to is not given, the ending of the output file says which format is meant. A file
/// appears under its name when it is whole.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: CaptureArguments,
    /// The format
    #[arg(long, value_name = "FORMAT", required_unless_present = "output")]
    to: Option<Format>,
    /// The file to write; `-`, or nothing, for standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<File>,
    #[command(flatten)]
    timeline: TimelineArguments,
}

/// What only timelines have.
#[derive(Args, Debug)]
struct TimelineArguments {
    /// Timelines: how tracks are arranged [default: block]
    #[arg(long, value_name = "HOW")]
    group_by: Option<TrackGrouping>,
    /// Timelines: give every slice its raw clock ticks and its nanoseconds before rounding
    #[arg(long)]
    raw_times: bool,
    /// Timelines: name a track that kernels chose by number; may be repeated
    #[arg(long, value_name = "NUMBER=NAME", value_parser = track_name)]
    track_name: Vec<(u32, String)>,
}

/// How tracks are arranged.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TrackGrouping {
    /// Blocks, and in them their warps
    Block,
    /// SMs, in them the blocks that ran there, and in those their warps
    Sm,
}

fn track_name(text: &str) -> Result<(u32, String), String> {
    let parsed = text.split_once('=').and_then(|(number, name)| Some((number.parse().ok()?, name)));
    match parsed {
        Some((number, name)) => Ok((number, name.to_owned())),
        None => Err(format!("`{text}` is no track's number and name, such as 7=loader")),
    }
}

impl TimelineArguments {
    /// Which of them was given, if any.
    fn given(&self) -> Option<&'static str> {
        let given = [
            (self.group_by.is_some(), "--group-by"),
            (self.raw_times, "--raw-times"),
            (!self.track_name.is_empty(), "--track-name"),
        ];
        given.into_iter().find_map(|(is_given, name)| is_given.then_some(name))
    }

    fn options(&self) -> ExportOptions {
        ExportOptions {
            grouping: match self.group_by {
                Some(TrackGrouping::Sm) => Grouping::Sm,
                Some(TrackGrouping::Block) | None => Grouping::Block,
            },
            raw_times: self.raw_times,
            track_names: self.track_name.iter().cloned().collect::<BTreeMap<_, _>>(),
        }
    }
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let output = arguments.output.as_ref().unwrap_or(&File::Standard);
    let format = match (arguments.to, output.path()) {
        (Some(format), _) => format,
        (None, Some(path)) => Format::of_path(path)?,
        (None, None) => {
            return Err(Error::new("which format is meant?")
                .with_cure("give --to FORMAT where the output has no name that says it"));
        }
    };
    if let Some(option) = arguments.timeline.given()
        && !format.is_timeline()
    {
        return Err(Error::new(format!("{option} means nothing to the format {format}"))
            .with_cure(format!("leave {option} out, or export a timeline")));
    }
    let input = &arguments.input;
    let trace = load::trace(&input.capture, input.decoding, console)?;
    console.diagnostics(&trace.diagnostics);
    let options = arguments.timeline.options();
    output::write(output, format.content(), &[&input.capture], console, |writer| {
        format.write(&trace, &options, writer)
    })?;
    Ok(Verdict::Clean)
}
