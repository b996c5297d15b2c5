//! The launch descriptor: what a kernel is told about where and what to record.
//!
//! 128 bytes in the module's constant memory under [`crate::symbol::DESCRIPTOR`]. All zero means:
//! record nothing. The host writes it when a session begins; while a session with linear slots
//! runs, only `slot_base` changes, in stream order, between launches.
//!
//! # Slots
//!
//! A slot is a [header](crate::header), lane 0's buffer for records, and, where `lanes` is set, one
//! buffer of the other lanes and a count for each of the 32 (index 0 is unused: lane 0's count is in
//! the header). Buffers of one kind are `1 << *_shift` bytes apart.
//!
//! Lane 0's units follow each other; its *step* from one to the next is [`UNIT_BYTES`]. The other
//! lanes share a buffer whose rows are [`LANE_STEP`] bytes: lane i has the 16 bytes at `16 i` of every
//! row (those of lane 0 are unused), so that lanes that record together store together.
//!
//! A lane counts its units in bytes: its unit number `n` (from 0) has the *cursor* `step * n`, which
//! stops at [`CURSOR_MAX`] and never wraps. A unit is stored if its cursor is below `limit`, at the
//! byte `cursor & mask` of the buffer:
//!
//! * keep first, buffer for N units: `mask = u32::MAX`, `limit = step * N`;
//! * keep last, buffer for N = 2^k units: `mask = step * N - 1`, `limit = u32::MAX`.
//!
//! A buffer is aligned to the bytes between two of them, so that byte and base combine by a bitwise
//! or, and only the low half of an address changes. A warp that finds no slot stores nothing (its
//! limit is 0), and adds its counts to [`Lost`] when it leaves.
//!
//! # How a warp finds its slot
//!
//! *Linear*: the index of the warp among the selected ones of the launch, plus `slot_base`.
//! *Claimed* ([`FLAG_CLAIMED`]): one atomic add on one of the [`SHARDS_PER_SM`] counters of the
//! warp's SM (`claims`, 128 bytes apart; SMs beyond the last one share its counters). Counter i
//! gives out slots `i * slots_per_shard .. (i + 1) * slots_per_shard`; when they are used up, one
//! more atomic add on the counter after the last SM's takes a slot of the common pool, which begins
//! at `pool_start`. Where a shard is empty, warps ask the pool at once.

use core::array;

use crate::record::UNIT_BYTES;

/// Bytes of a descriptor.
pub const BYTES: usize = 128;
/// Flag: slots are claimed with an atomic, not computed from the grid.
pub const FLAG_CLAIMED: u32 = 1;
/// Flag: lanes other than 0 have buffers (`lanes` and `lane_counts` are set).
pub const FLAG_LANES: u32 = 2;
/// Claim counters of an SM: one for each of its four partitions, which warps are dealt to by turns
/// (`%warpid` modulo 4). Atomic adds on one address wait for each other, those on several do not.
pub const SHARDS_PER_SM: u32 = 4;
/// Bytes between two claim counters, so that no two share a cache line.
pub const CLAIM_STRIDE: u32 = 128;
/// The largest cursor: a multiple of both steps, to which one more step can be added without wrapping.
pub const CURSOR_MAX: u32 = u32::MAX - (2 * LANE_STEP - 1);
/// Bytes of a row in the buffer of the other lanes.
pub const LANE_STEP: u32 = 32 * UNIT_BYTES;

