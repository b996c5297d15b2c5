//! Memory of the host, for the emulator: zeroed, and aligned as device memory is.

use std::alloc::{alloc_zeroed, dealloc};
use std::ptr::NonNull;

use crate::arrays::{Memory, Rows};
use crate::error::Error;

/// Alignment that `cuMemAlloc` promises, and so does this.
const ALIGNMENT: usize = 256;
/// Alignment to ask the allocator for: what it serves with pages that are zero until they are
/// touched, where a larger one makes it fill them.
const ALLOCATOR_ALIGNMENT: usize = 16;

/// A stretch of zeroed memory that kernels of the emulator read and write through its address.
#[derive(Debug)]
pub(crate) struct HostMemory {
    start: NonNull<u8>,
    layout: std::alloc::Layout,
    /// Bytes from the start to the first aligned one.
    skip: usize,
    bytes: usize,
}

impl HostMemory {
    /// Memory of this size; `cure` says what to lower where it does not fit.
    pub(crate) fn zeroed(bytes: u64, cure: impl Fn() -> String) -> Result<Self, Error> {
        let out_of_memory = || Error::OutOfMemory { bytes, free: None, cure: cure() };
        let size = usize::try_from(bytes).map_err(|_| out_of_memory())?;
        let layout = size
            .checked_add(ALIGNMENT)
            .and_then(|size| std::alloc::Layout::from_size_align(size, ALLOCATOR_ALIGNMENT).ok())
            .ok_or_else(out_of_memory)?;
        // SAFETY: the layout's size is at least ALIGNMENT, so not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(out_of_memory)?;
        let skip = start.addr().get().next_multiple_of(ALIGNMENT) - start.addr().get();
        // Kernels get addresses as numbers, in the descriptor.
        start.as_ptr().expose_provenance();
        Ok(Self { start, layout, skip, bytes: size })
    }

    /// The first aligned byte.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        // SAFETY: `skip` is below ALIGNMENT, by which the allocation is longer than asked for.
        unsafe { self.start.as_ptr().add(self.skip) }
    }

    /// Replaces the first bytes; those that would lie behind the end are left out.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.write_from(0, &bytes[..bytes.len().min(self.bytes)]);
    }

    /// Replaces the bytes from the `start`-th on.
    fn write_from(&mut self, start: usize, bytes: &[u8]) {
        assert!(start + bytes.len() <= self.bytes, "a session writes its own arrays only");
        // SAFETY: the range was just checked to lie within the allocation, behind the first aligned
        // byte, and is borrowed mutably; kernels that may write to it have returned.
        unsafe {
            self.as_ptr().add(start).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
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

    fn write_at(&mut self, address: u64, from: &[u8]) -> Result<(), Error> {
        self.write_from((address - self.address()) as usize, from);
        Ok(())
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this layout, and not freed since.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
