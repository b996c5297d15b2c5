//! How other profilers record, each written anew from what its documentation and interface say. All
//! record once a warp here, so that they can be compared.

use profiler_device::hardware::{clock64, globaltimer, lane_id, sm_id};
use profiler_kernel::thread::{block_fence, block_idx_x, thread_idx_x};

use crate::WARP;
use crate::format::{self, SM_PROFILER_BYTES, SM_PROFILER_HEAD};
use crate::launch::atomic_add;
use crate::template::{Buffer, Form, HighHalves, instructions, kernels, warp_of_grid};

// Safety of loads and stores: the address is that of so many bytes of global memory, aligned to the size of a
// number (of both, for a pair), which no other thread writes.
instructions! {
    /// The low half of the GPU's nanoseconds.
    fn globaltimer_low() out (ticks as reg32) -> u32 { "mov.u32 {ticks}, %globaltimer_lo;" }

    /// The stronger fence of a block (PTX ISA, "membar/fence").
    fn fence_block_sequential() { "fence.sc.cta;" }

    [unsafe] fn load_u32(address: u64 as reg64) out (value as reg32) -> u32 {
        "ld.global.u32 {value}, [{address}];"
    }

    [unsafe] fn load_u64(address: u64 as reg64) out (value as reg64) -> u64 {
        "ld.global.u64 {value}, [{address}];"
    }

    [unsafe] fn store_u32(address: u64 as reg64, value: u32 as reg32) {
        "st.global.u32 [{address}], {value};"
    }

    [unsafe] fn store_u64(address: u64 as reg64, value: u64 as reg64) {
        "st.global.u64 [{address}], {value};"
    }

    /// A store if `condition` is not 0.
    [unsafe] fn store_u64_if(condition: u32 as reg32, address: u64 as reg64, value: u64 as reg64) {
        "{{ .reg .pred %p_store; setp.ne.u32 %p_store, {condition}, 0;",
        "@%p_store st.global.u64 [{address}], {value}; }}"
    }

    [unsafe] fn store_pair(address: u64 as reg64, first: u64 as reg64, second: u64 as reg64) {
        "st.global.v2.u64 [{address}], {{{first}, {second}}};"
    }
}

/// flashinfer's macros: after a branch a tag of 32 bits and the low half of the global timer, and a
/// fence of the block after each. No bound.
pub(crate) struct Flashinfer {
    leader: bool,
    next: u64,
    group: u32,
}

impl Flashinfer {
    #[inline(always)]
    fn append(&mut self, number: u32, is_end: bool) {
        if self.leader {
            let word = format::pack_tagged(self.group, number, is_end, globaltimer_low());
            // SAFETY: the host gives buffers that take all events.
            unsafe { store_u64(self.next, word) };
            self.next += 8;
        }
    }
}

impl Form for Flashinfer {
    type Start = ();

    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        Self { leader: lane_id() == 0, next: buffer.address, group: warp_of_grid() }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) {
        self.append(NUMBER, false);
        block_fence();
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, (): ()) {
        self.append(NUMBER, true);
        block_fence();
    }
}

/// triton-distributed's: the same record, with a sequentially consistent fence of the block before
/// and after each.
pub(crate) struct TritonDistributed(Flashinfer);

impl Form for TritonDistributed {
    type Start = ();

    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        Self(Flashinfer::new(buffer))
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) {
        fence_block_sequential();
        self.0.append(NUMBER, false);
        fence_block_sequential();
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, (): ()) {
        fence_block_sequential();
        self.0.append(NUMBER, true);
        fence_block_sequential();
    }
}

/// The compact static record of transformer_nuggets: begin, duration and tag in 8 bytes, by the
/// global timer. No bound.
pub(crate) struct NuggetsCompact {
    leader: bool,
    high_halves: HighHalves,
    next: u64,
}

impl Form for NuggetsCompact {
    type Start = u64;

    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        let high_halves = HighHalves::default();
        Self { leader: lane_id() == 0, high_halves, next: buffer.address }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) -> u64 {
        globaltimer()
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, start: u64) {
        let end = globaltimer();
        self.high_halves.fold(start, end);
        let word = format::pack_compact(NUMBER, start, end);
        // SAFETY: the host gives buffers that take all records.
        unsafe { store_u64_if(u32::from(self.leader), self.next, word) };
        self.next += 8;
    }

    #[inline(always)]
    fn leave(self) -> u32 {
        self.high_halves.folded()
    }
}

