//! Asynchronous copies from global to shared memory (PTX ISA, "cp.async").
//!
//! A thread starts copies, closes them into a group, and later waits until all but the newest
//! groups have arrived. Other threads see the data after a barrier that follows the wait.
//!
//! The twin copies when the thread waits, and not before: a kernel that forgets to wait reads old
//! data there too.

use crate::platform;

forward! {
    /// Starts a copy of 16 bytes, bypassing the L1 cache (`cp.async.cg.shared.global`).
    ///
    /// # Safety
    ///
    /// `target` is in shared memory, `source` in global memory, both aligned to 16. Until the copy has
    /// been waited for, `source` stays as it is and nobody accesses `target`; after it, `target` may be
    /// accessed.
    [unsafe] fn cp_async_16(target: *mut u8, source: *const u8) = platform::cp_async_16;

    /// Closes the thread's copies since the last call into a group (`cp.async.commit_group`).
    fn cp_async_commit() = platform::cp_async_commit;

    /// Waits until at most `PENDING` of the thread's groups are still on their way
    /// (`cp.async.wait_group`).
    fn cp_async_wait<const PENDING: usize>() = platform::cp_async_wait::<PENDING>;

    /// Makes the mbarrier wait for all copies that the thread has started so far: when they are there,
    /// they arrive at it, in place of the thread (`cp.async.mbarrier.arrive.noinc`).
    ///
    /// On the twin, the thread waits for them here.
    ///
    /// # Safety
    ///
    /// `barrier` is an initialised mbarrier in shared memory that expects this arrival.
    [unsafe] fn cp_async_arrive(barrier: *mut u64) = platform::cp_async_arrive;
}
