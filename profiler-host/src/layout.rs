//! How the arrays of a session lie in memory: arithmetic alone.

use std::ops::Range;

use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_vec;
use profiler_wire::descriptor::{
    CLAIM_STRIDE, Descriptor, FLAG_CLAIMED, FLAG_LANES, LANE_STEP, Lost, SHARDS_PER_SM,
};
use profiler_wire::record::UNIT_BYTES;
use profiler_wire::{WIRE_VERSION, header};

use crate::error::Error;
use crate::options::{Keep, Options, WARPS_MAX, max_warps_refused};

/// What sessions take when the number of warps was not given.
const DEFAULT_BYTES: u64 = 256 << 20;
/// The most warps that sessions expect when the number was not given.
const DEFAULT_WARPS: u64 = 16_384;
/// Alignment of every array.
const ALIGNMENT: u64 = 256;
/// Bytes of the counts of a slot's lanes.
pub(crate) const LANE_COUNT_BYTES: u64 = 32 * 8;

/// A buffer: how many units it keeps and how far apart two buffers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneBuffer {
    pub(crate) mask: u32,
    pub(crate) limit: u32,
    /// Binary logarithm of the bytes between two buffers.
    pub(crate) shift: u32,
    /// Bytes from one unit of a lane to its next.
    pub(crate) step: u32,
}

impl LaneBuffer {
    /// A buffer in which a lane has `units` units, `step` bytes from one unit to the next; see "Slots"
    /// in [`profiler_wire::descriptor`].
    pub(crate) fn new(units: u32, step: u32, keep: Keep) -> Self {
        let (mask, limit, stride) = match keep {
            Keep::Last if units > 0 => {
                let ring = units.next_power_of_two();
                (ring * step - 1, u32::MAX, ring)
            }
            // A ring of no units does not exist; counting without keeping is the same for both.
            _ => (u32::MAX, units * step, units.next_power_of_two()),
        };
        Self { mask, limit, shift: (stride * step).trailing_zeros(), step }
    }

    /// Units of a lane that are kept.
    pub(crate) fn capacity(self) -> u32 {
        let bytes = if self.mask == u32::MAX { self.limit } else { self.mask + 1 };
        bytes / self.step
    }

    /// The same buffer with as many bytes as it has between it and the next.
    fn guarded(self) -> Self {
        Self { shift: self.shift + 1, ..self }
    }

    /// Bytes between two buffers.
    pub(crate) fn stride(self) -> u64 {
        1 << self.shift
    }
}

/// How claimed slots are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) sm_count: u32,
    pub(crate) slots_per_shard: u32,
}

impl Claims {
    /// How many shards there are.
    fn shards(self) -> u32 {
        SHARDS_PER_SM * self.sm_count
    }

    /// The counters: one for each shard, and the pool's.
    pub(crate) fn counters(self) -> usize {
        self.shards() as usize + 1
    }

    /// The first slot of the common pool.
    pub(crate) fn pool_start(self) -> u32 {
        self.shards() * self.slots_per_shard
    }

    /// The slots that were claimed, by the values of the counters (the pool's last).
    pub(crate) fn in_use(self, counters: &[u64], slot_count: u32) -> Vec<Range<u32>> {
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for (index, &claimed) in counters.iter().enumerate() {
            let is_pool = index as u32 == self.shards();
            let (start, buffer) = if is_pool {
                (self.pool_start(), slot_count - self.pool_start())
            } else {
                (index as u32 * self.slots_per_shard, self.slots_per_shard)
            };
            let end = start + u32::try_from(claimed).unwrap_or(u32::MAX).min(buffer);
            match ranges.last_mut() {
                _ if start == end => {}
                Some(last) if last.end == start => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        ranges
    }
}

/// Where the arrays of a session lie in one stretch of memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    pub(crate) buffer: LaneBuffer,
    /// The buffer that the other lanes share, if they have one.
    pub(crate) lane_buffer: Option<LaneBuffer>,
    pub(crate) slot_count: u32,
    /// `None` for linear slots.
    pub(crate) claims: Option<Claims>,
    /// Byte offsets from the aligned base.
    pub(crate) records: u64,
    pub(crate) lanes: u64,
    pub(crate) headers: u64,
    pub(crate) lane_counts: u64,
    pub(crate) counters: u64,
    pub(crate) lost: u64,
    /// Bytes from the aligned base to the end.
    pub(crate) bytes: u64,
    /// Alignment of the base.
    pub(crate) alignment: u64,
}

impl Layout {
    /// Lays a session out. `lanes` says whether lanes other than lane 0 get buffers; `claimed` how
    /// slots are found; `sm_count` is the device's.
    pub(crate) fn new(
        options: &Options,
        lanes: bool,
        claimed: bool,
        sm_count: u32,
    ) -> Result<Self, Error> {
        options.check()?;
        let buffer = |units, step| {
            let buffer = LaneBuffer::new(units, step, options.keep);
            if options.guards { buffer.guarded() } else { buffer }
        };
        // Before the first array and after each.
        let guard = if options.guards { ALIGNMENT } else { 0 };
        let lane_buffer = lanes.then(|| buffer(options.records_per_lane, LANE_STEP));
        let buffer = buffer(options.records_per_warp, UNIT_BYTES);
        let slot_bytes = buffer.stride()
            + header::BYTES as u64
            + lane_buffer.map_or(0, |buffer| buffer.stride() + LANE_COUNT_BYTES);
        let warps = options.max_warps.unwrap_or_else(|| {
            let fitting = (DEFAULT_BYTES / slot_bytes).clamp(1, DEFAULT_WARPS);
            u32::try_from(fitting).unwrap_or(WARPS_MAX)
        });
        let (slot_count, claims) = if claimed {
            // Whatever SMs they run on, `warps` warps find a slot: each has a shard and the pool,
            // which together are `warps`. As many are shared out, so that warps that are spread
            // evenly never meet at the pool's counter.
            let sm_count = sm_count.max(1);
            let slots_per_shard = warps / (SHARDS_PER_SM * sm_count);
            let claims = Claims { sm_count, slots_per_shard };
            let slots = u64::from(claims.pool_start()) + u64::from(warps - slots_per_shard);
            let slots = u32::try_from(slots).map_err(|_| max_warps_refused(warps))?;
            (slots, Some(claims))
        } else {
            (warps, None)
        };
        let slots = u64::from(slot_count);
        let lane_stride = lane_buffer.map_or(0, LaneBuffer::stride);
        let mut end = guard;
        let mut place = |bytes: u64, alignment: u64| {
            let start = u64::next_multiple_of(end, alignment.max(ALIGNMENT));
            end = start + bytes + guard;
            start
        };
        let records = place(slots << buffer.shift, buffer.stride());
        let lanes = place(slots * lane_stride, lane_stride);
        let headers = place(slots * header::BYTES as u64, 1);
        let lane_counts =
            place(if lane_buffer.is_some() { slots * LANE_COUNT_BYTES } else { 0 }, 1);
        let counter_count = claims.map_or(0, |claims| claims.counters() as u64);
        let counters = place(counter_count * u64::from(CLAIM_STRIDE), 1);
        let lost = place(Lost::BYTES as u64, 1);
        Ok(Self {
            buffer,
            lane_buffer,
            slot_count,
            claims,
            records,
            lanes,
            headers,
            lane_counts,
            counters,
            lost,
            bytes: end,
            alignment: buffer.stride().max(lane_stride).max(ALIGNMENT),
        })
    }

