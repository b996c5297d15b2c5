//! Other forms of a record, each in a buffer of its warp's own.
//!
//! A form is a [`Form`]; most are a [`Range`]: a record written at its end, by a [`Store`], at a
//! [`Cursor`]. To add one, name it in `kernels!` below and say in the host's `schemes` module what
//! it leaves in memory.

use core::marker::PhantomData;

use crate::format::{self, RING_RECORDS};
use crate::instructions::{
    Global8All, Global8Leader, Global16All, Global16L2, Global16Leader, Global16NoAllocate,
    Global16Streaming, Global16Through, Shared8All, Shared16All, Shared16Leader, Store, clock64,
    lane, load_shared, thread, threads,
};
use crate::template::{Left, Scheme, kernels, warp_of_grid};
use crate::{REGIONS, WARP};

/// What a warp may write to: `bytes` bytes, a power of two, at a multiple of them.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    /// Where the buffer of all buffers begins.
    pub(crate) buffer: u64,
    /// Where this warp's begins.
    pub(crate) address: u64,
    /// Bytes of a buffer.
    pub(crate) bytes: u32,
}

impl Buffer {
    /// The calling warp's.
    #[inline(always)]
    pub(crate) fn new(buffer: *mut u8, bytes: u32) -> Self {
        let buffer = buffer as u64;
        Self { buffer, address: buffer + u64::from(warp_of_grid()) * u64::from(bytes), bytes }
    }
}

/// A form of a record.
pub(crate) trait Form {
    /// What is known from a region's begin to its end.
    type Start;

    /// The form in a buffer. Its writes then go to that buffer, or to the warp's own shared memory.
    fn new(lane_buffer: Buffer) -> Self;

    /// Begins the region with this number, from 1.
    fn begin<const NUMBER: u32>(&mut self) -> Self::Start;

    /// Ends it.
    fn end<const NUMBER: u32>(&mut self, start: Self::Start);

    /// See [`Scheme::leave`].
    #[inline(always)]
    fn leave(self) -> Left
    where
        Self: Sized,
    {
        Left::default()
    }
}

impl<F: Form> Scheme for F {
    #[inline(always)]
    fn region<const NUMBER: u32>(&mut self, body: impl FnOnce() -> f32) {
        let start = self.begin::<NUMBER>();
        body();
        self.end::<NUMBER>(start);
    }

    #[inline(always)]
    fn leave(self) -> Left {
        Form::leave(self)
    }
}

/// Where the next record goes.
pub(crate) trait Cursor {
    /// The first place.
    fn new(lane_buffer: Buffer) -> Self;
    /// The place.
    fn address(&self) -> u64;
    /// Goes on after a record of `BYTES` bytes.
    fn advance<const BYTES: u32>(&mut self);
    /// What is to be done at the end, and how many cycles that took, if it is anything.
    fn leave<const BYTES: u32>(self) -> u32;
}

/// A pointer into the buffer that nothing bounds.
pub(crate) struct Unbounded(u64);

impl Cursor for Unbounded {
    #[inline(always)]
    fn new(lane_buffer: Buffer) -> Self {
        Self(lane_buffer.address)
    }

    #[inline(always)]
    fn address(&self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn advance<const BYTES: u32>(&mut self) {
        self.0 += u64::from(BYTES);
    }

    #[inline(always)]
    fn leave<const BYTES: u32>(self) -> u32 {
        0
    }
}

/// A pointer into the buffer whose low half stops at the buffer's last 16 bytes. Buffers are aligned to
/// their size, so the high half never changes.
pub(crate) struct Bounded {
    base: u64,
    offset: u32,
    slot: u32,
    guard: u32,
}

impl Cursor for Bounded {
    #[inline(always)]
    fn new(lane_buffer: Buffer) -> Self {
        let low = lane_buffer.address as u32;
        Self {
            base: lane_buffer.address & !0xffff_ffff,
            offset: low,
            slot: low,
            guard: low + lane_buffer.bytes - 16,
        }
    }

    #[inline(always)]
    fn address(&self) -> u64 {
        self.base | u64::from(self.slot)
    }

    #[inline(always)]
    fn advance<const BYTES: u32>(&mut self) {
        // A buffer is far smaller than what it takes to wrap.
        self.offset = self.offset.wrapping_add(BYTES);
        self.slot = self.offset.min(self.guard);
    }

