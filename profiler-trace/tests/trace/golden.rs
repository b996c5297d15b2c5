//! Captures of known content, and what must be said of them.

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{Capture, CaptureEnd, DiagnosticKind as Kind, Trace, Value, Warp, decode};
use profiler_wire::SiteKind;
use profiler_wire::header::{self, Clock};
use profiler_wire::record::{RecordKind, stamp, tag};

use crate::support::spans;

struct Ids {
    kernel: u32,
    region: u32,
    mark: u32,
}

fn module(keep: Keep, capacity: u32) -> (SyntheticModule, Ids) {
    let mut module = SyntheticModule::new(keep, capacity);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "region");
    let mark = module.site(SiteKind::Mark, "mark");
    (module, Ids { kernel, region, mark })
}

fn capture(module: SyntheticModule) -> Capture {
    module.into_capture().expect("the sites are whole")
}

/// Decodes one warp of 2 GHz that runs for 1 ms from cycle 5 000 and 64 µs on, unless it says otherwise.
fn one(keep: Keep, capacity: u32, record: impl Fn(&mut SyntheticWarp, &Ids)) -> Trace {
    let (mut module, ids) = module(keep, capacity);
    let mut warp = SyntheticWarp::new(ids.kernel, 5_000, 64_000);
    warp.leave(2_005_000, 1_064_000);
    record(&mut warp, &ids);
    module.warps.push(warp);
    decode(&capture(module))
}

fn kinds(trace: &Trace) -> Vec<Kind> {
    trace.diagnostics.list.iter().map(|diagnostic| diagnostic.kind).collect()
}

#[test]
fn times_lie_on_one_axis_in_nanoseconds() {
    let trace = one(Keep::First, 8, |warp, ids| {
        warp.range(ids.region, None, 105_000, 205_000).mark(ids.mark, Some(7), 300_000);
    });
    assert_eq!(kinds(&trace), []);
    let warp = &trace.warps[0];
    let region = &warp.regions[0];
    let end = region.end.expect("it was ended");
    assert!((region.start.ns - 50_000.0).abs() <= 32.0, "{}", region.start.ns);
    assert!((end.ns - region.start.ns - 50_000.0).abs() <= 2.0);
    assert_eq!(warp.marks[0].track, Some(7));
    assert_eq!(trace.origin_ns, 64_000);
    let mhz = trace.clock_mhz.expect("records hold cycles");
    assert!((mhz - 2000.0).abs() < 0.2 && (trace.resolution_ns - 0.5).abs() < 0.001, "{mhz}");
    let launch = &trace.launches[0];
    assert!((launch.end_ns - launch.start_ns - 1e6).abs() < 100.0);
}

#[test]
fn long_regions_are_exact_and_zero_length_ones_survive() {
    let (twenty_ms, five_s) = (40_000_000, 10_000_000_000);
    let trace = one(Keep::First, 8, |warp, ids| {
        (warp.header.clock, warp.header.globaltimer) = (0, 3_200);
        warp.range(ids.region, None, 1_000, 1_000)
            .range(ids.region, None, 2_000, 2_000 + twenty_ms)
            .range(ids.region, None, 1_000, 1_000 + five_s)
            .leave(2 * five_s, 3_200 + five_s);
    });
    let lengths: Vec<u64> = trace.warps[0]
        .regions
        .iter()
        .map(|region| region.end.map_or(u64::MAX, |end| end.ticks - region.start.ticks))
        .collect();
    assert_eq!(lengths, [five_s, 0, twenty_ms]);
    let region = &trace.warps[0].regions[0];
    let ns = region.end.map_or(0.0, |end| end.ns) - region.start.ns;
    assert!((ns / 5e9 - 1.0).abs() < 1e-7, "{ns}");
    assert_eq!(kinds(&trace), [Kind::ClockUnread]);
}

#[test]
fn records_of_the_timer_need_no_map() {
    let trace = one(Keep::First, 8, |warp, ids| {
        (warp.header.clock, warp.header.globaltimer) = (77, 1 << 41);
        warp.header.record_clock = Clock::GlobalTimer;
        // The stamp of an anchor is of the cycle counter all the same.
        warp.anchor(88, (1 << 41) + 32).range(ids.region, None, (1 << 41) + 32, (1 << 41) + 96);
        // Within one step of the timer.
        warp.range(ids.region, None, (1 << 41) + 96, (1 << 41) + 96);
        warp.begin(ids.region, Some(1), (1 << 41) + 96).end(ids.region, Some(1), (1 << 41) + 96);
        warp.leave(99, (1 << 41) + 128);
    });
    let regions = trace.warps[0].regions.iter();
    let times: Vec<_> =
        regions.map(|region| (region.start.ns, region.end.map(|end| end.ns))).collect();
    assert_eq!(times, [(32.0, Some(96.0)), (96.0, Some(96.0)), (96.0, Some(96.0))]);
    assert_eq!((trace.resolution_ns, trace.clock_mhz), (128.0, None));
    assert_eq!(kinds(&trace), []);
}

