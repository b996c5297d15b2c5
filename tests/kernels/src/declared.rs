//! Kernels whose `asm!` declares shared memory, as kernels without a macro for it do: it is to take
//! as many bytes with profiling as without.

use profiler_device::{Recorder, profiled, recorder};
use profiler_kernel::warp::lane_id;

/// The address of what this text declares by the name that it gives to the operand `p`.
macro_rules! declared {
    ($($text:expr),+) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            let p: *mut u32;
            // SAFETY: gives the address of an array of the block's own.
            unsafe { core::arch::asm!($($text),+, p = out(reg64) p) };
            p
        }
        #[cfg(not(target_arch = "nvptx64"))]
        panic!("the kernels of this crate are assembled only")
    }};
}

/// With a name that the compiler makes: each place where it is inlined has an array of its own.
#[inline(always)]
fn unique() -> *mut u32 {
    declared!(".shared .align 4 .b8 {p}_tile[1024];", "cvta.shared.u64 {p}, {p}_tile;")
}

/// With one name, which can be there once.
#[inline(always)]
fn fixed() -> *mut u32 {
    declared!(".shared .align 4 .b8 tile[1024];", "cvta.shared.u64 {p}, tile;")
}

/// With one name, in a block of its own.
#[inline(always)]
fn scoped() -> *mut u32 {
    declared!("{{ .shared .align 4 .b8 tile[1024];", "cvta.shared.u64 {p}, tile; }}")
}

/// Two of other types by one declaration, beside a register.
#[inline(always)]
fn several() -> *mut u32 {
    declared!(
        ".reg .pred nonzero; .shared .u64 {p}_low[4][8], {p}_high;",
        "setp.ne.u64 nonzero, 1, 0;",
        "cvta.shared.u64 {p}, {p}_low; @nonzero st.shared.u64 [{p}_high], {p};"
    )
}

/// Each lane writes an element of the array, and reads one.
///
/// # Safety
///
/// The array has an element for each lane, and `output` is valid for one number.
#[profiled]
unsafe fn pass(prof: Recorder<'_>, array: *mut u32, output: *mut u32) {
    let lane = lane_id();
    // SAFETY: by contract.
    unsafe {
        array.add(lane as usize).write_volatile(lane);
        output.write_volatile(array.add(7).read_volatile());
    }
}

/// Kernels with the array of a function and arguments of their own.
macro_rules! kernels {
    ($($name:ident: $array:ident($($arguments:tt)*);)*) => {
        $(
            /// Uses an array once.
            ///
            /// # Safety
            ///
            /// `output` must be valid for one number.
            #[profiled($($arguments)*)]
            pub unsafe extern "ptx-kernel" fn $name(output: *mut u32) {
                // SAFETY: an element for each lane, and by contract.
                unsafe { pass(recorder!(), $array(), output) };
            }
        )*
    };
}

kernels! {
    fixed_by_warp: fixed(by = warp);
    scoped_by_warp: scoped(by = warp);
    several_by_warp: several(by = warp);
    unique_by_warp: unique(by = warp);
    unique_by_thread: unique(by = thread);
    unique_by_elected: unique(by = elected);
    unique_by_block: unique(by = block);
    unique_by_warp_group: unique(by = warp_group);
    unique_by_first_warp: unique(by = warp(0));
    unique_when: unique(by = when(lane_id() == 3));
    unique_on_a_track: unique(track = 3);
    unique_in_host_memory: unique(buffer = host);
    unique_by_globaltimer: unique(clock = globaltimer);
    unique_with_bounds: unique(max_threads = 128);
    unique_in_one_body: unique(single_body);
}

/// Four arrays that are alike, in arms and a loop, and others.
///
/// # Safety
///
/// `output` must be valid for two numbers.
#[profiled]
pub unsafe extern "ptx-kernel" fn many(output: *mut u32, rounds: u32) {
    let first = unique();
    if rounds > 3 {
        // SAFETY: an element for each lane, and by contract.
        unsafe { pass(recorder!(), unique(), output) };
    } else {
        // SAFETY: an element for each lane, and by contract.
        unsafe { pass(recorder!(), unique(), output.add(1)) };
    }
    for _ in 0..rounds {
        // SAFETY: an element for each lane, and by contract.
        unsafe { pass(recorder!(), unique(), output) };
    }
    // SAFETY: an element for each lane, and by contract.
    unsafe { pass(recorder!(), fixed(), output) };
    // SAFETY: an element for each lane, and by contract.
    unsafe { pass(recorder!(), scoped(), output) };
    // SAFETY: an element for each lane, and by contract.
    unsafe { pass(recorder!(), scoped(), output) };
    // SAFETY: an element for each lane, and by contract.
    unsafe { pass(recorder!(), several(), output) };
    // SAFETY: an element for each lane, and by contract.
    unsafe { pass(recorder!(), first, output) };
}
