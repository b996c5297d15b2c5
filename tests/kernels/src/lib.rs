//! The kernels of the tests, by feature: a module of PTX has those of one, and a program on the host
//! the twins of all that have some.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
#![cfg_attr(
    all(
        target_arch = "nvptx64",
        any(
            feature = "barriers",
            feature = "collectives",
            feature = "declared",
            feature = "intrinsics",
            feature = "stamps",
            feature = "strategies"
        )
    ),
    feature(asm_experimental_arch)
)]
// Lints of a whole crate; `linted` denies the others.
#![cfg_attr(
    feature = "linted",
    deny(future_incompatible, non_ascii_idents, rust_2021_compatibility, rust_2024_compatibility)
)]

#[cfg(feature = "abuse")]
pub mod abuse;
#[cfg(feature = "anchors")]
pub mod anchors;
#[cfg(all(target_arch = "nvptx64", feature = "annotated"))]
pub mod annotated;
#[cfg(feature = "barriers")]
pub mod barriers;
#[cfg(feature = "buffers")]
pub mod buffers;
#[cfg(all(target_arch = "nvptx64", feature = "collectives"))]
pub mod collectives;
#[cfg(all(target_arch = "nvptx64", feature = "declared"))]
pub mod declared;
#[cfg(feature = "functions")]
pub mod functions;
#[cfg(feature = "intrinsics")]
pub mod intrinsics;
#[cfg(feature = "linted")]
pub mod linted;
#[cfg(all(target_arch = "nvptx64", feature = "plain"))]
pub mod plain;
#[cfg(all(target_arch = "nvptx64", feature = "stamps"))]
pub mod stamps;
#[cfg(feature = "strategies")]
pub mod strategies;
#[cfg(feature = "thousand")]
pub mod thousand;
#[cfg(feature = "watched")]
pub mod watched;
