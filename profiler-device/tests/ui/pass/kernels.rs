//! Every argument of a kernel, every way to export it, and what else may stand on a function.
#![deny(warnings)]
#![allow(dead_code, reason = "compiled, not run")]

use profiler_device::{profile_region, profiled, recorder};

const THREADS: u32 = 256;
const TUNING: bool = cfg!(debug_assertions);

#[profiled]
pub extern "ptx-kernel" fn bare() {}

#[profiled()]
extern "ptx-kernel" fn with_parentheses() {}

/// Documented.
#[profiled(
    name = "all of them",
    by = warp(3),
    track = tile + 1,
    clock = globaltimer,
    buffer = global,
    enabled = TUNING && THREADS > 1,
    max_threads = THREADS,
    min_blocks = 2,
    max_registers = 128,
    crate = ::profiler_device,
)]
#[inline(never)]
#[allow(clippy::too_many_arguments, reason = "another attribute")]
pub(crate) unsafe extern "ptx-kernel" fn everything(tile: u32) {
    #![doc = "Inner documentation."]
    #![allow(unused_variables, reason = "an inner attribute")]
    let unused = tile;
}

#[profiled(by = when(lane == 0 || tile % 2 == 1))]
extern "ptx-kernel" fn conditional(lane: u32, tile: u32) {
    if lane > tile {
        return;
    }
    profile_region!("rest", by = when(lane > 3));
}

// No anchor of this kernel's own, which is refused: a name, and one of a recorder.
#[profiled(clock = globaltimer)]
extern "ptx-kernel" fn anchors_elsewhere(rounds: u32) {
    use profiler_device::profile_anchor;
    #[allow(unused_parens, reason = "an attribute after the name")]
    let last = (rounds - 1);
    let prof = recorder!();
    for round in 0..rounds {
        if round == last {
            profile_anchor!(recorder = prof);
        }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Tile {
    x: u32,
    y: u32,
}

struct Moved(u32);

#[profiled(by = when(x == 0), track = y)]
extern "ptx-kernel" fn in_parts(
    Tile { mut x, y }: Tile,
    whole @ Tile { .. }: Tile,
    ref kept: u32,
    Moved(inside): Moved,
    _: u32,
) {
    profile_region!("rest");
    x += whole.x + *kept + inside + y;
    let _ = x;
}

#[profiled]
extern "ptx-kernel" fn has_items(output: impl Fn() -> u32) {
    struct Local(u32);
    impl Local {
        fn new(number: u32) -> Self {
            Self(number)
        }
    }
    profile_region!("rest", value = Local::new(output()).0);
}

impl Tile {
    #[profiled(single_body)]
    extern "ptx-kernel" fn associated(tile: Self) {
        profile_region!("rest", value = tile.x);
    }
}

const PRODUCER: u32 = 1;
#[profiled(by = warp(PRODUCER))]
extern "ptx-kernel" fn by_constant() {
    profile_region!("produce", by = warp(PRODUCER), {
        profile_region!("inner");
    });
}

#[profiled]
#[unsafe(no_mangle)]
extern "ptx-kernel" fn exported_below() {}

#[unsafe(export_name = "another_symbol")]
#[profiled]
extern "ptx-kernel" fn exported_above() {}

#[profiled]
#[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))]
extern "ptx-kernel" fn exported_on_the_device() {}

#[profiled]
unsafe extern "ptx-kernel" fn generic<'a, T: Copy + 'a, const N: usize>(
    output: *mut T,
    input: &'a [T; N],
) where
    T: core::ops::Add<Output = T>,
{
    profile_region!("sum", {
        // SAFETY: the caller gives a pointer to at least one element.
        unsafe { *output = input[0] + input[N - 1] }
    });
}

#[profiled]
extern "ptx-kernel" fn r#loop(mut left: u32) -> () {
    loop {
        left -= 1;
        if left == 0 {
            break;
        }
    }
}

#[profiled]
extern "ptx-kernel" fn forever() {
    loop {
        core::hint::spin_loop();
    }
}

mod nested {
    use profiler_device::profiled;

    #[profiled]
    pub(super) extern "ptx-kernel" fn in_a_module() {}

    pub struct Kernels;
    impl Kernels {
        #[profiled]
        pub unsafe extern "ptx-kernel" fn associated(_output: *mut u32) {}
    }
}

/// Items in a function's body know nothing of its parameters.
fn outer<T, const N: usize>() -> [Option<T>; N] {
    #[profiled]
    extern "ptx-kernel" fn inside_a_generic_function(rounds: u32) {
        profile_region!("rounds", value = rounds);
    }
    [const { None }; N]
}

fn main() {
    #[profiled]
    extern "ptx-kernel" fn inside_a_function() {}
    let [_none] = outer::<u8, 1>();
}