#[test]
fn the_same_name_nested_three_deep_and_crossing_tokens() {
    let trace = one(Keep::First, 16, |warp, ids| {
        for at in [6_000, 6_010, 6_020] {
            warp.begin(ids.region, None, at);
        }
        for at in [6_030, 6_040, 6_050] {
            warp.end(ids.region, None, at);
        }
        warp.begin(ids.region, Some(1), 7_000).begin(ids.kernel, Some(1), 7_010);
        warp.end(ids.region, Some(1), 7_020).end(ids.kernel, Some(1), 7_030);
    });
    let expected = [
        (6_000, Some(6_050), 0),
        (6_010, Some(6_040), 1),
        (6_020, Some(6_030), 2),
        (7_000, Some(7_020), 0),
        (7_010, Some(7_030), 0),
    ];
    assert_eq!(spans(&trace), expected);
    assert_eq!(kinds(&trace), []);
}

#[test]
fn values_whose_region_is_lost_and_regions_whose_value_is() {
    let attach = |warp: &mut SyntheticWarp, ids: &Ids| {
        for start in [6_000, 7_000] {
            warp.range(ids.region, None, start, start + 10);
            warp.attach(ids.region, start + 10, Value::Signed(-3));
        }
    };
    let trace = one(Keep::First, 3, attach);
    let values: Vec<_> = trace.warps[0].regions.iter().map(|region| region.value).collect();
    assert_eq!(values, [Some(Value::Signed(-3)), None]);
    assert_eq!((trace.recorded(), trace.lost()), (2, 0));
    assert_eq!(kinds(&trace), [Kind::ValuesLost]);
    let trace = one(Keep::Last, 1, attach);
    assert_eq!((trace.recorded(), trace.lost()), (0, 2));
    assert_eq!(trace.diagnostics.count(Kind::OrphanedValue), 1);
}

#[test]
fn a_hung_warp_shows_what_is_open() {
    let (mut module, ids) = module(Keep::First, 2);
    let mut warp = SyntheticWarp::new(ids.kernel, 5_000, 64_000);
    warp.mark(ids.mark, None, 5_010).begin(ids.region, None, 5_020).mark(ids.mark, None, 5_030);
    module.warps.push(warp);
    let mut other = SyntheticWarp::new(ids.kernel, 5_000, 64_000);
    other.header.warp = 1;
    other.leave(2_005_000, 1_064_000);
    module.warps.push(other);
    let trace = decode(&capture(module));
    let warp = &trace.warps[0];
    assert_eq!((warp.exit, warp.regions[0].end, warp.regions[0].start.ticks), (None, None, 5_020));
    // Whether anything was lost, a warp that never left cannot say.
    assert_eq!((warp.recorded, warp.lost), (2, 0));
    assert_eq!(kinds(&trace), [Kind::WarpNeverLeft, Kind::OpenRegion, Kind::BufferFull]);
    assert!(trace.diagnostics.to_string().contains(".records_per_warp(4)"));
}

