//! Indices, barriers, warp operations, shared arrays and atomics against plain references.

use crate::common;

use std::sync::Mutex;

use common::{Global, run};
use profiler_emulator::{LaunchConfig, launch};
use profiler_kernel::shared::{dynamic_shared, dynamic_shared_bytes};
use profiler_kernel::warp::{ALL_LANES, lane_id};
use profiler_kernel::{atomic, math, shared_array, thread, warp};

shared_array!(static PARTIAL: [f32; 32]);
shared_array!(static FLAGS: [u8; 3], align = 1);
shared_array!(static WIDE: [u64; 64], align = 128);

#[test]
fn indices_cover_grid_and_block() {
    let seen = Mutex::new(Vec::new());
    let config = LaunchConfig::new([2, 3, 4], [5, 3, 7]);
    launch(&config, || {
        assert_eq!(
            [thread::block_dim_x(), thread::block_dim_y(), thread::block_dim_z()],
            config.block
        );
        assert_eq!([thread::grid_dim_x(), thread::grid_dim_y(), thread::grid_dim_z()], config.grid);
        assert_eq!(warp::warp_id() * 32 + lane_id(), thread::thread_rank());
        assert_eq!(thread::index_1d(), thread::block_idx_x() * 5 + thread::thread_idx_x());
        let index = [
            thread::block_idx_x(),
            thread::block_idx_y(),
            thread::block_idx_z(),
            thread::thread_idx_x(),
            thread::thread_idx_y(),
            thread::thread_idx_z(),
        ];
        seen.lock().unwrap().push((index, thread::thread_rank()));
    })
    .unwrap();
    let mut seen = seen.into_inner().unwrap();
    assert!(seen.iter().all(|&([.., x, y, z], rank)| rank == (z * 3 + y) * 5 + x));
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 24 * 105);
}

#[test]
fn a_block_sums_its_part_of_a_vector() {
    let input: Vec<f32> = (0..1000).map(|i| (i % 17) as f32).collect();
    let sums = Global::new([0.0f32; 4]);
    run(4, 256, || {
        let value = input.get(thread::index_1d() as usize).copied().unwrap_or(0.0);
        // SAFETY: all threads come here; each element is written by one warp before the barrier,
        // and read after it.
        unsafe {
            let sum = warp::reduce(value, |a, b| a + b);
            if lane_id() == 0 {
                PARTIAL.write(warp::warp_id() as usize, sum);
            }
            thread::sync_threads();
            if warp::warp_id() == 0 {
                let value = if lane_id() < 8 { PARTIAL.read(lane_id() as usize) } else { 0.0 };
                let sum = warp::reduce(value, |a, b| a + b);
                if lane_id() == 0 {
                    sums.set(thread::block_idx_x() as usize, sum);
                }
            }
        }
    })
    .unwrap();
    let expected: Vec<f32> = input.chunks(256).map(|part| part.iter().sum()).collect();
    assert_eq!(sums.into_inner().as_slice(), expected);
}

#[test]
fn shuffles_move_values_between_lanes() {
    run(1, 32, || {
        let lane = lane_id();
        let value = lane * 3 + 1;
        let of = |lane: u32| lane * 3 + 1;
        // SAFETY: all lanes come to each call; the halves name themselves.
        unsafe {
            assert_eq!(warp::shuffle(ALL_LANES, value, lane + 5), of((lane + 5) % 32));
            assert_eq!(warp::shuffle_xor(ALL_LANES, value, 9), of(lane ^ 9));
            let above = if lane + 4 < 32 { lane + 4 } else { lane };
            assert_eq!(warp::shuffle_down(ALL_LANES, value, 4), of(above));
            assert_eq!(warp::shuffle(ALL_LANES, -(lane as i32), 7), -7);
            assert_eq!(warp::shuffle(ALL_LANES, lane as f32 + 0.5, 31), 31.5);
            let half = if lane < 16 { 0xffff } else { 0xffff_0000 };
            assert_eq!(warp::shuffle_xor(half, value, 1), of(lane ^ 1));
            assert_eq!(warp::reduce(value, u32::max), of(31));
        }
    })
    .unwrap();
}

