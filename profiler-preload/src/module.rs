//! A module of the program's whose kernels can record: its descriptor and its arrays.

use std::ffi::{CString, c_void};
use std::ptr;

use profiler_wire::descriptor::{self, CLAIM_STRIDE, Descriptor, FLAG_CLAIMED, Lost, offset};
use profiler_wire::record::UNIT_BYTES;
use profiler_wire::spool::Settings;
use profiler_wire::{WIRE_VERSION, header, symbol};

use crate::context::Context;
use crate::driver::{self, Handle, Rows, SUCCESS};

/// Records of a warp for which there is memory, if it is not known how many it makes.
const RECORDS: u32 = 1024;
/// Bytes of slots that a module gets at most if it makes so few records that it could have many.
const SMALL: u64 = 4 << 20;
/// Warps of a launch that are recorded if nobody asks for more: they show what there is, and hardly slow it down.
const WARPS: u64 = 1024;
/// Launches whose records there is memory for before they are copied.
const LAUNCHES: u64 = 2;
const ALIGNMENT: u64 = 256;

/// A module with a filled descriptor, but for its version: it records nothing until that is written.
#[derive(Debug)]
pub(crate) struct Module {
    /// The index of its context.
    pub(crate) context: usize,
    /// Its handle of the driver's, and its library's if it has one.
    pub(crate) handles: [Handle; 2],
    /// The address of its descriptor.
    pub(crate) address: u64,
    pub(crate) arrays: Arrays,
    /// Slots that launches may have taken since the last reset.
    pub(crate) promised: u64,
    /// Launches that record or will.
    pub(crate) in_flight: u32,
    /// The slots that were copied and not reset.
    pub(crate) copied: u32,
    /// The losses that were copied and not reset.
    pub(crate) lost: Lost,
    /// Whether its records are being copied.
    pub(crate) is_draining: bool,
    /// The stream of its launches, by its key; `None` before the first.
    pub(crate) stream: Option<u64>,
    /// Whether there were others: a launch that is not to be recorded may then take slots too, at any time.
    pub(crate) is_in_several_streams: bool,
    /// Whether warps claim their slots, and do not compute them.
    pub(crate) is_claimed: bool,
    /// The slots from which on records are of no use, as other launches may have written to the same slots.
    pub(crate) spoiled: u32,
    /// Whether graphs launch its kernels.
    pub(crate) is_captured: bool,
    /// Every how many-th block of theirs records: as of the last that became a part of one.
    pub(crate) graph_stride: u32,
    /// Whether there is no memory for it.
    pub(crate) is_full: bool,
}

// SAFETY: the driver's handles are those of the process.
unsafe impl Send for Module {}

/// Where its records lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrays {
    pub(crate) descriptor: Descriptor,
    /// The number of the module in the file.
    pub(crate) number: u32,
    /// The most records that a warp makes; 0 if that is not known.
    bound: u32,
    memory: Memory,
}

/// GPU memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    start: u64,
    bytes: u64,
}

/// Bytes of a warp's records for which there is memory.
fn record_bytes(bound: u32) -> u64 {
    let records = if bound == 0 { RECORDS } else { bound.min(RECORDS).next_power_of_two() };
    u64::from(records * UNIT_BYTES)
}

/// Bytes that arrays of so many slots take besides their slots.
fn other_bytes(record_bytes: u64, sm_count: u32) -> u64 {
    record_bytes + Arrays::counters(sm_count) + Lost::BYTES as u64 + 2 * ALIGNMENT
}

/// How many blocks and warps a launch has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) blocks: u64,
    pub(crate) warps_per_block: u64,
}

impl Shape {
    /// `mask` says which warps of a block record.
    pub(crate) fn new(grid: [u32; 3], block: [u32; 3], mask: u32) -> Self {
        let product = |it: [u32; 3]| it.iter().map(|it| u64::from(*it)).product::<u64>();
        let warps = product(block).div_ceil(32).clamp(1, 32) as u32;
        let recorded = (mask & (u32::MAX >> (32 - warps))).count_ones();
        Self { blocks: product(grid), warps_per_block: u64::from(recorded) }
    }

