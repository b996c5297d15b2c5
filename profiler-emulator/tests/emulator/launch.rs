//! Shapes, errors, clocks, spinning.

#![allow(clippy::if_same_then_else, reason = "arms differ in their place in the source")]

use crate::common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use common::{collect, collect_both, config, thread};
use profiler_emulator::{
    ClockMode, Emulator, LaunchConfig, LaunchError, Stop, Threads, WaitFor, active_mask, advance,
    barrier, block_index, clock64, constant_u32, constant_u64, dynamic_shared, globaltimer,
    grid_dim, grid_id, is_in_kernel, lane_id, launch, shared_memory, sm_id, thread_index,
    warp_exchange, with_thread_storage, yield_now,
};

const BOTH: [Threads; 2] = [Threads::Coroutines, Threads::Os];

#[test]
fn every_thread_of_every_block_runs_once() {
    let config = LaunchConfig::new([3, 4, 5], [7, 5, 3]);
    let mut seen = collect_both(&config, || (block_index(), thread_index(), grid_dim()));
    seen.sort_by_key(|&(_, _, (block, thread, _))| (block, thread));
    seen.dedup();
    assert_eq!(seen.len(), 60 * 105);
    assert!(seen.iter().all(|&(_, _, (block, thread, grid))| {
        grid == [3, 4, 5]
            && (0..3).all(|axis| block[axis] < grid[axis] && thread[axis] < [7, 5, 3][axis])
    }));
}

#[test]
fn impossible_launches_are_refused_by_name() {
    for (grid, block, fault) in [
        ([0, 1, 1], [1, 1, 1], "grid has extent 0 in x"),
        ([1, 65_536, 1], [1, 1, 1], "grid has extent 65536 in y"),
        ([1, 1, 1], [1, 1, 65], "block has extent 65 in z"),
        ([1, 1, 1], [64, 32, 1], "2048 threads"),
    ] {
        let error = launch(&LaunchConfig::new(grid, block), || {}).unwrap_err();
        assert!(error.to_string().contains(fault), "{error}");
    }
    let too_much = LaunchConfig { dynamic_shared_bytes: 300_000, ..config(1, 1) };
    assert!(launch(&too_much, || {}).unwrap_err().to_string().contains("300000 bytes"));
    for threads in BOTH {
        let too_deep = LaunchConfig { stack_bytes: usize::MAX, threads, ..config(1, 1) };
        let error = launch(&too_deep, || {}).unwrap_err();
        assert!(matches!(error, LaunchError::InvalidConfig(_)), "{error}");
        assert!(error.to_string().contains("at most 1073741824 bytes"), "{error}");
    }
}

#[test]
fn constant_memory_is_read_and_zero_beyond_its_end() {
    let bytes: Vec<u8> = (1..=12).collect();
    let with = LaunchConfig { constant: bytes.into(), ..config(1, 1) };
    let read = || (constant_u32(4), constant_u64(4), constant_u64(8), constant_u32(usize::MAX));
    assert_eq!(collect(&with, read)[0].2, (0x0807_0605, 0x0c0b_0a09_0807_0605, 0, 0));
    assert_eq!(collect(&config(1, 1), read)[0].2, (0, 0, 0, 0));
}

#[test]
fn dynamic_shared_memory_is_aligned_and_shared() {
    let config = LaunchConfig { dynamic_shared_bytes: 4096, ..config(2, 64) };
    let found = collect_both(&config, || {
        let (address, bytes) = dynamic_shared();
        let cells = address.cast::<AtomicU32>();
        // SAFETY: 4096 bytes hold 64 words, and the address is aligned to 1024.
        let cell = |index: usize| unsafe { &*cells.add(index) };
        cell(thread()).store(block_index()[0] * 100 + thread() as u32, Relaxed);
        barrier(0, None);
        (cells.addr() % 1024, bytes, cell(63 - thread()).load(Relaxed))
    });
    for (block, thread, found) in found {
        assert_eq!(found, (0, 4096, block * 100 + 63 - thread as u32));
    }
}

