//! Regions whose begin is a record of its own, for a reader who watches.

use super::*;

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
