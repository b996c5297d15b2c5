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

use std::path::Path;

use crate::file::FileError;
use crate::model::Trace;
pub use folded::StackGroup;
pub use write::Export;

/// Options for timelines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportOptions {
    /// Whether a launch's blocks lie in the SMs that they ran on. By default a launch has blocks, and
    /// those have warps.
    pub by_sm: bool,
    /// Whether there are tracks that count the warps in the kernel on each SM.
    pub counters: bool,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self { by_sm: false, counters: true }
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
