//! Puts the profiler's records into PTX that nobody annotated.
//!
//! [`instrument`] takes the PTX of any compiler and gives PTX of the same kernels, which record: the same parameters,
//! the same results, the same instructions as an annotated Rust kernel's for entry, record and exit. What it does not
//! touch comes out byte for byte. Regions follow the control flow graph: one begins on every edge into it and ends on
//! every edge out of it, so that no path leaves one open, and a checker walks the graph and proves it.
//!
//! ```
//! let ptx = "
//! .version 8.0
//! .target sm_90
//! .address_size 64
//! .visible .entry wait() { bar.sync 0; ret; }";
//! let instrumented = profiler_ptx::instrument(ptx, &profiler_ptx::Options::default())?;
//! assert_eq!(instrumented.kernels[0].sites[0].name(), "barrier");
//! assert!(instrumented.text.contains("%clock64"));
//! # Ok::<(), profiler_ptx::Error>(())
//! ```
//!
//! Without the feature `rewrite`, which is on by default in programs and off in build scripts, only [`syntax`] and
//! [`barrier`] are there.
#![forbid(unsafe_code)]

pub mod barrier;
pub mod syntax;

mod check;
mod chosen;
mod cost;
mod graph;
mod image;
mod instrument;
mod recording;
mod region;
mod rewrite;
mod runtime;
mod source;

#[cfg(feature = "rewrite")]
pub use chosen::{Selection, SelectionError};
#[cfg(feature = "rewrite")]
pub use image::{Image, ImageError, images};
#[cfg(feature = "rewrite")]
pub use instrument::{
    Chosen, Error, Instrumented, Kernel, LeftOut, Options, Site, instrument, kernel_names, sites,
};
#[cfg(feature = "recording")]
pub use recording::Recording;
#[cfg(feature = "rewrite")]
pub use region::RegionKind;
#[cfg(feature = "rewrite")]
pub use source::Location;
