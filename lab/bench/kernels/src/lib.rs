//! Kernels that measure what one recorded region costs.
//!
//! All are one template (`template`), made anew for each *scheme*: the profiler's own macros (`ours`), the
//! way that other profilers record (`peers`), and what both are compared with (`baselines`).
//! `launch` has kernels for what entering and leaving a profiled kernel costs.
//!
//! They are about machine code, so there are no CPU twins: on the host this crate is what the
//! kernels and the program that launches them must agree on.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]

pub mod format;

#[cfg(all(target_arch = "nvptx64", not(any(feature = "host-buffer", feature = "combinations"))))]
mod baselines;
#[cfg(all(
    target_arch = "nvptx64",
    not(any(feature = "host-buffer", feature = "combinations", feature = "plain"))
))]
mod launch;
#[cfg(all(target_arch = "nvptx64", not(feature = "plain")))]
#[cfg_attr(
    all(feature = "host-buffer", not(feature = "combinations")),
    allow(dead_code, unused_macros, reason = "it is for all kernels")
)]
mod ours;
#[cfg(all(
    target_arch = "nvptx64",
    not(any(feature = "host-buffer", feature = "combinations", feature = "plain"))
))]
mod peers;
#[cfg(target_arch = "nvptx64")]
#[cfg_attr(
    any(feature = "host-buffer", feature = "combinations", feature = "plain"),
    allow(dead_code, unused_macros, unused_imports, reason = "as above")
)]
mod template;

/// Dependent multiply-adds in a body: each scheme has kernels for both.
pub const BODIES: [u32; 2] = [8, 128];

/// Bodies of an iteration.
pub const REGIONS: u32 = 4;

/// How many of the bodies of an iteration are recorded: each scheme has kernels for all.
pub const RECORDED: [u32; 4] = [0, 1, 2, REGIONS];

/// Multiply-adds of an iteration outside of the bodies: eight at either end and one after each
/// body.
pub const FILLING: u32 = 8 + REGIONS + 8;

/// Names of the regions in the kernels of the profiler's own schemes, in order.
pub const REGION_NAMES: [&str; REGIONS as usize] = ["first", "second", "third", "fourth"];

/// The name of a scheme's kernel; hyphens in the scheme's name are underscores in the kernel's.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kernel_name(scheme: &str, body: u32, recorded: u32) -> String {
    format!("{}_n{body}_e{recorded}", scheme.replace('-', "_"))
}

/// Threads of a warp.
pub const WARP: u32 = 32;

/// Moments at which a kernel of `launch` times what a warp waits for: as it enters the kernel, and once more
/// after a barrier of its block, when the code is in the instruction cache and the block's warps come to it
/// at once.
pub const MOMENTS: u32 = 2;