#[test]
fn odd_units_are_left_out_and_counted() {
    let trace = one(Keep::First, 16, |warp, ids| {
        warp.unit([0, 0]);
        warp.unit([5, 5]);
        warp.unit([1 << 24, stamp(tag(RecordKind::Mark, ids.mark), 6_000)]);
        warp.unit([7, stamp(tag(RecordKind::Anchor, 3), 6_000)]);
        warp.mark(99, None, 6_000);
        warp.mark(ids.region, None, 6_000).range(ids.mark, None, 6_000, 6_001);
        warp.range(ids.region, None, 4_000, 6_010).range(ids.region, Some(1), 4_000, 6_011);
        warp.range(ids.region, None, 3_000_000, 3_000_001);
        warp.range_unsigned(ids.mark, 6_000, 6_001, 7).range_signed(ids.mark, 6_000, 6_001, -7);
        warp.mark(ids.mark, None, 6_005);
    });
    let count = |kind| trace.diagnostics.count(kind);
    assert_eq!((count(Kind::UnwrittenUnit), count(Kind::DamagedUnit)), (1, 3));
    assert_eq!((count(Kind::UnknownSite), count(Kind::KindMismatch)), (1, 4));
    // The last region counts twice: by its stamp and by its begin it would end after the exit.
    assert_eq!((count(Kind::StartBeforeEntry), count(Kind::TimeNotMonotonic)), (2, 3));
    assert_eq!(trace.diagnostics.get(Kind::UnknownSite).map(|said| said.number), Some(99));
    let place = trace.diagnostics.get(Kind::UnknownSite).and_then(|said| said.place);
    assert_eq!(place.and_then(|place| place.unit), Some(4));
    assert_eq!((trace.recorded(), trace.lost()), (4, 9));
    assert_eq!(trace.warps[0].regions[0].start.ticks, 5_000);
    assert_eq!(trace.warps[0].marks[0].time.ticks, 6_005);
}

#[test]
fn replays_of_a_graph_are_told_apart() {
    let (mut module, ids) = module(Keep::First, 4);
    // Slots in an order of their own, as claimed ones are.
    for (replay, block, grid) in
        [(1, 0, 4), (0, 1, 4), (2, 1, 4), (0, 0, 4), (1, 1, 4), (2, 0, 4), (0, 0, 5)]
    {
        let start = 10_000 + 100_000 * replay + 50_000 * (grid - 4);
        let mut warp = SyntheticWarp::new(ids.kernel, 2 * start, start);
        warp.header.grid_id = grid;
        warp.header.block = [block, 0, 0];
        warp.header.grid_dim = [2, 1, 1];
        warp.mark(ids.mark, None, 2 * start + replay);
        warp.leave(2 * start + 20_000, start + 10_000);
        module.warps.push(warp);
    }
    let trace = decode(&capture(module));
    let launches: Vec<_> = trace
        .launches
        .iter()
        .map(|launch| (launch.grid_id, launch.replay, launch.warps.len()))
        .collect();
    assert_eq!(launches, [(4, 0, 2), (5, 0, 1), (4, 1, 2), (4, 2, 2)]);
    for (index, launch) in trace.launches.iter().enumerate() {
        let warps = &trace.warps[launch.warps.clone()];
        assert!(warps.iter().all(|warp| warp.launch == index));
        assert!(warps.is_sorted_by_key(|warp| warp.block));
        let replay = warps[0].marks[0].time.ticks - warps[0].entry.ticks;
        assert_eq!(replay, u64::from(launch.replay));
    }
}

/// Warps of one grid, of these blocks, in the kernel from one microsecond to another.
fn graph(warps: &[(u32, u64, Option<u64>)]) -> Capture {
    let (mut module, ids) = module(Keep::First, 4);
    for &(block, entry, exit) in warps {
        let mut warp = SyntheticWarp::new(ids.kernel, 2_000 * entry, 1_000 * entry);
        warp.header.block = [block, 0, 0];
        warp.header.grid_dim = [3, 1, 1];
        warp.begin(ids.region, None, 2_000 * entry);
        if let Some(exit) = exit {
            warp.end(ids.region, None, 2_000 * exit).leave(2_000 * exit, 1_000 * exit);
        }
        module.warps.push(warp);
    }
    capture(module)
}

/// The replay and the microsecond of entry of each warp, by block.
fn replays(warps: &[(u32, u64, u64)]) -> Vec<(u32, u32, u64)> {
    let left = warps.iter().map(|&(block, entry, exit)| (block, entry, Some(exit)));
    let trace = decode(&graph(&left.collect::<Vec<_>>()));
    let mut seen: Vec<_> = (trace.warps.iter())
        .map(|warp| (trace.launches[warp.launch].replay, warp.block[0], warp.entry.ticks / 2_000))
        .collect();
    seen.sort_unstable();
    seen
}

