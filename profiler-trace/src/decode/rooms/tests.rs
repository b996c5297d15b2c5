use profiler_wire::descriptor::unit_index;
use profiler_wire::record::pack;

use super::*;

/// A ring of 2^k units, or the first `capacity` ones, after `emitted` units whose ticks count up.
fn filled(ring: bool, capacity: u32, emitted: u32) -> (Layout, Vec<u8>) {
    let (mask, guard) = if ring { (capacity - 1, capacity - 1) } else { (u32::MAX, capacity) };
    let units = if ring { capacity } else { capacity + 1 };
    let bytes = (units * UNIT_BYTES).next_power_of_two();
    let mut room = vec![0; bytes as usize];
    for number in 0..emitted {
        let at = (unit_index(number, mask, guard) * UNIT_BYTES) as usize;
        let word = pack(RecordKind::Mark, 1, u64::from(number) + 1);
        room[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
    (Layout::new(mask, guard, bytes.trailing_zeros()).expect("as hosts lay it out"), room)
}

fn order(room: &Room<'_>, survivors: Survivors) -> Vec<u64> {
    survivors.indices().filter_map(|index| write_ticks(room.unit(index))).collect()
}

#[test]
fn every_fill_level_with_and_without_a_count() {
    for capacity in [1, 2, 4, 8] {
        for emitted in 0..5 * capacity {
            let (layout, bytes) = filled(true, capacity, emitted);
            let room = layout.room(&bytes, 0);
            let kept = emitted.min(capacity);
            let expected: Vec<u64> = (emitted - kept..emitted).map(|n| u64::from(n) + 1).collect();
            let survivors = room.survivors(emitted);
            assert_eq!(order(&room, survivors), expected, "{capacity} {emitted}");
            assert_eq!(survivors.oldest_lost, emitted > capacity);
            assert_eq!(order(&room, room.scan()), expected, "{capacity} {emitted} without a count");
        }
    }
    for capacity in [0, 1, 3, 7] {
        for emitted in 0..3 * capacity + 2 {
            let (layout, bytes) = filled(false, capacity, emitted);
            let room = layout.room(&bytes, 0);
            let expected: Vec<u64> = (1..=u64::from(emitted.min(capacity))).collect();
            assert_eq!(order(&room, room.survivors(emitted)), expected);
            assert_eq!(order(&room, room.scan()), expected);
            assert_eq!(room.overflowed(), emitted > capacity);
            assert_eq!(room.is_blank(), emitted == 0);
        }
    }
}

#[test]
fn a_saturated_count_finds_the_newest_by_its_time() {
    let set = |bytes: &mut [u8], index: usize, ticks: u64| {
        let word = pack(RecordKind::Mark, 1, ticks);
        bytes[index * 16..index * 16 + 8].copy_from_slice(&word.to_le_bytes());
    };
    let (layout, mut bytes) = filled(true, 4, 0);
    for (index, ticks) in [(0, 1010), (1, 1020), (2, 1030)] {
        set(&mut bytes, index, ticks);
    }
    // Exactly as many as can be counted: the last place holds the oldest unit.
    set(&mut bytes, 3, 1000);
    let room = layout.room(&bytes, 0);
    assert_eq!(order(&room, room.survivors(COUNT_MAX)), [1000, 1010, 1020, 1030]);
    // One more, and it holds the newest.
    set(&mut bytes, 3, 1040);
    let room = layout.room(&bytes, 0);
    assert_eq!(order(&room, room.survivors(COUNT_MAX)), [1010, 1020, 1030, 1040]);
}

#[test]
fn layouts_that_no_host_makes_are_refused() {
    assert!(Layout::new(6, 6, 10).is_none());
    assert!(Layout::new(7, 3, 10).is_none());
    assert!(Layout::new(7, 7, 6).is_none());
    assert!(Layout::new(u32::MAX, 4, 6).is_none());
    assert!(Layout::new(u32::MAX, 3, 6).is_some());
    assert!(Layout::new(u32::MAX, u32::MAX, 63).is_none());
    assert!(Layout::new(0, 0, 4).is_some());
}

#[test]
fn a_room_that_is_cut_short_says_so() {
    let (layout, bytes) = filled(true, 4, 6);
    assert_eq!(layout.room(&bytes[..40], 0).survivors(6).cut, 2);
    assert_eq!(layout.room(&bytes, 1).survivors(2).cut, 2);
    assert_eq!(layout.room(&bytes, usize::MAX).survivors(0).cut, 0);
}
