//! Lane 0 writes the header of its warp's slot, with readings of both clocks.

use profiler_wire::WIRE_VERSION;
use profiler_wire::descriptor::offset;
use profiler_wire::header::{self, SlotHeader};
use profiler_wire::site::Buffer;

use crate::config::Config;
use crate::hardware::{self, Descriptor};
use crate::site::SiteId;

/// The address of a slot's header.
#[inline(always)]
pub(crate) fn header_address(descriptor: impl Descriptor, slot: u32) -> u64 {
    descriptor.u64::<{ offset::HEADERS }>() + u64::from(slot) * header::BYTES as u64
}

/// Cycles within which the three reads of an anchor must lie.
const ANCHOR_CYCLES: u64 = 64;
/// The number of tries for an anchor.
const ANCHOR_TRIES: u32 = 4;

/// Reads both clocks at one moment: `(%clock64, %globaltimer)`.
///
/// A warp may lose hundreds of cycles between two reads, to other warps or to an instruction that
/// is not in the cache yet, as at the start of a kernel. So the cycles are read before and after the
/// timer, and the three reads are repeated if they lie too far apart.
#[inline(always)]
pub(crate) fn anchor() -> (u64, u64) {
    let mut tries = 0;
    loop {
        let before = hardware::clock64();
        let globaltimer = hardware::globaltimer();
        let span = hardware::clock64() - before;
        tries += 1;
        if span < ANCHOR_CYCLES || tries == ANCHOR_TRIES {
            return (before + span / 2, globaltimer);
        }
    }
}

/// Writes the entry half of a header; the clocks are read last, so that what entry costs does not
/// lie inside the kernel's time.
///
/// # Safety
///
/// `address` must be that of a header that only this thread writes.
#[inline(always)]
pub(crate) unsafe fn write_entry(address: u64, kernel: SiteId, config: Config, warp: u32) {
    let mut entry = SlotHeader {
        clock: 0,
        globaltimer: 0,
        version: WIRE_VERSION,
        kernel: kernel.number,
        record_clock: config.clock,
        grid_id: hardware::grid_id(),
        block: hardware::block_index(),
        grid_dim: hardware::grid_dim(),
        block_dim: hardware::block_dim(),
        warp,
        sm: hardware::sm_id(),
        cluster_rank: hardware::cluster_rank(),
        track: config.track,
        strategy: u32::from(config.strategy.code()),
    };
    (entry.clock, entry.globaltimer) = anchor();
    // SAFETY: the caller's.
    unsafe { write_units(config.buffer(), address, entry.pack()) };
}

/// Writes words by 16-byte stores.
///
/// # Safety
///
/// `address` must be that of `N` words, aligned to 16, that only this thread writes.
#[inline(always)]
pub(crate) unsafe fn write_units<const N: usize>(buffer: Buffer, address: u64, words: [u64; N]) {
    const { assert!(N.is_multiple_of(2), "units have two words") };
    let mut index = 0;
    while index < N {
        let (unit, first, second) = (address + 8 * index as u64, words[index], words[index + 1]);
        // SAFETY: inside the N words.
        unsafe {
            match buffer {
                Buffer::Global => hardware::store_unit(unit, first, second),
                Buffer::Host => hardware::publish_unit(unit, first, second),
            }
        };
        index += 2;
    }
}
