//! Captures in which something is odd: what is counted, and the place that is named.

use crate::support::text;

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{
    Capture, CaptureEnd, Decoder, DiagnosticKind as Kind, Export, ExportOptions, Location,
    ModuleCapture, Trace, Value, decode,
};
use profiler_wire::descriptor::{FLAG_CLAIMED, Lost};
use profiler_wire::header::{self, COUNT_MAX, Clock, LANE_COUNT_MAX, pack_counts};
use profiler_wire::record::{TRACK_BEYOND, TRACK_FIELD_MAX, TRACK_MAX, stamp, tag};
use profiler_wire::{Descriptor, RecordKind, SiteKind, Strategy};

const REGION: u32 = 1;
const KERNEL: u32 = 2;
const MARK: u32 = 3;

/// A module whose kernel is not the first of its sites.
fn module() -> SyntheticModule {
    let mut module = SyntheticModule::new(Keep::First, 4);
    module.lane_capacity = Some(4);
    assert_eq!(module.site(SiteKind::Region, "region"), REGION);
    assert_eq!(module.site(SiteKind::Kernel, "kernel"), KERNEL);
    assert_eq!(module.site(SiteKind::Mark, "mark"), MARK);
    module
}

fn capture(module: SyntheticModule) -> Capture {
    module.into_capture().expect("the sites are whole")
}

/// Decodes a warp that has recorded this.
fn one(record: impl Fn(&mut SyntheticWarp)) -> Trace {
    let mut module = module();
    let mut warp = SyntheticWarp::new(KERNEL, 1_000, 64_000);
    record(&mut warp);
    module.warps.push(warp);
    decode(&capture(module))
}

/// A warp that a lane of has recorded three regions, the last of them with a value.
fn warp(lane: u8) -> SyntheticWarp {
    let mut warp = SyntheticWarp::new(KERNEL, 1_000, 64_000);
    warp.lane(lane);
    for start in [1_010, 1_020, 1_030] {
        warp.range(REGION, None, start, start + 5);
    }
    warp.attach(REGION, 1_035, Value::Unsigned(7)).leave(2_000, 64_500);
    warp
}

/// Decodes [`warp`] with another count of units and attachments.
fn with_counts(lane: u8, units: u32, attachments: u32) -> Trace {
    let mut module = module();
    module.warps.push(warp(lane));
    let mut capture = capture(module);
    let counts = pack_counts(units, attachments).to_le_bytes();
    let module = &mut capture.modules[0];
    if lane == 0 {
        module.headers[8 * (header::EXIT_START + 2)..][..8].copy_from_slice(&counts);
    } else {
        module.lane_counts[8 * usize::from(lane)..][..8].copy_from_slice(&counts);
    }
    decode(&capture)
}

#[test]
fn counts_that_do_not_agree_with_the_records_are_said() {
    for lane in [0, 9] {
        for (units, attachments, is_wrong) in [
            (4, 1, false),
            (9, 1, false),
            // Fewer records than are there, and more attachments than units.
            (4, 2, true),
            (4, 5, true),
        ] {
            let trace = with_counts(lane, units, attachments);
            let said = trace.diagnostics.get(Kind::CountMismatch);
            assert_eq!(said.is_some(), is_wrong, "{units}, {attachments}: {}", trace.diagnostics);
            let lanes = said.and_then(|said| said.place).map(|place| place.lane);
            assert!(lanes.is_none_or(|named| named == Some(lane)), "{lanes:?}");
            assert_eq!(trace.recorded(), 3);
            let emitted = u64::from(units.saturating_sub(attachments));
            assert_eq!(trace.lost(), emitted.saturating_sub(3));
        }
    }
}

/// Where units are counted no further and attachments are, the two need not agree.
#[test]
fn a_count_that_has_stopped_is_no_mismatch() {
    for (lane, stops_at) in [(0, COUNT_MAX), (9, LANE_COUNT_MAX)] {
        for (units, has_stopped) in [(stops_at, true), (stops_at - 1, false)] {
            let diagnostics = with_counts(lane, units, units).diagnostics;
            assert_eq!(diagnostics.count(Kind::CountSaturated), u64::from(has_stopped));
            assert_eq!(diagnostics.count(Kind::CountMismatch), u64::from(!has_stopped));
        }
    }
    // Lane 0 counts on where other lanes stop.
    let diagnostics = with_counts(0, LANE_COUNT_MAX, LANE_COUNT_MAX).diagnostics;
    assert_eq!(diagnostics.count(Kind::CountSaturated), 0);
    assert_eq!(diagnostics.count(Kind::CountMismatch), 1);
}

