//! Launches of more than 2^40 ticks: what the 40 bits of a record leave open is said.

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{Diagnostic, DiagnosticKind as Kind, Trace, decode};
use profiler_wire::SiteKind;

const SECOND: u64 = 2_000_000_000;
const ENTRY: u64 = 5_000;
const KERNEL: u32 = 1;
const REGION: u32 = 2;
const MARK: u32 = 3;

/// Decodes one warp of 2 GHz that is in the kernel for so many seconds.
fn one(keep: Keep, seconds: u64, record: impl Fn(&mut SyntheticWarp)) -> Trace {
    let mut module = SyntheticModule::new(keep, if keep == Keep::First { 200 } else { 2 });
    module.lane_capacity = Some(2);
    assert_eq!(module.site(SiteKind::Kernel, "kernel"), KERNEL);
    assert_eq!(module.site(SiteKind::Region, "region"), REGION);
    assert_eq!(module.site(SiteKind::Mark, "mark"), MARK);
    let mut warp = SyntheticWarp::new(KERNEL, ENTRY, 64_000);
    record(&mut warp);
    warp.leave(at(seconds), 64_000 + seconds * SECOND / 2);
    module.warps.push(warp);
    let mut capture = module.into_capture().expect("the sites are whole");
    // Known, so that nobody needs to read the clocks for so long.
    capture.device.clock_mhz = Some(2000.0);
    decode(&capture)
}

/// Ticks so many seconds after the entry.
fn at(seconds: u64) -> u64 {
    ENTRY + seconds * SECOND
}

fn ambiguous(trace: &Trace) -> Option<Diagnostic> {
    trace.diagnostics.get(Kind::AmbiguousWrap).copied()
}

fn ranges(trace: &Trace) -> Vec<(u64, u64)> {
    let end = |region: &profiler_trace::Region| region.end.map_or(u64::MAX, |end| end.ticks);
    trace.warps[0].regions.iter().map(|region| (region.start.ticks, end(region))).collect()
}

fn marks(trace: &Trace) -> Vec<u64> {
    trace.warps[0].marks.iter().map(|mark| mark.time.ticks).collect()
}

/// Regions that follow one another from 12 s on, `seconds` of every 7 s, in one from 5 s to 695 s.
fn inner_and_outer(warp: &mut SyntheticWarp, seconds: u64) {
    for start in (12..690).step_by(7) {
        warp.range(REGION, None, at(start), at(start + seconds));
    }
    warp.range(REGION, None, at(5), at(695));
}

#[test]
fn a_long_region_with_records_in_it_is_certain() {
    for seconds in [1, 7] {
        let trace = one(Keep::First, 700, |warp| inner_and_outer(warp, seconds));
        assert_eq!(ranges(&trace)[0], (at(5), at(695)));
        assert_eq!(trace.warps[0].regions.iter().filter(|region| region.depth == 1).count(), 97);
        assert!(trace.diagnostics.is_empty(), "{}", trace.diagnostics);
    }
    let trace = one(Keep::First, 700, |warp| {
        warp.mark(MARK, None, at(300)).range(REGION, None, at(5), at(695));
    });
    assert_eq!((ranges(&trace), ambiguous(&trace)), (vec![(at(5), at(695))], None));
}

#[test]
fn a_long_region_whose_end_is_not_known_is_said() {
    let trace = one(Keep::First, 700, |warp| {
        warp.range(REGION, None, at(5), at(695));
    });
    assert_eq!(ranges(&trace), [(at(5), at(695) - (1 << 40))]);
    assert_eq!(ambiguous(&trace).map(|said| said.count), Some(1));
}

/// Records of which 40 bits are all that is there of the begin: of a region with a track, and of one whose
/// value is in its record.
const SHORT_BEGINS: [fn(&mut SyntheticWarp, u64, u64) -> &mut SyntheticWarp; 3] = [
    |warp, start, end| warp.range(REGION, Some(3), start, end),
    |warp, start, end| warp.range_unsigned(REGION, start, end, 3),
    |warp, start, end| warp.range_signed(REGION, start, end, -3),
];

