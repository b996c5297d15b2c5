//! Regions whose value is in their record.

use super::*;

/// The values of the regions of the only warp, in the order of their begins.
fn values(trace: &Trace) -> Vec<Option<Value>> {
    trace.warps[0].regions.iter().map(|region| region.value).collect()
}

/// They stand among those without a value as if they had none.
#[test]
fn they_nest_with_all_others() {
    let capture = one(Keep::First, 16, |warp| {
        warp.range(2, None, 6_010, 6_020).range_unsigned(2, 6_030, 6_040, 7);
        warp.range_signed(3, 6_005, 6_050, -7).range(2, None, 6_060, 6_070);
        warp.range_unsigned(3, 6_060, 6_070, 9).range_signed(3, 6_000, 6_080, 8);
        warp.range(2, None, 6_080, 6_090).attach(2, 6_090, Value::Unsigned(70_000));
    });
    let expected = [
        (6_000, Some(6_080), 0),
        (6_005, Some(6_050), 1),
        (6_010, Some(6_020), 2),
        (6_030, Some(6_040), 2),
        (6_060, Some(6_070), 1),
        (6_060, Some(6_070), 2),
        (6_080, Some(6_090), 0),
    ];
    check(&capture, &expected, &[]);
    let (unsigned, signed) =
        (|value| Some(Value::Unsigned(value)), |value| Some(Value::Signed(value)));
    let expected = [signed(8), signed(-7), None, unsigned(7), unsigned(9), None, unsigned(70_000)];
    assert_eq!(values(&Decoder::new(&capture).trace()), expected);
}

/// What lies in both is in both, wherever the value is.
#[test]
fn they_cross_others() {
    type Record = fn(&mut SyntheticWarp, (u64, u64)) -> &mut SyntheticWarp;
    let (inner, early, late) = ((6_020, 6_025), (6_010, 6_030), (6_015, 6_040));
    let records: [Record; 3] = [
        |warp, (start, end)| warp.range(2, None, start, end),
        |warp, (start, end)| warp.range_unsigned(2, start, end, 7),
        |warp, (start, end)| warp.range_signed(2, start, end, -7),
    ];
    for (of_early, of_late) in records.iter().flat_map(|one| records.map(|other| (*one, other))) {
        let capture = one(Keep::First, 16, |warp| {
            warp.range(3, None, inner.0, inner.1);
            of_late(of_early(warp, early), late);
        });
        let span = |(start, end), depth| (start, Some(end), depth);
        check(&capture, &[span(early, 0), span(late, 0), span(inner, 2)], &[]);
    }
}

/// As one whose value is a record of its own does: no second pass over the lane's regions sorts them.
#[test]
fn they_leave_a_lane_plain() {
    /// Whether a lane is plain that records this after two regions.
    fn is_plain(record: fn(&mut SyntheticWarp) -> &mut SyntheticWarp) -> bool {
        let capture = one(Keep::First, 16, |warp| {
            record(warp.range_unsigned(2, 6_000, 6_010, 1).range(3, None, 6_020, 6_030));
        });
        counted(&capture).is_plain
    }
    assert!(is_plain(|warp| warp));
    assert!(is_plain(|warp| warp.range_signed(2, 6_015, 6_040, 2)));
    assert!(!is_plain(|warp| warp.range_signed(2, 6_005, 6_040, 2)), "it crosses the first");
    assert!(!is_plain(|warp| warp.range(2, Some(1), 6_035, 6_040)));
    assert!(!is_plain(|warp| warp.open(2, None, 6_035, 6_040)));
    assert!(!is_plain(|warp| warp.begin(2, None, 6_035).end(2, None, 6_040)));
}

