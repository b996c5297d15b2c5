//! Regions whose begin is a record of its own, for a reader who watches.

use super::*;
use crate::diagnostic::Diagnostic;

#[test]
fn a_watched_region_ends_the_latest_begin_ahead_of_it() {
    // Recursion, and one on a track of its own between the two.
    let capture = one(Keep::First, 16, |warp| {
        warp.begin(2, None, 6_040).begin(2, Some(5), 6_041).begin(2, None, 6_050);
        warp.watched(2, None, 6_055, 6_060).attach(2, 6_060, Value::Unsigned(7));
        warp.watched(2, Some(5), 6_041, 6_062).watched(2, None, 6_045, 6_070);
        warp.begin(3, None, 6_080);
    });
    let expected = [
        (6_041, Some(6_062), 0),
        (6_045, Some(6_070), 0),
        (6_055, Some(6_060), 1),
        (6_080, None, 0),
    ];
    check(&capture, &expected, &[Kind::OpenRegion]);
    let trace = Decoder::new(&capture).trace();
    assert_eq!(trace.warps[0].regions[2].value, Some(Value::Unsigned(7)));
}

/// The end of a token says which of two begins of one site is its own, where nothing else does.
#[test]
fn watched_regions_of_one_site_that_cross() {
    let capture = one(Keep::First, 16, |warp| {
        warp.begin(2, None, 6_000).begin(2, None, 6_003);
        warp.watched(2, None, 6_002, 6_020).watched(2, None, 6_012, 6_030);
    });
    check_either_way(&capture, &[(6_002, Some(6_020), 0), (6_012, Some(6_030), 0)], &[]);
}

#[test]
fn a_watched_region_whose_begin_was_overwritten_is_whole() {
    let capture = one(Keep::Last, 4, |warp| {
        warp.begin(2, None, 6_000).begin(2, None, 6_010).mark(4, None, 6_015);
        warp.watched(2, None, 6_012, 6_020).attach(2, 6_020, Value::Unsigned(1));
        warp.watched(2, None, 6_002, 6_030);
    });
    check(&capture, &[(6_002, Some(6_030), 0), (6_012, Some(6_020), 1)], &[Kind::RoomTooSmall]);
    let trace = Decoder::new(&capture).trace();
    assert_eq!(trace.warps[0].regions[1].value, Some(Value::Unsigned(1)));
    assert_eq!((trace.recorded(), trace.lost()), (3, 2));
}

#[test]
fn a_watched_region_that_began_before_the_kernel_is_said() {
    let capture = one(Keep::First, 16, |warp| {
        warp.watched(2, None, ENTRY - 1, 6_020);
    });
    check_either_way(&capture, &[(ENTRY, Some(6_020), 0)], &[Kind::StartBeforeEntry]);
}

/// Its begin says when it was written, whatever the 40 bits of the record leave open.
#[test]
fn a_watched_region_of_more_than_40_bits_is_exact() {
    const PART: u64 = (1 << 40) - 100;
    let (begin, end) = (6_000, 6_000 + 5 * PART + 50);
    let watched = |start: u64| {
        let mut capture = one(Keep::First, 16, |warp| {
            warp.begin(2, None, begin);
            // In between something is recorded often enough.
            for part in 1..=5 {
                warp.mark(4, None, begin + part * PART);
            }
            warp.watched(2, None, start, end);
        });
        // The warp leaves soon after.
        let (exit, nanoseconds) = (end + 50, 64_000 + (end + 50 - ENTRY) / 2);
        let words = [exit, nanoseconds].map(u64::to_le_bytes).concat();
        let at = 8 * profiler_wire::header::EXIT_START;
        capture.modules[0].headers[at..at + 16].copy_from_slice(&words);
        capture
    };
    check(&watched(begin + 7), &[(begin + 7, Some(end), 0)], &[]);
    // A reading that does not stand right behind that begin is of another region, of which 40 bits do not
    // tell when it began.
    let late = begin + (1 << 32);
    let wrapped = late + (4 << 40);
    let seen = [(begin, None, 0), (wrapped, Some(end), 1)];
    check_either_way(&watched(late), &seen, &[Kind::OpenRegion, Kind::AmbiguousWrap]);
}

