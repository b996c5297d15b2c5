//! `profiler timeline`: what the warps of a launch did when, on a terminal.

mod cells;
mod draw;
mod host;
mod rows;

use std::ops::RangeInclusive;

use clap::Args;
use profiler_trace::{Launch, Progress, Site, Trace, WarpSource};
use profiler_wire::SiteKind;

use crate::arguments::CaptureArguments;
use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::selection::WarpArguments;
use crate::units::{whole, whole_in};
use crate::window::Window;
use crate::{load, output, terminal};
use rows::RowKind;

const EXAMPLES: &str = "\
Examples:
  profiler timeline gemm.capture
  profiler timeline gemm.capture --window 20%..40% --rows 24
  profiler timeline gemm.capture --launch 3 --window 10us..12.5us --block 0-3
  profiler timeline gemm.capture --by sm --depth 1
  profiler timeline gemm.capture --window -20us..100%
  profiler timeline gemm.capture --color always | less -R";

/// How wide a timeline is where there is no terminal to ask.
const WIDTH: usize = 100;
/// What fits any terminal that is in use.
const WIDTHS: RangeInclusive<u32> = 40..=1000;
/// How many rows there may be where there is no terminal.
const ROWS: usize = 32;
/// How many there may be on any terminal: fewer join so many warps that little is seen.
const LEAST_ROWS: usize = 8;
/// Lines that always stand around the rows: two of title, the axis, two of how many warps are active, two
/// before the legend, its last line, and the shell's prompt.
const LINES_AROUND: usize = 9;

/// Draw on the terminal what the warps of a launch did, and when
///
/// Columns are equal stretches of time. Each cell shows the innermost region that filled most of it,
/// by a letter of the legend; `·` where warps were in the kernel and mostly in no region; nothing
/// where they were mostly not in the kernel. A region without an end reaches to the end of its warp.
///
/// A row is a warp; where there are more warps than rows, a row is a block or an SM, or several of
/// them, and shows what all of their warps did together. Where several lanes of a warp record, each
/// of them counts.
///
/// Where the program recorded what its host did, each thread of the host that did something in the
/// window has a row above. Calls come before what they launch: a window may begin before its launch.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: CaptureArguments,
    /// Which launch, by its index; `profiler info` lists them
    #[arg(long, value_name = "INDEX", default_value_t = 0, allow_negative_numbers = true,
          value_parser = whole::<usize>)]
    launch: usize,
    /// The stretch of time to show, from the begin of the launch: 10us..20us, 25%..50%, 1ms..; what
    /// was before it is negative: -20us..100%
    #[arg(long, value_name = "START..END", allow_hyphen_values = true)]
    window: Option<Window>,
    /// What a row is [default: what fits: warps, blocks, or SMs]
    #[arg(long, value_name = "WHAT")]
    by: Option<RowKind>,
    /// How many rows there may be; what does not fit is drawn together [default: what the terminal's
    /// height has room for, else 32]
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true,
          value_parser = whole_in(1..=100_000_u32))]
    rows: Option<u32>,
    /// How wide the drawing is, in characters [default: the terminal's width, else 100]
    #[arg(long, value_name = "CHARACTERS", allow_negative_numbers = true,
          value_parser = whole_in(WIDTHS))]
    width: Option<u32>,
    #[command(flatten)]
    warps: WarpArguments,
    /// Show regions at most this deep; 1 is the outermost [default: the innermost]
    #[arg(long, value_name = "DEPTH", allow_negative_numbers = true,
          value_parser = whole_in(1..=u16::MAX))]
    depth: Option<u16>,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let input = &arguments.input;
    let capture = load::capture(&input.capture, input.reading, console)?.capture;
    let decoder = load::decoder(&capture, input.reading);
    let source = load::streamed(&decoder, &capture, input.reading, console);
    let trace = source.outline();
    console.diagnostics(&trace.diagnostics);
    let launch = launch(trace, arguments.launch)?;
    let length_ns = launch.end_ns - launch.start_ns;
    let window = match arguments.window {
        Some(window) => window.on(length_ns, "the launch")?,
        // A launch of no length has a moment to show.
        None => (0.0, length_ns.max(1.0)),
    };
    let selected = rows::select(trace, launch, |warp| arguments.warps.takes(warp));
    if selected.is_empty() {
        return Err(Error::new(format!("launch {} has no such warp", arguments.launch))
            .with_cure("choose others by --sm, --block and --warp"));
    }
    let most_rows = most_rows(arguments, trace);
    let (kind, rows) = rows::arrange(trace, launch, &selected, arguments.by, most_rows);
    let (start_ns, end_ns) = (launch.start_ns + window.0, launch.start_ns + window.1);
    let busy = host::busy(trace, start_ns..end_ns, most_rows);
    let labels = rows.iter().map(|row| row.label.as_str());
    let label_width = terminal::widest(labels.chain(busy.labels()), rows::ACTIVE.len());
    let columns = width(arguments).saturating_sub(label_width + 1).max(1);
    let depth = arguments.depth.unwrap_or(u16::MAX);
    let view = cells::View { start_ns, end_ns, columns, depth };
    let drawing = draw::Drawing {
        trace,
        launch_index: arguments.launch,
        launch,
        window,
        kind,
        columns,
        label_width,
        warps_a_row: rows.iter().map(|row| row.warps.len()).max().unwrap_or(0),
        host: busy.draw(trace, &view, launch.start_ns),
        rows: {
            let names = source.outline().sites_by_name();
            let filled = |row: rows::Row| (row.label, view.fill(&source, &row.warps, &names));
            console.work("drawing", "rows", |_| {
                Progress::expect(rows.len());
                Progress::each(rows).map(filled).collect()
            })
        },
    };
    output::print(&drawing.text())?;
    Ok(Verdict::Clean)
}

