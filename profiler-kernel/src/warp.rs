//! Operations of a warp.
//!
//! # Safety of what takes a mask
//!
//! Bit i of a mask is lane i. The calling lane must be in the mask, and all lanes in it that have
//! not left the kernel must come to the same call with the same mask (PTX ISA, "shfl.sync",
//! "vote.sync", "bar.warp.sync").

use crate::platform;
use crate::thread::thread_rank;

/// The mask of all lanes.
pub const ALL_LANES: u32 = u32::MAX;

/// The lane in its warp (`%laneid`).
#[must_use]
#[inline(always)]
pub fn lane_id() -> u32 {
    platform::lane_id()
}

/// The warp in its block: the linear thread index divided by 32.
#[must_use]
#[inline(always)]
pub fn warp_id() -> u32 {
    thread_rank() / 32
}

/// The lanes that execute this call together (`activemask`). Only a snapshot on a GPU: lanes that
/// are active are not thereby synchronised.
#[must_use]
#[inline(always)]
#[track_caller]
pub fn active_mask() -> u32 {
    platform::active_mask()
}

/// Waits for the lanes in `mask` and makes their memory accesses visible to each other
/// (`bar.warp.sync`).
///
/// # Safety
///
/// See [the module](self).
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller's promise.
    unsafe { platform::sync_warp(mask) };
}

/// A value of 32 bits, as shuffles carry it.
pub trait Word: Copy {
    /// Its bits.
    #[must_use]
    fn to_bits(self) -> u32;
    /// The value of these bits.
    #[must_use]
    fn from_bits(bits: u32) -> Self;
}

impl Word for u32 {
    #[inline(always)]
    fn to_bits(self) -> u32 {
        self
    }
    #[inline(always)]
    fn from_bits(bits: u32) -> Self {
        bits
    }
}

impl Word for i32 {
    #[inline(always)]
    fn to_bits(self) -> u32 {
        self.cast_unsigned()
    }
    #[inline(always)]
    fn from_bits(bits: u32) -> Self {
        bits.cast_signed()
    }
}

impl Word for f32 {
    #[inline(always)]
    fn to_bits(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn from_bits(bits: u32) -> Self {
        Self::from_bits(bits)
    }
}

/// The value of lane `lane` modulo 32 (`shfl.sync.idx`).
///
/// # Safety
///
/// See [the module](self); lane `lane` modulo 32 is in the mask, else the result is unspecified.
#[must_use]
#[inline(always)]
pub unsafe fn shuffle<T: Word>(mask: u32, value: T, lane: u32) -> T {
    // SAFETY: the caller's promise.
    T::from_bits(unsafe { platform::shuffle(mask, value.to_bits(), lane) })
}

/// The value of the lane whose number differs by exclusive or with `flip`, which is less than 32
/// (`shfl.sync.bfly`).
///
/// # Safety
///
/// See [the module](self); the lane is in the mask, else the result is unspecified.
#[must_use]
#[inline(always)]
pub unsafe fn shuffle_xor<T: Word>(mask: u32, value: T, flip: u32) -> T {
    // SAFETY: the caller's promise.
    T::from_bits(unsafe { platform::shuffle_xor(mask, value.to_bits(), flip) })
}

/// The value of the lane `delta` above, or the lane's own where there is none; `delta` is less than
/// 32 (`shfl.sync.down`).
///
/// # Safety
///
/// See [the module](self); the lane is in the mask, else the result is unspecified.
#[must_use]
#[inline(always)]
pub unsafe fn shuffle_down<T: Word>(mask: u32, value: T, delta: u32) -> T {
    // SAFETY: the caller's promise.
    T::from_bits(unsafe { platform::shuffle_down(mask, value.to_bits(), delta) })
}

/// The lanes of `mask` for which `predicate` holds (`vote.sync.ballot`).
///
/// # Safety
///
/// See [the module](self).
#[must_use]
#[inline(always)]
pub unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { platform::ballot(mask, predicate) }
}

/// Whether `predicate` holds for a lane of `mask` (`vote.sync.any`).
///
/// # Safety
///
/// See [the module](self).
#[must_use]
#[inline(always)]
pub unsafe fn any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { ballot(mask, predicate) != 0 }
}

/// Whether `predicate` holds for all lanes of `mask` (`vote.sync.all`).
///
/// # Safety
///
/// See [the module](self).
#[must_use]
#[inline(always)]
pub unsafe fn all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { ballot(mask, !predicate) == 0 }
}

/// Combines the values of all 32 lanes by a butterfly of shuffles; every lane gets the result.
///
/// `combine` must be associative and commutative; with floating-point addition, all lanes still get
/// the same bits, since both partners of each step add the same two values.
///
/// # Safety
///
/// All 32 lanes come to the same call.
#[must_use]
#[inline(always)]
pub unsafe fn reduce<T: Word>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut value = value;
    let mut flip = 16;
    while flip > 0 {
        // SAFETY: the caller promises that all lanes are here; `flip` is less than 32.
        value = combine(value, unsafe { shuffle_xor(ALL_LANES, value, flip) });
        flip /= 2;
    }
    value
}
