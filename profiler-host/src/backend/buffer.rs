//! Arrays that kernels and the host exchange.

use std::marker::PhantomData;

use bytemuck::Pod;
use profiler_emulator::GuardedMemory;

use super::Device;
#[cfg(feature = "cuda")]
use crate::arrays::{Memory, Rows};
use crate::error::Error;

/// The remedy if a buffer does not fit.
pub(super) fn smaller() -> String {
    "use smaller buffers, or drop those that are no longer needed".to_owned()
}

/// An array of `T` that the kernels of a [`Backend`](crate::Backend) can reach.
///
/// On a GPU it is aligned to 256 bytes. On the emulator it ends at a guard page: a kernel that accesses it beyond its
/// end ends the process, with a message that names the kernel, the thread and the element
/// ([`GuardedMemory`]). There it is aligned as far as its length in bytes allows, which is to 256 bytes if that is a
/// multiple of 256, or as [`Backend::with_buffer_alignment`](crate::Backend::with_buffer_alignment) says.
#[derive(Debug)]
pub struct Buffer<'b, T> {
    place: Place<'b>,
    length: usize,
    _elements: PhantomData<T>,
}

#[derive(Debug)]
enum Place<'b> {
    #[cfg(feature = "cuda")]
    Gpu(&'b super::Gpu, crate::gpu::driver::DeviceMemory),
    Emulator(GuardedMemory, PhantomData<&'b ()>),
}

impl<'b, T: Pod> Buffer<'b, T> {
    /// A buffer of zeros.
    #[track_caller]
    pub(super) fn new(device: &'b Device, length: usize) -> Result<Self, Error> {
        const { assert!(align_of::<T>() <= 256, "buffers are aligned to 256 bytes") };
        let bytes = length.checked_mul(size_of::<T>()).ok_or(Error::BufferTooLarge(length))?;
        let place = match device {
            #[cfg(feature = "cuda")]
            Device::Gpu(gpu) => Place::Gpu(gpu, gpu.zeroed(bytes as u64)?),
            Device::Emulator(device) => {
                let memory = GuardedMemory::zeroed::<T>(length, device.buffer_alignment);
                let bytes = bytes as u64;
                let too_little = || Error::OutOfMemory { bytes, free: None, help: smaller() };
                Place::Emulator(memory.ok_or_else(too_little)?, PhantomData)
            }
        };
        Ok(Self { place, length, _elements: PhantomData })
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The address of the first element, for kernels that read. Only kernels may follow it: on the
    /// GPU it is a device address.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.address().cast_const()
    }

    /// The address of the first element, for kernels that write.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.address()
    }

    fn address(&self) -> *mut T {
        match &self.place {
            #[cfg(feature = "cuda")]
            Place::Gpu(_, memory) => std::ptr::without_provenance_mut(memory.address() as usize),
            Place::Emulator(memory, _) => memory.as_ptr().cast(),
        }
    }

    /// Waits for the launches and copies the elements to the host.
    ///
    /// # Errors
    ///
    /// A kernel that failed; CUDA errors.
    pub fn read(&self) -> Result<Vec<T>, Error> {
        let mut elements = vec![T::zeroed(); self.length];
        let bytes = bytemuck::cast_slice_mut(&mut elements);
        match &self.place {
            #[cfg(feature = "cuda")]
            Place::Gpu(gpu, memory) => {
                gpu.synchronize()?;
                memory.read(memory.address(), Rows::all(bytes.len()), bytes)?;
            }
            Place::Emulator(memory, _) => {
                // SAFETY: the memory has as many bytes as the elements, all of them initialised, and kernels have
                // returned, so nobody writes to it now.
                unsafe { memory.as_ptr().copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
            }
        }
        Ok(elements)
    }

    /// Waits for the launches and replaces all elements.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if the slice has another length than the buffer; a kernel that failed.
    pub fn write(&mut self, elements: &[T]) -> Result<(), Error> {
        if elements.len() != self.length {
            return Err(Error::Length { buffer: self.length, slice: elements.len() });
        }
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        match &mut self.place {
            #[cfg(feature = "cuda")]
            Place::Gpu(gpu, memory) => {
                gpu.synchronize()?;
                crate::gpu::driver::copy_to_device(memory.address(), bytes)
            }
            Place::Emulator(memory, _) => {
                // SAFETY: the memory has as many bytes as the elements, as was just checked, and is this buffer's own;
                // kernels that may write to it have returned.
                unsafe { memory.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
                Ok(())
            }
        }
    }
}
