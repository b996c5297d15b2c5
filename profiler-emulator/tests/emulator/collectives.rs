//! Barriers, exchanges and active masks.

#![allow(clippy::if_same_then_else, reason = "arms differ in their place in the source")]

use crate::common;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use common::{collect_both, config, thread};
use profiler_emulator::{
    LaunchConfig, active_mask, active_mask_at, advance, barrier, barrier_arrive, lane_id,
    shared_memory, thread_index, warp_exchange, warp_exchange_words, warp_index, yield_now,
};

/// The block's array of 1024 words, which begins with all bits set.
fn words() -> &'static [AtomicU32; 1024] {
    // SAFETY: 4096 bytes, aligned to 4, any bits are a value; the tests do not use the reference
    // after the kernel, when the array is freed. Threads share atomics.
    unsafe { &*shared_memory(1, 4096, 4).cast() }
}

#[test]
fn a_barrier_shows_every_thread_what_the_others_wrote() {
    for (shape, count) in [([1, 1, 1], 1), ([7, 5, 3], 105), ([33, 1, 1], 33), ([1024, 1, 1], 1024)]
    {
        let config = LaunchConfig::new([3, 1, 1], shape);
        let sums = collect_both(&config, || {
            words()[thread()].store(thread_index()[0] + 1, Relaxed);
            barrier(0, None);
            words().iter().take(count).map(|word| word.load(Relaxed)).sum::<u32>()
        });
        let expected: u32 = (0..count as u32).map(|linear| linear % shape[0] + 1).sum();
        assert_eq!(sums.len(), 3 * count);
        assert!(sums.iter().all(|&(_, _, sum)| sum == expected), "{shape:?}");
    }
}

#[test]
fn shared_memory_begins_poisoned_in_every_block() {
    let first = collect_both(&config(9, 1), || words()[5].swap(7, Relaxed));
    assert!(first.iter().all(|&(_, _, word)| word == u32::MAX));
}

#[test]
fn a_barrier_does_not_wait_for_threads_that_have_left() {
    let done = collect_both(&config(1, 96), || {
        if thread() >= 40 {
            return false;
        }
        barrier(0, None);
        barrier(0, None);
        true
    });
    assert_eq!(done.iter().filter(|&&(_, _, waited)| waited).count(), 40);
}

#[test]
fn named_barriers_count_their_threads() {
    // Warp 0 produces for warps 1 and 2 one after the other; warp 3 takes no part.
    let seen = collect_both(&config(1, 128), || match warp_index() {
        0 => {
            for consumer in 1..3 {
                words()[consumer * 32 + lane_id() as usize].store(consumer as u32, Relaxed);
                barrier_arrive(consumer as u32, 64);
            }
            0
        }
        3 => 3,
        consumer => {
            barrier(consumer, Some(64));
            words()[thread()].load(Relaxed)
        }
    });
    assert!(seen.iter().all(|&(_, thread, value)| value == thread as u32 / 32));
}

#[test]
fn a_warp_counts_for_32_threads_at_a_named_barrier() {
    // The second warp has 16 lanes; or it has 32, of which 18 leave.
    for (threads, staying) in [(48, 48), (64, 50)] {
        let seen = collect_both(&config(1, threads), || {
            if thread() >= staying {
                return true;
            }
            words()[thread()].store(1, Relaxed);
            barrier(1, Some(64));
            let all_stored = words().iter().take(staying).all(|word| word.load(Relaxed) == 1);
            match warp_index() {
                0 => barrier_arrive(2, 64),
                _ => barrier(2, Some(64)),
            }
            all_stored
        });
        assert_eq!(seen.len(), threads as usize);
        assert!(seen.iter().all(|&(_, _, all_stored)| all_stored), "{seen:?}");
    }
}

#[test]
fn lanes_that_are_early_at_a_named_barrier_are_there_in_the_next_round() {
    collect_both(&config(1, 96), || match warp_index() {
        0 => {
            advance(if lane_id() == 0 { 0 } else { 1_000 });
            barrier(1, Some(64));
        }
        1 => {
            barrier(1, Some(64));
            barrier(1, Some(64));
        }
        _ => barrier(1, Some(64)),
    });
}

