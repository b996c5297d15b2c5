use profiler_wire::RecordKind;
use profiler_wire::record::{stamp, tag};
use proptest::prelude::*;

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
    assert_eq!(round_trip(&records(100), true), Packing::Units);
    assert_eq!(round_trip(&records(100), false), Packing::Compressed);
    assert_eq!(round_trip(&records(100)[1..], true), Packing::Compressed);
    assert_eq!(round_trip(b"\x01\x02\x03", true), Packing::Plain);
}

/// Records of so many regions that follow each other.
fn records(ranges: u32) -> Vec<u8> {
    let unit = |number: u32| {
        let begin = 0x1_2345_6789_abcd + 500 * u64::from(number);
        let end = stamp(tag(RecordKind::Range, 2 + number % 3), begin + 100);
        [begin, end].map(u64::to_le_bytes).concat()
    };
    (0..ranges).flat_map(unit).collect()
}
