use profiler_wire::descriptor::CURSOR_MAX;
use proptest::prelude::*;

use super::*;

fn options(records: u32, lane_records: u32, keep: Keep, max_warps: u32) -> Options {
    Options {
        records_per_warp: records,
        records_per_lane: lane_records,
        keep,
        max_warps: Some(max_warps),
        ..Options::default()
    }
}

#[test]
fn buffers_are_as_the_wire_contract_says() {
    assert_eq!(
        LaneBuffer::new(10, UNIT_BYTES, Keep::First),
        LaneBuffer { mask: u32::MAX, limit: 160, shift: 8, step: 16 }
    );
    assert_eq!(
        LaneBuffer::new(7, UNIT_BYTES, Keep::First),
        LaneBuffer { mask: u32::MAX, limit: 112, shift: 7, step: 16 }
    );
    assert_eq!(
        LaneBuffer::new(8, UNIT_BYTES, Keep::First),
        LaneBuffer { mask: u32::MAX, limit: 128, shift: 7, step: 16 }
    );
    assert_eq!(
        LaneBuffer::new(10, UNIT_BYTES, Keep::Last),
        LaneBuffer { mask: 255, limit: u32::MAX, shift: 8, step: 16 }
    );
    assert_eq!(
        LaneBuffer::new(1, UNIT_BYTES, Keep::Last),
        LaneBuffer { mask: 15, limit: u32::MAX, shift: 4, step: 16 }
    );
    assert_eq!(
        LaneBuffer::new(10, LANE_STEP, Keep::First),
        LaneBuffer { mask: u32::MAX, limit: 5120, shift: 13, step: 512 }
    );
    assert_eq!(
        LaneBuffer::new(10, LANE_STEP, Keep::Last),
        LaneBuffer { mask: 8191, limit: u32::MAX, shift: 13, step: 512 }
    );
    assert_eq!(LaneBuffer::new(10, UNIT_BYTES, Keep::Last).capacity(), 16);
    assert_eq!(LaneBuffer::new(10, LANE_STEP, Keep::Last).capacity(), 16);
    assert_eq!(LaneBuffer::new(10, UNIT_BYTES, Keep::First).capacity(), 10);
}

#[test]
fn a_buffer_of_nothing_counts_and_keeps_nothing() {
    for keep in [Keep::First, Keep::Last] {
        let buffer = LaneBuffer::new(0, UNIT_BYTES, keep);
        assert_eq!((buffer.capacity(), buffer.stride()), (0, 16));
        assert_eq!(buffer.limit, 0);
    }
}

#[test]
fn the_default_takes_a_moderate_amount_of_memory() {
    for lanes in [false, true] {
        for claimed in [false, true] {
            let layout = Layout::new(&Options::default(), lanes, claimed, 132).expect("defaults");
            assert!(layout.bytes < 2 * DEFAULT_BYTES, "{}", layout.bytes);
            assert!(layout.slot_count >= 8_448, "a GPU of 132 SMs full of warps fits");
        }
    }
}

#[test]
fn the_slots_in_use_follow_from_the_counters() {
    let claims = Claims { sm_count: 1, slots_per_shard: 4 };
    assert_eq!(claims.in_use(&[0, 0, 0, 0, 0], 24), []);
    assert_eq!(claims.in_use(&[2, 0, 1, 0, 0], 24), [0..2, 8..9]);
    let touching = claims.in_use(&[9, 4, 7, 4, 3], 24);
    assert_eq!((touching.len(), &touching[0]), (1, &(0..19)), "full shards and the pool touch");
    assert_eq!(claims.in_use(&[0, 5, 0, 0, 1 << 40], 24), [4..8, 16..24]);
}

/// Every stretch of memory that a slot's warp or all warps write: start and end.
fn stretches(descriptor: &Descriptor, slots: &[u32]) -> Vec<Range<u64>> {
    let mut all = Vec::new();
    all.push(descriptor.lost..descriptor.lost + Lost::BYTES as u64);
    if descriptor.flags & FLAG_CLAIMED != 0 {
        let counters = u64::from(SHARDS_PER_SM) * u64::from(descriptor.sm_count) + 1;
        let bytes = counters * u64::from(CLAIM_STRIDE);
        all.push(descriptor.claims..descriptor.claims + bytes);
    }
    for &slot in slots {
        let slot = u64::from(slot);
        let header = descriptor.headers + slot * header::BYTES as u64;
        all.push(header..header + header::BYTES as u64);
        let buffer = descriptor.records + (slot << descriptor.record_shift);
        all.push(buffer..buffer + buffer_bytes(descriptor.record_mask, descriptor.record_limit));
        if descriptor.flags & FLAG_LANES != 0 {
            let counts = descriptor.lane_counts + slot * LANE_COUNT_BYTES;
            all.push(counts..counts + LANE_COUNT_BYTES);
            let buffer = descriptor.lanes + (slot << descriptor.lane_shift);
            all.push(buffer..buffer + buffer_bytes(descriptor.lane_mask, descriptor.lane_limit));
        }
    }
    all
}

