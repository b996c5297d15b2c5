//! `profiler record`: runs a program and records its kernels.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use profiler_wire::spool::{Launches, Settings};
use regex_lite::Regex;

use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::kernels::{RegionArguments, per_cent, regex};
use crate::record;
use crate::units::{parse_bytes, whole};

const EXAMPLES: &str = "\
Examples:
  profiler record -- python3 train.py
  profiler record -o gemm --kernel 'gemm|softmax' -- ./program
  profiler record --launches 10..12 --blocks all -- python3 bench.py
  profiler record --every 100 --keep last -- ./server

The program and its results stay as they are. Kernels whose PTX passes through
the CUDA driver or ptxas record; all others are shown as whole launches. Of each
kernel the first, second, fourth, eighth launch and so on is recorded; the launch after
each is timed and not recorded, which shows what recording costs.

The exit status is the program's own; 127 if there is no such program, 126 if it
cannot be run.";

/// Run a program and record what its kernels do inside
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Record kernels whose names this regular expression matches [default: all]
    #[arg(long, value_name = "REGEX", value_parser = regex)]
    kernel: Option<Regex>,
    /// Record these launches of each kernel, counted from 1: `3..6` is the third to the fifth, `3` the third
    #[arg(long, value_name = "A..B", value_parser = launches, conflicts_with = "every")]
    launches: Option<Launches>,
    /// Record every N-th launch of each kernel
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<NonZeroU64>)]
    every: Option<NonZeroU64>,
    /// How many blocks of a launch to record, spread over the grid; `all`, or at least so many [default: as
    /// many as have about 1000 warps]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = blocks)]
    blocks: Option<u64>,
    /// The warps of a block to record: `0`, `0-3,8` [default: all]
    #[arg(long, value_name = "LIST", value_parser = warps)]
    warps: Option<u32>,
    /// Which records to keep of a warp that makes more than 1024
    #[arg(long, value_enum, default_value_t = Keep::First)]
    keep: Keep,
    /// The share of a loop's time that records may take, in per cent; a region that would take more is left
    /// out
    #[arg(long, value_name = "PER_CENT", default_value_t = 5.0, allow_negative_numbers = true,
          value_parser = per_cent)]
    budget: f64,
    #[command(flatten)]
    regions: RegionArguments,
    /// GPU memory for records; no more than a quarter of what is free is taken
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_bytes)]
    memory: u64,
    /// The name of the captures: NAME.capture, or NAME.PID.capture if several processes launch kernels
    #[arg(long, short, value_name = "NAME", default_value = "profile", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// Record nothing, and list which kernels would be recorded, with their regions
    #[arg(long, conflicts_with_all = ["launches", "every", "open"])]
    list: bool,
    /// Open the timeline in the Perfetto UI when the program has ended. The trace does not leave this machine
    #[arg(long)]
    open: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND",
          value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

/// Which records are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Keep {
    /// The first
    First,
    /// The last
    Last,
}

fn launches(text: &str) -> Result<Launches, String> {
    const FORM: &str = "give two numbers, like 1..11 for the first ten, or one";
    let number = |text: &str| text.parse::<u64>().map_err(|_| FORM.to_owned());
    let (start, end) = match text.split_once("..") {
        Some((start, end)) => (number(start)?, number(end)?),
        None => (number(text)?, number(text)?.saturating_add(1)),
    };
    if start == 0 {
        return Err("launches are counted from 1".to_owned());
    }
    if start < end { Ok(Launches::Range(start, end)) } else { Err("it has no launch".to_owned()) }
}

fn blocks(text: &str) -> Result<u64, String> {
    match text.parse() {
        _ if text == "all" => Ok(u64::MAX),
        Ok(blocks) if blocks > 0 => Ok(blocks),
        _ => Err("give a number from 1 on, or `all`".to_owned()),
    }
}

fn warps(text: &str) -> Result<u32, String> {
    let mut mask = 0;
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|warp| *warp < 32);
        let range = number(first).zip(number(last)).filter(|(first, last)| first <= last);
        let (first, last) = range.ok_or("give numbers from 0 to 31, like 0-3,8")?;
        mask |= (u32::MAX >> (31 - last)) & (u32::MAX << first);
    }
    Ok(mask)
}

pub(super) fn run(arguments: Arguments, console: &Console) -> Result<Verdict, Error> {
    let launches = arguments.every.map(|step| Launches::Every(step.get())).or(arguments.launches);
    let regions = arguments.regions.read()?;
    let settings = Settings {
        kernel: arguments.kernel.map(|regex| regex.to_string()).unwrap_or_default(),
        budget: arguments.budget / 100.0,
        launches: if arguments.list {
            Launches::None
        } else {
            launches.unwrap_or(Launches::Doubling)
        },
        blocks: arguments.blocks.unwrap_or(0),
        warp_mask: arguments.warps.unwrap_or(u32::MAX),
        keep_last: arguments.keep == Keep::Last,
        memory: arguments.memory,
        regions: regions.selections.iter().map(ToString::to_string).collect(),
        auto: regions.auto,
    };
    record::run(&settings, &arguments.command, &arguments.output, arguments.open, console)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_warps_are_masks() {
        assert_eq!(warps("0"), Ok(1));
        assert_eq!(warps("0-3,8"), Ok(0x10f));
        assert_eq!(warps("0-31"), Ok(u32::MAX));
        assert!(warps("32").is_err() && warps("3-1").is_err() && warps("").is_err());
    }

    #[test]
    fn launches_are_counted_from_one() {
        assert_eq!(launches("1..11"), Ok(Launches::Range(1, 11)));
        assert!(launches("0..3").is_err() && launches("3..3").is_err() && launches("4..").is_err());
        assert_eq!(launches("4"), Ok(Launches::Range(4, 5)));
    }
}
