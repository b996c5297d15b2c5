//! `profiler timeline`: the warps of a launch over time, on a terminal.

mod draw;
mod times;

use std::ops::RangeInclusive;

use clap::Args;
use profiler_trace::{Launch, Trace, WarpSource};

use crate::arguments::CaptureArguments;
use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::selection::WarpArguments;
use crate::units::{whole, whole_in};
use crate::window::Window;
use crate::{load, output, terminal};
use times::{Axis, Times};

const EXAMPLES: &str = "\
Examples:
  profiler timeline gemm.capture
  profiler timeline gemm.capture --launch 3 --window 20%..40%
  profiler timeline gemm.capture --block 0 --warp 0 --window 10us..12.5us
  profiler timeline gemm.capture --window -20us..100%";

/// The width of a timeline without a terminal.
const WIDTH: usize = 100;
/// The widths that a user may choose.
const WIDTHS: RangeInclusive<u32> = 40..=1000;

/// Draw the warps of a launch over time, on the terminal
///
/// A row is a region, a column a stretch of time. The fill of a cell, in eighths, is the share of the
/// warps' time in the kernel that they spent in the region. A region without an end reaches to the end of
/// its warp.
///
/// If the program recorded spans of its host, each kind of span has a row, too. Calls come before the
/// kernels that they launch, so a window may begin before its launch.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: CaptureArguments,
    /// The launch to show, by its index; `profiler info` lists them
    #[arg(long, value_name = "INDEX", default_value_t = 0, allow_negative_numbers = true,
          value_parser = whole::<usize>)]
    launch: usize,
    /// The stretch of time to show, from the begin of the launch: 10us..20us, 25%..50%, 1ms..; times before
    /// it are negative: -20us..100%
    #[arg(long, value_name = "START..END", allow_hyphen_values = true)]
    window: Option<Window>,
    /// The number of regions that have a row, those with the most time first
    #[arg(long, value_name = "COUNT", default_value_t = 24, allow_negative_numbers = true,
          value_parser = whole_in(1..=100_000_u32))]
    rows: u32,
    /// The width of the drawing, in characters [default: the terminal's width, else 100]
    #[arg(long, value_name = "CHARACTERS", allow_negative_numbers = true,
          value_parser = whole_in(WIDTHS))]
    width: Option<u32>,
    #[command(flatten)]
    warps: WarpArguments,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let input = &arguments.input;
    let capture = load::capture(&input.capture, input.reading, console)?.capture;
    let decoder = load::decoder(&capture, input.reading);
    let source = load::streamed(&decoder, console);
    let trace = source.outline();
    console.diagnostics(&trace.diagnostics);
    let launch = launch(trace, arguments.launch)?;
    let length_ns = launch.end_ns - launch.start_ns;
    let window = match arguments.window {
        Some(window) => window.on(length_ns, "the launch")?,
        // A launch of no length has a moment to show.
        None => (0.0, length_ns.max(1.0)),
    };
    let is_taken =
        |index: &usize| trace.warps.get(*index).is_some_and(|warp| arguments.warps.takes(warp));
    let warps: Vec<usize> = launch.warps.clone().filter(is_taken).collect();
    if warps.is_empty() {
        return Err(Error::new(format!("launch {} has no such warp", arguments.launch))
            .with_help("choose others by --sm, --block and --warp"));
    }
    let width = match arguments.width {
        Some(width) => width as usize,
        None => terminal::width_of_stdout().unwrap_or(WIDTH),
    };
    let (start_ns, end_ns) = (launch.start_ns + window.0, launch.start_ns + window.1);
    let labels = draw::label_width(trace, width);
    let axis = Axis { start_ns, end_ns, columns: width - labels - draw::SHARD_WIDTH };
    let times = console.work("drawing", || Times::gather(&source, &warps, &axis));
    let drawing = draw::Drawing {
        trace,
        launch_index: arguments.launch,
        launch,
        warps: &warps,
        axis,
        label_width: labels,
        most_rows: arguments.rows as usize,
        times,
    };
    output::print(&terminal::lines(&drawing.text(), Some(width)))?;
    Ok(Verdict::Clean)
}

fn launch(trace: &Trace, index: usize) -> Result<&Launch, Error> {
    trace.launches.get(index).ok_or_else(|| match trace.launches.len() {
        0 => Error::new("the capture holds no launch: no kernel was recorded").with_help(
            "launch a profiled kernel while the session is attached; \
             `profiler check` says what else may be wrong",
        ),
        count => Error::new(format!("there is no launch {index}"))
            .with_help(format!("the launches are 0 to {}; `profiler info` lists them", count - 1)),
    })
}
