//! A record of all lanes says the same as a record of each of them.

use profiler_trace::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{Capture, DiagnosticKind as Kind, Region, RegionRecord, Trace, Value, decode};
use profiler_wire::SiteKind;
use profiler_wire::header::Clock;
use proptest::prelude::*;

const KERNEL: u32 = 1;
const REGIONS: std::ops::RangeInclusive<u32> = 2..=3;
const ENTRY: u64 = 10_000;
/// Lanes of the warp: the second one of a block of 45 threads.
const LANES: u32 = 13;

/// A region that ends some ticks behind the one before: its site, its length, its value, and the lane
/// that records it, or all of them.
#[derive(Clone, Debug)]
struct Step {
    gap: u64,
    site: u32,
    length: u64,
    value: Option<i64>,
    lane: Option<u8>,
}

fn steps(gap: std::ops::Range<u64>) -> impl Strategy<Value = Vec<Step>> {
    let lane = prop::option::weighted(0.5, 0..LANES as u8);
    let value = prop::option::weighted(0.3, any::<i64>());
    let step = (gap, REGIONS, 0_u64..200, value, lane)
        .prop_map(|(gap, site, length, value, lane)| Step { gap, site, length, value, lane });
    prop::collection::vec(step, 0..40)
}

/// What a warp leaves behind, with records of all lanes or with one of each.
fn capture(steps: &[Step], shares: bool, capacity: (Keep, u32), slots: u32) -> Capture {
    let mut module = SyntheticModule::new(capacity.0, capacity.1);
    (module.lane_capacity, module.slots) = (Some(128), slots);
    module.site(SiteKind::Kernel, "kernel");
    REGIONS.for_each(|_| _ = module.site(SiteKind::Region, "region"));
    let mut warp = SyntheticWarp::new(KERNEL, ENTRY, ENTRY);
    (warp.header.block_dim, warp.header.warp) = ([45, 1, 1], 1);
    let mut end = ENTRY;
    for Step { gap, site, length, value, lane } in steps {
        end += gap;
        let start = end.saturating_sub(*length).max(ENTRY);
        let lanes = match lane {
            Some(lane) => *lane..=*lane,
            None => 0..=LANES as u8 - 1,
        };
        if shares && lane.is_none() {
            warp.range_of_all(*site, start, end);
            value.iter().for_each(|value| _ = warp.attach(*site, end, Value::Signed(*value)));
            continue;
        }
        for lane in lanes {
            warp.lane(lane).range(*site, None, start, end);
            value.iter().for_each(|value| _ = warp.attach(*site, end, Value::Signed(*value)));
        }
    }
    warp.leave(end + 1, end + 1);
    module.warps.push(warp);
    module.into_capture().expect("the sites are whole")
}

const ROOM: (Keep, u32) = (Keep::First, 128);

fn emitted(steps: &[Step]) -> u64 {
    steps.iter().map(|step| if step.lane.is_some() { 1 } else { u64::from(LANES) }).sum()
}

/// Lane, site, start, end and value.
fn plain(region: &Region) -> (u8, usize, u64, Option<u64>, Option<Value>) {
    let end = region.end.map(|end| end.ticks);
    (region.lane, region.site.0 as usize, region.start.ticks, end, region.value)
}

fn is_counted(trace: &Trace) -> bool {
    trace.diagnostics.count(Kind::CountMismatch) == 0
}

