//! Kernels of every shape, with every argument.

use profiler_device::{profile_region, profiled};

const WARP: u32 = 1;
const THREADS: u32 = 64;
const TUNING: bool = WARP == 1;

/// A kernel of nothing.
#[profiled]
pub extern "ptx-kernel" fn nothing() {}

/// Writes a number.
///
/// # Safety
///
/// `output` must be valid for a number.
#[profiled(name = "writes a number")]
pub unsafe extern "ptx-kernel" fn writes(output: *mut u32, mut number: u32) {
    profile_region!("write");
    number += 1;
    // SAFETY: the caller's promise.
    unsafe { *output = number };
}

/// Has as many parameters as clippy allows, of which it uses none.
#[profiled]
#[inline(never)]
pub extern "ptx-kernel" fn seven(_a: u32, _b: u32, _c: u32, _d: u32, _e: u32, _f: u32, _g: u32) {}

/// Is generic.
///
/// # Safety
///
/// `output` must be valid for a number.
#[profiled]
pub unsafe extern "ptx-kernel" fn generic<'a, T, const N: usize>(output: *mut T, input: &'a [T; N])
where
    T: Copy + core::ops::Add<Output = T> + 'a,
{
    profile_region!("sum", {
        // SAFETY: the caller's promise.
        unsafe { *output = input[0] + input[N - 1] };
    });
}

/// Is compiled once.
#[profiled(single_body, track = tile + 1, by = block)]
pub extern "ptx-kernel" fn single(tile: u32) {
    profile_region!("of a track", value = tile);
}

/// Has launch bounds.
#[profiled(max_threads = THREADS, min_blocks = 2, max_registers = 128, enabled = TUNING)]
pub extern "ptx-kernel" fn bounded() {}

/// Is stamped by the other clock.
#[profiled(by = warp_group, clock = globaltimer, buffer = global)]
pub extern "ptx-kernel" fn of_the_timer() {}

/// Writes records where the host reads them.
#[profiled(buffer = host, clock = cycles)]
pub extern "ptx-kernel" fn watched() {
    profile_region!("watched");
}

/// Is recorded under a condition.
#[profiled(by = when(lane == 0 || tile % 2 == 1))]
pub extern "ptx-kernel" fn conditional(lane: u32, tile: u32) {
    if lane > tile {
        return;
    }
    profile_region!("rest", by = when(lane > 3));
}

/// Two numbers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Tile {
    /// The one.
    pub x: u32,
    /// The other.
    pub y: u32,
}

impl Tile {
    /// Belongs to a type.
    #[profiled(single_body)]
    pub extern "ptx-kernel" fn recorded(self) {
        profile_region!("of a type", value = self.x);
    }
}

/// Takes its parameters apart.
///
/// # Safety
///
/// `output` must be valid for a number.
#[profiled(by = when(x == 0), track = y)]
pub unsafe extern "ptx-kernel" fn in_parts(
    Tile { mut x, y }: Tile,
    whole @ Tile { .. }: Tile,
    _: u32,
    output: *mut u32,
) {
    profile_region!("rest");
    x += whole.x + y;
    // SAFETY: the caller's promise.
    unsafe { *output = x };
}

/// Is not for nvptx64 alone.
#[profiled(by = elected)]
#[unsafe(no_mangle)]
pub extern "ptx-kernel" fn to_no_one() {}

/// Kernels that nobody calls, by each way to record.
pub mod strategies {
    use super::{WARP, profiled};

    /// Each warp.
    #[profiled(by = warp)]
    pub extern "ptx-kernel" fn by_warp() {}

    /// One warp of each block.
    #[profiled(by = warp(WARP))]
    pub extern "ptx-kernel" fn by_one_warp() {}

    /// Each thread.
    #[profiled(by = thread)]
    pub extern "ptx-kernel" fn by_thread() {}

    #[profiled]
    extern "ptx-kernel" fn private() {}
}

/// A kernel in a macro.
macro_rules! kernel {
    ($name:ident, $region:literal) => {
        /// A kernel of a macro.
        ///
        /// # Safety
        ///
        /// `output` must be valid for a number.
        #[profiled(crate = ::profiler_device)]
        pub unsafe extern "ptx-kernel" fn $name(output: *mut u32) {
            profile_region!($region, crate = ::profiler_device, {
                // SAFETY: the caller's promise.
                unsafe { *output = 1 };
            });
        }
    };
}
kernel!(methods, "of a macro");

/// Without `unsafe`.
pub mod safe {
    #![deny(unsafe_code)]

    use super::{profile_region, profiled};

    /// Is safe, and says nothing of `unsafe`.
    #[profiled]
    pub extern "ptx-kernel" fn safe() {
        profile_region!("safe");
    }
}
