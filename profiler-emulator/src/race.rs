//! Shows ThreadSanitizer what orders the threads of a kernel, and hides from it what only orders the
//! emulator's, so that it finds races between GPU threads.
//!
//! One GPU thread runs at a time, and the baton orders all they do: a sanitizer that believed it would
//! see no race at all. So it is told to look away while the emulator itself works, and that barriers
//! and warp exchanges order those that meet there, as does the launch its begin and its end. Atomics
//! of the kernel it sees by itself. With `--cfg profiler_races` only, which `cargo lab sanitize
//! thread` sets; otherwise nothing here does anything.

#[cfg(profiler_races)]
mod sanitizer {
    use std::ffi::{c_char, c_int};

    // SAFETY: so the sanitizer's library declares them (`tsan_interface_ann.cpp` of LLVM's
    // compiler-rt).
    unsafe extern "C" {
        pub(super) fn AnnotateIgnoreSyncBegin(file: *const c_char, line: c_int);
        pub(super) fn AnnotateIgnoreSyncEnd(file: *const c_char, line: c_int);
        pub(super) fn AnnotateIgnoreReadsBegin(file: *const c_char, line: c_int);
        pub(super) fn AnnotateIgnoreReadsEnd(file: *const c_char, line: c_int);
        pub(super) fn AnnotateIgnoreWritesBegin(file: *const c_char, line: c_int);
        pub(super) fn AnnotateIgnoreWritesEnd(file: *const c_char, line: c_int);
        pub(super) fn AnnotateHappensBefore(file: *const c_char, line: c_int, address: usize);
        pub(super) fn AnnotateHappensAfter(file: *const c_char, line: c_int, address: usize);
    }

    pub(super) const FILE: *const c_char = c"profiler-emulator".as_ptr();

    /// Places that stand for what orders threads. Two that share one by chance order too much, which
    /// may hide a race and makes none up.
    pub(super) static PLACES: [std::sync::atomic::AtomicU64; 1 << 12] =
        [const { std::sync::atomic::AtomicU64::new(0) }; 1 << 12];
}

/// An event that orders threads.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(profiler_races), allow(dead_code, reason = "only the sanitizer is told"))]
pub(crate) enum Order {
    /// The begin of a launch, by its number.
    Begin(u64),
    /// Its end.
    End(u64),
    /// A barrier of a resident block.
    Barrier { launch: u64, slot: usize, id: u32 },
    /// A meeting of a warp's lanes.
    Warp { launch: u64, slot: usize, warp: usize },
}

#[cfg(profiler_races)]
impl Order {
    fn address(self) -> usize {
        let (launch, slot, number) = match self {
            Self::Begin(launch) => (launch, 0, 1),
            Self::End(launch) => (launch, 0, 2),
            Self::Barrier { launch, slot, id } => (launch, slot as u64, 3 + u64::from(id)),
            Self::Warp { launch, slot, warp } => (launch, slot as u64, 1000 + warp as u64),
        };
        let mixed = (launch << 32 ^ slot << 12 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (mixed >> 40) as usize % sanitizer::PLACES.len();
        std::ptr::from_ref(&sanitizer::PLACES[place]).addr()
    }
}

/// The thread's work so far comes before the work after an [`acquire`] of the same event.
pub(crate) fn release(order: Order) {
    #[cfg(profiler_races)]
    // SAFETY: the address is that of a live static; the library only takes it for a name.
    unsafe {
        sanitizer::AnnotateHappensBefore(sanitizer::FILE, 0, order.address());
    }
    #[cfg(not(profiler_races))]
    let _ = order;
}

/// The work that follows comes after everything [`release`]d by the same event.
pub(crate) fn acquire(order: Order) {
    #[cfg(profiler_races)]
    // SAFETY: as in `release`.
    unsafe {
        sanitizer::AnnotateHappensAfter(sanitizer::FILE, 0, order.address());
    }
    #[cfg(not(profiler_races))]
    let _ = order;
}

/// While it lives, the sanitizer looks away from what this thread does.
pub(crate) struct Hidden(());

impl Hidden {
    pub(crate) fn new() -> Self {
        #[cfg(profiler_races)]
        // SAFETY: each begin has its end in `drop`, on the same thread, as every value is made and
        // dropped within one call.
        unsafe {
            sanitizer::AnnotateIgnoreSyncBegin(sanitizer::FILE, 0);
            sanitizer::AnnotateIgnoreReadsBegin(sanitizer::FILE, 0);
            sanitizer::AnnotateIgnoreWritesBegin(sanitizer::FILE, 0);
        }
        Self(())
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        #[cfg(profiler_races)]
        // SAFETY: as in `new`.
        unsafe {
            sanitizer::AnnotateIgnoreWritesEnd(sanitizer::FILE, 0);
            sanitizer::AnnotateIgnoreReadsEnd(sanitizer::FILE, 0);
            sanitizer::AnnotateIgnoreSyncEnd(sanitizer::FILE, 0);
        }
    }
}
