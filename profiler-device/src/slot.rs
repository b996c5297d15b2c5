//! Which block, warp and lanes a thread is of, as a session counts them, and which slot its warp takes.

use profiler_wire::WIRE_VERSION;
use profiler_wire::descriptor::{CLAIM_STRIDE, SHARDS_PER_SM, offset};

use crate::buffer::NO_SLOT;
use crate::config::Config;
use crate::hardware::{self, Constant, Descriptor};

/// The number of this block among those that a session records, if there is a session and it does.
#[inline(always)]
pub(crate) fn ordinal_of_block(config: Config, descriptor: impl Descriptor) -> Option<u64> {
    if !config.enabled || descriptor.u32::<{ offset::VERSION }>() != WIRE_VERSION {
        return None;
    }
    let [x, y, z] = hardware::block_index();
    let [width, height, _] = hardware::grid_dim();
    let first = descriptor.u32::<{ offset::BLOCK_FIRST }>();
    let magic = descriptor.u64::<{ offset::BLOCK_MAGIC }>();
    // Blocks between those of a stride leave here after few instructions; a division would hold them up. Of a stride
    // of 1 the limit is the largest number.
    let near = z.wrapping_mul(height).wrapping_add(y).wrapping_mul(width).wrapping_add(x);
    let product = u64::from(near.wrapping_sub(first)).wrapping_mul(magic);
    if product > magic.wrapping_sub(1) {
        return None;
    }
    let block = times_plus(times_plus(u64::from(z), height, y), width, x);
    let mut ordinal = block.checked_sub(u64::from(first))?;
    if magic != 0 {
        // Grids beyond 2^32 blocks do not get strides.
        let near = u32::try_from(ordinal).ok()?;
        ordinal = ((u128::from(near) * u128::from(magic)) >> 64) as u64;
    }
    let count = descriptor.u32::<{ offset::BLOCK_COUNT }>();
    (count == u32::MAX || ordinal < u64::from(count)).then_some(ordinal)
}

/// `factor * width + index`, where the index takes one register, and not two with a zero in one: a kernel
/// keeps the indices of its block for long.
#[inline(always)]
fn times_plus(factor: u64, width: u32, index: u32) -> u64 {
    let product = factor * u64::from(width);
    let (low, carries) = (product as u32).overflowing_add(index);
    u64::from((product >> 32) as u32 + u32::from(carries)) << 32 | u64::from(low)
}

/// The lanes that a warp has: all 32, but for the last warp of a block whose size is no multiple of
/// 32. All are in the kernel when it is entered, so a collective may name them all, and then waits
/// for those that a divergent branch holds up. Which lanes are active would not do: where lane 0 is
/// late, the others would take their slot from no one.
#[inline(always)]
pub(crate) fn lanes_of(warp: u32) -> u32 {
    let [x, y, z] = hardware::block_dim();
    let threads = x * y * z - 32 * warp;
    if threads < 32 { (1 << threads) - 1 } else { u32::MAX }
}

/// The slot that follows from the grid: the warp's index among the selected ones, from the base.
#[inline(always)]
pub(crate) fn linear_slot(descriptor: impl Descriptor, ordinal: u64, warp: u32) -> u32 {
    let [x, y, z] = hardware::block_dim();
    let warps = (x * y * z).div_ceil(32);
    let present = u32::MAX >> (32 - warps);
    let mask = descriptor.u32::<{ offset::WARP_MASK }>() & present;
    let rank = (mask & ((1 << warp) - 1)).count_ones();
    let slot = u64::from(descriptor.u32::<{ offset::SLOT_BASE }>())
        + ordinal * u64::from(mask.count_ones())
        + u64::from(rank);
    if slot < u64::from(descriptor.u32::<{ offset::SLOT_COUNT }>()) { slot as u32 } else { NO_SLOT }
}

/// A slot of a shard of this SM, or of the common pool where the shard is used up.
///
/// # Safety
///
/// The descriptor must be a session's: its counters are live.
#[inline(always)]
pub(crate) unsafe fn claim_slot(descriptor: impl Descriptor) -> u32 {
    let claims = descriptor.u64::<{ offset::CLAIMS }>();
    let sm_count = descriptor.u32::<{ offset::SM_COUNT }>();
    let slots = descriptor.u32::<{ offset::SLOTS_PER_SHARD }>();
    let counter = |index: u32| claims + u64::from(index) * u64::from(CLAIM_STRIDE);
    if slots != 0 {
        // `%smid` may exceed the number of SMs ("Special Registers: %smid"); such SMs share
        // counters. `%warpid` may change while a warp runs ("%warpid"), which only deals it to
        // another counter.
        let sm = hardware::sm_id().min(sm_count - 1);
        let shard = sm * SHARDS_PER_SM + hardware::warp_id() % SHARDS_PER_SM;
        // SAFETY: SHARDS_PER_SM * sm_count + 1 counters of 8 bytes; 64 bits do not wrap.
        let claimed = unsafe { hardware::atomic_add_u64(counter(shard), 1) };
        if claimed < u64::from(slots) {
            return shard * slots + claimed as u32;
        }
    }
    // SAFETY: as above; the last counter is the pool's.
    let claimed = unsafe { hardware::atomic_add_u64(counter(SHARDS_PER_SM * sm_count), 1) };
    let slot = u64::from(descriptor.u32::<{ offset::POOL_START }>()) + claimed;
    if slot < u64::from(descriptor.u32::<{ offset::SLOT_COUNT }>()) { slot as u32 } else { NO_SLOT }
}

/// A slot that lane 0 claims as it does on entry, in all lanes of the warp: what a kernel can do to find out
/// how long claiming takes. `lane` and `warp` are those of the thread, which entry knows before it claims.
///
/// # Safety
///
/// The module's descriptor must be that of a session with claimed slots, and all lanes of the warp must come
/// here. The slot is claimed for good, and nothing is written to it.
#[doc(hidden)]
#[inline(always)]
#[must_use]
pub unsafe fn claim_slot_for_warp(lane: u32, warp: u32) -> u32 {
    // SAFETY: the caller's.
    let slot = if lane == 0 { unsafe { claim_slot(Constant) } } else { NO_SLOT };
    hardware::broadcast(lanes_of(warp), slot)
}
