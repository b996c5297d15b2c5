//! What the ways of other profilers write, and how the host takes it apart.
//!
//! A *buffer* is what one warp writes into: `buffer_bytes` bytes, a power of two, at a multiple of them.
//! Region numbers run from 1 to the number of recorded bodies.

/// Bits of a clock in a word of 64 bits that says what it is.
pub const TICK_BITS: u32 = 40;
const TICK_MASK: u64 = (1 << TICK_BITS) - 1;
const KIND_SHIFT: u32 = 61;

/// A word is the begin of a region.
pub const BEGIN: u64 = 1;
/// A word is the end of a region.
pub const END: u64 = 3;

/// Bytes of a record of `sm-profiler`.
pub const SM_PROFILER_BYTES: u32 = 40;
/// Bytes at the begin of a buffer that `sm-profiler` uses for its counter and its active events.
pub const SM_PROFILER_HEAD: u32 = 40;

/// 40 bits of a clock, 21 bits of a region's number, 3 bits of a kind.
#[must_use]
#[inline(always)]
pub const fn pack(kind: u64, region: u32, ticks: u64) -> u64 {
    kind << KIND_SHIFT | (region as u64) << TICK_BITS | ticks & TICK_MASK
}

/// Kind, region and ticks of a packed word.
#[must_use]
pub const fn unpack(word: u64) -> (u64, u32, u64) {
    (word >> KIND_SHIFT, (word >> TICK_BITS) as u32 & 0x1f_ffff, word & TICK_MASK)
}

/// A region in 8 bytes: 32 bits of its begin, 24 of its duration, 8 of its number.
#[must_use]
#[inline(always)]
pub const fn pack_compact(region: u32, start: u64, end: u64) -> u64 {
    let duration = end.wrapping_sub(start) as u32 & 0xff_ffff;
    start & 0xffff_ffff | ((region << 24 | duration) as u64) << 32
}

/// Region, begin and end of a compact word.
#[must_use]
pub const fn unpack_compact(word: u64) -> (u32, u32, u32) {
    let high = (word >> 32) as u32;
    (high >> 24, word as u32, (word as u32).wrapping_add(high & 0xff_ffff))
}

/// A begin or end in 8 bytes: a tag of 32 bits (the group that records, the region, begin or end)
/// and 32 bits of a clock.
#[must_use]
#[inline(always)]
pub const fn pack_tagged(group: u32, region: u32, is_end: bool, ticks: u32) -> u64 {
    (group << 12 | region << 2 | is_end as u32) as u64 | (ticks as u64) << 32
}

/// Group (20 bits), region, whether it is an end, and ticks of a tagged word.
#[must_use]
pub const fn unpack_tagged(word: u64) -> (u32, u32, bool, u32) {
    let tag = word as u32;
    (tag >> 12, tag >> 2 & 0x3ff, tag & 1 == 1, (word >> 32) as u32)
}
