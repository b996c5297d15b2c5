//! Watches how much memory something takes.

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What `work` returns, and how many bytes more than before were in use at its peak. Only one thread
/// may measure at a time.
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let result = work();
    (result, ALLOCATOR.peak_usage().saturating_sub(before))
}

/// Runs `work`, which may take so many bytes.
///
/// # Panics
///
/// If it takes more.
pub fn within<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let (result, peak) = peak(work);
    assert!(peak <= bytes, "{peak} bytes were taken, {bytes} at most were expected");
    result
}