#[test]
fn votes_count_the_lanes_of_the_mask() {
    run(1, 32, || {
        let lane = lane_id();
        // SAFETY: all lanes that a mask names come to the call.
        unsafe {
            assert_eq!(warp::ballot(ALL_LANES, lane.is_multiple_of(3)), 0x4924_9249);
            assert!(warp::any(ALL_LANES, lane == 9) && !warp::any(ALL_LANES, lane == 32));
            assert!(warp::all(ALL_LANES, lane < 32) && !warp::all(ALL_LANES, lane != 9));
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
fn a_lane_of_a_half_warp_shuffles_and_matches_within_it() {
    run(1, 32, || {
        let lane = lane_id();
        let half = if lane < 16 { 0xffff } else { 0xffff_0000 };
        // SAFETY: both halves name themselves, and all their lanes come to each call.
        unsafe {
            let below = if lane.is_multiple_of(16) { lane } else { lane - 1 };
            assert_eq!(
                warp::shuffle_up_width(half, u64::from(lane) << 40, 1, 16) >> 40,
                below.into()
            );
            assert_eq!(warp::match_any(half, 0_u64), half);
            assert_eq!(warp::match_any(half, lane / 4), 0xf << (lane / 4 * 4));
            assert!(warp::match_all(half, f64::from(lane / 16)));
        }
    })
    .unwrap();
}

#[test]
fn a_lock_of_compare_and_swap_admits_one_thread_at_a_time() {
    let (lock, sum) = (Global::new([0u64]), Global::new([0u32]));
    run(4, 64, || {
        // SAFETY: the lock is only used atomically, and who holds it alone uses the sum.
        unsafe {
            atomic::spin_until(|| atomic::atomic_cas(lock.as_mut_ptr(), 0, 1) == 0);
            sum.set(0, sum.get(0) + thread::index_1d());
            thread::device_fence();
            assert_eq!(atomic::atomic_exch(lock.as_mut_ptr(), 0), 1);
        }
    })
    .unwrap();
    assert_eq!(sum.into_inner(), [(0..256).sum()]);
}

#[test]
fn a_trap_of_the_shim_fails_the_launch() {
    // SAFETY: it does not return.
    let error = run(1, 1, || unsafe { profiler_kernel::shim::nvptx::trap() }).unwrap_err();
    assert!(error.to_string().contains("`trap`"), "{error}");
}

#[test]
fn warps_hand_over_through_named_barriers() {
    let seen = Global::new([0u64; 64]);
    run(1, 64, || {
        // SAFETY: both warps use each barrier once a turn with a count of 64; WIDE is written
        // between FREE and FULL, and read between FULL and FREE.
        unsafe {
            const FULL: u32 = 1;
            const FREE: u32 = 2;
            for turn in 0..5 {
                if warp::warp_id() == 0 {
                    if turn > 0 {
                        thread::barrier_sync(FREE, 64);
                    }
                    WIDE.write(lane_id() as usize, turn * 100 + u64::from(lane_id()));
                    thread::barrier_arrive(FULL, 64);
                } else {
                    thread::barrier_sync(FULL, 64);
                    let at = 32 + lane_id() as usize;
                    seen.set(at, seen.get(at) + WIDE.read(31 - lane_id() as usize));
                    if turn < 4 {
                        thread::barrier_arrive(FREE, 64);
                    }
                }
            }
        }
    })
    .unwrap();
    for (lane, &sum) in seen.into_inner()[32..].iter().enumerate() {
        assert_eq!(sum, 1000 + 5 * (31 - lane as u64));
    }
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
fn a_work_queue_hands_out_every_item_once() {
    let next = Global::new([0u32]);
    let done = Global::new([0u32; 100]);
    run(4, 32, || {
        loop {
            // SAFETY: all lanes come to the shuffle; the counter is only used atomically.
            let item = unsafe {
                let item =
                    if lane_id() == 0 { atomic::atomic_add_u32(next.as_mut_ptr(), 1) } else { 0 };
                warp::shuffle(ALL_LANES, item, 0)
            };
            if item >= 100 {
                break;
            }
            if lane_id() == item % 32 {
                done.set(item as usize, done.get(item as usize) + 1);
            }
        }
    })
    .unwrap();
    assert_eq!(next.into_inner(), [104]);
    assert_eq!(done.into_inner(), [1; 100]);
}

#[test]
fn blocks_pass_a_token_round() {
    let token = Global::new([0u32]);
    let order = Global::new([0u32; 4]);
    run(4, 32, || {
        let turn = 3 - thread::block_idx_x();
        if thread::thread_idx_x() == 0 {
            // SAFETY: the token is only used atomically.
            unsafe {
                atomic::spin_until(|| atomic::load_acquire_u32(token.as_mut_ptr()) == turn);
                order.set(turn as usize, thread::block_idx_x());
                thread::device_fence();
                atomic::store_release_u32(token.as_mut_ptr(), turn + 1);
            }
        }
        thread::block_fence();
    })
    .unwrap();
    assert_eq!(order.into_inner(), [3, 2, 1, 0]);
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