#[test]
fn replays_stay_apart_where_a_warp_found_no_slot() {
    for (warps, expected) in [
        // Block 1 found none in replay 0, block 0 none in replay 2.
        (
            &[(0, 100, 110), (0, 200, 210), (1, 201, 211), (1, 301, 311)][..],
            &[(0, 0, 100), (1, 0, 200), (1, 1, 201), (2, 1, 301)][..],
        ),
        // In replay 1, block 1 is the first to enter, and in the second wave block 2 comes again.
        (
            &[(0, 100, 110), (2, 110, 120), (1, 200, 209), (0, 201, 210), (2, 215, 220)],
            &[(0, 0, 100), (0, 2, 110), (1, 0, 201), (1, 1, 200), (1, 2, 215)],
        ),
        // A replay begins in the step of the timer in which the last warp before entered and left.
        (
            &[(0, 110, 120), (0, 100, 110), (1, 110, 110), (1, 111, 121)],
            &[(0, 0, 100), (0, 1, 110), (1, 0, 110), (1, 1, 111)],
        ),
        // In replay 1, the warp that found no slot before enters in the step in which replay 0 ended.
        (&[(0, 100, 110), (1, 110, 120), (0, 111, 121)], &[(0, 0, 100), (1, 0, 111), (1, 1, 110)]),
        // The warp of block 1 says that it left later than it did.
        (
            &[(0, 100, 110), (1, 101, 900), (0, 200, 210), (1, 201, 211)],
            &[(0, 0, 100), (0, 1, 101), (1, 0, 200), (1, 1, 201)],
        ),
    ] {
        assert_eq!(replays(warps), expected);
    }
}

/// As who watches a graph sees it, and what is left where a replay fails.
#[test]
fn a_replay_that_has_not_ended_is_a_launch_of_its_own() {
    let warps =
        [(0, 100, Some(110)), (1, 101, Some(112)), (1, 200, None), (0, 201, None), (2, 202, None)];
    for end in [CaptureEnd::Running, CaptureEnd::Failed { code: 719 }] {
        let mut capture = graph(&warps);
        capture.end = end;
        let trace = decode(&capture);
        let is_open = |warp: &Warp| warp.regions.iter().all(|region| region.end.is_none());
        let launches: Vec<_> = (trace.launches.iter())
            .map(|launch| {
                let warps = &trace.warps[launch.warps.clone()];
                let blocks: Vec<u32> = warps.iter().map(|warp| warp.block[0]).collect();
                (launch.replay, blocks, warps.iter().filter(|warp| is_open(warp)).count())
            })
            .collect();
        // Block 2 found no slot the first time.
        assert_eq!(launches, [(0, vec![0, 1], 0), (1, vec![0, 1, 2], 3)], "{end:?}");
    }
}

#[test]
fn blocks_are_in_order_of_z_then_y_then_x() {
    let (mut module, ids) = module(Keep::First, 1);
    for block in [[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0]] {
        let mut warp = SyntheticWarp::new(ids.kernel, 0, 3_200);
        warp.header.block = block;
        warp.leave(20_000, 12_800);
        module.warps.push(warp);
    }
    let trace = decode(&capture(module));
    let blocks: Vec<_> = trace.warps.iter().map(|warp| warp.block).collect();
    assert_eq!(blocks, [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]);
}

#[test]
fn headers_that_cannot_be_read() {
    let (mut module, ids) = module(Keep::First, 4);
    for slot in 0..4 {
        let mut warp = SyntheticWarp::new(ids.kernel, 0, 3_200);
        warp.header.block = [slot, 0, 0];
        warp.mark(ids.mark, None, 10).leave(20_000, 12_800);
        module.warps.push(warp);
    }
    module.warps[0].header.version = 9;
    module.warps[1].header.kernel = ids.region;
    module.warps[2].header.strategy = 77;
    let mut capture = capture(module);
    capture.modules[0].headers[3 * header::BYTES + 19] = 0;
    let trace = decode(&capture);
    let said =
        [Kind::HeaderVersion, Kind::UnknownKernel, Kind::DamagedHeader, Kind::UnknownStrategy];
    assert_eq!(kinds(&trace), said);
    let version = trace.diagnostics.get(Kind::HeaderVersion).expect("it is among the kinds");
    assert_eq!(version.number, 9);
    assert!(version.to_string().contains("not counted"), "{version}");
    assert_eq!((trace.recorded(), trace.lost()), (1, 1));
}

