//! Of a damaged capture file what is whole is read, the rest is named, and no number is wrong.

use crate::captures;

use std::ops::Range;

use captures::{blocks, check_damaged, check_has_every_kind, file, of_warps, small};
use profiler_trace::{
    Capture, CaptureArray, CaptureDamage, CaptureError, DiagnosticKind as Kind, Region, Trace,
    Warp, decode,
};
use proptest::prelude::*;

/// Flips these bits of the capture's file, one at a time.
fn check_flipped(capture: &Capture, bits: impl Fn(usize) -> Range<usize>) {
    let (bytes, whole) = (file(capture), decode(capture));
    let mut checked = Capture::default();
    for bit in (0..bytes.len()).flat_map(|byte| bits(byte).map(move |bit| 8 * byte + bit)) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let (read, damage) = Capture::read_from(flipped.as_slice())
            .unwrap_or_else(|error| panic!("bit {bit}: {error}"));
        assert!(!damage.is_empty(), "bit {bit}");
        assert_eq!(read.damage, damage);
        let missing =
            damage.iter().filter(|damage| matches!(damage, CaptureDamage::Missing { .. }));
        assert!(missing.count() <= 1, "bit {bit}: {damage:?}");
        // Most bits of a block do the same damage.
        if read != checked {
            check_damaged(&whole, &decode(&read));
            checked = read;
        }
    }
}

#[test]
fn the_capture_that_is_damaged_has_every_kind() {
    check_has_every_kind(&small());
}

#[test]
fn every_flipped_bit_is_found_and_costs_at_most_its_part() {
    check_flipped(&of_warps(2), |_| 0..8);
    // One bit of each byte, as this has several times as many.
    check_flipped(&small(), |byte| byte % 8..byte % 8 + 1);
}

#[test]
fn every_truncation_is_found_and_what_is_before_it_is_read() {
    let capture = small();
    let (bytes, whole) = (file(&capture), decode(&capture));
    let mut read_in_part = 0;
    for length in 0..bytes.len() {
        match Capture::read_from(&bytes[..length]) {
            Ok((read, damage)) => {
                assert!(damage.contains(&CaptureDamage::Truncated { bytes: length as u64 }));
                check_damaged(&whole, &decode(&read));
                read_in_part += 1;
            }
            Err(CaptureError::NoMetadata { damage }) => {
                assert!(damage.contains(&CaptureDamage::Truncated { bytes: length as u64 }));
            }
            Err(CaptureError::Empty) => assert_eq!(length, 0),
            Err(error) => panic!("{length}: {error}"),
        }
    }
    assert!(read_in_part > bytes.len() / 3, "the metadata lie ahead of the arrays");
}

proptest! {
    #[test]
    fn damage_of_any_kind_is_found(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..200, 0..3, any::<u8>()), 1..4),
    ) {
        let capture = small();
        let (bytes, whole) = (file(&capture), decode(&capture));
        let mut damaged = bytes.clone();
        for (at, length, kind, byte) in edits {
            if damaged.is_empty() {
                break;
            }
            let at = at.index(damaged.len());
            let end = (at + length).min(damaged.len());
            match kind {
                0 => damaged[at..end].fill(byte),
                1 => drop(damaged.drain(at..end)),
                _ => drop(damaged.splice(at..at, vec![byte; length])),
            }
        }
        match Capture::read_from(damaged.as_slice()) {
            Ok((read, found)) if found.is_empty() => prop_assert_eq!(read, capture),
            Ok((read, _)) => check_damaged(&whole, &decode(&read)),
            Err(CaptureError::NoMetadata { .. } | CaptureError::NotACapture) => {}
            Err(CaptureError::Empty) => prop_assert!(damaged.is_empty()),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), begin: bool) {
        let mut file = if begin { file(&small())[..8].to_vec() } else { Vec::new() };
        file.extend_from_slice(&bytes);
        prop_assert!(Capture::read_from(file.as_slice()).is_err());
    }
}

/// Slots of a part of the headers, and of buffers of 64 bytes.
const SLOTS_OF_HEADERS: u32 = (1 << 20) / 128;
const SLOTS_OF_RECORDS: u32 = (1 << 20) / 64;

