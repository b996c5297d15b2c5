//! Records: what a warp appends to its slot.
//!
//! A record is one *unit* of two 64-bit words, 16 bytes, written by one 16-byte store:
//!
//! ```text
//! word 0   63..61 kind | 60..40 site (21 bits) | 39..0 ticks
//! word 1   depends on the kind
//! ```
//!
//! | kind | word 1 | meaning |
//! |---|---|---|
//! | `Range` | a word of kind `End` whose site field holds the track | a whole region, written when it ends; word 0 has the begin ticks, word 1 the end ticks |
//! | `Begin` | the track | a region opened by a token |
//! | `End` | the track | that region's end |
//! | `Mark` | the track | an instant |
//! | `ValueUnsigned`, `ValueSigned`, `ValueFloat` | a `u64`, an `i64`, the bits of an `f64` | if the site is a region: the value of the `Range` or `End` just before it (an *attachment*); otherwise an instant with a value |
//!
//! A track is 0 for the warp's own track, otherwise the user's number plus one (see
//! [`track_field`]). A unit whose word 0 is zero was never written.
//!
//! Ticks are the low 40 bits of a 64-bit clock. Within one lane's room the ticks at which units
//! were *written* (the end ticks of a `Range`, the ticks of all others) never decrease, so the
//! differences modulo 2^40 of successive units are exact as long as none exceeds 2^40 ticks
//! (555 s at 1.98 GHz).

/// Bytes of one unit.
pub const UNIT_BYTES: u32 = 16;
/// Words of one unit.
pub const UNIT_WORDS: usize = 2;

/// Width of the ticks field.
pub const TICK_BITS: u32 = 40;
/// Width of the site field.
pub const SITE_BITS: u32 = 21;
/// Selects the ticks of a word, and reduces a 64-bit clock to them.
pub const TICK_MASK: u64 = (1 << TICK_BITS) - 1;
/// The largest site id. Ids begin at 1; 0 means "no site".
pub const SITE_MAX: u32 = (1 << SITE_BITS) - 1;
/// The largest track number that a user may choose.
pub const TRACK_MAX: u32 = SITE_MAX - 1;

const SITE_SHIFT: u32 = TICK_BITS;
const KIND_SHIFT: u32 = TICK_BITS + SITE_BITS;
const _: () = assert!(KIND_SHIFT + 3 == u64::BITS);

/// What a unit is; the top three bits of its word 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecordKind {
    /// A region, begin and end in one unit.
    Range = 1,
    /// A region opened by a token.
    Begin = 2,
    /// The end of a region opened by a token.
    End = 3,
    /// An instant without a value.
    Mark = 4,
    /// An unsigned value.
    ValueUnsigned = 5,
    /// A signed value.
    ValueSigned = 6,
    /// A floating-point value.
    ValueFloat = 7,
}

impl RecordKind {
    /// The kind with this number, unless it is 0, the kind of a unit that was never written.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            1 => Self::Range,
            2 => Self::Begin,
            3 => Self::End,
            4 => Self::Mark,
            5 => Self::ValueUnsigned,
            6 => Self::ValueSigned,
            7 => Self::ValueFloat,
            _ => return None,
        })
    }

    /// Whether word 1 of the unit is a value.
    #[must_use]
    pub const fn is_value(self) -> bool {
        matches!(self, Self::ValueUnsigned | Self::ValueSigned | Self::ValueFloat)
    }
}

/// A tagged word, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Word {
    /// What the unit is.
    pub kind: RecordKind,
    /// The site id, or the track field in word 1 of a `Range`.
    pub site: u32,
    /// The low 40 bits of the clock.
    pub ticks: u64,
}

impl Word {
    /// Takes a word apart; `None` if it was never written.
    #[must_use]
    #[inline]
    pub const fn unpack(word: u64) -> Option<Self> {
        match RecordKind::from_bits((word >> KIND_SHIFT) as u8) {
            None => None,
            Some(kind) => Some(Self {
                kind,
                site: (word >> SITE_SHIFT) as u32 & SITE_MAX,
                ticks: word & TICK_MASK,
            }),
        }
    }

    /// Puts the word together; the inverse of [`Word::unpack`].
    #[must_use]
    #[inline]
    pub const fn pack(self) -> u64 {
        pack(self.kind, self.site, self.ticks)
    }
}

/// Puts a word together. `site` must not exceed [`SITE_MAX`]; of `ticks` the low 40 bits are kept.
#[must_use]
#[inline(always)]
pub const fn pack(kind: RecordKind, site: u32, ticks: u64) -> u64 {
    ((kind as u64) << KIND_SHIFT) | ((site as u64) << SITE_SHIFT) | (ticks & TICK_MASK)
}

/// The track field of a record on the user's track `number`. Numbers above [`TRACK_MAX`] share the
/// last track: a field that does not fit must not spill into its neighbours.
#[must_use]
#[inline(always)]
pub const fn track_field(number: u32) -> u32 {
    if number >= TRACK_MAX { SITE_MAX } else { number + 1 }
}

/// The user's track number in a track field; `None` for the warp's own track.
#[must_use]
pub const fn track_number(field: u32) -> Option<u32> {
    if field == 0 { None } else { Some(field - 1) }
}
