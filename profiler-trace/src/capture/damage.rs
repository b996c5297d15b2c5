//! The damage of a capture file.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use profiler_wire::WIRE_VERSION;

use super::format::FORMAT_VERSION;
use crate::file::debug_as_display;

/// An array of a [`ModuleCapture`](super::ModuleCapture).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaptureArray {
    /// Headers of the slots.
    Headers,
    /// Lane 0's buffers.
    Records,
    /// The other lanes' buffers.
    Lanes,
    /// The other lanes' counts.
    LaneCounts,
}

impl CaptureArray {
    /// Every array, in the order in which a file has them.
    pub const ALL: [Self; 4] = [Self::Headers, Self::Records, Self::Lanes, Self::LaneCounts];

    /// A stable name, for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::Records => "records",
            Self::Lanes => "lanes",
            Self::LaneCounts => "lane_counts",
        }
    }
}

impl fmt::Display for CaptureArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Headers => "slot headers",
            Self::Records => "records of lane 0",
            Self::Lanes => "records of the other lanes",
            Self::LaneCounts => "counts of the other lanes",
        })
    }
}

/// A damaged part of a capture file. Damaged bytes and missing data are separate findings: damaged
/// bytes may cost nothing, because the metadata is there twice.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureDamage {
    /// Bytes that are no whole block.
    Bytes {
        /// The place in the file.
        at: Range<u64>,
    },
    /// The file ends before its end mark.
    Truncated {
        /// Its length in bytes.
        bytes: u64,
    },
    /// Something follows the end mark. It was not read.
    AfterEnd {
        /// The end of the mark in the file.
        at: u64,
    },
    /// A block of an array that the metadata does not have, or has with another length.
    Unexpected {
        /// Index of the module.
        module: u32,
        /// The array.
        array: CaptureArray,
    },
    /// A part of an array is missing, and with it these slots cannot be read, or not wholly.
    Missing {
        /// Index of the module.
        module: u32,
        /// The array.
        array: CaptureArray,
        /// The bytes of the array.
        bytes: Range<u64>,
        /// The slots whose header, buffer or counts lie there wholly or in part.
        slots: Range<u32>,
    },
}

impl fmt::Display for CaptureDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { at } => write!(
                f,
                "bytes {} to {} of the file are damaged",
                at.start,
                at.end.saturating_sub(1)
            ),
            Self::Truncated { bytes } => {
                write!(f, "the file is truncated: it ends after {bytes} bytes, without an end mark")
            }
            Self::AfterEnd { at } => {
                write!(
                    f,
                    "the part after the end mark, from byte {at} of the file on, was not read"
                )
            }
            Self::Unexpected { module, array } => {
                write!(f, "a part of the {array} of module {module} does not fit the metadata")
            }
            Self::Missing { module, array, bytes, slots } => {
                write!(
                    f,
                    "module {module}: bytes {} to {} of the {array} are missing",
                    bytes.start,
                    bytes.end.saturating_sub(1)
                )?;
                match slots.len() {
                    0 => f.write_str(" (of no slot)"),
                    1 => write!(f, " (slot {})", slots.start),
                    _ => write!(f, " (slots {} to {})", slots.start, slots.end - 1),
                }
            }
        }
    }
}

impl std::error::Error for CaptureDamage {}

debug_as_display!(CaptureDamage, CaptureError);

/// Why nothing can be read of a capture file; `Display` names the remedy, and `Debug` is the same text.
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
    /// Both copies of the metadata are damaged or missing.
    NoMetadata {
        /// The damage of the file.
        damage: Vec<CaptureDamage>,
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
            Self::NoMetadata { damage } => {
                f.write_str(
                    "both copies of the capture's metadata are damaged or missing, so nothing of \
                             it can be read; copy the file again, or record it again",
                )?;
                damage.iter().try_for_each(|damage| write!(f, "\n  {damage}"))
            }
            Self::Metadata { error } => write!(
                f,
                "the capture's metadata cannot be understood: {error}; read it with the version of \
                 the profiler that wrote it"
            ),
        }
    }
}

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
