//! Matrix operations of a warp and their number formats, as PTX instructions.
//!
//! # Safety
//!
//! Callers fulfil the contracts of the public functions of the same names.

use core::arch::asm;

use crate::platform::{convergent, instructions};

instructions! {
    pure fn pack_bf16(low: f32 as reg32, high: f32 as reg32) out (packed as reg32) -> u32 {
        "cvt.rn.bf16x2.f32 {packed}, {high}, {low};"
    }

    pure fn pack_f16(low: f32 as reg32, high: f32 as reg32) out (packed as reg32) -> u32 {
        "cvt.rn.f16x2.f32 {packed}, {high}, {low};"
    }

    pure fn f16_to_f32(bits: u16 as reg16) out (value as reg32) -> f32 { "cvt.f32.f16 {value}, {bits};" }

    pure fn f32_to_tf32(value: f32 as reg32) out (bits as reg32) -> u32 {
        "cvt.rna.tf32.f32 {bits}, {value};"
    }
}

/// Products of a warp whose factors are four and two words of each lane.
macro_rules! products {
    ($($function:ident: $shape:literal, $format:literal;)*) => {$(
        #[inline(always)]
        pub(crate) unsafe fn $function(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
            convergent();
            let [mut d0, mut d1, mut d2, mut d3] = c;
            // SAFETY: the caller vouches for the warp; registers only.
            unsafe {
                asm!(
                    concat!(
                        "mma.sync.aligned.", $shape, ".row.col.f32.", $format, ".", $format, ".f32",
                    ),
                    "{{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
                    inout(reg32) d0,
                    inout(reg32) d1,
                    inout(reg32) d2,
                    inout(reg32) d3,
                    in(reg32) a[0],
                    in(reg32) a[1],
                    in(reg32) a[2],
                    in(reg32) a[3],
                    in(reg32) b[0],
                    in(reg32) b[1],
                    options(nomem, nostack),
                );
            }
            [d0, d1, d2, d3]
        }
    )*};
}

products! {
    mma_m16n8k16_bf16: "m16n8k16", "bf16";
    mma_m16n8k16_f16: "m16n8k16", "f16";
    mma_m16n8k8_tf32: "m16n8k8", "tf32";
}

macro_rules! ldmatrix {
    ($($function:ident: $variant:literal;)*) => {$(
        #[inline(always)]
        pub(crate) unsafe fn $function(row: *const u8) -> [u32; 4] {
            convergent();
            let (r0, r1, r2, r3): (u32, u32, u32, u32);
            // SAFETY: the caller vouches for the warp and the address; memory is read, and taken to
            // change.
            unsafe {
                asm!(
                    "{{ .reg .u64 row;",
                    "cvta.to.shared.u64 row, {4};",
                    concat!(
                        "ldmatrix.sync.aligned.m8n8.x4",
                        $variant,
                        ".shared.b16 {{{0}, {1}, {2}, {3}}}, [row]; }}",
                    ),
                    lateout(reg32) r0,
                    lateout(reg32) r1,
                    lateout(reg32) r2,
                    lateout(reg32) r3,
                    in(reg64) row,
                    options(nostack),
                );
            }
            [r0, r1, r2, r3]
        }
    )*};
}

ldmatrix! {
    ldmatrix_x4: "";
    ldmatrix_x4_trans: ".trans";
}

#[inline(always)]
pub(crate) unsafe fn stmatrix_x4(row: *mut u8, parts: [u32; 4]) {
    convergent();
    // SAFETY: the caller vouches for the warp and the address; memory is taken to change.
    unsafe {
        asm!(
            "{{ .reg .u64 row;",
            "cvta.to.shared.u64 row, {0};",
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [row], {{{1}, {2}, {3}, {4}}}; }}",
            in(reg64) row,
            in(reg32) parts[0],
            in(reg32) parts[1],
            in(reg32) parts[2],
            in(reg32) parts[3],
            options(nostack),
        );
    }
}
