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
//! site entry. It is raised whenever a byte changes its meaning after a release; a host that meets
//! another version refuses it and names both. What every host so far refuses may be given a meaning
//! without that, as the buffer of a kernel was: older hosts go on refusing it.
#![no_std]
#![forbid(unsafe_code)]

pub mod descriptor;
pub mod header;
pub mod record;
pub mod selection;
pub mod site;
pub mod symbol;

pub use descriptor::Descriptor;
pub use header::{ExitHeader, SlotHeader};
pub use record::{RecordKind, Stamp};
pub use site::{SiteEntry, SiteKind, Strategy};

/// The version of everything in this crate.
pub const WIRE_VERSION: u32 = 2;