/// Of two regions with the same times the one that ended later lies around the other.
fn later_lies_around(capture: &Capture, kinds: &[Kind]) {
    check(capture, &[(6_002, Some(6_020), 0), (6_002, Some(6_020), 1)], kinds);
    let trace = Decoder::new(capture).trace();
    let ids = trace.warps[0].regions.iter().map(|region| trace.site(region.site).id);
    assert_eq!(ids.collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn of_two_watched_regions_with_the_same_times_the_later_one_lies_around() {
    let whole = one(Keep::First, 16, |warp| {
        warp.begin(2, None, 6_000).begin(3, None, 6_001);
        warp.watched(3, None, 6_002, 6_020).watched(2, None, 6_002, 6_020);
    });
    later_lies_around(&whole, &[]);
    let overwritten = one(Keep::Last, 4, |warp| {
        warp.begin(2, None, 6_000).mark(4, None, 6_001).mark(4, None, 6_002);
        warp.range(3, None, 6_002, 6_020).watched(2, None, 6_002, 6_020);
    });
    later_lies_around(&overwritten, &[Kind::RoomTooSmall]);
}

/// A clock that comes in steps reads the same again and again.
#[test]
fn each_begin_at_one_tick_is_that_of_one_watched_region() {
    let capture = one(Keep::First, 16, |warp| {
        warp.begin(2, None, 6_000).begin(2, None, 6_000).begin(2, None, 6_000);
        warp.watched(2, None, 6_000, 6_000).watched(2, None, 6_000, 6_010);
        warp.watched(2, None, 6_000, 6_020);
    });
    let expected = [(6_000, Some(6_020), 0), (6_000, Some(6_010), 1), (6_000, Some(6_000), 2)];
    check(&capture, &expected, &[]);
}

#[test]
fn a_watched_region_may_end_where_it_begins_and_not_before() {
    let watched = |end: u64| {
        one(Keep::First, 16, |warp| {
            warp.begin(2, None, 6_000).watched(2, None, 6_020, end);
        })
    };
    check(&watched(6_020), &[(6_020, Some(6_020), 0)], &[]);
    // A damaged one is of no begin.
    let seen = [(ENTRY, Some(6_019), 0), (6_000, None, 0)];
    check_either_way(&watched(6_019), &seen, &[Kind::StartBeforeEntry, Kind::OpenRegion]);
}

#[test]
fn a_region_whose_end_is_damaged_to_lie_before_its_begin_has_no_length() {
    let capture = one(Keep::First, 16, |warp| {
        warp.begin(2, None, 6_000).end(2, None, 5_990);
    });
    check_either_way(&capture, &[(6_000, Some(6_000), 0)], &[Kind::TimeNotMonotonic]);
}

/// Three lanes with rooms of eight units, which record in memory of the host and may still be running.
fn of_lanes(leaves: bool, record: impl Fn(&mut SyntheticWarp)) -> Capture {
    of_so_many_lanes(3, leaves, record)
}

fn of_so_many_lanes(lanes: u32, leaves: bool, record: impl Fn(&mut SyntheticWarp)) -> Capture {
    of_rooms((Keep::First, 8), lanes, leaves, record)
}

/// Where rooms of other lanes than lane 0 have so many units.
fn of_rooms(
    (keep, units): (Keep, u32),
    lanes: u32,
    leaves: bool,
    record: impl Fn(&mut SyntheticWarp),
) -> Capture {
    let mut module = SyntheticModule::new(keep, 8);
    module.lane_capacity = Some(units);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    module.site(SiteKind::Region, "a");
    module.site(SiteKind::Region, "b");
    let mut warp = SyntheticWarp::new(kernel, ENTRY, 64_000);
    warp.header.block_dim = [lanes, 1, 1];
    record(&mut warp);
    if leaves {
        warp.leave(ENTRY + 5_000, 66_500);
    }
    module.warps.push(warp);
    module.into_capture().expect("the sites are whole")
}

/// Lane, site, start, end and depth of each region.
fn of_each_lane(capture: &Capture) -> Vec<(u8, u32, u64, Option<u64>, u16)> {
    let trace = Decoder::new(capture).trace();
    assert_eq!(trace, carefully(capture));
    let warp = &trace.warps[0];
    let mut regions: Vec<_> = warp
        .regions
        .iter()
        .map(|region| {
            let end = region.end.map(|end| end.ticks);
            (region.lane, trace.site(region.site).id, region.start.ticks, end, region.depth)
        })
        .collect();
    regions.sort_unstable();
    regions
}

/// All lanes are in what lane 0 began for them, whether the others have recorded anything yet or not.
#[test]
fn what_all_lanes_began_is_open_in_each() {
    let capture = of_lanes(false, |warp| {
        warp.begin_of_all(2, 6_000).begin_of_all(3, 6_010).range_of_all(3, 6_012, 6_020);
        warp.begin_of_all(3, 6_030);
    });
    let of_lane = |lane| {
        [(lane, 2, 6_000, None, 0), (lane, 3, 6_012, Some(6_020), 1), (lane, 3, 6_030, None, 1)]
    };
    assert_eq!(of_each_lane(&capture), [0, 1, 2].map(of_lane).concat());
    let trace = Decoder::new(&capture).trace();
    assert_eq!(trace.diagnostics.count(Kind::OpenRegion), 6);
    // Four records, each of three lanes.
    assert_eq!((trace.recorded(), trace.lost()), (12, 0));
}

/// A lane that leaves early ends what it shared; the others are in it still.
#[test]
fn what_all_lanes_began_each_may_end_alone() {
    let capture = of_lanes(false, |warp| {
        warp.begin_of_all(2, 6_000).begin_of_all(3, 6_010);
        warp.lane(1).parted(3, 6_012, 6_030).parted(2, 6_001, 6_040);
        warp.lane(0).parted(3, 6_012, 6_050);
    });
    let expected = [
        (0, 2, 6_000, None, 0),
        (0, 3, 6_012, Some(6_050), 1),
        (1, 2, 6_001, Some(6_040), 0),
        (1, 3, 6_012, Some(6_030), 1),
        (2, 2, 6_000, None, 0),
        (2, 3, 6_010, None, 1),
    ];
    assert_eq!(of_each_lane(&capture), expected);
}

/// Of two of one site that a lane ends in the order of their begins, as tokens may, each has its own.
#[test]
fn what_all_lanes_began_of_one_site_may_cross() {
    let capture = of_lanes(true, |warp| {
        warp.begin_of_all(2, 6_000).begin_of_all(2, 6_010).begin_of_all(2, 6_020);
        warp.range_of_all(2, 6_002, 6_030);
        warp.lane(2).parted(2, 6_012, 6_040);
    });
    let expected = [
        (0, 2, 6_002, Some(6_030), 0),
        (0, 2, 6_010, None, 0),
        (0, 2, 6_020, None, 1),
        (1, 2, 6_002, Some(6_030), 0),
        (1, 2, 6_010, None, 0),
        (1, 2, 6_020, None, 1),
        (2, 2, 6_002, Some(6_030), 0),
        (2, 2, 6_012, Some(6_040), 0),
        (2, 2, 6_020, None, 0),
    ];
    assert_eq!(of_each_lane(&capture), expected);
}

/// What lane 0's room lost of all lanes is lost for each: here its last begin and end.
#[test]
fn begins_of_all_lanes_that_found_no_room_are_lost_for_each() {
    let capture = of_lanes(true, |warp| {
        for round in 0..5 {
            let now = 6_000 + 100 * round;
            warp.begin_of_all(2, now).range_of_all(2, now + 1, now + 50);
        }
    });
    assert_eq!(of_each_lane(&capture).len(), 12);
    let trace = Decoder::new(&capture).trace();
    assert_eq!((trace.recorded(), trace.lost()), (24, 6));
    assert_eq!(trace.diagnostics.count(Kind::SharedLost), 4);
    assert_eq!(trace.diagnostics.count(Kind::RoomTooSmall), 2);
}

/// The regions of a warp are in the order of their begins, also where lane 0 has recorded only what all began.
#[test]
fn what_all_lanes_began_stands_in_order_with_what_one_recorded_alone() {
    let capture = of_so_many_lanes(2, false, |warp| {
        warp.begin_of_all(2, 6_000);
        warp.lane(1).watched(3, None, 5_900, 5_950);
    });
    let trace = Decoder::new(&capture).trace();
    let regions = trace.warps[0].regions.iter().map(|region| (region.start.ticks, region.lane));
    assert_eq!(regions.collect::<Vec<_>>(), [(5_900, 1), (6_000, 0), (6_000, 1)]);
}

/// Only lane 0 records for all.
#[test]
fn what_another_lane_says_of_all_is_damage() {
    let capture = of_lanes(true, |warp| {
        warp.lane(2).watched(2, None, 6_000, 6_010);
        warp.unit([6_020, stamp(tag(RecordKind::RangeShared, 2), 6_030)]);
        warp.unit([OF_ALL, stamp(tag(RecordKind::Begin, 2), 6_040)]);
    });
    assert_eq!(of_each_lane(&capture), [(2, 2, 6_000, Some(6_010), 0)]);
    let trace = Decoder::new(&capture).trace();
    assert_eq!(trace.diagnostics.count(Kind::DamagedUnit), 2);
}

/// What says so is no begin in kernels of wire versions that had none for all lanes.
#[test]
fn a_begin_of_all_lanes_is_damage_in_an_older_capture() {
    let mut capture = of_lanes(true, |warp| {
        warp.begin_of_all(2, 6_000);
    });
    assert_eq!(of_each_lane(&capture).len(), 3);
    set_version(&mut capture, RecordKind::RangeParted.since() as u8 - 1);
    assert_eq!(of_each_lane(&capture), []);
    let trace = Decoder::new(&capture).trace();
    assert_eq!(trace.diagnostics.count(Kind::DamagedUnit), 1);
}

/// By the timer, a region may begin in the step that the begin of the next one is recorded in. The order of records
/// tells whose end it is.
#[test]
fn of_two_begins_of_all_lanes_in_one_step_the_end_is_of_the_one_before_it() {
    let begins_twice = |warp: &mut SyntheticWarp| {
        warp.header.record_clock = Clock::GlobalTimer;
        warp.begin_of_all(2, 66_000).range_of_all(2, 66_032, 66_032).begin_of_all(2, 66_032);
    };
    let capture = of_so_many_lanes(1, false, begins_twice);
    let expected = [(0, 2, 66_032, None, 0), (0, 2, 66_032, Some(66_032), 1)];
    assert_eq!(of_each_lane(&capture), expected);
    let alone = of_so_many_lanes(1, false, |warp| {
        begins_twice(warp);
        warp.parted(2, 66_032, 66_064);
    });
    let expected = [(0, 2, 66_032, Some(66_032), 1), (0, 2, 66_032, Some(66_064), 0)];
    assert_eq!(of_each_lane(&alone), expected);
}

/// An end that is far behind a begin is of another one.
#[test]
fn an_end_of_all_lanes_that_began_long_after_a_begin_is_not_its_own() {
    let ended = |start: u64| {
        of_so_many_lanes(1, false, |warp| {
            warp.begin_of_all(2, 6_000).range_of_all(2, start, start + 10);
        })
    };
    assert_eq!(of_each_lane(&ended(5_999 + (1 << 32))).len(), 1);
    let late = 6_000 + (1 << 32);
    let expected = [(0, 2, 6_000, None, 0), (0, 2, late, Some(late + 10), 1)];
    assert_eq!(of_each_lane(&ended(late)), expected);
}

/// Begins of all lanes are in lane 0's room, ends that a lane records alone in its own: where that is a ring that
/// has turned, what began before its oldest record may have ended in what is gone.
#[test]
fn what_a_lane_s_ring_may_have_overwritten_the_end_of_is_not_shown_as_open() {
    let capture = of_rooms((Keep::Last, 2), 3, true, |warp| {
        warp.begin_of_all(2, 6_000).parted(2, 6_002, 6_010).begin_of_all(3, 6_150);
        warp.lane(1).parted(2, 6_002, 6_012).watched(3, None, 6_100, 6_110);
        warp.watched(3, None, 6_200, 6_210);
    });
    let expected = [
        (0, 2, 6_002, Some(6_010), 0),
        (0, 3, 6_150, None, 0),
        (1, 3, 6_100, Some(6_110), 0),
        (1, 3, 6_150, None, 0),
        (1, 3, 6_200, Some(6_210), 1),
        (2, 2, 6_000, None, 0),
        (2, 3, 6_150, None, 1),
    ];
    assert_eq!(of_each_lane(&capture), expected);
}

/// Where a capture ends ahead of a lane's records, nothing tells what it has ended.
#[test]
fn what_all_lanes_began_is_not_shown_as_open_in_lanes_that_are_cut_off() {
    let whole = of_lanes(true, |warp| {
        warp.begin_of_all(2, 6_000);
        warp.lane(0).parted(2, 6_002, 6_010);
        warp.lane(1).parted(2, 6_002, 6_012);
    });
    let mut without_rooms = whole.clone();
    without_rooms.modules[0].lanes.clear();
    let mut without_counts = whole.clone();
    without_counts.modules[0].lane_counts.clear();
    let mut without_both = without_rooms.clone();
    without_both.modules[0].lane_counts.clear();
    for capture in [without_rooms, without_both] {
        assert_eq!(of_each_lane(&capture), [(0, 2, 6_002, Some(6_010), 0)]);
        let trace = Decoder::new(&capture).trace();
        assert_eq!(trace.diagnostics.count(Kind::OpenRegion), 0);
        assert!(trace.diagnostics.count(Kind::TruncatedCapture) > 0);
    }
    assert_eq!(of_each_lane(&whole).len(), 3);
    let ended = [(0, 2, 6_002, Some(6_010), 0), (1, 2, 6_002, Some(6_012), 0)];
    assert_eq!(of_each_lane(&without_counts), ended);
}

/// A reading behind a begin is no later than the next begin. What is later is of one that was lost, here for want of
/// room.
#[test]
fn an_end_of_a_begin_that_was_lost_is_of_no_begin_before_it() {
    let capture = of_so_many_lanes(2, false, |warp| {
        for begin in [6_000, 6_050, 6_100, 6_150, 6_200, 6_250, 6_300, 6_350, 6_400] {
            warp.begin_of_all(2, begin);
        }
        warp.lane(1).parted(2, 6_402, 6_500).parted(2, 6_352, 6_510).parted(2, 6_302, 6_520);
    });
    let of_lane = |lane| {
        let begins = of_each_lane(&capture).into_iter().filter(move |region| region.0 == lane);
        begins.map(|(_, _, start, end, _)| (start, end)).collect::<Vec<_>>()
    };
    let open = [6_000, 6_050, 6_100, 6_150, 6_200, 6_250].map(|start| (start, None));
    assert_eq!(of_lane(0), [&open[..], &[(6_300, None), (6_350, None)]].concat());
    let ended = [(6_302, Some(6_520)), (6_352, Some(6_510)), (6_402, Some(6_500))];
    assert_eq!(of_lane(1), [&open[..], &ended].concat());
}

/// Of two open regions that began in one step of the timer, one of all lanes and one of lane 0 alone, the record that
/// was written first is of the one around the other. In another lane nothing tells.
#[test]
fn open_regions_that_began_at_once_lie_in_each_other_as_their_records_say() {
    let capture = |is_of_all_first: bool| {
        of_so_many_lanes(1, false, |warp| {
            warp.header.record_clock = Clock::GlobalTimer;
            warp.watched(3, None, 65_000, 65_500).attach(3, 65_500, Value::Unsigned(7));
            if is_of_all_first {
                warp.begin_of_all(2, 66_000).begin(3, None, 66_000);
            } else {
                warp.begin(3, None, 66_000).begin_of_all(2, 66_000);
            }
        })
    };
    let ended = (0, 3, 65_000, Some(65_500), 0);
    let first = [(0, 2, 66_000, None, 0), ended, (0, 3, 66_000, None, 1)];
    assert_eq!(of_each_lane(&capture(true)), first);
    let last = [(0, 2, 66_000, None, 1), ended, (0, 3, 66_000, None, 0)];
    assert_eq!(of_each_lane(&capture(false)), last);
    // The only value is that of the one that ended.
    let trace = Decoder::new(&capture(true)).trace();
    let values = trace.warps[0].regions.iter().filter_map(|region| region.value).count();
    assert_eq!(values, 1);
}

/// Two begins of all lanes may be recorded in one step of the timer, and the clock be read again behind the second in
/// the next one. Lanes then end the first together and the second each for itself, as its values differ.
#[test]
fn of_two_begins_of_all_lanes_in_one_step_each_has_the_end_of_its_own_reading() {
    let capture = of_lanes(true, |warp| {
        warp.header.record_clock = Clock::GlobalTimer;
        warp.begin_of_all(2, 66_032).begin_of_all(2, 66_032);
        warp.lane(0).parted(2, 66_064, 66_064).range_of_all(2, 66_032, 66_064);
        warp.lane(1).parted(2, 66_064, 66_064);
    });
    let regions = of_each_lane(&capture);
    let of_lane = |lane| regions.iter().filter(move |region| region.0 == lane);
    for lane in [0, 1] {
        assert!(of_lane(lane).all(|region| region.3.is_some()), "{regions:?}");
        assert_eq!(of_lane(lane).count(), 2);
    }
    // One lane is in it still.
    assert_eq!(of_lane(2).filter(|region| region.3.is_none()).count(), 1, "{regions:?}");
}

/// A begin of all lanes, of which lane 0's room has no place for the `lost` ones that follow, and their ends in lane 1,
/// or of the first as well; `between` is recorded before those. The lane's regions, and how many more it may be in.
fn of_lost_begins(
    between: impl Fn(&mut SyntheticWarp),
    lost: u64,
    ends_first: bool,
) -> (Vec<(u64, Option<u64>)>, u64) {
    let capture = of_so_many_lanes(2, true, |warp| {
        for tick in 5_900..5_907 {
            warp.lane(0).watched(3, None, tick, tick + 1);
        }
        warp.begin_of_all(2, 6_000);
        between(warp);
        for begin in (0..lost).map(|index| 6_100 + 100 * index) {
            warp.begin_of_all(2, begin).lane(1).parted(2, begin + 2, begin + 50);
        }
        if ends_first {
            warp.parted(2, 6_002, 7_000);
        }
        warp.lane(1).range(3, None, 7_100, 7_110);
    });
    let regions = of_each_lane(&capture).into_iter();
    let of_lane_1 = regions.filter(|region| region.0 == 1 && region.1 == 2);
    let trace = Decoder::new(&capture).trace();
    let said = trace.diagnostics.get(Kind::SharedLost).expect("begins are lost");
    (of_lane_1.map(|(_, _, start, end, _)| (start, end)).collect(), said.number)
}

/// What a lane wrote behind a begin of all lanes, it wrote behind reading the clock there: of that begin is no end that
/// began later. So it is open in the lane, and not taken for ended by the end of one that was lost.
#[test]
fn an_end_that_began_behind_a_unit_of_its_lane_is_of_no_begin_before_that() {
    let one_in_two_units = |warp: &mut SyntheticWarp| {
        warp.lane(1).begin(3, None, 6_010).watched(3, None, 6_012, 6_020);
    };
    let ranges = |warp: &mut SyntheticWarp| {
        warp.lane(1).range(3, None, 5_980, 6_000).range(3, None, 6_010, 6_020);
        warp.range(3, None, 6_030, 6_090);
    };
    let parted = |warp: &mut SyntheticWarp| {
        warp.lane(1).parted(3, 6_010, 6_020);
    };
    for between in [one_in_two_units, ranges, parted] {
        let open = vec![(6_000, None), (6_102, Some(6_150))];
        assert_eq!(of_lost_begins(between, 1, false), (open, 0));
        let ended = vec![(6_002, Some(7_000)), (6_102, Some(6_150))];
        assert_eq!(of_lost_begins(between, 1, true), (ended, 0));
    }
}

/// What all lanes wrote by one record they wrote behind reading the clock as well, whoever stored it.
#[test]
fn an_end_that_began_behind_a_record_of_all_lanes_is_of_no_begin_before_that() {
    let ended = |start: u64| {
        of_so_many_lanes(2, false, |warp| {
            warp.begin_of_all(3, 5_990).begin_of_all(2, 6_000).range_of_all(3, 5_992, 6_020);
            warp.lane(1).parted(2, start, 6_050);
        })
    };
    let of_lane_1 = |capture: &Capture| {
        let regions = of_each_lane(capture).into_iter();
        let regions = regions.filter(|region| region.0 == 1 && region.1 == 2);
        regions.map(|(_, _, start, end, _)| (start, end)).collect::<Vec<_>>()
    };
    assert_eq!(of_lane_1(&ended(6_020)), [(6_020, Some(6_050))]);
    assert_eq!(of_lane_1(&ended(6_021)), [(6_000, None), (6_021, Some(6_050))]);
}

/// Where it wrote nothing in between nothing tells whether it ended the last begin that is there. It is taken to have,
/// and that it may be in a region that is not shown is said; not so where it has more ends than there are lost begins.
/// What lane 0 alone wrote does not help: another lane may read the clock after that.
#[test]
fn an_end_that_may_be_of_a_begin_that_was_lost_is_said() {
    let nothing = |_: &mut SyntheticWarp| {};
    let up_to_then = |warp: &mut SyntheticWarp| {
        warp.lane(1).watched(3, None, 5_990, 6_000);
    };
    for between in [nothing, up_to_then] {
        assert_eq!(of_lost_begins(between, 1, false), (vec![(6_102, Some(6_150))], 1));
        let both = vec![(6_002, Some(7_000)), (6_102, Some(6_150))];
        assert_eq!(of_lost_begins(between, 1, true), (both, 0));
        let later = vec![(6_102, Some(6_150)), (6_202, Some(6_250))];
        assert_eq!(of_lost_begins(between, 2, false), (later, 1));
    }
    let said = |regions: u64| {
        let count = 2 * regions;
        Diagnostic { kind: Kind::SharedLost, count, number: regions, place: None }.to_string()
    };
    assert!(!said(0).contains("not shown"), "{}", said(0));
    assert!(said(1).contains("may be in 1 region that is not shown"), "{}", said(1));
    assert!(said(2).contains("may be in 2 regions that are not shown"), "{}", said(2));
}

/// So may an end in the step of the timer in which the oldest record is that lane 0's ring has left. Each lane counts.
#[test]
fn an_end_that_may_be_of_a_begin_that_was_overwritten_is_said() {
    let of_lanes_1_and_2 = |start: u64| {
        let capture = of_rooms((Keep::Last, 8), 3, true, |warp| {
            warp.header.record_clock = Clock::GlobalTimer;
            warp.begin_of_all(2, 66_000).begin_of_all(2, 66_032);
            for step in 2..9 {
                warp.lane(0).watched(3, None, 66_000 + 32 * step, 66_000 + 32 * step);
            }
            warp.lane(1).parted(2, start, 66_128).lane(2).parted(2, start, 66_160);
        });
        let regions = of_each_lane(&capture).into_iter();
        let regions = regions.filter(|region| region.0 > 0);
        let trace = Decoder::new(&capture).trace();
        let said = trace.diagnostics.get(Kind::SharedLost).expect("a begin is lost");
        let regions = regions.map(|(lane, _, start, end, _)| (lane, start, end));
        (regions.collect::<Vec<_>>(), said.number)
    };
    for (start, untold) in [(66_032, 2), (66_064, 0)] {
        let ended = vec![(1, start, Some(66_128)), (2, start, Some(66_160))];
        assert_eq!(of_lanes_1_and_2(start), (ended, untold), "{start}");
    }
}

/// Also where a lane between has lost records of its own.
#[test]
fn what_another_lane_has_lost_does_not_hide_that() {
    let capture = of_rooms((Keep::Last, 8), 3, true, |warp| {
        warp.header.record_clock = Clock::GlobalTimer;
        warp.begin_of_all(2, 66_000).begin_of_all(2, 66_032);
        for tick in (2..9).map(|step| 66_000 + 32 * step) {
            warp.lane(0).watched(3, None, tick, tick);
            warp.lane(1).range(3, None, tick, tick).range(3, None, tick, tick);
        }
        warp.lane(2).parted(2, 66_032, 66_288);
    });
    let trace = Decoder::new(&capture).trace();
    assert!(trace.diagnostics.count(Kind::LaneRoomTooSmall) > 0, "lane 1 has lost some");
    assert_eq!(trace.diagnostics.get(Kind::SharedLost).map(|said| said.number), Some(1));
}

/// An end whose begin was overwritten lies in the ring ahead of all begins, and is of none of them, though one may have
/// begun in the same step of the timer.
#[test]
fn an_end_ahead_of_all_begins_is_of_none_of_them() {
    let capture = of_rooms((Keep::Last, 8), 2, true, |warp| {
        warp.header.record_clock = Clock::GlobalTimer;
        warp.begin_of_all(2, 66_000).range_of_all(2, 66_000, 66_000).begin_of_all(2, 66_000);
        for tick in (1..7).map(|step| 66_000 + 32 * step) {
            warp.lane(0).watched(3, None, tick, tick);
        }
    });
    let regions = of_each_lane(&capture).into_iter();
    let of_lane_0 = regions.filter(|region| (region.0, region.1) == (0, 2));
    let found: Vec<_> = of_lane_0.map(|(_, _, start, end, _)| (start, end)).collect();
    assert_eq!(found, [(66_000, None), (66_000, Some(66_000))]);
    let trace = Decoder::new(&capture).trace();
    let mut open = trace.warps[0].regions.iter().filter(|region| region.end.is_none());
    assert!(open.all(|region| region.record == crate::model::RegionRecord::Shared));
}
