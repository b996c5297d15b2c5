//! A capture file that is not as it was written is refused, and it is said where.

use crate::captures;

use std::ops::Range;

use captures::{blocks, check_has_every_kind, file, of_warps, small};
use profiler_trace::{Capture, CaptureError};
use proptest::prelude::*;

/// The error of a file, which must be one of damage.
fn refused(what: &str, file: &[u8]) -> CaptureError {
    let error = Capture::read_from(file).expect_err(what);
    let text = error.to_string();
    match error {
        CaptureError::Damaged { .. } | CaptureError::Truncated { .. } | CaptureError::Empty => {
            assert!(text.contains("copy the file again, or record it again"), "{what}: {text}");
        }
        // Its begin is another.
        CaptureError::NotACapture => assert_ne!(file[..8], captures::file(&small())[..8], "{what}"),
        _ => panic!("{what}: {text}"),
    }
    error
}

/// Flips these bits of the capture's file, one at a time.
fn check_flipped(capture: &Capture, bits: impl Fn(usize) -> Range<usize>) {
    let bytes = file(capture);
    let blocks = blocks(&bytes);
    for bit in (0..bytes.len()).flat_map(|byte| bits(byte).map(move |bit| 8 * byte + bit)) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let what = format!("bit {bit}");
        if let CaptureError::Damaged { at, .. } = refused(&what, &flipped) {
            let of = blocks.iter().rfind(|begin| **begin <= bit / 8);
            assert_eq!(Some(at), of.map(|begin| *begin as u64), "{what}");
        }
    }
}

#[test]
fn the_capture_that_is_damaged_has_every_kind() {
    check_has_every_kind(&small());
}

#[test]
fn every_flipped_bit_is_found_in_its_block() {
    check_flipped(&of_warps(2), |_| 0..8);
    // One bit of each byte, as this has several times as many.
    check_flipped(&small(), |byte| byte % 8..byte % 8 + 1);
}

#[test]
fn every_truncation_is_found() {
    let bytes = file(&small());
    for length in 0..bytes.len() {
        match refused(&length.to_string(), &bytes[..length]) {
            CaptureError::Empty => assert_eq!(length, 0),
            CaptureError::Truncated { bytes } => assert_eq!(bytes, length as u64),
            error => panic!("{length}: {error}"),
        }
    }
}

proptest! {
    #[test]
    fn damage_of_any_kind_is_found(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..200, 0..3, any::<u8>()), 1..4),
    ) {
        let bytes = file(&small());
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
        if damaged != bytes {
            refused("damaged", &damaged);
        }
    }

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), begin: bool) {
        let mut file = if begin { file(&small())[..8].to_vec() } else { Vec::new() };
        file.extend_from_slice(&bytes);
        prop_assert!(Capture::read_from(file.as_slice()).is_err());
    }
}

/// Slots of a part of the headers.
const SLOTS_OF_HEADERS: u32 = (1 << 20) / 128;

#[test]
fn a_lost_block_is_missed() {
    let bytes = file(&of_warps(2 * SLOTS_OF_HEADERS + 1_000));
    let blocks = blocks(&bytes);
    // Metadata, three parts of headers, two of records, metadata, the end mark.
    assert_eq!(blocks.len() - 1, 1 + 3 + 2 + 1 + 1);
    for block in blocks.windows(2) {
        let mut without = bytes.clone();
        without.drain(block[0]..block[1]);
        match refused(&format!("block at {}", block[0]), &without) {
            CaptureError::Damaged { at, .. } => assert_eq!(at, block[0] as u64),
            error => {
                assert!(matches!(error, CaptureError::Truncated { .. }), "{error}");
                assert_eq!(block[1], bytes.len());
            }
        }
    }
}

#[test]
fn what_follows_the_end_is_refused() {
    let bytes = file(&small());
    match refused("twice", &bytes.repeat(2)) {
        CaptureError::Damaged { at, .. } => assert_eq!(at, bytes.len() as u64),
        error => panic!("{error}"),
    }
}
