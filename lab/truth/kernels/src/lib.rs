//! Kernels that know how long their regions last: each measures its own work by its own clock
//! readings and writes them to a buffer, for the host to compare with what the profiler recorded.
//!
//! On a GPU those whose records go to memory of the host are a module of their own, by the feature
//! `host-buffer`: a module that has one of them has all its buffers there.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
#![cfg_attr(
    all(target_arch = "nvptx64", not(feature = "host-buffer")),
    feature(asm_experimental_arch)
)]

#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
mod cross_check;
#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
mod density;
#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
mod frequency;
mod known_work;
#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
mod latency;
#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
mod releases;
#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
mod schedule;

#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
pub use cross_check::{
    COPIED_BYTES, COPIES, FILLING, Line, STRAIGHT, cross_check_8, cross_check_32, cross_check_128,
    cross_check_512, cross_check_2048, cross_check_copy, cross_check_nothing,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use cross_check::{CROSS_CHECK, CrossCheckKernel};
#[cfg(not(target_arch = "nvptx64"))]
pub use density::DENSITY;
#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
pub use density::{PARTS, THREADS, density_all, density_half, density_off};
#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
pub use frequency::{
    LOADED_THREADS, PRODUCT_FLOPS, ROUND_PRODUCTS, ROUND_READS, TIME_WORDS, fill, loaded_anchored,
    loaded_cycles, loaded_timer,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use known_work::{HOSTED_WORK, KNOWN_WORK, KnownWorkKernel};
pub use known_work::{
    LEVELS, RANGE, SHORT, TOKEN, VALUE, WAIT, WAIT_FOUR, WARM_UP_CYCLES, WARPS_APART, WHEN_THREAD,
};
#[cfg(any(not(target_arch = "nvptx64"), feature = "host-buffer"))]
pub use known_work::{
    hosted_block_cycles, hosted_block_timer, hosted_elected_cycles, hosted_elected_timer,
    hosted_thread_cycles, hosted_thread_timer, hosted_warp_cycles, hosted_warp_group_cycles,
    hosted_warp_group_timer, hosted_warp_index_cycles, hosted_warp_index_timer, hosted_warp_timer,
    hosted_when_cycles, hosted_when_timer,
};
#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
pub use known_work::{
    work_block_cycles, work_block_timer, work_elected_cycles, work_elected_timer,
    work_thread_cycles, work_thread_timer, work_warp_cycles, work_warp_group_cycles,
    work_warp_group_timer, work_warp_index_cycles, work_warp_index_timer, work_warp_timer,
    work_when_cycles, work_when_timer,
};
#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
pub use latency::{CHAIN, NODE_BYTES, Node, PLAIN_LOADS, SINGLES, chase, link};
#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
pub use releases::{ARRIVED, EXPIRED, FLAG, MOMENT, NOTICE_NS, SYNC_WORDS, releases};
#[cfg(not(all(target_arch = "nvptx64", feature = "host-buffer")))]
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
