//! How other profilers record, each written anew from what its documentation and interface say. All
//! record once a warp here, so that they can be compared.

use crate::WARP;
use crate::format::{self, SM_PROFILER_BYTES, SM_PROFILER_HEAD};
use crate::forms::{Buffer, Form, HighHalves};
use crate::instructions::{
    Global8All, Global8Leader, Global16All, Store, atomic_add, block, clock64, fence_block,
    fence_block_sequential, globaltimer, globaltimer_low, lane, load, load_u32, multiprocessor,
    store_u32, thread,
};
use crate::template::{Left, kernels, warp_of_grid};

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
            unsafe { Global8All::store(true, self.next, word) };
            self.next += 8;
        }
    }
}

impl Form for Flashinfer {
    type Start = ();

    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        Self { leader: lane() == 0, next: buffer.address, group: warp_of_grid() }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) {
        self.append(NUMBER, false);
        fence_block();
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, (): ()) {
        self.append(NUMBER, true);
        fence_block();
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
        Self { leader: lane() == 0, high_halves, next: buffer.address }
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
        unsafe { Global8Leader::store(self.leader, self.next, word) };
        self.next += 8;
    }

    #[inline(always)]
    fn leave(self) -> Left {
        Left { rest: self.high_halves.folded(), ..Left::default() }
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
        Self { leader: lane() == 0, buffer }
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
            unsafe { Global8All::store(true, self.address(event), globaltimer()) };
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
                let start = load(address);
                Global8All::store(true, address + 8, end - start);
                Global8All::store(true, address + 16, u64::from(NUMBER));
                Global8All::store(true, address + 24, u64::from(warp_of_grid()));
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
        Self { leader: lane() == 0, counter: buffer.buffer, records }
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
            let words = [
                format::pack(format::BEGIN, NUMBER, start),
                // The warp, since the records of all lie together.
                format::pack(format::END, warp_of_grid(), end),
            ];
            // SAFETY: the host gives as many buffers as there are warps, and one more, each for all
            // records of a warp.
            unsafe { Global16All::store(true, self.records + 16 * u64::from(index), words) };
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
        Self { leader: lane() == 0, buffer }
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
                Global8All::store(true, event, globaltimer());
                store_u32(event + 16, NUMBER);
                store_u32(event + 20, index);
                store_u32(event + 24, block());
                store_u32(event + 28, thread() / WARP);
                store_u32(event + 32, multiprocessor());
            }
        }
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, (): ()) {
        if self.leader {
            // SAFETY: as above.
            unsafe {
                let index = load_u32(self.head(NUMBER));
                Global8All::store(true, self.event(index) + 8, globaltimer());
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
