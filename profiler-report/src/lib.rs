//! One HTML page, and a flame graph, about a trace of profiled GPU kernels.
//!
//! [`write_html`] writes a page that needs neither a network nor a server: figures and tables are plain
//! HTML, and the page's own scripts draw the distributions, the timeline and the maps.
//! [`write_flamegraph`] writes an SVG. Both take a [`Trace`](profiler_trace::Trace) in memory, or a
//! [`StreamedTrace`](profiler_trace::StreamedTrace), whose warps are decoded on demand.
//!
//! The size of a page is bounded, whatever the size of the trace: everything but the timeline's regions is
//! aggregated, and those take no more than [`ReportOptions::detail_bytes`]. The page says what was
//! aggregated or left out.
#![forbid(unsafe_code)]

mod blob;
mod collect;
mod detail;
mod flamegraph;
mod host;
mod launches;
mod nesting;
mod overview;
mod page;
mod rows;
mod tables;
mod text;

use std::io::{self, Write};
use std::ops::Range;

use profiler_trace::WarpSource;

pub use flamegraph::write_flamegraph;

/// Options of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportOptions {
    /// The page's title; by default the names of the kernels.
    pub title: Option<String>,
    /// The part of the trace that the timeline shows, in nanoseconds on the trace's axis; by default
    /// all of it. It must overlap the time of the kernels. All other figures are about the whole trace.
    pub window: Option<Range<f64>>,
    /// The bytes that single regions may take in the page, before compression. A region takes about six. If
    /// they do not suffice, the timeline holds all regions of as many warps as fit, SM by SM; the others
    /// appear only in the rows of the SMs.
    pub detail_bytes: usize,
}

impl Default for ReportOptions {
    /// The whole trace, and 8 MB for regions.
    fn default() -> Self {
        Self { title: None, window: None, detail_bytes: 8_000_000 }
    }
}

/// Writes a page about the trace, which may be one in memory or one that is streamed. The writer need
/// not be buffered.
///
/// Memory beside the trace: 8 bytes for each region, for exact quantiles, and the page.
///
/// # Errors
///
/// Those of the writer; and [`io::ErrorKind::InvalidInput`] if [`window`](ReportOptions::window) holds no
/// moment of the trace.
pub fn write_html(
    trace: &impl WarpSource,
    writer: impl Write,
    options: &ReportOptions,
) -> io::Result<()> {
    page::write(trace, writer, options)
}