fn launch(trace: &Trace, index: usize) -> Result<&Launch, Error> {
    trace.launches.get(index).ok_or_else(|| match trace.launches.len() {
        0 => Error::new("the capture holds no launch: no kernel was recorded").with_cure(
            "launch a profiled kernel while the session is attached; \
             `profiler check` says what else may be wrong",
        ),
        count => Error::new(format!("there is no launch {index}"))
            .with_cure(format!("the launches are 0 to {}; `profiler info` lists them", count - 1)),
    })
}

fn width(arguments: &Arguments) -> usize {
    match arguments.width {
        Some(width) => width as usize,
        None => terminal_size::terminal_size()
            .map_or(WIDTH, |(width, _)| usize::from(width.0).max(*WIDTHS.start() as usize)),
    }
}

fn most_rows(arguments: &Arguments, trace: &Trace) -> usize {
    match (arguments.rows, terminal::height_of_stdout()) {
        (Some(rows), _) => rows as usize,
        (None, Some(height)) => {
            let is_region = |site: &&Site| matches!(site.kind, SiteKind::Region | SiteKind::Names);
            let regions = trace.sites.iter().filter(is_region).count();
            rows_within(height, regions + trace.host.threads.len())
        }
        (None, None) => ROWS,
    }
}

/// How many rows a terminal of this height has room for beside the legend, which may take up to a third of
/// it: of `listed` regions, of which not all need to be in the window.
fn rows_within(height: usize, listed: usize) -> usize {
    height.saturating_sub(LINES_AROUND + listed.min(height / 3)).max(LEAST_ROWS)
}

#[cfg(test)]
mod tests {
    use super::{LEAST_ROWS, rows_within};

    #[test]
    fn rows_and_legend_fit_the_height() {
        assert_eq!(rows_within(24, 4), 11);
        assert_eq!(rows_within(60, 4), 47);
        assert_eq!(rows_within(60, 1000), 31);
        assert_eq!(rows_within(3, 0), LEAST_ROWS);
    }
}
