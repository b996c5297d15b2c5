//! The header of a slot: which warp wrote it, when it began and ended, and how much it recorded.
//!
//! 128 bytes, in an array of its own. Lane 0 writes the entry half when the warp enters the kernel
//! and the exit half when lane 0 leaves it; a slot with an entry and no exit belongs to a warp that
//! never finished.
//!
//! If the host reads while the kernel runs ([`crate::site::Buffer::Host`]), only a part of a header may be there:
//! its units of two words arrive in any order. Each unit has a word that is never 0 (1, 2, 5 and 6 of the entry
//! half, 9 and 11 of the exit half), so that [`SlotHeader::is_whole`] and [`ExitHeader::is_whole`] can tell. A
//! reader that sees the exit half sees all records that it counts.
//!
//! | word | content |
//! |---|---|
//! | 0 | `%clock64` at entry |
//! | 1 | `%globaltimer` at entry |
//! | 2 | low: [`MAGIC`] plus the wire version; high: kernel site (bits 0..19), clock (bit 21) |
//! | 3 | `%gridid` |
//! | 4 | `%ctaid`: x in bits 0..31, y in 32..47, z in 48..63 |
//! | 5 | `%nctaid`, likewise |
//! | 6 | `%ntid`: x in bits 0..10, y in 11..21, z in 22..28; warp of the block in 32..39; SM in 40..55; rank in the cluster plus one in 56..63 (0: unknown) |
//! | 7 | low: track field of the kernel; high: strategy of the kernel |
//! | 8 | `%clock64` at exit |
//! | 9 | `%globaltimer` at exit |
//! | 10 | low: units that lane 0 emitted; high: how many of them were attachments |
//! | 11 | [`EXIT_MARK`] |
//! | 12 to 15 | not written |

use crate::WIRE_VERSION;
use crate::descriptor::{CURSOR_MAX, LANE_STEP};
use crate::record::{SITE_MAX, UNIT_BYTES};

/// Bytes of a header.
pub const BYTES: usize = 128;
/// Words of a header.
pub const WORDS: usize = BYTES / 8;
/// Words of the entry half, from word 0.
pub const ENTRY_WORDS: usize = 8;
/// The first word of the exit half.
pub const EXIT_START: usize = 8;
/// Words of the exit half.
pub const EXIT_WORDS: usize = 4;
/// The upper 16 bits of the low half of word 2.
pub const MAGIC: u32 = 0x5052_0000;
/// Word 11 of a slot whose warp has left the kernel.
pub const EXIT_MARK: u64 = 0x5850_4f46_4c45_5821;
/// The largest count of lane 0's units: it stops there, and never wraps to a small, wrong number.
pub const COUNT_MAX: u32 = CURSOR_MAX / UNIT_BYTES;
/// The largest count of another lane.
pub const LANE_COUNT_MAX: u32 = CURSOR_MAX / LANE_STEP;

/// Which clock the ticks of a slot's records are read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Clock {
    /// `%clock64`: cycles of the SM's own clock.
    #[default]
    Cycles = 0,
    /// `%globaltimer`: nanoseconds, in steps of 32 on an H200.
    GlobalTimer = 1,
}

/// A three-dimensional index or extent; x first.
pub type Dim3 = [u32; 3];

/// The entry half of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotHeader {
    /// `%clock64` at entry.
    pub clock: u64,
    /// `%globaltimer` at entry, in nanoseconds.
    pub globaltimer: u64,
    /// The wire version that the kernel was built with.
    pub version: u32,
    /// The site id of the kernel.
    pub kernel: u32,
    /// Which clock stamps the records.
    pub record_clock: Clock,
    /// `%gridid`: numbers the launches of a context, but repeats under CUDA graph replay.
    pub grid_id: u64,
    /// `%ctaid`.
    pub block: Dim3,
    /// `%nctaid`.
    pub grid_dim: Dim3,
    /// `%ntid`.
    pub block_dim: Dim3,
    /// The warp of the block: its linear thread index divided by 32.
    pub warp: u32,
    /// `%smid`.
    pub sm: u32,
    /// The block's rank in its cluster, if the target has clusters.
    pub cluster_rank: Option<u32>,
    /// The track field (see [`crate::record::track_field`]) of the whole kernel.
    pub track: u32,
    /// The strategy of the kernel, as [`crate::Strategy::code`] gives it.
    pub strategy: u32,
}

/// The exit half of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExitHeader {
    /// `%clock64` at exit.
    pub clock: u64,
    /// `%globaltimer` at exit, in nanoseconds.
    pub globaltimer: u64,
    /// Units that lane 0 emitted, recorded or lost; stops at [`COUNT_MAX`].
    pub units: u32,
    /// The number of them that are attachments to the unit before.
    pub attachments: u32,
}

