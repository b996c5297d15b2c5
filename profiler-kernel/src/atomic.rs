//! Memory operations between threads of the device, and waiting for them.

use crate::platform;

/// Adds to a counter and returns what it was before (`atom.relaxed.gpu.add`).
///
/// # Safety
///
/// `address` is valid for reads and writes of 4 bytes and aligned to 4, and all threads that access
/// it at the time do so atomically.
#[inline(always)]
pub unsafe fn atomic_add_u32(address: *mut u32, value: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { platform::atomic_add_u32(address, value) }
}

/// Reads a word, and what its writer released before it (`ld.acquire.gpu`).
///
/// # Safety
///
/// As for [`atomic_add_u32`], for reads.
#[must_use]
#[inline(always)]
pub unsafe fn load_acquire_u32(address: *const u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { platform::load_acquire_u32(address) }
}

/// Writes a word, after everything that the thread did before (`st.release.gpu`).
///
/// # Safety
///
/// As for [`atomic_add_u32`], for writes.
#[inline(always)]
pub unsafe fn store_release_u32(address: *mut u32, value: u32) {
    // SAFETY: the caller's promise.
    unsafe { platform::store_release_u32(address, value) };
}

/// Waits until `condition` holds, asking again and again. On the twin, other threads run in
/// between.
///
/// `condition` must read what it waits for with [`load_acquire_u32`] or another operation of this
/// crate: a plain read is one that the compiler may make only once.
#[inline(always)]
pub fn spin_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        platform::spin_hint();
    }
}
