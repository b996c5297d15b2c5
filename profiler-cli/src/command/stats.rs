//! `profiler stats`: how often regions ran, how long, and what share of the kernel.

use clap::{Args, ValueEnum};
use profiler_trace::GroupBy;

use crate::arguments::CaptureArguments;
use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::{load, output};

const EXAMPLES: &str = "\
Examples:
  profiler stats gemm.capture
  profiler stats gemm.capture --by launch
  profiler stats gemm.capture --subtract-cost";

/// Show how often regions ran, how long, and what share of the kernel
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: CaptureArguments,
    /// What each row is about
    #[arg(long, value_name = "WHAT", default_value = "site")]
    by: By,
}

/// What each row is about.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    /// A region, over all launches
    Site,
    /// A region in a launch
    Launch,
    /// A region in a block of a launch
    Block,
    /// A region in a warp of a launch
    Warp,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let trace = load::trace(&arguments.input.capture, arguments.input.decoding, console)?;
    let stats = trace.stats_by(match arguments.by {
        By::Site => GroupBy::Site,
        By::Launch => GroupBy::Launch,
        By::Block => GroupBy::Block,
        By::Warp => GroupBy::Warp,
    });
    output::print(&stats.to_string())?;
    Ok(Verdict::Clean)
}
