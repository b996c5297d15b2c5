//! The loop that is also run under a peer: one region an iteration, of dependent FMAs or of loads
//! and stores. `truth/proton.py` has the same, as the same PTX.
//!
//! ```text
//! barrier
//! begin = clock
//! for each iteration { 8 FMAs; BEGIN; body; END; 8 FMAs }
//! end = clock
//! ```
//!
//! Without a session the copy of the kernel that records nothing runs: the plain loop. What an
//! iteration of it takes longer than one of the loop with no body is the body's true length.

use profiler_device::hardware::clock64;
use profiler_device::{profile_region, profiled, recorder};
use profiler_kernel::thread;

use crate::thread_of_grid;

/// What a load and a store of a thread move, 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Line(pub [u32; 4]);

/// Pairs of a load and a store in the body that copies.
pub const COPIES: usize = 8;
/// What that body copies, for each thread.
pub const COPIED_BYTES: usize = COPIES * size_of::<Line>();
/// FMAs of an iteration outside of the body.
pub const FILLING: u32 = 16;
/// A body of more FMAs is a loop over so many, which it is a multiple of.
pub const STRAIGHT: u32 = 128;

const LANES: usize = 32;

#[cfg(target_arch = "nvptx64")]
macro_rules! fma {
    (1) => {
        "fma.rn.f32 {x}, {x}, 0fC0000000, {x};\n"
    };
    (8) => {
        concat!(fma!(1), fma!(1), fma!(1), fma!(1), fma!(1), fma!(1), fma!(1), fma!(1))
    };
    (32) => {
        concat!(fma!(8), fma!(8), fma!(8), fma!(8))
    };
    (128) => {
        concat!(fma!(32), fma!(32), fma!(32), fma!(32))
    };
    (512) => {
        repeat!("4")
    };
    (2048) => {
        repeat!("16")
    };
}

/// So many times [`STRAIGHT`] FMAs, as a loop that ptxas is told not to unroll: straight code of many
/// KiB would leave the instruction cache, and the way back to the begin of the kernel's loop, outside
/// of the region, would wait for it. Names within braces are local.
#[cfg(target_arch = "nvptx64")]
macro_rules! repeat {
    ($times:literal) => {
        concat!(
            "{{ .reg .b32 left; .reg .pred more;\n",
            concat!("mov.u32 left, ", $times, ";\n"),
            "again:\n",
            ".pragma \"nounroll\";\n",
            fma!(128),
            "sub.u32 left, left, 1;\n",
            "setp.ne.u32 more, left, 0;\n",
            "@more bra again; }}\n",
        )
    };
}