    #[inline(always)]
    fn leave<const BYTES: u32>(self) -> u32 {
        0
    }
}

/// Bytes of all rings of a block.
const RING_BYTES: u32 = RING_RECORDS * 16 * 32;

core::arch::global_asm!(
    ".shared .align 1024 .b8 profiler_bench_rings[{bytes}];",
    ".extern .shared .align 1024 .b8 profiler_bench_dynamic[];",
    bytes = const RING_BYTES,
);

/// Bytes of a warp's ring, which begins at a multiple of them.
const WARP_RING_BYTES: u32 = RING_RECORDS * 16;
const _: () = assert!(WARP_RING_BYTES == 1024, "as the arrays are aligned");

/// A ring in shared memory of [`RING_RECORDS`] records, which the buffer gets a copy of at the end.
pub(crate) struct Ring {
    pub(crate) lane_buffer: Buffer,
    /// Where the ring begins in shared memory.
    pub(crate) base: u32,
    offset: u32,
}

impl Ring {
    /// In shared memory that the launch asked for: 1 KiB a warp at its end, after the kernel's own, whose
    /// size is a multiple of that.
    #[inline(always)]
    pub(crate) fn in_dynamic_memory(lane_buffer: Buffer) -> Self {
        let end: u32;
        // SAFETY: adds a special register, which does not change while a kernel runs, to an address.
        unsafe {
            core::arch::asm!(
                "mov.u32 {end}, %dynamic_smem_size;",
                "{{ .reg .b32 %r_begin; mov.u32 %r_begin, profiler_bench_dynamic;",
                "add.u32 {end}, {end}, %r_begin; }}",
                end = out(reg32) end,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        Self::among(lane_buffer, end - threads() / WARP * WARP_RING_BYTES)
    }

    /// The calling warp's among those of its block, which begin here.
    #[inline(always)]
    fn among(lane_buffer: Buffer, rings: u32) -> Self {
        let base = rings + thread() / WARP * WARP_RING_BYTES;
        // So that all of the ring may be read at the end, whatever was recorded.
        let mut index = lane();
        while index < RING_RECORDS {
            // SAFETY: this lane's records of the warp's own ring.
            unsafe { Shared16All::store(true, u64::from(base + 16 * index), [0; 2]) };
            index += WARP;
        }
        Self { lane_buffer, base, offset: 0 }
    }
}

impl Cursor for Ring {
    #[inline(always)]
    fn new(lane_buffer: Buffer) -> Self {
        let rings: u32;
        // SAFETY: moves an address into a register.
        unsafe {
            core::arch::asm!(
                "mov.u32 {rings}, profiler_bench_rings;",
                rings = out(reg32) rings,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        Self::among(lane_buffer, rings)
    }

    #[inline(always)]
    fn address(&self) -> u64 {
        u64::from(self.base + self.offset)
    }

    #[inline(always)]
    fn advance<const BYTES: u32>(&mut self) {
        self.offset = (self.offset + BYTES) % (RING_RECORDS * BYTES);
    }

    #[inline(always)]
    fn leave<const BYTES: u32>(self) -> u32 {
        // So that no flush is in the way of another warp's regions.
        profiler_kernel::thread::sync_threads();
        let begin = clock64();
        let mut word = lane();
        while word < RING_RECORDS * BYTES / 8 {
            // SAFETY: within the warp's own ring, which holds zeros or records, and its own buffer.
            unsafe {
                let value = load_shared(u64::from(self.base + 8 * word));
                Global8All::store(true, self.lane_buffer.address + u64::from(8 * word), value);
            }
            word += WARP;
        }
        (clock64() - begin) as u32
    }
}

/// How a region becomes the words of one record.
pub(crate) trait Words {
    /// Whether the words leave out the high halves of the clock's readings.
    const LOW_HALVES: bool;

    /// The words of a region.
    fn of(region: u32, start: u64, end: u64) -> Self;
}

impl Words for [u64; 2] {
    const LOW_HALVES: bool = false;

    #[inline(always)]
    fn of(region: u32, start: u64, end: u64) -> Self {
        [format::pack(format::BEGIN, region, start), format::pack(format::END, 0, end)]
    }
}

impl Words for u64 {
    const LOW_HALVES: bool = true;

    #[inline(always)]
    fn of(region: u32, start: u64, end: u64) -> Self {
        format::pack_short(region, start, end)
    }
}

/// Keeps the high halves of readings in use, by one instruction a region: the assembler turns a read
/// of which the low half alone is used into one of 32 bits, which costs more than that.
#[derive(Default)]
pub(crate) struct HighHalves(u32);

impl HighHalves {
    #[inline(always)]
    pub(crate) fn fold(&mut self, start: u64, end: u64) {
        self.0 ^= (start >> 32) as u32 ^ (end >> 32) as u32;
    }

    #[inline(always)]
    pub(crate) fn folded(&self) -> u32 {
        self.0
    }
}

/// One record, written at the region's end.
pub(crate) struct Range<S, C> {
    leader: bool,
    high_halves: HighHalves,
    cursor: C,
    store: PhantomData<S>,
}

impl<S: Store<Words: Words>, C: Cursor> Form for Range<S, C> {
    type Start = u64;

    #[inline(always)]
    fn new(lane_buffer: Buffer) -> Self {
        let high_halves = HighHalves::default();
        Self { leader: lane() == 0, high_halves, cursor: C::new(lane_buffer), store: PhantomData }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) -> u64 {
        clock64()
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, start: u64) {
        let end = clock64();
        if S::Words::LOW_HALVES {
            self.high_halves.fold(start, end);
        }
        let words = S::Words::of(NUMBER, start, end);
        // SAFETY: the host gives buffers that take all records of an unbounded cursor; the others
        // stay in the buffer or ring that is this warp's own. All lanes have one cursor, and read
        // the clock in one instruction.
        unsafe { S::store(self.leader, self.cursor.address(), words) };
        match S::BYTES {
            8 => self.cursor.advance::<8>(),
            _ => self.cursor.advance::<16>(),
        }
    }

    #[inline(always)]
    fn leave(self) -> Left {
        let flush = match S::BYTES {
            8 => self.cursor.leave::<8>(),
            _ => self.cursor.leave::<16>(),
        };
        Left { rest: self.high_halves.folded(), flush }
    }
}

/// Nothing at all: the kernel that the others are compared with.
pub(crate) struct Unannotated;

impl Form for Unannotated {
    type Start = ();

    #[inline(always)]
    fn new(_buffer: Buffer) -> Self {
        Self
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) {}

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, (): ()) {}
}

/// Two clock reads, folded into a register by one instruction.
pub(crate) struct Floor(HighHalves);

impl Form for Floor {
    type Start = u64;

    #[inline(always)]
    fn new(_buffer: Buffer) -> Self {
        Self(HighHalves::default())
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) -> u64 {
        clock64()
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, start: u64) {
        self.0.fold(start, clock64());
    }

    #[inline(always)]
    fn leave(self) -> Left {
        Left { rest: self.0.folded(), ..Left::default() }
    }
}

/// A word of 8 bytes at each begin and each end.
pub(crate) struct TwoWords<S, C> {
    leader: bool,
    cursor: C,
    store: PhantomData<S>,
}

impl<S: Store<Words = u64>, C: Cursor> TwoWords<S, C> {
    #[inline(always)]
    fn append(&mut self, word: u64) {
        // SAFETY: as for `Range`.
        unsafe { S::store(self.leader, self.cursor.address(), word) };
        self.cursor.advance::<8>();
    }
}

impl<S: Store<Words = u64>, C: Cursor> Form for TwoWords<S, C> {
    type Start = ();

    #[inline(always)]
    fn new(lane_buffer: Buffer) -> Self {
        Self { leader: lane() == 0, cursor: C::new(lane_buffer), store: PhantomData }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) {
        self.append(format::pack(format::BEGIN, NUMBER, clock64()));
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, (): ()) {
        self.append(format::pack(format::END, NUMBER, clock64()));
    }

    #[inline(always)]
    fn leave(self) -> Left {
        Left { flush: self.cursor.leave::<8>(), ..Left::default() }
    }
}

/// A word of 8 bytes at each begin and each end, after the branches that one writes first: is this
/// the leader, and is there buffer?
pub(crate) struct TwoWordsBranched {
    leader: bool,
    lane_buffer: Buffer,
    used: u32,
}

impl TwoWordsBranched {
    #[inline(always)]
    fn append(&mut self, kind: u64, number: u32) {
        if self.leader {
            if self.used < self.lane_buffer.bytes {
                let word = format::pack(kind, number, clock64());
                // SAFETY: within the buffer, which this lane alone writes.
                unsafe {
                    Global8All::store(true, self.lane_buffer.address + u64::from(self.used), word)
                };
            }
            self.used += 8;
        }
    }
}

impl Form for TwoWordsBranched {
    type Start = ();

    #[inline(always)]
    fn new(lane_buffer: Buffer) -> Self {
        Self { leader: lane() == 0, lane_buffer, used: 0 }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) {
        self.append(format::BEGIN, NUMBER);
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, (): ()) {
        self.append(format::END, NUMBER);
    }

    #[inline(always)]
    fn leave(self) -> Left {
        Left { rest: self.used, ..Left::default() }
    }
}

/// Record i stays in a register of lane i mod 32; each 32 records the warp stores all of them.
pub(crate) struct Gather {
    lane: u32,
    lane_buffer: Buffer,
    records: u32,
    words: [u64; 2],
}

impl Form for Gather {
    type Start = u64;

    #[inline(always)]
    fn new(lane_buffer: Buffer) -> Self {
        Self { lane: lane(), lane_buffer, records: 0, words: [0; 2] }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) -> u64 {
        clock64()
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, start: u64) {
        let words = <[u64; 2]>::of(NUMBER, start, clock64());
        if self.records % WARP == self.lane {
            self.words = words;
        }
        self.records += 1;
        if self.records.is_multiple_of(WARP) {
            let index = self.records - WARP + self.lane;
            // SAFETY: the host gives buffers that take all records, and each lane has its own.
            unsafe {
                Global16All::store(
                    true,
                    self.lane_buffer.address + 16 * u64::from(index),
                    self.words,
                )
            };
        }
    }
}

#[cfg(not(feature = "hopper"))]
kernels! {
    unannotated => |lane_buffer| Unannotated::new(lane_buffer);
    floor => |lane_buffer| Floor::new(lane_buffer);
    global_16b_predicated_unbounded => |lane_buffer| Range::<Global16Leader, Unbounded>::new(lane_buffer);
    global_16b_predicated_bounded => |lane_buffer| Range::<Global16Leader, Bounded>::new(lane_buffer);
    global_16b_all_lanes_unbounded => |lane_buffer| Range::<Global16All, Unbounded>::new(lane_buffer);
    global_16b_streaming => |lane_buffer| Range::<Global16Streaming, Unbounded>::new(lane_buffer);
    global_16b_l2 => |lane_buffer| Range::<Global16L2, Unbounded>::new(lane_buffer);
    global_16b_through => |lane_buffer| Range::<Global16Through, Unbounded>::new(lane_buffer);
    global_16b_no_allocate => |lane_buffer| Range::<Global16NoAllocate, Unbounded>::new(lane_buffer);
    global_8b_predicated_bounded => |lane_buffer| Range::<Global8Leader, Bounded>::new(lane_buffer);
    global_8b_predicated_unbounded => |lane_buffer| Range::<Global8Leader, Unbounded>::new(lane_buffer);
    global_8b_all_lanes_unbounded => |lane_buffer| Range::<Global8All, Unbounded>::new(lane_buffer);
    global_two_8b_predicated_unbounded => |lane_buffer| TwoWords::<Global8Leader, Unbounded>::new(lane_buffer);
    global_two_8b_branched => |lane_buffer| TwoWordsBranched::new(lane_buffer);
    shared_ring_16b_all_lanes => |lane_buffer| Range::<Shared16All, Ring>::new(lane_buffer);
    shared_ring_16b_predicated => |lane_buffer| Range::<Shared16Leader, Ring>::new(lane_buffer);
    shared_ring_8b_all_lanes => |lane_buffer| Range::<Shared8All, Ring>::new(lane_buffer);
    shared_ring_two_8b_all_lanes => |lane_buffer| TwoWords::<Shared8All, Ring>::new(lane_buffer);
    register_gather_16b => |lane_buffer| Gather::new(lane_buffer);
}

/// The number of bodies that are recorded fits the number of a region.
const _: () = assert!(REGIONS < 1 << 8);