/// Bytes of a buffer that a lane may store to.
fn buffer_bytes(mask: u32, limit: u32) -> u64 {
    u64::from(limit.min(CURSOR_MAX).min(mask.saturating_add(1)))
}

proptest! {
    #[test]
    fn nothing_overlaps_and_nothing_leaves_the_memory(
        records in 0_u32..5000,
        lane_records in 0_u32..300,
        keep in prop_oneof![Just(Keep::First), Just(Keep::Last)],
        max_warps in 1_u32..2000,
        lanes: bool,
        claimed: bool,
        sm_count in 1_u32..200,
        // Around a multiple of 4 GiB, where the low half of an address wraps.
        before_wrap in 0_u64..1 << 20,
    ) {
        let options = options(records, lane_records, keep, max_warps);
        let layout = Layout::new(&options, lanes, claimed, sm_count).expect("legal options");
        let start = ((7 << 32) - before_wrap).next_multiple_of(ALIGNMENT);
        let base = layout.base(start);
        let descriptor = layout.descriptor(&options, base);

        prop_assert_eq!(descriptor.records % layout.buffer.stride(), 0);
        if let Some(buffer) = layout.lane_buffer {
            prop_assert_eq!(descriptor.lanes % buffer.stride(), 0);
        }
        // No buffer crosses a multiple of 4 GiB: only the low half of an address changes within it.
        prop_assert!(layout.buffer.stride() <= 1 << 32);

        let last = layout.slot_count - 1;
        let slots: std::collections::BTreeSet<u32> = [0, 1, last / 2, last.saturating_sub(1), last]
            .into_iter()
            .filter(|&slot| slot <= last)
            .collect();
        let mut all = stretches(&descriptor, &slots.into_iter().collect::<Vec<_>>());
        all.sort_by_key(|stretch| stretch.start);
        for pair in all.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start, "{:?} overlaps {:?}", pair[0], pair[1]);
        }
        prop_assert!(all[0].start >= start);
        let end = start + layout.bytes_to_allocate();
        prop_assert!(all.iter().all(|stretch| stretch.end <= end));
    }

    #[test]
    fn max_warps_warps_find_a_slot_on_whatever_sm_they_run(
        max_warps in 1_u32..2000,
        sm_count in 1_u32..150,
        seed in proptest::collection::vec(any::<u32>(), 2000),
        crowd in 1_u32..600,
    ) {
        let options = options(1, 1, Keep::First, max_warps);
        let layout = Layout::new(&options, false, true, sm_count).expect("legal options");
        let claims = layout.claims.expect("claimed slots");
        // As the device does it: a shard of the SM first, then the pool.
        let mut counters = vec![0_u64; claims.counters()];
        let pool = counters.len() - 1;
        let mut slots = std::collections::BTreeSet::new();
        for &random in &seed[..max_warps as usize] {
            let shard = random % crowd.min(SHARDS_PER_SM * sm_count);
            let mut claimed = u64::MAX;
            if claims.slots_per_shard != 0 {
                claimed = counters[shard as usize];
                counters[shard as usize] += 1;
            }
            let slot = if claimed < u64::from(claims.slots_per_shard) {
                u64::from(shard * claims.slots_per_shard) + claimed
            } else {
                let claimed = counters[pool];
                counters[pool] += 1;
                u64::from(claims.pool_start()) + claimed
            };
            prop_assert!(slot < u64::from(layout.slot_count), "a warp found no slot");
            prop_assert!(slots.insert(slot as u32), "slot {} was given twice", slot);
        }
        let in_use: Vec<u32> =
            claims.in_use(&counters, layout.slot_count).into_iter().flatten().collect();
        prop_assert_eq!(in_use, slots.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_buffer_keeps_what_was_asked_for_and_wastes_less_than_half(
        units in 1_u32..100_000,
    ) {
        let first = LaneBuffer::new(units, UNIT_BYTES, Keep::First);
        prop_assert_eq!(first.capacity(), units);
        prop_assert!(first.stride() <= 2 * 16 * u64::from(units + 1));
        let last = LaneBuffer::new(units, UNIT_BYTES, Keep::Last);
        prop_assert!(last.capacity() >= units && last.capacity() < 2 * units);
    }
}