/// A kernel gives them 16, and the record has room for as many.
#[test]
fn values_of_24_bits_are_whole() {
    let unit = |kind, field: u32, start, end| [stamp(field, start), stamp(tag(kind, 2), end)];
    let fields = [0, 1, 0x7f_ffff, 0x80_0000, 0xff_0000, 0xff_ffff];
    for (kind, expected) in [
        (RecordKind::RangeUnsigned, fields.map(|field| Value::Unsigned(field.into()))),
        (RecordKind::RangeSigned, [0, 1, 0x7f_ffff, -0x80_0000, -0x1_0000, -1].map(Value::Signed)),
    ] {
        let capture = one(Keep::First, 16, |warp| {
            for (at, field) in (6_000..).step_by(10).zip(fields) {
                warp.unit(unit(kind, field, at, at + 5));
            }
        });
        // No bit of the value is taken for one of the begin.
        let spans: Vec<_> = (6_000..6_060).step_by(10).map(|at| (at, Some(at + 5), 0)).collect();
        check(&capture, &spans, &[]);
        assert_eq!(values(&Decoder::new(&capture).trace()), expected.map(Some));
    }
}

/// A value of its own after such a record belongs to nothing.
#[test]
fn they_take_no_second_value() {
    let capture = one(Keep::First, 16, |warp| {
        warp.range_unsigned(2, 6_000, 6_010, 7).attach(2, 6_010, Value::Unsigned(8));
        warp.range_signed(2, 6_020, 6_030, -7).attach(2, 6_030, Value::Signed(8));
    });
    let expected = [(6_000, Some(6_010), 0), (6_020, Some(6_030), 0)];
    check(&capture, &expected, &[Kind::OrphanedValue]);
    let trace = Decoder::new(&capture).trace();
    assert_eq!(trace.diagnostics.count(Kind::OrphanedValue), 2);
    assert_eq!(values(&trace), [Some(Value::Unsigned(7)), Some(Value::Signed(-7))]);
}

/// Their record is told apart from one that holds a track, or all of the begin's clock.
#[test]
fn they_say_which_record_they_are_of() {
    let capture = one(Keep::First, 16, |warp| {
        warp.range_unsigned(2, 6_000, 6_010, 5).range_signed(2, 6_020, 6_030, 5);
        warp.range(2, Some(4), 6_040, 6_050).range(2, None, 6_060, 6_070);
    });
    for trace in [Decoder::new(&capture).trace(), carefully(&capture)] {
        let regions = trace.warps[0].regions.iter().filter(|region| region.lane == 0);
        let seen: Vec<_> = regions.map(|region| (region.value_in_record, region.track)).collect();
        let expected = [(true, None), (true, None), (false, Some(4)), (false, None)];
        assert_eq!(seen, expected);
    }
}

/// A record of a mark's site cannot be one of a region with a value.
#[test]
fn at_a_site_of_no_region_they_are_odd() {
    for kind in [RecordKind::RangeUnsigned, RecordKind::RangeSigned] {
        let capture = one(Keep::First, 8, |warp| {
            warp.unit([stamp(7, 6_000), stamp(tag(kind, 4), 6_010)]);
        });
        let trace = Decoder::new(&capture).trace();
        assert_eq!(trace.diagnostics.count(Kind::KindMismatch), 1, "{}", trace.diagnostics);
        assert_eq!((trace.warps[0].regions.len(), trace.lost()), (0, 1));
    }
}

#[test]
fn the_clock_wraps_while_they_last() {
    const WRAP: u64 = 1 << 40;
    let mut module = SyntheticModule::new(Keep::Last, 2);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "a");
    let mut warp = SyntheticWarp::new(kernel, WRAP - 1_000, 64_000);
    // The first was overwritten, so that the others alone tell when they were written.
    warp.range(region, None, WRAP - 900, WRAP - 800);
    warp.range_unsigned(region, WRAP - 700, WRAP - 20, 5);
    warp.range_signed(region, WRAP - 10, WRAP + 10, -5);
    warp.leave(WRAP + 2_000_000, 1_064_500);
    module.warps.push(warp);
    let capture = module.into_capture().expect("the sites are whole");
    let expected = [(WRAP - 700, Some(WRAP - 20), 0), (WRAP - 10, Some(WRAP + 10), 0)];
    check(&capture, &expected, &[Kind::BufferTooSmall]);
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
