//! Decoding allocates buffers, and a few things for a warp. For a record it allocates nothing, and what
//! reads a trace while it is decoded allocates nothing for one either, or as much as is said here. Nor
//! does it hold at once what it goes through, but for what is said here.
//!
//! Every step takes captures of so many warps with so many records, with ten times as many records
//! each, and of ten times as many warps. What may grow with the records is the number of times that a
//! buffer doubles: see [`DOUBLINGS`]. What may grow with the warps is a number for each.
//!
//! Everything runs on one thread, whose allocations alone are counted.

use std::hint::black_box;
use std::io;
use std::num::NonZeroUsize;
use std::sync::OnceLock;

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::diff::{DiffOptions, DiffSide};
use profiler_trace::{
    Capture, Decoder, Export, ExportOptions, GroupBy, Mark, RecordCost, StackGroup, Stats,
    StatsQuery, Value, WarpSource,
};
use profiler_wire::SiteKind;

/// Warps of the small captures, each on an SM of its own.
const WARPS: u32 = 4;
/// Parts of a warp in the small captures: more than a sort takes a buffer on the stack for, since
/// beyond that it allocates one for each warp.
const PARTS: u64 = 160;
/// How many times more there are in the large ones.
const TIMES: u64 = 10;

/// How often a buffer doubles at most so that it holds [`TIMES`] as much. It has less than twice the
/// buffer for what it holds, both before (n to 2n) and after (10n to 20n), so that it is more than 5 and
/// less than 20 times as large then, which as a power of two is 8 or 16. Each time is an allocation,
/// also where it grows in its place.
const DOUBLINGS: u64 = 4;

/// Buffers that a thread fills while it decodes, and uses again for each warp: of regions, and of their
/// values, of marks or of tokens that are open; and the one of all arrows. No content here has more than
/// two of these.
const DECODING: u64 = 2;
/// What the careful way fills besides, for each lane: its units, and their times.
const CAREFUL: u64 = 2;
/// What it allocates for each warp otherwise.
const CAREFUL_OF_WARP: u64 = 22;
/// What is streamed is decoded twice, first for its outline, each time with buffers of its own.
const STREAMED: u64 = 2;
/// Sites that the statistics hold the durations of: tiles and their parts.
const SITES: u64 = 2;

/// What the parts of a warp are. A tile is a region around four parts that are regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// Regions of one record.
    Regions,
    /// The same with a value in a record of its own.
    Values,
    /// The same with a value in the region's record.
    HeldValues,
    /// Regions of two records, as those by tokens are.
    Pairs,
    /// Marks.
    Marks,
    /// Marks with a value.
    MarkValues,
    /// Regions on two tracks of the user's.
    Tracks,
    /// Regions by four lanes.
    Lanes,
    /// Regions of one record and of two, after one that begins before its warp: the careful way.
    Odd,
    /// Signals by one warp, and waits for them by the next.
    Signals,
}

const CONTENTS: [Content; 10] = [
    Content::Regions,
    Content::Values,
    Content::HeldValues,
    Content::Pairs,
    Content::Marks,
    Content::MarkValues,
    Content::Tracks,
    Content::Lanes,
    Content::Odd,
    Content::Signals,
];

