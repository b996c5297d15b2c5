//! Indices, barriers, shared memory, atomics, collectives, copies and products for GPU kernels, with CPU twins.
//!
//! Compiled for `nvptx64-nvidia-cuda`, the functions here are PTX instructions. Compiled for
//! anything else, they run on [`profiler-emulator`](https://docs.rs/profiler-emulator) with the same
//! meaning, so that a kernel can be tested in `cargo test`. Names follow `cuda_std` if it has the
//! function.
//!
//! # On the GPU
//!
//! The least target is `sm_80`. [`mbarrier`] needs PTX ISA 7.1 there (`-Ctarget-feature=+ptx71`; the
//! compiler's default for `sm_80` is 7.0); from `sm_90` on its waits use `try_wait`.
//!
//! A crate of kernels begins with these lines. `abi_ptx` is for `extern "ptx-kernel"`, and
//! `asm_experimental_arch` for [`shared_array!`], which expands to `asm!` there. A `#![feature(..)]` of
//! its own, as rustc advises, would not compile for the host.
//!
//! ```
//! #![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]
//! #![cfg_attr(target_arch = "nvptx64", allow(unused_features))]
//! ```
//!
//! [`wgmma`] and [`warp_group`] need the target `sm_90a`, whose PTX runs on compute capability 9.0
//! and no other; [`tma`] and functions that say so need `sm_90`.
//!
//! Pointers are generic addresses, as everywhere in Rust. Functions that need the address of a state space
//! convert it; ptxas removes the conversion if it knows the pointer's origin.
//!
//! # The panic handler
//!
//! A GPU program needs exactly one. This crate has it, by the default feature `panic-handler`: it stops
//! the kernel with a `trap`. A device crate that calls nothing of this crate still needs
//! `use profiler_kernel as _;`, or else rustc says "`#[panic_handler]` function required". A device crate
//! with a handler of its own depends on this one with `default-features = false`, or else rustc says "duplicate
//! lang item".
//!
//! # Kernels written for other crates
//!
//! [`shim`] has the names of `core::arch::nvptx` and `cuda_std::thread`.
//!
//! # Collectives
//!
//! Operations that several threads carry out together (barriers, shuffles, votes, matrix
//! operations) must not be moved into or copied to another control flow. LLVM does that to `asm!`.
//! A call to an intrinsic that LLVM knows to be convergent stands before each of them and prevents
//! it; it leaves nothing in the machine code.
//!
//! # On the twin
//!
//! Loops that wait must go through [`atomic::spin_until`] or the waits of [`mbarrier`]; one that only reads
//! an atomic ends the process after 30 seconds, with a message that names its thread. Misuse that
//! the GPU punishes with a hang or a wrong result (threads that disagree on a barrier, a lane
//! outside its mask, an asynchronous copy that is never waited for) is an error of the launch or
//! shows in the result.
//!
//! [`tma`], [`wgmma`] and [`warp_group`] have no twin: a kernel that comes to them fails its launch,
//! with an error that says so.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, link_llvm_intrinsics),
    allow(internal_features, reason = "the only way to an intrinsic that is convergent")
)]

/// Public functions that are those of the platform, under names and with documentation of their own. A call of an
/// `[unsafe]` one passes the caller's promise on.
macro_rules! forward {
    ($(
        $(#[$attribute:meta])*
        $([$unsafe:ident])? fn $name:ident $(<const $constant:ident: $count:ty>)?
            ($($argument:ident: $type:ty),*) $(-> $result:ty)? = $function:path;
    )*) => {$(
        $(#[$attribute])*
        #[inline(always)]
        pub $($unsafe)? fn $name $(<const $constant: $count>)? ($($argument: $type),*) $(-> $result)? {
            // SAFETY: the caller's promise.
            $($unsafe)? { $function($($argument),*) }
        }
    )*};
}

pub mod atomic;
pub mod copy;
pub mod math;
pub mod mbarrier;
pub mod mma;
pub mod shared;
pub mod shim;
pub mod thread;
pub mod tma;
pub mod warp;
pub mod warp_group;
pub mod wgmma;

#[cfg(target_arch = "nvptx64")]
#[path = "platform/ptx.rs"]
mod platform;
#[cfg(not(target_arch = "nvptx64"))]
#[path = "platform/twin.rs"]
mod platform;

#[cfg(target_arch = "nvptx64")]
#[path = "platform/atomic_ptx.rs"]
mod atomic_platform;
#[cfg(not(target_arch = "nvptx64"))]
#[path = "platform/atomic_twin.rs"]
mod atomic_platform;

#[cfg(target_arch = "nvptx64")]
#[path = "platform/matrix_ptx.rs"]
mod matrix;
#[cfg(not(target_arch = "nvptx64"))]
#[path = "platform/matrix_twin.rs"]
mod matrix;

#[cfg(target_arch = "nvptx64")]
#[path = "platform/hopper_ptx.rs"]
mod hopper;
#[cfg(not(target_arch = "nvptx64"))]
#[path = "platform/hopper_twin.rs"]
mod hopper;

/// Code that the macros of this crate expand to.
#[doc(hidden)]
pub mod __private {
    #[cfg(not(target_arch = "nvptx64"))]
    pub use profiler_emulator::shared_memory;
}

#[cfg(all(target_arch = "nvptx64", feature = "panic-handler"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    platform::trap()
}
