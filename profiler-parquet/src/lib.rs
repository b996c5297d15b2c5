//! Tables of what profiled GPU kernels recorded: Parquet and Arrow IPC, for DuckDB, Polars,
//! DataFusion, Spark and whatever else reads them.
//!
//! A table has one row for each region, for each mark, signal and wait, and one for each warp's
//! stay in its kernel; the column `kind` tells them apart. `docs/parquet.md` of the repository
//! documents every column and the metadata, with queries; [`schema`] is the same for programs.
//!
//! ```no_run
//! use std::fs::File;
//!
//! # fn main() -> std::io::Result<()> {
//! # let capture = profiler_trace::Capture::default();
//! let trace = profiler_trace::decode(&capture);
//! profiler_parquet::write_parquet(&trace, File::create("trace.parquet")?)?;
//! # Ok(())
//! # }
//! ```
//!
//! Rows are made and written in batches: beside the trace itself, [`write_parquet`] holds one row
//! group, encoded, and [`write_arrow`] one record batch; either the dictionaries of names and paths,
//! eight bytes for each warp, 24 for each arrow, those regions of one warp that run at once, and what
//! the file's index says of each group.
#![forbid(unsafe_code)]

mod batches;
mod columns;
mod metadata;
mod names;
mod nesting;
mod writer;

use std::io::{self, Write};

use arrow_schema::Schema;
use profiler_trace::WarpSource;

pub use arrow_schema;
pub use metadata::SCHEMA_VERSION;

/// The columns, in order. Every file has all of them.
#[must_use]
pub fn schema() -> Schema {
    columns::schema()
}

/// Writes the trace as one Parquet file, compressed by LZ4. The trace may be one in memory, or one that
/// is streamed ([`Decoder::streamed`](profiler_trace::Decoder::streamed)), whose warps are each decoded
/// twice.
///
/// The writer need not be buffered. What it got is a whole file only if this returns `Ok`.
///
/// # Errors
///
/// Those of the writer; [`InvalidInput`](io::ErrorKind::InvalidInput) if the trace contradicts itself,
/// which one from [`decode`](profiler_trace::decode()) does not; an error if the different names, files,
/// units or paths are more than a dictionary holds (2 GiB).
pub fn write_parquet(trace: &impl WarpSource, writer: impl Write + Send) -> io::Result<()> {
    writer::parquet(trace, writer)
}

/// Writes the trace as one file of Arrow's IPC file format (also called Feather, version 2): not
/// the stream format. It is not compressed, so that it can be mapped into memory.
///
/// The writer need not be buffered. What it got is a whole file only if this returns `Ok`.
///
/// # Errors
///
/// Those of [`write_parquet`].
pub fn write_arrow(trace: &impl WarpSource, writer: impl Write) -> io::Result<()> {
    writer::arrow(trace, writer)
}
