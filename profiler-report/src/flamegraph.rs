//! A flame graph of the regions, by their own time.

use std::io::{self, Write};

use inferno::flamegraph::{self, Options};
use profiler_trace::{StackGroup, Trace};

use crate::rows::Rows;

/// Sums of whole nanoseconds up to here fit what inferno adds them in.
const LONGEST_NS: f64 = 1e18;

/// What a flame graph shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlamegraphOptions {
    /// Its title; by default the names of the kernels.
    pub title: Option<String>,
}

/// Writes an SVG in which each frame is a region within those that it lies in, the kernel at the
/// bottom, as wide as its time in nanoseconds over all warps, lanes and launches. The writer need not
/// be buffered.
///
/// The frames and their own times are those of [`Trace::write_folded_to`], which says what they are
/// where regions cross, have no end, or were recorded by other lanes.
///
/// # Errors
///
/// Those of the writer; and [`io::ErrorKind::InvalidInput`] where the trace holds no time at all, or
/// more than 30 years of it.
pub fn write_flamegraph(
    trace: &Trace,
    mut writer: impl Write,
    options: &FlamegraphOptions,
) -> io::Result<()> {
    let mut folded = Vec::new();
    trace.write_folded_to(&mut folded, StackGroup::Kernel)?;
    let folded = String::from_utf8_lossy(&folded);
    let mut lines: Vec<&str> = folded.lines().collect();
    lines.sort_unstable();
    let values = lines.iter().filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
    let whole: f64 = values.sum();
    if whole <= 0.0 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the trace holds no kernel and no region that lasted, so that there is nothing to draw; \
             record at least one launch to its end",
        ));
    }
    if whole > LONGEST_NS {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the times of the trace add up to more than 30 years; they are damaged: see its \
             diagnostics, and record again",
        ));
    }
    let rows = Rows::new(trace);
    let mut drawing = Options::default();
    drawing.title = options.title.clone().unwrap_or_else(|| crate::page::kernels(&rows));
    drawing.subtitle = Some(rows.stats.notes.join(" · "));
    drawing.name_type = "Region:".to_owned();
    drawing.count_name = "ns".to_owned();
    // Colours by name: the same trace makes the same bytes.
    drawing.deterministic = true;
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut drawing, lines.iter().copied(), &mut svg)?;
    writer.write_all(&svg)?;
    writer.flush()
}
