//! Fast arithmetic.

use crate::platform;

/// 2 to the power `x`, with a relative error of about 2^-22 on a GPU (`ex2.approx.ftz.f32`).
#[must_use]
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    platform::exp2(x)
}

/// e to the power `x`, by [`exp2`]; the relative error grows with the magnitude of `x`.
#[must_use]
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp2(x * core::f32::consts::LOG2_E)
}

/// 1 divided by the square root of `x`, with a relative error of about 2^-22 on a GPU
/// (`rsqrt.approx.ftz.f32`).
#[must_use]
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    platform::rsqrt(x)
}

/// `a * b + c` with one rounding (`fma.rn.f32`).
#[must_use]
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    platform::fma(a, b, c)
}