    /// Every how many-th block of such a launch is recorded, and the slots that it takes.
    pub(crate) fn stride_and_slots(self, settings: &Settings, sm_count: u32) -> (u32, u64) {
        let wanted = match settings.blocks {
            0 => WARPS.div_ceil(self.warps_per_block.max(1)),
            blocks => blocks,
        };
        let stride = stride(wanted, self.blocks, sm_count);
        (stride, self.blocks.div_ceil(u64::from(stride)).saturating_mul(self.warps_per_block))
    }
}

/// The descriptor of a module.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) address: u64,
    /// The hash of a rewritten module.
    pub(crate) hash: u64,
    /// The most records that a warp makes; 0 if that is not known.
    bound: u32,
    /// Whether it records now.
    pub(crate) is_on: bool,
    /// Where it has headers; 0 if nobody has filled it since the module was loaded.
    pub(crate) headers: u64,
}

/// The module of a function, or of a kernel in the current context, and the kernel's library; null if the driver does
/// not say.
pub(crate) fn handles(function: Handle) -> [Handle; 2] {
    // SAFETY: the handle is a function's or a kernel's, of which the driver tells the one from the other.
    unsafe {
        if let Some(module) = driver::handle(|module| driver::func_get_module(module, function)) {
            return [module, ptr::null_mut()];
        }
        let of_kernel = driver::handle(|of| driver::kernel_get_function(of, function));
        let module =
            of_kernel.and_then(|of| driver::handle(|module| driver::func_get_module(module, of)));
        let library = driver::handle(|library| driver::kernel_get_library(library, function));
        [module, library].map(|handle| handle.unwrap_or(ptr::null_mut()))
    }
}

/// The descriptor of a module of the current context. `None` if it has none.
pub(crate) fn find(module: Handle, context: &Context) -> Result<Option<Found>, &'static str> {
    if module.is_null() {
        return Err("the driver does not name its module");
    }
    let name = CString::new(symbol::DESCRIPTOR).unwrap_or_default();
    let (mut address, mut bytes) = (0, 0);
    // SAFETY: the pointers are to live variables.
    let code = unsafe {
        driver::module_get_global(&raw mut address, &raw mut bytes, module, name.as_ptr())
    };
    if code != SUCCESS || bytes != descriptor::BYTES {
        return Ok(None);
    }
    let mut content = [0_u8; descriptor::BYTES];
    read(address, &mut content, context.stream).ok_or("its descriptor could not be read")?;
    let descriptor = Descriptor::from_bytes(&content);
    let hash = content[offset::MODULE_HASH as usize..].first_chunk();
    let hash = hash.map_or(0, |hash| u64::from_le_bytes(*hash));
    let bound = content[offset::RECORDS_BOUND as usize..].first_chunk();
    // What a program made of other PTX may have there is none.
    let bound = bound.filter(|_| hash != 0).map_or(0, |it| u32::from_le_bytes(*it));
    let Descriptor { version, headers, .. } = descriptor;
    Ok(Some(Found { address, hash, bound, is_on: version != 0, headers }))
}

/// Takes memory for launches of so many slots: for several of them if they are small.
fn allocate(context: &mut Context, slots: u64, bound: u32) -> Result<Memory, &'static str> {
    let record_bytes = record_bytes(bound);
    let slot_bytes = record_bytes + header::BYTES as u64;
    let launches = (SMALL / (slots * slot_bytes).max(1)).clamp(LAUNCHES, 4 * LAUNCHES);
    let other = other_bytes(record_bytes, context.sm_count);
    let wanted = (launches * slots).max(32) * slot_bytes + other;
    // One that is much larger may be wanted later.
    let fits = |memory: &Memory| (wanted..=8 * wanted).contains(&memory.bytes);
    if let Some(index) = context.unused.iter().position(fits) {
        return Ok(context.unused.swap_remove(index));
    }
    // One kernel may not take it all.
    let bytes = wanted.min(context.memory / 2);
    if bytes < other + slot_bytes {
        return Err("no memory for records was left: give more by `--memory`");
    }
    let mut start = 0;
    // SAFETY: the pointer is to a live variable.
    if unsafe { driver::mem_alloc(&raw mut start, bytes as usize) } != SUCCESS {
        return Err("the GPU has no memory left for records");
    }
    context.memory = context.memory.saturating_sub(bytes);
    Ok(Memory { start, bytes })
}

