//! Bulk copies and copies of a tensor's tiles, which sm_90 brought.

use core::arch::asm;

use profiler_device::{profile_region, profiled};
use profiler_kernel::tma::{self, TensorMap};
use profiler_kernel::{mbarrier, shared_array, thread};

shared_array!(static FULL: [u64; 1], align = 8);

use super::TILE;

/// Bytes that one copy moves.
const BYTES: u32 = 1024;

kernels! {
    /// A bulk copy into shared memory that an mbarrier waits for.
    /// `input` must be valid for [`BYTES`] bytes and aligned to 16, `output` for one number a thread.
    fn bulk_copy(input: *const u8, output: *mut f32) {
        let index = thread::thread_idx_x() as usize;
        let barrier = FULL.as_mut_ptr();
        if index == 0 {
            // SAFETY: eight bytes of shared memory that nobody uses; a barrier of the block follows.
            unsafe { mbarrier::init(barrier, 1) };
        }
        thread::sync_threads();
        profile_region!("issue", {
            if index == 0 {
                // SAFETY: the mbarrier expects this thread and these bytes; addresses and size are
                // multiples of 16 (PTX ISA, "cp.async.bulk").
                unsafe { start(TILE.as_mut_ptr().cast(), input, barrier) };
            }
        });
        // SAFETY: the mbarrier is initialised, and this is its first phase.
        profile_region!("arrive", { unsafe { mbarrier::wait_parity(barrier, 0) } });
        // SAFETY: the copy is complete.
        unsafe { *output.add(index) = TILE.read(index % (BYTES as usize / 4)) };
    }

    /// A copy of a tensor's tile into shared memory that an mbarrier waits for.
    /// `map` must be that of a tensor of two dimensions with boxes of [`BYTES`] bytes, visible to the
    /// block; `output` must be valid for one number a thread.
    fn tensor_copy(map: *const TensorMap, column: u32, row: u32, output: *mut f32) {
        let index = thread::thread_idx_x() as usize;
        let barrier = FULL.as_mut_ptr();
        if index == 0 {
            // SAFETY: eight bytes of shared memory that nobody uses; a barrier of the block follows.
            unsafe { mbarrier::init(barrier, 1) };
            tma::fence();
        }
        thread::sync_threads();
        profile_region!("issue", {
            if index == 0 {
                // SAFETY: the mbarrier expects this thread and the bytes of the caller's box, for which
                // the tile has buffer; nobody accesses it before they have arrived.
                unsafe {
                    mbarrier::arrive_expecting_bytes(barrier, BYTES);
                    tma::load_2d(TILE.as_mut_ptr().cast(), map, column, row, barrier);
                }
            }
        });
        // SAFETY: the mbarrier is initialised, and this is its first phase.
        profile_region!("arrive", { unsafe { mbarrier::wait_parity(barrier, 0) } });
        // SAFETY: the copy is complete.
        unsafe { *output.add(index) = TILE.read(index % (BYTES as usize / 4)) };
    }
}

/// Announces the bytes to the mbarrier, arrives at it, and starts the copy.
///
/// # Safety
///
/// As in "cp.async.bulk" of the PTX ISA.
#[inline(always)]
unsafe fn start(target: *mut u8, source: *const u8, barrier: *mut u64) {
    // SAFETY: the caller's promise; memory is taken to change.
    unsafe {
        asm!(
            "{{ .reg .u64 target, source, barrier;",
            ".reg .u32 target32, barrier32;",
            "cvta.to.shared.u64 target, {target};",
            "cvt.u32.u64 target32, target;",
            "cvta.to.shared.u64 barrier, {barrier};",
            "cvt.u32.u64 barrier32, barrier;",
            "cvta.to.global.u64 source, {source};",
            "mbarrier.arrive.expect_tx.shared.b64 _, [barrier32], {bytes};",
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
            "[target32], [source], {bytes}, [barrier32]; }}",
            target = in(reg64) target,
            source = in(reg64) source,
            barrier = in(reg64) barrier,
            bytes = const BYTES,
            options(nostack),
        );
    }
}
