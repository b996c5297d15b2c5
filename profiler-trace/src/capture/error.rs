//! Why a capture file cannot be read.

use std::fmt;
use std::io;
use std::path::PathBuf;

use profiler_wire::WIRE_VERSION;

use super::format::FORMAT_VERSION;
use crate::file::debug_as_display;

/// Why a capture file cannot be read; `Display` names the remedy, and `Debug` is the same text.
#[non_exhaustive]
pub enum CaptureError {
    /// An error of the file of this path.
    OfFile {
        /// The path.
        path: PathBuf,
        /// The error.
        error: Box<CaptureError>,
    },
    /// The file cannot be read, or there is too little memory for it.
    Io(io::Error),
    /// It has not a byte.
    Empty,
    /// It is no capture.
    NotACapture,
    /// Its format is of another version.
    FormatVersion {
        /// That version.
        found: u16,
    },
    /// Its records are of another wire version than [`WIRE_VERSION`].
    WireVersion {
        /// That version.
        found: u16,
    },
    /// Unpacked it has more bytes than [`Capture::read_from_within`](super::Capture::read_from_within)
    /// was told.
    TooLarge {
        /// That many.
        limit: u64,
    },
    /// It ends before its end mark.
    Truncated {
        /// Its length in bytes.
        bytes: u64,
    },
    /// A block of it is not what was written.
    Damaged {
        /// The begin of the block in the file.
        at: u64,
        /// What is wrong.
        error: &'static str,
    },
    /// The metadata is whole, and yet not to be understood.
    Metadata {
        /// The error.
        error: String,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfFile { path, .. } if path.as_os_str().is_empty() => {
                f.write_str("the path of the capture is empty; name a file")
            }
            Self::OfFile { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Io(error) => write!(f, "the capture cannot be read: {error}"),
            Self::Empty => f.write_str(
                "the file is empty: the program that writes or copies the capture has not begun, or failed; \
                 check whether the disk is full, then copy the file again, or record it again",
            ),
            Self::NotACapture => f.write_str(
                "this is no capture; give a file that `profiler record` or a session wrote, such as \
                 profile.capture (a .pftrace or .json is made from a capture, and cannot be read back; what \
                 gzip packed, gunzip unpacks; `profiler sites` reads PTX)",
            ),
            Self::FormatVersion { found } => write!(
                f,
                "the capture has format version {found}, this library reads version \
                 {FORMAT_VERSION}; read it with the version of the profiler that wrote it, or a \
                 later one"
            ),
            Self::WireVersion { found } => write!(
                f,
                "the capture's records have wire version {found}, this library reads version \
                 {WIRE_VERSION}; read it with the version of the profiler that wrote it, or record it again"
            ),
            Self::TooLarge { limit } => write!(
                f,
                "the capture takes more than {limit} bytes of memory, the limit of this program; \
                 raise the limit if you trust the source of the file"
            ),
            Self::Truncated { bytes } => write!(
                f,
                "the capture is truncated: the file ends after {bytes} bytes, without an end mark; copy the \
                 file again, or record it again, on a disk with room for it"
            ),
            Self::Damaged { at, error } => write!(
                f,
                "the capture is damaged at byte {at} of the file: {error}; copy the file again, or record it \
                 again"
            ),
            Self::Metadata { error } => write!(
                f,
                "the capture's metadata cannot be understood: {error}; read it with the version of \
                 the profiler that wrote it"
            ),
        }
    }
}

debug_as_display!(CaptureError);

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::OfFile { error, .. } => error.source(),
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
