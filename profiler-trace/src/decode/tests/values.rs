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
