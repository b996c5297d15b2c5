//! The latency of loads that depend on each other, with and without regions around them.

use profiler_device::hardware::clock64;
use profiler_device::{profile_region, profiled};

use crate::thread_of_grid;

/// Loads of a region "chain".
pub const CHAIN: u32 = 64;
/// Loads between the two readings of a round without regions, and in all chains of a round.
pub const PLAIN_LOADS: u32 = 4096;
/// Regions "load" of a round, each with one load.
pub const SINGLES: u32 = 1024;
/// Bytes from one node to the next: a cache line.
pub const NODE_BYTES: usize = 128;

/// A node of a cycle of pointers.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub struct Node {
    next: *const Node,
}

const _: () = assert!(size_of::<Node>() == NODE_BYTES);

/// Links `1 << log_count` nodes to one cycle that jumps about: node `i` points to node
/// `multiplier * i + increment`, modulo their number. By the theorem of Hull and Dobell this is one
/// cycle through all nodes where `multiplier` is 1 modulo 4 and `increment` is odd. Each thread of
/// the grid links one node.
///
/// # Safety
///
/// `nodes` must be valid for `1 << log_count` nodes.
#[profiled(enabled = false)]
pub unsafe extern "ptx-kernel" fn link(
    nodes: *mut Node,
    log_count: u32,
    multiplier: u32,
    increment: u32,
) {
    let (index, mask) = (thread_of_grid(), (1_usize << log_count) - 1);
    if index > mask {
        return;
    }
    let next = (index as u32).wrapping_mul(multiplier).wrapping_add(increment) as usize & mask;
    // SAFETY: both are less than the number of nodes, and each thread has a node of its own.
    unsafe { (*nodes.add(index)).next = nodes.add(next) };
}

/// Follows `steps` pointers.
///
/// # Safety
///
/// The nodes must be linked.
#[inline(always)]
unsafe fn follow(mut node: *const Node, steps: u32) -> *const Node {
    let mut step = 0;
    while step < steps {
        // SAFETY: the caller's.
        node = unsafe { (*node).next };
        step += 1;
    }
    node
}

/// Follows `warm_up` pointers, and then in each round [`PLAIN_LOADS`] between two clock readings,
/// [`PLAIN_LOADS`] in regions "chain" of [`CHAIN`], and [`SINGLES`] in regions "load" of one.
/// `plain[2 * round]` becomes the cycles between the readings, `plain[2 * round + 1]` the address
/// that was reached. For one thread.
///
/// # Safety
///
/// `nodes` must be linked by [`link`], `plain` valid for two numbers a round.
#[profiled]
pub unsafe extern "ptx-kernel" fn chase(
    nodes: *const Node,
    plain: *mut u64,
    rounds: u32,
    warm_up: u32,
) {
    // SAFETY: the caller links them.
    let mut node = unsafe { follow(nodes, warm_up) };
    let mut round = 0;
    while round < rounds {
        // SAFETY: two numbers a round.
        let out = unsafe { plain.add(2 * round as usize) };
        let begin = clock64();
        // SAFETY: the caller links the nodes.
        node = unsafe { follow(node, PLAIN_LOADS) };
        // The store waits for the last load, and stands before the reading of the clock.
        // SAFETY: as above.
        unsafe { out.add(1).write_volatile(node as u64) };
        let end = clock64();
        // SAFETY: as above.
        unsafe { *out = end - begin };
        let mut chain = 0;
        while chain < PLAIN_LOADS / CHAIN {
            // SAFETY: the caller links the nodes.
            node = profile_region!("chain", wait, { unsafe { follow(node, CHAIN) } });
            chain += 1;
        }
        let mut single = 0;
        while single < SINGLES {
            // SAFETY: the caller links the nodes.
            node = profile_region!("load", wait, { unsafe { (*node).next } });
            single += 1;
        }
        round += 1;
    }
}
