//! Memory of the host that kernels write to, those of the emulator and those that record with
//! `buffer = host`: zeroed, and aligned as device memory is.

use std::alloc::{alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::arrays::{Memory, Rows};
use crate::error::Error;

/// Alignment that `cuMemAlloc` promises, and so does this.
const ALIGNMENT: usize = 256;
/// Alignment to ask the allocator for: what it serves with pages that are zero until they are
/// touched, where a larger one makes it fill them.
const ALLOCATOR_ALIGNMENT: usize = 16;

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// A stretch of zeroed memory that kernels read and write through its address.
#[derive(Debug)]
pub(crate) struct HostMemory {
    start: NonNull<u8>,
    layout: std::alloc::Layout,
    /// Bytes from the start to the first aligned one.
    skip: usize,
    bytes: usize,
}

// SAFETY: it owns its allocation, which belongs to no thread.
unsafe impl Send for HostMemory {}
// SAFETY: what may be done through a shared reference while others write is to read and to zero by
// whole words, atomically, as kernels write records. `read` copies plainly: its callers see to it that
// no kernel runs, and nobody else writes.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Memory of this size; `remedy` says what to lower where it does not fit.
    pub(crate) fn zeroed(bytes: u64, help: impl Fn() -> String) -> Result<Self, Error> {
        Self::aligned(bytes, ALIGNMENT, help)
    }

    /// Memory of this size that begins at a multiple of `alignment`, a power of two.
    pub(crate) fn aligned(
        bytes: u64,
        alignment: usize,
        help: impl Fn() -> String,
    ) -> Result<Self, Error> {
        let out_of_memory = || Error::OutOfMemory { bytes, free: None, help: help() };
        let size = usize::try_from(bytes).map_err(|_| out_of_memory())?;
        let layout = size
            .checked_add(alignment)
            .and_then(|size| std::alloc::Layout::from_size_align(size, ALLOCATOR_ALIGNMENT).ok())
            .ok_or_else(out_of_memory)?;
        // SAFETY: the layout's size is at least the alignment, so not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(out_of_memory)?;
        let skip = start.addr().get().next_multiple_of(alignment) - start.addr().get();
        // Kernels get addresses as numbers, in the descriptor.
        start.as_ptr().expose_provenance();
        Ok(Self { start, layout, skip, bytes: size })
    }

    /// The first aligned byte.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        // SAFETY: `skip` is below the alignment, by which the allocation is longer than asked for.
        unsafe { self.start.as_ptr().add(self.skip) }
    }

    /// The words from the byte `from` on, a multiple of 8.
    fn words(&self, from: usize, count: usize) -> impl Iterator<Item = &AtomicU64> {
        let end = count.checked_mul(WORD).and_then(|bytes| from.checked_add(bytes));
        let fits = end.is_some_and(|end| end <= self.bytes) && from.is_multiple_of(WORD);
        assert!(fits, "a session reads its own arrays only");
        (0..count).map(move |index| {
            // SAFETY: just checked to lie within the allocation, whose first byte is aligned to 256
            // and which is initialised; while it is shared, all write to it by whole words.
            unsafe { AtomicU64::from_ptr(self.as_ptr().add(from + WORD * index).cast()) }
        })
    }

    /// Reads words while kernels may write to them, each of them whole, from the byte `from` on. What
    /// was written before a word that is read here is seen by what is read after it.
    pub(crate) fn read_words(&self, from: usize, into: &mut [u64]) {
        let words = self.words(from, into.len());
        for (into, word) in into.iter_mut().zip(words) {
            *into = word.load(Ordering::Acquire);
        }
    }

    /// [`Memory::read`] while kernels may write: rows, and what lies between them, of whole words.
    #[cfg(feature = "cuda")]
    pub(crate) fn read_rows(&self, from: usize, rows: Rows, into: &mut [u8]) {
        for row in 0..rows.count {
            let words = self.words(from + row * rows.pitch, rows.width / WORD);
            let target = into[row * rows.pitch..][..rows.width].chunks_exact_mut(WORD);
            for (target, word) in target.zip(words) {
                target.copy_from_slice(&word.load(Ordering::Acquire).to_ne_bytes());
            }
        }
    }

    /// Replaces whole words from the byte `from` on while others may read them.
    pub(crate) fn write_words(&self, from: usize, bytes: &[u8]) {
        let words = self.words(from, bytes.len() / WORD);
        for (word, bytes) in words.zip(bytes.as_chunks::<WORD>().0) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
    }

    /// Sets all whole words to zero while others may read them.
    pub(crate) fn zero_words(&self) {
        for word in self.words(0, self.bytes / WORD) {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// The address of the first aligned byte.
    pub(crate) fn address(&self) -> u64 {
        self.as_ptr().addr() as u64
    }
}

impl Memory for HostMemory {
    fn read(&self, address: u64, rows: Rows, into: &mut [u8]) -> Result<(), Error> {
        for row in 0..rows.count {
            let from = (address - self.address()) as usize + row * rows.pitch;
            let target = &mut into[row * rows.pitch..][..rows.width];
            assert!(from + rows.width <= self.bytes, "a session reads its own arrays only");
            // SAFETY: the range was just checked to lie within the allocation, all of whose bytes
            // were initialised to zero; kernels have returned, so nobody writes now.
            unsafe {
                self.as_ptr().add(from).copy_to_nonoverlapping(target.as_mut_ptr(), rows.width);
            }
        }
        Ok(())
    }

    fn write_at(&self, address: u64, from: &[u8]) -> Result<(), Error> {
        self.write_words((address - self.address()) as usize, from);
        Ok(())
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this layout, and not freed since.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
