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
//! added, which an older host would take for damage. A host reads one version. It refuses kernels and
//! captures of another one and names both. A field that every host so far refuses may be given a meaning
//! without a new version.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "host")]
extern crate alloc;

pub mod descriptor;
pub mod header;
pub mod record;
pub mod site;
#[cfg(feature = "host")]
pub mod spool;
#[cfg(feature = "host")]
pub mod statics;
pub mod symbol;

pub use descriptor::Descriptor;
pub use header::{ExitHeader, SlotHeader};
pub use record::{RecordKind, Stamp};
pub use site::{SiteEntry, SiteKind, Strategy};

/// The version of everything in this crate: of what kernels write, and of what a session asks of them.
pub const WIRE_VERSION: u32 = 1;
