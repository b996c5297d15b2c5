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
//! use profiler_parquet::{ParquetOptions, write_parquet};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let capture = profiler_trace::Capture::default();
//! let trace = profiler_trace::decode(&capture);
//! let file = File::create("trace.parquet")?;
//! let written = write_parquet(&trace, file, &ParquetOptions::default())?;
//! println!("{} regions, {} bytes", written.regions, written.bytes);
//! # Ok(())
//! # }
//! ```
//!
//! Rows are made and written in batches: beside the trace itself, [`write_parquet`] holds one row
//! group, encoded, and [`write_arrow`] one record batch; either the dictionaries of names and paths,
//! eight bytes for each warp, 24 for each arrow, those regions of one warp that run at once, and what
//! the file's index says of each group. Of a [`StreamedTrace`](profiler_trace::StreamedTrace) they write
//! the same while they decode a capture, and hold the regions of one warp.
#![forbid(unsafe_code)]

mod batches;
mod columns;
mod error;
mod metadata;
mod names;
mod nesting;
mod writer;

use std::io::Write;
use std::num::NonZeroUsize;

use arrow_schema::Schema;
use profiler_trace::WarpSource;

pub use arrow_schema;
pub use error::{Dangling, WriteError};
pub use metadata::SCHEMA_VERSION;

/// How data is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    None,
    /// LZ4.
    #[default]
    Lz4,
}

/// How a Parquet file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParquetOptions {
    /// How pages are compressed.
    pub compression: Compression,
    /// Rows of a row group, the last of which may have fewer. A row group is what the writer holds
    /// in memory, and what readers divide among their threads.
    pub rows_per_group: NonZeroUsize,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        Self {
            compression: Compression::default(),
            rows_per_group: const { NonZeroUsize::new(1 << 18).unwrap() },
        }
    }
}

/// How an Arrow IPC file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrowOptions {
    /// How buffers are compressed. A file that is not compressed can be mapped into memory.
    pub compression: Compression,
    /// Rows of a record batch, the last of which may have fewer.
    pub rows_per_batch: NonZeroUsize,
}

impl Default for ArrowOptions {
    fn default() -> Self {
        Self {
            compression: Compression::None,
            rows_per_batch: const { NonZeroUsize::new(1 << 16).unwrap() },
        }
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// All rows.
    pub rows: u64,
    /// Rows of kind `kernel`: warps.
    pub warps: u64,
    /// Rows of kind `region`, with an end or without.
    pub regions: u64,
    /// Rows of kind `mark`, `signal` and `wait`.
    pub marks: u64,
    /// Row groups or record batches.
    pub groups: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// The columns, in order. Every file has all of them.
#[must_use]
pub fn schema() -> Schema {
    columns::schema()
}

/// Writes the trace as one Parquet file. It may be one in memory, or one that is streamed.
///
/// The writer need not be buffered. What it got is a whole file only if this returns `Ok`.
///
/// # Errors
///
/// Those of the writer; [`WriteError::Trace`] if the trace contradicts itself, which one from
/// [`decode`](profiler_trace::decode()) does not; [`WriteError::TooManyNames`].
pub fn write_parquet(
    trace: &impl WarpSource,
    writer: impl Write + Send,
    options: &ParquetOptions,
) -> Result<Summary, WriteError> {
    writer::parquet(trace, writer, options)
}

/// Writes the trace as one file of Arrow's IPC file format (also called Feather, version 2): not
/// the stream format.
///
/// The writer need not be buffered. What it got is a whole file only if this returns `Ok`.
///
/// # Errors
///
/// Those of [`write_parquet`].
pub fn write_arrow(
    trace: &impl WarpSource,
    writer: impl Write,
    options: &ArrowOptions,
) -> Result<Summary, WriteError> {
    writer::arrow(trace, writer, options)
}
