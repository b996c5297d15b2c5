use profiler_device::__private::claim_slot_for_warp;
use profiler_device::hardware;
use profiler_host::{Backend, BackendChoice, Profiler, Slots, launch};

use super::{
    Counters, LAUNCHES, LAUNCHES_OF_SHARDS, MOMENTS, Measured, RATE_CYCLES, Reading, Samples, Wait,
    capacity, check_counters, check_slots, check_written, rate_mhz,
};
use crate::gpu::Blocks;
use crate::launch_cost::{LaunchPoint, row};

const BLOCKS: Blocks = Blocks { warps: 2, count: 1 };
const POOL_START: u64 = 100;

/// What a kernel of two warps writes: cycles and number of each at entry, and after the barrier.
fn written(entry: [(u64, u64); 2], barrier: [(u64, u64); 2]) -> Vec<u64> {
    let warps = entry.into_iter().zip(barrier);
    warps.flat_map(|((a, b), (c, d))| [a, b, c, d]).collect()
}

fn point<'p>(points: &'p [LaunchPoint], wait: Wait, moment: &str) -> &'p LaunchPoint {
    let is_it = |point: &&LaunchPoint| {
        point.variant == wait.name() && point.moment.as_deref() == Some(moment)
    };
    points.iter().find(is_it).expect("it was measured")
}

/// Three launches of each kind, of which the second is the middle one.
fn measured() -> Measured {
    let mut measured = Measured::default();
    for more in [50, 0, 200] {
        let atomics = written([(400 + more, 0), (500 + more, 1)], [(300, 2), (300, 3)]);
        measured.push(Wait::ROUND_TRIP, &atomics, u64::MAX);
        let claims = written([(450, 0), (540 + more, 1)], [(330, 2), (360, POOL_START)]);
        measured.push(Wait::Claim, &claims, POOL_START);
        measured.rates_mhz.push(2000.0 - more as f64);
    }
    measured
}

#[test]
fn means_medians_and_longest_are_those_of_the_middle_launch() {
    let points = measured().points(BLOCKS);
    assert_eq!(points.len(), Wait::ALL.len() * MOMENTS as usize);
    let entry = point(&points, Wait::Claim, "at entry");
    assert_eq!((entry.blocks, entry.threads), (1, 64));
    assert_eq!(entry.clock_mhz, Some(1950.0));
    // Of 540, 590 and 740 beside 450.
    assert_eq!((entry.wait_cycles, entry.wait_cycles_longest), (Some(520.0), Some(590.0)));
    assert_eq!(entry.wait_cycles_median, Some(520.0));
    let near = |found: Option<f64>, expected: f64| {
        assert!((found.expect("there is one") - expected).abs() < 1e-9, "{found:?}, {expected}");
    };
    near(entry.wait_ns, 520.0 / 1.95);
    near(entry.wait_ns_longest, 590.0 / 1.95);
    // One atomic takes 450, 500 and 650.
    near(entry.round_trips, 520.0 / 500.0);
    assert_eq!(entry.of_pool, Some(0.0));
    let barrier = point(&points, Wait::Claim, "after a barrier");
    assert_eq!((barrier.wait_cycles, barrier.of_pool), (Some(345.0), Some(0.5)));
    near(barrier.round_trips, 345.0 / 300.0);
    let atomic = point(&points, Wait::ROUND_TRIP, "at entry");
    assert_eq!(
        (atomic.round_trips, atomic.of_pool),
        (None, None),
        "it is what others are given in"
    );
    let none = point(&points, Wait::Nothing, "at entry");
    assert_eq!((none.wait_cycles, none.wait_ns), (None, None));
}

#[test]
fn a_launch_has_a_mean_a_median_and_a_longest() {
    let mut samples = Samples::default();
    let readings = [(100, 7), (200, POOL_START), (900, POOL_START + 5), (300, 8)];
    samples.push(&readings.map(|(cycles, number)| Reading { cycles, number }), POOL_START);
    assert_eq!((samples.means, samples.medians), (vec![375.0], vec![250.0]));
    assert_eq!((samples.longest, samples.of_pool), (vec![900.0], vec![0.5]));
}

#[test]
fn a_line_says_cycles_nanoseconds_and_round_trips() {
    let points = measured().points(BLOCKS);
    assert_eq!(
        row(point(&points, Wait::Claim, "after a barrier")),
        "claim                  1 x   64 claimed slot                 after a barrier  mean 345 cycles \
         (177 ns), median 345 (177), longest 360 (185), 1.15 round trips, 50 % of the pool"
    );
    let atomic = row(point(&points, Wait::ROUND_TRIP, "at entry"));
    assert!(atomic.ends_with("longest 550 (282)"), "{atomic}");
    let none = row(point(&points, Wait::Nothing, "at entry"));
    assert!(none.ends_with("mean - cycles (- ns), median - (-), longest - (-)"), "{none}");
}

