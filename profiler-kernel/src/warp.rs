//! Operations of a warp.
//!
//! # Safety of what takes a mask
//!
//! Bit i of a mask is lane i. The calling lane must be in the mask, and all lanes in it that have
//! not left the kernel must come to the same call with the same mask (PTX ISA, "shfl.sync",
//! "vote.sync", "match.sync", "bar.warp.sync").

use crate::platform;
use crate::thread::thread_rank;

/// The mask of all lanes.
pub const ALL_LANES: u32 = u32::MAX;

forward! {
    /// The lane in its warp (`%laneid`).
    #[must_use]
    fn lane_id() -> u32 = platform::lane_id;
}

/// The warp in its block: the linear thread index divided by 32.
#[must_use]
#[inline(always)]
pub fn warp_id() -> u32 {
    thread_rank() / 32
}

forward! {
    /// The lanes that execute this call together (`activemask`). Only a snapshot on a GPU: lanes that
    /// are active are not thereby synchronised.
    #[must_use]
    #[track_caller]
    fn active_mask() -> u32 = platform::active_mask;

    /// Waits for the lanes in `mask` and makes their memory accesses visible to each other
    /// (`bar.warp.sync`).
    ///
    /// # Safety
    ///
    /// See [the module](self).
    [unsafe] fn sync_warp(mask: u32) = platform::sync_warp;
}

mod words {
    /// A value as words of 32 bits, which is what the hardware hands over.
    pub trait Words: Copy {
        /// The value of which each word is `hand_over` of this one's; the lower word first.
        fn map_words(self, hand_over: impl FnMut(u32) -> u32) -> Self;
    }
}

/// A value that shuffles and matches take: `u32`, `i32`, `f32`, or in two steps `u64`, `i64`, `f64`.
pub trait Word: words::Words {}
impl<T: words::Words> Word for T {}

impl words::Words for u32 {
    #[inline(always)]
    fn map_words(self, mut hand_over: impl FnMut(u32) -> u32) -> Self {
        hand_over(self)
    }
}

impl words::Words for u64 {
    #[inline(always)]
    fn map_words(self, mut hand_over: impl FnMut(u32) -> u32) -> Self {
        let (low, high) = (hand_over(self as u32), hand_over((self >> 32) as u32));
        u64::from(low) | u64::from(high) << 32
    }
}

macro_rules! words {
    ($($type:ty: $bits:ty;)*) => {$(
        impl words::Words for $type {
            #[inline(always)]
            fn map_words(self, hand_over: impl FnMut(u32) -> u32) -> Self {
                let bits = <$bits>::from_le_bytes(self.to_le_bytes());
                Self::from_le_bytes(bits.map_words(hand_over).to_le_bytes())
            }
        }
    )*};
}

words! {
    i32: u32;
    f32: u32;
    i64: u64;
    f64: u64;
}

/// Makes a shuffle of the whole warp and one within segments, whose operand c has this clamp (PTX ISA,
/// "shfl.sync").
macro_rules! shuffles {
    ($(
        $(#[doc = $doc:literal])+
        fn $name:ident, $of_segments:ident($other:ident) clamp $clamp:literal;
    )+) => {$(
        $(#[doc = $doc])+
        ///
        /// # Safety
        ///
        /// See [the module](self); the lane that the value comes from is in the mask, else the result is
        /// unspecified.
        #[must_use]
        #[inline(always)]
        pub unsafe fn $name<T: Word>(mask: u32, value: T, $other: u32) -> T {
            // SAFETY: the caller's promise.
            unsafe { $of_segments(mask, value, $other, 32) }
        }

        #[doc = concat!(
            "[`", stringify!($name), "`] within segments of `width` lanes, as if each were a warp of its own. The ",
            "width is a power of two, at most 32, and the same for all lanes of the mask.",
        )]
        ///
        /// # Safety
        ///
        #[doc = concat!("As for [`", stringify!($name), "`].")]
        #[must_use]
        #[inline(always)]
        pub unsafe fn $of_segments<T: Word>(mask: u32, value: T, $other: u32, width: u32) -> T {
            debug_assert!(width.is_power_of_two() && width <= 32, "a shuffle of width {width}");
            let segments = (32 - width) << 8 | $clamp;
            // SAFETY: the caller's promise.
            value.map_words(|word| unsafe { platform::$name(mask, word, $other, segments) })
        }
    )+};
}

shuffles! {
    /// The value of lane `lane` modulo 32, or modulo the width of segments (`shfl.sync.idx`).
    fn shuffle, shuffle_width(lane) clamp 31;

    /// The value of the lane `delta` below, or the lane's own if there is none; `delta` is less than 32
    /// (`shfl.sync.up`).
    fn shuffle_up, shuffle_up_width(delta) clamp 0;

    /// The value of the lane `delta` above, or the lane's own if there is none; `delta` is less than 32
    /// (`shfl.sync.down`).
    fn shuffle_down, shuffle_down_width(delta) clamp 31;

    /// The value of the lane whose number differs by exclusive or with `flip`, which is less than 32
    /// (`shfl.sync.bfly`). Of segments, a lane reads from its own and those below, and otherwise its own value.
    fn shuffle_xor, shuffle_xor_width(flip) clamp 31;
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
    unsafe { platform::ballot(mask, predicate.into()) }
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

/// The lanes of `mask` that give the same bits as this one (`match.any.sync`).
///
/// # Safety
///
/// See [the module](self).
#[must_use]
#[inline(always)]
pub unsafe fn match_any<T: Word>(mask: u32, value: T) -> u32 {
    let mut alike = mask;
    value.map_words(|word| {
        // SAFETY: the caller's promise.
        alike &= unsafe { platform::match_any(mask, word) };
        word
    });
    alike
}

/// Whether all lanes of `mask` give the same bits (`match.all.sync`).
///
/// # Safety
///
/// See [the module](self).
#[must_use]
#[inline(always)]
pub unsafe fn match_all<T: Word>(mask: u32, value: T) -> bool {
    let mut alike = mask;
    value.map_words(|word| {
        // SAFETY: the caller's promise.
        alike &= unsafe { platform::match_all(mask, word) };
        word
    });
    alike != 0
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
