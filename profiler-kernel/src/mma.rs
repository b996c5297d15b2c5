//! Matrix operations of a warp, and the number formats bf16, f16 and tf32.
//!
//! # Safety of the matrix operations
//!
//! All 32 lanes of the warp come to the same call together.

use crate::matrix;

/// The bf16 nearest to a number, ties to even, as bits; NaN stays NaN.
#[must_use]
#[inline(always)]
pub fn f32_to_bf16(value: f32) -> u16 {
    // The lower half holds the first operand's conversion.
    pack_bf16(value, 0.0) as u16
}

/// The number that bf16 bits stand for; exact.
#[must_use]
#[inline(always)]
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

forward! {
    /// Two numbers as bf16, `low` in the lower half (`cvt.rn.bf16x2.f32`).
    #[must_use]
    fn pack_bf16(low: f32, high: f32) -> u32 = matrix::pack_bf16;
}

/// The f16 nearest to a number, ties to even, as bits; NaN stays NaN, and from 65520 on it is infinity.
#[must_use]
#[inline(always)]
pub fn f32_to_f16(value: f32) -> u16 {
    // The lower half holds the first operand's conversion.
    pack_f16(value, 0.0) as u16
}

forward! {
    /// The number that f16 bits stand for; exact (`cvt.f32.f16`).
    #[must_use]
    fn f16_to_f32(bits: u16) -> f32 = matrix::f16_to_f32;

    /// Two numbers as f16, `low` in the lower half (`cvt.rn.f16x2.f32`).
    #[must_use]
    fn pack_f16(low: f32, high: f32) -> u32 = matrix::pack_f16;

    /// The tf32 nearest to a number, ties away from zero, as the bits of an f32 (`cvt.rna.tf32.f32`). The lowest 13
    /// bits are unspecified; [`mma_m16n8k8_tf32`] does not read them.
    #[must_use]
    fn f32_to_tf32(value: f32) -> u32 = matrix::f32_to_tf32;

    /// The 16 x 8 product of a 16 x 16 and a 16 x 8 matrix of bf16, added to `c`
    /// (`mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32`).
    ///
    /// With g = lane / 4 and t = lane mod 4 (PTX ISA, "Matrix Fragments for mma.m16n8k16"), a lane holds
    ///
    /// * `a[0]`: row g, columns 2t and 2t + 1; `a[1]`: row g + 8, the same columns; `a[2]` and `a[3]`:
    ///   the same rows, columns 2t + 8 and 2t + 9;
    /// * `b[0]`: rows 2t and 2t + 1 of column g; `b[1]`: rows 2t + 8 and 2t + 9;
    /// * `c[0]`, `c[1]` and the results: row g, columns 2t and 2t + 1; `c[2]`, `c[3]`: row g + 8.
    ///
    /// The lower half of a word has the bf16 with the lower index.
    ///
    /// # Safety
    ///
    /// See [the module](self).
    #[must_use]
    [unsafe] fn mma_m16n8k16_bf16(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] = matrix::mma_m16n8k16_bf16;

    /// [`mma_m16n8k16_bf16`] of f16 (`mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32`): the same fragments, sums in
    /// f32.
    ///
    /// # Safety
    ///
    /// See [the module](self).
    #[must_use]
    [unsafe] fn mma_m16n8k16_f16(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] = matrix::mma_m16n8k16_f16;

    /// The 16 x 8 product of a 16 x 8 and an 8 x 8 matrix of tf32, added to `c`
    /// (`mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32`).
    ///
    /// With g = lane / 4 and t = lane mod 4 (PTX ISA, "Matrix Fragments for mma.m16n8k8"), a lane holds
    ///
    /// * `a[0]`: row g, column t; `a[1]`: row g + 8, the same column; `a[2]` and `a[3]`: the same rows,
    ///   column t + 4;
    /// * `b[0]`: row t of column g; `b[1]`: row t + 4;
    /// * `c` and the results as [`mma_m16n8k16_bf16`].
    ///
    /// The factors are bits of [`f32_to_tf32`].
    ///
    /// # Safety
    ///
    /// See [the module](self).
    #[must_use]
    [unsafe] fn mma_m16n8k8_tf32(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] = matrix::mma_m16n8k8_tf32;

    /// Loads four 8 x 8 matrices of 16-bit elements from shared memory
    /// (`ldmatrix.sync.aligned.m8n8.x4.shared.b16`).
    ///
    /// Lane 8 m + r gives the address of row r of matrix m: 16 bytes, aligned to 16. Word m of the
    /// result holds columns 2t and 2t + 1 of row g of matrix m, with g = lane / 4 and t = lane mod 4.
    ///
    /// # Safety
    ///
    /// See [the module](self); each lane's row is in shared memory, aligned, and readable.
    #[must_use]
    [unsafe] fn ldmatrix_x4(row: *const u8) -> [u32; 4] = matrix::ldmatrix_x4;

    /// [`ldmatrix_x4`] of the transposed matrices: word m holds rows 2t and 2t + 1 of column g of matrix
    /// m.
    ///
    /// # Safety
    ///
    /// As for [`ldmatrix_x4`].
    #[must_use]
    [unsafe] fn ldmatrix_x4_trans(row: *const u8) -> [u32; 4] = matrix::ldmatrix_x4_trans;

    /// Stores four 8 x 8 matrices of 16-bit elements to shared memory
    /// (`stmatrix.sync.aligned.m8n8.x4.shared.b16`): the counterpart of [`ldmatrix_x4`], with the same
    /// rows and the same words. Needs `sm_90`.
    ///
    /// # Safety
    ///
    /// See [the module](self); each lane's row is 16 bytes of shared memory, aligned to 16, which nobody
    /// else accesses.
    [unsafe] fn stmatrix_x4(row: *mut u8, parts: [u32; 4]) = matrix::stmatrix_x4;
}
