//! `profiler report`: everything on one HTML page.

use clap::{Args, ValueHint};
use profiler_report::{ReportOptions, write_html};
use profiler_trace::WarpSource;

use crate::arguments::{CaptureArguments, File};
use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::load;
use crate::output::{self, Content};
use crate::selection::{self, LaunchArguments, WarpArguments};
use crate::units::whole_in;
use crate::window::Window;

const EXAMPLES: &str = "\
Examples:
  profiler report gemm.capture -o gemm.html
  profiler report gemm.capture -o slowest.html --launch 17
  profiler report gemm.capture -o gemm.html --window 25%..50% --title 'gemm, 4096 x 4096'";

/// Write one HTML page with figures, distributions, timeline and maps
///
/// The page needs no network and no server: open the file in a browser.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: CaptureArguments,
    #[command(flatten)]
    launches: LaunchArguments,
    /// The file to write; `-` for standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: File,
    /// The page's title [default: the names of the kernels]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The stretch of time that the timeline shows: 10us..20us, 25%..50%, 1ms..; counted from the begin of
    /// the first shown launch; times before it are negative: -50us..100%. All other figures are of whole
    /// launches
    #[arg(long, value_name = "START..END", allow_hyphen_values = true)]
    window: Option<Window>,
    /// The megabytes that single regions may take in the page, before compression; regions beyond that are
    /// drawn as sums
    #[arg(long, value_name = "MEGABYTES", default_value_t = 8, allow_negative_numbers = true,
          value_parser = whole_in(0..=1024_u32))]
    detail: u32,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let input = &arguments.input;
    let output = &arguments.output;
    output::check(output, Content::Text, &[&input.capture])?;
    let capture = load::capture(&input.capture, input.reading, console)?.capture;
    let decoder = load::decoder(&capture, input.reading);
    let (decoder, unmet) =
        selection::only(decoder, &arguments.launches, &WarpArguments::default(), console)?;
    unmet.iter().for_each(|unmet| console.note(unmet));
    let trace = load::streamed(&decoder, console);
    let outline = trace.outline();
    console.diagnostics(&outline.diagnostics);
    let window = match arguments.window {
        Some(window) => window.on_launches(outline, outline.shown_launches())?,
        None => None,
    };
    let options = ReportOptions {
        title: arguments.title.clone(),
        window,
        detail_bytes: arguments.detail as usize * 1_000_000,
    };
    output::write(output, Content::Text, &[&input.capture], console, |writer| {
        write_html(&trace, writer, &options)
    })?;
    Ok(Verdict::Clean)
}