proptest! {
    #[test]
    fn a_record_of_all_lanes_is_one_of_each(steps in steps(1..100)) {
        let [mut shared, apart] =
            [true, false].map(|shares| decode(&capture(&steps, shares, ROOM, 1)));
        // No two end at once.
        let mut end = ENTRY;
        let ends = steps.iter().map(|step| (step.lane, { end += step.gap; end }));
        let of_all: Vec<u64> =
            ends.filter(|(lane, _)| lane.is_none()).map(|(_, end)| end).collect();
        for region in &mut shared.warps[0].regions {
            let is_of_all = region.end.is_some_and(|end| of_all.contains(&end.ticks));
            prop_assert_eq!(region.is_shared(), is_of_all, "{:?}", region);
            // But for that, they are alike.
            region.record = RegionRecord::Own;
        }
        prop_assert_eq!(&shared.warps, &apart.warps);
        prop_assert_eq!(&shared.diagnostics, &apart.diagnostics);
        prop_assert_eq!((shared.recorded(), shared.lost()), (emitted(&steps), 0));
    }

    /// Where two end at once, which of them encloses the other is told by nothing: all else is.
    #[test]
    fn what_ends_at_once_is_there(steps in steps(0..3)) {
        let [shared, apart] = [true, false].map(|shares| {
            let mut capture = capture(&steps, shares, ROOM, 1);
            // Bit 21 of the upper half of word 2: the records hold the timer.
            capture.modules[0].headers[22] |= 1 << 5;
            let trace = decode(&capture);
            assert_eq!(trace.warps[0].clock, Clock::GlobalTimer);
            let mut regions: Vec<_> = trace.warps[0].regions.iter().map(plain).collect();
            regions.sort_by_key(|region| format!("{region:?}"));
            regions
        });
        prop_assert_eq!(shared, apart);
    }

    /// What lane 0 has no room for is lost for all lanes, and counted for each.
    #[test]
    fn what_is_lost_is_counted_for_each_lane(
        steps in steps(1..100),
        capacity in prop_oneof![
            (0_u32..30).prop_map(|units| (Keep::First, units)),
            (0_u32..5).prop_map(|power| (Keep::Last, 1 << power)),
        ],
    ) {
        let whole = decode(&capture(&steps, true, ROOM, 1));
        let trace = decode(&capture(&steps, true, capacity, 1));
        prop_assert_eq!(trace.recorded() + trace.lost(), emitted(&steps));
        prop_assert_eq!(trace.recorded(), trace.warps[0].regions.len() as u64);
        prop_assert!(is_counted(&trace));
        let said = [Kind::RoomTooSmall, Kind::LaneRoomTooSmall, Kind::SharedLost];
        let said: u64 = said.into_iter().map(|kind| trace.diagnostics.count(kind)).sum();
        prop_assert_eq!(trace.lost(), said, "what is said adds up");
        let mut all: Vec<_> = whole.warps[0].regions.iter().map(plain).collect();
        for region in trace.warps[0].regions.iter().map(plain) {
            let there = all.iter().position(|other| {
                (other.0, other.1, other.2, other.3) == (region.0, region.1, region.2, region.3)
                    && (region.4.is_none() || region.4 == other.4)
            });
            prop_assert!(there.is_some(), "{:?} was never recorded", region);
            all.remove(there.expect("it was looked for"));
        }
    }

    /// A warp without a slot counts what its lanes would have recorded.
    #[test]
    fn a_warp_without_a_slot_loses_them_for_each_lane(steps in steps(1..100)) {
        let trace = decode(&capture(&steps, true, ROOM, 0));
        prop_assert_eq!((trace.warps.len(), trace.lost()), (0, emitted(&steps)));
    }
}

/// A warp that never left says nothing of what it lost; what it shared before is there.
#[test]
fn a_warp_that_never_left_shared_what_is_there() {
    let mut module = SyntheticModule::new(Keep::First, 4);
    module.site(SiteKind::Kernel, "kernel");
    module.site(SiteKind::Region, "region");
    let mut warp = SyntheticWarp::new(KERNEL, ENTRY, ENTRY);
    warp.range_of_all(2, ENTRY, ENTRY + 5).range_of_all(2, ENTRY + 6, ENTRY + 7);
    module.warps.push(warp);
    let trace = decode(&module.into_capture().expect("the sites are whole"));
    // Without rooms for lanes.
    assert_eq!((trace.warps[0].regions.len(), trace.recorded(), trace.lost()), (64, 64, 0));
}

/// More records of all lanes than the exit counts.
#[test]
fn a_count_that_is_too_small_is_noted() {
    let step = Step { gap: 5, site: 2, length: 3, value: None, lane: None };
    let mut capture = capture(&[step.clone(), step], true, ROOM, 1);
    assert!(is_counted(&decode(&capture)));
    capture.modules[0].headers[8 * profiler_wire::header::SHARED_START] = 1;
    let trace = decode(&capture);
    assert!(!is_counted(&trace));
    assert_eq!((trace.recorded(), trace.lost()), (2 * u64::from(LANES), 0));
}

/// The records themselves are missing from the capture's file: each lane's are lost.
#[test]
fn a_room_that_the_file_lacks_is_lost_for_each_lane() {
    let step = Step { gap: 5, site: 2, length: 3, value: Some(1), lane: None };
    let mut capture = capture(&[step.clone(), step], true, ROOM, 1);
    capture.modules[0].records.clear();
    let trace = decode(&capture);
    assert_eq!((trace.recorded(), trace.lost()), (0, 2 * u64::from(LANES)));
}

/// Of a kernel that the sites do not have, no record is shown.
#[test]
fn of_an_unknown_kernel_they_are_lost_for_each_lane() {
    let step = Step { gap: 5, site: 2, length: 3, value: Some(1), lane: None };
    let mut capture = capture(&[step.clone(), step], true, ROOM, 1);
    capture.modules[0].sites =
        SyntheticModule::new(Keep::First, 0).into_capture().expect("none").modules.remove(0).sites;
    let trace = decode(&capture);
    assert_eq!(trace.diagnostics.count(Kind::UnknownKernel), 1);
    assert_eq!((trace.recorded(), trace.lost()), (0, 2 * u64::from(LANES)));
}

