//! Memory of kernels between guard pages: an access beyond either end faults, and the message of that names the
//! buffer.

use std::panic::Location;
use std::ptr::NonNull;

use crate::overflow;

/// Zeroed memory for the elements of a buffer, which kernels reach by its address.
///
/// It ends where a guard page begins: an access to the first byte beyond ends the process, with a message that
/// names the buffer, the kernel, its thread and the element. A guard lies before the memory as well, at most a
/// page away from the first element. (Only on Linux; elsewhere nothing guards the memory.)
///
/// ```
/// use profiler_emulator::{GuardedMemory, LaunchConfig, launch, thread_index};
///
/// let numbers = GuardedMemory::zeroed::<u32>(5, 1).expect("room for 5 numbers");
/// let address = numbers.as_ptr().addr();
/// launch(&LaunchConfig::new([1; 3], [8, 1, 1]), || {
///     let index = thread_index()[0] as usize;
///     // Without this, thread 5 would end the process.
///     if index < 5 {
///         let numbers = std::ptr::with_exposed_provenance_mut::<u32>(address);
///         // SAFETY: a buffer of 5 numbers, of which each thread has one.
///         unsafe { numbers.add(index).write(7) };
///     }
/// })?;
/// # Ok::<(), profiler_emulator::LaunchError>(())
/// ```
#[derive(Debug)]
pub struct GuardedMemory {
    start: NonNull<u8>,
    bytes: usize,
    /// Unmapped with it.
    _pages: pages::Pages,
}

// SAFETY: it owns its pages, which belong to no thread.
unsafe impl Send for GuardedMemory {}
// SAFETY: a shared reference gives the address and the length, and nothing that is behind them.
unsafe impl Sync for GuardedMemory {}

/// The lengths and places that a message needs.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing faults there"))]
pub(crate) struct Description {
    /// The address of the first element.
    pub(crate) start: usize,
    pub(crate) length: usize,
    /// The name of the elements' type.
    pub(crate) element: &'static str,
    /// At least 1.
    pub(crate) element_bytes: usize,
    pub(crate) made_at: &'static Location<'static>,
}

impl GuardedMemory {
    /// Memory for `length` elements, all bytes zero; `None` if there is too little of it. The caller's place in the
    /// source names the buffer in messages.
    ///
    /// The memory begins at a multiple of `alignment`, a power of two up to 4096, and of the type's own alignment. A
    /// length in bytes that is no multiple of it leaves bytes before the guard page that kernels access unnoticed;
    /// 1 leaves none.
    ///
    /// # Panics
    ///
    /// If `alignment`, or that of the type, is no power of two up to 4096.
    #[must_use]
    #[track_caller]
    pub fn zeroed<T>(length: usize, alignment: usize) -> Option<Self> {
        let alignment = alignment.max(align_of::<T>());
        assert!(
            alignment.is_power_of_two() && alignment <= 4096,
            "memory is aligned to a power of two up to 4096, not to {alignment}"
        );
        let bytes = length.checked_mul(size_of::<T>())?;
        let made_at = Location::caller();
        overflow::watch();
        let (start, _pages) = pages::Pages::new(bytes, alignment, |start| Description {
            start,
            length,
            element: std::any::type_name::<T>(),
            element_bytes: size_of::<T>().max(1),
            made_at,
        })?;
        // Kernels may get addresses as numbers.
        start.as_ptr().expose_provenance();
        Some(Self { start, bytes, _pages })
    }

    /// The address of the first element.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The number of bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(target_os = "linux")]
pub(crate) use pages::guard_at;

#[cfg(target_os = "linux")]
mod pages {
    use std::ops::Range;
    use std::ptr::{NonNull, null_mut};
    use std::sync::{Mutex, PoisonError};

    use super::Description;

    /// Bytes of a guard: strides of kernels are shorter, and it takes nothing but addresses.
    const GUARD_BYTES: usize = 1 << 20;

    /// Mapped addresses, with the guards on both sides, and what they are for.
    static GUARDED: Mutex<Vec<(Range<usize>, Description)>> = Mutex::new(Vec::new());

    /// The buffer between whose guards an address lies. For the handler of a fault: it does not wait for long.
    pub(crate) fn guard_at(address: usize) -> Option<Description> {
        // Whoever holds the lock is another thread, which makes or drops a buffer: the kernel's code, which
        // faulted, does not.
        let guarded = (0..1000).find_map(|_| {
            let guarded = GUARDED.try_lock().ok();
            if guarded.is_none() {
                std::thread::yield_now();
            }
            guarded
        })?;
        let (_, description) = guarded.iter().find(|(mapped, _)| mapped.contains(&address))?;
        Some(*description)
    }

    /// A mapping; all but its guards can be accessed.
    #[derive(Debug)]
    pub(super) struct Pages {
        address: NonNull<u8>,
        bytes: usize,
    }

    impl Pages {
        /// Zeros that end, rounded up to the alignment, where a guard begins; gives the address of the first.
        pub(super) fn new(
            bytes: usize,
            alignment: usize,
            describe: impl FnOnce(usize) -> Description,
        ) -> Option<(NonNull<u8>, Self)> {
            // SAFETY: it reads a number that the system has.
            let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
            let guard = GUARD_BYTES.next_multiple_of(page);
            let rounded = bytes.checked_next_multiple_of(alignment)?;
            let inside = rounded.checked_next_multiple_of(page)?;
            let all = inside.checked_add(2 * guard)?;
            let (access, kind) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: a new mapping, at addresses that the system chooses, replaces nothing.
            let mapped = unsafe { libc::mmap(null_mut(), all, access, kind, -1, 0) };
            if mapped == libc::MAP_FAILED {
                return None;
            }
            let pages = Self { address: NonNull::new(mapped.cast())?, bytes: all };
            // SAFETY: `guard` bytes lie before and after the `inside` ones of the mapping.
            let first = unsafe { pages.address.add(guard) };
            if inside > 0 {
                let access = libc::PROT_READ | libc::PROT_WRITE;
                // SAFETY: whole pages of the mapping just made, which nothing uses yet.
                if unsafe { libc::mprotect(first.as_ptr().cast(), inside, access) } != 0 {
                    return None;
                }
            }
            // SAFETY: `rounded` is at most `inside`.
            let start = unsafe { first.add(inside - rounded) };
            let from = pages.address.addr().get();
            let guarded = (from..from + all, describe(start.addr().get()));
            GUARDED.lock().unwrap_or_else(PoisonError::into_inner).push(guarded);
            Some((start, pages))
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            let from = self.address.addr().get();
            let mut guarded = GUARDED.lock().unwrap_or_else(PoisonError::into_inner);
            // One that failed half-way is not among them.
            if let Some(at) = guarded.iter().position(|(mapped, _)| mapped.start == from) {
                guarded.swap_remove(at);
            }
            // SAFETY: the mapping is this value's own, and nothing uses what is dropped.
            unsafe { libc::munmap(self.address.as_ptr().cast(), self.bytes) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod pages {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    use super::Description;

    /// An allocation without guards.
    #[derive(Debug)]
    pub(super) struct Pages {
        start: NonNull<u8>,
        layout: Layout,
    }

    impl Pages {
        pub(super) fn new(
            bytes: usize,
            alignment: usize,
            _describe: impl FnOnce(usize) -> Description,
        ) -> Option<(NonNull<u8>, Self)> {
            let layout = Layout::from_size_align(bytes.max(1), alignment).ok()?;
            // SAFETY: the layout has at least one byte.
            let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
            Some((start, Self { start, layout }))
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: allocated with this layout, and freed only here.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}