#[test]
fn a_panic_is_reported_with_its_thread_and_destructors_run() {
    struct Guard<'a>(&'a AtomicU32);
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            // What a recorder does when its region closes; none of it may wait or panic here.
            let _ = (clock64(), active_mask(), warp_exchange(u32::MAX, 1));
            barrier(0, None);
            self.0.fetch_add(1, Relaxed);
        }
    }
    for threads in BOTH {
        let dropped = AtomicU32::new(0);
        let config = LaunchConfig { threads, ..LaunchConfig::new([2, 1, 1], [8, 8, 1]) };
        let error = launch(&config, || {
            let _guard = Guard(&dropped);
            barrier(0, None);
            assert!(block_index() != [1, 0, 0] || thread_index() != [3, 7, 0], "no {}", 37);
            barrier(0, None);
        })
        .unwrap_err();
        let LaunchError::Panic { block, thread, message } = error else { panic!("{error}") };
        assert_eq!((block, thread, message.as_str()), ([1, 0, 0], [3, 7, 0], "no 37"));
        assert_eq!(dropped.into_inner(), 128);
    }
}

#[test]
fn a_deadlock_is_reported_with_what_each_thread_waits_for() {
    for threads in BOTH {
        let config = LaunchConfig { threads, ..config(2, 64) };
        let error = launch(&config, || match thread() {
            0..32 => barrier(3, Some(64)),
            32 => {
                let _ = warp_exchange(3, 0);
            }
            _ => barrier(4, Some(32)),
        })
        .unwrap_err();
        let text = error.to_string();
        let LaunchError::Deadlock { waits, blocks_not_started } = error else { panic!("{text}") };
        assert_eq!((waits.len(), blocks_not_started), (128, 0));
        assert_eq!(waits[0].for_what, WaitFor::Barrier { id: 3, arrived: 32, needed: 64 });
        assert_eq!(waits[32].for_what, WaitFor::Lanes { mask: 3, arrived: 1 });
        let mask = u32::MAX;
        let for_what = WaitFor::LanesAtBarrier { id: 4, mask, arrived: mask << 1 };
        assert_eq!(waits[33].for_what, for_what);
        assert_eq!(waits[96].block, [1, 0, 0]);
        assert_eq!(
            text.lines().count(),
            1 + 2 * 3,
            "what 31 others wait for too is not said again: {text}"
        );
        assert!(
            text.contains("barrier 3 (32 of 64 threads arrived), and so do 31 other"),
            "{text}"
        );
        assert!(
            text.contains("of its warp at barrier 4 (0xfffffffe arrived), and so do 30 other"),
            "{text}"
        );
    }
}

#[test]
fn a_spin_that_nobody_ends_is_a_livelock() {
    for threads in BOTH {
        let config = LaunchConfig { threads, yield_limit: 1000, ..config(7, 2) };
        let error = launch(&config, || {
            loop {
                yield_now();
            }
        })
        .unwrap_err();
        let LaunchError::Livelock { waits, blocks_not_started, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!((waits.len(), *blocks_not_started), (8, 3));
        assert!(error.to_string().contains("blocks_per_sm"), "{error}");
    }
}

#[test]
fn another_thread_stops_a_launch_that_never_ends() {
    for threads in BOTH {
        for turn in [yield_now as fn(), || advance(10)] {
            let (stop, begun) = (Stop::new(), AtomicBool::new(false));
            let config = LaunchConfig {
                threads,
                yield_limit: u64::MAX,
                stop: Some(stop.clone()),
                ..config(2, 33)
            };
            let kernel = || loop {
                begun.store(true, Relaxed);
                turn();
            };
            let ended = std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !begun.load(Relaxed) {
                        std::thread::yield_now();
                    }
                    stop.stop();
                });
                launch(&config, kernel)
            });
            assert_eq!(ended, Err(LaunchError::Stopped));
            assert_eq!(
                launch(&config, || loop {
                    turn()
                }),
                Err(LaunchError::Stopped),
                "{stop:?}"
            );
        }
    }
}

