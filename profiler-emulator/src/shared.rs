//! Shared memory of a block.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use crate::config::MAX_SHARED_BYTES;

/// The fill of fresh shared memory. Hardware leaves the data of the block before; this is a NaN in every float
/// format, so that reads before writes show.
const POISON: u8 = 0xff;
/// Alignment of dynamic shared memory: enough for every swizzle mode of the tensor copies.
const DYNAMIC_ALIGN: usize = 1024;

/// One array. It has an allocation of its own, so that sanitizers see an access past its end.
struct Array {
    key: usize,
    memory: NonNull<u8>,
    layout: Layout,
}

impl Array {
    fn new(key: usize, layout: Layout) -> Self {
        // SAFETY: callers pass a layout of at least one byte.
        let memory = unsafe { alloc(layout) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(layout) };
        // SAFETY: the allocation just made has `layout.size()` bytes.
        unsafe { memory.write_bytes(POISON, layout.size()) };
        Self { key, memory, layout }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: `memory` came from `alloc` with this layout and is freed only here.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// The shared arrays of one block; freed with it.
pub(crate) struct SharedMemory {
    dynamic: Option<Array>,
    arrays: Vec<Array>,
    bytes: usize,
}

impl SharedMemory {
    pub(crate) fn new(dynamic_bytes: usize) -> Self {
        let layout = Layout::from_size_align(dynamic_bytes, DYNAMIC_ALIGN).ok();
        let layout = layout.filter(|layout| layout.size() > 0);
        let dynamic = layout.map(|layout| Array::new(0, layout));
        Self { dynamic, arrays: Vec::new(), bytes: dynamic_bytes }
    }

    /// The address of dynamic shared memory, and its bytes.
    pub(crate) fn dynamic(&self) -> (*mut u8, usize) {
        match &self.dynamic {
            Some(array) => (array.memory.as_ptr(), array.layout.size()),
            None => (std::ptr::without_provenance_mut(DYNAMIC_ALIGN), 0),
        }
    }

    /// The array of this key, made at its first use in the block.
    pub(crate) fn array(
        &mut self,
        key: usize,
        bytes: usize,
        align: usize,
    ) -> Result<*mut u8, String> {
        let layout = Layout::from_size_align(bytes, align)
            .map_err(|_| format!("shared array of {bytes} bytes: {align} is no valid alignment"))?;
        if bytes == 0 {
            return Ok(std::ptr::without_provenance_mut(align));
        }
        if let Some(array) = self.arrays.iter().find(|array| array.key == key) {
            if array.layout != layout {
                return Err(format!(
                    "a shared array of {} bytes, aligned to {}, is now asked for as one of {bytes} \
                     bytes, aligned to {align}; give each array a key of its own",
                    array.layout.size(),
                    array.layout.align()
                ));
            }
            return Ok(array.memory.as_ptr());
        }
        if self.bytes + bytes > MAX_SHARED_BYTES {
            return Err(format!(
                "the block has {} bytes of shared memory and asks for {bytes} more; at most \
                 {MAX_SHARED_BYTES} are possible",
                self.bytes
            ));
        }
        self.bytes += bytes;
        let array = Array::new(key, layout);
        let address = array.memory.as_ptr();
        self.arrays.push(array);
        Ok(address)
    }
}
