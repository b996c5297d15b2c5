//! Barriers, warp operations and shared arrays, beside what kernels of the repository's `tests` do with them on both
//! back ends.

use crate::common::run;

use profiler_kernel::shared::{dynamic_shared, dynamic_shared_bytes};
use profiler_kernel::warp::{ALL_LANES, lane_id};
use profiler_kernel::{math, shared_array, thread, warp};

shared_array!(static PARTIAL: [f32; 32]);
shared_array!(static FLAGS: [u8; 3], align = 1);
shared_array!(static WIDE: [u64; 64], align = 128);

#[test]
fn a_barrier_counts_the_threads_that_have_not_left() {
    run(2, 70, || {
        let rank = thread::thread_rank();
        for round in 0..4 {
            assert_eq!(thread::sync_threads_count(rank >= 60), 10);
            assert!(thread::sync_threads_or(rank == 60 + round));
            assert_eq!(thread::sync_threads_and(rank >= 10 * round), round == 0);
        }
        if rank < 60 {
            return;
        }
        assert_eq!(thread::sync_threads_count(true), 10);
        assert!(thread::sync_threads_and(rank >= 60));
        assert!(!thread::sync_threads_or(rank < 60));
    })
    .unwrap();
}

#[test]
fn lanes_that_a_mask_names_vote_shuffle_and_match() {
    run(1, 32, || {
        let lane = lane_id();
        let half = if lane < 16 { 0xffff } else { 0xffff_0000 };
        let wide = u64::from(lane) << 40;
        // SAFETY: both halves name themselves, and all lanes that a mask names come to the call.
        unsafe {
            assert_eq!(warp::shuffle(ALL_LANES, lane, lane + 5), (lane + 5) % 32);
            assert_eq!(warp::shuffle_xor(half, lane as f32 + 0.5, 1), (lane ^ 1) as f32 + 0.5);
            let below = if lane.is_multiple_of(16) { lane } else { lane - 1 };
            assert_eq!(warp::shuffle_up_width(half, wide, 1, 16) >> 40, below.into());
            assert_eq!(warp::match_any(half, 0_u64), half);
            assert_eq!(warp::match_any(half, lane / 4), 0xf << (lane / 4 * 4));
            assert!(warp::match_all(half, f64::from(lane / 16)));
            assert!(!warp::any(ALL_LANES, lane == 32) && warp::all(ALL_LANES, lane < 32));
            if lane >= 8 {
                assert_eq!(warp::ballot(!0xff, lane < 12), 0xf00);
                assert_eq!(warp::active_mask(), !0xff);
            }
            warp::sync_warp(ALL_LANES);
        }
        assert_eq!(warp::active_mask(), ALL_LANES);
    })
    .unwrap();
}

#[test]
fn a_trap_of_the_shim_fails_the_launch() {
    // SAFETY: it does not return.
    let error = run(1, 1, || unsafe { profiler_kernel::shim::nvptx::trap() }).unwrap_err();
    assert!(error.to_string().contains("`trap`"), "{error}");
}

#[test]
fn shared_arrays_are_distinct_aligned_and_per_block() {
    assert_eq!((PARTIAL.len(), FLAGS.len(), WIDE.is_empty()), (32, 3, false));
    run(6, 1, || {
        let block = thread::block_idx_x();
        let (partial, wide) = (PARTIAL.as_mut_ptr().addr(), WIDE.as_mut_ptr().addr());
        assert!(partial.is_multiple_of(16) && wide.is_multiple_of(128));
        assert!(partial + 128 <= wide || wide + 512 <= partial);
        // SAFETY: one thread in the block.
        unsafe {
            assert_eq!(WIDE.read(3), u64::MAX, "a fresh block sees nothing of the block before");
            FLAGS.write(2, block as u8);
            WIDE.write(3, 1 << 40 | u64::from(block));
            assert_eq!((FLAGS.read(2), WIDE.read(3)), (block as u8, 1 << 40 | u64::from(block)));
            assert!(PARTIAL.read(0).is_nan());
            assert_eq!(dynamic_shared_bytes(), 8192);
            dynamic_shared().add(8191).write(1);
        }
    })
    .unwrap();
}

#[test]
fn an_index_past_the_end_of_a_shared_array_is_an_error() {
    // SAFETY: the wrong index is what the twin checks.
    let error = run(1, 1, || unsafe { FLAGS.write(3, 1) }).unwrap_err().to_string();
    assert!(error.contains("index 3 of a shared array of 3"), "{error}");
}

#[test]
fn arithmetic_agrees_with_std() {
    for x in [-20.0f32, -1.0, 0.0, 0.3, 7.5] {
        assert!((math::exp2(x) / x.exp2() - 1.0).abs() < 1e-6);
        assert!((math::exp(x) / x.exp() - 1.0).abs() < 1e-5);
        assert_eq!(math::fma(x, x, -1.0), x.mul_add(x, -1.0));
    }
    assert_eq!(math::rsqrt(16.0), 0.25);
}
