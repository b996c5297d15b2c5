//! Values that records carry, that an end stamp waits for, or that are pinned to a region.

use profiler_wire::RecordKind;

use crate::hardware;

/// A value that a region or a mark can carry: any integer, `f32`, `f64` or `bool`.
#[diagnostic::on_unimplemented(
    message = "a region or mark cannot carry a `{Self}`",
    note = "values are integers of up to 64 bits, `f32`, `f64` and `bool`"
)]
pub trait Value: Copy {
    /// The kind of record that holds it.
    const KIND: RecordKind;
    /// Its 64 bits: integers widened, `f32` as `f64`.
    fn bits(self) -> u64;
    /// The kind of record that holds the value together with its region; `None` for types with more bits than
    /// [`FIELD_MASK`](profiler_wire::record::FIELD_MASK), whose values would be cut.
    const WITH_RANGE: Option<RecordKind> = None;
}

macro_rules! values {
    ($($type:ty => $kind:ident $(or $with_range:ident)?, |$value:ident| $bits:expr;)*) => {
        $(impl Value for $type {
            const KIND: RecordKind = RecordKind::$kind;
            $(const WITH_RANGE: Option<RecordKind> = Some(RecordKind::$with_range);)?
            #[inline(always)]
            fn bits(self) -> u64 {
                let $value = self;
                $bits
            }
        })*
    };
}

values! {
    u8 => ValueUnsigned or RangeUnsigned, |value| u64::from(value);
    u16 => ValueUnsigned or RangeUnsigned, |value| u64::from(value);
    u32 => ValueUnsigned, |value| u64::from(value);
    u64 => ValueUnsigned, |value| value;
    usize => ValueUnsigned, |value| value as u64;
    bool => ValueUnsigned or RangeUnsigned, |value| u64::from(value);
    i8 => ValueSigned or RangeSigned, |value| i64::from(value) as u64;
    i16 => ValueSigned or RangeSigned, |value| i64::from(value) as u64;
    i32 => ValueSigned, |value| i64::from(value) as u64;
    i64 => ValueSigned, |value| value as u64;
    isize => ValueSigned, |value| value as i64 as u64;
    f32 => ValueFloat, |value| f64::from(value).to_bits();
    f64 => ValueFloat, |value| value.to_bits();
}

/// The value of a region: nothing, `()`, or a [`Payload`].
pub trait Attachment: Copy {
    /// The kind of the record after the region's, if there is one.
    const KIND: Option<RecordKind>;
    /// That record's value.
    fn bits(self) -> u64;
    /// The kind of a record that holds the region and what it carries, if there is one.
    const WITH_RANGE: Option<RecordKind>;
}

impl Attachment for () {
    const KIND: Option<RecordKind> = None;
    const WITH_RANGE: Option<RecordKind> = None;
    #[inline(always)]
    fn bits(self) -> u64 {
        0
    }
}

/// The value that a region carries.
#[derive(Clone, Copy)]
pub struct Payload<V>(pub V);

impl<V: Value> Attachment for Payload<V> {
    const KIND: Option<RecordKind> = Some(V::KIND);
    const WITH_RANGE: Option<RecordKind> = V::WITH_RANGE;
    #[inline(always)]
    fn bits(self) -> u64 {
        self.0.bits()
    }
}

/// A value that an end stamp can wait for: its bits folded into two registers.
///
/// A stamp that depends on the folded bits is read only once every part of the value has arrived.
/// The words are added, and not combined by exclusive-or: equal parts would cancel, the compiler
/// would know the result, and the stamp would wait for nothing. One instruction waits for two registers,
/// so that a value of two words is not added up at all.
#[diagnostic::on_unimplemented(
    message = "a region cannot `wait` for a `{Self}`",
    note = "it waits for the value of its block: a number, a `bool`, a pointer, or an array or tuple \
            of those; give the block such a value, or leave out `wait`"
)]
pub trait Wait {
    /// The value's 32-bit words, in turn the one of them and the other; of more than two the wrapping sums.
    fn fold(&self) -> [u32; 2];
}

macro_rules! waits {
    ($($type:ty => |$value:ident| $fold:expr;)*) => {
        $(impl Wait for $type {
            #[inline(always)]
            fn fold(&self) -> [u32; 2] {
                let $value = *self;
                $fold
            }
        })*
    };
}

