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

use profiler_device::hardware::{clock64, lane_id};
use profiler_kernel::thread::{block_dim_x, block_idx_x, sync_threads, thread_idx_x};

use crate::WARP;

/// A way to record regions.
pub(crate) trait Scheme {
    /// Whether bodies that are recorded have instructions of their own, by which `profiler-ptx` finds them.
    const IS_MARKED: bool = false;

    /// Runs `body`, which gives the number that it worked out, as the recorded region with this
    /// number, from 1.
    fn region<const NUMBER: u32>(&mut self, body: impl FnOnce() -> f32);

    /// What must not be optimised away, when the kernel has been timed.
    #[inline(always)]
    fn leave(self) -> u32
    where
        Self: Sized,
    {
        0
    }
}

/// A scheme whose begins and ends are apart, and which writes to a buffer.
pub(crate) trait Form {
    /// What is known from a region's begin to its end.
    type Start;

    /// See [`Scheme::IS_MARKED`].
    const IS_MARKED: bool = false;

    /// The form in a buffer, which its writes then go to.
    fn new(buffer: Buffer) -> Self;

    /// Begins the region with this number, from 1.
    fn begin<const NUMBER: u32>(&mut self) -> Self::Start;

    /// Ends it.
    fn end<const NUMBER: u32>(&mut self, start: Self::Start);

    /// See [`Scheme::leave`].
    #[inline(always)]
    fn leave(self) -> u32
    where
        Self: Sized,
    {
        0
    }
}

impl<F: Form> Scheme for F {
    const IS_MARKED: bool = F::IS_MARKED;

    #[inline(always)]
    fn region<const NUMBER: u32>(&mut self, body: impl FnOnce() -> f32) {
        let start = self.begin::<NUMBER>();
        body();
        self.end::<NUMBER>(start);
    }

    #[inline(always)]
    fn leave(self) -> u32 {
        Form::leave(self)
    }
}

/// What a warp may write to: `bytes` bytes, a power of two, at a multiple of them.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    /// Where the buffer of all buffers begins.
    pub(crate) buffer: u64,
    /// Where this warp's begins.
    pub(crate) address: u64,
    /// Bytes of a buffer.
    pub(crate) bytes: u32,
}

impl Buffer {
    /// The calling warp's.
    #[inline(always)]
    pub(crate) fn new(buffer: *mut u8, bytes: u32) -> Self {
        let buffer = buffer as u64;
        Self { buffer, address: buffer + u64::from(warp_of_grid()) * u64::from(bytes), bytes }
    }
}

/// Keeps the high halves of readings in use, by one instruction a region: the assembler turns a read
/// of which the low half alone is used into one of 32 bits, which costs more than that.
#[derive(Default)]
pub(crate) struct HighHalves(u32);

impl HighHalves {
    #[inline(always)]
    pub(crate) fn fold(&mut self, start: u64, end: u64) {
        self.0 ^= (start >> 32) as u32 ^ (end >> 32) as u32;
    }

    #[inline(always)]
    pub(crate) fn folded(&self) -> u32 {
        self.0
    }
}

