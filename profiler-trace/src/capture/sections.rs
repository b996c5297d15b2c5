//! Puts the parts of sections together again.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use super::CaptureError;
use super::codec::Packer;
use super::format::{BlockHeader, PART_BYTES, Section};

/// Missing parts that are believed without a sign of them, so that a file cannot claim without
/// limit that there is more of it.
const PARTS_BELIEVED: u64 = 16;

/// The parts of all sections that were found.
pub(super) struct Sections {
    sections: BTreeMap<Section, Parts>,
    packer: Packer,
    /// Bytes that all of them may have.
    limit: u64,
    /// Bytes that they have.
    bytes: u64,
}

/// The parts of one section that were found.
#[derive(Default)]
pub(super) struct Parts {
    /// Zero where a part is missing; short where the last ones are.
    pub bytes: Vec<u8>,
    /// The length that the blocks state.
    pub total: u64,
    /// The parts that are there.
    found: Vec<bool>,
}

/// The result of placing a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// It is in its place.
    Whole,
    /// The payload is not what the header says.
    Damaged,
    /// Other blocks say otherwise how long the section is, or more is missing before this part than
    /// the file can have held.
    Misplaced,
}

impl Sections {
    /// Buffer for so many bytes.
    pub(super) fn within(limit: u64) -> Self {
        Self { sections: BTreeMap::new(), packer: Packer::default(), limit, bytes: 0 }
    }

    /// Unpacks a part into its place. `hidden` is how many parts may lie in what was damaged so far.
    pub(super) fn place(
        &mut self,
        header: &BlockHeader,
        payload: &[u8],
        hidden: u64,
    ) -> Result<Placed, CaptureError> {
        let parts = self.sections.entry(header.section).or_default();
        if parts.found.is_empty() {
            parts.total = header.total;
        }
        if parts.total != header.total {
            return Ok(Placed::Misplaced);
        }
        let index = header.offset / PART_BYTES as u64;
        let next = parts.found.len() as u64;
        if index.saturating_sub(next) > hidden.saturating_add(PARTS_BELIEVED) {
            return Ok(Placed::Misplaced);
        }
        // It lies at most so many parts after what is there already.
        let (index, start) = (index as usize, header.offset as usize);
        if parts.found.get(index) == Some(&true) {
            return Ok(Placed::Whole);
        }
        let end = start + header.part_bytes as usize;
        let before = parts.bytes.len();
        let grown = end.saturating_sub(before) as u64;
        if grown > self.limit - self.bytes {
            return Err(CaptureError::TooLarge { limit: self.limit });
        }
        parts.grow(end)?;
        let part = &mut parts.bytes[start..end];
        if self.packer.unpack(header.packing, payload, part)
            && crc32c::crc32c(part) == header.part_checksum
        {
            parts.found.resize(parts.found.len().max(index + 1), false);
            parts.found[index] = true;
            self.bytes += grown;
            return Ok(Placed::Whole);
        }
        part.fill(0);
        parts.bytes.truncate(before);
        Ok(Placed::Damaged)
    }

    /// Takes a section out.
    pub(super) fn take(&mut self, section: Section) -> Parts {
        self.sections.remove(&section).unwrap_or_default()
    }

    /// The sections that were not taken out.
    pub(super) fn rest(&self) -> impl Iterator<Item = Section> {
        self.sections.keys().copied()
    }
}

impl Parts {
    fn grow(&mut self, length: usize) -> io::Result<()> {
        if length > self.bytes.capacity() {
            // Never more than a few times what is there, whatever blocks claim there is, and in the
            // end exactly what there is.
            let reserve = 2 * self.bytes.len();
            let total = usize::try_from(self.total).unwrap_or(usize::MAX);
            let capacity = self.bytes.len().saturating_add(reserve).min(total).max(length);
            self.bytes.try_reserve_exact(capacity - self.bytes.len())?;
        }
        self.bytes.resize(length.max(self.bytes.len()), 0);
        Ok(())
    }

    /// The missing bytes of `total`, in order and apart from each other.
    pub(super) fn missing(&self, total: u64) -> Vec<Range<u64>> {
        let part = PART_BYTES as u64;
        let mut missing: Vec<Range<u64>> = Vec::new();
        let mut add = |range: Range<u64>| match missing.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ if range.is_empty() => {}
            _ => missing.push(range),
        };
        for (index, _) in (0..).zip(&self.found).filter(|(_, found)| !**found) {
            add(index * part..(index + 1) * part);
        }
        add((self.found.len() as u64 * part).min(total)..total);
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::CaptureArray;
    use crate::capture::format::Packing;

    #[test]
    fn memory_is_taken_for_what_is_there_and_not_for_what_is_claimed() {
        let mut sections = Sections::within(4 * PART_BYTES as u64);
        let section = Section::Array { module: 0, array: CaptureArray::Records };
        let mut place = |index| {
            let header = BlockHeader {
                section,
                packing: Packing::Zeros,
                part_bytes: PART_BYTES as u32,
                part_checksum: crc32c::crc32c(&vec![0; PART_BYTES]),
                payload_bytes: 0,
                payload_checksum: 0,
                offset: index * PART_BYTES as u64,
                total: 1 << 50,
            };
            sections.place(&header, &[], 0)
        };
        for index in 0..4 {
            assert_eq!(place(index).expect("memory"), Placed::Whole);
        }
        let refused = place(4).expect_err("all that it may have is there");
        assert!(refused.to_string().contains("4194304 bytes"), "{refused}");
        let parts = sections.take(section);
        assert_eq!(parts.bytes.len(), 4 * PART_BYTES);
        assert!(parts.bytes.capacity() <= 4 * parts.bytes.len());
    }
}
