//! One loop with eight parts, annotated fully, by half, and not at all.

use profiler_device::{profile_region, profiled, recorder};
use profiler_kernel::math::fma;

use crate::{thread_of_grid, threads_of_grid};

/// Names of the parts of an iteration; [`density_half`] annotates every other one, from the first.
pub const PARTS: [&str; 8] =
    ["part 1", "part 2", "part 3", "part 4", "part 5", "part 6", "part 7", "part 8"];
/// Threads of a block.
pub const THREADS: u32 = 256;
/// Multiply-adds of a part, each of which needs the one before.
const STEPS: u32 = 48;

/// A chain of multiply-adds; an exact one, so that the result tells whether all were done.
#[inline(always)]
fn chain(mut value: f32) -> f32 {
    let mut step = 0;
    while step < STEPS {
        value = fma(value, -1.0, 1.0);
        step += 1;
    }
    value
}

/// A part in a region, or without one.
macro_rules! part {
    (region, $recorder:ident, $name:literal, $value:ident, $work:expr) => {
        profile_region!($name, recorder = $recorder, pin = $value, { $value = $work })
    };
    (bare, $recorder:ident, $name:literal, $value:ident, $work:expr) => {
        $value = $work
    };
}

macro_rules! density {
    ($($name:ident: [$($enabled:tt)*], $odd:ident, $even:ident, $doc:literal;)*) => {
        $(
            #[doc = $doc]
            ///
            /// Each iteration loads a number of `input` (part 1), works on it (parts 2 to 7), and
            /// stores the result to `output` (part 8). Thread `t` of the grid has the numbers
            /// `i * threads + t`.
            ///
            /// # Safety
            ///
            /// Both arrays must be valid for `iterations` numbers a thread of the grid.
            #[profiled(max_threads = THREADS $($enabled)*)]
            pub unsafe extern "ptx-kernel" fn $name(
                input: *const f32,
                output: *mut f32,
                iterations: u32,
            ) {
                let recorder = recorder!();
                let mut iteration = 0;
                while iteration < iterations {
                    let index = iteration as usize * threads_of_grid() + thread_of_grid();
                    let mut value = 0.0_f32;
                    // SAFETY: iteration < iterations.
                    part!($odd, recorder, "part 1", value, chain(unsafe { *input.add(index) }));
                    part!($even, recorder, "part 2", value, chain(value));
                    part!($odd, recorder, "part 3", value, chain(value));
                    part!($even, recorder, "part 4", value, chain(value));
                    part!($odd, recorder, "part 5", value, chain(value));
                    part!($even, recorder, "part 6", value, chain(value));
                    part!($odd, recorder, "part 7", value, chain(value));
                    part!($even, recorder, "part 8", value, {
                        let result = chain(value);
                        // SAFETY: as above; each thread has numbers of its own.
                        unsafe { *output.add(index) = result };
                        result
                    });
                    let _last = value;
                    iteration += 1;
                }
            }
        )*

        /// The three kernels, for the host to launch.
        #[cfg(not(target_arch = "nvptx64"))]
        pub const DENSITY: [(&str, unsafe fn(*const f32, *mut f32, u32)); 3] =
            [$((stringify!($name), $name)),*];
    };
}

density! {
    density_all: [], region, region, "All parts in regions.";
    density_half: [], region, bare, "Every other part in a region.";
    density_off: [, enabled = false], region, region, "All parts in regions that are switched off.";
}
