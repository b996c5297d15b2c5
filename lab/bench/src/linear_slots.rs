//! Slots that warps find by their index, for launches that this program makes itself: sessions of modules have
//! claimed ones alone.

use std::ffi::CString;

use cust::function::Function;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::sys;
use profiler_wire::descriptor::{BYTES, Descriptor, Lost, offset};
use profiler_wire::header::{self, SlotHeader};
use profiler_wire::record::UNIT_BYTES;
use profiler_wire::{WIRE_VERSION, symbol};

use crate::Error;
use crate::gpu::{Gpu, answer};

/// Slots of one record each, in a module whose descriptor it fills. Dropped, it empties the descriptor.
#[derive(Debug)]
pub(crate) struct LinearSlots<'g> {
    gpu: &'g Gpu,
    /// The address of the descriptor.
    descriptor: u64,
    memory: DeviceBuffer<u8>,
    slots: u32,
    next: u32,
}

impl<'g> LinearSlots<'g> {
    /// So many slots for launches of the kernel's module.
    pub(crate) fn new(gpu: &'g Gpu, kernel: &Function<'_>, slots: u32) -> Result<Self, Error> {
        let name = CString::new(symbol::DESCRIPTOR).unwrap_or_default();
        let (mut module, mut descriptor) = (std::ptr::null_mut(), 0);
        // SAFETY: the pointers are to live variables and a text that ends in zero; the kernel's module is loaded.
        let codes = unsafe {
            let found = sys::cuFuncGetModule(&raw mut module, kernel.to_raw());
            answer("finding the module", found)?;
            let bytes = std::ptr::null_mut();
            sys::cuModuleGetGlobal_v2(&raw mut descriptor, bytes, module, name.as_ptr())
        };
        answer("finding the descriptor", codes)?;
        let slot_bytes = header::BYTES + UNIT_BYTES as usize;
        let memory = DeviceBuffer::zeroed(slots as usize * slot_bytes + Lost::BYTES)
            .map_err(Error::cuda("taking memory for slots"))?;
        let headers = memory.as_device_ptr().as_raw();
        let records = headers + u64::from(slots) * header::BYTES as u64;
        let linear = Self { gpu, descriptor, memory, slots, next: 0 };
        linear.fill(&Descriptor {
            version: WIRE_VERSION,
            headers,
            records,
            record_mask: u32::MAX,
            record_limit: UNIT_BYTES,
            record_shift: UNIT_BYTES.trailing_zeros(),
            slot_count: slots,
            warp_mask: u32::MAX,
            block_count: u32::MAX,
            block_stride: 1,
            lost: records + u64::from(slots * UNIT_BYTES),
            ..Descriptor::default()
        })?;
        Ok(linear)
    }

    fn fill(&self, descriptor: &Descriptor) -> Result<(), Error> {
        self.gpu.synchronize()?;
        let bytes = descriptor.to_bytes();
        // SAFETY: the descriptor has so many bytes, and no kernel runs that reads it.
        let code = unsafe { sys::cuMemcpyHtoD_v2(self.descriptor, bytes.as_ptr().cast(), BYTES) };
        answer("writing the descriptor", code)
    }

    /// Takes slots for a launch of so many warps, in the stream's order.
    pub(crate) fn take(&mut self, warps: u32) -> Result<(), Error> {
        let base = self.next;
        self.next += warps;
        if base == 0 {
            return Ok(());
        }
        let word = self.descriptor + u64::from(offset::SLOT_BASE);
        // SAFETY: the descriptor's word of 4 bytes.
        let code = unsafe { sys::cuMemsetD32Async(word, base, 1, self.gpu.stream.as_inner()) };
        answer("moving the slots", code)
    }

    /// How many slots a warp entered.
    pub(crate) fn entered(&self) -> Result<usize, Error> {
        let mut headers = vec![0; self.slots as usize * header::BYTES];
        let of_headers = self.memory.index(..headers.len());
        of_headers.copy_to(&mut headers).map_err(Error::cuda("reading the slots"))?;
        let headers = headers.chunks_exact(header::BYTES);
        Ok(headers.filter(|it| SlotHeader::unpack(&header::words(it)).is_some()).count())
    }
}

impl Drop for LinearSlots<'_> {
    fn drop(&mut self) {
        // What fails here fails in whatever is measured next.
        let _told_next = self.fill(&Descriptor::default());
    }
}
