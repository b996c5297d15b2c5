//! What can go wrong.

use std::fmt;
use std::io;

/// Why a table was not written. `Display` names the remedy, and `Debug` is the same text.
#[non_exhaustive]
pub enum WriteError {
    /// The writer failed.
    Io(io::Error),
    /// An index of the trace leads nowhere.
    Trace(Dangling),
    /// The different names, files, units or paths are more than a dictionary holds (2 GiB).
    TooManyNames {
        /// The column.
        column: &'static str,
    },
    /// The library that encodes the format refused.
    Encode(Box<dyn std::error::Error + Send + Sync>),
}

/// An index of a trace that leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dangling {
    /// The index into [`Trace::warps`](profiler_trace::Trace::warps) of the warp where it was found.
    pub warp: usize,
    /// What the index is for.
    pub what: &'static str,
    /// The index.
    pub index: usize,
    /// How many there are.
    pub len: usize,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the table could not be written: {error}"),
            Self::Trace(Dangling { warp, what, index, len }) => write!(
                f,
                "warp {warp} of the trace refers to {what} {index}, and there are {len}; pass the \
                 trace as `decode` or a session returned it, with nothing removed"
            ),
            Self::TooManyNames { column } => write!(
                f,
                "the different texts of the column `{column}` are more than 2 GiB; write the \
                 launches in several parts, or name fewer things"
            ),
            Self::Encode(error) => write!(
                f,
                "the table could not be encoded: {error}; this is a defect of profiler-parquet, \
                 please report it"
            ),
        }
    }
}

impl fmt::Debug for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Encode(error) => Some(error.as_ref()),
            Self::Trace(_) | Self::TooManyNames { .. } => None,
        }
    }
}

impl From<WriteError> for io::Error {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Io(error) => error,
            WriteError::Trace(_) => Self::new(io::ErrorKind::InvalidInput, error),
            other => Self::other(other),
        }
    }
}