/// Makes of the list of fields the descriptor, their offsets, and its bytes.
macro_rules! descriptor {
    ($($(#[$doc:meta])* pub $field:ident: $integer:ident at $offset:ident = $at:literal,)*) => {
        /// Byte offsets of the fields, for the device's loads from constant memory.
        pub mod offset {
            $(#[doc = concat!("Of [`Descriptor::", stringify!($field), "`](super::Descriptor).")]
            pub const $offset: u32 = $at;)*
            /// What [`block_magic`](super::block_magic) gives for the stride, 8 bytes: kernels need no division.
            pub const BLOCK_MAGIC: u32 = 120;
            /// In a module that was rewritten and has no session: the most records that a warp makes, 4 bytes; 0
            /// if that is not known. No kernel reads it.
            pub const RECORDS_BOUND: u32 = 108;
            /// Likewise: the hash by which it is known, 8 bytes.
            pub const MODULE_HASH: u32 = BLOCK_MAGIC;
        }

        /// The launch descriptor; see the module's documentation. Addresses are device addresses.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Descriptor {
            $($(#[$doc])* pub $field: $integer,)*
        }

        impl Descriptor {
            /// The bytes as the device reads them.
            #[must_use]
            pub fn to_bytes(&self) -> [u8; BYTES] {
                let mut bytes = [0; BYTES];
                let mut put = |at: usize, field: &[u8]| {
                    bytes[at..][..field.len()].copy_from_slice(field);
                };
                $(put($at, &self.$field.to_le_bytes());)*
                put(offset::BLOCK_MAGIC as usize, &block_magic(self.block_stride).to_le_bytes());
                bytes
            }

            /// The inverse of [`Descriptor::to_bytes`].
            #[must_use]
            pub fn from_bytes(bytes: &[u8; BYTES]) -> Self {
                $(let $field = $integer::from_le_bytes(array::from_fn(|byte| bytes[$at + byte]));)*
                Self { $($field),* }
            }
        }
    };
}

descriptor! {
    /// The wire version, or 0: record nothing.
    pub version: u32 at VERSION = 0,
    /// [`FLAG_CLAIMED`], [`FLAG_LANES`].
    pub flags: u32 at FLAGS = 4,
    /// Array of `slot_count` headers.
    pub headers: u64 at HEADERS = 8,
    /// Lane 0's buffers, aligned to `1 << record_shift`.
    pub records: u64 at RECORDS = 16,
    /// See "Slots".
    pub record_mask: u32 at RECORD_MASK = 24,
    /// See "Slots".
    pub record_limit: u32 at RECORD_LIMIT = 28,
    /// Binary logarithm of the bytes between two buffers of lane 0.
    pub record_shift: u32 at RECORD_SHIFT = 32,
    /// The number of slots.
    pub slot_count: u32 at SLOT_COUNT = 36,
    /// Linear slots: the first slot of the next launch; in a capture it may lie after the last one.
    pub slot_base: u32 at SLOT_BASE = 40,
    /// Claimed slots: how many SMs have counters.
    pub sm_count: u32 at SM_COUNT = 44,
    /// The other lanes' buffers, one to a slot, aligned to `1 << lane_shift`.
    pub lanes: u64 at LANES = 48,
    /// 32 counts of 8 bytes ([`crate::header::pack_counts`]) to a slot.
    pub lane_counts: u64 at LANE_COUNTS = 56,
    /// See "Slots".
    pub lane_mask: u32 at LANE_MASK = 64,
    /// See "Slots".
    pub lane_limit: u32 at LANE_LIMIT = 68,
    /// Binary logarithm of the bytes between two slots' buffers of the other lanes.
    pub lane_shift: u32 at LANE_SHIFT = 72,
    /// Which warps of a block record; bit i for warp i.
    pub warp_mask: u32 at WARP_MASK = 76,
    /// The linear index of the first block that records.
    pub block_first: u32 at BLOCK_FIRST = 80,
    /// The number of blocks that record; `u32::MAX` for all.
    pub block_count: u32 at BLOCK_COUNT = 84,
    /// Every how many-th block records; at least 1.
    pub block_stride: u32 at BLOCK_STRIDE = 88,
    /// Claimed slots: how many slots each counter of an SM gives out.
    pub slots_per_shard: u32 at SLOTS_PER_SHARD = 92,
    /// Claimed slots: `SHARDS_PER_SM * sm_count + 1` counters of 8 bytes, [`CLAIM_STRIDE`] bytes apart.
    pub claims: u64 at CLAIMS = 96,
    /// Claimed slots: the first slot of the common pool.
    pub pool_start: u32 at POOL_START = 104,
    /// A [`Lost`].
    pub lost: u64 at LOST = 112,
}

/// Counts of lost units, by warps without a slot and lanes without a buffer: three counters of 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Warps that found no slot.
    pub warps: u64,
    /// Units that warps without a slot and lanes without a buffer emitted.
    pub units: u64,
    /// The number of units that are attachments.
    pub attachments: u64,
}

impl Lost {
    /// Bytes of the counters.
    pub const BYTES: usize = 24;

    /// Reads the counters as they lie in memory.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let word = |at: usize| u64::from_le_bytes(array::from_fn(|byte| bytes[at + byte]));
        Self { warps: word(0), units: word(8), attachments: word(16) }
    }

    /// The inverse of [`Lost::from_bytes`].
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let words = [self.warps, self.units, self.attachments].map(u64::to_le_bytes);
        bytes.copy_from_slice(words.as_flattened());
        bytes
    }
}

