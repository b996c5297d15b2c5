//! The intrinsics on the CPU: what the emulator answers.
//!
//! # Safety
//!
//! Callers see to what the function of the same name asks for on the PTX side.

#[cfg(feature = "enabled")]
use std::panic::Location;
#[cfg(feature = "enabled")]
use std::sync::atomic::{AtomicU64, Ordering};

use profiler_emulator as emulator;

pub(super) use emulator::{
    block_dim, block_index, clock64, globaltimer, grid_dim, grid_id, lane_id, sm_id, thread_index,
};

#[inline(always)]
pub(super) fn warp_id() -> u32 {
    super::warp_index()
}

#[inline(always)]
pub(super) fn lane_mask_lt() -> u32 {
    (1 << lane_id()) - 1
}

#[inline(always)]
#[track_caller]
pub(super) fn active_mask() -> u32 {
    emulator::active_mask()
}

#[cfg(feature = "enabled")]
pub(crate) fn clock64_after(_value: u32) -> u64 {
    emulator::clock64()
}

#[cfg(feature = "enabled")]
pub(crate) fn globaltimer_after(_value: u32) -> u64 {
    emulator::globaltimer()
}

#[cfg(feature = "enabled")]
pub(crate) fn cluster_rank() -> Option<u32> {
    None
}

#[cfg(feature = "enabled")]
pub(crate) fn broadcast(mask: u32, value: u32) -> u32 {
    emulator::warp_exchange(mask, u64::from(value))[0] as u32
}

#[cfg(feature = "enabled")]
pub(crate) fn converge() {}

#[cfg(feature = "enabled")]
pub(super) fn constant_u32<const OFFSET: u32>() -> u32 {
    emulator::constant_u32(OFFSET as usize)
}

#[cfg(feature = "enabled")]
pub(super) fn constant_u64<const OFFSET: u32>() -> u64 {
    emulator::constant_u64(OFFSET as usize)
}

/// See the PTX side.
#[cfg(feature = "enabled")]
pub(crate) fn hold(value: u32) -> u32 {
    value
}

/// See the PTX side.
#[cfg(feature = "enabled")]
pub(crate) unsafe fn store_unit_if(
    condition: bool,
    address: u64,
    data: u64,
    tag: u32,
    ticks: u64,
) -> u32 {
    let stamp = profiler_wire::record::stamp(tag, ticks);
    if condition {
        // SAFETY: the caller's.
        unsafe { store_unit(address, [data, stamp]) }
    }
    (stamp >> 32) as u32
}

/// See the PTX side.
#[cfg(feature = "enabled")]
pub(crate) fn unit_low(room: u32, cursor: u32, mask: u32) -> u32 {
    room | profiler_wire::descriptor::room_byte(cursor, mask)
}

/// See the PTX side.
#[cfg(feature = "enabled")]
pub(crate) fn unit_address(room: u64, low: u32, _kept: u32) -> u64 {
    room & !u64::from(u32::MAX) | u64::from(low)
}

/// See the PTX side. Another thread may watch: the stamp is stored last, so that who sees it sees the
/// data that belong to it.
#[cfg(feature = "enabled")]
pub(crate) unsafe fn store_unit(address: u64, [data, stamp]: [u64; 2]) {
    // SAFETY: the caller's: 16 bytes, aligned, that no other thread writes.
    unsafe {
        store_word(address, data);
        store_word(address + 8, stamp);
    }
}

/// See the PTX side.
#[cfg(feature = "enabled")]
pub(crate) unsafe fn store_word(address: u64, word: u64) {
    // SAFETY: the caller's: 8 bytes, aligned, that no other thread writes, and that are only read
    // as words of this kind while a kernel runs.
    let place = unsafe { AtomicU64::from_ptr(address as *mut u64) };
    place.store(word, Ordering::Release);
}

#[cfg(feature = "enabled")]
pub(crate) use {
    store_unit as publish_unit, store_unit_if as publish_unit_if, store_word as publish_word,
};

/// See the PTX side. Stores are in order here.
#[cfg(feature = "enabled")]
pub(crate) fn order_before_host() {}

/// A kernel that fails on the GPU ends where it is; its twin unwinds, and must record nothing more.
#[cfg(feature = "enabled")]
pub(crate) fn is_unwinding() -> bool {
    std::thread::panicking()
}

/// See the PTX side.
#[cfg(feature = "enabled")]
pub(crate) unsafe fn atomic_add_u64(address: u64, value: u64) -> u64 {
    // SAFETY: the caller's: a counter of 8 bytes, aligned, only changed by atomics.
    let counter = unsafe { AtomicU64::from_ptr(address as *mut u64) };
    counter.fetch_add(value, Ordering::Relaxed)
}

/// What lanes ask at a region's end: who is there, and then, where it has a value, whose is the same.
#[cfg(feature = "enabled")]
const END: u64 = 0;
#[cfg(feature = "enabled")]
const VALUE: u64 = 1;

/// Where a region begins: its site tells it from others that a macro made of one place in the source.
#[cfg(feature = "enabled")]
#[derive(Clone, Copy)]
pub(crate) struct Place {
    location: &'static Location<'static>,
    site: u32,
}

#[cfg(feature = "enabled")]
impl Place {
    #[track_caller]
    pub(crate) fn of(site: u32) -> Self {
        Self { location: Location::caller(), site }
    }

    pub(crate) fn active_mask(self) -> u32 {
        emulator::active_mask_at_begin(self.location, self.site.into())
    }

    /// Which lanes ask a question together at the region's end, which has no place in the source.
    fn active_mask_at_end(self, question: u64) -> u32 {
        emulator::active_mask_at_end(self.location, self.site.into(), question)
    }
}

/// See the PTX side.
#[cfg(feature = "enabled")]
pub(crate) fn ending_together(began: u32, present: u32, begin: Place) -> u32 {
    emulator::ballot(begin.active_mask_at_end(END), began == present)
}

/// See the PTX side.
#[cfg(feature = "enabled")]
pub(crate) fn all_together(ending: u32, began: u32, present: u32) -> (bool, u32) {
    match (began == present, ending == present) {
        (true, true) => (true, present),
        (true, false) => (false, 0),
        (false, _) => (false, present),
    }
}

/// See the PTX side.
#[cfg(feature = "enabled")]
pub(crate) fn count_if(condition: bool, count: u32) -> u32 {
    count.wrapping_add(u32::from(condition))
}

/// See the PTX side.
#[cfg(feature = "enabled")]
pub(crate) fn are_alike(value: u64, present: u32, begin: Place) -> bool {
    let active = begin.active_mask_at_end(VALUE);
    emulator::match_all(active, value) && active == present
}

/// See the PTX side.
#[cfg(feature = "enabled")]
pub(crate) fn opaque(value: u32) -> u32 {
    value
}

/// See the PTX side.
#[cfg(feature = "enabled")]
pub(crate) unsafe fn store_range_if(
    condition: bool,
    shared: bool,
    address: u64,
    data: u64,
    tag: u32,
    ticks: u64,
) -> u32 {
    let tag = if shared { tag + profiler_wire::record::SHARES } else { tag };
    // SAFETY: the caller's.
    unsafe { store_unit_if(condition, address, data, tag, ticks) }
}
