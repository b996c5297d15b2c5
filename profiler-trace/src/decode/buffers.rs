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
mod tests {
    use profiler_wire::RecordKind;
    use profiler_wire::descriptor::{LANE_STEP, buffer_byte, next_cursor};
    use profiler_wire::header::COUNT_MAX;

    use super::*;

    /// The bytes of a mark at a time.
    fn mark(ticks: u64) -> [u8; 16] {
        let stamp = Stamp { kind: RecordKind::Mark, site: 1, ticks }.pack();
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&stamp.to_le_bytes());
        bytes
    }

    /// A ring of 2^k units, or the first `capacity` ones, after `emitted` units whose ticks count up;
    /// the units lie at a column of rows of `step` bytes.
    fn filled(
        ring: bool,
        capacity: u32,
        emitted: u32,
        step: u32,
        column: usize,
    ) -> (Layout, Vec<u8>) {
        let bytes = capacity * step;
        let (mask, limit) = if ring { (bytes - 1, u32::MAX) } else { (u32::MAX, bytes) };
        let shift = bytes.next_power_of_two().trailing_zeros();
        let mut buffer = vec![0; 1 << shift];
        let mut cursor = 0;
        for number in 0..emitted {
            if cursor < limit {
                let at = buffer_byte(cursor, mask) as usize + 16 * column;
                buffer[at..at + 16].copy_from_slice(&mark(u64::from(number) + 1));
            }
            cursor = next_cursor(cursor, step);
        }
        (Layout::new(mask, limit, shift, step).expect("as hosts lay it out"), buffer)
    }

    /// Steps and columns: lane 0, and other lanes.
    const PLACES: [(u32, usize); 3] = [(UNIT_BYTES, 0), (LANE_STEP, 1), (LANE_STEP, 31)];

    fn order(buffer: &Buffer<'_>, survivors: Survivors) -> Vec<u64> {
        survivors.indices().filter_map(|index| write_ticks(buffer.unit(index))).collect()
    }

    /// A ring whose units were written at these times; 0 stands for one that is not there.
    fn ring_of(times: &[u64]) -> (Layout, Vec<u8>) {
        let (layout, mut bytes) = filled(true, times.len() as u32, 0, UNIT_BYTES, 0);
        for (unit, &ticks) in bytes.chunks_exact_mut(16).zip(times) {
            if ticks != 0 {
                unit.copy_from_slice(&mark(ticks));
            }
        }
        (layout, bytes)
    }

    /// Whether it says right that older units than the survivors were lost. Without a count nothing tells
    /// it of a ring that has just turned whole times.
    fn says_what_is_lost(survivors: Survivors, order: &[u64]) -> bool {
        let is_lost = order.first().is_some_and(|number| *number > 1);
        if survivors.oldest_lost { is_lost } else { !is_lost || survivors.index(0) == 0 }
    }

    #[test]
    fn every_fill_level_with_and_without_a_count() {
        for (step, column) in PLACES {
            for capacity in [1, 2, 4, 8] {
                for emitted in 0..5 * capacity {
                    let (layout, bytes) = filled(true, capacity, emitted, step, column);
                    let buffer = layout.buffer(&bytes, 0, column);
                    let kept = emitted.min(capacity);
                    let expected: Vec<u64> =
                        (emitted - kept..emitted).map(|n| u64::from(n) + 1).collect();
                    let survivors = buffer.survivors(emitted);
                    assert_eq!(order(&buffer, survivors), expected, "{capacity} {emitted}");
                    assert_eq!(survivors.oldest_lost, emitted > capacity);
                    assert_eq!(
                        order(&buffer, buffer.scan()),
                        expected,
                        "{capacity} {emitted} no count"
                    );
                }
            }
            for capacity in [0, 1, 3, 7] {
                for emitted in 0..3 * capacity + 2 {
                    let (layout, bytes) = filled(false, capacity, emitted, step, column);
                    let buffer = layout.buffer(&bytes, 0, column);
                    let expected: Vec<u64> = (1..=u64::from(emitted.min(capacity))).collect();
                    assert_eq!(order(&buffer, buffer.survivors(emitted)), expected);
                    assert_eq!(order(&buffer, buffer.scan()), expected);
                    assert_eq!(buffer.is_full(buffer.scan().count), emitted >= capacity);
                    assert_eq!(buffer.is_blank(), emitted == 0 || capacity == 0);
                }
            }
        }
    }

    /// Every set of units that has not arrived, in buffers of every fill level.
    #[test]
    fn units_on_their_way_are_told_from_those_that_are_there() {
        const CAPACITY: u32 = 8;
        for (ring, emitted) in
            [false, true].into_iter().flat_map(|ring| (1..20).map(move |n| (ring, n)))
        {
            let (layout, whole) = filled(ring, CAPACITY, emitted, UNIT_BYTES, 0);
            let kept = emitted.min(CAPACITY);
            let turned = ring && emitted > CAPACITY;
            let oldest = if turned { emitted - kept } else { 0 };
            let all: Vec<u64> = (oldest..oldest + kept).map(|n| u64::from(n) + 1).collect();
            for missing in 0..1_u32 << kept {
                let is_there = |number: &u64| {
                    let age = (number - 1) as u32 - oldest;
                    missing & (1 << age) == 0
                };
                let mut bytes = whole.clone();
                for number in all.iter().filter(|number| !is_there(number)) {
                    let at = 16 * ((number - 1) % u64::from(CAPACITY)) as usize;
                    bytes[at..at + 16].fill(0);
                }
                let there: Vec<u64> = all.iter().copied().filter(is_there).collect();
                let what = format!("ring {ring}, {emitted} emitted, without {missing:b}");
                let buffer = layout.buffer(&bytes, 0, 0);
                let survivors = buffer.scan();
                assert_eq!(order(&buffer, survivors), there, "{what}");
                let first = all.get(..1).filter(|_| turned).unwrap_or(&there);
                assert!(says_what_is_lost(survivors, first), "{what}");
                assert!(!survivors.counted && survivors.count <= kept, "{what}");
                let gaps =
                    survivors.indices().filter(|index| buffer.unit(*index) == [0; 2]).count();
                assert_eq!(there.len() + gaps, survivors.count as usize, "{what}");

                let buffer = layout.running(true).buffer(&bytes, 0, 0);
                let survivors = buffer.scan();
                let running = order(&buffer, survivors);
                assert_eq!(running.len(), survivors.count as usize, "{what}");
                assert!(running.is_empty() || says_what_is_lost(survivors, &running), "{what}");
                let runs = all.split(|number| !is_there(number));
                let longest = runs.clone().map(<[u64]>::len).max().unwrap_or(0);
                if ring {
                    assert_eq!(running.len(), longest, "{what}: {running:?}");
                    assert!(runs.into_iter().any(|run| run == running), "{what}: {running:?}");
                } else {
                    assert_eq!(
                        Some(&*running),
                        all.split(|number| !is_there(number)).next(),
                        "{what}"
                    );
                }
            }
        }
    }

    /// Of a ring that is read while it turns: what is there of the units that the lane wrote last, of which
    /// some are still on their way. Values have the time of their region's end, timers go in steps, and a
    /// turn may take long and wrap the stamps.
    #[test]
    fn units_of_the_turn_before_are_not_taken_for_new_ones() {
        const CAPACITY: u64 = 8;
        for (at_once, step) in [(1, 2), (2, 2), (3, 2), (1, 1 << 33), (2, 1 << 20), (3, 1 << 15)] {
            // All times are odd: none is the 0 that stands for no unit.
            for begin in [1, TICK_MASK - 4 * step] {
                for emitted in CAPACITY + 1..=3 * CAPACITY {
                    for late in 0..1_u32 << 4 {
                        let is_late = |number: &u64| {
                            let age = emitted - 1 - number;
                            age < 4 && late >> age & 1 != 0
                        };
                        let mut numbers = [u64::MAX; CAPACITY as usize];
                        for number in (0..emitted).filter(|number| !is_late(number)) {
                            numbers[(number % CAPACITY) as usize] = number;
                        }
                        let time = |number: u64| (begin + number / at_once * step) & TICK_MASK;
                        let times =
                            numbers.map(|number| if number < emitted { time(number) } else { 0 });
                        let (layout, bytes) = ring_of(&times);
                        let buffer = layout.running(true).buffer(&bytes, 0, 0);
                        let survivors = buffer.scan();
                        let running: Vec<u64> =
                            survivors.indices().map(|index| numbers[index as usize]).collect();
                        let what = format!(
                            "{emitted} emitted, {at_once} every {step} ticks from {begin} on, {late:b} on \
                         their way: {running:?}"
                        );
                        assert!(running.windows(2).all(|pair| pair[1] == pair[0] + 1), "{what}");
                        let kept: Vec<u64> = (emitted - CAPACITY..emitted).collect();
                        let longest = kept.split(is_late).map(<[u64]>::len).max().unwrap_or(0);
                        assert!(running.len() >= longest, "{what}");
                        let is_lost = running.first().is_some_and(|number| *number > 0);
                        let says = survivors.oldest_lost;
                        assert!(says == is_lost || !says && survivors.index(0) == 0, "{what}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_saturated_count_finds_the_newest_by_its_time() {
        // Exactly as many as can be counted: the place where the next one belongs, the first, holds the
        // oldest unit. One more, and it holds the newest.
        assert_eq!(COUNT_MAX % 4, 0);
        for (times, first_is_newest) in [
            ([1000, 1010, 1020, 1030], false),
            ([1040, 1010, 1020, 1030], true),
            // The clock's 40 bits wrap, or have just done so, or almost do.
            ([5, TICK_MASK - 30, TICK_MASK - 20, TICK_MASK - 10], true),
            ([3, 1000, 2000, 3000], false),
            ([(3 << 38) + 10, 10, 1 << 38, 3 << 38], true),
        ] {
            let (layout, bytes) = ring_of(&times);
            let buffer = layout.buffer(&bytes, 0, 0);
            let mut expected = times;
            expected.rotate_left(usize::from(first_is_newest));
            assert_eq!(order(&buffer, buffer.survivors(COUNT_MAX)), expected);
        }
    }

    /// Where the longest step in time does not lead back to the oldest, and where all took long.
    #[test]
    fn gaps_in_time_do_not_turn_a_ring() {
        let gap = 20 + (3 << 38);
        let (layout, bytes) = ring_of(&[10, 20, gap, 0]);
        let buffer = layout.buffer(&bytes, 0, 0);
        assert_eq!(order(&buffer, buffer.scan()), [10, 20, gap]);
        let (layout, bytes) = ring_of(&[5, 6, 3, 4].map(|time| time << 33));
        let buffer = layout.buffer(&bytes, 0, 0);
        assert_eq!(order(&buffer, buffer.scan()), [3, 4, 5, 6].map(|time| time << 33));
    }

    #[test]
    fn layouts_that_no_host_makes_are_refused() {
        let ring = |units: u32, shift| Layout::new(units * 16 - 1, u32::MAX, shift, 16);
        assert!(ring(8, 7).is_some() && ring(1, 4).is_some());
        assert!(ring(8, 6).is_none(), "the buffer is too short");
        assert!(ring(6, 10).is_none(), "no power of two");
        assert!(Layout::new(7, u32::MAX, 10, 16).is_none(), "less than a unit");
        assert!(Layout::new(255, u32::MAX, 10, LANE_STEP).is_none(), "less than a row");
        assert!(Layout::new(127, 128, 10, 16).is_none(), "a ring has no limit");
        let first = |units: u32, shift| Layout::new(u32::MAX, units * 16, shift, 16);
        assert!(first(4, 6).is_some() && first(3, 6).is_some() && first(0, 0).is_some());
        assert!(first(5, 6).is_none(), "the buffer is too short");
        assert!(Layout::new(u32::MAX, 40, 6, 16).is_none(), "half a unit");
        assert!(Layout::new(u32::MAX, CURSOR_MAX, 32, 16).is_some());
        assert!(Layout::new(u32::MAX, CURSOR_MAX + 16, 32, 16).is_none(), "cursors stop before");
        assert!(Layout::new(u32::MAX, 16, 33, 16).is_none(), "no cursor reaches so far");
    }

    #[test]
    fn a_buffer_that_is_cut_short_says_so() {
        let (layout, bytes) = filled(true, 4, 6, UNIT_BYTES, 0);
        assert_eq!(layout.buffer(&bytes[..40], 0, 0).survivors(6).cut, 2);
        assert_eq!(layout.buffer(&bytes, 1, 0).survivors(2).cut, 2);
        assert_eq!(layout.buffer(&bytes, usize::MAX, 0).survivors(0).cut, 0);
        let (layout, bytes) = filled(true, 4, 6, LANE_STEP, 5);
        for (length, cut) in [(512 + 95, 3), (512 + 96, 2), (2048, 0)] {
            assert_eq!(layout.buffer(&bytes[..length], 0, 5).survivors(6).cut, cut, "{length}");
        }
    }
}
