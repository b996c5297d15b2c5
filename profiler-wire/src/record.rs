//! Records: what a warp appends to its slot.
//!
//! A record is one *unit* of two 64-bit words, 16 bytes, written by one 16-byte store:
//!
//! ```text
//! word 0   data, by kind
//! word 1   the stamp: 63..56 ticks[39:32] | 55..52 kind | 51..32 site (20 bits) | 31..0 ticks[31:0]
//! ```
//!
//! The stamp holds when the unit was written, and its halves are laid out for the GPU: the low one
//! is the low half of the clock as it was read, the high one is the clock's high half shifted up by
//! 24 bits, plus the *tag* (kind and site), one instruction.
//!
//! | kind | word 0 | meaning |
//! |---|---|---|
//! | `Range` | the begin's clock, all 64 bits | a whole region, written when it ends |
//! | `RangeTracked` | the begin's stamp, with the track in place of the tag | the same, on a track of its own |
//! | `RangeUnsigned`, `RangeSigned` | the begin's stamp, with 24 bits of a value in place of the tag | a whole region with a value, which is not negative, or in two's complement |
//! | `RangeWatched` | as of `RangeTracked` | a whole region whose begin is a `Begin` as well |
//! | `Open` | as of `RangeTracked` | a region that was never ended, written when its token was dropped |
//! | `Begin` | the track | a region begins, for a reader who watches |
//! | `Mark` | the track | an instant |
//! | `ValueUnsigned`, `ValueSigned`, `ValueFloat` | a `u64`, an `i64`, the bits of an `f64` | if the site is a region: the value of the region whose end is just before it (an *attachment*); otherwise an instant with a value |
//! | `Anchor` | `%globaltimer` | the time at which the cycle counter stood where the stamp says; its site is 0, and it counts as an attachment |
//!
//! A track is 0 for the warp's own track, otherwise the user's number plus one, the largest for all
//! numbers above [`TRACK_MAX`] (see [`track_field`]). A unit whose stamp has kind 0 was never written.
//!
//! If the host reads while the kernel runs ([`crate::site::Buffer::Host`]), a region is a `Begin` and
//! a `RangeWatched`, whichever macro made it. The begin of the latter is a reading of the clock after the
//! store of the former, so that the region does not contain what that store takes. The `Begin` of a
//! `RangeWatched` is the latest one on its track, of its site, that was written before its begin. The
//! stamp of a unit that has arrived is never 0. Units may arrive in another order than they were stored in.
//!
//! Ticks are the low 40 bits of a 64-bit clock. Within one lane's buffer the times at which units
//! were written never decrease, so the differences modulo 2^40 of successive stamps are exact as
//! long as none exceeds 2^40 ticks (555 s at 1.98 GHz). A `Range` says both its times whole, as long
//! as the region lasted less than that; where a track or a value takes its place, the begin has 40 bits,
//! which are exact as long as it came less than 2^40 ticks after the kernel's entry.

/// Bytes of one unit.
pub const UNIT_BYTES: u32 = 16;
/// Words of one unit.
pub const UNIT_WORDS: usize = 2;

/// Width of the ticks field.
pub const TICK_BITS: u32 = 40;
/// Width of the site field.
pub const SITE_BITS: u32 = 20;
/// Reduces a 64-bit clock to the ticks of a stamp.
pub const TICK_MASK: u64 = (1 << TICK_BITS) - 1;
/// The largest site id. Ids begin at 1; 0 means "no site".
pub const SITE_MAX: u32 = (1 << SITE_BITS) - 1;
/// The largest track number that a user may choose.
pub const TRACK_MAX: u32 = TRACK_BEYOND - 1;
/// The track number that stands for all those above [`TRACK_MAX`]: a record does not tell them apart.
pub const TRACK_BEYOND: u32 = TAG_MAX - 1;

/// Width of a tag: kind and site, or a track, or a value.
const TAG_BITS: u32 = 24;
const TAG_MAX: u32 = (1 << TAG_BITS) - 1;
const _: () = assert!(SITE_BITS + 4 == TAG_BITS && TICK_BITS + TAG_BITS == u64::BITS);