#[test]
fn records_of_each_lane_of_an_unknown_kernel_count_as_lost() {
    let (mut module, ids) = module(Keep::First, 4);
    module.lane_capacity = Some(2);
    for block in 0..2 {
        let mut warp = SyntheticWarp::new(ids.region, 0, 3_200);
        warp.header.block = [block, 0, 0];
        warp.mark(ids.mark, None, 10).lane(1).range(ids.region, None, 10, 20);
        warp.attach(ids.region, 20, Value::Unsigned(1));
        for at in 10..15 {
            warp.lane(31).mark(ids.mark, None, at);
        }
        warp.leave(20_000, 12_800);
        module.warps.push(warp);
    }
    let mut capture = capture(module);
    let trace = decode(&capture);
    assert_eq!((trace.recorded(), trace.lost()), (0, 2 * (1 + 1 + 5)));
    assert_eq!(kinds(&trace), [Kind::UnknownKernel]);
    // Without the last count.
    capture.modules[0].lane_counts.truncate((2 * 32 - 1) * 8);
    let trace = decode(&capture);
    assert_eq!(trace.lost(), 2 * (1 + 1) + 5);
    assert_eq!(kinds(&trace), [Kind::UnknownKernel, Kind::TruncatedCapture]);
}

#[test]
fn a_descriptor_of_another_version_is_refused() {
    let (mut module, ids) = module(Keep::First, 4);
    module.warps.push(SyntheticWarp::new(ids.kernel, 0, 3_200));
    let mut capture = capture(module);
    capture.modules[0].descriptor.version = 9;
    let trace = decode(&capture);
    assert!(trace.warps.is_empty());
    let said = trace.diagnostics.list[0].to_string();
    assert!(said.contains("wire version 9") && said.contains("reads version 1)"), "{said}");
}

#[test]
fn depth_of_regions_that_touch_and_of_open_ones() {
    let trace = one(Keep::First, 16, |warp, ids| {
        // Nested at the very end of the region around it, and right after another.
        warp.range(ids.region, None, 6_100, 6_100).range(ids.region, None, 6_000, 6_100);
        warp.range(ids.region, None, 6_200, 6_300).range(ids.region, None, 6_300, 6_300);
        warp.begin(ids.region, None, 7_000).begin(ids.region, None, 7_010);
    });
    let expected = [
        (6_000, Some(6_100), 0),
        (6_100, Some(6_100), 1),
        (6_200, Some(6_300), 0),
        (6_300, Some(6_300), 0),
        (7_000, None, 0),
        (7_010, None, 1),
    ];
    assert_eq!(spans(&trace), expected);
}

#[test]
fn a_value_belongs_to_the_region_just_before_it_and_to_no_other() {
    let trace = one(Keep::First, 16, |warp, ids| {
        warp.range(ids.region, None, 6_000, 6_010).attach(ids.kernel, 6_010, Value::Unsigned(1));
        warp.range(ids.region, None, 6_020, 6_030).mark(ids.mark, None, 6_031);
        warp.attach(ids.region, 6_031, Value::Unsigned(2));
        warp.range(ids.region, None, 6_040, 6_050).attach(ids.region, 6_050, Value::Unsigned(3));
        warp.attach(ids.region, 6_050, Value::Unsigned(4));
    });
    let values: Vec<_> = trace.warps[0].regions.iter().map(|region| region.value).collect();
    assert_eq!(values, [None, None, Some(Value::Unsigned(3))]);
    assert_eq!(trace.diagnostics.count(Kind::OrphanedValue), 3);
}

#[test]
fn a_lane_that_never_left_is_read_all_the_same() {
    let (mut module, ids) = module(Keep::Last, 4);
    module.lane_capacity = Some(4);
    let mut warp = SyntheticWarp::new(ids.kernel, 5_000, 64_000);
    warp.lane(31).mark(ids.mark, None, 6_000).mark(ids.mark, None, 6_010);
    warp.leave(2_005_000, 1_064_000);
    module.warps.push(warp);
    let mut capture = capture(module);
    capture.modules[0].lane_counts.fill(0);
    let trace = decode(&capture);
    let seen: Vec<_> =
        trace.warps[0].marks.iter().map(|mark| (mark.lane, mark.time.ticks)).collect();
    assert_eq!(seen, [(31, 6_000), (31, 6_010)]);
    assert_eq!(kinds(&trace), [Kind::LaneNeverLeft]);
}

/// Decodes a warp of 10 ms whose clock runs at 2 GHz for the first half and at 1 GHz then; it reads
/// both clocks, or not, when that changes, and a region lies around that moment.
fn slowing_down(with_anchors: bool, lane: u8) -> Trace {
    let (mut module, ids) = module(Keep::First, 8);
    module.lane_capacity = Some(8);
    let mut warp = SyntheticWarp::new(ids.kernel, 5_000, 64_000);
    warp.lane(lane);
    if with_anchors {
        for (cycles, ns) in
            [(5_000_000, 2_500_000), (10_000_000, 5_000_000), (12_000_000, 7_000_000)]
        {
            warp.anchor(5_000 + cycles, 64_000 + ns);
        }
    }
    warp.range(ids.region, None, 5_000 + 9_000_000, 5_000 + 12_000_000);
    warp.attach(ids.region, 5_000 + 12_000_000, Value::Unsigned(1));
    warp.leave(5_000 + 15_000_000, 64_000 + 10_000_000);
    module.warps.push(warp);
    decode(&capture(module))
}

