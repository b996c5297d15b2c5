//! The tight loop over ranges against the step for any unit, and one thread against many.

use std::num::NonZeroUsize;

use profiler_wire::header::Clock;
use profiler_wire::record::{stamp, tag};
use profiler_wire::{RecordKind, SiteKind};
use proptest::prelude::*;

use super::Decoder;
use super::units::SiteKinds;
use crate::Capture;
use crate::diagnostic::DiagnosticKind as Kind;
use crate::model::{Trace, Value};
use crate::support::spans;
use crate::synthetic::{Content, Keep, SyntheticModule, SyntheticWarp, sized};

/// A unit of a program: what, at which site, how many ticks after the one before it, a number.
type Unit = (u8, u32, u64, u64);

const ENTRY: u64 = 5_000;

/// A warp of two lanes that record these units, some of them odd.
fn capture(keep: Keep, capacity: u32, clock: Clock, lanes: [&[Unit]; 2], leaves: bool) -> Capture {
    let mut module = SyntheticModule::new(keep, capacity);
    module.lane_capacity = Some(8);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    for name in ["a", "b", "c"] {
        module.site(SiteKind::Region, name);
    }
    module.site(SiteKind::Mark, "mark");
    let mut warp = SyntheticWarp::new(kernel, ENTRY, ENTRY);
    warp.header.record_clock = clock;
    let mut last = ENTRY;
    for (lane, units) in [0, 9].into_iter().zip(lanes) {
        warp.lane(lane);
        let mut now = ENTRY;
        for &(what, site, gap, number) in units {
            now += gap;
            let before = now.saturating_sub(number % 100);
            // The third is beyond the largest.
            let track = (number % 5 == 0).then_some([0, 1, u32::MAX][(number % 3) as usize]);
            match what {
                0..=2 => warp.range(site, None, before, now),
                3 => warp.range_unsigned(site, before, now, number as u16),
                4 => warp.range_signed(site, before, now, number as i16),
                5 | 6 => warp.range(site, None, before, now),
                7 => warp.range(site, track, before, now),
                8 | 9 => warp.begin(site, track, now),
                10 | 11 => warp.watched(site, track, before, now),
                12 => warp.mark(site, track, now),
                13 | 14 => warp.attach(site, now, Value::Signed(number.cast_signed())),
                15 => warp.value(site, now, Value::Float(number as f64)),
                16 => warp.anchor(now, now),
                17 => warp.open(site, track, before, now),
                18 | 19 => warp.open(site, None, before, now),
                20 => warp.unit([number, number]),
                21 => warp.unit([0, 0]),
                22 => warp.range(site, None, number, now),
                23 => warp.unit([number, stamp(tag(RecordKind::Begin, site), now)]),
                24 => warp.unit([number, stamp(tag(RecordKind::RangeWatched, site), now)]),
                25 => warp.unit([number, stamp(15 << 20, now)]),
                _ => warp.mark(site, None, now.saturating_sub(number)),
            };
        }
        last = last.max(now);
    }
    if leaves {
        warp.leave(last + 10, last + 10);
    }
    module.warps.push(warp);
    module.into_capture().expect("the sites are whole")
}

/// Decodes each unit by the step for any unit: without the table of kinds no range is plain.
fn carefully(capture: &Capture) -> Trace {
    let mut decoder = Decoder::new(capture);
    decoder.kinds.iter_mut().for_each(|kinds| *kinds = SiteKinds::default());
    decoder.trace()
}

/// Programs of which `odd` tells how many units in a thousand are nothing that a kernel records.
fn units(odd: u32) -> impl Strategy<Value = Vec<Unit>> {
    let what = prop_oneof![1000 - odd => 0_u8..20, odd => 20_u8..27];
    let site = prop_oneof![40 => 2_u32..=4, 8 => Just(5_u32), 1 + odd / 100 => 0_u32..8];
    let gap = prop_oneof![30 => 0_u64..50, 1 => 0_u64..1 << 41];
    let number = prop_oneof![9 => 0_u64..200, 1 => any::<u64>()];
    prop::collection::vec((what, site, gap, number), 0..40)
}

