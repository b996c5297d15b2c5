//! `profiler export`: a capture in the formats of other tools.

mod format;
mod options;

use clap::{Args, ValueHint};
use flate2::Compression;
use flate2::write::GzEncoder;
use profiler_trace::Decoder;

use crate::arguments::{CaptureArguments, File};
use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::load;
use crate::output::{self, Content, WriteError};
use format::Format;
use options::Options;

const EXAMPLES: &str = "\
Examples:
  profiler export gemm.capture -o gemm.pftrace
  profiler export gemm.capture --to perfetto --group-by sm -o by-sm.pftrace
  profiler export gemm.capture -o gemm.json.gz
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
    /// Compress by gzip, which ui.perfetto.dev reads as it is; so does a name that ends in .gz
    #[arg(long)]
    gzip: bool,
    #[command(flatten)]
    options: options::FormatArguments,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let output = arguments.output.as_ref().unwrap_or(&File::Standard);
    let name = output.path().map(|path| path.to_string_lossy());
    let (name, is_gzip) = match name.as_deref().map(|name| (name, name.strip_suffix(".gz"))) {
        Some((_, Some(name))) => (Some(name), true),
        Some((name, None)) => (Some(name), arguments.gzip),
        None => (None, arguments.gzip),
    };
    let format = match (arguments.to, name) {
        (Some(format), _) => format,
        (None, Some(name)) => Format::of_name(name)?,
        (None, None) => {
            return Err(Error::new("which format is meant?")
                .with_cure("give --to FORMAT where the output has no name that says it"));
        }
    };
    if is_gzip && format.is_compressed() {
        return Err(Error::new(format!("the format {format} is compressed in itself"))
            .with_cure("leave --gzip, or the ending .gz, out"));
    }
    let options = arguments.options.of(format)?;
    let input = &arguments.input;
    let content = if is_gzip { Content::Binary } else { format.content() };
    output::check(output, content, &[&input.capture])?;
    let write = writer_of(format, options, input, console)?;
    output::write(output, content, &[&input.capture], console, |writer| {
        if !is_gzip {
            return write(writer);
        }
        let mut encoder = GzEncoder::new(writer, Compression::default());
        write(&mut encoder)?;
        encoder.finish()?;
        Ok(())
    })?;
    Ok(Verdict::Clean)
}

/// Writes an export.
type Write = Box<dyn Fn(&mut (dyn std::io::Write + Send)) -> Result<(), WriteError>>;

/// Reads a capture and says what is odd about it; what is returned then writes it.
fn writer_of(
    format: Format,
    options: Options,
    input: &CaptureArguments,
    console: &Console,
) -> Result<Write, Error> {
    // A timeline is decoded while it is written, without a trace in memory.
    let streamed = format.streamed().filter(|_| !input.decoding.subtract_cost);
    let Some(write) = streamed else {
        let trace = load::trace(&input.capture, input.decoding, console)?;
        console.diagnostics(&trace.diagnostics);
        return Ok(Box::new(move |writer| format.write(&trace, &options, writer)));
    };
    let capture = load::capture(&input.capture, console)?.capture;
    let outline = {
        let _progress = console.elapsed("decoding");
        Decoder::new(&capture).outline()
    };
    console.diagnostics(&outline.diagnostics);
    Ok(Box::new(move |mut writer| {
        Ok(write(&Decoder::new(&capture), &mut writer, &options.timeline)?)
    }))
}