#[test]
fn of_a_region_with_a_track_or_its_value_in_its_record_the_begin_may_not_be_known() {
    for record in SHORT_BEGINS {
        let recorded = |start: u64| {
            one(Keep::First, 700, |warp| {
                record(warp.mark(MARK, None, at(300)), start, at(695));
                // Of the first such region the place is named.
                record(warp, start, at(695));
            })
        };
        let trace = recorded(at(5));
        assert_eq!(ranges(&trace), [(at(5) + (1 << 40), at(695)); 2]);
        let said = ambiguous(&trace).expect("the begin is not certain");
        assert_eq!(said.place.and_then(|place| place.unit), Some(1));
        let sentence = said.to_string();
        for help in ["no track of their own", "a value of 32 bits instead of"] {
            assert!(sentence.contains(help), "{sentence}");
        }
        let limit = ENTRY + (1 << 40);
        for (start, is_certain) in [(at(500), true), (limit - 1, true), (limit, false)] {
            let trace = recorded(start);
            assert_eq!(ranges(&trace), [(start, at(695)); 2]);
            assert_eq!(ambiguous(&trace).is_none(), is_certain, "{start}");
        }
    }
}

#[test]
fn a_region_anchors_the_survivors_of_a_ring() {
    // Nothing but the region tells that 600 s lie between the last two records and the exit.
    let trace = one(Keep::Last, 700, |warp| {
        for second in [10, 30] {
            warp.mark(MARK, None, at(second));
        }
        warp.range(REGION, None, at(40), at(50)).mark(MARK, None, at(60));
    });
    assert_eq!((ranges(&trace), marks(&trace)), (vec![(at(40), at(50))], vec![at(60)]));
    // That the mark was not written 2^40 ticks later, nothing tells.
    assert_eq!(ambiguous(&trace).map(|said| said.count), Some(1));
}

/// It says of its own end no more than a mark does: what survives is taken to lie near the exit.
#[test]
fn a_region_with_a_track_or_its_value_in_its_record_anchors_nothing() {
    for record in SHORT_BEGINS {
        let trace = one(Keep::Last, 700, |warp| {
            for second in [10, 30] {
                warp.mark(MARK, None, at(second));
            }
            record(warp, at(40), at(50)).mark(MARK, None, at(60));
        });
        let later = |second| at(second) + (1 << 40);
        assert_eq!(
            (ranges(&trace), marks(&trace)),
            (vec![(later(40), later(50))], vec![later(60)])
        );
        assert_eq!(ambiguous(&trace).map(|said| said.count), Some(1));
    }
}

#[test]
fn a_launch_of_less_than_2_40_ticks_leaves_nothing_open() {
    for keep in [Keep::First, Keep::Last] {
        let trace = one(keep, 547, |warp| {
            warp.range(REGION, None, at(540), at(541)).mark(MARK, None, at(541));
            warp.mark(MARK, None, at(542)).range(REGION, None, at(1), at(546));
            warp.lane(5).mark(MARK, None, at(1));
        });
        assert!(ranges(&trace).contains(&(at(1), at(546))));
        assert_eq!(ambiguous(&trace), None);
    }
}

#[test]
fn a_gap_between_the_survivors_of_a_ring_is_said() {
    let trace = one(Keep::Last, 700, |warp| {
        for second in [10, 30, 650] {
            warp.mark(MARK, None, at(second));
        }
    });
    // The exit tells nothing of the gap, so that the first time is wrong.
    assert_eq!(marks(&trace), [at(30) + (1 << 40), at(650)]);
    let said = ambiguous(&trace).expect("the gap may hide");
    assert_eq!((said.count, said.place.and_then(|place| place.lane)), (1, Some(0)));
}