/// A capture of so many warps with so many parts each.
fn capture(content: Content, warps: u32, parts: u64) -> Capture {
    // Buffers of one size, as a decoder asks how many processors there are where a capture is large.
    let mut module = SyntheticModule::new(Keep::First, 1 << 12);
    module.lane_capacity = (content == Content::Lanes).then_some(1 << 9);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let tile = module.site(SiteKind::Region, "tile");
    let part = module.site_with_unit(SiteKind::Region, "part", "bytes");
    let mark = module.site(SiteKind::Mark, "mark");
    let signal = module.site(SiteKind::Signal, "full");
    let wait = module.site(SiteKind::Wait, "full");
    for number in 0..warps {
        let (entry_ns, entry) = (64_000, 128_000);
        let mut warp = SyntheticWarp::new(kernel, entry, entry_ns);
        warp.header.block = [number, 0, 0];
        warp.header.grid_dim = [warps, 1, 1];
        warp.header.sm = number % WARPS;
        let mut now = entry + 10;
        if content == Content::Odd {
            warp.range(part, None, entry - 5, now);
        }
        let has_tiles = !matches!(content, Content::Marks | Content::MarkValues | Content::Signals);
        let mut tile_start = now;
        for index in 0..parts {
            let (start, end) = (now + 5, now + 20 + index * 7 % 13);
            match content {
                Content::Odd if index % 2 == 0 => {
                    warp.begin(part, None, start).watched(part, None, start, end)
                }
                Content::Regions | Content::Odd => warp.range(part, None, start, end),
                Content::Values => {
                    warp.range(part, None, start, end).attach(part, end, Value::Unsigned(index))
                }
                Content::HeldValues if index % 2 == 0 => {
                    warp.range_unsigned(part, start, end, index as u16)
                }
                Content::HeldValues => warp.range_signed(part, start, end, -(index as i16)),
                Content::Pairs => warp.begin(part, None, start).watched(part, None, start, end),
                Content::Marks => warp.mark(mark, None, start),
                Content::MarkValues => warp.value(mark, start, Value::Unsigned(index)),
                Content::Tracks => warp.range(part, Some((index % 2) as u32), start, end),
                Content::Lanes => warp.lane((index / 4 % 4) as u8).range(part, None, start, end),
                Content::Signals => {
                    let site = if number % 2 == 0 { signal } else { wait };
                    let key = u64::from(number / 2) << 32 | index;
                    warp.value(site, start + u64::from(number % 2), Value::Unsigned(key))
                }
            };
            now += 50;
            if has_tiles && index % 4 == 3 {
                warp.range(tile, None, tile_start, now);
                now += 10;
                tile_start = now;
            }
        }
        let exit = (now + 50).next_multiple_of(64);
        warp.leave(exit, entry_ns + (exit - entry) / 2);
        module.warps.push(warp);
    }
    let mut capture = module.into_capture().expect("the sites are whole");
    capture.record_cost = Some(RecordCost::uniform(1.0, 2.0));
    capture
}

fn one_thread(capture: &Capture) -> Decoder<'_> {
    Decoder::new(capture).threads(NonZeroUsize::MIN)
}

/// How many allocations something makes on this thread.
fn allocations(of: impl FnOnce()) -> u64 {
    allocation_counter::measure(of).count_total
}

/// Something that is done with a capture.
type Step = fn(&Capture, &Decoder<'_>);

/// The small capture, one with more records, and one with more warps. Tests share them.
fn captures(content: Content) -> &'static [Capture; 3] {
    static CAPTURES: [OnceLock<[Capture; 3]>; CONTENTS.len()] =
        [const { OnceLock::new() }; CONTENTS.len()];
    CAPTURES[content as usize].get_or_init(|| {
        [(WARPS, PARTS), (WARPS, TIMES * PARTS), (TIMES as u32 * WARPS, PARTS)]
            .map(|(warps, parts)| capture(content, warps, parts))
    })
}

/// The allocations that a step makes for each of the [`captures`].
fn measured(content: Content, step: Step) -> [u64; 3] {
    captures(content).each_ref().map(|capture| {
        let decoder = one_thread(capture);
        allocations(|| step(capture, &decoder))
    })
}

/// Warps that the capture with more warps has more.
const MORE_WARPS: u64 = (TIMES - 1) * WARPS as u64;
/// Requires that a step allocates nothing for a record: that with more of them it allocates no more than
/// its buffers take to grow, and with more warps no more than so many `of_warp` for each. It decodes all
/// warps so many times, and has so many `buffers` of its own.
fn check(
    name: &str,
    contents: &[Content],
    step: Step,
    (decodings, buffers): (u64, u64),
    of_warp: u64,
) {
    for &content in contents {
        let [few, more_records, more_warps] = measured(content, step);
        let figures = format!("{name} of {content:?}: {few}, {more_records}, {more_warps}");
        let (careful, careful_of_warp) = match content {
            Content::Odd => (CAREFUL * u64::from(WARPS), CAREFUL_OF_WARP),
            _ => (0, 0),
        };
        let buffers = decodings * (DECODING + careful) + buffers;
        let of_warp = of_warp + decodings * careful_of_warp;
        assert!(more_records <= few + DOUBLINGS * buffers, "{figures}");
        // Their tables double as well.
        assert!(more_warps <= few + of_warp * MORE_WARPS + 10 * DOUBLINGS, "{figures}");
    }
}

const VISITS: [(&str, Step); 2] = [
    ("pair", |_, decoder| {
        decoder.each_warp(|records| {
            black_box(records.regions().len());
        });
    }),
    ("visit", |_, decoder| {
        decoder.each_warp(|records| {
            black_box(records.regions().map(|region| region.start.ns).sum::<f64>());
        });
    }),
];

