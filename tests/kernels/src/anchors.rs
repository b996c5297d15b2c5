//! A kernel whose only sites that lanes other than lane 0 record at are anchors: they alone say that all
//! lanes need buffers.
#![forbid(unsafe_code)]

use profiler_device::{profile_anchor, profiled};
use profiler_kernel::thread;

/// The lane that takes the last anchor.
pub const LANE: u32 = 3;

/// An anchor by an elected lane, one by each lane, and one by lane [`LANE`]; `rounds` of each.
#[profiled]
pub extern "ptx-kernel" fn anchored(rounds: u32) {
    let mut round = 0;
    while round < rounds {
        profile_anchor!(by = elected);
        profile_anchor!(by = thread);
        profile_anchor!(by = when(thread::thread_idx_x() % 32 == LANE));
        round += 1;
    }
}
