//! Marks of all lanes, which lie in lane 0's room alone.

use super::*;

/// A warp of so many lanes, of which lane 0 alone has a room, for the first four units.
fn of_lanes(lanes: u32, record: impl Fn(&mut SyntheticWarp)) -> Capture {
    one(Keep::First, 4, |warp| {
        warp.header.block_dim = [lanes, 1, 1];
        record(warp);
    })
}

/// Lane, time and whether all lanes have it, of each mark of the only warp, decoded in both ways.
fn marks(capture: &Capture) -> Vec<(u8, u64, bool)> {
    let trace = Decoder::new(capture).trace();
    assert_eq!(trace, carefully(capture));
    let marks = trace.warps[0].marks.iter();
    marks.map(|mark| (mark.lane, mark.time.ticks, mark.is_shared)).collect()
}

#[test]
fn a_mark_of_all_lanes_is_one_of_each() {
    let capture = of_lanes(3, |warp| {
        warp.mark_of_all(4, 6_000).mark(4, None, 6_010).mark_of_all(4, 6_020);
    });
    assert!(direct_lane(&capture).is_some());
    let of_all = |ticks| [0, 1, 2].map(|lane| (lane, ticks, true));
    let expected = [&of_all(6_000)[..], &[(0, 6_010, false)], &of_all(6_020)].concat();
    assert_eq!(marks(&capture), expected);
    let trace = Decoder::new(&capture).trace();
    assert_eq!((trace.recorded(), trace.lost()), (7, 0));
    assert_eq!(trace.diagnostics.list, []);
}

/// Also of lanes without a room, as here all but lane 0.
#[test]
fn marks_of_all_lanes_that_found_no_room_are_lost_for_each() {
    let capture = of_lanes(3, |warp| {
        for round in 0..6 {
            warp.mark_of_all(4, 6_000 + round);
        }
    });
    assert_eq!(marks(&capture).len(), 12);
    let trace = Decoder::new(&capture).trace();
    assert_eq!((trace.recorded(), trace.lost()), (12, 6));
    assert_eq!(trace.diagnostics.count(Kind::SharedLost), 4);
    assert_eq!(trace.diagnostics.count(Kind::RoomTooSmall), 2);
}

/// Lane 0 alone records for all, kernels of wire version 7 recorded no such mark, and a region is no mark.
#[test]
fn what_cannot_be_a_mark_of_all_lanes_is_damage() {
    let of_version = |version: u32, site: u32, kind| {
        let mut capture = of_lanes(3, |warp| {
            warp.mark_of_all(site, 6_000);
        });
        set_version(&mut capture, version as u8);
        assert_eq!(marks(&capture), []);
        assert_eq!(Decoder::new(&capture).trace().diagnostics.count(kind), 1);
    };
    of_version(7, 4, Kind::DamagedUnit);
    of_version(8, 2, Kind::KindMismatch);

    let mut module = SyntheticModule::new(Keep::First, 4);
    module.lane_capacity = Some(4);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let mark = module.site(SiteKind::Mark, "mark");
    let mut warp = SyntheticWarp::new(kernel, ENTRY, ENTRY);
    warp.lane(1).unit([OF_ALL, stamp(tag(RecordKind::Mark, mark), 6_000)]);
    warp.leave(7_000, 7_000);
    module.warps.push(warp);
    let capture = module.into_capture().expect("the sites are whole");
    assert_eq!(marks(&capture), []);
    assert_eq!(Decoder::new(&capture).trace().diagnostics.count(Kind::DamagedUnit), 1);
}

/// By it each lane has read the clock behind what all began before: an end that says that its region began later
/// is of none of that.
#[test]
fn a_mark_of_all_lanes_tells_which_begin_an_end_is_of() {
    let open = |ticks| {
        let mut module = SyntheticModule::new(Keep::First, 8);
        module.lane_capacity = Some(4);
        let kernel = module.site(SiteKind::Kernel, "kernel");
        let region = module.site(SiteKind::Region, "region");
        let mark = module.site(SiteKind::Mark, "mark");
        let mut warp = SyntheticWarp::new(kernel, ENTRY, 64_000);
        warp.header.block_dim = [2, 1, 1];
        warp.begin_of_all(region, 6_000).mark_of_all(mark, 6_010);
        warp.lane(1).parted(region, ticks, 6_020);
        warp.leave(7_000, 65_000);
        module.warps.push(warp);
        let capture = module.into_capture().expect("the sites are whole");
        let trace = Decoder::new(&capture).trace();
        assert_eq!(trace, carefully(&capture));
        let of_lane = trace.warps[0].regions.iter().filter(|region| region.lane == 1);
        of_lane.filter(|region| region.end.is_none()).count()
    };
    assert_eq!((open(6_010), open(6_011)), (0, 1));
}
