//! The slots that cannot be read because parts of a capture file are missing.

use std::ops::Range;

use profiler_wire::{Descriptor, header};

use super::{CaptureArray, CaptureDamage};

/// Bytes of a slot's 32 counts of 8 bytes.
const COUNTS_BYTES: u64 = 32 * 8;

/// The slots that have something in these bytes of an array.
pub(super) fn slots_of(
    array: CaptureArray,
    bytes: &Range<u64>,
    descriptor: &Descriptor,
) -> Range<u32> {
    let bytes_of_slot = match array {
        CaptureArray::Headers => header::BYTES as u64,
        CaptureArray::Records => buffer_bytes(descriptor.record_shift),
        CaptureArray::Lanes => buffer_bytes(descriptor.lane_shift),
        CaptureArray::LaneCounts => COUNTS_BYTES,
    };
    let slot = |slot: u64| slot.min(u64::from(descriptor.slot_count)) as u32;
    slot(bytes.start / bytes_of_slot)..slot(bytes.end.div_ceil(bytes_of_slot))
}

/// Buffers too large to exist are one for all slots.
fn buffer_bytes(shift: u32) -> u64 {
    1_u64.checked_shl(shift).unwrap_or(u64::MAX)
}

/// The losses of a module, by array in the order of [`CaptureArray::ALL`].
#[derive(Clone, Debug, Default)]
pub(crate) struct ModuleLoss {
    /// Apart from each other and in order.
    slots: [Vec<Range<u32>>; 4],
}

/// The losses of one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotLoss {
    /// Lane 0's buffer.
    pub leader: bool,
    /// The other lanes' buffers or their counts.
    pub lanes: bool,
    /// The other lanes' counts.
    pub counts: bool,
}

impl ModuleLoss {
    /// Of the module with this index.
    pub(crate) fn new(module: usize, damage: &[CaptureDamage]) -> Self {
        let mut loss = Self::default();
        for damage in damage {
            let CaptureDamage::Missing { module: of, array, slots, .. } = damage else { continue };
            if *of as usize == module && !slots.is_empty() {
                loss.slots[*array as usize].push(slots.clone());
            }
        }
        for ranges in &mut loss.slots {
            ranges.sort_by_key(|range| range.start);
            ranges.dedup_by(|later, earlier| {
                let touch = later.start <= earlier.end;
                if touch {
                    earlier.end = earlier.end.max(later.end);
                }
                touch
            });
        }
        loss
    }

    /// The slots whose headers are lost. They are zero in the array, if it is that long, as those of
    /// slots that were never used.
    pub(crate) fn headers(&self) -> &[Range<u32>] {
        self.of(CaptureArray::Headers)
    }

    /// The other losses of the slot.
    pub(crate) fn of_slot(&self, slot: u32) -> SlotLoss {
        let counts = self.touches(CaptureArray::LaneCounts, slot);
        SlotLoss {
            leader: self.touches(CaptureArray::Records, slot),
            lanes: counts || self.touches(CaptureArray::Lanes, slot),
            counts,
        }
    }

    fn of(&self, array: CaptureArray) -> &[Range<u32>] {
        &self.slots[array as usize]
    }

    fn touches(&self, array: CaptureArray, slot: u32) -> bool {
        let ranges = self.of(array);
        let next = ranges.partition_point(|range| range.end <= slot);
        ranges.get(next).is_some_and(|range| range.start <= slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(module: u32, array: CaptureArray, slots: Range<u32>) -> CaptureDamage {
        CaptureDamage::Missing { module, array, bytes: 0..0, slots }
    }

    #[test]
    fn slots_that_lie_in_lost_bytes_in_part_are_lost() {
        let descriptor = Descriptor { record_shift: 10, slot_count: 100, ..Descriptor::default() };
        let slots = |array, bytes: Range<u64>| slots_of(array, &bytes, &descriptor);
        assert_eq!(slots(CaptureArray::Records, 1_023..1_025), 0..2);
        assert_eq!(slots(CaptureArray::Records, 1_024..2_048), 1..2);
        assert_eq!(slots(CaptureArray::Headers, 128..u64::MAX), 1..100);
        assert_eq!(slots(CaptureArray::LaneCounts, 0..257), 0..2);
        let huge = Descriptor { record_shift: 64, ..descriptor };
        assert_eq!(slots_of(CaptureArray::Records, &(1 << 30..1 << 31), &huge), 0..1);
    }

    #[test]
    fn ranges_are_joined_and_told_apart_by_module_and_array() {
        let loss = ModuleLoss::new(
            1,
            &[
                missing(1, CaptureArray::Headers, 8..10),
                missing(1, CaptureArray::Headers, 2..4),
                missing(1, CaptureArray::Headers, 3..6),
                missing(0, CaptureArray::Headers, 0..2),
                missing(1, CaptureArray::Records, 7..8),
                missing(1, CaptureArray::Records, 4..6),
                missing(1, CaptureArray::LaneCounts, 1..2),
                CaptureDamage::Truncated { bytes: 1 },
            ],
        );
        assert_eq!(loss.headers(), [2..6, 8..10]);
        let leaders: Vec<u32> = (0..12).filter(|slot| loss.of_slot(*slot).leader).collect();
        assert_eq!(leaders, [4, 5, 7]);
        let leader = SlotLoss { leader: true, ..SlotLoss::default() };
        assert_eq!(loss.of_slot(7), leader);
        assert_eq!(loss.of_slot(1), SlotLoss { leader: false, lanes: true, counts: true });
        assert_eq!(loss.of_slot(2), SlotLoss::default());
    }
}