/// The kind of a unit; four bits of its stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecordKind {
    /// A region, begin and end in one unit.
    Range = 1,
    /// A region with a track.
    RangeTracked = 2,
    /// A region with a value of 24 bits that is not negative.
    RangeUnsigned = 3,
    /// A region with a value of 24 bits in two's complement.
    RangeSigned = 4,
    /// A region whose begin is a [`RecordKind::Begin`].
    RangeWatched = 5,
    /// A region that was never ended.
    Open = 6,
    /// A region begins that is recorded for a reader who watches.
    Begin = 7,
    /// An instant without a value.
    Mark = 8,
    /// An unsigned value.
    ValueUnsigned = 9,
    /// A signed value.
    ValueSigned = 10,
    /// A floating-point value.
    ValueFloat = 11,
    /// Both clocks at one moment.
    Anchor = 12,
}

impl RecordKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::Range,
        Self::RangeTracked,
        Self::RangeUnsigned,
        Self::RangeSigned,
        Self::RangeWatched,
        Self::Open,
        Self::Begin,
        Self::Mark,
        Self::ValueUnsigned,
        Self::ValueSigned,
        Self::ValueFloat,
        Self::Anchor,
    ];

    /// The kind with this number. 0, the kind of a unit that was never written, is none.
    #[must_use]
    #[inline]
    pub const fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            1..=12 => Some(Self::ALL[bits as usize - 1]),
            _ => None,
        }
    }

    /// Whether the unit is a region and its value.
    #[must_use]
    #[inline]
    pub const fn is_range_with_value(self) -> bool {
        matches!(self, Self::RangeUnsigned | Self::RangeSigned)
    }

    /// Whether word 0 of the unit is a value.
    #[must_use]
    pub const fn is_value(self) -> bool {
        matches!(self, Self::ValueUnsigned | Self::ValueSigned | Self::ValueFloat)
    }
}

/// Kind and site in one word, as a stamp holds them. `site` must not exceed [`SITE_MAX`].
#[must_use]
#[inline(always)]
pub const fn tag(kind: RecordKind, site: u32) -> u32 {
    ((kind as u32) << SITE_BITS) + site
}

/// Puts a tag, or a track field, and the low 40 bits of a clock together.
///
/// The sum is on purpose, as the summands have no bit in common: shift and sum are one instruction
/// on the GPU.
#[must_use]
#[inline(always)]
pub const fn stamp(tag: u32, ticks: u64) -> u64 {
    let high = ((ticks >> 32) as u32) << TAG_BITS;
    ((high.wrapping_add(tag) as u64) << 32) | (ticks & 0xffff_ffff)
}

/// A stamp, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The kind of the unit.
    pub kind: RecordKind,
    /// The site id.
    pub site: u32,
    /// The low 40 bits of the clock.
    pub ticks: u64,
}

impl Stamp {
    /// Takes a stamp apart; `None` if it was never written, or is damaged.
    #[must_use]
    #[inline]
    pub const fn unpack(word: u64) -> Option<Self> {
        let (tag, ticks) = unpack(word);
        match RecordKind::from_bits((tag >> SITE_BITS) as u8) {
            None => None,
            Some(kind) => Some(Self { kind, site: tag & SITE_MAX, ticks }),
        }
    }

    /// Puts the stamp together; the inverse of [`Stamp::unpack`].
    #[must_use]
    #[inline]
    pub const fn pack(self) -> u64 {
        stamp(tag(self.kind, self.site), self.ticks)
    }
}

/// The tag, or track field, and the ticks of a stamp: the inverse of [`stamp`].
#[must_use]
#[inline]
pub const fn unpack(word: u64) -> (u32, u64) {
    let high = (word >> 32) as u32;
    (high & TAG_MAX, (word & 0xffff_ffff) | (((high >> TAG_BITS) as u64) << 32))
}

/// The site and the ticks in the stamp of a [`RecordKind::Range`]; `None` in that of another unit.
#[must_use]
#[inline]
pub const fn unpack_range(word: u64) -> Option<(u32, u64)> {
    let (tag, ticks) = unpack(word);
    let site = tag.wrapping_sub(self::tag(RecordKind::Range, 0));
    if site > SITE_MAX { None } else { Some((site, ticks)) }
}

