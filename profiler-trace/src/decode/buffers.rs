//! The units of a buffer that survived, and their order.

use profiler_wire::Stamp;
use profiler_wire::descriptor::{CURSOR_MAX, units};
use profiler_wire::record::{TICK_MASK, UNIT_BYTES};

use super::ticks::SLACK;

/// The layout of a module's buffers, checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Units of a lane that a buffer keeps.
    capacity: u32,
    /// Whether the last units are kept, not the first.
    ring: bool,
    /// Binary logarithm of the bytes between two buffers.
    shift: u32,
    /// Bytes from one unit of a lane to its next.
    step: u32,
    /// Whether kernels still ran when the buffers were read.
    running: bool,
}

impl Layout {
    /// Of the descriptor's mask and limit; `None` if no host lays out buffers so (see
    /// [`profiler_wire::descriptor`]).
    pub(super) fn new(mask: u32, limit: u32, shift: u32, step: u32) -> Option<Self> {
        let ring = mask != u32::MAX;
        let bytes = if ring { mask + 1 } else { limit };
        let fits = if ring {
            bytes.is_power_of_two() && bytes >= step && limit == u32::MAX
        } else {
            bytes.is_multiple_of(step) && bytes <= CURSOR_MAX
        };
        // No cursor reaches beyond 2^32 bytes.
        (fits && shift <= u32::BITS && u64::from(bytes) <= 1 << shift).then_some(Self {
            capacity: bytes / step,
            ring,
            shift,
            step,
            running: false,
        })
    }

    /// Of buffers that were read while kernels ran.
    pub(super) fn running(self, running: bool) -> Self {
        Self { running, ..self }
    }

    /// The units that the buffer with this index holds at `column` of its rows, the first bytes of
    /// each being column 0; as much of it as there is.
    pub(super) fn buffer<'a>(&self, buffers: &'a [u8], index: usize, column: usize) -> Buffer<'a> {
        let bytes = 1_usize.checked_shl(self.shift);
        let from = bytes
            .and_then(|bytes| bytes.checked_mul(index))
            .and_then(|from| from.checked_add(column * UNIT_BYTES as usize));
        let bytes = from.and_then(|from| buffers.get(from..)).unwrap_or_default();
        let unit = UNIT_BYTES as usize;
        let held = bytes.len().checked_sub(unit).map_or(0, |rest| rest / self.step as usize + 1);
        Buffer { bytes, held: held.min(self.capacity as usize) as u32, layout: *self }
    }
}

/// One lane's units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer<'a> {
    /// From the lane's first unit on.
    bytes: &'a [u8],
    /// How many units of the lane's are there: at most the capacity, fewer where the capture is cut
    /// short.
    held: u32,
    layout: Layout,
}

/// The surviving units of a buffer, in the order of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Survivors {
    /// Index of the oldest.
    first: u32,
    /// Their number.
    pub count: u32,
    /// Whether units before the first survivor were lost.
    pub oldest_lost: bool,
    /// The number of units after the end of the capture's array.
    pub cut: u32,
    capacity: u32,
    /// The number of the buffer's units in the capture.
    held: u32,
    /// Whether the lane counted them. If not, units among them may be missing, or be there in part:
    /// those that were on their way when the buffer was read.
    pub counted: bool,
}

impl Survivors {
    /// Indices into the buffer, oldest first, of those that are in the capture. Headers and descriptor
    /// may claim far more than that.
    pub(super) fn indices(self) -> impl Iterator<Item = u32> {
        let wrapped = self.count - self.until_end();
        (self.first..self.end()).chain(0..wrapped.min(self.held))
    }

    /// The index into the buffer of a survivor by its number among [`Self::indices`].
    pub(super) fn index(self, number: u32) -> u32 {
        let before_end = self.end().saturating_sub(self.first);
        if number < before_end { self.first + number } else { number - before_end }
    }

    /// The number of units from the oldest to the buffer's end.
    fn until_end(self) -> u32 {
        self.capacity.saturating_sub(self.first).min(self.count)
    }

    /// The end of the units in the capture from the oldest to the buffer's end.
    fn end(self) -> u32 {
        (self.first + self.until_end()).min(self.held)
    }
}

