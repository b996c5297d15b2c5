//! Instructions that only GPUs of compute capability 9.0 have, as PTX.
//!
//! The functions have the contracts of the public functions of the same names; each SAFETY comment here
//! argues for the instruction alone.
//!
//! # Safety
//!
//! Callers fulfil the contracts of the public functions of the same names.

use core::arch::asm;

use crate::platform::{convergent, instructions};
use crate::tma::TensorMap;
use crate::wgmma::SUMS;

/// The address in the shared state space of a generic pointer into it.
#[inline(always)]
pub(crate) fn shared_address(pointer: *const u8) -> u32 {
    let address: u64;
    // SAFETY: converts an address and touches no memory.
    unsafe {
        asm!(
            "cvta.to.shared.u64 {}, {};",
            out(reg64) address,
            in(reg64) pointer,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    // The state space has 32-bit addresses.
    address as u32
}

instructions! {
    memory [unsafe] fn arrive_expecting(barrier: u32 as reg32, bytes: u32 as reg32) {
        "{{ .reg .b64 state;",
        "mbarrier.arrive.expect_tx.shared.b64 state, [{barrier}], {bytes}; }}",
    }

    memory fn commit_stores() { "cp.async.bulk.commit_group;" }

    memory fn wait_stores_read<PENDING: usize>() { "cp.async.bulk.wait_group.read {PENDING};" }

    memory fn fence_async() { "fence.proxy.async.shared::cta;" }

    warp [unsafe] fn release_registers<COUNT: u32>() { "setmaxnreg.dec.sync.aligned.u32 {COUNT};" }

    warp [unsafe] fn take_registers<COUNT: u32>() { "setmaxnreg.inc.sync.aligned.u32 {COUNT};" }

    warp [unsafe] fn wgmma_fence() { "wgmma.fence.sync.aligned;" }

    warp [unsafe] fn wgmma_commit() { "wgmma.commit_group.sync.aligned;" }
}

#[inline(always)]
pub(crate) unsafe fn mbarrier_arrive_expecting_bytes(barrier: *mut u64, bytes: u32) {
    // SAFETY: the caller vouches for the mbarrier.
    unsafe { arrive_expecting(shared_address(barrier.cast()), bytes) };
}

#[inline(always)]
pub(crate) unsafe fn acquire_tensor_map(map: *const TensorMap) {
    // SAFETY: the caller vouches for the address; memory is taken to change.
    unsafe {
        asm!(
            "fence.proxy.tensormap::generic.acquire.sys [{}], {};",
            in(reg64) map,
            const size_of::<TensorMap>(),
            options(nostack),
        );
    }
}

#[inline(always)]
pub(crate) unsafe fn tensor_load_2d(
    target: *mut u8,
    map: *const TensorMap,
    column: u32,
    row: u32,
    barrier: *mut u64,
) {
    // SAFETY: the caller vouches for map, target and mbarrier; memory is taken to change. A block's
    // own shared address names its memory in the cluster's window too.
    unsafe {
        asm!(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
            "[{}], [{}, {{{}, {}}}], [{}];",
            in(reg32) shared_address(target),
            in(reg64) map,
            in(reg32) column,
            in(reg32) row,
            in(reg32) shared_address(barrier.cast()),
            options(nostack),
        );
    }
}

#[inline(always)]
pub(crate) unsafe fn tensor_store_2d(
    map: *const TensorMap,
    column: u32,
    row: u32,
    source: *const u8,
) {
    // SAFETY: the caller vouches for map and source; memory is taken to change.
    unsafe {
        asm!(
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [{}, {{{}, {}}}], [{}];",
            in(reg64) map,
            in(reg32) column,
            in(reg32) row,
            in(reg32) shared_address(source),
            options(nostack),
        );
    }
}

/// Defines the functions that take all sums of a thread as operands; the indices are counted here once.
macro_rules! with_sums {
    ($first:literal $($index:literal)*) => {
        #[inline(always)]
        pub(crate) unsafe fn wgmma_m64n256k16_bf16(sums: &mut [f32; SUMS], a: u64, b: u64) {
            convergent();
            // SAFETY: the caller vouches for the warp group and both factors; shared memory is
            // read. The predicate lets the product be added; both factors keep their sign, and
            // neither is transposed.
            unsafe {
                asm!(
                    "{{ .reg .pred add;",
                    "setp.ne.b32 add, 1, 0;",
                    "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16",
                    concat!(
                        "{{{", $first, "}", $(", {", $index, "}",)*
                        "}}, {a}, {b}, add, 1, 1, 0, 0; }}",
                    ),
                    inout(reg32) sums[$first],
                    $(inout(reg32) sums[$index],)*
                    a = in(reg64) a,
                    b = in(reg64) b,
                    options(nostack),
                );
            }
        }

        /// The sums are operands so that nothing that uses them is moved to before the wait.
        #[inline(always)]
        pub(crate) unsafe fn wgmma_wait<const PENDING: usize>(sums: &mut [f32; SUMS]) {
            convergent();
            // SAFETY: the caller vouches for the warp group; memory is taken to change.
            unsafe {
                asm!(
                    concat!(
                        "wgmma.wait_group.sync.aligned {pending}; // {", $first, "}"
                        $(, " {", $index, "}")*
                    ),
                    inout(reg32) sums[$first],
                    $(inout(reg32) sums[$index],)*
                    pending = const PENDING,
                    options(nostack),
                );
            }
        }
    };
}

with_sums! {
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29
            30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56
            57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83
            84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
            108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127
}