#[test]
fn an_exchange_gives_every_lane_all_values() {
    let seen = collect_both(&config(1, 48), || {
        let mask = if warp_index() == 0 { u32::MAX } else { 0xffff };
        warp_exchange(mask, thread() as u64 * 10)
    });
    for (_, thread, values) in seen {
        for (lane, value) in values.into_iter().enumerate() {
            let expected =
                if thread < 32 || lane < 16 { (thread / 32 * 32 + lane) * 10 } else { 0 };
            assert_eq!(value, expected as u64);
        }
    }
}

#[test]
fn halves_of_a_warp_exchange_apart() {
    let seen = collect_both(&config(1, 32), || {
        let mask = if lane_id().is_multiple_of(2) { 0x5555_5555 } else { 0xaaaa_aaaa };
        let mut sum = 0;
        // The halves make different numbers of exchanges.
        for turn in 0..=u64::from(lane_id() % 2) {
            let values = warp_exchange_words(mask, [turn, u64::from(lane_id())]);
            sum += values.iter().map(|&[turn, lane]| turn * 1000 + lane).sum::<u64>();
        }
        sum
    });
    for (_, thread, sum) in seen {
        assert_eq!(sum, if thread % 2 == 0 { 240 } else { 256 + 256 + 16_000 });
    }
}

#[test]
fn an_exchange_ignores_lanes_that_have_left() {
    let seen = collect_both(&config(1, 32), || {
        if lane_id() >= 5 {
            return 0;
        }
        warp_exchange(u32::MAX, 1).iter().sum::<u64>()
    });
    assert!(seen.iter().all(|&(_, thread, sum)| sum == if thread < 5 { 5 } else { 0 }));
}

#[test]
fn arms_of_a_branch_have_masks_of_their_own_and_meet_after_it() {
    let masks = collect_both(&config(1, 40), || {
        let before = active_mask();
        let inside = if lane_id() < 3 { active_mask() } else { active_mask() };
        let one_arm = if lane_id() == 1 { active_mask() } else { 0 };
        (before, inside, one_arm, active_mask())
    });
    for (_, thread, (before, inside, one_arm, after)) in masks {
        let all = if thread < 32 { u32::MAX } else { 0xff };
        let low = thread % 32 < 3;
        assert_eq!(before, all);
        assert_eq!(inside, if low { 7 } else { all & !7 });
        assert_eq!(one_arm, if thread % 32 == 1 { 2 } else { 0 });
        assert_eq!(after, all);
    }
}

#[test]
fn loops_of_different_length_meet_at_their_end() {
    let masks = collect_both(&config(1, 32), || {
        let turns: Vec<u32> = (0..lane_id() % 4).map(|_| active_mask()).collect();
        (turns, active_mask())
    });
    for (_, thread, (turns, after)) in masks {
        assert_eq!(after, u32::MAX);
        let expected = [0xeeee_eeee, 0xcccc_cccc, 0x8888_8888];
        assert_eq!(turns, expected[..thread % 4]);
    }
}

#[test]
fn numbered_places_tell_lanes_apart() {
    let masks =
        collect_both(&config(1, 32), || (active_mask_at(u64::from(lane_id() / 8)), active_mask()));
    for (_, thread, (numbered, after)) in masks {
        assert_eq!(numbered, 0xff << (thread / 8 * 8));
        assert_eq!(after, u32::MAX);
    }
}

#[test]
fn lanes_that_wait_elsewhere_are_not_active() {
    let masks = collect_both(&config(1, 32), || {
        // Lanes 0 to 3 wait for lane 31, which asks for the mask first.
        if lane_id() < 4 {
            while words()[0].load(Relaxed) != 1 {
                yield_now();
            }
            return 0;
        }
        let mask = active_mask();
        if lane_id() == 31 {
            words()[0].store(1, Relaxed);
        }
        mask
    });
    assert!(masks.iter().all(|&(_, thread, mask)| mask == if thread < 4 { 0 } else { !0xf }));
}