/// The words of a header as it lies in memory; those that are cut off are zero.
#[must_use]
pub fn words(bytes: &[u8]) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

const fn pack_dim(dim: Dim3) -> u64 {
    dim[0] as u64 | ((dim[1] as u64 & 0xffff) << 32) | ((dim[2] as u64 & 0xffff) << 48)
}

const fn unpack_dim(word: u64) -> Dim3 {
    [word as u32, (word >> 32) as u32 & 0xffff, (word >> 48) as u32]
}

/// A count of units and, above it, of the attachments among them: word 10 of a header, and the
/// count of a lane other than lane 0.
#[must_use]
#[inline(always)]
pub const fn pack_counts(units: u32, attachments: u32) -> u64 {
    units as u64 | ((attachments as u64) << 32)
}

/// The inverse of [`pack_counts`].
#[must_use]
pub const fn unpack_counts(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

impl SlotHeader {
    /// The words of the entry half.
    #[must_use]
    #[inline(always)]
    pub const fn pack(&self) -> [u64; ENTRY_WORDS] {
        let identity = (self.kernel & SITE_MAX) | ((self.record_clock as u32) << 21);
        let shape = (self.block_dim[0] & 0x7ff)
            | ((self.block_dim[1] & 0x7ff) << 11)
            | ((self.block_dim[2] & 0x7f) << 22);
        let rank = match self.cluster_rank {
            Some(rank) => (rank & 0x7f) + 1,
            None => 0,
        };
        [
            self.clock,
            self.globaltimer,
            (MAGIC | self.version) as u64 | ((identity as u64) << 32),
            self.grid_id,
            pack_dim(self.block),
            pack_dim(self.grid_dim),
            shape as u64
                | ((self.warp as u64 & 0xff) << 32)
                | ((self.sm as u64 & 0xffff) << 40)
                | ((rank as u64) << 56),
            self.track as u64 | ((self.strategy as u64) << 32),
        ]
    }

    /// Whether all units of the entry half have arrived. (`%globaltimer`, the extents and [`MAGIC`] are
    /// never 0.)
    #[must_use]
    pub const fn is_whole(words: &[u64; WORDS]) -> bool {
        words[1] != 0 && words[2] != 0 && words[5] != 0 && words[6] != 0
    }

    /// Takes the entry half apart; `None` if the slot was never entered (or holds something else).
    #[must_use]
    pub const fn unpack(words: &[u64; WORDS]) -> Option<Self> {
        let magic = words[2] as u32;
        if magic & 0xffff_0000 != MAGIC {
            return None;
        }
        let identity = (words[2] >> 32) as u32;
        let shape = words[6] as u32;
        let rank = (words[6] >> 56) as u32;
        Some(Self {
            clock: words[0],
            globaltimer: words[1],
            version: magic & 0xffff,
            kernel: identity & SITE_MAX,
            record_clock: if identity >> 21 & 1 == 0 { Clock::Cycles } else { Clock::GlobalTimer },
            grid_id: words[3],
            block: unpack_dim(words[4]),
            grid_dim: unpack_dim(words[5]),
            block_dim: [shape & 0x7ff, shape >> 11 & 0x7ff, shape >> 22 & 0x7f],
            warp: (words[6] >> 32) as u32 & 0xff,
            sm: (words[6] >> 40) as u32 & 0xffff,
            cluster_rank: if rank == 0 { None } else { Some(rank - 1) },
            track: words[7] as u32,
            strategy: (words[7] >> 32) as u32,
        })
    }
}

impl ExitHeader {
    /// The words of the exit half.
    #[must_use]
    #[inline(always)]
    pub const fn pack(&self) -> [u64; EXIT_WORDS] {
        [self.clock, self.globaltimer, pack_counts(self.units, self.attachments), EXIT_MARK]
    }

    /// Whether all units of the exit half have arrived, or none has.
    #[must_use]
    pub const fn is_whole(words: &[u64; WORDS]) -> bool {
        (words[9] != 0) == (words[11] != 0)
    }

    /// Takes the exit half apart; `None` if the warp has not left the kernel.
    #[must_use]
    pub const fn unpack(words: &[u64; WORDS]) -> Option<Self> {
        if words[11] != EXIT_MARK {
            return None;
        }
        let (units, attachments) = unpack_counts(words[10]);
        Some(Self { clock: words[8], globaltimer: words[9], units, attachments })
    }
}

const _: () = assert!(WIRE_VERSION < 1 << 16);
