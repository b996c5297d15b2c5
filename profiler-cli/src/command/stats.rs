//! `profiler stats`: how often regions ran, how long, and their share of the kernel.

mod show;

use std::path::Path;

use clap::{Args, ValueEnum, ValueHint};
use profiler_trace::{Capture, GroupBy, Stats, StatsQuery, Trace, WarpSource};

use crate::arguments::{CaptureArguments, File};
use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::load;
use crate::output::{self, Content};
use crate::selection::{self, LaunchArguments, WarpArguments};
use crate::window::Window;

const EXAMPLES: &str = "\
Examples:
  profiler stats gemm.capture
  profiler stats gemm.capture --by path
  profiler stats gemm.capture --name 'load*' --by sm --launch 3
  profiler stats gemm.capture --launch 0 --window 20%..40% --block 0-3
  profiler stats gemm.capture --show balance,critical-path --launch 3
  profiler stats gemm.capture --show waits --kernel 'gemm*'
  profiler stats gemm.capture -o gemm.csv
  profiler stats gemm.capture --format json | jq '.rows[] | {name, p99_ns}'
  profiler stats gemm.capture --show balance --launch 0-9 -o balance.json
  profiler stats gemm.capture --subtract-cost";

/// Show how often regions ran, how long, and what share of the kernel
///
/// Filters of one kind add to each other; filters of different kinds must all be met.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: CaptureArguments,
    /// How regions are grouped into rows [default: name]
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
    /// The tables to show, separated by commas. All but regions show whole launches, one by one (those of
    /// --launch, else the first; of --kernel), and take no --subtract-cost
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "regions")]
    show: Vec<Show>,
    /// The output format [default: by the output's ending .json, .csv, .md or .txt, else table]
    #[arg(long)]
    format: Option<Format>,
    /// The file to write; `-`, or nothing, for standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<File>,
    #[command(flatten)]
    filters: Filters,
}

/// Options that choose regions.
#[derive(Args, Debug)]
struct Filters {
    /// Regions of this name only: `*` stands for any characters, `?` for one; may be repeated
    #[arg(long, value_name = "PATTERN")]
    name: Vec<String>,
    #[command(flatten)]
    launches: LaunchArguments,
    /// Only what begins in this stretch of time: 10us..20us, 25%..50%, 1ms..; counted from the begin
    /// of the launch if there is one, or one is chosen, otherwise from the begin of the first
    #[arg(long, value_name = "START..END", allow_hyphen_values = true)]
    window: Option<Window>,
    #[command(flatten)]
    warps: WarpArguments,
}

/// A table of statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Show {
    /// Regions: how often, how long, what share of the kernel
    Regions,
    /// How evenly a launch is spread over warps, blocks and SMs, and how it ends
    Balance,
    /// Who waits for whom, by signals and waits
    Waits,
    /// The critical path: what the end of a launch waited for
    CriticalPath,
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for people, with notes and diagnostics above it
    #[value(alias = "txt")]
    Table,
    /// The same in Markdown
    #[value(alias = "md")]
    Markdown,
    /// A JSON object with diagnostics and rows
    Json,
    /// A line for each region, a column for each figure
    Csv,
}

/// A grouping of regions.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    /// A name of regions, over all launches
    Name,
    /// The same, with places in the source that share a name told apart
    Site,
    /// A region within those that enclose it, over all launches
    Path,
    /// A region in a launch
    Launch,
    /// A region on an SM, over all launches
    Sm,
    /// A region in a block of a launch
    Block,
    /// A region in a warp of a launch
    Warp,
}

impl From<By> for GroupBy {
    fn from(by: By) -> Self {
        match by {
            By::Name => Self::Name,
            By::Site => Self::Site,
            By::Path => Self::Path,
            By::Launch => Self::Launch,
            By::Sm => Self::Sm,
            By::Block => Self::Block,
            By::Warp => Self::Warp,
        }
    }
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let format = arguments.format();
    arguments.refuse_what_does_not_fit(format)?;
    let capture = &arguments.input.capture;
    let output = arguments.output.as_ref().unwrap_or(&File::Standard);
    let content = if format == Format::Json { Content::Json } else { Content::Text };
    output::check(output, content, &[capture])?;
    let reading = arguments.input.reading;
    let read = load::capture(capture, reading, console)?.capture;
    let (mut stats, outline) = match arguments.show.contains(&Show::Regions) {
        true => arguments.stats(&read, console).map(|(stats, outline)| (Some(stats), outline))?,
        false => (None, Trace::default()),
    };
    // Tables of whole launches need the trace in memory; regions alone do not.
    let trace = match arguments.is_about_launches() {
        true => load::decoded(read, reading, console),
        false => outline,
    };
    let has_diagnostics = match format {
        Format::Table | Format::Markdown => stats.is_some(),
        Format::Json => true,
        Format::Csv => false,
    };
    if !has_diagnostics {
        console.diagnostics(&trace.diagnostics);
    }
    match (&mut stats, format) {
        (Some(stats), Format::Table | Format::Markdown) => {
            stats.diagnostics.list.retain(|diagnostic| console.shows(diagnostic));
        }
        // A table of CSV has no place for the sentences.
        (Some(stats), Format::Csv) => stats.unmet.iter().for_each(|unmet| console.note(unmet)),
        _ => {}
    }
    // If this fails, the chosen launches may be lost.
    let say_why = || {
        if has_diagnostics {
            console.diagnostics(&trace.diagnostics)
        }
    };
    let launches = arguments.launches(&trace, console).inspect_err(|_| say_why())?;
    output::write(output, content, &[capture], console, |writer| {
        let of = (stats.as_ref(), &trace);
        show::write(&arguments.show, format, of, &launches, output::width(output), writer)?;
        Ok(())
    })?;
    Ok(Verdict::Clean)
}