/// The CUTE DSL profiler of transformer_nuggets: an atomic counter for each slice of the buffer, and
/// four numbers of 64 bits a region, of which the begin is written first and read at the end.
pub(crate) struct CuteDslAtomic {
    leader: bool,
    buffer: Buffer,
}

impl CuteDslAtomic {
    #[inline(always)]
    fn address(&self, event: u32) -> u64 {
        self.buffer.address + 8 + 32 * u64::from(event)
    }

    #[inline(always)]
    fn has_buffer(&self, event: u32) -> bool {
        event < (self.buffer.bytes - 8) / 32
    }
}

impl Form for CuteDslAtomic {
    type Start = u32;

    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        Self { leader: lane_id() == 0, buffer }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) -> u32 {
        if !self.leader {
            return 0;
        }
        // SAFETY: the counter at the begin of the warp's own buffer.
        let event = unsafe { atomic_add(self.buffer.address, 1) };
        if self.has_buffer(event) {
            // SAFETY: the event's own words.
            unsafe { store_u64(self.address(event), globaltimer()) };
        }
        event
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, event: u32) {
        if self.leader && self.has_buffer(event) {
            let end = globaltimer();
            let address = self.address(event);
            // SAFETY: the event's own words, the first of which was written at its begin.
            unsafe {
                let start = load_u64(address);
                store_u64(address + 8, end - start);
                store_u64(address + 16, u64::from(NUMBER));
                store_u64(address + 24, u64::from(warp_of_grid()));
            }
        }
    }
}

/// One atomic counter for the whole grid, 16 bytes a region: the counter lies in the first buffer, the
/// records in the others.
pub(crate) struct GridAtomic {
    leader: bool,
    counter: u64,
    records: u64,
}

impl Form for GridAtomic {
    type Start = u64;

    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        let records = buffer.buffer + u64::from(buffer.bytes);
        Self { leader: lane_id() == 0, counter: buffer.buffer, records }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) -> u64 {
        clock64()
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, start: u64) {
        let end = clock64();
        if self.leader {
            // SAFETY: the counter at the begin of the buffer.
            let index = unsafe { atomic_add(self.counter, 1) };
            let first = format::pack(format::BEGIN, NUMBER, start);
            // The warp, since the records of all lie together.
            let second = format::pack(format::END, warp_of_grid(), end);
            // SAFETY: the host gives as many buffers as there are warps, and one more, each for all
            // records of a warp.
            unsafe { store_pair(self.records + 16 * u64::from(index), first, second) };
        }
    }
}

/// sm-profiler: a counter and a table of active events in global memory; 40 bytes an event.
pub(crate) struct SmProfiler {
    leader: bool,
    buffer: Buffer,
}

impl SmProfiler {
    /// Where the counter, or the event that is active under a number, is kept.
    #[inline(always)]
    fn head(&self, index: u32) -> u64 {
        self.buffer.address + 4 * u64::from(index)
    }

    #[inline(always)]
    fn event(&self, index: u32) -> u64 {
        self.buffer.address
            + u64::from(SM_PROFILER_HEAD)
            + u64::from(SM_PROFILER_BYTES) * u64::from(index)
    }
}

impl Form for SmProfiler {
    type Start = ();

    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        Self { leader: lane_id() == 0, buffer }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) {
        if self.leader {
            // SAFETY: the head of the warp's own buffer, and an event that the host gave buffer for.
            unsafe {
                let index = load_u32(self.head(0));
                store_u32(self.head(0), index + 1);
                store_u32(self.head(NUMBER), index);
                let event = self.event(index);
                store_u64(event, globaltimer());
                store_u32(event + 16, NUMBER);
                store_u32(event + 20, index);
                store_u32(event + 24, block_idx_x());
                store_u32(event + 28, thread_idx_x() / WARP);
                store_u32(event + 32, sm_id());
            }
        }
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, (): ()) {
        if self.leader {
            // SAFETY: as above.
            unsafe {
                let index = load_u32(self.head(NUMBER));
                store_u64(self.event(index) + 8, globaltimer());
            }
        }
    }
}

kernels! {
    flashinfer => |buffer| Flashinfer::new(buffer);
    triton_distributed => |buffer| TritonDistributed::new(buffer);
    nuggets_compact => |buffer| NuggetsCompact::new(buffer);
    cute_dsl_atomic => |buffer| CuteDslAtomic::new(buffer);
    grid_atomic => |buffer| GridAtomic::new(buffer);
    sm_profiler => |buffer| SmProfiler::new(buffer);
}
