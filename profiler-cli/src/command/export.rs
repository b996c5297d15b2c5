//! `profiler export`: a capture in the formats of other tools.

mod format;
mod options;

use clap::{Args, ValueHint};

use crate::arguments::{CaptureArguments, File};
use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::{load, output};
use format::Format;

const EXAMPLES: &str = "\
Examples:
  profiler export gemm.capture -o gemm.pftrace
  profiler export gemm.capture --to perfetto --group-by sm -o by-sm.pftrace
  profiler export gemm.capture --to chrome | gzip > gemm.json.gz
  profiler export gemm.capture --to folded | inferno-flamegraph --countname ns > gemm.svg
  profiler export gemm.capture -o gemm.hatchet && proton-viewer -m normalized_cycles gemm.hatchet
  profiler export gemm.capture --to events-json | jq -c 'select(.name == \"load\")'";

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
    options: options::FormatArguments,
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
    let options = arguments.options.of(format)?;
    let input = &arguments.input;
    let trace = load::trace(&input.capture, input.decoding, console)?;
    console.diagnostics(&trace.diagnostics);
    output::write(output, format.content(), &[&input.capture], console, |writer| {
        format.write(&trace, &options, writer)
    })?;
    Ok(Verdict::Clean)
}
