//! Annotated kernels from launch to trace, on the emulator and, with `--ignored`, on a GPU.

use crate::support::on_both_back_ends;

use std::collections::BTreeSet;

use profiler_host::{
    Backend, BackendChoice, Keep, Profiler, ProfilerBuilder, Session, Trace, launch,
};
use profiler_trace::{Diagnostic, DiagnosticKind, Region, Value, Warp};
use test_kernels::strategies as kernels;

const PTX: Option<&str> = profiler_host::include_ptx!("strategies");

fn backend(choice: BackendChoice) -> Backend {
    Backend::choose(choice, PTX).expect("the back end")
}

/// Runs launches in one session, checks the kernel's own results, gives the trace.
fn record(
    choice: BackendChoice,
    builder: ProfilerBuilder,
    threads: u32,
    launches: impl FnOnce(&mut Session<'_>, *mut u32),
    expected: impl Fn(u32) -> u32,
) -> Trace {
    let (backend, profiler) = (backend(choice), builder.build().expect("the options"));
    let mut output = backend.zeroed::<u32>(threads as usize).expect("memory");
    let mut session = backend.session(&profiler).expect("a session");
    launches(&mut session, output.as_mut_ptr());
    let trace = session.finish().expect("a trace");
    for (thread, result) in output.read().expect("the results").into_iter().enumerate() {
        assert_eq!(result, expected(thread as u32), "thread {thread}");
    }
    trace
}

/// `launch!` that must succeed.
macro_rules! launched {
    ($($launch:tt)*) => {
        // SAFETY: every kernel here writes one number for each thread, and gets buffer for so many; a
        // descriptor is the session's.
        unsafe { launch!($($launch)*) }.expect("launch")
    };
}

on_both_back_ends! {
    one_record_a_warp_and_round
    every_thread_records
    each_arm_of_a_branch_elects
    lanes_apart_have_their_own_sites_and_ends
    each_lane_has_its_marks
    strategies_of_single_regions
    all_that_there_is
    what_does_not_fit_is_counted
    a_ring_keeps_the_last
    selected_blocks_and_warps
    odd_shapes
    parameters_taken_apart
    a_barrier_ends_when_the_last_warp_comes
    stamps_by_the_global_timer
    anchors_come_no_more_often_than_they_may
}

fn builder() -> ProfilerBuilder {
    Profiler::builder()
}

/// The regions of a warp that have this name.
fn named<'a>(trace: &'a Trace, warp: &'a Warp, name: &str) -> Vec<&'a Region> {
    warp.regions.iter().filter(|region| trace.site(region.site).name == name).collect()
}

fn nothing_lost(trace: &Trace) {
    assert_eq!(trace.lost(), 0, "{:?}", trace.diagnostics);
}

fn one_record_a_warp_and_round(choice: BackendChoice) {
    let trace = record(
        choice,
        builder(),
        3 * 128,
        |session, output| launched!(session, kernels::by_warp<<<3, 128>>>(output, 10)),
        |_| 10,
    );
    nothing_lost(&trace);
    assert_eq!((trace.launches.len(), trace.warps.len()), (1, 12));
    let launch = &trace.launches[0];
    assert_eq!((launch.grid_dim, launch.block_dim), ([3, 1, 1], [128, 1, 1]));
    assert_eq!(trace.site(launch.kernel).name, "by_warp");
    for (index, warp) in trace.warps.iter().enumerate() {
        assert_eq!((warp.block, warp.warp), ([index as u32 / 4, 0, 0], index as u32 % 4));
        let rounds = named(&trace, warp, "round");
        assert_eq!((rounds.len(), warp.recorded), (10, 10));
        for pair in rounds.windows(2) {
            assert!(pair[0].end.expect("closed").ticks <= pair[1].start.ticks);
        }
        let (entry, exit) = (warp.entry, warp.exit.expect("left"));
        assert!(entry.ticks <= rounds[0].start.ticks);
        assert!(rounds[9].end.expect("closed").ticks <= exit.ticks);
        assert!(entry.ns < exit.ns);
    }
}

fn every_thread_records(choice: BackendChoice) {
    let trace = record(
        choice,
        builder().records_per_warp(128).records_per_lane(128),
        2 * 64,
        |session, output| launched!(session, kernels::by_thread<<<2, 64>>>(output, 3)),
        |thread| 3 + thread % 32,
    );
    nothing_lost(&trace);
    // No lane is ahead of the entry that lane 0 writes.
    let early = |diagnostic: &Diagnostic| diagnostic.kind == DiagnosticKind::StartBeforeEntry;
    assert!(!trace.diagnostics.list.iter().any(early), "{}", trace.diagnostics);
    for warp in &trace.warps {
        for lane in 0..32_u8 {
            let values: Vec<Option<Value>> = warp
                .regions
                .iter()
                .filter(|region| region.lane == lane)
                .map(|region| region.value)
                .collect();
            let expected: Vec<Option<Value>> =
                (0..3 + u64::from(lane)).map(|round| Some(Value::Unsigned(round))).collect();
            assert_eq!(values, expected, "lane {lane}");
        }
    }
}

fn each_arm_of_a_branch_elects(choice: BackendChoice) {
    let trace = record(
        choice,
        builder().records_per_lane(256),
        64,
        |session, output| launched!(session, kernels::by_elected<<<1, 64>>>(output, 8)),
        |_| 8,
    );
    nothing_lost(&trace);
    for warp in &trace.warps {
        // Hardware may split an arm further, but never leaves one unrecorded.
        let low = named(&trace, warp, "low half");
        let high = named(&trace, warp, "high half");
        assert!(low.len() >= 8 && high.len() >= 8, "{} and {}", low.len(), high.len());
        assert!(low.iter().all(|region| region.lane < 16));
        assert!(high.iter().all(|region| region.lane >= 16));
    }
}

fn lanes_apart_have_their_own_sites_and_ends(choice: BackendChoice) {
    const ROUNDS: usize = 5;
    let trace = record(
        choice,
        builder().records_per_warp(128).records_per_lane(128),
        64,
        |session, output| {
            launched!(session, kernels::by_lanes_apart<<<1, 64>>>(output, ROUNDS as u32));
        },
        |_| ROUNDS as u32,
    );
    nothing_lost(&trace);
    for warp in &trace.warps {
        for lane in 0..32 {
            let of_lane = |name| {
                let mut regions = named(&trace, warp, name);
                regions.retain(|region| region.lane == lane);
                regions
            };
            let is_odd = lane % 2 == 1;
            let (own, other) = if is_odd { ("odd", "even") } else { ("even", "odd") };
            assert_eq!((of_lane(own).len(), of_lane(other).len()), (ROUNDS, 0), "lane {lane}");
            let (first, second) = (of_lane("first"), of_lane("second"));
            assert_eq!((first.len(), second.len()), (ROUNDS, ROUNDS), "lane {lane}");
            for (first, second) in first.iter().zip(second) {
                let [first, second] = [first, second].map(|it| it.end.expect("closed").ticks);
                assert_eq!(first < second, is_odd, "lane {lane}: {first} and {second}");
            }
        }
    }
}

fn each_lane_has_its_marks(choice: BackendChoice) {
    const ROUNDS: usize = 5;
    let trace = record(
        choice,
        builder().records_per_warp(128).records_per_lane(128),
        // The last warp has six lanes.
        70,
        |session, output| {
            launched!(session, kernels::marks_of_lanes<<<1, 70>>>(output, ROUNDS as u32));
        },
        |_| ROUNDS as u32,
    );
    nothing_lost(&trace);
    for warp in &trace.warps {
        let lanes = if warp.warp == 2 { 6 } else { 32 };
        for lane in 0..lanes {
            let of_lane: Vec<_> = warp.marks.iter().filter(|mark| mark.lane == lane).collect();
            let names = of_lane.iter().map(|mark| trace.site(mark.site).name.as_str());
            let round: &[&str] = match lane % 2 {
                1 => &["round", "arm", "odd", "value"],
                _ => &["round", "even", "value"],
            };
            let expected = [&["begin"], round.repeat(ROUNDS).as_slice()].concat();
            assert_eq!(names.collect::<Vec<_>>(), expected, "lane {lane}");
        }
        assert_eq!(warp.recorded, warp.marks.len() as u64);
    }
}

fn strategies_of_single_regions(choice: BackendChoice) {
    let trace = record(
        choice,
        builder(),
        2 * 160,
        |session, output| launched!(session, kernels::by_each<<<2, 160>>>(output, 4)),
        |_| 4,
    );
    nothing_lost(&trace);
    for warp in &trace.warps {
        let count = |name: &str| named(&trace, warp, name).len();
        assert_eq!(warp.track, Some(7));
        assert_eq!(count("block"), if warp.warp == 0 { 4 } else { 0 });
        assert_eq!(count("warp"), 4);
        assert_eq!(count("warp 1"), if warp.warp == 1 { 4 } else { 0 });
        assert_eq!(count("warp group"), if warp.warp % 4 == 0 { 4 } else { 0 });
        let when = named(&trace, warp, "when");
        assert_eq!(when.len(), if warp.warp == 0 { 4 } else { 0 });
        assert!(when.iter().all(|region| (region.lane, region.track) == (5, Some(9))));
    }
}

fn all_that_there_is(choice: BackendChoice) {
    let trace = record(
        choice,
        builder(),
        32,
        |session, output| launched!(session, kernels::everything<<<1, 32>>>(output, 4)),
        |_| 4 + 6,
    );
    nothing_lost(&trace);
    let warp = &trace.warps[0];
    let one = |name: &str| {
        let regions = named(&trace, warp, name);
        assert_eq!(regions.len(), 1, "{name}");
        regions[0].clone()
    };
    let (outer, crossing) = (one("outer"), one("crossing"));
    assert!(outer.start.ticks <= crossing.start.ticks);
    assert!(outer.end.expect("closed").ticks <= crossing.end.expect("closed").ticks);
    assert_eq!(crossing.value, Some(Value::Unsigned(10)));
    assert_eq!(one("load").value, Some(Value::Unsigned(0)));
    assert_eq!(one("compute").value, Some(Value::Unsigned(4)), "closed by `continue`");
    assert_eq!(one("store").value, Some(Value::Unsigned(8)));
    assert_eq!(one("TASK[out of range]").value, Some(Value::Unsigned(12)));
    assert_eq!(named(&trace, warp, "twice").len(), 3);
    assert_eq!(named(&trace, warp, "nested in a function").len(), 2, "round 0 returns early");
    assert_eq!(one("never ended").end, None);
    let marks: Vec<Option<Value>> = warp
        .marks
        .iter()
        .filter(|mark| trace.site(mark.site).name == "round done")
        .map(|mark| mark.value)
        .collect();
    assert_eq!(marks, [0, 2, 3].map(|round| Some(Value::Unsigned(round))));
    assert_eq!(trace.edges.len(), 1);
    let nested = named(&trace, warp, "nested in a function")[0];
    assert!(nested.depth >= 3, "within crossing, TASK and twice: {}", nested.depth);
    let site = trace.site(nested.site);
    assert!(site.file.ends_with("strategies.rs") && site.line > 0, "{site:?}");
    assert_eq!(trace.site(one("load").site).unit.as_deref(), Some("bytes"));
}

fn what_does_not_fit_is_counted(choice: BackendChoice) {
    for units in [0_u32, 1, 5, 7, 99, 100, 101] {
        // A ring has a power of two.
        let ring = if units == 0 { 0 } else { units.next_power_of_two() };
        for (keep, capacity) in [(Keep::First, units), (Keep::Last, ring)] {
            let trace = record(
                choice,
                builder().records_per_warp(units).keep(keep),
                64,
                |session, output| launched!(session, kernels::by_warp<<<1, 64>>>(output, 100)),
                |_| 100,
            );
            let kept = u64::from(capacity.min(100));
            for warp in &trace.warps {
                assert_eq!((warp.recorded, warp.lost), (kept, 100 - kept), "{keep:?} {units}");
            }
        }
    }
}

fn a_ring_keeps_the_last(choice: BackendChoice) {
    let whole = record(
        choice,
        builder(),
        32,
        |session, output| launched!(session, kernels::by_thread<<<1, 32>>>(output, 50)),
        |thread| 50 + thread,
    );
    assert!(whole.lost() > 0, "the lanes' buffers are small by default");
    let trace = record(
        choice,
        builder().keep(Keep::Last).records_per_warp(16).records_per_lane(16),
        32,
        |session, output| launched!(session, kernels::by_thread<<<1, 32>>>(output, 50)),
        |thread| 50 + thread,
    );
    let warp = &trace.warps[0];
    assert_eq!(warp.recorded + warp.lost, (50..82).sum::<u64>());
    for lane in 0..32_u8 {
        let values: Vec<f64> = warp
            .regions
            .iter()
            .filter(|region| region.lane == lane)
            .map(|region| region.value.expect("a value").as_f64())
            .collect();
        // 16 units hold 8 regions with their values.
        let rounds = 50 + u32::from(lane);
        let expected: Vec<f64> = (rounds - 8..rounds).map(f64::from).collect();
        assert_eq!(values, expected, "lane {lane}");
    }
}

fn selected_blocks_and_warps(choice: BackendChoice) {
    let trace = record(
        choice,
        builder().blocks(2..5).block_stride(3).warps(1..3).for_grid(12, 128, 1),
        12 * 128,
        |session, output| launched!(session, kernels::by_warp<<<12, 128>>>(output, 5)),
        |_| 5,
    );
    nothing_lost(&trace);
    let seen: Vec<(u32, u32)> = trace.warps.iter().map(|warp| (warp.block[0], warp.warp)).collect();
    assert_eq!(seen, [(2, 1), (2, 2), (5, 1), (5, 2), (8, 1), (8, 2)]);
    assert_eq!(trace.recorded(), 6 * 5);
}

fn odd_shapes(choice: BackendChoice) {
    let backend = backend(choice);
    for (block, warps) in
        [([1, 1, 1], 1), ([31, 1, 1], 1), ([33, 1, 1], 2), ([7, 5, 3], 4), ([1024, 1, 1], 32)]
    {
        let profiler = builder().build().expect("the options");
        let mut output = backend.zeroed::<u32>(8 * 1024).expect("memory");
        let mut session = backend.session(&profiler).expect("a session");
        let pointer = output.as_mut_ptr();
        launched!(session, kernels::by_warp<<<[2, 2, 2], block>>>(pointer, 3));
        let trace = session.finish().expect("a trace");
        nothing_lost(&trace);
        assert_eq!(trace.warps.len(), 8 * warps, "{block:?}");
        assert_eq!(trace.recorded(), 8 * 3 * warps as u64, "{block:?}");
        let places: BTreeSet<_> = trace
            .warps
            .iter()
            .map(|warp| (warp.block, warp.warp as usize, warp.recorded))
            .collect();
        let expected = (0..8)
            .flat_map(|at| (0..warps).map(move |warp| ([at & 1, at >> 1 & 1, at >> 2], warp, 3)));
        assert_eq!(places, expected.collect(), "{block:?}");
    }
}

fn parameters_taken_apart(choice: BackendChoice) {
    let parts = kernels::Parts { value: 3.0, lane: 5 };
    let trace = record(
        choice,
        builder(),
        2 * 64,
        |session, output| {
            launched!(session, kernels::in_parts<<<2, 64>>>(output.cast(), parts, 0));
        },
        |_| 14.0_f32.to_bits(),
    );
    nothing_lost(&trace);
    for warp in &trace.warps {
        let squares = named(&trace, warp, "square");
        assert_eq!(squares.len(), usize::from(warp.warp == 0), "block {:?}", warp.block);
        assert!(squares.iter().all(|region| region.lane == 5));
    }
}

fn a_barrier_ends_when_the_last_warp_comes(choice: BackendChoice) {
    let trace = record(
        choice,
        builder(),
        8 * 32,
        |session, output| launched!(session, kernels::barrier_wait<<<1, 256>>>(output, 2000)),
        |_| 2000,
    );
    nothing_lost(&trace);
    for warp in &trace.warps {
        let cycles = |name: &str| {
            let region = named(&trace, warp, name)[0];
            region.end.expect("closed").ticks - region.start.ticks
        };
        // Warps start within some hundred cycles of each other.
        let expected = 2000 * u64::from(7 - warp.warp);
        let waited = cycles("barrier");
        assert!(waited.abs_diff(expected) < 1500, "warp {} waited {waited} cycles", warp.warp);
        assert!(cycles("after the barrier") < 1000);
    }
}

fn stamps_by_the_global_timer(choice: BackendChoice) {
    const SPIN: u32 = 200_000;
    let trace = record(
        choice,
        builder().subtract_record_cost(false).measure_record_cost(),
        2 * 64,
        |session, output| launched!(session, kernels::on_globaltimer<<<2, 64>>>(output, SPIN)),
        |_| SPIN,
    );
    nothing_lost(&trace);
    assert_eq!(trace.recorded(), 2, "one a block");
    for warp in trace.warps.iter().filter(|warp| warp.warp == 0) {
        let spin = named(&trace, warp, "spin")[0];
        let end = spin.end.expect("closed");
        // Both clocks advance in steps, so that either end may be a step off.
        let length = end.ticks - spin.start.ticks;
        assert!((u64::from(SPIN) - 64..u64::from(SPIN) + 5_000).contains(&length), "{length} ns");
        assert!(warp.entry.ns <= spin.start.ns + 64.0);
        assert!(end.ns <= warp.exit.expect("left").ns + 64.0);
    }
    let cost = trace.record_cost.expect("it was measured");
    for (_, costs) in cost.elections() {
        let (inside, total) = (costs.inside_ticks(), costs.total_ticks());
        assert!(inside >= 0.0 && total > 0.0 && total >= inside, "{cost:?}");
    }
}

fn anchors_come_no_more_often_than_they_may(choice: BackendChoice) {
    const ROUNDS: u32 = 200;
    const EVERY: u32 = 20_000;
    // What an instruction that is not in the cache yet may take.
    const LATE: u64 = 5_000;
    let anchored = |every: u32| {
        let trace = record(
            choice,
            builder().records_per_warp(ROUNDS + 8).records_per_lane(ROUNDS + 8),
            2 * 64,
            |session, output| {
                launched!(session, kernels::anchors_now_and_then<<<2, 64>>>(output, ROUNDS, every));
            },
            |_| ROUNDS,
        );
        nothing_lost(&trace);
        trace
    };
    let trace = anchored(EVERY);
    for warp in &trace.warps {
        let ticks: Vec<u64> = warp.anchors.iter().map(|anchor| anchor.time.ticks).collect();
        // One thread's count is for both, so that of two in a row only the first one comes.
        assert!(warp.anchors.iter().all(|anchor| anchor.lane == 0), "{:?}", warp.anchors);
        let all = warp.exit.expect("left").ticks - warp.entry.ticks;
        let most = all / u64::from(EVERY) + 1;
        let least = all / (u64::from(EVERY) + 2 * kernels::ROUND_CYCLES + LATE);
        assert!((least..=most).contains(&(ticks.len() as u64)), "{ticks:?} in {all} cycles");
        for pair in ticks.windows(2) {
            assert!(pair[1] - pair[0] > u64::from(EVERY) - LATE, "{ticks:?}");
        }
    }
    // Every time, by lane 0 of each warp and by the thread that is asked for.
    for warp in &anchored(0).warps {
        let of = |lane| warp.anchors.iter().filter(|anchor| anchor.lane == lane).count() as u32;
        let asked = if warp.warp == 1 { ROUNDS } else { 0 };
        assert_eq!((of(0), of(3)), (ROUNDS, asked));
    }
}