fn buffer() -> impl Strategy<Value = (Keep, u32)> {
    prop_oneof![
        (0_u32..40).prop_map(|capacity| (Keep::First, capacity)),
        (0_u32..6).prop_map(|power| (Keep::Last, 1 << power)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn both_ways_agree(
        leader in prop_oneof![units(0), units(100)],
        other in prop_oneof![units(0), units(100)],
        (keep, capacity) in buffer(),
        by_timer in prop::bool::weighted(0.2),
        leaves in prop::bool::weighted(0.8),
        cut in prop::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let clock = if by_timer { Clock::GlobalTimer } else { Clock::Cycles };
        let mut capture = capture(keep, capacity, clock, [&leader, &other], leaves);
        if let Some(cut) = cut {
            let records = &mut capture.modules[0].records;
            records.truncate(cut.index(records.len() + 1));
        }
        let direct = Decoder::new(&capture).trace();
        prop_assert_eq!(&direct, &carefully(&capture));
        // What is visited is what is in the trace.
        let mut visited = Vec::new();
        Decoder::new(&capture).each_warp(|records| visited.push(records.to_warp()));
        prop_assert_eq!(visited, direct.warps);
    }
}

/// One warp with two regions' sites, 2 and 3, and a mark's, 4. It leaves late, unless it says otherwise.
fn one(keep: Keep, capacity: u32, record: impl Fn(&mut SyntheticWarp)) -> Capture {
    let mut module = SyntheticModule::new(keep, capacity);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    module.site(SiteKind::Region, "a");
    module.site(SiteKind::Region, "b");
    module.site(SiteKind::Mark, "mark");
    let mut warp = SyntheticWarp::new(kernel, ENTRY, 64_000);
    warp.leave(ENTRY + (1 << 38), 64_000 + (1 << 37));
    record(&mut warp);
    module.warps.push(warp);
    let mut capture = module.into_capture().expect("the sites are whole");
    // Known, so that nobody needs to read the clocks for so long.
    capture.device.clock_mhz = Some(2000.0);
    capture
}

/// Holds the regions and diagnostics of the only warp against what is expected, decoded in both ways.
fn check(capture: &Capture, expected: &[(u64, Option<u64>, u16)], kinds: &[Kind]) {
    let trace = Decoder::new(capture).trace();
    assert_eq!(spans(&trace), expected);
    let seen: Vec<Kind> = trace.diagnostics.list.iter().map(|said| said.kind).collect();
    assert_eq!(seen, kinds);
    assert_eq!(trace, carefully(capture));
}

/// Where the capture ends within a ring of a warp that never left, too.
#[test]
fn the_unit_of_an_orphaned_value_is_named() {
    let mut capture = one(Keep::Last, 4, |warp| {
        for ticks in 6_000..6_004 {
            warp.mark(4, None, ticks);
        }
        warp.attach(2, 6_004, Value::Unsigned(1)).mark(4, None, 6_005);
        warp.exit = None;
    });
    for held in [4, 3] {
        capture.modules[0].records.truncate(16 * held);
        let trace = Decoder::new(&capture).trace();
        let said = trace.diagnostics.get(Kind::OrphanedValue).expect("it has no region");
        assert_eq!(said.place.and_then(|place| place.unit), Some(0), "{held} of 4");
        assert_eq!(trace, carefully(&capture));
    }
}

#[test]
fn the_clock_wraps_between_records() {
    let wrap = 1 << 40;
    let capture = one(Keep::Last, 4, |warp| {
        warp.header.clock = wrap - 1_000;
        warp.mark(4, None, wrap - 900).mark(4, None, wrap - 800).mark(4, None, wrap - 20);
        warp.begin(2, None, wrap - 10).end(2, None, wrap + 10).mark(4, None, wrap + 30);
        warp.leave(wrap + 2_000_000, 1_064_500);
    });
    check(&capture, &[(wrap - 10, Some(wrap + 10), 0)], &[Kind::BufferTooSmall]);
    let trace = Decoder::new(&capture).trace();
    let marks: Vec<u64> = trace.warps[0].marks.iter().map(|mark| mark.time.ticks).collect();
    assert_eq!(marks, [wrap - 20, wrap + 30]);
}

#[test]
fn a_range_at_the_tick_of_older_records_leaves_their_time_open() {
    // More than 2^40 ticks after the entry: of the mark it is not certain when it was written.
    let at = ENTRY + (3 << 39);
    for first_is_mark in [true, false] {
        let capture = one(Keep::Last, 2, |warp| {
            warp.mark(4, None, ENTRY + 1);
            if first_is_mark {
                warp.mark(4, None, at).range(2, None, at - 5, at);
            } else {
                warp.range(2, None, at - 5, at).mark(4, None, at);
            }
            warp.leave(at + 10, 64_000 + (3 << 38));
        });
        let trace = Decoder::new(&capture).trace();
        assert_eq!(trace.diagnostics.count(Kind::AmbiguousWrap), u64::from(first_is_mark));
        assert_eq!(trace, carefully(&capture));
    }
}

#[test]
fn many_threads_decode_what_one_does() {
    let threads = |count| NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN);
    for (_, content) in Content::ALL {
        let capture = sized(30_000, content).expect("the sites are whole");
        let decoder = Decoder::new(&capture).threads(threads(1));
        let trace = decoder.trace();
        assert_eq!(trace.recorded(), 30_000);
        assert_eq!((trace.lost(), trace.warps.len()), (0, decoder.warp_count()));
        // A token that was cut off by the end of the capture is open.
        let open = trace.diagnostics.count(Kind::OpenRegion);
        assert!(trace.diagnostics.list.len() as u64 <= open && open <= 1, "{}", trace.diagnostics);
        assert_eq!(decoder.launches(), trace.launches);
        let outline = decoder.outline();
        let many = decoder.threads(threads(3));
        assert_eq!(many.trace(), trace);
        assert_eq!(many.outline(), outline);
        let bare = |mut trace: Trace| {
            trace.warps.iter_mut().for_each(|warp| warp.regions.clear());
            trace
        };
        assert_eq!(bare(trace), outline);
    }
}

/// What the documentation of [`crate::decode`] and `lab/measurements/host-side.md` say.
#[test]
fn what_a_region_and_a_mark_take_in_memory() {
    assert_eq!(size_of::<crate::Region>(), 72);
    assert_eq!(size_of::<crate::Mark>(), 48);
}

#[test]
fn where_all_records_hold_the_timer_sms_agree_to_its_step() {
    // The SM's clock was read 56 ns late and soon after 16 ns early.
    let read = [[(0, 64_000), (20_000, 74_016)], [(2_000, 65_056), (4_000, 65_984)]];
    let of = |clock| {
        let mut module = SyntheticModule::new(Keep::First, 4);
        let kernel = module.site(SiteKind::Kernel, "k");
        for [(entry, entry_ns), (exit, exit_ns)] in read {
            let mut warp = SyntheticWarp::new(kernel, entry, entry_ns);
            warp.header.record_clock = clock;
            warp.leave(exit, exit_ns);
            module.warps.push(warp);
        }
        let mut capture = module.into_capture().expect("the sites are whole");
        capture.device.clock_mhz = Some(2000.0);
        let trace = crate::decode(&capture);
        assert_eq!(trace.timer_step_ns, 32.0);
        trace.alignment_ns
    };
    assert_eq!(of(Clock::GlobalTimer), 32.0);
    assert!(of(Clock::Cycles) > 33.0);
}

mod values {
    //! Regions whose value is in their record.

    use super::*;

    /// The values of the regions of the only warp, in the order of their begins.
    fn values(trace: &Trace) -> Vec<Option<Value>> {
        trace.warps[0].regions.iter().map(|region| region.value).collect()
    }

    /// A kernel gives them 16, and the record has room for as many.
    #[test]
    fn values_of_24_bits_are_whole() {
        let unit = |kind, field: u32, start, end| [stamp(field, start), stamp(tag(kind, 2), end)];
        let fields = [0, 1, 0x7f_ffff, 0x80_0000, 0xff_0000, 0xff_ffff];
        for (kind, expected) in [
            (RecordKind::RangeUnsigned, fields.map(|field| Value::Unsigned(field.into()))),
            (
                RecordKind::RangeSigned,
                [0, 1, 0x7f_ffff, -0x80_0000, -0x1_0000, -1].map(Value::Signed),
            ),
        ] {
            let capture = one(Keep::First, 16, |warp| {
                for (at, field) in (6_000..).step_by(10).zip(fields) {
                    warp.unit(unit(kind, field, at, at + 5));
                }
            });
            // No bit of the value is taken for one of the begin.
            let spans: Vec<_> =
                (6_000..6_060).step_by(10).map(|at| (at, Some(at + 5), 0)).collect();
            check(&capture, &spans, &[]);
            assert_eq!(values(&Decoder::new(&capture).trace()), expected.map(Some));
        }
    }

    /// Nobody believes a begin before the entry.
    #[test]
    fn a_begin_before_the_entry_is_cut() {
        let at_entry = one(Keep::First, 8, |warp| {
            warp.range_signed(2, ENTRY, ENTRY + 10, -3);
        });
        check(&at_entry, &[(ENTRY, Some(ENTRY + 10), 0)], &[]);
        let capture = one(Keep::First, 8, |warp| {
            warp.range_signed(2, ENTRY - 1, 6_010, -3).range_unsigned(3, ENTRY, 6_020, 3);
        });
        let trace = Decoder::new(&capture).trace();
        assert_eq!(spans(&trace), [(ENTRY, Some(6_020), 0), (ENTRY, Some(6_010), 1)]);
        assert_eq!(values(&trace), [Some(Value::Unsigned(3)), Some(Value::Signed(-3))]);
        assert_eq!(trace.diagnostics.count(Kind::StartBeforeEntry), 1, "{}", trace.diagnostics);
    }
}

mod watched {
    //! Regions whose begin is a record of its own, for a reader who watches.

    use super::*;

    /// Its begin says when it was written, whatever the 40 bits of the record leave open.
    #[test]
    fn a_watched_region_of_more_than_40_bits_is_exact() {
        const PART: u64 = (1 << 40) - 100;
        let (begin, end) = (6_000, 6_000 + 5 * PART + 50);
        let watched = |start: u64| {
            one(Keep::First, 16, |warp| {
                warp.begin(2, None, begin);
                // In between something is recorded often enough.
                for part in 1..=5 {
                    warp.mark(4, None, begin + part * PART);
                }
                warp.watched(2, None, start, end);
                warp.leave(end + 50, 64_000 + (end + 50 - ENTRY) / 2);
            })
        };
        check(&watched(begin + 7), &[(begin + 7, Some(end), 0)], &[]);
        // A reading that does not stand right after that begin is of another region, of which 40 bits do not
        // tell when it began.
        let late = begin + (1 << 32);
        let wrapped = late + (4 << 40);
        let seen = [(begin, None, 0), (wrapped, Some(end), 1)];
        check(&watched(late), &seen, &[Kind::OpenRegion, Kind::AmbiguousWrap]);
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
        later_lies_around(&overwritten, &[Kind::BufferTooSmall]);
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
        check(&watched(6_019), &seen, &[Kind::StartBeforeEntry, Kind::OpenRegion]);
    }
}