/// Makes functions of one PTX instruction each, as volatile `asm!`: the compiler neither drops nor
/// reorders them.
macro_rules! instructions {
    ($(
        $(#[$attribute:meta])*
        $([$unsafe:ident])? fn $name:ident($($operand:ident: $type:ty as $class:ident),*)
        $(out ($result:ident as $out:ident) -> $returned:ty)?
        { $($text:expr),+ }
    )*) => {$(
        $(#[$attribute])*
        #[inline(always)]
        pub(crate) $($unsafe)? fn $name($($operand: $type),*) $(-> $returned)? {
            $(let $result: $returned;)?
            // SAFETY: only the functions that are unsafe touch memory, and their callers answer for it. Not
            // `nomem`: memory accesses stay on their side of it.
            unsafe {
                core::arch::asm!(
                    $($text,)+
                    $($result = out($out) $result,)?
                    $($operand = in($class) $operand,)*
                    options(nostack, preserves_flags),
                );
            }
            $($result)?
        }
    )*};
}
pub(crate) use instructions;

/// One more, in a way that does not let the compiler count the iterations of a loop and unroll it.
#[inline(always)]
pub(crate) fn opaque_increment(mut value: u32) -> u32 {
    // SAFETY: arithmetic on a register.
    unsafe {
        asm!("add.u32 {value}, {value}, 1;", value = inout(reg32) value, options(nostack));
    }
    value
}

macro_rules! fma {
    ($op:literal 1) => {
        concat!($op, " {x}, {x}, 0fC0000000, {x};\n")
    };
    ($op:literal 8) => {
        concat!(
            fma!($op 1), fma!($op 1), fma!($op 1), fma!($op 1),
            fma!($op 1), fma!($op 1), fma!($op 1), fma!($op 1)
        )
    };
    ($op:literal 64) => {
        concat!(
            fma!($op 8), fma!($op 8), fma!($op 8), fma!($op 8),
            fma!($op 8), fma!($op 8), fma!($op 8), fma!($op 8)
        )
    };
    ($op:literal 128) => {
        concat!(fma!($op 64), fma!($op 64))
    };
    ($op:literal $count:tt of $x:ident) => {
        // SAFETY: arithmetic on a register. Not `nomem`: it stays between the stamps.
        unsafe { asm!(fma!($op $count), x = inout(reg32) * $x, options(nostack, preserves_flags)) }
    };
}

/// `N` dependent FMAs.
#[inline(always)]
fn work<const N: u32>(x: &mut f32) {
    const { assert!(N == 1 || N == 8 || N == 128, "no body has so many FMAs") };
    match N {
        1 => fma!("fma.rn.f32" 1 of x),
        8 => fma!("fma.rn.f32" 8 of x),
        _ => fma!("fma.rn.f32" 128 of x),
    }
}

/// The same by instructions that only the body with this number has, from 1.
#[inline(always)]
fn marked_work<const N: u32, const NUMBER: u32>(x: &mut f32) {
    match (N, NUMBER) {
        (8, 1) => fma!("fma.rn.ftz.f32" 8 of x),
        (8, 2) => fma!("fma.rz.ftz.f32" 8 of x),
        (8, 3) => fma!("fma.rm.ftz.f32" 8 of x),
        (8, _) => fma!("fma.rp.ftz.f32" 8 of x),
        (_, 1) => fma!("fma.rn.ftz.f32" 128 of x),
        (_, 2) => fma!("fma.rz.ftz.f32" 128 of x),
        (_, 3) => fma!("fma.rm.ftz.f32" 128 of x),
        _ => fma!("fma.rp.ftz.f32" 128 of x),
    }
}

#[inline(always)]
fn body<const N: u32, const E: u32, const NUMBER: u32, S: Scheme>(scheme: &mut S, x: &mut f32) {
    if NUMBER <= E {
        scheme.region::<NUMBER>(|| {
            if S::IS_MARKED {
                marked_work::<N, NUMBER>(x);
            } else {
                work::<N>(x);
            }
            *x
        });
    } else {
        work::<N>(x);
    }
    work::<1>(x);
}

/// Times the loop; lane 0 of each warp writes `t1 - t0` to its pair in `cycles`, and after it a number that
/// nobody reads.
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
    let mut x = lane_id() as f32;
    sync_threads();
    let begin = clock64();
    let mut done = 0;
    while done < iterations {
        done = opaque_increment(done);
        work::<8>(&mut x);
        body::<N, E, 1, _>(&mut scheme, &mut x);
        body::<N, E, 2, _>(&mut scheme, &mut x);
        body::<N, E, 3, _>(&mut scheme, &mut x);
        body::<N, E, 4, _>(&mut scheme, &mut x);
        work::<8>(&mut x);
    }
    let elapsed = clock64() - begin;
    let rest = scheme.leave();
    if lane_id() == 0 {
        let pair = 2 * warp_of_grid() as usize;
        // SAFETY: this warp's pair.
        unsafe {
            cycles.add(pair).write(elapsed);
            cycles.add(pair + 1).write(u64::from(rest ^ x.to_bits()));
        }
    }
}

/// The number of the calling warp in its grid.
#[inline(always)]
pub(crate) fn warp_of_grid() -> u32 {
    block_idx_x() * (block_dim_x() / WARP) + thread_idx_x() / WARP
}

/// Makes the kernels of one scheme, one for each body and number of recorded bodies.
///
/// `kernels! { name => |buffer| expression; }`: the expression gives the [`Scheme`]; `buffer` names
/// the [`Buffer`] that the warp may write to.
macro_rules! kernels {
    ($($name:ident => |$warp_buffer:ident| $scheme:expr;)*) => {
        $(mod $name {
            #[allow(unused_imports, reason = "schemes differ in what they need")]
            use super::*;
            $crate::template::kernels!(@one $name $warp_buffer $scheme; n8_e0 8 0);
            $crate::template::kernels!(@one $name $warp_buffer $scheme; n8_e1 8 1);
            $crate::template::kernels!(@one $name $warp_buffer $scheme; n8_e2 8 2);
            $crate::template::kernels!(@one $name $warp_buffer $scheme; n8_e4 8 4);
            $crate::template::kernels!(@one $name $warp_buffer $scheme; n128_e0 128 0);
            $crate::template::kernels!(@one $name $warp_buffer $scheme; n128_e1 128 1);
            $crate::template::kernels!(@one $name $warp_buffer $scheme; n128_e2 128 2);
            $crate::template::kernels!(@one $name $warp_buffer $scheme; n128_e4 128 4);
        })*
    };
    (
        @one $name:ident $warp_buffer:ident $scheme:expr;
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
            let $warp_buffer = $crate::template::Buffer::new(buffer, buffer_bytes);
            // SAFETY: the kernel's caller gives a pair of numbers for each warp, and blocks of one
            // dimension.
            unsafe { $crate::template::measure::<$body, $recorded>($scheme, cycles, iterations) }
        }
    };
}
pub(crate) use kernels;
