//! What the schemes other than the profiler's own write, and how the host takes it apart.
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

/// Records that a ring in shared memory keeps for each warp.
pub const RING_RECORDS: u32 = 64;

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

/// A region in 8 bytes: 32 bits of its begin, 16 of its duration, 16 of its number.
#[must_use]
#[inline(always)]
pub const fn pack_short(region: u32, start: u64, end: u64) -> u64 {
    let duration = end.wrapping_sub(start) as u32 & 0xffff;
    start & 0xffff_ffff | ((region << 16 | duration) as u64) << 32
}

/// Region, begin and end of a short word.
#[must_use]
pub const fn unpack_short(word: u64) -> (u32, u32, u32) {
    let high = (word >> 32) as u32;
    (high >> 16, word as u32, (word as u32).wrapping_add(high & 0xffff))
}

/// The longest duration that fits the one word of a record that may have two.
pub const FITS_MAX: u64 = 0xffff;
/// The record has two words.
const LONG: u32 = 1 << 31;

/// What the upper half of the first word of a record is that may have two, but for the duration, which is
/// added: its lower half, of 16 bits, where one word is all, and its upper half in front of another word,
/// which is the end. 15 bits of a region's number; the lower half of the word is that of the begin.
#[must_use]
#[inline(always)]
pub const fn escape_tag(region: u32, is_long: bool) -> u32 {
    if is_long { LONG | region << 16 } else { region << 16 }
}

/// The words of a record that may have two; the second is absent where the first says so.
#[must_use]
pub const fn pack_escaping(region: u32, start: u64, end: u64, fits_max: u64) -> (u64, Option<u64>) {
    let duration = end.wrapping_sub(start);
    let is_long = duration > fits_max;
    let half = if is_long { duration >> 32 } else { duration } as u32;
    let upper = escape_tag(region, is_long) + half;
    (start & 0xffff_ffff | (upper as u64) << 32, if is_long { Some(end) } else { None })
}

/// Whether the first word of a record is followed by another one.
#[must_use]
pub const fn is_long(word: u64) -> bool {
    (word >> 32) as u32 & LONG != 0
}

/// Region, the lower half of its begin and its duration, by the words of a record that may have two; the
/// second is asked for where [`is_long`].
#[must_use]
pub const fn unpack_escaping(word: u64, second: u64) -> (u32, u32, u64) {
    let (start, upper) = (word as u32, (word >> 32) as u32);
    let duration = if is_long(word) {
        ((upper & 0xffff) as u64) << 32 | (second as u32).wrapping_sub(start) as u64
    } else {
        (upper & 0xffff) as u64
    };
    (upper >> 16 & 0x7fff, start, duration)
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

/// The upper half of the second word of a record as the profiler's own is: 24 bits of a region's number, and
/// the lowest 8 of the upper half of the clock at the end, whose lower half is that of the word. The first
/// word is the clock at the begin.
#[must_use]
#[inline(always)]
pub const fn tagged_upper(region: u32, end: u64) -> u32 {
    ((end >> 32) << 24) as u32 + region
}

/// Region and end of such a record's second word.
#[must_use]
pub const fn unpack_tagged_upper(word: u64) -> (u32, u64) {
    let upper = word >> 32;
    (upper as u32 & 0xff_ffff, (upper >> 24) << 32 | word & 0xffff_ffff)
}