#[test]
fn the_module_and_the_slot_are_named() {
    let mut capture = capture(module());
    let mut second = module();
    second.slots = 2;
    for block in 0..3 {
        let mut warp = warp(0);
        warp.header.block = [block, 0, 0];
        second.warps.push(warp);
    }
    let mut second = second.capture().expect("the sites are whole");
    second.headers[header::BYTES + 19] = 0;
    capture.modules.push(second);
    let trace = decode(&capture);
    let place = |kind| trace.diagnostics.get(kind).expect("it is said").place;
    let of_module = Location { module: 1, ..Location::default() };
    assert_eq!(place(Kind::DamagedHeader), Some(Location { slot: Some(1), ..of_module }));
    assert_eq!(place(Kind::NoSlot), Some(of_module));
    assert_eq!(trace.site(trace.launches[0].kernel).name, "kernel");
    assert_eq!(trace.warps.len(), 1);
}

#[test]
fn arrays_that_end_too_early_are_said() {
    let mut module = module();
    module.warps.push(warp(0));
    let capture = capture(module);
    let truncated = |change: fn(&mut profiler_trace::ModuleCapture)| {
        let mut capture = capture.clone();
        change(&mut capture.modules[0]);
        decode(&capture).diagnostics.count(Kind::TruncatedCapture)
    };
    assert_eq!(truncated(|_| ()), 0);
    // A part of a header says something only if something is in it.
    assert_eq!(truncated(|module| module.headers.extend([0, 0])), 0);
    assert_eq!(truncated(|module| module.headers.extend([0, 1])), 1);
    // One for each lane whose count is not there.
    assert_eq!(truncated(|module| module.lane_counts.truncate(8 * 30)), 2);
}

#[test]
fn an_exit_before_the_entry_is_said_and_one_at_it_is_not() {
    for clock in [Clock::Cycles, Clock::GlobalTimer] {
        let said = |exit: (u64, u64)| {
            let trace = one(|warp| {
                warp.header.record_clock = clock;
                warp.leave(exit.0, exit.1);
            });
            trace.diagnostics.get(Kind::TimeNotMonotonic).copied()
        };
        let (early, at, late) = match clock {
            Clock::Cycles => ((999, 64_500), (1_000, 64_500), (2_000, 64_500)),
            Clock::GlobalTimer => ((2_000, 63_968), (2_000, 64_000), (2_000, 64_500)),
        };
        let early = said(early).expect("it left before it came");
        let slot = Location { slot: Some(0), ..Location::default() };
        assert_eq!((early.count, early.place), (1, Some(slot)));
        assert_eq!((said(at), said(late)), (None, None));
    }
}

/// The count of a diagnostic, and the unit that is named, where a warp has recorded this.
fn named(kind: Kind, record: impl Fn(&mut SyntheticWarp)) -> Option<(u64, Option<u32>)> {
    let said = one(record).diagnostics.get(kind).copied();
    said.map(|said| (said.count, said.place.and_then(|place| place.unit)))
}

#[test]
fn the_odd_unit_is_named() {
    // Of a warp that never left, a step back and one ahead by 2^40 ticks less look alike.
    let back = named(Kind::TimeNotMonotonic, |warp| {
        warp.mark(MARK, None, 1_500).mark(MARK, None, 1_490);
    });
    assert_eq!(back, Some((1, Some(1))));
    // The timer of a reading says that it was before the entry, where a lane has nothing but readings.
    let reading = named(Kind::DamagedUnit, |warp| {
        warp.anchor(1_200, 64_096).anchor(1_400, 63_000).leave(2_000, 64_500);
    });
    assert_eq!(reading, Some((1, Some(1))));
    // A reading of both clocks has no site.
    let of_site = named(Kind::DamagedUnit, |warp| {
        warp.unit([64_100, stamp(tag(RecordKind::Anchor, REGION), 1_200)]).leave(2_000, 64_500);
    });
    assert_eq!(of_site, Some((1, Some(0))));
    // In a lane whose records hold the timer, it says its time itself.
    for (globaltimer, is_odd) in [(64_100, true), (64_400, false), (70_000, true)] {
        let outside = named(Kind::DamagedUnit, |warp| {
            warp.header.record_clock = Clock::GlobalTimer;
            warp.header.globaltimer = 64_256;
            warp.range(REGION, None, 64_300, 64_350).anchor(1_200, globaltimer);
            warp.leave(2_000, 64_500);
        });
        assert_eq!(outside, is_odd.then_some((1, Some(1))), "{globaltimer}");
    }
}