/// Word 0 of a region that began at `begin` (a 64-bit clock) on the track of `track_field`.
#[must_use]
#[inline(always)]
pub const fn range_data(track_field: u32, begin: u64) -> u64 {
    if track_field == 0 { begin } else { stamp(track_field, begin) }
}

/// The bits of a value that a record of a region has room for: an unsigned one stands in the field of a
/// [`RecordKind::RangeUnsigned`] as it is.
pub const FIELD_MASK: u32 = TAG_MAX;

/// The signed value in the field of a [`RecordKind::RangeSigned`].
#[must_use]
#[inline]
pub const fn signed_field(field: u32) -> i32 {
    (field << (u32::BITS - TAG_BITS)).cast_signed() >> (u32::BITS - TAG_BITS)
}

/// The kind of a region on the track of `track_field`.
#[must_use]
#[inline(always)]
pub const fn range_kind(track_field: u32) -> RecordKind {
    if track_field == 0 { RecordKind::Range } else { RecordKind::RangeTracked }
}

/// The track field of a record on the user's track `number`. Numbers above [`TRACK_MAX`] share the
/// field of [`TRACK_BEYOND`]: one that does not fit must not spill into its neighbours.
#[must_use]
#[inline(always)]
pub const fn track_field(number: u32) -> u32 {
    if number >= TRACK_BEYOND { TRACK_FIELD_MAX } else { number + 1 }
}

/// The user's track number in a track field, [`TRACK_BEYOND`] for any above [`TRACK_MAX`]; `None` for the
/// warp's own track.
#[must_use]
pub const fn track_number(field: u32) -> Option<u32> {
    if field == 0 { None } else { Some(field - 1) }
}

/// The largest track field, that of [`TRACK_BEYOND`].
pub const TRACK_FIELD_MAX: u32 = TAG_MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_come_apart_as_they_were_put_together() {
        assert_eq!((RecordKind::from_bits(0), RecordKind::from_bits(13)), (None, None));
        for kind in RecordKind::ALL {
            for site in [0, 1, 77, SITE_MAX] {
                for ticks in [0, 1, u64::from(u32::MAX), 1 << 32, TICK_MASK] {
                    let stamp = Stamp { kind, site, ticks };
                    assert_eq!(Stamp::unpack(stamp.pack()), Some(stamp));
                    let is_range = kind == RecordKind::Range;
                    assert_eq!(unpack_range(stamp.pack()), is_range.then_some((site, ticks)));
                }
            }
        }
        assert_eq!((Stamp::unpack(0), unpack_range(0)), (None, None));
        assert_eq!(unpack(stamp(TAG_MAX, u64::MAX)), (TAG_MAX, TICK_MASK));
    }

    #[test]
    fn values_come_out_of_their_field() {
        for value in [
            0,
            1,
            -1,
            127,
            -128,
            i32::from(i16::MAX),
            i32::from(i16::MIN),
            -(1 << 23),
            (1 << 23) - 1,
        ] {
            let (field, ticks) = unpack(stamp(value.cast_unsigned() & FIELD_MASK, TICK_MASK));
            assert_eq!((signed_field(field), ticks), (value, TICK_MASK));
        }
    }

    #[test]
    fn tracks_stay_in_their_field() {
        assert_eq!(track_number(track_field(0)), Some(0));
        assert_eq!(track_number(track_field(TRACK_MAX)), Some(TRACK_MAX));
        for beyond in [TRACK_MAX + 1, TRACK_BEYOND, TRACK_FIELD_MAX, u32::MAX] {
            assert_eq!(track_field(beyond), TRACK_FIELD_MAX);
        }
        assert_eq!(track_number(TRACK_FIELD_MAX), Some(TRACK_BEYOND));
        assert_eq!(track_number(0), None);
        assert_eq!(unpack(range_data(TRACK_FIELD_MAX, 7)), (TRACK_FIELD_MAX, 7));
        assert_eq!(range_data(0, u64::MAX), u64::MAX);
    }
}
