//! A record of 8 bytes where its duration fits 16 bits, and of 16 where it does not, in registers that
//! are kept apart as those of the profiler's own record are (docs/how-it-costs.md, "Up to eight warps").
//!
//! It has what that record has: a bound for each record, and a count of everything that was emitted.
//! What it cannot have is a ring, as its records are of two sizes: who begins to read anywhere does not
//! know where a record begins.

use core::arch::asm;

use crate::format::{FITS_MAX, escape_tag};
use crate::forms::{Buffer, Form};
use crate::instructions::{clock64, hold, lane};
use crate::template::{Left, kernels};

/// Bytes of a word, by which the cursor goes on.
const WORD: u32 = 8;
/// What a cursor never passes, so that a count does not wrap.
const CURSOR_MAX: u32 = 0xffff_fc00;

/// Which regions take the long form.
pub(crate) trait Escape {
    /// The longest duration of a region of this number that takes the short form.
    fn fits_max(number: u32) -> u64;
}

/// Those that do not fit the short one.
pub(crate) struct WhereLong;

impl Escape for WhereLong {
    #[inline(always)]
    fn fits_max(_number: u32) -> u64 {
        FITS_MAX
    }
}

/// Those and every second one, however short, so that what is left in memory is of both.
pub(crate) struct EverySecond;

impl Escape for EverySecond {
    #[inline(always)]
    fn fits_max(number: u32) -> u64 {
        if number.is_multiple_of(2) { 0 } else { FITS_MAX }
    }
}

/// A record at the end of a region, of one word or two.
pub(crate) struct Escaping<E> {
    buffer: u64,
    mask: u32,
    /// Records whose cursor is not below it are counted and not stored; 0 where a lane does not record.
    limit: u32,
    /// What a word adds to the cursor, 0 where a lane does not record.
    step: u32,
    cursor: u32,
    /// A word of each of the last three records, the last one first, which are still to be read.
    last: [u32; 3],
    /// A word of the last record's address, likewise: ptxas would take its registers for the stamp that
    /// comes next.
    last_address: u32,
    escape: core::marker::PhantomData<E>,
}

impl<E: Escape> Escaping<E> {
    /// The address of the next record. Nothing of the record before the last two comes into it, nor of the
    /// last one's address, but their words' registers are taken up to here.
    #[inline(always)]
    fn address(&self) -> u64 {
        let [_, _, kept] = self.last;
        let address: u64;
        // SAFETY: arithmetic alone: 0xf8 is the truth table of a | (b & c), and 0xf0 of a alone. Not
        // `pure`, so that it stays after the stamp.
        unsafe {
            asm!(
                "{{ .reg .b32 %r_half<4>;",
                "mov.b64 {{%r_half0, %r_half1}}, {buffer};",
                "lop3.b32 %r_half2, %r_half1, {kept}, {kept_address}, 0xf0;",
                "lop3.b32 %r_half3, %r_half0, {cursor}, {mask}, 0xf8;",
                "mov.b64 {address}, {{%r_half3, %r_half2}}; }}",
                buffer = in(reg64) self.buffer,
                cursor = in(reg32) self.cursor,
                mask = in(reg32) self.mask,
                kept = in(reg32) kept,
                kept_address = in(reg32) self.last_address,
                address = lateout(reg64) address,
                options(nomem, nostack, preserves_flags),
            );
        }
        address
    }
}

impl<E: Escape> Form for Escaping<E> {
    type Start = u64;

    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        let leads = lane() == 0;
        // The last word of a buffer is one that a record of two words, begun before it, may take.
        let limit = hold(if leads { buffer.bytes - WORD } else { 0 });
        let step = hold(if leads { WORD } else { 0 });
        Self {
            buffer: buffer.address,
            mask: buffer.bytes - 1,
            limit,
            step,
            cursor: 0,
            // Any words will do; as in the profiler's own form, they differ between lanes.
            last: [limit, step, lane()],
            last_address: step,
            escape: core::marker::PhantomData,
        }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) -> u64 {
        clock64()
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, start: u64) {
        // Before the stamp and after it, as the profiler's own form has them.
        let stores = self.cursor < self.limit;
        let end = clock64();
        let address = self.address();
        let (kept, cursor): (u32, u32);
        // SAFETY: where this lane leads and the cursor is below the limit, two words are left in the
        // buffer, which is the warp's own, and of which the address was made by this cursor.
        unsafe {
            asm!(
                "{{ .reg .pred %p_store, %p_long; .reg .b64 %rd_length;",
                ".reg .b32 %r_start<2>, %r_length<2>, %r_upper, %r_next;",
                "setp.ne.u32 %p_store, {stores}, 0;",
                "sub.u64 %rd_length, {end}, {start};",
                // What is not stored is counted as one word.
                "setp.gt.and.u64 %p_long, %rd_length, {fits_max}, %p_store;",
                "mov.b64 {{%r_start0, %r_start1}}, {start};",
                "mov.b64 {{%r_length0, %r_length1}}, %rd_length;",
                "add.u32 %r_upper, %r_length0, {short};",
                "@%p_long add.u32 %r_upper, %r_length1, {long};",
                "@%p_store st.global.v2.b32 [{address}], {{%r_start0, %r_upper}};",
                "@%p_long st.global.b64 [{address}+8], {end};",
                "add.u32 %r_next, {cursor}, {step};",
                "min.u32 %r_next, %r_next, {cursor_max};",
                "@%p_long add.u32 %r_next, %r_next, {step};",
                "mov.b32 {next}, %r_next;",
                "mov.b32 {kept}, %r_upper; }}",
                stores = in(reg32) u32::from(stores),
                start = in(reg64) start,
                end = in(reg64) end,
                address = in(reg64) address,
                cursor = in(reg32) self.cursor,
                step = in(reg32) self.step,
                fits_max = in(reg64) E::fits_max(NUMBER),
                short = in(reg32) escape_tag(NUMBER, false),
                long = in(reg32) escape_tag(NUMBER, true),
                cursor_max = in(reg32) CURSOR_MAX,
                next = lateout(reg32) cursor,
                kept = lateout(reg32) kept,
                options(nostack, preserves_flags),
            );
        }
        let [a, b, _] = self.last;
        self.last = [kept, a, b];
        self.last_address = (address >> 32) as u32;
        self.cursor = cursor;
    }

    #[inline(always)]
    fn leave(self) -> Left {
        Left { rest: self.cursor, ..Left::default() }
    }
}

kernels! {
    global_8b_escape => |buffer| Escaping::<WhereLong>::new(buffer);
    global_8b_escape_every_second => |buffer| Escaping::<EverySecond>::new(buffer);
}
