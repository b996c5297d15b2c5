//! A ring in shared memory with the profiler's own record: its words, its count that never wraps, and
//! registers that are kept apart (docs/how-it-costs.md, "Up to eight warps").
//!
//! What it does not need is a bound: a ring has a place for every record.

use core::arch::asm;
use core::marker::PhantomData;

use crate::format::{RING_RECORDS, tagged_upper};
use crate::forms::{Buffer, Cursor as _, Form, Ring};
use crate::instructions::{clock64, lane};
use crate::template::{Left, kernels};

/// Bytes of a record.
const RECORD: u32 = 16;
/// What a cursor never passes, so that a count does not wrap.
const CURSOR_MAX: u32 = 0xffff_fc00;

/// Where the rings of a block are.
pub(crate) trait Memory {
    /// The calling warp's ring. Its base is a multiple of its size.
    fn ring(buffer: Buffer) -> Ring;
}

/// In an array of the module's own.
pub(crate) struct Static;

impl Memory for Static {
    #[inline(always)]
    fn ring(buffer: Buffer) -> Ring {
        Ring::new(buffer)
    }
}

/// In what the launch asks for, after the kernel's own.
pub(crate) struct Dynamic;

impl Memory for Dynamic {
    #[inline(always)]
    fn ring(buffer: Buffer) -> Ring {
        Ring::in_dynamic_memory(buffer)
    }
}

/// A record of 16 bytes at a region's end.
pub(crate) struct Apart<M> {
    ring: Ring,
    /// Whether this lane records.
    leads: bool,
    /// What a record adds to the cursor, 0 where a lane does not record.
    step: u32,
    /// Bytes recorded so far.
    cursor: u32,
    /// A word of each of the last three records, the last one first, which are still to be read.
    last: [u32; 3],
    /// The last record's address, likewise: ptxas would take its register for the stamp that comes next.
    last_address: u32,
    memory: PhantomData<M>,
}

impl<M: Memory> Form for Apart<M> {
    type Start = u64;

    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        let leads = lane() == 0;
        let step = if leads { RECORD } else { 0 };
        // Any words will do; as in the profiler's own form, they differ between lanes.
        let last = [lane(), step, lane() + step];
        let ring = M::ring(buffer);
        Self { leads, step, cursor: 0, last, last_address: ring.base, ring, memory: PhantomData }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) -> u64 {
        clock64()
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, start: u64) {
        let end = clock64();
        let [a, b, kept] = self.last;
        let (upper, address, cursor): (u32, u32, u32);
        // SAFETY: the address is the ring's base and, by the mask, a place in it: a multiple of 16, as the
        // step is. The ring is the warp's own, and of its lanes one records. 0xf8 is the truth table of
        // a | (b & c), and 0xf0 of a alone.
        unsafe {
            asm!(
                "{{ .reg .pred %p_leads; .reg .b32 %r_start<2>, %r_end<2>, %r_upper, %r_base, %r_next;",
                "setp.ne.u32 %p_leads, {leads}, 0;",
                "mov.b64 {{%r_start0, %r_start1}}, {start};",
                "mov.b64 {{%r_end0, %r_end1}}, {end};",
                "lop3.b32 %r_base, {base}, {kept}, {kept_address}, 0xf0;",
                "shl.b32 %r_upper, %r_end1, 24;",
                "add.u32 %r_upper, %r_upper, {tag};",
                "lop3.b32 {address}, %r_base, {cursor}, {mask}, 0xf8;",
                "@%p_leads st.shared.v4.b32 [{address}], {{%r_start0, %r_start1, %r_end0, %r_upper}};",
                "add.u32 %r_next, {cursor}, {step};",
                "min.u32 {next}, %r_next, {cursor_max};",
                "mov.b32 {upper}, %r_upper; }}",
                leads = in(reg32) u32::from(self.leads),
                start = in(reg64) start,
                end = in(reg64) end,
                base = in(reg32) self.ring.base,
                kept = in(reg32) kept,
                kept_address = in(reg32) self.last_address,
                tag = in(reg32) tagged_upper(NUMBER, 0),
                cursor = in(reg32) self.cursor,
                mask = in(reg32) RING_RECORDS * RECORD - 1,
                step = in(reg32) self.step,
                cursor_max = in(reg32) CURSOR_MAX,
                address = out(reg32) address,
                next = lateout(reg32) cursor,
                upper = lateout(reg32) upper,
                options(nostack, preserves_flags),
            );
        }
        self.last = [upper, a, b];
        self.last_address = address;
        self.cursor = cursor;
    }

    #[inline(always)]
    fn leave(self) -> Left {
        Left { rest: self.cursor, flush: self.ring.leave::<RECORD>() }
    }
}

kernels! {
    shared_ring_16b_apart => |buffer| Apart::<Static>::new(buffer);
    shared_ring_16b_apart_dynamic => |buffer| Apart::<Dynamic>::new(buffer);
}
