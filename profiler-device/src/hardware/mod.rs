//! Clocks, special registers, election, and the few memory operations of the record path. Each is a few lines of
//! PTX, written once: on the GPU they are `asm!`, and in the twin the emulator runs them.
//!
//! These calls are public: a kernel may use them, too. Sections refer to the PTX ISA.

#[cfg(target_arch = "nvptx64")]
#[path = "gpu.rs"]
mod side;
#[cfg(not(target_arch = "nvptx64"))]
#[path = "twin.rs"]
mod side;

mod ptx;

use core::panic::Location;

use profiler_wire::header::Dim3;

pub(crate) use ptx::{hold, hold_16, hold_64};
#[cfg(feature = "enabled")]
pub(crate) use side::{is_unwinding, leave_with_warp, number_of};

/// The SM's cycle counter, `%clock64` ("Special Registers: %clock64"). Not synchronised between
/// SMs.
#[inline(always)]
#[must_use]
pub fn clock64() -> u64 {
    ptx::clock64()
}

/// Nanoseconds on one axis for all SMs, `%globaltimer` ("Special Registers: %globaltimer"). It
/// moves in steps: 32 ns on an H200.
#[inline(always)]
#[must_use]
pub fn globaltimer() -> u64 {
    ptx::globaltimer()
}

/// The thread's lane in its warp, 0 to 31, `%laneid` ("Special Registers: %laneid").
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    ptx::lane_id()
}

/// The warp's index in its block: the thread's linear index divided by 32. Not `%warpid`, which may
/// change while a thread runs ("Special Registers: %warpid").
#[inline(always)]
#[must_use]
pub fn warp_index() -> u32 {
    let [x, y, z] = thread_index();
    let [width, height, _] = block_dim();
    ((z * height + y) * width + x) / 32
}

/// The SM that runs the thread, `%smid` ("Special Registers: %smid").
#[inline(always)]
#[must_use]
pub fn sm_id() -> u32 {
    ptx::sm_id()
}

/// The warp's place on its SM, `%warpid` ("Special Registers: %warpid"), below the number of warps that an SM
/// can hold. It is not the warp's number in its block, except on the emulator.
#[inline(always)]
#[must_use]
pub fn warp_id() -> u32 {
    ptx::warp_id()
}

/// The number of the launch, `%gridid` ("Special Registers: %gridid"). Repeats under CUDA graph
/// replay.
#[inline(always)]
#[must_use]
pub fn grid_id() -> u64 {
    ptx::grid_id()
}

/// `%tid` ("Special Registers: %tid"), x first.
#[inline(always)]
#[must_use]
pub fn thread_index() -> Dim3 {
    [ptx::tid_x(), ptx::tid_y(), ptx::tid_z()]
}

/// `%ntid` ("Special Registers: %ntid"), x first.
#[inline(always)]
#[must_use]
pub fn block_dim() -> Dim3 {
    [ptx::ntid_x(), ptx::ntid_y(), ptx::ntid_z()]
}

/// `%ctaid` ("Special Registers: %ctaid"), x first.
#[inline(always)]
#[must_use]
pub fn block_index() -> Dim3 {
    [ptx::ctaid_x(), ptx::ctaid_y(), ptx::ctaid_z()]
}

/// `%nctaid` ("Special Registers: %nctaid"), x first.
#[inline(always)]
#[must_use]
pub fn grid_dim() -> Dim3 {
    [ptx::nctaid_x(), ptx::nctaid_y(), ptx::nctaid_z()]
}

/// Which lanes of the warp execute this call together; bit i for lane i
/// ("Parallel Synchronization and Communication Instructions: activemask").
#[inline(always)]
#[must_use]
#[track_caller]
pub fn active_mask() -> u32 {
    ptx::active_mask(Location::caller())
}

/// Whether this thread is the one that its warp elects here: the lowest active lane. Exactly one of
/// the threads that execute the call together is. (`elect.sync` of sm_90 needs a mask that the
/// caller knows; this needs none and is right under any divergence.)
#[inline(always)]
#[must_use]
#[track_caller]
pub fn elect() -> bool {
    active_mask() & ptx::lane_mask_lt() == 0
}

/// An offset of zero that the compilers do not know to be one: see [`ptx::offset_after`].
#[inline(always)]
pub(crate) fn zero_after(address: usize) -> usize {
    ptx::offset_after(address as u64, 0) as usize
}

/// Access to a launch descriptor. What reads one is generic: rustc inlines plain functions earlier, and makes
/// other PTX of them.
#[cfg(feature = "enabled")]
pub(crate) trait Descriptor: Copy {
    /// The 4-byte field at a byte offset of [`profiler_wire::descriptor::offset`].
    fn u32<const OFFSET: u32>(self) -> u32;
    /// The 8-byte field at a byte offset.
    fn u64<const OFFSET: u32>(self) -> u64;
}

/// The descriptor in the module's constant memory.
#[cfg(feature = "enabled")]
#[derive(Clone, Copy)]
pub(crate) struct Constant;

#[cfg(feature = "enabled")]
impl Descriptor for Constant {
    #[inline(always)]
    fn u32<const OFFSET: u32>(self) -> u32 {
        ptx::constant_u32::<OFFSET>()
    }

    #[inline(always)]
    fn u64<const OFFSET: u32>(self) -> u64 {
        ptx::constant_u64::<OFFSET>()
    }
}

/// The rank of the block in its cluster, if the target has clusters.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) fn cluster_rank() -> Option<u32> {
    #[cfg(profiler_cluster)]
    return Some(ptx::cluster_ctarank());
    #[cfg(not(profiler_cluster))]
    None
}

#[cfg(feature = "enabled")]
pub(crate) use ptx::{
    atomic_add_u64, broadcast, clock64_after, converge, globaltimer_after, order_before_host,
    publish_unit, publish_unit_if, publish_word, store_unit, store_unit_if, store_with_value_if,
    store_word, unit_address, unit_low,
};
#[cfg(all(feature = "enabled", any(feature = "calibration", not(target_arch = "nvptx64"))))]
pub(crate) use {
    ptx::{pause, work},
    side::kernel,
};
