//! The device runtime of the profiler.
//!
//! Annotate a kernel with [`macro@profiled`] and parts of it with [`profile_region!`]; the host side
//! (`profiler-host`) launches it, reads the records back and writes a timeline.
//!
//! The same source serves two targets: compiled for `nvptx64` it becomes PTX, compiled for the host
//! it is the kernel's CPU twin, which `profiler-emulator` runs. The instructions that it needs are PTX
//! in both ([`hardware`]): the emulator runs their text.
//!
//! A crate of kernels begins with these lines, which name what kernels ask of the compiler for the GPU:
//!
//! ```
//! #![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]
//! #![cfg_attr(target_arch = "nvptx64", allow(unused_features))]
//! ```
//!
//! # Who records
//!
//! Every lane that records appends 16-byte records to a buffer of its own, at a cursor that it keeps
//! in registers: no atomic, no fence, no barrier per event. Records that do not fit are counted, never
//! written. The *strategy* says which lanes record (`by = ..`); the default, `warp`, is lane 0 of every
//! warp. [`Recorder`] lists all of them.
//!
//! # What stays between the stamps
//!
//! Memory operations, barriers, `asm!` and variables in `pin` stay inside their region, and so does the
//! block's value with `wait`. Pure arithmetic on values that
//! are not pinned may be moved across a stamp by the compiler, and so may loads through a `&T` that
//! is a kernel's parameter: it is known not to change. A load inside a region is only
//! *issued* there: with `wait` the end stamp waits until the block's value has arrived.
//!
//! # Off
//!
//! Without the feature `enabled` (the default), or with `#[profiled(enabled = false)]`, the macros
//! leave nothing behind: the PTX is that of the kernel without annotations. With the feature and without a
//! session, a warp reads one word of constant memory and records nothing.
//!
//! # While the kernel runs, and after it failed
//!
//! With the feature `host-buffer`, `#[profiled(buffer = host)]` writes the records of a kernel to host memory:
//! a region when it begins and again, whole, when it ends, by relaxed stores at system scope
//! (`st.relaxed.sys`), and one fence when a warp leaves. The host reads them while the kernel runs and after it
//! trapped. Without the feature, kernels pay nothing for it.
//!
//! # Low-level calls
//!
//! [`hardware`] reads the clocks and special registers. A [`Recorder`] says whether the executing thread
//! records, and returns a [`LaneRecorder`], which records regions and marks. The macros call these. [`site!`]
//! names regions and marks.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    all(target_arch = "nvptx64", any(feature = "calibration", feature = "template")),
    feature(abi_ptx)
)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features, reason = "the convergence guard needs an LLVM intrinsic by its name")
)]

pub mod hardware;

mod config;
mod site;
mod value;

#[cfg(feature = "enabled")]
#[path = "recorder.rs"]
mod recorder;
#[cfg(not(feature = "enabled"))]
#[path = "off.rs"]
mod recorder;

#[cfg(feature = "enabled")]
mod buffer;
#[cfg(feature = "enabled")]
mod header;
#[cfg(feature = "enabled")]
mod slot;
#[cfg(feature = "enabled")]
mod state;

#[cfg(all(feature = "enabled", any(feature = "calibration", not(target_arch = "nvptx64"))))]
mod calibration;

pub use profiler_macros::{
    profile_anchor, profile_mark, profile_names, profile_region, profile_signal, profile_wait,
    profiled, recorder, region_end, region_start,
};
pub use recorder::{LaneRecorder, Recorder, Region, RegionToken};
pub use site::SiteId;
pub use value::{Attachment, Payload, Pin, Value, Wait};

/// Code that the macros expand into. Not part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use core;
    pub use core::primitive;
    pub use profiler_wire as wire;

    #[cfg(all(
        feature = "enabled",
        any(feature = "calibration", not(target_arch = "nvptx64"))
    ))]
    pub use crate::calibration::*;
    pub use crate::config::{BufferChoice, Config};
    pub use crate::recorder::{LaneRecorder, Recorder, Region, RegionToken, State};
    pub use crate::site::{SiteId, entry, site_id};
    #[cfg(feature = "enabled")]
    pub use crate::slot::claim_slot_for_warp;
    pub use crate::value::{Attachment, Payload, Pin, Value, Wait, pin};

    /// A copy of a kernel's parameter, which the kernel's options take apart.
    #[inline(always)]
    pub fn copy_of<T: Copy>(parameter: &T) -> T {
        *parameter
    }
}