/// What was lost since; no less than nothing.
impl core::ops::Sub for Lost {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            warps: self.warps.saturating_sub(before.warps),
            units: self.units.saturating_sub(before.units),
            attachments: self.attachments.saturating_sub(before.attachments),
        }
    }
}

/// 2^64 divided by a stride, rounded up; 0 for all blocks.
///
/// The product of a number of 32 bits with it is, in its lower half, less than it for multiples of the stride alone,
/// and the upper half is the quotient (Lemire, Kaser and Kurz, "Faster remainder by direct computation", 2019).
#[must_use]
pub const fn block_magic(stride: u32) -> u64 {
    if stride < 2 { 0 } else { u64::MAX / stride as u64 + 1 }
}

/// The byte of a lane's buffer at which the unit with this cursor lies, if it is kept.
#[must_use]
#[inline(always)]
pub const fn buffer_byte(cursor: u32, mask: u32) -> u32 {
    cursor & mask
}

/// The cursor after that of a unit; `step` is 0 where none was emitted.
#[must_use]
#[inline(always)]
pub const fn next_cursor(cursor: u32, step: u32) -> u32 {
    // Sum and minimum are one instruction from sm_90 on.
    let next = cursor.wrapping_add(step);
    if next < CURSOR_MAX { next } else { CURSOR_MAX }
}

/// The number of units that a lane emitted, from its cursor and its step, a power of two.
#[must_use]
#[inline(always)]
pub const fn units(cursor: u32, step: u32) -> u32 {
    cursor >> step.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_of_a_stride_are_told_by_one_product() {
        assert_eq!((block_magic(0), block_magic(1)), (0, 0));
        for stride in [2, 3, 7, 128, 131, 65537, 1 << 31, u32::MAX] {
            let magic = block_magic(stride);
            for number in
                (0..300).chain([1, 2, 3].map(|by| stride.wrapping_mul(by))).chain([u32::MAX])
            {
                let product = u128::from(number) * u128::from(magic);
                assert_eq!((product as u64) < magic, number % stride == 0, "{number} by {stride}");
                assert_eq!((product >> 64) as u32, number / stride, "{number} by {stride}");
            }
        }
    }

    #[test]
    fn a_cursor_stops_and_never_wraps() {
        for step in [UNIT_BYTES, LANE_STEP] {
            assert_eq!(next_cursor(2 * step, step), 3 * step);
            assert_eq!(next_cursor(2 * step, 0), 2 * step);
            let mut cursor = CURSOR_MAX - step;
            for _ in 0..4 {
                cursor = next_cursor(cursor, step);
                assert_eq!(cursor, CURSOR_MAX);
            }
            assert_eq!(CURSOR_MAX % step, 0);
        }
    }
}
