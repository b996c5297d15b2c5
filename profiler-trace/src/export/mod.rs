//! Timelines for the Perfetto viewer, in its native format and as Chrome's JSON; and what other
//! programs read.
//!
//! The writers of timelines are fed by one [walk](walk) over the trace, so that they agree on
//! processes, tracks, names and order; [`rows`] keeps regions that cross apart. Profiles are made of
//! [`stacks`], tables of rows of cells. All of it is streamed: next to the trace itself, only the
//! records of one warp (of one user track or several small ones, where there are such) are held again.
//! Regions are asked from a [`WarpSource`](crate::WarpSource), warp by warp, so that a capture can be
//! decoded while it is written.

mod arrows;
mod chrome;
mod counters;
mod events;
mod folded;
mod hatchet;
mod perfetto;
mod proto;
mod rows;
mod sink;
mod stacks;
mod text;
mod tree;
mod walk;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use crate::file::FileError;
use crate::model::Trace;
pub use folded::StackGroup;
pub use write::Export;

/// The level at which timelines are compressed by gzip: that of [`ExportOptions::gzip`] and of
/// `profiler export --gzip`.
///
/// The fastest at which slices with values that differ take at most 8 bytes, too. Level 6, which `gzip`
/// uses unless it is told otherwise, makes files a fifth smaller and takes six times as long
/// (`lab/measurements/host-side.md`).
pub const GZIP_LEVEL: u32 = 3;

/// Options for timelines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportOptions {
    /// Whether a launch's blocks lie in the SMs that they ran on. By default a launch has blocks, and
    /// those have warps.
    pub by_sm: bool,
    /// Whether every slice and mark also carries its raw clock ticks and its nanoseconds before
    /// rounding.
    pub raw_times: bool,
    /// Names of the tracks that kernels chose by number; the others are called "track 7".
    pub track_names: BTreeMap<u32, String>,
    /// Whether there are tracks that count: the warps that are in the kernel on each SM, and for
    /// each region how many of its name run at once. The latter is the mean over each of up to 512
    /// parts of the launch, with about a step for each 16 regions.
    pub counters: bool,
    /// Whether the timeline is compressed by gzip, which Perfetto reads as it is, at [`GZIP_LEVEL`].
    /// The customary ending of the file's name is then `.gz`.
    pub gzip: bool,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self {
            by_sm: false,
            raw_times: false,
            track_names: BTreeMap::new(),
            counters: true,
            gzip: false,
        }
    }
}

impl Trace {
    /// Writes a timeline in Perfetto's native format; open it at <https://ui.perfetto.dev>.
    ///
    /// # Errors
    ///
    /// If the file cannot be created or written.
    pub fn write_perfetto(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let options = ExportOptions::default();
        FileError::of_writing(path.as_ref(), |file| self.write_perfetto_to(file, &options))
    }

    /// Writes a timeline as Chrome JSON, which Perfetto and chrome://tracing read.
    ///
    /// # Errors
    ///
    /// If the file cannot be created or written.
    pub fn write_chrome(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let options = ExportOptions::default();
        FileError::of_writing(path.as_ref(), |file| self.write_chrome_to(file, &options))
    }
}
