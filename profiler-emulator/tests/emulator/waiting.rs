//! When a thread that waited for others goes on.

use crate::common;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use common::{collect, config};
use profiler_emulator::{
    LaunchConfig, Threads, advance, barrier, block_index, clock64, globaltimer, lane_id, leave,
    observe, publish, publish_beside_others, warp_exchange, warp_index, yield_now,
};

const BOTH: [Threads; 2] = [Threads::Coroutines, Threads::Os];

fn address(word: &AtomicU32) -> usize {
    std::ptr::from_ref(word).addr()
}

/// Lanes other than 0 of blocks do nothing: one thread of a warp is enough to wait.
fn wait_for(word: &AtomicU32, least: u32) -> u64 {
    loop {
        let value = word.load(Relaxed);
        observe(address(word));
        if value >= least {
            return clock64();
        }
        yield_now();
    }
}

#[test]
fn a_waiter_goes_on_when_what_it_waits_for_is_published_whatever_else_runs() {
    for threads in BOTH {
        let flag = AtomicU32::new(0);
        let times = collect(&LaunchConfig { threads, ..config(1, 96) }, || {
            // All threads begin at once.
            let start = clock64();
            if lane_id() != 0 {
                return 0;
            }
            let end = match warp_index() {
                // Publishes, and goes on for long without a pause.
                0 => {
                    let mut written = 0;
                    for turn in 1..=4 {
                        (0..1000).for_each(|_| _ = clock64());
                        written = clock64();
                        flag.store(turn, Relaxed);
                        publish(address(&flag));
                    }
                    written
                }
                1 => {
                    // The second of four.
                    wait_for(&flag, 2)
                }
                // Has nothing to do with it, and is far ahead.
                _ => {
                    (0..100_000).for_each(|_| _ = clock64());
                    clock64()
                }
            };
            end - start
        });
        let of = |warp: usize| {
            let mut times = times.iter().filter(|(_, thread, _)| thread / 32 == warp);
            times.find_map(|&(_, _, time)| (time != 0).then_some(time)).unwrap()
        };
        let turn = (of(0) + 8) / 4;
        assert!((2 * turn..2 * turn + 100).contains(&of(1)), "{} of {turn} a turn", of(1));
    }
}

#[test]
fn arrivals_are_all_there_at_the_time_of_the_last_in_whatever_order_they_run() {
    for threads in BOTH {
        let arrived = AtomicU32::new(0);
        let times = collect(&LaunchConfig { threads, ..config(4, 1) }, || {
            let block = block_index()[0];
            if block == 3 {
                wait_for(&arrived, 3);
                return globaltimer();
            }
            // The first to run is the last in time.
            (0..1000 * (3 - block)).for_each(|_| _ = clock64());
            let time = globaltimer();
            arrived.fetch_add(1, Relaxed);
            publish_beside_others(address(&arrived));
            time
        });
        let times: Vec<u64> = times.iter().map(|&(_, _, time)| time).collect();
        let last = times[..3].iter().copied().max().unwrap();
        assert!((last..last + 100).contains(&times[3]), "{times:?}");
    }
}

#[test]
fn a_warp_leaves_with_its_last_lane() {
    for threads in BOTH {
        let times = collect(&LaunchConfig { threads, ..config(1, 64) }, || {
            if lane_id() == 0 {
                leave();
                // Nobody waits for it any more, and this is later than all that the others do.
                return clock64();
            }
            advance(100 * u64::from(lane_id()));
            barrier(0, None);
            let mask = !1;
            let _ = warp_exchange(mask, 0);
            if warp_index() == 0 && lane_id() == 7 {
                advance(5000);
            }
            clock64()
        });
        for warp in 0..2 {
            let of_warp = || times.iter().filter(|(_, thread, _)| thread / 32 == warp);
            let left = of_warp().find(|(_, thread, _)| thread % 32 == 0).unwrap().2;
            let last = of_warp().filter(|(_, thread, _)| thread % 32 != 0).map(|at| at.2).max();
            assert!(left >= last.unwrap(), "{left} {last:?}");
            assert!(left < last.unwrap() + 100, "{left} {last:?}");
        }
    }
}

#[test]
fn a_lane_that_leaves_twice_or_alone_does_not_wait() {
    for threads in BOTH {
        let count = AtomicU32::new(0);
        collect(&LaunchConfig { threads, ..config(2, 33) }, || {
            leave();
            leave();
            count.fetch_add(1, Relaxed);
        });
        assert_eq!(count.into_inner(), 66);
    }
}
