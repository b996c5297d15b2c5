//! LLVM copies a bare `asm!` into both arms of a branch; the collectives of profiler-kernel stay
//! one.

use crate::support;

use support::{count, entry, ptx_test};

const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/collectives.ptx"));

/// Each kernel, its collective, and how often it stands there in the source.
const GUARDED: [(&str, &str, usize); 23] = [
    ("sync_threads", "bar.sync", 1),
    ("barrier_sync", "bar.sync", 1),
    ("barrier_arrive", "bar.arrive", 1),
    ("sync_warp", "bar.warp.sync", 1),
    ("shuffle", "shfl.sync.idx", 1),
    ("shuffle_xor", "shfl.sync.bfly", 1),
    ("shuffle_up", "shfl.sync.up", 1),
    ("shuffle_down", "shfl.sync.down", 1),
    ("reduce", "shfl.sync.bfly", 5),
    ("ballot", "vote.sync.ballot", 1),
    ("any", "vote.sync.ballot", 1),
    ("all", "vote.sync.ballot", 1),
    ("match_any", "match.any.sync", 1),
    ("match_all", "match.all.sync", 1),
    ("sync_threads_count", "bar.red.popc", 1),
    ("sync_threads_and", "bar.red.and", 1),
    ("sync_threads_or", "bar.red.or", 1),
    ("active_mask", "activemask", 1),
    ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x4.shared", 1),
    ("ldmatrix_trans", "ldmatrix.sync.aligned.m8n8.x4.trans", 1),
    ("matrix_product", "mma.sync", 1),
    ("matrix_product_f16", "mma.sync", 1),
    ("matrix_product_tf32", "mma.sync", 1),
];

/// The same without the guard: a kernel for each kind of operands.
const UNGUARDED: [(&str, &str); 4] = [
    ("unguarded_barrier", "bar.sync"),
    ("unguarded_shuffle", "shfl.sync.bfly"),
    ("unguarded_vote", "vote.sync.ballot"),
    ("unguarded_product", "mma.sync"),
];

ptx_test! {
    fn every_collective_stays_one() {
        for (kernel, instruction, expected) in GUARDED {
            let found = count(&entry(PTX, kernel), &[instruction]);
            assert_eq!(found, expected, "{instruction} in {kernel}");
        }
    }
}

ptx_test! {
    /// Shows that the other test would see it break.
    fn without_the_guard_there_are_two() {
        for (kernel, instruction) in UNGUARDED {
            let found = count(&entry(PTX, kernel), &[instruction]);
            assert_eq!(found, 2, "{instruction} in {kernel}");
        }
    }
}