#[test]
fn regions_are_paired_and_visited_without_an_allocation_for_any() {
    for (name, step) in VISITS {
        check(name, &CONTENTS, step, (1, 0), 5);
        // Nor for a warp, where regions are one record and lane 0 alone has a buffer.
        for content in [Content::Regions, Content::Values, Content::HeldValues] {
            let [few, _, more_warps] = measured(content, step);
            assert_eq!(few, more_warps, "{name} of {content:?}");
        }
    }
}

#[test]
fn warps_and_traces_are_made_without_an_allocation_for_a_record() {
    let whole: Step = |_, decoder| {
        let trace = decoder.streamed();
        for index in 0..decoder.warp_count() {
            black_box(trace.warp(index));
        }
    };
    check("whole warps", &CONTENTS, whole, (STREAMED, 0), 11);
    let steps: [(&str, Step, u64, u64); 4] = [
        ("trace", |_, decoder| drop(black_box(decoder.trace())), 1, 6),
        ("outline", |_, decoder| drop(black_box(decoder.outline())), 1, 5),
        (
            "trace less the cost",
            |capture, _| drop(black_box(one_thread(capture).subtract_record_cost().trace())),
            1,
            18,
        ),
        (
            "outline less the cost",
            |capture, _| drop(black_box(one_thread(capture).subtract_record_cost().outline())),
            2,
            23,
        ),
    ];
    for (name, step, decodings, of_warp) in steps {
        check(name, &CONTENTS, step, (decodings, 0), of_warp);
    }
}

fn stats(decoder: &Decoder<'_>, by: GroupBy) {
    black_box(Stats::of(&decoder.streamed(), &StatsQuery::new().by(by)));
}

/// The durations of a row are one buffer, as quantiles are exact.
#[test]
fn statistics_allocate_nothing_for_a_record() {
    // Each warp of the small captures has an SM, a block and rows of its own.
    let (of_row, of_warp_rows) = (SITES, SITES * u64::from(WARPS));
    let steps: [(&str, Step, u64, u64); 4] = [
        ("site", |_, decoder| stats(decoder, GroupBy::Site), of_row, 18),
        ("sm", |_, decoder| stats(decoder, GroupBy::Sm), of_warp_rows, 20),
        ("warp", |_, decoder| stats(decoder, GroupBy::Warp), of_warp_rows, 60),
        (
            "a side of a comparison",
            |_, decoder| {
                let mut side = DiffSide::new(&DiffOptions::default()).expect("no option is odd");
                side.add(&decoder.streamed());
                black_box(side);
            },
            of_row,
            12,
        ),
    ];
    for (name, step, buffers, of_warp) in steps {
        check(name, &CONTENTS, step, (STREAMED, buffers), of_warp);
    }
}

fn all_taken(written: io::Result<()>) {
    written.expect("a sink takes everything, and so does memory");
}

const EVENTS: [(&str, Step); 2] = [
    ("events-csv", |_, decoder| all_taken(decoder.streamed().write_events_csv_to(io::sink()))),
    ("events-json", |_, decoder| all_taken(decoder.streamed().write_events_json_to(io::sink()))),
];

#[test]
fn tables_of_events_allocate_nothing_for_a_row() {
    for (name, step) in EVENTS {
        check(name, &CONTENTS, step, (STREAMED, 0), 12);
    }
}

fn timeline() -> ExportOptions {
    ExportOptions { counters: false, ..ExportOptions::default() }
}

const TIMELINES: [(&str, Step); 2] = [
    ("perfetto", |_, decoder| {
        all_taken(decoder.streamed().write_perfetto_to(io::sink(), &timeline()));
    }),
    ("chrome", |_, decoder| {
        all_taken(decoder.streamed().write_chrome_to(io::sink(), &timeline()));
    }),
];

/// What has no track of its own; in Chrome's format what has no value besides.
#[test]
fn timelines_allocate_nothing_for_a_plain_region_or_mark() {
    // Of each warp the items of its track, and the rows that they are put in; of four lanes, four times.
    let of_warps = 2 * u64::from(WARPS);
    for (name, step) in TIMELINES {
        let plain = [Content::Regions, Content::Pairs, Content::Marks, Content::Odd];
        check(name, &plain, step, (STREAMED, of_warps), 130);
        // Each warp on three tracks, two of which it shares.
        check(name, &[Content::Tracks], step, (STREAMED, 3 * of_warps), 200);
        check(name, &[Content::Lanes], step, (STREAMED, 4 * of_warps), 240);
        if name != "chrome" {
            let values = [Content::Values, Content::HeldValues, Content::MarkValues];
            check(name, &values, step, (STREAMED, of_warps), 130);
        }
    }
}