#[test]
fn a_lost_part_is_named_with_its_slots_and_costs_no_others() {
    let warps = 2 * SLOTS_OF_HEADERS + 1_000;
    let capture = of_warps(warps);
    let (bytes, whole) = (file(&capture), decode(&capture));
    let blocks = blocks(&bytes);
    // Metadata, three parts of headers, two of records, metadata, the end mark.
    assert_eq!(blocks.len() - 1, 1 + 3 + 2 + 1 + 1);
    let expected = [
        None,
        Some((CaptureArray::Headers, 0..SLOTS_OF_HEADERS)),
        Some((CaptureArray::Headers, SLOTS_OF_HEADERS..2 * SLOTS_OF_HEADERS)),
        Some((CaptureArray::Headers, 2 * SLOTS_OF_HEADERS..warps)),
        Some((CaptureArray::Records, 0..SLOTS_OF_RECORDS)),
        Some((CaptureArray::Records, SLOTS_OF_RECORDS..warps)),
        None,
    ];
    for (index, expected) in expected.into_iter().enumerate() {
        let block = blocks[index]..blocks[index + 1];
        let mut flipped = bytes.clone();
        flipped[block.end - 1] ^= 0x40;
        let mut without = bytes.clone();
        without.drain(block.clone());
        for (damaged, bytes_named) in [(flipped, true), (without, false)] {
            let (read, damage) = Capture::read_from(damaged.as_slice()).expect("metadata twice");
            let trace = decode(&read);
            let at = block.start as u64..block.end as u64;
            assert_eq!(damage.contains(&CaptureDamage::Bytes { at }), bytes_named, "{damage:?}");
            let missing: Vec<_> = damage
                .into_iter()
                .filter_map(|damage| match damage {
                    CaptureDamage::Missing { module: 0, array, slots, .. } => Some((array, slots)),
                    _ => None,
                })
                .collect();
            assert_eq!(missing, Vec::from_iter(expected.clone()));
            let count = |kind| trace.diagnostics.count(kind);
            let (headers, records) = match &expected {
                None => (0, 0),
                Some((CaptureArray::Headers, slots)) => (slots.len() as u64, 0),
                Some((_, slots)) => (0, slots.len() as u64),
            };
            assert_eq!(
                (count(Kind::UnreadableSlot), count(Kind::UnreadableRecords)),
                (headers, records)
            );
            let said = [Kind::UnreadableSlot, Kind::UnreadableRecords]
                .into_iter()
                .find_map(|kind| trace.diagnostics.get(kind));
            let first = said.and_then(|said| said.place).and_then(|place| place.slot);
            assert_eq!(first, expected.as_ref().map(|(_, slots)| slots.start));
            // Of a lost buffer the header still says what it held.
            assert_eq!(trace.lost(), 3 * records);
            assert_eq!(trace.recorded() + trace.lost() + 3 * headers, whole.recorded());
            if expected.is_some() || bytes_named {
                check_damaged_by_slot(&whole, &trace, expected.as_ref().map(|(_, slots)| slots));
            }
        }
    }
}

/// Every warp outside the slots is as before.
fn check_damaged_by_slot(whole: &Trace, damaged: &Trace, slots: Option<&Range<u32>>) {
    assert!(damaged.diagnostics.count(Kind::DamagedCapture) > 0);
    let untouched = |trace: &Trace| -> Vec<_> {
        let is_lost = |warp: &&Warp| slots.is_some_and(|slots| slots.contains(&warp.slot));
        let warps = trace.warps.iter().filter(|warp| !is_lost(warp));
        let span = |region: &Region| (region.start.ticks, region.end.map(|end| end.ticks));
        let spans = |warp: &Warp| warp.regions.iter().map(span).collect::<Vec<_>>();
        warps
            .map(|warp| (warp.slot, warp.block, warp.entry.ticks, warp.lost, spans(warp)))
            .collect()
    };
    assert_eq!(untouched(damaged), untouched(whole));
}

#[test]
fn a_damaged_capture_can_be_saved_again() {
    let capture = of_warps(SLOTS_OF_HEADERS + 10);
    let bytes = file(&capture);
    let blocks = blocks(&bytes);
    let mut damaged = bytes.clone();
    damaged[blocks[1] + 100] ^= 1;
    let (first, damage) = Capture::read_from(damaged.as_slice()).expect("one part is lost");
    let missing = damage.iter().filter(|damage| matches!(damage, CaptureDamage::Missing { .. }));
    let (again, kept) = Capture::read_from(file(&first).as_slice()).expect("a whole file");
    assert_eq!(kept, missing.cloned().collect::<Vec<_>>());
    let lost = |capture: &Capture| decode(capture).diagnostics.count(Kind::UnreadableSlot);
    assert_eq!(lost(&again), u64::from(SLOTS_OF_HEADERS));
    assert_eq!(lost(&first), lost(&again));
}

#[test]
fn what_follows_the_end_is_not_read() {
    let bytes = file(&small());
    let (read, damage) =
        Capture::read_from(bytes.repeat(2).as_slice()).expect("the first is whole");
    assert_eq!(damage, [CaptureDamage::AfterEnd { at: bytes.len() as u64 }]);
    assert_eq!(read.modules, small().modules);
}
