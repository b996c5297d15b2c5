//! The examples' kernels. Each example is a feature, so that its PTX holds its own kernels alone; the
//! host program links their CPU twins.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
// For arrays in shared memory, which the other two take from the launch.
#![cfg_attr(
    all(target_arch = "nvptx64", not(any(feature = "gemm", feature = "watch"))),
    feature(asm_experimental_arch)
)]

#[cfg(feature = "gemm")]
pub mod gemm;
#[cfg(feature = "hopper_gemm")]
pub mod hopper_gemm;
#[cfg(feature = "persistent")]
pub mod persistent;
#[cfg(feature = "pipeline")]
pub mod pipeline;
#[cfg(feature = "softmax")]
pub mod softmax;
#[cfg(feature = "watch")]
pub mod watch;
