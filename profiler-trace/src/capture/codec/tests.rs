#![allow(clippy::print_stdout, reason = "one of the tests prints what it measured")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use profiler_wire::RecordKind;
use profiler_wire::record::{stamp, tag};
use proptest::prelude::*;

use super::super::format::PART_BYTES;
use super::*;

fn round_trip(part: &[u8], units: bool) -> Packing {
    let mut packer = Packer::default();
    let (packing, payload) = packer.pack(part, units);
    let payload = payload.to_vec();
    // What was in the buffer before must not matter.
    let mut unpacked = vec![0xa5; part.len()];
    assert!(packer.unpack(packing, &payload, &mut unpacked));
    assert_eq!(unpacked, part);
    packing
}

proptest! {
    #[test]
    fn any_bytes_come_back(
        part in prop::collection::vec(any::<u8>(), 1..600),
        repeat in 1_usize..20,
        units: bool,
    ) {
        round_trip(&part.repeat(repeat), units);
    }

    #[test]
    fn any_payload_is_unpacked_or_refused(
        payload in prop::collection::vec(any::<u8>(), 0..300),
        length in 0_usize..2_000,
    ) {
        let mut packer = Packer::default();
        for packing in [Packing::Plain, Packing::Compressed, Packing::Units] {
            let mut part = vec![0; length];
            let unpacked = packer.unpack(packing, &payload, &mut part);
            prop_assert!(packing != Packing::Plain || unpacked == (payload.len() == length));
        }
    }
}

#[test]
fn each_packing_is_used_where_it_suits() {
    assert_eq!(round_trip(&[0; 1_000], true), Packing::Zeros);
    assert_eq!(round_trip(&records(100, false), true), Packing::Units);
    assert_eq!(round_trip(&records(100, false), false), Packing::Compressed);
    assert_eq!(round_trip(&records(100, false)[1..], true), Packing::Compressed);
    assert_eq!(round_trip(b"\x01\x02\x03", true), Packing::Plain);
}

/// Records as a kernel leaves them: warps that go through three regions in turn, which take 450 to
/// 749, 60 to 63 and 120 to 159 ticks, 23 to 25 ticks apart, 512 times for each warp; where
/// `values` are asked for, the first of the three bears the bytes that it moved.
fn records(ranges: usize, values: bool) -> Vec<u8> {
    let mut random = 88_172_645_463_325_252_u64;
    let mut below = |limit: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % limit
    };
    let mut bytes = Vec::with_capacity(2 * UNIT * ranges);
    let mut unit = |data: u64, kind: RecordKind, site: u32, ticks: u64| {
        bytes.extend_from_slice(&data.to_le_bytes());
        bytes.extend_from_slice(&stamp(tag(kind, site), ticks).to_le_bytes());
    };
    let mut clock = 0;
    for number in 0..ranges {
        if number % 512 == 0 {
            clock = 0x1_2345_6789_abcd + below(2_000_000);
        }
        let site = number % 3;
        let (least, more) = [(450, 300), (60, 4), (120, 40)][site];
        let begin = clock + 23;
        clock = begin + least + below(more);
        unit(begin, RecordKind::Range, 2 + site as u32, clock);
        if values && site == 0 {
            unit(if number % 7 == 0 { 2_048 } else { 4_096 }, RecordKind::ValueUnsigned, 2, clock);
        }
        clock += below(3);
    }
    bytes
}

/// A way to compress and its inverse.
struct Method {
    name: &'static str,
    compress: fn(&[u8]) -> Vec<u8>,
    decompress: fn(&[u8], usize) -> Vec<u8>,
}

const METHODS: [Method; 3] = [
    Method {
        name: "LZ4 (lz4_flex)",
        compress: lz4_flex::block::compress,
        decompress: |packed, length| {
            lz4_flex::block::decompress(packed, length).expect("it was compressed")
        },
    },
    Method {
        name: "Deflate, level 1 (miniz_oxide)",
        compress: |part| miniz_oxide::deflate::compress_to_vec(part, 1),
        decompress: |packed, _| {
            miniz_oxide::inflate::decompress_to_vec(packed).expect("it was compressed")
        },
    },
    Method {
        name: "Zstandard, level 1 (zrip)",
        compress: |part| zrip::compress(part, 1).expect("a part is short"),
        decompress: |packed, _| zrip::decompress(packed).expect("it was compressed"),
    },
];

/// The table of `docs/capture-format.md`. `CAPTURE_RECORDS=FILE` takes the raw records of a file in
/// place of made-up ones.
#[test]
#[ignore = "measures, for docs/capture-format.md; run it alone and with --release"]
fn measure() {
    let given = std::env::var_os("CAPTURE_RECORDS").map(|path| {
        let bytes = std::fs::read(path).expect("CAPTURE_RECORDS names a file");
        ("records of the file", bytes)
    });
    let made = [("ranges", false), ("ranges and values", true)]
        .map(|(name, values)| (name, records(4_000_000, values)));
    for (name, bytes) in given.into_iter().chain(made) {
        println!("\n{name}: {} units\n", bytes.len() / UNIT);
        println!("| method | bytes a unit | packs MB/s | unpacks MB/s |\n|---|---:|---:|---:|");
        for Method { name, compress, decompress } in METHODS {
            for planes in [false, true] {
                let name = format!("{name}{}", if planes { ", differences in planes" } else { "" });
                let pack = |part: &[u8]| {
                    let mut differences = vec![0; part.len()];
                    if planes {
                        to_planes(part, &mut differences);
                        compress(&differences)
                    } else {
                        compress(part)
                    }
                };
                let unpack = |packed: &Vec<u8>, length: usize| {
                    let mut part = decompress(packed, length);
                    if planes {
                        let differences = std::mem::replace(&mut part, vec![0; length]);
                        from_planes(&differences, &mut part);
                    }
                    part
                };
                let parts = || bytes.chunks(PART_BYTES);
                let (packed, packing) = fastest(|| parts().map(pack).collect::<Vec<_>>());
                let (whole, unpacking) = fastest(|| {
                    packed.iter().zip(parts()).all(|(packed, part)| {
                        black_box(unpack(packed, part.len())).len() == part.len()
                    })
                });
                assert!(whole);
                let size: usize = packed.iter().map(Vec::len).sum();
                let rate = |time: Duration| bytes.len() as f64 / 1e6 / time.as_secs_f64();
                println!(
                    "| {name} | {:.2} | {:.0} | {:.0} |",
                    size as f64 * UNIT as f64 / bytes.len() as f64,
                    rate(packing),
                    rate(unpacking)
                );
            }
        }
    }
}

/// The fastest of three runs, as the machine may have other work.
fn fastest<R>(run: impl Fn() -> R) -> (R, Duration) {
    let timed = || {
        let begin = Instant::now();
        (run(), begin.elapsed())
    };
    let mut best = timed();
    for _ in 0..2 {
        let next = timed();
        if next.1 < best.1 {
            best = next;
        }
    }
    best
}