#[test]
fn a_unit_that_is_not_there_is_on_its_way_where_nothing_was_counted() {
    for (leaves, expected) in [(false, Kind::UnitInFlight), (true, Kind::UnwrittenUnit)] {
        let trace = one(|warp| {
            warp.range(REGION, None, 1_010, 1_020).unit([0, 0]).range(REGION, None, 1_030, 1_040);
            warp.exit = leaves.then_some((2_000, 64_500));
        });
        for kind in [Kind::UnitInFlight, Kind::UnwrittenUnit] {
            let said = trace.diagnostics.get(kind);
            assert_eq!(said.map_or(0, |said| said.count), u64::from(kind == expected));
            assert!(said.is_none_or(|said| said.place.and_then(|place| place.unit) == Some(1)));
        }
    }
}

/// The frequency is told where cycles were recorded, and where it is known.
#[test]
fn the_frequency_is_told() {
    let mhz = |clock, exit: Option<(u64, u64)>| {
        let trace = one(|warp| (warp.header.record_clock, warp.exit) = (clock, exit));
        trace.clock_mhz
    };
    let after_a_second = Some((1_500_001_000, 1_000_064_000));
    assert!(mhz(Clock::GlobalTimer, after_a_second).is_some_and(|mhz| (mhz - 1500.0).abs() < 0.1));
    assert!(mhz(Clock::Cycles, after_a_second).is_some_and(|mhz| (mhz - 1500.0).abs() < 0.1));
    assert_eq!(mhz(Clock::Cycles, None), Some(2000.0));
    assert_eq!(mhz(Clock::GlobalTimer, None), None);
}

/// Whether a module of no warp, in which this was changed, is said to be one that a session took nothing of.
fn selects_nothing(change: impl Fn(&mut Capture)) -> bool {
    // Beside a module that a session took all of, and in which nothing ran.
    let mut capture = capture(module());
    capture.modules.push(module().capture().expect("the sites are whole"));
    let module = &mut capture.modules[1];
    module.descriptor.slot_count = 2;
    module.headers = vec![0; 2 * header::BYTES];
    change(&mut capture);
    let trace = decode(&capture);
    let said = trace.diagnostics.get(Kind::NothingSelected).copied();
    if let Some(said) = said {
        assert_eq!(said.count, 1);
        assert_eq!(said.place, Some(Location { module: 1, ..Location::default() }));
    }
    said.is_some()
}

#[test]
fn a_selection_that_took_nothing_is_said_of_its_module() {
    type Select = fn(&mut Descriptor);
    let selections: [(Select, bool); 8] = [
        (|descriptor| descriptor.warp_mask = 1, true),
        (|descriptor| descriptor.warp_mask = !(1 << 31), true),
        (|descriptor| descriptor.block_first = 1, true),
        (|descriptor| descriptor.block_count = u32::MAX - 1, true),
        (|descriptor| descriptor.block_stride = 2, true),
        // What takes all tells nothing of why there is none.
        (|_| (), false),
        (|descriptor| descriptor.block_stride = 0, false),
        (|descriptor| descriptor.block_stride = 1, false),
    ];
    for (number, (select, is_said)) in selections.into_iter().enumerate() {
        let said = selects_nothing(|capture| select(&mut capture.modules[1].descriptor));
        assert_eq!(said, is_said, "{number}");
    }
    let other_reasons: [fn(&mut Capture); 5] = [
        // It took a warp, for which there was no slot, or whose slot says something.
        |capture| capture.modules[1].lost.warps = 1,
        |capture| capture.modules[1].lost.units = 1,
        |capture| capture.modules[1].headers[2 * header::BYTES - 1] = 1,
        // A warp may still come, or may have been lost with the kernel.
        |capture| capture.end = CaptureEnd::Running,
        |capture| capture.end = CaptureEnd::Failed { code: 700 },
    ];
    for (number, reason) in other_reasons.into_iter().enumerate() {
        let said = selects_nothing(|capture| {
            capture.modules[1].descriptor.warp_mask = 1;
            reason(capture);
        });
        assert!(!said, "{number}");
    }
}

#[test]
fn tracks_beyond_what_a_record_holds_are_counted_and_called_so() {
    let trace = |[range, begun, marked]: [u32; 3]| {
        one(|warp| {
            warp.range(REGION, Some(range), 1_010, 1_020)
                .begin(REGION, Some(begun), 1_030)
                .end(REGION, Some(begun), 1_040)
                .mark(MARK, Some(marked), 1_050)
                .leave(2_000, 64_500);
        })
    };
    let timeline =
        |trace: &Trace| text(|bytes| trace.write_chrome_to(bytes, &ExportOptions::default()));
    let largest = trace([TRACK_MAX; 3]);
    assert_eq!(largest.diagnostics.count(Kind::TrackOutOfRange), 0, "{}", largest.diagnostics);
    assert!(timeline(&largest).contains("track 16777213"));

    let beyond = trace([TRACK_MAX + 1, 256 << 16, u32::MAX]);
    let found = beyond.diagnostics.get(Kind::TrackOutOfRange).expect("three are beyond");
    let first = Location { module: 0, slot: Some(0), lane: Some(0), unit: Some(0) };
    assert_eq!((found.count, found.place), (3, Some(first)));
    assert!(found.to_string().starts_with("3 records or warps have a track number above"));
    let regions = &beyond.warps[0].regions;
    assert!(regions.iter().all(|region| region.track == Some(TRACK_BEYOND)), "{regions:?}");
    let shown = timeline(&beyond);
    assert!(
        shown.contains("tracks above 16777213") && !shown.contains("track 16777214"),
        "{shown}"
    );
}