#[test]
fn lines_are_read_as_they_are_written() {
    for point in measured().points(BLOCKS) {
        let line = serde_json::to_string(&point).expect("it can be written");
        assert!(line.contains(r#""measurement":"claim""#), "{line}");
        let read: LaunchPoint = serde_json::from_str(&line).expect("it can be read");
        assert_eq!(read, point);
    }
}

#[test]
fn lines_of_earlier_runs_are_read() {
    let committed = include_str!("../../measurements/launch.jsonl");
    let mut points = committed
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<LaunchPoint>(line).expect("a line of results"));
    assert!(points.any(|point| point.round_trip_cycles.is_some()));
}

#[test]
fn a_warp_that_wrote_nothing_is_found() {
    let mut words = written([(1, 2), (3, 4)], [(5, 6), (7, 8)]);
    assert_eq!(check_written(&words), Ok(()));
    words[6] = u64::MAX;
    assert_eq!(check_written(&words), Err("warp 1 wrote no cycles".to_owned()));
}

#[test]
fn slots_that_are_none_and_slots_given_twice_are_found() {
    let mut claimed = [false; 8];
    assert_eq!(check_slots(&mut claimed, [3, 0, 7]), Ok(()));
    assert_eq!(check_slots(&mut claimed, [1, 2]), Ok(()));
    let twice = check_slots(&mut claimed, [4, 7]);
    assert_eq!(twice, Err("slot 7 was claimed twice".to_owned()), "by an earlier launch");
    let after = check_slots(&mut claimed, [8]);
    assert_eq!(after, Err("slot 8 was claimed of 8".to_owned()));
    assert!(check_slots(&mut claimed, [u64::from(u32::MAX)]).is_err(), "a warp that found none");
}

#[test]
fn atomics_that_are_not_counted_are_found() {
    assert_eq!(check_counters(&[3, 0, 5], 8), Ok(()));
    let wrong = check_counters(&[3, 0, 5], 9).expect_err("one is missing");
    assert_eq!(wrong, "the counters have counted 8 atomics of 9");
}

#[test]
fn a_clock_that_stands_has_no_rate() {
    let rate = rate_mhz([u64::from(RATE_CYCLES), 1_000_000]).expect("both went on");
    assert!((rate - 2000.0).abs() < 1e-9, "{rate}");
    assert!(rate_mhz([u64::from(RATE_CYCLES), 0]).is_err());
    assert!(rate_mhz([0, 1_000_000]).is_err());
}

#[test]
fn counters_lie_as_those_of_shares() {
    assert_eq!(Counters::OfScheduler.bytes(), (512, 128));
    assert_eq!(Counters::OfSm.bytes(), (512, 0));
    assert_eq!(Counters::One.bytes(), (0, 0));
}

/// Shards and pool as a session has them, and warps that are spread over so many of the four shards of each
/// of 132 SMs: how many find slots in shards, launch by launch.
fn found_in_shards(warps: u32, schedulers: u32) -> Vec<u32> {
    let slots = capacity(warps, 132);
    let of_share = slots / (4 * 132);
    let mut pool = slots - of_share;
    let counters = (132 * schedulers).min(warps);
    let mut used = vec![0; counters as usize];
    let launch = |_| {
        let mut found = 0;
        for claim in 0..MOMENTS * warps {
            let used = &mut used[(claim % counters) as usize];
            if *used < of_share {
                (*used, found) = (*used + 1, found + 1);
            } else {
                pool = pool.checked_sub(1).expect("the pool has enough");
            }
        }
        found
    };
    (0..LAUNCHES).map(launch).collect()
}

#[test]
fn the_first_launch_finds_slots_in_shares_and_the_last_one_in_the_pool() {
    const { assert!(LAUNCHES > LAUNCHES_OF_SHARDS) };
    for warps in [1, 132, 132 * 32, 1056 * 8, 2112 * 32] {
        for schedulers in [1, 4] {
            let found = found_in_shards(warps, schedulers);
            assert_eq!(found[0], MOMENTS * warps, "{warps} warps, {schedulers} schedulers");
            assert_eq!(found[LAUNCHES as usize - 1], 0, "{warps} warps, {schedulers} schedulers");
        }
    }
}

/// Claims a slot as the kernel that times it does.
///
/// # Safety
///
/// A session's slots must be claimed, and `slots` be valid for a number for each thread.
unsafe fn claim(slots: *mut u64) {
    let (lane, warp) = (hardware::lane_id(), hardware::warp_index());
    // SAFETY: the caller's; all lanes come here.
    let slot = unsafe { claim_slot_for_warp(lane, warp) };
    let thread =
        hardware::thread_index()[0] + hardware::block_dim()[0] * hardware::block_index()[0];
    // SAFETY: this thread's number.
    unsafe { slots.add(thread as usize).write(u64::from(slot)) }
}

#[test]
fn the_emulator_claims_a_slot_for_each_warp_that_all_its_lanes_know() {
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("the emulator");
    let profiler = Profiler::builder()
        .lane_buffers(false)
        .slots(Slots::Claimed)
        .max_warps(12)
        .build()
        .expect("options");
    let mut session = backend.session(&profiler).expect("a session");
    let mut slots = vec![u64::MAX; 4 * 96];
    let output = slots.as_mut_ptr();
    // SAFETY: a number for each thread.
    unsafe { launch!(session, claim<<<4, 96>>>(output)) }.expect("it runs");
    let capture = session.capture().expect("it can be read");
    let descriptor = capture.modules[0].descriptor;
    let mut claimed = vec![false; descriptor.slot_count as usize];
    let (warps, _) = slots.as_chunks::<32>();
    assert!(warps.iter().all(|lanes| lanes.iter().all(|slot| *slot == lanes[0])), "{slots:?}");
    assert_eq!(check_slots(&mut claimed, warps.iter().map(|lanes| lanes[0])), Ok(()));
}
