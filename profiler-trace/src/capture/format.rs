//! The content of a capture file: blocks, each with a header and a payload.
//! `docs/capture-format.md` is the same for a person.
//!
//! A block's header, little-endian:
//!
//! | byte | content |
//! |---|---|
//! | 0 | [`SYNC`], 8 bytes |
//! | 8 | format version, `u16` |
//! | 10 | the writer's wire version, `u16` |
//! | 12 | what the payload is a part of ([`Section`]), `u8` |
//! | 13 | how the payload is packed ([`Packing`]), `u8` |
//! | 14 | zero, `u16` |
//! | 16 | module, from 0; zero where it is of no module, `u32` |
//! | 20 | bytes of the part, unpacked, `u32` |
//! | 24 | bytes of the payload, `u32` |
//! | 28 | CRC-32C of the part, unpacked |
//! | 32 | where the part begins in its section, `u64` |
//! | 40 | bytes of the whole section, `u64` |
//! | 48 | CRC-32C of the payload |
//! | 52 | CRC-32C of bytes 0 to 51 |
//!
//! # Version rule
//!
//! Place and meaning of the sync, of both versions and of the header's own checksum never change, so
//! that every reader can tell a file of another version from a damaged one. [`FORMAT_VERSION`] is
//! raised whenever a reader of the version before would misunderstand a file. What such a reader may
//! skip, such as a new member of the metadata, is no reason.

use profiler_wire::WIRE_VERSION;

use super::CaptureError;

/// The version of the files that this library writes.
pub const FORMAT_VERSION: u16 = 1;
/// The begin of every block, and so of every file. It is not text, and a transfer that takes it for
/// text breaks it.
pub(super) const SYNC: [u8; 8] = *b"\x89GPUREC\n";
/// Bytes of a block's header.
pub(super) const HEADER_BYTES: usize = 56;
/// Bytes of a part, unpacked; the last of a section may have fewer.
pub(super) const PART_BYTES: usize = 1 << 20;

const CHECKED_BYTES: usize = HEADER_BYTES - 4;

/// An array of a [`ModuleCapture`](super::ModuleCapture), by the number of its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum CaptureArray {
    /// Headers of the slots.
    Headers = 2,
    /// Lane 0's buffers.
    Records = 3,
    /// The other lanes' buffers.
    Lanes = 4,
    /// The other lanes' counts.
    LaneCounts = 5,
}

impl CaptureArray {
    /// Every array, in the order in which a file has them.
    pub(super) const ALL: [Self; 4] = [Self::Headers, Self::Records, Self::Lanes, Self::LaneCounts];
}

/// The section that a block's payload belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// The metadata, as JSON. It is written twice, before the arrays and after them.
    Metadata,
    /// An array of a module.
    Array { module: u32, array: CaptureArray },
    /// Nothing follows; no payload.
    End,
}

impl Section {
    fn bits(self) -> (u8, u32) {
        match self {
            Self::Metadata => (1, 0),
            Self::Array { module, array } => (array as u8, module),
            Self::End => (6, 0),
        }
    }

    fn from_bits(kind: u8, module: u32) -> Option<Self> {
        match kind {
            1 => Some(Self::Metadata),
            6 => Some(Self::End),
            _ => {
                let array = CaptureArray::ALL.into_iter().find(|array| *array as u8 == kind)?;
                Some(Self::Array { module, array })
            }
        }
    }
}

/// The packing of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Packing {
    /// As it is.
    Plain = 0,
    /// There is none: the part is all zeros.
    Zeros = 1,
    /// Compressed.
    Compressed = 2,
    /// Differences of units, their bytes transposed, compressed.
    Units = 3,
}

impl Packing {
    fn from_bits(bits: u8) -> Option<Self> {
        [Self::Plain, Self::Zeros, Self::Compressed, Self::Units].get(usize::from(bits)).copied()
    }
}

/// The header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub section: Section,
    pub packing: Packing,
    /// Bytes of the part, unpacked.
    pub part_bytes: u32,
    pub part_checksum: u32,
    /// Bytes of the payload.
    pub payload_bytes: u32,
    pub payload_checksum: u32,
    /// The begin of the part in its section.
    pub offset: u64,
    /// Bytes of the whole section.
    pub total: u64,
}

