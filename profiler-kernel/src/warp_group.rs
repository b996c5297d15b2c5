//! Warp groups: four consecutive warps; the number of the first is a multiple of four.
//!
//! Warp groups of a block may share its registers unevenly: groups that only copy give registers back, and
//! groups that multiply take them. The kernel must be bounded (`max_threads` with `min_blocks`, or
//! `max_registers`): the block begins with an even share, and without bounds ptxas ignores both
//! instructions.
//!
//! Moving registers needs `sm_90a`. It has no twin: on the CPU it fails the launch.

use crate::{hopper, warp};

/// The number of this thread's warp group in its block.
///
/// The warp's first lane tells the others, though they know it. So ptxas sees that a branch on it
/// parts no warp, and keeps addresses after that branch in uniform registers; of a branch on the
/// thread's index it sees no such thing.
///
/// # Safety
///
/// All threads of the warp come to the same call together.
#[inline(always)]
#[must_use]
pub unsafe fn index() -> u32 {
    // SAFETY: the caller's promise.
    unsafe { warp::shuffle(u32::MAX, warp::warp_id() / 4, 0) }
}

/// Hands registers back, down to `COUNT` for each thread of the warp group
/// (`setmaxnreg.dec.sync.aligned`).
///
/// # Safety
///
/// All threads of the warp group come to the same call together; `COUNT` is a multiple of 8 from 24
/// to 256 and not more than they have (PTX ISA, "setmaxnreg").
#[inline(always)]
pub unsafe fn release_registers<const COUNT: u32>() {
    const { assert!(COUNT.is_multiple_of(8) && COUNT >= 24 && COUNT <= 256) };
    // SAFETY: the caller's promise.
    unsafe { hopper::release_registers::<COUNT>() };
}

/// Takes registers, up to `COUNT` for each thread of the warp group; waits until so many have been
/// handed back (`setmaxnreg.inc.sync.aligned`).
///
/// # Safety
///
/// As for [`release_registers`], with `COUNT` not less than they have.
#[inline(always)]
pub unsafe fn take_registers<const COUNT: u32>() {
    const { assert!(COUNT.is_multiple_of(8) && COUNT >= 24 && COUNT <= 256) };
    // SAFETY: the caller's promise.
    unsafe { hopper::take_registers::<COUNT>() };
}
