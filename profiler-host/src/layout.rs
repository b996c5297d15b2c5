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
                ", or records_per_lane ({lanes} bytes a slot; LaneBuffers::Never leaves them out)"
            );
        }
        help
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