const STACKS: [(&str, Step); 2] = [
    ("folded", |_, decoder| {
        all_taken(decoder.streamed().write_folded_to(io::sink(), StackGroup::Kernel));
    }),
    ("hatchet", |_, decoder| all_taken(decoder.streamed().write_hatchet_to(io::sink()))),
];

/// Of each lane the spans of its stacks, which of them are open, and when they end.
#[test]
fn stacks_allocate_nothing_for_a_region() {
    for (name, step) in STACKS {
        for content in CONTENTS {
            let lanes = if content == Content::Lanes { 4 } else { 1 };
            // Hatchet walks twice, for nanoseconds and for ticks.
            let buffers = 2 * 4 * lanes * u64::from(WARPS);
            check(name, &[content], step, (STREAMED, buffers), 60 * lanes);
        }
    }
}

/// Warps of the captures of which it is measured what is held at once: of the second ten times as many.
const HELD_WARPS: [u32; 2] = [2, 20];
/// Parts of each of them. So many that two bytes for each are more than [`HELD_OF_WARP`].
const HELD_PARTS: u64 = 4 * PARTS;
/// Bytes that are held for a warp, whatever it recorded: what is known of its slot, and its outline.
const HELD_OF_WARP: u64 = 800;

/// Requires that a step holds at once no more than so many bytes for each part, and for each warp
/// [`HELD_OF_WARP`], on top of what it holds of one warp at a time.
fn check_held(name: &str, content: Content, step: Step, of_part: u64) {
    let [few, many] = HELD_WARPS.map(|warps| {
        let capture = capture(content, warps, HELD_PARTS);
        // With the decoder itself.
        allocation_counter::measure(|| step(&capture, &one_thread(&capture))).bytes_max
    });
    let more_warps = u64::from(HELD_WARPS[1] - HELD_WARPS[0]);
    let each = (many as f64 - few as f64) / (more_warps * HELD_PARTS) as f64;
    assert!(
        many <= few + more_warps * (HELD_OF_WARP + of_part * HELD_PARTS),
        "{name} of {content:?}: {few}, {many}: {each} bytes a part"
    );
}

/// Bytes of a part that an outline holds: all marks and all arrows, and for each signal, while arrows are
/// found, what it is found by.
fn of_outline(content: Content) -> u64 {
    let of_mark = size_of::<Mark>() as u64;
    match content {
        Content::Marks | Content::MarkValues => of_mark,
        // As many are signals as waits.
        Content::Signals => of_mark + 112,
        _ => 0,
    }
}

/// No copy is held of what is written, nor are regions in an outline: exporters begin with one, and then let
/// go of what it took.
#[test]
fn what_is_written_while_decoding_holds_no_copy() {
    let others: [(&str, Step); 3] = [
        ("outline", |_, decoder| drop(black_box(decoder.outline()))),
        ("folded by warp", |_, decoder| {
            all_taken(decoder.streamed().write_folded_to(io::sink(), StackGroup::Warp));
        }),
        // What flame graphs are drawn from.
        ("folded in memory", |_, decoder| {
            let mut folded = Vec::new();
            all_taken(decoder.streamed().write_folded_to(&mut folded, StackGroup::Kernel));
        }),
    ];
    for content in CONTENTS {
        for (name, step) in STACKS.into_iter().chain(EVENTS).chain(others) {
            check_held(name, content, step, of_outline(content));
        }
    }
}

/// Nor of what timelines hold.
#[test]
fn timelines_that_are_written_while_decoding_hold_no_copy() {
    for content in CONTENTS {
        for (name, step) in TIMELINES {
            let of_part = match content {
                // All of a track that warps share, as regions and as items of its rows.
                Content::Tracks => 240,
                content => of_outline(content),
            };
            check_held(name, content, step, of_part);
        }
    }
}

/// Of these and of the values of marks they take quantiles: 8 bytes each, in buffers that double.
#[test]
fn statistics_hold_durations_and_values_alone() {
    let steps: [(&str, Step); 2] = [
        ("site", |_, decoder| stats(decoder, GroupBy::Site)),
        ("path", |_, decoder| stats(decoder, GroupBy::Path)),
    ];
    for (name, step) in steps {
        for content in CONTENTS {
            let of_part = match of_outline(content) {
                // Of each part, and of a quarter of a tile.
                0 => 2 * 8 * 5 / 4,
                // And of the values of marks.
                of_part => of_part + 2 * 8,
            };
            check_held(name, content, step, of_part);
        }
    }
}
