//! A capture's file, byte by byte.

use profiler_trace::Capture;

use crate::check::{self, MEMORY_FLOOR};
use crate::memory::within;

/// What a block begins with; `docs/capture-format.md` has the rest.
const SYNC: &[u8; 8] = b"\x89GPUREC\n";
const HEADER: usize = 56;
/// Bytes of a part, unpacked.
const PART: usize = 1 << 20;
/// Bytes that a block may take: it may be a row of zeros, which needs no payload. While an array
/// grows, it is there twice, with room to grow.
const BLOCK: usize = 4 * PART;

/// Reads a file, and checks what was read.
///
/// # Panics
///
/// If something does not hold.
pub fn check(file: &[u8]) {
    let blocks = starts(file).count();
    let memory = 2 * MEMORY_FLOOR + BLOCK * blocks + 64 * file.len();
    let read = within(memory, || Capture::read_from(file));
    let capture = match read {
        Ok(capture) => capture,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let written = write(&capture);
    let again = Capture::read_from(written.as_slice()).expect("it was just written");
    // Not the captures themselves: they may hold NaN.
    assert_eq!(write(&again), written);
    assert_eq!(again.modules, capture.modules);
    // What rows of zeros decode to takes a while, and is of no interest.
    let mut arrays = capture
        .modules
        .iter()
        .flat_map(|module| [&module.headers, &module.records, &module.lanes, &module.lane_counts]);
    if arrays.all(|array| array.len() <= PART / 4) {
        check::capture(&capture, file.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
    }
}

fn write(capture: &Capture) -> Vec<u8> {
    let mut bytes = Vec::new();
    capture.write_to(&mut bytes).expect("a vector takes all");
    bytes
}

/// Where blocks begin.
fn starts(file: &[u8]) -> impl Iterator<Item = usize> {
    let windows = file.windows(SYNC.len()).enumerate();
    windows.filter(|(_, window)| *window == SYNC).map(|(at, _)| at)
}

/// Gives blocks their right checksums and, if `lengths` are wanted, the lengths that they have.
pub fn repair(file: &mut [u8], lengths: bool) {
    let mut starts: Vec<usize> = starts(file).collect();
    starts.push(file.len());
    for block in starts.windows(2) {
        let block = &mut file[block[0]..block[1]];
        if block.len() < HEADER {
            continue;
        }
        let (header, payload) = block.split_at_mut(HEADER);
        let int = |header: &[u8], at: usize| {
            u32::from_le_bytes(std::array::from_fn(|index| header[at + index]))
        };
        let packing = header[13];
        if lengths {
            let length = payload.len() as u32;
            header[24..28].copy_from_slice(&length.to_le_bytes());
            if packing == 0 {
                header[20..24].copy_from_slice(&length.to_le_bytes());
                let offset = int(header, 32) as usize / PART * PART;
                header[32..40].copy_from_slice(&(offset as u64).to_le_bytes());
                let total = offset as u64 + u64::from(length);
                header[40..48].copy_from_slice(&total.to_le_bytes());
            }
            if packing == 1 {
                let long =
                    |at: usize| u64::from(int(header, at)) | u64::from(int(header, at + 4)) << 32;
                let offset = long(32) / PART as u64 * PART as u64;
                let part = long(40).saturating_sub(offset).min(PART as u64) as u32;
                header[20..24].copy_from_slice(&part.to_le_bytes());
                header[24..28].fill(0);
                header[32..40].copy_from_slice(&offset.to_le_bytes());
            }
        }
        let part = (int(header, 20) as usize).min(PART);
        let payload = &payload[..(int(header, 24) as usize).min(payload.len())];
        let part_checksum = match packing {
            0 => Some(crc32c::crc32c(payload)),
            1 => Some(crc32c::crc32c(&vec![0; part])),
            2 => lz4_flex::block::decompress(payload, part).ok().map(|part| crc32c::crc32c(&part)),
            _ => None,
        };
        if let Some(checksum) = part_checksum {
            header[28..32].copy_from_slice(&checksum.to_le_bytes());
        }
        header[48..52].copy_from_slice(&crc32c::crc32c(payload).to_le_bytes());
        let checksum = crc32c::crc32c(&header[..52]);
        header[52..].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// The same file, in which nothing is compressed that need not be: what is altered in it then alters
/// what it means. Differences of units stay as they are.
#[must_use]
pub fn unpacked(file: &[u8]) -> Vec<u8> {
    let mut starts: Vec<usize> = starts(file).collect();
    starts.push(file.len());
    let mut plain = Vec::new();
    for block in starts.windows(2) {
        let block = &file[block[0]..block[1]];
        let part =
            block.get(20..24).map_or(0, |part| usize::from(part[0]) | usize::from(part[1]) << 8);
        let begin = plain.len();
        plain.extend_from_slice(block);
        if let (Some(2), Ok(part)) =
            (block.get(13), lz4_flex::block::decompress(&block[HEADER..], part))
        {
            plain.truncate(begin + HEADER);
            plain.extend_from_slice(&part);
            plain[begin + 13] = 0;
        }
    }
    repair(&mut plain, true);
    plain
}