    /// Bytes to ask for from an allocator that aligns to [`ALIGNMENT`] only.
    pub(crate) fn bytes_to_allocate(&self) -> u64 {
        self.bytes + self.alignment - ALIGNMENT
    }

    /// The aligned base within memory that begins at `start`.
    pub(crate) fn base(&self, start: u64) -> u64 {
        start.next_multiple_of(self.alignment)
    }

    /// The descriptor of arrays at the aligned `base`.
    pub(crate) fn descriptor(&self, options: &Options, base: u64) -> Descriptor {
        let mut descriptor = Descriptor {
            version: WIRE_VERSION,
            flags: 0,
            headers: base + self.headers,
            records: base + self.records,
            record_mask: self.buffer.mask,
            record_limit: self.buffer.limit,
            record_shift: self.buffer.shift,
            slot_count: self.slot_count,
            warp_mask: options.warp_mask,
            block_first: options.block_first,
            block_count: options.block_count,
            block_stride: options.block_stride,
            lost: base + self.lost,
            ..Descriptor::default()
        };
        if let Some(claims) = self.claims {
            descriptor.flags |= FLAG_CLAIMED;
            descriptor.sm_count = claims.sm_count;
            descriptor.slots_per_shard = claims.slots_per_shard;
            descriptor.claims = base + self.counters;
            descriptor.pool_start = claims.pool_start();
        }
        if let Some(buffer) = self.lane_buffer {
            descriptor.flags |= FLAG_LANES;
            descriptor.lanes = base + self.lanes;
            descriptor.lane_counts = base + self.lane_counts;
            descriptor.lane_mask = buffer.mask;
            descriptor.lane_limit = buffer.limit;
            descriptor.lane_shift = buffer.shift;
        }
        descriptor
    }

    /// So many zeros in this process, for what is read back; their pages are there once they are written.
    pub(crate) fn zeros<T: Zeroable>(&self, count: usize) -> Result<Vec<T>, Error> {
        try_zeroed_vec(count).map_err(|()| Error::OutOfMemory {
            bytes: (count as u64).saturating_mul(size_of::<T>() as u64),
            free: None,
            help: self.help(),
        })
    }

    /// Says, after "n bytes of memory are not to be had", what to lower when there is not enough memory.
    pub(crate) fn help(&self) -> String {
        let lanes = self.lane_buffer.map_or(0, LaneBuffer::stride);
        let mut help = format!(
            "lower max_warps ({} slots here) or records_per_warp ({} bytes a slot)",
            self.slot_count,
            self.buffer.stride()
        );
        if lanes > 0 {
            help += &format!(
                ", or records_per_lane ({lanes} bytes a slot; lane_buffers(false) leaves them out)"
            );
        }
        help
    }
}

#[cfg(test)]
mod tests {
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
                let layout =
                    Layout::new(&Options::default(), lanes, claimed, 132).expect("defaults");
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
            all.push(
                buffer..buffer + buffer_bytes(descriptor.record_mask, descriptor.record_limit),
            );
            if descriptor.flags & FLAG_LANES != 0 {
                let counts = descriptor.lane_counts + slot * LANE_COUNT_BYTES;
                all.push(counts..counts + LANE_COUNT_BYTES);
                let buffer = descriptor.lanes + (slot << descriptor.lane_shift);
                all.push(
                    buffer..buffer + buffer_bytes(descriptor.lane_mask, descriptor.lane_limit),
                );
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
}