/// So many FMAs `x = -2 x + x`, each of which needs the one before; an even number of them leaves
/// `x` as it was. (An FMA of three registers could meet a bank conflict and issue at half rate.)
macro_rules! fmas {
    (0, $x:ident) => {};
    ($count:tt, $x:ident) => {
        // SAFETY: arithmetic on a register. Not `nomem`: it stays between the stamps.
        #[cfg(target_arch = "nvptx64")]
        #[allow(named_asm_labels, reason = "PTX has no others; within braces they are local")]
        unsafe {
            core::arch::asm!(
                fma!($count),
                x = inout(reg32) $x,
                options(nostack, preserves_flags)
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        for _ in 0..$count {
            $x = profiler_kernel::math::fma($x, -2.0, $x);
        }
    };
}

/// Where a thread's part of the copy begins, and a zero that the compiler does not know to be one.
#[derive(Clone, Copy)]
struct Copied {
    from: *const Line,
    to: *mut Line,
    zero: u32,
}

impl Copied {
    /// Copies [`COPIES`] lines, one after the other: each store waits for its load, which misses
    /// L1, and each load comes after the store before it. The zero ties the first address to `x`
    /// and `x` to the last load, as the FMAs are tied to each other.
    ///
    /// # Safety
    ///
    /// Both pointers must be valid for the lines of the thread, in global memory; `zero` must be 0.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn run(self, mut x: f32) -> f32 {
        macro_rules! pair {
            ($offset:literal) => {
                concat!(
                    "ld.global.cg.v4.u32 {{a, b, c, d}}, [from + ",
                    $offset,
                    "];\n",
                    "st.global.v4.u32 [to + ",
                    $offset,
                    "], {{a, b, c, d}};\n",
                )
            };
        }
        // SAFETY: the caller's; the registers are declared in a scope of their own.
        unsafe {
            core::arch::asm!(
                "{{",
                ".reg .b32 a, b, c, d, tie; .reg .b64 offset, from, to;",
                "mov.b32 tie, {x};",
                "and.b32 tie, tie, {zero};",
                "cvt.u64.u32 offset, tie;",
                "add.u64 from, {from}, offset;",
                "add.u64 to, {to}, offset;",
                pair!(0), pair!(512), pair!(1024), pair!(1536),
                pair!(2048), pair!(2560), pair!(3072), pair!(3584),
                "and.b32 tie, d, {zero};",
                "mov.b32 a, {x};",
                "xor.b32 a, a, tie;",
                "mov.b32 {x}, a;",
                "}}",
                x = inout(reg32) x,
                from = in(reg64) self.from,
                to = in(reg64) self.to,
                zero = in(reg32) self.zero,
                options(nostack, preserves_flags),
            );
        }
        x
    }

    /// The same for the emulator.
    ///
    /// # Safety
    ///
    /// As on the GPU.
    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn run(self, x: f32) -> f32 {
        let offset = (x.to_bits() & self.zero) as usize;
        let mut last = 0;
        for copy in 0..COPIES {
            // SAFETY: the caller's; lines of a warp lie side by side.
            unsafe {
                let line = *self.from.add(offset + copy * LANES);
                *self.to.add(offset + copy * LANES) = line;
                last = line.0[3];
            }
        }
        f32::from_bits(x.to_bits() ^ (last & self.zero))
    }
}

/// One more, in a way that lets neither rustc nor ptxas unroll the loop: rustc cannot count its
/// iterations, and ptxas is told not to.
#[inline(always)]
fn next(mut iteration: u32) -> u32 {
    // SAFETY: arithmetic on a register.
    #[cfg(target_arch = "nvptx64")]
    unsafe {
        core::arch::asm!(
            ".pragma \"nounroll\";",
            "add.u32 {iteration}, {iteration}, 1;",
            iteration = inout(reg32) iteration,
            options(nostack),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        iteration += 1;
    }
    iteration
}

macro_rules! body {
    (copy, $x:ident, $copied:ident) => {
        // SAFETY: the kernel's caller gives lines for all threads, and a zero.
        $x = unsafe { $copied.run($x) };
    };
    ($count:tt, $x:ident, $copied:ident) => {
        fmas!($count, $x);
    };
}

macro_rules! cross_check {
    ($($name:ident: $body:tt, $fmas:literal, $bytes:expr;)+) => {
        $(
            /// Runs `iterations` of the loop, with this body in a region "body". Thread `t` of the
            /// grid writes the readings of the clock before and after it to `results[t]`, and
            /// after them what it worked out, its index in the block as a float's bits.
            ///
            /// # Safety
            ///
            /// `results` must be valid for three numbers a thread of the grid, `from` and `to` for
            /// [`COPIES`] lines, in global memory; `zero` must be 0.
            #[profiled]
            pub unsafe extern "ptx-kernel" fn $name(
                results: *mut [u64; 3],
                from: *const Line,
                to: *mut Line,
                iterations: u32,
                zero: u32,
            ) {
                let recorder = recorder!();
                let thread = thread_of_grid();
                let place = thread / LANES * LANES * COPIES + thread % LANES;
                // SAFETY: the lines of a warp lie after those of the one before.
                let _copied = unsafe { Copied { from: from.add(place), to: to.add(place), zero } };
                let mut x = thread::thread_idx_x() as f32;
                thread::sync_threads();
                let begin = clock64();
                let mut iteration = 0;
                while iteration < iterations {
                    iteration = next(iteration);
                    fmas!(8, x);
                    x = profile_region!("body", recorder = recorder, {
                        body!($body, x, _copied);
                        x
                    });
                    fmas!(8, x);
                }
                let end = clock64();
                // SAFETY: each thread has numbers of its own.
                unsafe { *results.add(thread) = [begin, end, u64::from(x.to_bits())] };
            }
        )+

        /// All kernels of the cross-check, from the empty body on.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const CROSS_CHECK: &[CrossCheckKernel] = &[$(CrossCheckKernel {
            name: stringify!($name),
            fmas: $fmas,
            bytes: $bytes,
            function: $name,
        }),+];
    };
}

cross_check! {
    cross_check_nothing: 0, 0, 0;
    cross_check_8: 8, 8, 0;
    cross_check_32: 32, 32, 0;
    cross_check_128: 128, 128, 0;
    cross_check_512: 512, 512, 0;
    cross_check_2048: 2048, 2048, 0;
    cross_check_copy: copy, 0, COPIED_BYTES;
}

/// A kernel of the cross-check, for the host to launch.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
pub struct CrossCheckKernel {
    /// Its symbol in the PTX.
    pub name: &'static str,
    /// FMAs of its body.
    pub fmas: u32,
    /// Bytes that its body copies, for each thread.
    pub bytes: usize,
    /// Its twin.
    pub function: unsafe fn(*mut [u64; 3], *const Line, *mut Line, u32, u32),
}
