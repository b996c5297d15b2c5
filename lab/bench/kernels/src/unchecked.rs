//! The profiler's own record without what keeps it in its buffer: the bound, the ring's mask, and the limit of
//! the count. What these three cost is the difference to `default`, in one run.
//!
//! All else is as there: what stands before the end stamp and after it, which registers are kept apart
//! (docs/how-it-costs.md, "Up to eight warps"), and that each store asks who records. A test compares the
//! machine code of both, and where a stamp waits for a store. What differs besides is what surrounds the loop:
//! there is no session to enter and to leave.
//!
//! And the same where all lanes store the same words, as they might if a kernel promised that a warp's lanes
//! reach each region together: nobody is asked who records.

use core::arch::asm;

use crate::format::tagged_upper;
use crate::forms::{Buffer, Form};
use crate::instructions::{clock64, hold, lane};
use crate::template::{Left, kernels, warp_of_grid};

/// Bytes of a record.
const RECORD: u32 = 16;

/// A record of 16 bytes at a region's end, for which the buffer must have a place.
struct Unchecked {
    buffer: u64,
    /// What a profiled kernel holds to its end as well.
    slot: u32,
    /// 0 where a lane does not record.
    limit: u32,
    /// What a record adds to the cursor, 0 where a lane does not record.
    step: u32,
    /// Bytes recorded so far.
    cursor: u32,
    /// A word of each of the last three records, the last one first, which are still to be read.
    last: [u32; 3],
}

impl Unchecked {
    /// The address of the next record, `buffer | cursor`, as the buffer is aligned to its size. Nothing of the
    /// record before the last two comes into it, but its word's register is taken up to here. 0xfc is the
    /// truth table of a | b, and 0xf0 of a alone.
    #[inline(always)]
    fn address(&self) -> u64 {
        let [_, _, kept] = self.last;
        let address: u64;
        // SAFETY: arithmetic alone. Not `pure`, so that it stays after the stamp.
        unsafe {
            asm!(
                "{{ .reg .b32 %r_half<4>;",
                "mov.b64 {{%r_half0, %r_half1}}, {buffer};",
                "lop3.b32 %r_half3, %r_half0, {cursor}, {cursor}, 0xfc;",
                "lop3.b32 %r_half2, %r_half1, {kept}, {kept}, 0xf0;",
                "mov.b64 {address}, {{%r_half3, %r_half2}}; }}",
                buffer = in(reg64) self.buffer,
                cursor = in(reg32) self.cursor,
                kept = in(reg32) kept,
                address = lateout(reg64) address,
                options(nomem, nostack, preserves_flags),
            );
        }
        address
    }

    /// The cursor after a record.
    #[inline(always)]
    fn next(&self) -> u32 {
        let next: u32;
        // SAFETY: arithmetic alone. Not `pure`: LLVM would make the cursors of an iteration's records from its
        // first one, by more instructions.
        unsafe {
            asm!(
                "add.u32 {next}, {cursor}, {step};",
                cursor = in(reg32) self.cursor,
                step = in(reg32) self.step,
                next = out(reg32) next,
                options(nomem, nostack, preserves_flags),
            );
        }
        next
    }
}

impl Unchecked {
    /// Ends a region; stores its record where this lane `records`.
    #[inline(always)]
    fn record<const NUMBER: u32>(&mut self, records: bool, start: u64) {
        let end = clock64();
        let address = self.address();
        let upper: u32;
        // SAFETY: where this lane records, the host gives a buffer, the warp's own, that takes all records; and
        // the cursor is that of the next one.
        unsafe {
            asm!(
                "{{ .reg .pred %p_records; .reg .b32 %r_stamp<5>;",
                "setp.ne.u32 %p_records, {records}, 0;",
                "mov.b64 {{%r_stamp0, %r_stamp1}}, {start};",
                "mov.b64 {{%r_stamp2, %r_stamp3}}, {end};",
                "shl.b32 %r_stamp3, %r_stamp3, 24;",
                "add.u32 %r_stamp4, %r_stamp3, {tag};",
                "@%p_records st.global.v4.b32 [{address}], {{%r_stamp0, %r_stamp1, %r_stamp2, %r_stamp4}};",
                "mov.b32 {upper}, %r_stamp4; }}",
                records = in(reg32) u32::from(records),
                start = in(reg64) start,
                end = in(reg64) end,
                tag = in(reg32) tagged_upper(NUMBER, 0),
                address = in(reg64) address,
                upper = lateout(reg32) upper,
                options(nostack, preserves_flags),
            );
        }
        let [a, b, _] = self.last;
        self.last = [upper, a, b];
        self.cursor = self.next();
    }
}

impl Form for Unchecked {
    type Start = u64;

    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        let leads = lane() == 0;
        let if_leads = |value: u32| if leads { value } else { 0 };
        // The minimum is always a record's bytes, which ptxas does not know: of a constant it would make the
        // cursor of a loop's only record by an instruction more.
        let step = hold(if_leads(RECORD.min(buffer.bytes)));
        let limit = hold(if_leads(buffer.bytes));
        // Any words will do; as in the profiler's own record, they differ between lanes.
        let slot = hold(if leads { warp_of_grid() } else { u32::MAX });
        let mask = hold(if_leads(buffer.bytes - 1));
        let address = if leads { buffer.address } else { 0 };
        Self { buffer: address, slot, limit, step, cursor: 0, last: [limit, mask, slot] }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) -> u64 {
        clock64()
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, start: u64) {
        // Once for the whole loop, as nothing of it changes.
        let records = self.limit != 0;
        self.record::<NUMBER>(records, start);
    }

    #[inline(always)]
    fn leave(self) -> Left {
        Left { rest: self.cursor ^ self.slot, ..Left::default() }
    }
}

/// The same, stored by all lanes.
struct UncheckedOfAllLanes(Unchecked);

impl Form for UncheckedOfAllLanes {
    type Start = u64;

    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        let one = Unchecked::new(buffer);
        Self(Unchecked { buffer: buffer.address, step: hold(RECORD.min(buffer.bytes)), ..one })
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) -> u64 {
        clock64()
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, start: u64) {
        self.0.record::<NUMBER>(true, start);
    }

    #[inline(always)]
    fn leave(self) -> Left {
        Form::leave(self.0)
    }
}

kernels! {
    default_unchecked => |buffer| Unchecked::new(buffer);
    default_unchecked_all_lanes => |buffer| UncheckedOfAllLanes::new(buffer);
}
