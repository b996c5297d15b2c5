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
fn filled(ring: bool, capacity: u32, emitted: u32, step: u32, column: usize) -> (Layout, Vec<u8>) {
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
            let gaps = survivors.indices().filter(|index| buffer.unit(*index) == [0; 2]).count();
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
                assert_eq!(Some(&*running), all.split(|number| !is_there(number)).next(), "{what}");
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
