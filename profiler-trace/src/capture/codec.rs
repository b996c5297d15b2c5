//! Packs a part of an array, and unpacks it.
//!
//! Records are units of two words whose upper bytes hardly change from one unit to the next, and
//! whose lower bytes are noise. So each 32-bit quarter of a unit is replaced by its difference to
//! the unit before, and then the bytes are put in order of their place in the unit: what hardly
//! changes becomes runs of zeros, which a fast compressor finds. `docs/capture-format.md` has the
//! figures.

use profiler_wire::record::UNIT_BYTES;

use super::format::Packing;

const UNIT: usize = UNIT_BYTES as usize;

/// Room for what packing needs besides its input.
#[derive(Default)]
pub(super) struct Packer {
    planes: Vec<u8>,
    packed: Vec<u8>,
}

impl Packer {
    /// Packs a part: as units, if it consists of them.
    pub(super) fn pack<'a>(&'a mut self, part: &'a [u8], units: bool) -> (Packing, &'a [u8]) {
        if is_zero(part) {
            return (Packing::Zeros, &[]);
        }
        let (packing, source) = if units && part.len().is_multiple_of(UNIT) {
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
        let decompress = |into: &mut [u8]| {
            lz4_flex::block::decompress_into(payload, into).is_ok_and(|length| length == into.len())
        };
        match packing {
            Packing::Plain => {
                let fits = payload.len() == part.len();
                if fits {
                    part.copy_from_slice(payload);
                }
                fits
            }
            Packing::Zeros => {
                part.fill(0);
                payload.is_empty()
            }
            Packing::Compressed => decompress(part),
            Packing::Units => {
                self.planes.resize(part.len(), 0);
                let whole = part.len().is_multiple_of(UNIT) && decompress(&mut self.planes);
                if whole {
                    from_planes(&self.planes, part);
                }
                whole
            }
        }
    }
}

/// Whether all bytes are zero.
fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<16>();
    words.iter().all(|word| *word == [0; 16]) && rest.iter().all(|byte| *byte == 0)
}

/// Differences of the units, by 32-bit quarters, one plane for each byte of a unit.
fn to_planes(units: &[u8], planes: &mut Vec<u8>) {
    let (units, _) = units.as_chunks::<UNIT>();
    planes.resize(units.len() * UNIT, 0);
    let mut planes: Vec<&mut [u8]> = planes.chunks_exact_mut(units.len().max(1)).collect();
    let mut before = [0_u32; UNIT / 4];
    for (index, unit) in units.iter().enumerate() {
        let (quarters, _) = unit.as_chunks::<4>();
        for (quarter, before) in quarters
            .iter()
            .zip(&mut before)
            .enumerate()
            .map(|(place, pair)| (place, pair))
            .map(|(place, (quarter, before))| ((place, quarter), before))
        {
            let (place, bytes) = quarter;
            let word = u32::from_le_bytes(*bytes);
            let difference = word.wrapping_sub(*before).to_le_bytes();
            *before = word;
            for (byte, value) in difference.into_iter().enumerate() {
                planes[place * 4 + byte][index] = value;
            }
        }
    }
}

/// The inverse of [`to_planes`].
fn from_planes(planes: &[u8], units: &mut [u8]) {
    let (units, _) = units.as_chunks_mut::<UNIT>();
    let planes: Vec<&[u8]> = planes.chunks_exact(units.len().max(1)).collect();
    let mut before = [0_u32; UNIT / 4];
    for (index, unit) in units.iter_mut().enumerate() {
        let (quarters, _) = unit.as_chunks_mut::<4>();
        for (place, (quarter, before)) in quarters.iter_mut().zip(&mut before).enumerate() {
            let difference =
                u32::from_le_bytes(std::array::from_fn(|byte| planes[place * 4 + byte][index]));
            *before = before.wrapping_add(difference);
            *quarter = before.to_le_bytes();
        }
    }
}
