//! Instructions that only GPUs of compute capability 9.0 have: on the CPU they fail the launch.
//!
//! # Safety
//!
//! Nothing is asked of callers: it panics.

use crate::tma::TensorMap;
use crate::wgmma::SUMS;

/// Fails the launch: the emulator makes its error from the panic of a kernel.
#[track_caller]
fn missing(what: &str) -> ! {
    panic!("{what} needs a GPU of compute capability 9.0 (H100, H200); the emulator has none")
}

macro_rules! missing {
    ($(unsafe fn $name:ident $(<const $constant:ident: $kind:ty>)? ($($argument:ty),*), $what:literal;)*) => {$(
        #[track_caller]
        pub(crate) unsafe fn $name $(<const $constant: $kind>)? ($(_: $argument),*) {
            missing($what)
        }
    )*};
}

missing! {
    unsafe fn mbarrier_arrive_expecting_bytes(*mut u64, u32), "mbarrier.arrive.expect_tx";
    unsafe fn acquire_tensor_map(*const TensorMap), "a tensor map";
    unsafe fn tensor_load_2d(*mut u8, *const TensorMap, u32, u32, *mut u64), "a tensor copy";
    unsafe fn tensor_store_2d(*const TensorMap, u32, u32, *const u8), "a tensor copy";
    unsafe fn release_registers<const COUNT: u32>(), "setmaxnreg";
    unsafe fn take_registers<const COUNT: u32>(), "setmaxnreg";
    unsafe fn wgmma_fence(), "wgmma";
    unsafe fn wgmma_commit(), "wgmma";
    unsafe fn wgmma_m64n256k16_bf16(&mut [f32; SUMS], u64, u64), "wgmma";
    unsafe fn wgmma_wait<const PENDING: usize>(&mut [f32; SUMS]), "wgmma";
}

#[track_caller]
pub(crate) fn shared_address(_: *const u8) -> u32 {
    missing("a matrix descriptor")
}

#[track_caller]
pub(crate) fn commit_stores() {
    missing("a tensor copy")
}

#[track_caller]
pub(crate) fn wait_stores_read<const PENDING: usize>() {
    missing("a tensor copy")
}

#[track_caller]
pub(crate) fn fence_async() {
    missing("fence.proxy.async")
}