impl Arrays {
    /// Arrays for launches of this shape. Fills the descriptor at `address` but for its version, so that nothing of
    /// the module may record. Waits for its own stream alone.
    pub(crate) fn new(
        context: &mut Context,
        settings: &Settings,
        found: &Found,
        number: u32,
        shape: Shape,
    ) -> Result<Self, &'static str> {
        let (step, slots) = shape.stride_and_slots(settings, context.sm_count);
        let memory = allocate(context, slots, found.bound)?;
        let arrays = Self { descriptor: Descriptor::default(), number, bound: found.bound, memory };
        arrays.laid_out(context, settings, found.address, step)
    }

    /// Arrays for launches of another shape, in the same memory if it is enough.
    pub(crate) fn fitted(
        self,
        context: &mut Context,
        settings: &Settings,
        address: u64,
        shape: Shape,
    ) -> Result<Self, &'static str> {
        let (step, slots) = shape.stride_and_slots(settings, context.sm_count);
        let mut memory = self.memory;
        if slots > u64::from(self.descriptor.slot_count)
            && let Ok(other) = allocate(context, slots, self.bound)
        {
            // What there is may be less than wanted, but still more than this.
            let is_more = other.bytes > memory.bytes;
            context.unused.push(if is_more { memory } else { other });
            memory = if is_more { other } else { memory };
        }
        Self { memory, ..self }.laid_out(context, settings, address, step)
    }

    /// The same in other memory, with at least the slots that are wanted: what lies in this one stays there.
    pub(crate) fn renewed(
        self,
        context: &mut Context,
        settings: &Settings,
        address: u64,
        wanted: u64,
    ) -> Result<Self, &'static str> {
        let slots = u64::from(self.descriptor.slot_count);
        let memory = allocate(context, slots.div_ceil(LAUNCHES).max(wanted), self.bound)?;
        Self { memory, ..self }.laid_out(context, settings, address, self.descriptor.block_stride)
    }

    /// Gives the memory back.
    pub(crate) fn leave(self, context: &mut Context) {
        context.unused.push(self.memory);
    }

    fn laid_out(
        self,
        context: &Context,
        settings: &Settings,
        address: u64,
        step: u32,
    ) -> Result<Self, &'static str> {
        let record_bytes = record_bytes(self.bound);
        let slot_bytes = record_bytes + header::BYTES as u64;
        let for_slots =
            self.memory.bytes.saturating_sub(other_bytes(record_bytes, context.sm_count));
        let slots = (for_slots / slot_bytes).min(u64::from(u32::MAX));
        let records = self.memory.start.next_multiple_of(record_bytes);
        let headers = (records + slots * record_bytes).next_multiple_of(ALIGNMENT);
        let claims = (headers + slots * header::BYTES as u64).next_multiple_of(ALIGNMENT);
        let (record_mask, record_limit) = if settings.keep_last {
            (record_bytes as u32 - 1, u32::MAX)
        } else {
            (u32::MAX, record_bytes as u32)
        };
        let descriptor = Descriptor {
            version: 0,
            flags: 0,
            headers,
            records,
            record_mask,
            record_limit,
            record_shift: record_bytes.trailing_zeros(),
            slot_count: slots as u32,
            sm_count: context.sm_count,
            warp_mask: settings.warp_mask,
            block_first: 0,
            block_count: u32::MAX,
            block_stride: step,
            // All warps ask the common pool.
            slots_per_shard: 0,
            claims,
            pool_start: 0,
            lost: claims + Self::counters(context.sm_count),
            ..Descriptor::default()
        };
        let arrays = Self { descriptor, ..self };
        arrays.reset(context.stream, slots as u32)?;
        let bytes = descriptor.to_bytes();
        // SAFETY: the descriptor has so many bytes; the stream is waited for.
        let codes = unsafe {
            [
                driver::copy_to_device(address, bytes.as_ptr().cast(), bytes.len(), context.stream),
                driver::stream_synchronize(context.stream),
            ]
        };
        if codes == [SUCCESS; 2] { Ok(arrays) } else { Err("its descriptor could not be written") }
    }

    /// Bytes of the claim counters.
    fn counters(sm_count: u32) -> u64 {
        u64::from((descriptor::SHARDS_PER_SM * sm_count + 1) * CLAIM_STRIDE)
    }

    /// The address of the counter of slots.
    pub(crate) fn claimed(&self) -> u64 {
        self.descriptor.claims
            + u64::from(descriptor::SHARDS_PER_SM * self.descriptor.sm_count * CLAIM_STRIDE)
    }

    /// Forgets the records in so many slots, in the order of a stream.
    pub(crate) fn reset(&self, stream: Handle, slots: u32) -> Result<(), &'static str> {
        let it = &self.descriptor;
        let headers = slots as usize * header::BYTES;
        let counters = (it.lost - it.claims) as usize + Lost::BYTES;
        // SAFETY: the arrays have so many bytes.
        let codes = unsafe {
            [
                driver::fill_bytes(it.headers, 0, headers, stream),
                driver::fill_bytes(it.claims, 0, counters, stream),
            ]
        };
        if codes == [SUCCESS; 2] { Ok(()) } else { Err("its memory could not be cleared") }
    }

    /// What switches records on: the descriptor's version and flags.
    pub(crate) fn switched_on(&self, is_claimed: bool) -> [u32; 2] {
        [WIRE_VERSION, if is_claimed { FLAG_CLAIMED } else { 0 }]
    }

    /// The descriptor as its kernels see it.
    pub(crate) fn seen(&self) -> Descriptor {
        Descriptor { version: WIRE_VERSION, ..self.descriptor }
    }

    /// Bytes of a warp's records.
    pub(crate) fn record_bytes(&self) -> usize {
        1 << self.descriptor.record_shift
    }
}