impl BlockHeader {
    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |at: usize, source: &[u8]| {
            bytes[at..at + source.len()].copy_from_slice(source);
        };
        let (kind, module) = self.section.bits();
        put(0, &SYNC);
        put(8, &FORMAT_VERSION.to_le_bytes());
        put(10, &(WIRE_VERSION as u16).to_le_bytes());
        put(12, &[kind, self.packing as u8]);
        put(16, &module.to_le_bytes());
        put(20, &self.part_bytes.to_le_bytes());
        put(24, &self.payload_bytes.to_le_bytes());
        put(28, &self.part_checksum.to_le_bytes());
        put(32, &self.offset.to_le_bytes());
        put(40, &self.total.to_le_bytes());
        put(48, &self.payload_checksum.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the header that lies at `at` of a file.
    pub(super) fn parse(bytes: &[u8; HEADER_BYTES], at: u64) -> Result<Self, CaptureError> {
        let damaged = CaptureError::Damaged { at, error: "no whole header of a block is there" };
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let int = |at: usize| u32::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
        let whole = bytes.starts_with(&SYNC)
            && int(CHECKED_BYTES) == crc32c::crc32c(&bytes[..CHECKED_BYTES]);
        if !whole {
            return Err(damaged);
        }
        if short(8) != FORMAT_VERSION {
            return Err(CaptureError::FormatVersion { found: short(8) });
        }
        if u32::from(short(10)) != WIRE_VERSION {
            return Err(CaptureError::WireVersion { found: short(10) });
        }
        let (Some(section), Some(packing)) =
            (Section::from_bits(bytes[12], int(16)), Packing::from_bits(bytes[13]))
        else {
            return Err(damaged);
        };
        let header = Self {
            section,
            packing,
            part_bytes: int(20),
            payload_bytes: int(24),
            part_checksum: int(28),
            offset: long(32),
            total: long(40),
            payload_checksum: int(48),
        };
        if header.is_possible() { Ok(header) } else { Err(damaged) }
    }

    /// Whether a writer makes such headers: parts lie in a grid, none is longer packed than not.
    fn is_possible(&self) -> bool {
        let fits_packing = match self.packing {
            Packing::Plain => self.payload_bytes == self.part_bytes,
            Packing::Zeros => self.payload_bytes == 0,
            Packing::Compressed | Packing::Units => self.payload_bytes < self.part_bytes,
        };
        if self.section == Section::End {
            return fits_packing && self.part_bytes == 0;
        }
        let rest = self.total.checked_sub(self.offset);
        fits_packing
            && self.part_bytes > 0
            && self.offset.is_multiple_of(PART_BYTES as u64)
            && rest.map(|rest| rest.min(PART_BYTES as u64)) == Some(u64::from(self.part_bytes))
    }
}

const _: () = assert!(WIRE_VERSION <= u16::MAX as u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_no_writer_makes_are_damaged() {
        let rest = BlockHeader {
            section: Section::Array { module: 7, array: CaptureArray::Lanes },
            packing: Packing::Units,
            part_bytes: 1_000,
            part_checksum: 0x0102_0304,
            payload_bytes: 999,
            payload_checksum: 0x0506_0708,
            offset: 3 << 20,
            total: (3 << 20) + 1_000,
        };
        assert_eq!(BlockHeader::parse(&rest.to_bytes(), 0).expect("a possible one"), rest);
        for impossible in [
            BlockHeader { offset: 1, ..rest },
            BlockHeader { total: u64::MAX, ..rest },
            BlockHeader { total: 0, ..rest },
            BlockHeader { part_bytes: 0, payload_bytes: 0, ..rest },
            BlockHeader { payload_bytes: 1_000, ..rest },
            BlockHeader { packing: Packing::Zeros, ..rest },
            BlockHeader { packing: Packing::Plain, ..rest },
            BlockHeader { section: Section::End, ..rest },
        ] {
            let parsed = BlockHeader::parse(&impossible.to_bytes(), 56);
            assert!(matches!(parsed, Err(CaptureError::Damaged { at: 56, .. })), "{impossible:?}");
        }
    }
}
