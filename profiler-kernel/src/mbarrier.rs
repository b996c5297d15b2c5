//! Barriers in shared memory (PTX ISA, "mbarrier").
//!
//! An mbarrier is 8 bytes, aligned to 8, in shared memory. It goes through phases: a phase is
//! complete when as many arrivals have come as it was initialised for, and the next begins at once.
//! Who waits names the parity of the phase: 0 for the first, 1 for the second, 0 for the third.
//! Waiting for the parity of the phase before the current one returns at once, so that waiting for
//! parity 1 of a fresh mbarrier does not wait: a producer does that for a stage that was never full.
//!
//! # Safety of all functions
//!
//! `barrier` is an mbarrier as described, initialised (but for [`init`]) and not yet invalidated,
//! and its initialisation was made visible to the calling thread by a barrier of the block. Only
//! these functions access it.

use crate::atomic::spin_until;
use crate::{hopper, platform};

/// The most arrivals that a phase can expect.
pub const MAX_ARRIVALS: u32 = (1 << 20) - 1;

forward! {
    /// Initialises an mbarrier whose phases expect `arrivals` arrivals, 1 to [`MAX_ARRIVALS`].
    ///
    /// # Safety
    ///
    /// `barrier` points to 8 bytes of shared memory aligned to 8, not in use as an mbarrier.
    [unsafe] fn init(barrier: *mut u64, arrivals: u32) = platform::mbarrier_init;

    /// Arrives at the current phase; what the thread did before is visible to those that wait for it.
    ///
    /// # Safety
    ///
    /// See [the module](self).
    [unsafe] fn arrive(barrier: *mut u64) = platform::mbarrier_arrive;

    /// Whether the phase of this parity (0 or 1) is complete. May wait a little, but not until it is.
    ///
    /// # Safety
    ///
    /// See [the module](self).
    #[must_use]
    [unsafe] fn try_wait_parity(barrier: *mut u64, parity: u32) -> bool = platform::mbarrier_test_parity;
}

/// Waits until the phase of this parity (0 or 1) is complete.
///
/// # Safety
///
/// See [the module](self).
#[inline(always)]
pub unsafe fn wait_parity(barrier: *mut u64, parity: u32) {
    // SAFETY: the caller's promise.
    spin_until(|| unsafe { try_wait_parity(barrier, parity) });
}

/// [`wait_parity`] that ends the kernel (`trap`) when the phase is not complete after `limit_ns`
/// nanoseconds: a mistake in a pipeline is then an error of the launch, and not a GPU that hangs.
/// The time is asked for only by threads that have to wait. On the twin the emulator finds out
/// when no thread gets on any more, and the limit does nothing.
///
/// # Safety
///
/// See [the module](self).
#[inline(always)]
pub unsafe fn wait_parity_or_trap(barrier: *mut u64, parity: u32, limit_ns: u64) {
    // SAFETY: the caller's promise.
    platform::spin_until_or_trap(limit_ns, || unsafe { try_wait_parity(barrier, parity) });
}

forward! {
    /// Arrives, and lets the current phase wait for `bytes` bytes of asynchronous copies besides
    /// (`mbarrier.arrive.expect_tx`). Copies such as [`tma::load_2d`](crate::tma::load_2d) report their
    /// bytes to it. Needs `sm_90`; not on the twin, where it fails the launch.
    ///
    /// # Safety
    ///
    /// See [the module](self); at most 2^20 - 1 bytes are outstanding at a time.
    [unsafe] fn arrive_expecting_bytes(barrier: *mut u64, bytes: u32) = hopper::mbarrier_arrive_expecting_bytes;

    /// Ends the use as an mbarrier, so that the memory may serve for something else.
    ///
    /// # Safety
    ///
    /// See [the module](self); no thread uses the mbarrier any more.
    [unsafe] fn invalidate(barrier: *mut u64) = platform::mbarrier_invalidate;
}
