//! Which units of a room survived, and in which order they were written.

use profiler_wire::Word;
use profiler_wire::header::COUNT_MAX;
use profiler_wire::record::{RecordKind, TICK_MASK, UNIT_BYTES};

/// How the rooms of a module lie, checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Units that a room keeps.
    capacity: u32,
    /// Whether the last units are kept, not the first.
    ring: bool,
    /// Binary logarithm of the bytes between two rooms.
    shift: u32,
}

impl Layout {
    /// `None` if no host lays out rooms so (see [`profiler_wire::descriptor`]).
    pub(super) fn new(mask: u32, guard: u32, shift: u32) -> Option<Self> {
        let ring = mask != u32::MAX;
        let (capacity, units) = if ring {
            let capacity = mask + 1;
            if guard != mask || !capacity.is_power_of_two() {
                return None;
            }
            (capacity, u64::from(capacity))
        } else {
            (guard, u64::from(guard) + 1)
        };
        // A shift of more than 37 bits would be a room of more units than a count can tell.
        (shift < 37 && units * u64::from(UNIT_BYTES) <= 1 << shift).then_some(Self {
            capacity,
            ring,
            shift,
        })
    }

    /// The room with this index; as much of it as there is.
    pub(super) fn room<'a>(&self, rooms: &'a [u8], index: usize) -> Room<'a> {
        let bytes = 1_usize.checked_shl(self.shift);
        let from = bytes.and_then(|bytes| bytes.checked_mul(index));
        let bytes = from.and_then(|from| rooms.get(from..)).unwrap_or_default();
        let units = bytes.as_chunks::<{ UNIT_BYTES as usize }>().0;
        let kept = units.len().min(self.capacity as usize);
        Room { units: &units[..kept], behind: units.get(kept), layout: *self }
    }
}

/// One lane's room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room<'a> {
    /// At most the room's capacity; fewer where the capture is cut short.
    units: &'a [[u8; UNIT_BYTES as usize]],
    /// The unit that absorbs what does not fit.
    behind: Option<&'a [u8; UNIT_BYTES as usize]>,
    layout: Layout,
}

/// The surviving units of a room, in the order of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Survivors {
    /// Index of the oldest.
    first: u32,
    /// How many.
    pub count: u32,
    /// Whether units before the first survivor were lost.
    pub oldest_lost: bool,
    /// How many of them lie behind the end of the capture's array.
    pub cut: u32,
    capacity: u32,
}

impl Survivors {
    /// Indices into the room, oldest first.
    pub(super) fn indices(self) -> impl Iterator<Item = u32> {
        let (first, capacity) = (u64::from(self.first), u64::from(self.capacity.max(1)));
        (0..u64::from(self.count)).map(move |number| ((first + number) % capacity) as u32)
    }
}

impl Room<'_> {
    /// The words of a unit; zero if it is not in the capture.
    pub(super) fn unit(&self, index: u32) -> [u64; 2] {
        let Some(bytes) = self.units.get(index as usize) else { return [0; 2] };
        words(bytes)
    }

    /// Which units survived of so many that were emitted.
    pub(super) fn survivors(&self, emitted: u32) -> Survivors {
        let Layout { capacity, ring, .. } = self.layout;
        let count = emitted.min(capacity);
        let wrapped = ring && emitted > capacity;
        let mut first = if wrapped { emitted % capacity } else { 0 };
        if emitted == COUNT_MAX && wrapped {
            // From here on every unit goes where unit number `COUNT_MAX` belongs. If that
            // happened, this unit is the newest; otherwise it is the oldest. It lies nearer in
            // time to its true neighbour.
            let last = first;
            let ticks = |index| write_ticks(self.unit(index)).unwrap_or(0);
            let between = |from: u32, to: u32| ticks(to).wrapping_sub(ticks(from)) & TICK_MASK;
            let (before, behind) = ((last + capacity - 1) % capacity, (last + 1) % capacity);
            if between(before, last) < between(last, behind) {
                first = behind;
            }
        }
        let cut = match (ring && wrapped, self.units.len() as u32) {
            (_, held) if held >= capacity => 0,
            (true, held) => capacity - held,
            (false, held) => count.saturating_sub(held),
        };
        Survivors { first, count, oldest_lost: wrapped, cut, capacity }
    }

    /// Which units survived in a lane that left no count: those that were written, as rooms are
    /// cleared before a session. Also says whether any were lost at the end.
    pub(super) fn scan(&self) -> Survivors {
        let Layout { capacity, ring, .. } = self.layout;
        let written = self.units.iter().take_while(|unit| words(unit)[0] != 0).count() as u32;
        let full = written == capacity && capacity > 0;
        let mut first = 0;
        if ring && full {
            // The newest unit lies just before the oldest: the longest step from one unit's ticks
            // to the next one's, as it leads back.
            let ticks = |index: u32| write_ticks(self.unit(index)).unwrap_or(0);
            let step = |index: u32| {
                let next = (index + 1) % capacity;
                ticks(next).wrapping_sub(ticks(index)) & TICK_MASK
            };
            // Of equal steps the last, so that a room filled just once stays in its order.
            first = (0..capacity).max_by_key(|index| step(*index)).map_or(0, |newest| newest + 1)
                % capacity;
        }
        Survivors { first, count: written, oldest_lost: first != 0, cut: 0, capacity }
    }

    /// Whether, in a lane without a count, something was written to the unit that absorbs what
    /// does not fit.
    pub(super) fn overflowed(&self) -> bool {
        !self.layout.ring && self.behind.is_some_and(|unit| words(unit)[0] != 0)
    }

    /// Whether nothing was ever written.
    pub(super) fn is_blank(&self) -> bool {
        self.unit(0)[0] == 0 && !self.overflowed()
    }
}

fn words(bytes: &[u8; UNIT_BYTES as usize]) -> [u64; 2] {
    let (words, _) = bytes.as_chunks::<8>();
    [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])]
}

/// The ticks at which a unit was written: of a `Range` those of its end.
pub(super) fn write_ticks(unit: [u64; 2]) -> Option<u64> {
    let word = Word::unpack(unit[0])?;
    match word.kind {
        RecordKind::Range => Word::unpack(unit[1]).map(|end| end.ticks),
        _ => Some(word.ticks),
    }
}

#[cfg(test)]
mod tests;