const fn one_word(word: u32) -> [u32; 2] {
    [word, 0]
}

const fn two_words(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// Adds a part to those before it. The sums change places, so that parts of one word come to both.
const fn add(sums: [u32; 2], part: [u32; 2]) -> [u32; 2] {
    [sums[1].wrapping_add(part[0]), sums[0].wrapping_add(part[1])]
}

waits! {
    bool => |value| one_word(u32::from(value));
    u8 => |value| one_word(u32::from(value));
    u16 => |value| one_word(u32::from(value));
    u32 => |value| one_word(value);
    i8 => |value| one_word(value as u32);
    i16 => |value| one_word(value as u32);
    i32 => |value| one_word(value as u32);
    u64 => |value| two_words(value);
    i64 => |value| two_words(value as u64);
    usize => |value| two_words(value as u64);
    isize => |value| two_words(value as u64);
    f32 => |value| one_word(value.to_bits());
    f64 => |value| two_words(value.to_bits());
}

impl<T> Wait for *const T {
    #[inline(always)]
    fn fold(&self) -> [u32; 2] {
        (self.cast::<()>() as usize).fold()
    }
}

impl<T> Wait for *mut T {
    #[inline(always)]
    fn fold(&self) -> [u32; 2] {
        (self.cast::<()>() as usize).fold()
    }
}

impl<T: Wait, const N: usize> Wait for [T; N] {
    #[inline(always)]
    fn fold(&self) -> [u32; 2] {
        let mut sums = [0; 2];
        for part in self {
            sums = add(sums, part.fold());
        }
        sums
    }
}

macro_rules! wait_tuples {
    ($(($($part:ident . $index:tt),+))*) => {
        $(impl<$($part: Wait),+> Wait for ($($part,)+) {
            #[inline(always)]
            fn fold(&self) -> [u32; 2] {
                let sums = [0; 2];
                $(let sums = add(sums, self.$index.fold());)+
                sums
            }
        })*
    };
}

wait_tuples! {
    (A.0)
    (A.0, B.1)
    (A.0, B.1, C.2)
    (A.0, B.1, C.2, D.3)
}

/// A value that can be pinned: its computation stays on its side of a stamp.
#[diagnostic::on_unimplemented(
    message = "`pin` cannot hold a `{Self}`",
    note = "it holds numbers, pointers and arrays of them: name those that the region computes"
)]
pub trait Pin {
    /// Hides from the compiler what the value is, at no instruction.
    fn pin(&mut self);
}

macro_rules! pins {
    ($($hold:ident { $($type:ty: |$value:ident| $in:expr, $out:expr;)+ })*) => {
        $($(impl Pin for $type {
            #[inline(always)]
            fn pin(&mut self) {
                let $value = *self;
                let $value = hardware::$hold($in);
                *self = $out;
            }
        })+)*
    };
}

pins! {
    hold_16 {
        u16: |value| value, value;
        i16: |value| value as u16, value as i16;
    }
    hold {
        u32: |value| value, value;
        i32: |value| value as u32, value as i32;
        u8: |value| value.into(), value as u8;
        i8: |value| value as u32, value as i8;
        f32: |value| value.to_bits(), f32::from_bits(value);
    }
    hold_64 {
        u64: |value| value, value;
        i64: |value| value as u64, value as i64;
        usize: |value| value as u64, value as usize;
        isize: |value| value as u64, value as isize;
        f64: |value| value.to_bits(), f64::from_bits(value);
    }
}

impl<T> Pin for *const T {
    #[inline(always)]
    fn pin(&mut self) {
        *self = self.wrapping_byte_add(hardware::zero_after(self.addr()));
    }
}

impl<T> Pin for *mut T {
    #[inline(always)]
    fn pin(&mut self) {
        *self = self.wrapping_byte_add(hardware::zero_after(self.addr()));
    }
}

impl<T: Pin, const N: usize> Pin for [T; N] {
    #[inline(always)]
    fn pin(&mut self) {
        for part in self {
            part.pin();
        }
    }
}

/// Keeps the computation of a value on its side of the stamp; nothing where there are no stamps.
#[doc(hidden)]
#[inline(always)]
pub fn pin<T: Pin + ?Sized>(value: &mut T) {
    if cfg!(feature = "enabled") {
        value.pin();
    }
}
