//! Fast arithmetic.
//!
//! Each function but [`fma`] is an approximation by a GPU's special function units, of one instruction or two. An
//! instruction with `ftz` takes subnormal numbers for zero. PTX ISA states the errors under the names of the
//! instructions. The twin computes with full accuracy.
//!
//! With the feature `libm`, `math::libm` is the crate of that name: accurate functions for f32 and f64, whose results
//! on a GPU and on the twin are the same.

use crate::platform;

#[cfg(feature = "libm")]
pub use libm;

forward! {
    /// 2 to the power `x`, with a relative error of about 2^-22 on a GPU (`ex2.approx.ftz.f32`).
    #[must_use]
    fn exp2(x: f32) -> f32 = platform::exp2;
}

/// e to the power `x`, by [`exp2`]; the relative error grows with the magnitude of `x`.
#[must_use]
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp2(x * core::f32::consts::LOG2_E)
}

forward! {
    /// The logarithm of `x` to base 2 (`lg2.approx.ftz.f32`). On a GPU its absolute error is about 2^-22 for `x` from
    /// 0.5 to 2, and elsewhere its relative error.
    #[must_use]
    fn log2(x: f32) -> f32 = platform::log2;
}

/// The natural logarithm of `x`, by [`log2`].
#[must_use]
#[inline(always)]
pub fn log(x: f32) -> f32 {
    log2(x) * core::f32::consts::LN_2
}

forward! {
    /// 1 divided by `x`, with a relative error of at most 2^-23 on a GPU (`rcp.approx.ftz.f32`).
    #[must_use]
    fn rcp(x: f32) -> f32 = platform::rcp;

    /// 1 divided by the square root of `x`, with a relative error of about 2^-22 on a GPU
    /// (`rsqrt.approx.ftz.f32`).
    #[must_use]
    fn rsqrt(x: f32) -> f32 = platform::rsqrt;

    /// `a * b + c` with one rounding (`fma.rn.f32`).
    #[must_use]
    fn fma(a: f32, b: f32, c: f32) -> f32 = platform::fma;

    /// The sine of `x` in radians (`sin.approx.ftz.f32`), with an absolute error of about 2^-20 on a GPU for `x` from
    /// -pi to pi, and one that grows with the magnitude of `x` beyond.
    #[must_use]
    fn sin(x: f32) -> f32 = platform::sin;

    /// The cosine of `x` in radians (`cos.approx.ftz.f32`), with the errors of [`sin`].
    #[must_use]
    fn cos(x: f32) -> f32 = platform::cos;

    /// The hyperbolic tangent of `x`, with a relative error of about 2^-11 on a GPU (`tanh.approx.f32`).
    #[must_use]
    fn tanh(x: f32) -> f32 = platform::tanh;
}