/// Of a module with four headers, the second of which nobody wrote.
#[test]
fn so_many_slots_would_have_done() {
    let needed = |flags, slot_count, slot_base, lost_warps| {
        let mut headers = vec![1_u8; 4 * header::BYTES];
        headers[header::BYTES..2 * header::BYTES].fill(0);
        let module = ModuleCapture {
            descriptor: Descriptor { flags, slot_count, slot_base, ..Descriptor::default() },
            headers,
            lost: Lost { warps: lost_warps, ..Lost::default() },
            ..ModuleCapture::default()
        };
        module.needed_slots()
    };
    // Claimed ones are those that were claimed, wherever they lie.
    assert_eq!(needed(FLAG_CLAIMED, 100, 0, 0), 3);
    assert_eq!(needed(FLAG_CLAIMED, 100, 90, 7), 10);
    assert_eq!(needed(FLAG_CLAIMED, 100, 0, u64::MAX), u64::MAX);
    // Of linear ones those of launches that do not record are taken too, also after the last one.
    assert_eq!(needed(0, 100, 0, 0), 4);
    assert_eq!(needed(0, 100, 9, 0), 9);
    assert_eq!(needed(0, 4, 9, 2), 9);
    assert_eq!(needed(0, 4, 5, 2), 6);
    assert_eq!(needed(0, 10, 0, 2), 12);
    assert_eq!(needed(0, 2, 0, 2), 6);
}

#[test]
fn what_found_no_slot_or_buffer_is_said_of_its_module() {
    let (units, attachments) = (7, 2);
    for warps in [0, 3] {
        let mut capture = capture(module());
        capture.modules.push(capture.modules[0].clone());
        capture.modules[1].lost = Lost { warps, units, attachments };
        let trace = decode(&capture);
        let place = Some(Location { module: 1, ..Location::default() });
        let said = trace.diagnostics.list.iter().map(|said| (said.kind, said.count, said.place));
        let records = (Kind::RecordsWithoutBuffer, 5);
        let expected = [(Kind::NoSlot, warps), records, (Kind::ValuesLost, attachments)];
        let expected = expected.into_iter().filter(|(_, count)| *count > 0);
        let expected: Vec<_> = expected.map(|(kind, count)| (kind, count, place)).collect();
        assert_eq!(said.collect::<Vec<_>>(), expected);
        assert_eq!(trace.lost_unplaced, 5);
    }
}

#[test]
fn warps_say_which_slot_they_had() {
    let mut module = module();
    module.warps = vec![warp(0), warp(0), warp(0)];
    let capture = capture(module);
    let slots = |trace: Trace| trace.warps.iter().map(|warp| warp.slot).collect::<Vec<_>>();
    assert_eq!(slots(decode(&capture)), [0, 1, 2]);
    assert_eq!(slots(Decoder::new(&capture).only(|warp| warp.slot == 1).trace()), [1]);
}

#[test]
fn the_warp_is_named_whose_strategy_or_track_is_none() {
    let mut module = module();
    module.warps = vec![warp(0), warp(0), warp(0)];
    module.warps[1].header.strategy = 77;
    // A header has 32 bits for the field, of which a kernel sets no more than a record has.
    module.warps[2].header.track = TRACK_FIELD_MAX + 1;
    let trace = decode(&capture(module));
    let said = |kind| trace.diagnostics.get(kind).map(|said| (said.count, said.number, said.place));
    let place = |slot| Some(Location { slot: Some(slot), ..Location::default() });
    assert_eq!(said(Kind::UnknownStrategy), Some((1, 77, place(1))));
    assert_eq!(said(Kind::TrackOutOfRange), Some((1, 0, place(2))));
    // It is taken for what most kernels are recorded by.
    let warps = trace.warps.iter().map(|warp| (warp.strategy, warp.track));
    let by_warp = |track| (Strategy::Warp, track);
    assert_eq!(warps.collect::<Vec<_>>(), [None, None, Some(TRACK_BEYOND)].map(by_warp));
}
