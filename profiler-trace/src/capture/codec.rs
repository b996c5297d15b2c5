//! Packs a part of an array, and unpacks it.
//!
//! The clock runs through the records: the low half of each of a unit's two words is, or nearly is,
//! the low half of the clock when the unit before was written, and the high halves hardly change.
//! So each quarter of a unit is replaced by its difference to the quarter of the unit before that
//! foretells it best, and then the bytes are put in order of their place in the unit: what hardly
//! changes becomes runs, which LZ4 finds. Whatever the bytes are, they come back; only how small
//! they get depends on their meaning. `docs/capture-format.md` has the figures.

use profiler_wire::record::UNIT_BYTES;

use super::format::Packing;

const UNIT: usize = UNIT_BYTES as usize;

/// The 32-bit quarter of the unit before that predicts each quarter, lowest first: a range's begin,
/// in word 0, follows the stamp of the unit before, in word 1, as its own stamp does.
const FORETOLD_BY: [usize; 4] = [2, 1, 2, 3];

/// Buffer for what packing needs besides its input.
#[derive(Default)]
pub(super) struct Packer {
    planes: Vec<u8>,
    packed: Vec<u8>,
}

impl Packer {
    /// Packs a part: as `units`, where it consists of them.
    pub(super) fn pack<'a>(&'a mut self, part: &'a [u8], units: bool) -> (Packing, &'a [u8]) {
        if is_zero(part) {
            return (Packing::Zeros, &[]);
        }
        let (packing, source) = if units && part.len().is_multiple_of(UNIT) {
            self.planes.resize(part.len(), 0);
            to_planes(part, &mut self.planes);
            (Packing::Units, self.planes.as_slice())
        } else {
            (Packing::Compressed, part)
        };
        self.packed.resize(lz4_flex::block::get_maximum_output_size(source.len()), 0);
        match lz4_flex::block::compress_into(source, &mut self.packed) {
            Ok(length) if length < part.len() => (packing, &self.packed[..length]),
            _ => (Packing::Plain, part),
        }
    }

    /// Unpacks a payload into a part of the right length; `false` if it is not packed so.
    #[must_use]
    pub(super) fn unpack(&mut self, packing: Packing, payload: &[u8], part: &mut [u8]) -> bool {
        match packing {
            Packing::Plain if payload.len() == part.len() => part.copy_from_slice(payload),
            Packing::Plain => return false,
            Packing::Zeros => part.fill(0),
            Packing::Compressed => return decompress(payload, part),
            Packing::Units => {
                self.planes.resize(part.len(), 0);
                if !part.len().is_multiple_of(UNIT) || !decompress(payload, &mut self.planes) {
                    return false;
                }
                from_planes(&self.planes, part);
            }
        }
        true
    }
}

/// Whether the payload is that of exactly so many bytes.
fn decompress(payload: &[u8], into: &mut [u8]) -> bool {
    lz4_flex::block::decompress_into(payload, into).is_ok_and(|length| length == into.len())
}

/// Whether all bytes are zero.
fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<16>();
    words.iter().all(|word| *word == [0; 16]) && rest.iter().all(|byte| *byte == 0)
}

/// Differences of whole units, with one plane for each byte of a unit.
fn to_planes(units: &[u8], planes: &mut [u8]) {
    let (units, _) = units.as_chunks::<UNIT>();
    for (quarter, planes) in planes.chunks_exact_mut(4 * units.len().max(1)).enumerate() {
        let (low, high) = planes.split_at_mut(2 * units.len());
        let (first, second) = low.split_at_mut(units.len());
        let (third, fourth) = high.split_at_mut(units.len());
        let mut foretold = 0;
        for (index, unit) in units.iter().enumerate() {
            let difference = quarter_of(unit, quarter).wrapping_sub(foretold);
            [first[index], second[index], third[index], fourth[index]] = difference.to_le_bytes();
            foretold = quarter_of(unit, FORETOLD_BY[quarter]);
        }
    }
}

/// The inverse of [`to_planes`].
fn from_planes(planes: &[u8], units: &mut [u8]) {
    let (units, _) = units.as_chunks_mut::<UNIT>();
    let length = units.len();
    // The foretelling quarters first.
    for quarter in [2, 1, 3, 0] {
        let planes = &planes[4 * quarter * length..][..4 * length];
        let (low, high) = planes.split_at(2 * length);
        let (first, second) = low.split_at(length);
        let (third, fourth) = high.split_at(length);
        let mut foretold = 0_u32;
        for (index, unit) in units.iter_mut().enumerate() {
            let bytes = [first[index], second[index], third[index], fourth[index]];
            let value = u32::from_le_bytes(bytes).wrapping_add(foretold);
            unit.as_chunks_mut::<4>().0[quarter] = value.to_le_bytes();
            foretold = quarter_of(unit, FORETOLD_BY[quarter]);
        }
    }
}

fn quarter_of(unit: &[u8; UNIT], quarter: usize) -> u32 {
    u32::from_le_bytes(unit.as_chunks::<4>().0[quarter])
}

#[cfg(test)]
mod tests {
    use profiler_wire::RecordKind;
    use profiler_wire::record::{stamp, tag};
    use proptest::prelude::*;

    use super::*;

    fn round_trip(part: &[u8], units: bool) -> Packing {
        let mut packer = Packer::default();
        let (packing, payload) = packer.pack(part, units);
        let payload = payload.to_vec();
        // What was in the buffer before must not matter.
        let mut unpacked = vec![0xa5; part.len()];
        assert!(packer.unpack(packing, &payload, &mut unpacked));
        assert_eq!(unpacked, part);
        packing
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(
            part in prop::collection::vec(any::<u8>(), 1..600),
            repeat in 1_usize..20,
            units: bool,
        ) {
            round_trip(&part.repeat(repeat), units);
        }

        #[test]
        fn any_payload_is_unpacked_or_refused(
            payload in prop::collection::vec(any::<u8>(), 0..300),
            length in 0_usize..2_000,
        ) {
            let mut packer = Packer::default();
            for packing in [Packing::Plain, Packing::Compressed, Packing::Units] {
                let mut part = vec![0; length];
                let unpacked = packer.unpack(packing, &payload, &mut part);
                prop_assert!(packing != Packing::Plain || unpacked == (payload.len() == length));
            }
        }
    }

    #[test]
    fn each_packing_is_used_where_it_suits() {
        assert_eq!(round_trip(&[0; 1_000], true), Packing::Zeros);
        assert_eq!(round_trip(&records(100), true), Packing::Units);
        assert_eq!(round_trip(&records(100), false), Packing::Compressed);
        assert_eq!(round_trip(&records(100)[1..], true), Packing::Compressed);
        assert_eq!(round_trip(b"\x01\x02\x03", true), Packing::Plain);
    }

    /// Records of so many regions that follow each other.
    fn records(ranges: u32) -> Vec<u8> {
        let unit = |number: u32| {
            let begin = 0x1_2345_6789_abcd + 500 * u64::from(number);
            let end = stamp(tag(RecordKind::Range, 2 + number % 3), begin + 100);
            [begin, end].map(u64::to_le_bytes).concat()
        };
        (0..ranges).flat_map(unit).collect()
    }
}