/// A record says its begin with all bits; between two that are 2^40 ticks apart and more others may be missing
/// whose time nobody could know, whoever wrote them.
#[test]
fn a_long_time_between_two_is_said_as_of_one_lane() {
    const WRAP: u64 = 1 << 40;
    for gap in [WRAP / 2, WRAP - 1, WRAP, WRAP + 1, 3 * WRAP] {
        for count in [1, 3] {
            let step = |gap| Step { gap, site: 2, length: 3, value: None, lane: None };
            let steps = [step(gap), step(5), step(gap)];
            let steps = &steps[..count];
            let of_lane_0 = |shares| {
                let trace = decode(&capture(steps, shares, ROOM, 1));
                let regions = trace.warps[0].regions.iter().filter(|region| region.lane == 0);
                let said = trace.diagnostics.get(Kind::AmbiguousWrap).map(|said| said.place);
                (regions.map(plain).collect::<Vec<_>>(), said)
            };
            assert_eq!(of_lane_0(true), of_lane_0(false), "{gap} {count}");
        }
    }
}

/// The depths of lane 5's regions by their begins, of which it recorded some itself and lane 0 some for all.
fn depths(own: &[(u64, u64)], shared: &[(u64, u64)]) -> Vec<(u64, bool, u16)> {
    let mut module = SyntheticModule::new(Keep::First, 8);
    module.lane_capacity = Some(8);
    module.site(SiteKind::Kernel, "kernel");
    module.site(SiteKind::Region, "region");
    let mut warp = SyntheticWarp::new(KERNEL, ENTRY, ENTRY);
    for (start, end) in shared {
        warp.range_of_all(2, ENTRY + start, ENTRY + end);
    }
    for (start, end) in own {
        warp.lane(5).range(2, None, ENTRY + start, ENTRY + end);
    }
    warp.leave(ENTRY + 1000, ENTRY + 1000);
    module.warps.push(warp);
    let trace = decode(&module.into_capture().expect("the sites are whole"));
    let regions = trace.warps[0].regions.iter().filter(|region| region.lane == 5);
    regions.map(|region| (region.start.ticks - ENTRY, region.is_shared(), region.depth)).collect()
}

/// Of two that end in one step the one lies within the other that began later, and where they began in one too
/// the one of all lanes.
#[test]
fn of_two_that_end_at_once_the_later_one_is_the_inner_one() {
    let [own, shared] = [false, true];
    assert_eq!(depths(&[(10, 50)], &[(20, 50)]), [(10, own, 0), (20, shared, 1)]);
    assert_eq!(depths(&[(20, 50)], &[(10, 50)]), [(10, shared, 0), (20, own, 1)]);
    assert_eq!(depths(&[(10, 50)], &[(10, 50)]), [(10, own, 0), (10, shared, 1)]);
    let three = [(20, own, 0), (25, shared, 1), (30, own, 2)];
    assert_eq!(depths(&[(30, 50), (20, 50)], &[(25, 50)]), three);
    let three = [(20, shared, 0), (25, own, 1), (30, shared, 2)];
    assert_eq!(depths(&[(25, 50)], &[(30, 50), (20, 50)]), three);
}

/// What lane 0 recorded itself around a region of all lanes is not around the others' regions.
#[test]
fn a_region_of_lane_0_is_around_its_own_alone() {
    let mut module = SyntheticModule::new(Keep::First, 8);
    module.site(SiteKind::Kernel, "kernel");
    module.site(SiteKind::Region, "region");
    let mut warp = SyntheticWarp::new(KERNEL, ENTRY, ENTRY);
    for end in [20, 40] {
        warp.range_of_all(2, ENTRY + end - 10, ENTRY + end);
        warp.range(2, None, ENTRY + end - 15, ENTRY + end + 3);
    }
    warp.leave(ENTRY + 100, ENTRY + 100);
    module.warps.push(warp);
    let trace = decode(&module.into_capture().expect("the sites are whole"));
    let depths = |lane| {
        let regions = trace.warps[0].regions.iter().filter(move |region| region.lane == lane);
        regions.map(|region| (region.start.ticks - ENTRY, region.depth)).collect::<Vec<_>>()
    };
    assert_eq!(depths(0), [(5, 0), (10, 1), (25, 0), (30, 1)]);
    for lane in 1..32 {
        assert_eq!(depths(lane), [(10, 0), (30, 0)]);
    }
}
