//! The binary contract between a profiled kernel and the host.
//!
//! Every bit that one side writes and the other reads is defined here and nowhere else: the
//! words of a [`record`], the slot [`header`] of a warp, the launch
//! [`descriptor`] in constant memory, the [`site`] entry that travels in the PTX,
//! the [`symbol`] names and the [version](WIRE_VERSION).
//!
//! The crate is `no_std`, has no dependencies and no `unsafe`. All integers are little-endian, as
//! on every CUDA device.
//!
//! # Version rule
//!
//! [`WIRE_VERSION`] is part of the descriptor's symbol name, of every slot header and of every
//! site entry. It is raised whenever a byte changes its meaning, and whenever a kind of record is
//! added, which an older host would take for damage. A host refuses kernels of another version and
//! names both; what kernels of [`READABLE_VERSIONS`] wrote is read from captures. What every host so
//! far refuses may be given a meaning without a raise, as the buffer of a kernel was: older hosts go on
//! refusing it.
#![no_std]
#![forbid(unsafe_code)]

pub mod descriptor;
pub mod header;
pub mod record;
pub mod selection;
pub mod site;
pub mod symbol;

use core::ops::RangeInclusive;

pub use descriptor::Descriptor;
pub use header::{ExitHeader, SlotHeader};
pub use record::{RecordKind, Stamp};
pub use site::{SiteEntry, SiteKind, Strategy};

/// The version of everything in this crate: of what kernels write, and of what a session asks of them.
///
/// Version 3 is version 2 and [`RecordKind::Open`]; version 4 is version 3, [`RecordKind::RangeShared`]
/// and the count of such records in the [`ExitHeader`]; version 5 is version 4, [`RecordKind::RangeUnsigned`] and
/// [`RecordKind::RangeSigned`]; version 6 is version 5 and [`RecordKind::RangeWatched`], in the place of
/// [`RecordKind::End`]; version 7 is version 6, begins of all lanes ([`record::OF_ALL`]) and [`RecordKind::RangeParted`]; version 8 is version 7
/// and marks of all lanes.
pub const WIRE_VERSION: u32 = 8;

/// The versions of records, headers and descriptors that a reader of captures understands. What a
/// kernel of any of them wrote means what this crate says, but for records of kinds that came later
/// (see [`RecordKind::since`]).
pub const READABLE_VERSIONS: RangeInclusive<u32> = 2..=WIRE_VERSION;