impl Buffer<'_> {
    /// The words of a unit; zero if it is not in the capture.
    pub(super) fn unit(&self, index: u32) -> [u64; 2] {
        let at = index as usize * self.layout.step as usize;
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk::<{ UNIT_BYTES as usize }>);
        bytes.map_or([0; 2], words)
    }

    /// The survivors as they lie one after the other, in the order of writing, the later of which
    /// may have wrapped to the buffer's begin; `None` if units of other lanes lie between them, or not
    /// all are in the capture.
    pub(super) fn parts(&self, survivors: Survivors) -> Option<[&[[u8; UNIT_BYTES as usize]]; 2]> {
        if self.layout.step != UNIT_BYTES {
            return None;
        }
        let (units, _) = self.bytes.as_chunks();
        let first = survivors.first as usize;
        let until_end = survivors.until_end();
        let wrapped = survivors.count - until_end;
        let from_first = units.get(first..first + until_end as usize)?;
        Some([from_first, units.get(..wrapped as usize)?])
    }

    /// The largest count of units of a lane.
    pub(super) fn count_max(&self) -> u32 {
        units(CURSOR_MAX, self.layout.step)
    }

    /// The units that survived, by the lane's counts if there are any.
    pub(super) fn survivors_of(&self, counts: Option<(u32, u32)>) -> Survivors {
        counts.map_or_else(|| self.scan(), |(units, _)| self.survivors(units))
    }

    /// The units that survived, of so many that were emitted.
    pub(super) fn survivors(&self, emitted: u32) -> Survivors {
        let Layout { capacity, ring, .. } = self.layout;
        let count = emitted.min(capacity);
        let wrapped = ring && emitted > capacity;
        let mut first = if wrapped { emitted.min(self.count_max()) % capacity } else { 0 };
        if emitted >= self.count_max() && wrapped {
            // From here on every unit goes where the unit of that number belongs. If that
            // happened, this unit is the newest; otherwise it is the oldest. It lies nearer in
            // time to its true neighbour.
            let last = first;
            let ticks = |index| write_ticks(self.unit(index)).unwrap_or(0);
            let between = |from: u32, to: u32| ticks(to).wrapping_sub(ticks(from)) & TICK_MASK;
            let (before, after) = ((last + capacity - 1) % capacity, (last + 1) % capacity);
            if between(before, last) < between(last, after) {
                first = after;
            }
        }
        let cut = match (wrapped, self.held) {
            (_, held) if held >= capacity => 0,
            (true, held) => capacity - held,
            (false, held) => count.saturating_sub(held),
        };
        let held = self.held;
        Survivors { first, count, oldest_lost: wrapped, cut, capacity, held, counted: true }
    }

    /// The units that survived in a lane without a count: those that were written, as buffers are
    /// cleared before a session. Units between them that are not there yet count among them, where
    /// kernels had failed. Where they ran on it is those before the first such unit, which is what
    /// the lane had recorded a moment before; of a ring, in which the oldest vanish meanwhile, too,
    /// the longest run of units that are there, each later than those before it.
    pub(super) fn scan(&self) -> Survivors {
        if !self.layout.running {
            return self.scan_all();
        }
        let survivors = if self.layout.ring { self.scan_turning() } else { self.scan_all() };
        // Numbers of survivors: where the current run and the longest one begin, and their lengths.
        let (mut run, mut longest) = ((0, 0), (0, 0));
        let mut latest = i64::MIN;
        for (number, index) in (0..).zip(survivors.indices()) {
            let time = self.time_since(survivors.first, index);
            let is_of_turn_before = time.is_some_and(|time| time < latest);
            if self.unit(index) != [0; 2] && !(self.layout.ring && is_of_turn_before) {
                run.1 += 1;
                latest = time.map_or(latest, |time| latest.max(time));
            } else if !self.layout.ring {
                break;
            } else {
                run = (number + 1, 0);
            }
            if run.1 >= longest.1 {
                longest = run;
            }
        }
        let (begin, count) = longest;
        let oldest_lost = survivors.oldest_lost || begin > 0;
        Survivors { first: survivors.index(begin), count, oldest_lost, ..survivors }
    }

    /// When a unit was written, to be compared with the same of others: how long after the unit `since`,
    /// negative if before it, in parts of a tick. Neither lies more than half of the stamps' range from
    /// the other, as a ring in which units are missing turns in less.
    fn time_since(&self, since: u32, index: u32) -> Option<i64> {
        let ticks = write_ticks(self.unit(index))?.wrapping_sub(write_ticks(self.unit(since))?);
        // Moved to the top, the bits of a stamp have the sign of the difference.
        Some((ticks << TICK_MASK.leading_zeros()).cast_signed())
    }

    /// All of a ring that turns, beginning after the newest unit. That is the one with the latest time,
    /// not the one before a step back: a unit whose store is still on its way leaves that of the turn
    /// before in its place, and a step back on either side.
    fn scan_turning(&self) -> Survivors {
        let all = self.scan_all();
        let units = || (0..self.held).filter(|index| self.unit(*index) != [0; 2]);
        let time = |index| self.time_since(all.first, index);
        let latest = units().map(time).max();
        let latest_ones = || units().filter(|index| Some(time(*index)) == latest);
        // Several units may have the latest time, as a value has that of its region. They lie near each
        // other, perhaps round the end, so that the way from the newest to the next one is the longest.
        let round = latest_ones().map(|index| index + all.capacity);
        let next_ones = latest_ones().chain(round).skip(1);
        let newest = latest_ones().zip(next_ones).max_by_key(|(index, next)| next - index);
        let Some((newest, _)) = newest else { return all };
        let first = units().find(|&index| index > newest).or_else(|| units().next());
        let first = first.unwrap_or(newest);
        Survivors { first, count: all.capacity, oldest_lost: first != 0, ..all }
    }

    /// All from the oldest to the newest unit.
    ///
    /// In a ring that has turned, the newest unit lies before the oldest, and perhaps between the two
    /// some that were being written: it is the one from which the longest step in time leads to the
    /// next that is there, as that step leads back. A ring of which only the end is not there has hardly
    /// turned; it has only if that step is short.
    fn scan_all(&self) -> Survivors {
        let Layout { capacity, ring, .. } = self.layout;
        let is_there = |index: &u32| self.unit(*index) != [0; 2];
        let end = (0..self.held).rev().find(is_there).map_or(0, |last| last + 1);
        let in_order = Survivors {
            first: 0,
            count: end,
            oldest_lost: false,
            cut: 0,
            capacity,
            held: self.held,
            counted: false,
        };
        if !ring {
            return in_order;
        }
        let ticks = |index: u32| write_ticks(self.unit(index)).unwrap_or(0);
        let units = (0..end).filter(is_there);
        let next_ones = units.clone().cycle().skip(1);
        // Of equal steps the last, so that a buffer filled just once stays in its order.
        let step = |unit, next| ticks(next).wrapping_sub(ticks(unit)) & TICK_MASK;
        let newest_and_oldest =
            units.clone().zip(next_ones).max_by_key(|&(unit, next)| step(unit, next));
        let Some((newest, first)) = newest_and_oldest else { return in_order };
        let only_the_end_is_missing = end < capacity && units.count() as u32 == end;
        if only_the_end_is_missing && TICK_MASK - step(newest, first) > SLACK {
            return in_order;
        }
        let count = if newest < first { newest + capacity - first } else { newest - first } + 1;
        Survivors { first, count, oldest_lost: first != 0, ..in_order }
    }

    /// Whether, in a lane that left no count and `kept` so many units, later ones may have found no
    /// buffer.
    pub(super) fn is_full(&self, kept: u32) -> bool {
        !self.layout.ring && kept == self.layout.capacity
    }

    /// Whether nothing was ever written, as far as a look at the buffer's begin and end tells.
    pub(super) fn is_blank(&self) -> bool {
        let last = self.layout.capacity.saturating_sub(1);
        [0, 1, last].iter().all(|index| self.unit(*index) == [0; 2])
    }
}

/// The words of a unit.
pub(super) fn words(bytes: &[u8; UNIT_BYTES as usize]) -> [u64; 2] {
    let (words, _) = bytes.as_chunks::<8>();
    [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])]
}

/// The ticks at which a unit was written.
pub(super) fn write_ticks(unit: [u64; 2]) -> Option<u64> {
    Stamp::unpack(unit[1]).map(|stamp| stamp.ticks)
}

#[cfg(test)]
mod tests;