impl Arguments {
    /// The statistics of the chosen regions, and the trace without them.
    fn stats(&self, read: &Capture, console: &Console) -> Result<(Stats, Trace), Error> {
        let (reading, filters) = (self.input.reading, &self.filters);
        let decoder = load::decoder(read, reading);
        let (decoder, unmet) =
            selection::only(decoder, &filters.launches, &filters.warps, console)?;
        let trace = load::streamed(&decoder, console);
        // The chosen regions may be lost.
        let say_why = || console.diagnostics(&trace.outline().diagnostics);
        let query = filters.query(trace.outline()).inspect_err(|_| say_why())?;
        let query = query.by(self.by.unwrap_or(By::Name).into());
        let stats = console.work("gathering statistics", || Stats::of(&trace, &query));
        if stats.rows.is_empty() && !stats.unmet.is_empty() {
            say_why();
            return Err(Error::new(stats.unmet.join("; "))
                .with_help("choose others; `profiler info` lists launches and regions"));
        }
        unmet.iter().for_each(|unmet| console.note(unmet));
        Ok((stats, trace.into_outline()))
    }

    /// The launches to show one by one: those of `--launch`, else the first; of `--kernel`.
    fn launches(&self, trace: &Trace, console: &Console) -> Result<Vec<usize>, Error> {
        if !self.is_about_launches() {
            return Ok(Vec::new());
        }
        let given = &self.filters.launches;
        let mut launches = given.of(&trace.launches, &trace.sites)?;
        // With regions, it has been said.
        if !self.show.contains(&Show::Regions) {
            let unmet = given.unmet(&trace.launches, &trace.sites);
            unmet.iter().for_each(|unmet| console.note(unmet));
        }
        if let (None, [first, _, ..]) = (&given.launch, launches.as_slice()) {
            let of = match given.kernel.as_slice() {
                [] => format!("of 0 to {}", launches.len() - 1),
                names => format!("is the first of {} of {}", launches.len(), names.join(" or ")),
            };
            console.note(&format!("launch {first} {of}; --launch chooses"));
        }
        if given.launch.is_none() {
            launches.truncate(1);
        }
        Ok(launches)
    }

    /// Whether a table of whole launches is to be shown.
    fn is_about_launches(&self) -> bool {
        self.show.iter().any(|show| *show != Show::Regions)
    }

    /// The format that is asked for, or that the output's ending names, or a table.
    fn format(&self) -> Format {
        let ending = self.output.as_ref().and_then(File::path).and_then(Path::extension);
        let named = ending.and_then(|ending| Format::from_str(ending.to_str()?, true).ok());
        self.format.or(named).unwrap_or(Format::Table)
    }

    fn refuse_what_does_not_fit(&self, format: Format) -> Result<(), Error> {
        if format == Format::Csv && self.is_about_launches() {
            return Err(Error::new(
                "a CSV file holds the table of regions, and --show names others",
            )
            .with_help("write the others with --format json"));
        }
        if self.input.reading.subtract_cost && self.is_about_launches() {
            return Err(Error::new(
                "--subtract-cost shortens each warp by its own cost, and balance, waits and \
                 critical-path compare times of several warps",
            )
            .with_help("leave --subtract-cost out, or show regions alone"));
        }
        let filters = &self.filters;
        let given = [
            ("--by", self.by.is_some()),
            ("--name", !filters.name.is_empty()),
            ("--window", filters.window.is_some()),
            ("--sm", filters.warps.sm.is_some()),
            ("--block", !filters.warps.block.is_empty()),
            ("--warp", filters.warps.warp.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) if !self.show.contains(&Show::Regions) => Err(Error::new(format!(
                "{option} chooses regions, which are not shown: balance, waits and critical-path \
                 show whole launches"
            ))
            .with_help(format!(
                "leave {option} out, as --launch and --kernel choose launches, or add regions to --show"
            ))),
            _ => Ok(()),
        }
    }
}

impl Filters {
    fn query(&self, trace: &Trace) -> Result<StatsQuery, Error> {
        let mut query = StatsQuery::new();
        for name in &self.name {
            query = query.name(name);
        }
        if let Some(window) = self.window
            && let Some(window) = window.filter_on_launches(trace, trace.shown_launches())?
        {
            query = query.window_ns(window);
        }
        Ok(query)
    }
}
