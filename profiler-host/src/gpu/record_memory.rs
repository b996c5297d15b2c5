//! Where the arrays of a module lie: in device memory, or in memory of the host that kernels write to.

use std::ffi::c_void;
use std::sync::Arc;

use profiler_cuda_driver::sys::constants::{
    CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_PORTABLE,
};
use profiler_cuda_driver::sys::{self, CUresult, CUstream};

use super::driver::{self, DeviceMemory};
use crate::arrays::{Memory, Rows};
use crate::error::Error;
use crate::host_memory::HostMemory;

/// What the memory that is page-locked is aligned to, so that it shares no page with anything else:
/// the largest size of a page on the machines that CUDA runs on.
const PAGE: u64 = 64 * 1024;

/// Memory of the process, page-locked and mapped into the GPU's address space.
///
/// It is the process's own, and not the driver's (`cuMemHostAlloc`), so that it outlives the context,
/// which a kernel that fails takes with it.
#[derive(Debug)]
pub(crate) struct MappedMemory {
    memory: Arc<HostMemory>,
    /// The address by which kernels know its first byte.
    address: u64,
    bytes: u64,
}

impl MappedMemory {
    /// Zeroed memory; `remedy` says what to lower where it does not fit.
    pub(crate) fn new(bytes: u64, help: impl Fn() -> String) -> Result<Self, Error> {
        let out_of_memory = || Error::OutOfMemory { bytes, free: None, help: help() };
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE).ok_or_else(out_of_memory)?;
        let memory = Arc::new(HostMemory::aligned(bytes, PAGE as usize, &help)?);
        let start = memory.as_ptr().cast::<c_void>();
        let flags = CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE;
        // SAFETY: so many bytes are allocated there, until `drop` takes the registration back.
        match unsafe { sys::cuMemHostRegister_v2(start, bytes as usize, flags) } {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => return Err(out_of_memory()),
            code => driver::check("page-locking memory of the host", code)?,
        }
        let mut mapped = Self { memory, address: 0, bytes };
        // SAFETY: the pointer is to a live variable; the memory was just registered.
        let code = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut mapped.address, start, 0) };
        driver::check("mapping memory of the host", code)?;
        Ok(mapped)
    }

    /// The address by which kernels know its first byte.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn memory(&self) -> &Arc<HostMemory> {
        &self.memory
    }
}

impl Drop for MappedMemory {
    fn drop(&mut self) {
        // SAFETY: registered in `new` and not unregistered since; the session has waited for its
        // kernels.
        let code = unsafe { sys::cuMemHostUnregister(self.memory.as_ptr().cast()) };
        if code != CUresult::CUDA_SUCCESS {
            // After a failed kernel, or with the context gone, nothing says that the device is done
            // with it: it is never used for anything else.
            std::mem::forget(Arc::clone(&self.memory));
        }
    }
}

/// The memory of a module's arrays.
#[derive(Debug)]
pub(crate) enum RecordMemory {
    Device(DeviceMemory),
    Mapped(MappedMemory),
}

impl RecordMemory {
    /// Zeroed memory.
    pub(crate) fn new(mapped: bool, bytes: u64, help: impl Fn() -> String) -> Result<Self, Error> {
        if mapped {
            return MappedMemory::new(bytes, help).map(Self::Mapped);
        }
        let memory = DeviceMemory::new(bytes, help)?;
        memory.zero(std::ptr::null_mut())?;
        Ok(Self::Device(memory))
    }

    /// The address by which kernels know its first byte.
    pub(crate) fn address(&self) -> u64 {
        match self {
            Self::Device(memory) => memory.address(),
            Self::Mapped(mapped) => mapped.address,
        }
    }

    /// Fills the memory with zeros, in the order of `stream`.
    pub(crate) fn zero(&self, stream: CUstream) -> Result<(), Error> {
        match self {
            Self::Device(memory) => memory.zero(stream),
            Self::Mapped(mapped) => {
                let MappedMemory { address, bytes, .. } = mapped;
                // SAFETY: the range is this memory, registered until `drop`, before which the session
                // waits.
                let code = unsafe { sys::cuMemsetD8Async(*address, 0, *bytes as usize, stream) };
                driver::check("zeroing memory of the host", code)
            }
        }
    }
}

impl Memory for RecordMemory {
    fn read(&self, address: u64, rows: Rows, into: &mut [u8]) -> Result<(), Error> {
        match self {
            Self::Device(memory) => memory.read(address, rows, into),
            Self::Mapped(mapped) => {
                // Kernels of other streams may still write: by words.
                let from = (address - mapped.address) as usize;
                mapped.memory.read_rows(from, rows, into);
                Ok(())
            }
        }
    }

    fn write_at(&self, address: u64, from: &[u8]) -> Result<(), Error> {
        match self {
            Self::Device(memory) => memory.write_at(address, from),
            Self::Mapped(mapped) => {
                mapped.memory.write_words((address - mapped.address) as usize, from);
                Ok(())
            }
        }
    }
}
