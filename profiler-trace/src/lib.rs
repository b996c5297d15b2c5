//! Decodes the records of profiled GPU kernels.
//!
//! The way through the crate: a [`SiteTable`] is read from a module's PTX, a session fills a
//! [`Capture`], [`decode`](decode()) turns it into a [`Trace`], and exporters and statistics read
//! that. No CUDA in it, and no `unsafe`.
//!
//! No bytes make this crate panic. Nothing is dropped in silence: [`Trace::diagnostics`] counts
//! everything lost or odd.
#![forbid(unsafe_code)]

mod capture;
mod clock;
mod cost;
mod decode;
mod diagnostic;
pub mod diff;
mod display;
mod edges;
mod export;
mod file;
mod host;
mod json;
pub mod model;
mod nesting;
mod progress;
mod record_cost;
mod resources;
mod sequence;
mod site_table;
mod source;
mod stats;
mod table;
#[doc(hidden)]
pub mod units;

pub use capture::{
    CAPTURE_FORMAT_VERSION, Capture, CaptureEnd, CaptureError, KeptClock, ModuleCapture,
};
pub use decode::{Decoder, StreamedTrace, WarpRecords, decode};
pub use diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Location, Severity};
pub use display::{markdown, printable, shortened, shortened_within};
pub use export::{Export, ExportOptions, StackGroup};
pub use file::FileError;
pub use host::{ClockPair, HostCapture, HostRecord, HostSpan, HostSpanKind, HostThread, HostTrace};
pub use model::*;
pub use nesting::Nesting;
pub use progress::Progress;
pub use record_cost::{FormCosts, RecordCost, StampCost, StampWait, StampWaits};
pub use resources::{KernelResources, ResourceEffect};
pub use site_table::{SiteTable, SiteTableError};
pub use source::WarpSource;
pub use stats::{
    Balance, CriticalPath, GroupBy, Load, MarkStats, SiteStats, Stats, StatsPlace, StatsQuery,
    Summary, Throughput, Waits, matches_pattern,
};

#[cfg(test)]
extern crate self as profiler_trace;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
/// As a module of this crate, so that unit tests share its types.
#[cfg(test)]
#[path = "../../test-tools/src/synthetic/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "other crates use more of it")]
mod synthetic;
#[cfg(test)]
mod tests;
