//! Kernels that know how long their regions last: each measures its own work by its own clock
//! readings and writes them to a buffer, for the host to compare with what the profiler recorded.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]

mod cross_check;
mod density;
mod frequency;
mod known_work;
mod latency;
mod releases;
mod schedule;

pub use cross_check::{
    COPIED_BYTES, COPIES, FILLING, Line, STRAIGHT, cross_check_8, cross_check_32, cross_check_128,
    cross_check_512, cross_check_2048, cross_check_copy, cross_check_nothing,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use cross_check::{CROSS_CHECK, CrossCheckKernel};
#[cfg(not(target_arch = "nvptx64"))]
pub use density::DENSITY;
pub use density::{PARTS, THREADS, density_all, density_half, density_off};
pub use frequency::{
    LOADED_THREADS, PRODUCT_FLOPS, ROUND_PRODUCTS, ROUND_READS, TIME_WORDS, fill, loaded_cycles,
    loaded_timer,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use known_work::{KNOWN_WORK, KnownWorkKernel};
pub use known_work::{
    LEVELS, RANGE, TOKEN, VALUE, WAIT, WARM_UP_CYCLES, WHEN_THREAD, work_block_cycles,
    work_block_timer, work_elected_cycles, work_elected_timer, work_thread_cycles,
    work_thread_timer, work_warp_cycles, work_warp_group_cycles, work_warp_group_timer,
    work_warp_index_cycles, work_warp_index_timer, work_warp_timer, work_when_cycles,
    work_when_timer,
};
pub use latency::{CHAIN, NODE_BYTES, Node, PLAIN_LOADS, SINGLES, chase, link};
pub use releases::{ARRIVED, EXPIRED, FLAG, SYNC_WORDS, releases};
pub use schedule::{READING_WORDS, STEP_WORDS, scheduled_cycles, scheduled_timer};

use profiler_kernel::thread;

/// The thread's index in the grid.
#[inline(always)]
fn thread_of_grid() -> usize {
    thread::index_1d() as usize
}

/// Threads of the grid.
#[inline(always)]
fn threads_of_grid() -> usize {
    (thread::grid_dim_x() * thread::block_dim_x()) as usize
}
