//! Atomic operations as PTX instructions (PTX ISA, "atom").
//!
//! # Safety
//!
//! Callers fulfil the contracts of the public functions of the same names.

use core::arch::asm;

use crate::atomic::sealed::{Atomic, AtomicInteger, Place};

/// Functions of one `atom` each, whose operands lie in registers of one class.
macro_rules! atoms {
    ($register:ident: $($name:ident($($operand:ident),+): $operation:literal;)+) => {$(
        #[inline(always)]
        unsafe fn $name(place: Place<Self>, $($operand: Self),+) -> Self {
            let before: Self;
            match place {
                // SAFETY: the caller vouches for the address; memory is taken to change.
                Place::Generic(address) => unsafe {
                    asm!(
                        concat!(
                            "atom.relaxed.gpu.", $operation, " {before}, [{address}]",
                            $(", {", stringify!($operand), "}",)+ ";",
                        ),
                        before = out($register) before,
                        address = in(reg64) address,
                        $($operand = in($register) $operand,)+
                        options(nostack),
                    );
                },
                // SAFETY: as above.
                Place::Shared(address) => unsafe {
                    asm!(
                        concat!(
                            "atom.relaxed.cta.shared.", $operation, " {before}, [{address}]",
                            $(", {", stringify!($operand), "}",)+ ";",
                        ),
                        before = out($register) before,
                        address = in(reg32) address,
                        $($operand = in($register) $operand,)+
                        options(nostack),
                    );
                },
            }
            before
        }
    )+};
}

macro_rules! atomic {
    ($($type:ty: $register:ident, $exch:literal, $add:literal;)*) => {$(
        impl Atomic for $type {
            atoms! { $register:
                atomic_exch(value): $exch;
                atomic_add(value): $add;
            }
        }
    )*};
}

atomic! {
    u32: reg32, "exch.b32", "add.u32";
    i32: reg32, "exch.b32", "add.s32";
    f32: reg32, "exch.b32", "add.f32";
    u64: reg64, "exch.b64", "add.u64";
    // Addition that wraps does not tell signs apart, and has no `s64`.
    i64: reg64, "exch.b64", "add.u64";
    f64: reg64, "exch.b64", "add.f64";
}

macro_rules! atomic_integer {
    ($($type:ty: $register:ident, $min:literal, $max:literal, $and:literal, $or:literal, $xor:literal, $cas:literal;)*) => {$(
        impl AtomicInteger for $type {
            atoms! { $register:
                atomic_min(value): $min;
                atomic_max(value): $max;
                atomic_and(value): $and;
                atomic_or(value): $or;
                atomic_xor(value): $xor;
                atomic_cas(expected, value): $cas;
            }
        }
    )*};
}

atomic_integer! {
    u32: reg32, "min.u32", "max.u32", "and.b32", "or.b32", "xor.b32", "cas.b32";
    i32: reg32, "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32", "cas.b32";
    u64: reg64, "min.u64", "max.u64", "and.b64", "or.b64", "xor.b64", "cas.b64";
    i64: reg64, "min.s64", "max.s64", "and.b64", "or.b64", "xor.b64", "cas.b64";
}