/// Copies bytes to the host in the order of a stream, and waits for it.
pub(crate) fn read(address: u64, bytes: &mut [u8], stream: Handle) -> Option<()> {
    // SAFETY: the caller's array has so many bytes, and the stream is waited for.
    let codes = unsafe {
        [
            driver::copy_to_host(bytes.as_mut_ptr().cast::<c_void>(), address, bytes.len(), stream),
            driver::stream_synchronize(stream),
        ]
    };
    (codes == [SUCCESS; 2]).then_some(())
}

/// Copies `height` rows of `width` bytes, `pitch` apart on the device, to the host without gaps, likewise.
pub(crate) fn read_rows(
    address: u64,
    pitch: usize,
    to: &mut [u8],
    width: usize,
    height: usize,
    stream: Handle,
) -> Option<()> {
    let rows = Rows::to_host(address, pitch, to, width, height);
    // SAFETY: the rows fit, and the stream is waited for.
    let codes =
        unsafe { [driver::copy_rows(&raw const rows, stream), driver::stream_synchronize(stream)] };
    (codes == [SUCCESS; 2]).then_some(())
}

/// Every how many-th block to record, so that it is `wanted` blocks or some more. It has no divisor in common with the
/// number of SMs, as blocks are often dealt to them in turn.
fn stride(wanted: u64, blocks: u64, sm_count: u32) -> u32 {
    let mut stride = u32::try_from(blocks / wanted.max(1)).unwrap_or(u32::MAX).max(1);
    while stride > 1 && gcd(stride, sm_count.max(1)) != 1 {
        stride -= 1;
    }
    stride
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_blocks_are_recorded_and_they_are_on_all_sms() {
        assert_eq!(stride(u64::MAX, 1 << 20, 132), 1);
        assert_eq!(stride(128, 100, 132), 1);
        assert_eq!(stride(128, 1024, 132), 7);
        for blocks in [1_u64, 131, 132, 4096, 1 << 31] {
            let stride = stride(256, blocks, 132);
            assert!(blocks.div_ceil(u64::from(stride)) >= 256.min(blocks));
            assert_eq!(gcd(stride, 132), 1);
        }
    }
}
