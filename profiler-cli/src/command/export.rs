//! `profiler export`: a capture in the formats of other tools.

mod format;
mod options;

use clap::{Args, ValueHint};
use flate2::Compression;
use flate2::write::GzEncoder;
use profiler_trace::Diagnostics;

use crate::arguments::{CaptureArguments, File};
use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::load;
use crate::output::{self, Content};
use crate::selection::{self, LaunchArguments, WarpArguments};
use crate::units::counted;
use format::Format;

const EXAMPLES: &str = "\
Examples:
  profiler export gemm.capture -o gemm.pftrace
  profiler export gemm.capture --to perfetto --group-by sm -o by-sm.pftrace
  profiler export gemm.capture --launch 3 --block 0-7 -o part.pftrace
  profiler export gemm.capture -o gemm.json.gz
  profiler export gemm.capture --to folded | inferno-flamegraph --countname ns > gemm.svg
  profiler export gemm.capture -o gemm.hatchet && proton-viewer -m normalized_cycles gemm.hatchet
  profiler export gemm.capture --to events-json | jq -c 'select(.name == \"load\")'";

/// The level of `--gzip`: the fastest at which slices of a Perfetto timeline take at most 8 bytes, those
/// with values that differ, too (`lab/measurements/host-side.md`).
const GZIP_LEVEL: u32 = 3;

/// Write a capture in the format of another tool
///
/// The ending of the output names the format, unless --to does. A file appears under its name when it is
/// whole.
///
/// A viewer may hold only a part of a large capture. Clocks, arrows and diagnostics are found in all of it,
/// whatever part is written.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: CaptureArguments,
    /// The format; may be left out if the ending of the output names it
    #[arg(long, value_name = "FORMAT")]
    to: Option<Format>,
    /// The file to write; `-`, or nothing, for standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<File>,
    /// Compress by gzip, which ui.perfetto.dev reads; a name that ends in .gz does the same. The level is 3:
    /// level 6 is a little smaller and takes six times as long; for the smallest file, pipe into `gzip -9`
    #[arg(long)]
    gzip: bool,
    #[command(flatten)]
    launches: LaunchArguments,
    #[command(flatten)]
    warps: WarpArguments,
    #[command(flatten)]
    options: options::FormatArguments,
}

/// A name without its ending for gzip, if it has that.
fn without_gz(name: &str) -> Option<&str> {
    let (start, ending) = name.split_at_checked(name.len().checked_sub(3)?)?;
    ending.eq_ignore_ascii_case(".gz").then_some(start)
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let output = arguments.output.as_ref().unwrap_or(&File::Standard);
    let name = output.path().map(|path| path.to_string_lossy());
    let (name, is_gzip) = match name.as_deref().map(|name| (name, without_gz(name))) {
        Some((_, Some(name))) => (Some(name), true),
        Some((name, None)) => (Some(name), arguments.gzip),
        None => (None, arguments.gzip),
    };
    let format = match (arguments.to, name) {
        (Some(format), _) => format,
        (None, Some(name)) => Format::of_name(name)?,
        (None, None) => {
            return Err(Error::new("neither a format nor an output file was given").with_help(
                "name the file to write, such as -o gemm.pftrace or -o gemm.json, whose ending names \
                 the format; or give --to FORMAT to write to standard output",
            ));
        }
    };
    if is_gzip && format.is_compressed() {
        return Err(Error::new(format!("the format {format} is compressed in itself"))
            .with_help("leave --gzip, or the ending .gz, out"));
    }
    let options = arguments.options.of(format)?;
    let input = &arguments.input;
    let content = if is_gzip { Content::Binary } else { format.content() };
    output::check(output, content, &[&input.capture])?;
    let capture = load::capture(&input.capture, input.reading, console)?.capture;
    let decoder = load::decoder(&capture, input.reading);
    let all = decoder.warp_count();
    let (decoder, unmet) =
        selection::only(decoder, &arguments.launches, &arguments.warps, console)?;
    let mut diagnostics = Diagnostics::default();
    let written = output::write(output, content, &[&input.capture], console, |writer| {
        if !is_gzip {
            return format.write(&decoder, &options, writer, &mut diagnostics);
        }
        let mut encoder = GzEncoder::new(writer, Compression::new(GZIP_LEVEL));
        format.write(&decoder, &options, &mut encoder, &mut diagnostics)?;
        encoder.finish()?;
        Ok(())
    });
    console.diagnostics(&diagnostics);
    unmet.iter().for_each(|unmet| console.note(unmet));
    if decoder.warp_count() < all {
        console.note(&format!("wrote {} of {}", decoder.warp_count(), counted(all, "warp")));
    }
    if !format.shows_host() && !decoder.host().is_empty() {
        let spans = counted(decoder.host().spans().count(), "span");
        console.note(&format!(
            "left out {spans} of the host, which {format} has no place for; perfetto, chrome, \
             events-csv and events-json have them"
        ));
    }
    written.map(|()| Verdict::Clean)
}