#[test]
fn misuse_of_collectives_is_an_error_and_not_a_hang() {
    for (misuse, text) in [
        ((|| barrier(16, None)) as fn(), "barriers 0 to 15"),
        (|| barrier(1, Some(20)), "multiple of 32"),
        (|| barrier(1, Some(32 * (1 + lane_id() % 2))), "barrier 1: 32 and 64; let all"),
        (
            || barrier(1, (lane_id() > 0).then_some(32)),
            "barrier 1: all threads of the block and 32; let all",
        ),
        (|| _ = warp_exchange(!(1 << lane_id()), 0), "does not name"),
        (
            || _ = shared_memory(1, 16 + lane_id() as usize, 4),
            "array of 16 bytes, aligned to 4, is now asked for as one of 17 bytes, aligned to 4; give",
        ),
        (|| _ = shared_memory(1, 1 << 20, 4), "at most 232448"),
        (|| _ = launch(&config(1, 1), || {}).map_err(|e| panic!("{e}")), "cannot launch another"),
    ] {
        let error = launch(&config(1, 32), misuse).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn the_kernel_api_outside_a_kernel_says_how_to_launch() {
    assert!(!is_in_kernel());
    let panic = std::panic::catch_unwind(clock64).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("clock64") && text.contains("profiler_emulator::launch"), "{text}");
}

#[test]
fn blocks_wait_for_each_other_and_time_follows_the_store() {
    for threads in BOTH {
        let flag = AtomicU32::new(0);
        let config = LaunchConfig { threads, ..config(4, 32) };
        let times = collect(&config, || {
            if block_index()[0] == 2 {
                advance(50_000);
                let stored = globaltimer();
                flag.store(1, Relaxed);
                return stored;
            }
            while flag.load(Relaxed) == 0 {
                yield_now();
            }
            globaltimer()
        });
        let stored = times.iter().filter(|&&(block, ..)| block == 2).map(|&(_, _, time)| time);
        let stored = stored.max().unwrap();
        for (_, _, time) in times.into_iter().filter(|&(block, ..)| block != 2) {
            assert!(time >= stored && time < stored + 100, "{time} {stored}");
        }
    }
}

#[test]
fn clock_readings_repeat_on_devices_made_alike() {
    let run = |threads| {
        let device = Emulator::new(3);
        let config = LaunchConfig { threads, ..config(8, 70) };
        let readings = std::sync::Mutex::new(Vec::new());
        for _ in 0..2 {
            device
                .launch(&config, || {
                    let start = clock64();
                    advance(u64::from(lane_id()) * 10);
                    barrier(0, None);
                    let mask = if lane_id() < 9 { active_mask() } else { active_mask() };
                    let end = (clock64(), globaltimer(), grid_id(), mask);
                    readings.lock().unwrap().push((block_index(), thread(), start, end));
                })
                .unwrap();
        }
        readings.into_inner().unwrap()
    };
    let first = run(Threads::Coroutines);
    assert_eq!(first, run(Threads::Coroutines));
    assert_eq!(first, run(Threads::Os));
}

#[test]
fn virtual_time_is_what_was_advanced() {
    let times = collect(&config(6, 64), || {
        let start = clock64();
        advance(1000);
        let end = clock64();
        advance(if thread() == 40 { 500 } else { 0 });
        barrier(0, None);
        let after = clock64();
        (sm_id(), start, end - start, after - end, globaltimer())
    });
    for (block, _, (sm, start, work, wait, timer)) in times {
        assert_eq!((work, wait), (1008, 508));
        // Blocks 4 and 5 follow blocks 0 and 1 on their SMs.
        let block_start = if block < 4 { 0 } else { 1532 };
        assert_eq!(start, Emulator::clock_offset(sm) + block_start);
        assert_eq!(timer % 32, 0);
    }
    assert!(Emulator::clock_offset(1) - Emulator::clock_offset(0) > 10_000_000);
}

#[test]
fn arms_of_a_branch_follow_each_other_in_time() {
    let spans = collect(&config(1, 32), || {
        let timed = || {
            let start = clock64();
            advance(100);
            (start, clock64())
        };
        if lane_id() < 16 {
            let _ = active_mask();
            timed()
        } else {
            let _ = active_mask();
            timed()
        }
    });
    assert!(spans[31].2.0 >= spans[0].2.1);
    assert_eq!(spans[0].2, spans[15].2);
}

/// Lanes that read the clock together by the virtual clock read it one after the other by the serial one, after
/// whatever they worked, and each time alike.
#[test]
fn readings_of_a_serial_clock_are_all_different() {
    let readings = || {
        let read = Mutex::new(Vec::new());
        let config = LaunchConfig { clock: ClockMode::Serial, ..config(2, 64) };
        Emulator::default()
            .launch(&config, || {
                for _ in 0..3 {
                    let _ = active_mask();
                    advance(u64::from(thread_index()[0] % 2) * 100);
                    read.lock().expect("no thread panics").push(globaltimer());
                    read.lock()
                        .expect("no thread panics")
                        .push(clock64() - Emulator::clock_offset(sm_id()));
                }
            })
            .unwrap();
        read.into_inner().expect("no thread panics")
    };
    let first = readings();
    assert_eq!(first, readings());
    let cycles: Vec<u64> = first.iter().skip(1).step_by(2).copied().collect();
    assert_eq!(cycles.len(), 2 * 64 * 3);
    assert!(
        cycles.windows(2).all(|pair| pair[1] >= pair[0] + 16),
        "a timer's reading lies between"
    );
    assert!(first.iter().step_by(2).is_sorted());
}

#[test]
fn launches_follow_each_other() {
    for clock in [ClockMode::Virtual, ClockMode::Serial] {
        let device = Emulator::default();
        let mut before = 0;
        for expected_grid_id in 1..4 {
            let config = LaunchConfig { clock, ..config(1, 1) };
            let read = AtomicU64::new(0);
            device
                .launch(&config, || {
                    assert_eq!(grid_id(), expected_grid_id);
                    read.store(globaltimer(), Relaxed);
                    advance(200);
                })
                .unwrap();
            let read = read.into_inner();
            assert!(read >= before && device.globaltimer() >= read + 64, "{clock:?}");
            before = read;
        }
    }
}

#[test]
fn stored_values_belong_to_one_thread() {
    let counts = collect_both(&config(2, 33), || {
        for _ in 0..=thread() {
            with_thread_storage(|count: &mut usize| *count += 1);
            barrier(0, None);
        }
        with_thread_storage(|count: &mut usize| *count)
    });
    assert!(counts.iter().all(|&(_, thread, count)| count == thread + 1));
}

#[test]
fn stored_values_are_dropped_by_the_thread_that_made_them() {
    static ELSEWHERE: AtomicU32 = AtomicU32::new(0);
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    /// Bound to its thread, as what is not `Send` may be.
    struct Bound(std::thread::ThreadId);
    impl Default for Bound {
        fn default() -> Self {
            Self(std::thread::current().id())
        }
    }
    impl Drop for Bound {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Relaxed);
            if std::thread::current().id() != self.0 {
                ELSEWHERE.fetch_add(1, Relaxed);
            }
        }
    }
    for threads in BOTH {
        launch(&LaunchConfig { threads, ..config(2, 33) }, || {
            with_thread_storage(|_: &mut Bound| {})
        })
        .unwrap();
    }
    assert_eq!((DROPPED.load(Relaxed), ELSEWHERE.load(Relaxed)), (2 * 66, 0));
}

#[test]
fn threads_of_the_system_have_ended_when_the_launch_returns() {
    static ENDED: AtomicU32 = AtomicU32::new(0);
    /// Dropped when all else of a thread has ended, after giving others the time to overtake it.
    struct Last;
    impl Drop for Last {
        fn drop(&mut self) {
            std::thread::sleep(std::time::Duration::from_millis(20));
            ENDED.fetch_add(1, Relaxed);
        }
    }
    thread_local!(static LAST: Last = const { Last });
    launch(&LaunchConfig { threads: Threads::Os, ..config(2, 4) }, || LAST.with(|_| {})).unwrap();
    assert_eq!(ENDED.load(Relaxed), 8);
}