#[test]
fn anchors_in_the_middle_bend_the_map_of_their_sm() {
    for lane in [0, 3] {
        let ns = |trace: &Trace| {
            let region = &trace.warps[0].regions[0];
            (region.start.ns, region.end.map_or(0.0, |end| end.ns))
        };
        let trace = slowing_down(true, lane);
        let (start, end) = ns(&trace);
        assert!((start - 4.5e6).abs() < 100.0 && (end - 7e6).abs() < 100.0, "{start} {end}");
        assert_eq!(trace.warps[0].anchors.len(), 3);
        assert_eq!((trace.recorded(), trace.lost()), (1, 0), "anchors are no records");
        assert_eq!(trace.warps[0].regions[0].value, Some(Value::Unsigned(1)));
        assert_eq!(kinds(&trace), [Kind::ClockChanged]);
        let (start, _) = ns(&slowing_down(false, lane));
        assert!((start - 6e6).abs() < 100.0, "a straight line from entry to exit: {start}");
    }
}

/// The SM of a warp, when it enters and leaves in milliseconds of the timer, and when it reads both clocks
/// besides.
type Stay = (u32, u64, Option<u64>, &'static [u64]);

/// How many stretches of SMs' clocks are unread for long, and the longest in milliseconds.
fn unread(clock: Clock, stays: &[Stay]) -> Option<(u64, u64)> {
    let (mut module, ids) = module(Keep::First, 16);
    for &(sm, entry, exit, readings) in stays {
        let at = |ms: u64| (2_000_000 * (ms + 1), 1_000_000 * (ms + 1));
        let mut warp = SyntheticWarp::new(ids.kernel, at(entry).0, at(entry).1);
        (warp.header.sm, warp.header.record_clock) = (sm, clock);
        for (cycles, ns) in readings.iter().map(|reading| at(*reading)) {
            warp.anchor(cycles, ns);
        }
        warp.exit = exit.map(at);
        module.warps.push(warp);
    }
    let said = decode(&capture(module)).diagnostics.get(Kind::ClockUnread).copied();
    said.map(|said| (said.count, said.number))
}

#[test]
fn a_clock_that_nobody_reads_for_long_is_said() {
    let stay = |sm| (sm, 0, Some(20), &[][..]);
    assert_eq!(unread(Clock::GlobalTimer, &[(0, 0, Some(900), &[])]), None);
    type Said = Option<(u64, u64)>;
    let cases: &[(&[Stay], Said)] = &[
        (&[(0, 0, Some(11), &[])], Some((1, 11))),
        (&[(0, 0, Some(10), &[])], None),
        // Readings of its own, of another warp, and of a warp of another SM.
        (&[(0, 0, Some(30), &[10, 20])], None),
        (&[(0, 0, Some(40), &[10])], Some((1, 30))),
        (&[(0, 0, Some(30), &[]), (0, 9, Some(21), &[])], Some((1, 12))),
        (&[(0, 0, Some(20), &[]), (0, 10, None, &[])], None),
        (&[(0, 0, Some(20), &[]), (1, 10, Some(18), &[])], Some((1, 20))),
        (&[(3, 0, Some(50), &[]), (1, 10, Some(90), &[])], Some((2, 80))),
        // The longest of several is named, in whatever order the warps of an SM stand.
        (&[(0, 0, Some(60), &[40])], Some((1, 40))),
        (&[stay(1), stay(0), stay(1)], Some((2, 20))),
        // One that entered later and left earlier.
        (&[(0, 0, Some(50), &[]), (0, 5, Some(6), &[])], Some((1, 44))),
        // Between two stays nothing was recorded.
        (&[(0, 0, Some(5), &[]), (0, 500, Some(505), &[])], None),
        (&[(0, 0, Some(12), &[5]), (0, 2, Some(4), &[]), (0, 500, Some(512), &[])], Some((1, 12))),
    ];
    for &(stays, expected) in cases {
        assert_eq!(unread(Clock::Cycles, stays), expected, "{stays:?}");
    }
}
