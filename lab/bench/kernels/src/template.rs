//! The one loop that all schemes are measured in.
//!
//! ```text
//! barrier
//! t0 = clock
//! for each iteration { 8 FMAs; 4 x [BEGIN?; body of N FMAs; END?; 1 FMA]; 8 FMAs }
//! t1 = clock
//! ```
//!
//! The first E of the four bodies are recorded. What a region costs is the slope of t1 - t0 over E.
//! Three details decide whether that slope means anything:
//!
//! * An FMA is `x = -2 x + x`: with three registers it could meet a bank conflict and issue at half
//!   rate, and a record's instructions would hide in the idle slots. Each depends on the one before.
//! * The FMA after a body keeps the assembler from fusing the end of one region with the begin of
//!   the next.
//! * The eight FMAs at either end keep the loop's branch away from the stamps.

use core::arch::asm;

use profiler_kernel::thread::sync_threads;

use crate::WARP;
use crate::instructions::{block, clock64, lane, opaque_increment, thread, threads};

/// A way to record regions.
pub(crate) trait Scheme {
    /// Runs `body`, which gives the number that it worked out, as the recorded region with this
    /// number, from 1.
    fn region<const NUMBER: u32>(&mut self, body: impl FnOnce() -> f32);

    /// What is to be done when the kernel has been timed.
    fn leave(self) -> Left;
}

/// What a scheme leaves behind.
#[derive(Clone, Copy, Default)]
pub(crate) struct Left {
    /// What must not be optimised away.
    pub(crate) rest: u32,
    /// Cycles that it took to copy a ring to the buffer; 0 where there is none.
    pub(crate) flush: u32,
}

macro_rules! fma {
    (1) => {
        "fma.rn.f32 {x}, {x}, 0fC0000000, {x};\n"
    };
    (8) => {
        concat!(fma!(1), fma!(1), fma!(1), fma!(1), fma!(1), fma!(1), fma!(1), fma!(1))
    };
    (64) => {
        concat!(fma!(8), fma!(8), fma!(8), fma!(8), fma!(8), fma!(8), fma!(8), fma!(8))
    };
    (128) => {
        concat!(fma!(64), fma!(64))
    };
    ($count:tt of $x:ident) => {
        // SAFETY: arithmetic on a register. Not `nomem`: it stays between the stamps.
        unsafe { asm!(fma!($count), x = inout(reg32) * $x, options(nostack, preserves_flags)) }
    };
}

/// `N` dependent FMAs.
#[inline(always)]
fn work<const N: u32>(x: &mut f32) {
    const { assert!(N == 1 || N == 8 || N == 128, "no body has so many FMAs") };
    match N {
        1 => fma!(1 of x),
        8 => fma!(8 of x),
        _ => fma!(128 of x),
    }
}

#[inline(always)]
fn body<const N: u32, const E: u32, const NUMBER: u32>(scheme: &mut impl Scheme, x: &mut f32) {
    if NUMBER <= E {
        scheme.region::<NUMBER>(|| {
            work::<N>(x);
            *x
        });
    } else {
        work::<N>(x);
    }
    work::<1>(x);
}

/// Times the loop; lane 0 of each warp writes `t1 - t0` to its pair in `cycles`, and after it the cycles
/// of its ring's flush in the upper half of a number whose lower half nobody reads.
///
/// # Safety
///
/// `cycles` must be valid for two numbers for each warp of the grid, aligned to 8; blocks must have
/// one dimension.
#[inline(always)]
pub(crate) unsafe fn measure<const N: u32, const E: u32>(
    mut scheme: impl Scheme,
    cycles: *mut u64,
    iterations: u32,
) {
    let mut x = lane() as f32;
    sync_threads();
    let begin = clock64();
    let mut done = 0;
    while done < iterations {
        done = opaque_increment(done);
        work::<8>(&mut x);
        body::<N, E, 1>(&mut scheme, &mut x);
        body::<N, E, 2>(&mut scheme, &mut x);
        body::<N, E, 3>(&mut scheme, &mut x);
        body::<N, E, 4>(&mut scheme, &mut x);
        work::<8>(&mut x);
    }
    let elapsed = clock64() - begin;
    let Left { rest, flush } = scheme.leave();
    if lane() == 0 {
        let pair = 2 * warp_of_grid() as usize;
        // SAFETY: this warp's pair.
        unsafe {
            cycles.add(pair).write(elapsed);
            cycles.add(pair + 1).write(u64::from(flush) << 32 | u64::from(rest ^ x.to_bits()));
        }
    }
}

/// The number of the calling warp in its grid.
#[inline(always)]
pub(crate) fn warp_of_grid() -> u32 {
    block() * (threads() / WARP) + thread() / WARP
}

/// Makes the kernels of one scheme, one for each body and number of recorded bodies.
///
/// `kernels! { name => |buffer| expression; }`: the expression gives the [`Scheme`]; `buffer` names
/// the [`crate::forms::Buffer`] that the warp may write to.
macro_rules! kernels {
    ($($name:ident => |$lane_buffer:ident| $scheme:expr;)*) => {
        $(mod $name {
            #[allow(unused_imports, reason = "schemes differ in what they need")]
            use super::*;
            $crate::template::kernels!(@one $name $lane_buffer $scheme; n8_e0 8 0);
            $crate::template::kernels!(@one $name $lane_buffer $scheme; n8_e1 8 1);
            $crate::template::kernels!(@one $name $lane_buffer $scheme; n8_e2 8 2);
            $crate::template::kernels!(@one $name $lane_buffer $scheme; n8_e4 8 4);
            $crate::template::kernels!(@one $name $lane_buffer $scheme; n128_e0 128 0);
            $crate::template::kernels!(@one $name $lane_buffer $scheme; n128_e1 128 1);
            $crate::template::kernels!(@one $name $lane_buffer $scheme; n128_e2 128 2);
            $crate::template::kernels!(@one $name $lane_buffer $scheme; n128_e4 128 4);
        })*
    };
    (
        @one $name:ident $lane_buffer:ident $scheme:expr;
        $kernel:ident $body:literal $recorded:literal
    ) => {
        /// One kernel of the scheme.
        ///
        /// # Safety
        ///
        /// `cycles` must be valid for two numbers for each warp of the grid, and `buffer` for a buffer
        /// of `buffer_bytes` bytes for each, which begins at a multiple of them and takes all that the
        /// scheme writes; blocks must have one dimension and whole warps.
        #[unsafe(export_name = concat!(stringify!($name), "_", stringify!($kernel)))]
        pub(crate) unsafe extern "ptx-kernel" fn $kernel(
            cycles: *mut u64,
            buffer: *mut u8,
            buffer_bytes: u32,
            iterations: u32,
        ) {
            let $lane_buffer = $crate::forms::Buffer::new(buffer, buffer_bytes);
            // SAFETY: the kernel's caller gives a pair of numbers for each warp, and blocks of one
            // dimension.
            unsafe { $crate::template::measure::<$body, $recorded>($scheme, cycles, iterations) }
        }
    };
}
pub(crate) use kernels;
