//! The bits of records, headers and descriptors, spelled out once more: what the documentation says,
//! in numbers that do not come from the code.

use profiler_wire::descriptor::{self, CURSOR_MAX, Descriptor, LANE_STEP, Lost};
use profiler_wire::header::{self, Clock, ExitHeader, SlotHeader};
use profiler_wire::record::{
    self, RecordKind, SITE_MAX, Stamp, TRACK_BEYOND, TRACK_FIELD_MAX, TRACK_MAX,
};
use profiler_wire::symbol;

#[test]
fn kinds_have_their_numbers() {
    let kinds = [
        RecordKind::Range,
        RecordKind::RangeTracked,
        RecordKind::RangeUnsigned,
        RecordKind::RangeSigned,
        RecordKind::RangeWatched,
        RecordKind::Open,
        RecordKind::Begin,
        RecordKind::Mark,
        RecordKind::ValueUnsigned,
        RecordKind::ValueSigned,
        RecordKind::ValueFloat,
        RecordKind::Anchor,
    ];
    assert_eq!(kinds, RecordKind::ALL);
    for (number, kind) in (1..).zip(kinds) {
        assert_eq!((RecordKind::from_bits(number), kind as u8), (Some(kind), number));
        assert_eq!(kind.is_value(), (9..=11).contains(&number), "{kind:?}");
        assert_eq!(kind.is_range_with_value(), (3..=4).contains(&number), "{kind:?}");
    }
    for number in [0].into_iter().chain(13..=255) {
        assert_eq!(RecordKind::from_bits(number), None, "{number}");
    }
}

#[test]
fn a_stamp_has_its_bits() {
    // Ticks 0x12_3456_789a, kind 8, site 0xbcdef.
    let word = 0x128b_cdef_3456_789a;
    assert_eq!(record::tag(RecordKind::Mark, 0xb_cdef), 0x8b_cdef);
    assert_eq!(record::stamp(0x8b_cdef, 0xffff_ff12_3456_789a), word);
    assert_eq!(record::unpack(word), (0x8b_cdef, 0x12_3456_789a));
    let stamp = Stamp { kind: RecordKind::Mark, site: 0xb_cdef, ticks: 0x12_3456_789a };
    assert_eq!((Stamp::unpack(word), stamp.pack()), (Some(stamp), word));
    assert_eq!((record::TICK_MASK, SITE_MAX), (0xff_ffff_ffff, 0xf_ffff));
    assert_eq!((TRACK_MAX, TRACK_BEYOND, TRACK_FIELD_MAX), (16_777_213, 0xff_fffe, 0xff_ffff));
}

#[test]
fn a_range_says_its_begin() {
    let begin = 0x1234_5678_9abc_def0;
    assert_eq!(record::range_kind(0), RecordKind::Range);
    assert_eq!(record::range_data(0, begin), begin);
    assert_eq!(record::range_kind(1), RecordKind::RangeTracked);
    assert_eq!(record::range_data(1, begin), 0x7800_0001_9abc_def0);
    assert_eq!((record::track_field(0), record::track_field(41)), (1, 42));
    assert_eq!((record::track_number(1), record::track_number(42)), (Some(0), Some(41)));
    assert_eq!(record::track_field(TRACK_MAX - 1), TRACK_MAX);
}

#[test]
fn a_range_with_a_value_says_its_begin_and_the_value() {
    let begin = 0x1234_5678_9abc_def0;
    assert_eq!(record::FIELD_MASK, 0xff_ffff);
    assert_eq!(record::stamp(0xff_fffe, begin), 0x78ff_fffe_9abc_def0);
    assert_eq!(record::unpack(0x78ff_fffe_9abc_def0), (0xff_fffe, 0x78_9abc_def0));
    assert_eq!(record::signed_field(0xff_fffe), -2);
    assert_eq!(record::signed_field(0x7f_ffff), 0x7f_ffff);
    assert_eq!(record::signed_field(0x80_0000), -0x80_0000);
}

fn slot_header() -> SlotHeader {
    SlotHeader {
        clock: 0x0102_0304_0506_0708,
        globaltimer: 0x1112_1314_1516_1718,
        version: 2,
        kernel: 0xa_bcde,
        record_clock: Clock::GlobalTimer,
        grid_id: 0x2122_2324_2526_2728,
        block: [0x7654_3210, 0xba98, 0xfedc],
        grid_dim: [0x7654_3211, 0xba99, 0xfedd],
        block_dim: [1024, 513, 64],
        warp: 31,
        sm: 0x1234,
        cluster_rank: Some(15),
        track: 0x9a_bcde,
        strategy: 0x11f,
    }
}

#[test]
fn a_header_has_its_words() {
    let words = [
        0x0102_0304_0506_0708,
        0x1112_1314_1516_1718,
        0x002a_bcde_5052_0002,
        0x2122_2324_2526_2728,
        0xfedc_ba98_7654_3210,
        0xfedd_ba99_7654_3211,
        // Rank 15 plus one; SM; warp; 64, 513 and 1024 threads.
        0x1012_341f_1010_0c00,
        0x0000_011f_009a_bcde,
    ];
    assert_eq!(slot_header().pack(), words, "{:#018x?}", slot_header().pack());
    assert_eq!((header::BYTES, header::WORDS), (128, 16));
    let exit = ExitHeader {
        clock: 0x3132_3334_3536_3738,
        globaltimer: 0x4142_4344_4546_4748,
        units: 0x5152_5354,
        attachments: 0x6162_6364,
    };
    let exit_words = [
        0x3132_3334_3536_3738,
        0x4142_4344_4546_4748,
        0x6162_6364_5152_5354,
        0x5850_4f46_4c45_5821,
    ];
    assert_eq!(exit.pack(), exit_words);

    let mut header = [0; header::WORDS];
    header[..8].copy_from_slice(&words);
    assert_eq!(SlotHeader::unpack(&header), Some(slot_header()));
    assert_eq!(ExitHeader::unpack(&header), None, "the warp has not left");
    // What a kernel does not write may hold anything.
    header[12..].fill(0x8182_8384);
    header[8..12].copy_from_slice(&exit_words);
    assert_eq!(ExitHeader::unpack(&header), Some(exit));
    for bit in 16..32 {
        let mut damaged = header;
        damaged[2] ^= 1 << bit;
        assert_eq!(SlotHeader::unpack(&damaged), None, "bit {bit} of the magic");
    }
    for bit in 0..64 {
        let mut damaged = header;
        damaged[11] ^= 1 << bit;
        assert_eq!(ExitHeader::unpack(&damaged), None, "bit {bit} of the exit mark");
    }
}

#[test]
fn fields_of_a_header_stay_apart() {
    // Each field alone, with all its bits, and too many: no other field may change.
    type Change = (fn(&mut SlotHeader), fn(&mut SlotHeader));
    let changes: [Change; 14] = [
        (|h| h.clock = u64::MAX, |h| h.clock = u64::MAX),
        (|h| h.globaltimer = u64::MAX, |h| h.globaltimer = u64::MAX),
        (|h| h.version = 0xffff, |h| h.version = 0xffff),
        (|h| h.kernel = u32::MAX, |h| h.kernel = SITE_MAX),
        (|h| h.record_clock = Clock::Cycles, |h| h.record_clock = Clock::Cycles),
        (|h| h.grid_id = u64::MAX, |h| h.grid_id = u64::MAX),
        (|h| h.block = [u32::MAX; 3], |h| h.block = [u32::MAX, 0xffff, 0xffff]),
        (|h| h.grid_dim = [u32::MAX; 3], |h| h.grid_dim = [u32::MAX, 0xffff, 0xffff]),
        (|h| h.block_dim = [u32::MAX; 3], |h| h.block_dim = [0x7ff, 0x7ff, 0x7f]),
        (|h| h.warp = u32::MAX, |h| h.warp = 0xff),
        (|h| h.sm = u32::MAX, |h| h.sm = 0xffff),
        (|h| h.cluster_rank = None, |h| h.cluster_rank = None),
        (|h| h.track = u32::MAX, |h| h.track = u32::MAX),
        (|h| h.strategy = u32::MAX, |h| h.strategy = u32::MAX),
    ];
    let [zero, full] = [[0; header::WORDS], [u64::MAX; header::WORDS]];
    for (change, expected) in changes {
        let (mut given, mut kept) = (slot_header(), slot_header());
        change(&mut given);
        expected(&mut kept);
        for mut words in [zero, full] {
            words[..header::ENTRY_WORDS].copy_from_slice(&given.pack());
            assert_eq!(SlotHeader::unpack(&words), Some(kept));
        }
    }
    let mut ranked = slot_header();
    for rank in [0, 0x7f] {
        ranked.cluster_rank = Some(rank);
        let mut words = zero;
        words[..header::ENTRY_WORDS].copy_from_slice(&ranked.pack());
        assert_eq!(SlotHeader::unpack(&words), Some(ranked));
    }
    assert_eq!(header::unpack_counts(header::pack_counts(3, 2)), (3, 2));
    assert_eq!((header::COUNT_MAX, header::LANE_COUNT_MAX), (CURSOR_MAX / 16, CURSOR_MAX / 512));
}

/// A header is stored in units of two words, each of which is there or is not yet.
#[test]
fn a_header_is_whole_when_all_its_units_are_there() {
    // What may be 0 of each unit is.
    let entry = SlotHeader { clock: 0, grid_id: 0, block: [0; 3], ..slot_header() };
    let entry = SlotHeader { track: 0, strategy: 0, ..entry };
    let exit = ExitHeader { clock: 0, globaltimer: 9, units: 0, attachments: 0 };
    let mut whole = [0; header::WORDS];
    whole[..header::ENTRY_WORDS].copy_from_slice(&entry.pack());
    assert!(SlotHeader::is_whole(&whole) && ExitHeader::is_whole(&whole), "it has not left");
    whole[header::EXIT_START..][..header::EXIT_WORDS].copy_from_slice(&exit.pack());
    assert!(SlotHeader::is_whole(&whole) && ExitHeader::is_whole(&whole), "it has left");
    for unit in 0..(header::EXIT_START + header::EXIT_WORDS) / 2 {
        let mut words = whole;
        words[2 * unit..][..2].fill(0);
        let is_of_entry = unit < header::ENTRY_WORDS / 2;
        assert_eq!(SlotHeader::is_whole(&words), !is_of_entry, "unit {unit}");
        assert_eq!(ExitHeader::is_whole(&words), is_of_entry, "unit {unit}");
    }
}

#[test]
fn a_descriptor_has_its_bytes() {
    let descriptor = Descriptor {
        version: 0x0101_0101,
        flags: 0x0202_0202,
        headers: 0x0303_0303_0303_0303,
        records: 0x0404_0404_0404_0404,
        record_mask: 0x0505_0505,
        record_limit: 0x0606_0606,
        record_shift: 0x0707_0707,
        slot_count: 0x0808_0808,
        slot_base: 0x0909_0909,
        sm_count: 0x0a0a_0a0a,
        lanes: 0x0b0b_0b0b_0b0b_0b0b,
        lane_counts: 0x0c0c_0c0c_0c0c_0c0c,
        lane_mask: 0x0d0d_0d0d,
        lane_limit: 0x0e0e_0e0e,
        lane_shift: 0x0f0f_0f0f,
        warp_mask: 0x1010_1010,
        block_first: 0x1111_1111,
        block_count: 0x1212_1212,
        block_stride: 0x1313_1313,
        slots_per_shard: 0x1414_1414,
        claims: 0x1515_1515_1515_1515,
        pool_start: 0x1616_1616,
        lost: 0x1717_1717_1717_1717,
    };
    // How many bytes each value takes, in order; 0 is what is no field.
    let expected: Vec<u8> = [
        (1, 4),
        (2, 4),
        (3, 8),
        (4, 8),
        (5, 4),
        (6, 4),
        (7, 4),
        (8, 4),
        (9, 4),
        (10, 4),
        (11, 8),
        (12, 8),
        (13, 4),
        (14, 4),
        (15, 4),
        (16, 4),
        (17, 4),
        (18, 4),
        (19, 4),
        (20, 4),
        (21, 8),
        (22, 4),
        (0, 4),
        (23, 8),
    ]
    .into_iter()
    .flat_map(|(value, bytes)| std::iter::repeat_n(value, bytes))
    .collect();
    let bytes = descriptor.to_bytes();
    let magic = descriptor::block_magic(descriptor.block_stride).to_le_bytes();
    assert_eq!(bytes.as_slice(), [expected.as_slice(), &magic].concat());
    assert_eq!(Descriptor::from_bytes(&bytes), descriptor);
    let little_endian = Descriptor { version: 2, ..Descriptor::default() }.to_bytes();
    assert_eq!(little_endian[..4], [2, 0, 0, 0]);

    let counters = std::array::from_fn(|index| if index % 8 == 0 { 1 + index as u8 } else { 0 });
    assert_eq!(Lost::from_bytes(&counters), Lost { warps: 1, units: 9, attachments: 17 });
    assert_eq!(Lost::from_bytes(&[0xff; 24]).units, u64::MAX);
}

#[test]
fn a_cursor_says_where_and_how_many() {
    assert_eq!(descriptor::buffer_byte(0x1230, 0xff), 0x30);
    assert_eq!(descriptor::buffer_byte(0x1230, u32::MAX), 0x1230);
    assert_eq!(descriptor::units(0x70, 16), 7);
    assert_eq!(descriptor::units(3 * LANE_STEP, LANE_STEP), 3);
    assert_eq!(descriptor::next_cursor(0, 16), 16);
    assert_eq!(descriptor::next_cursor(u32::MAX, 16), 15, "a sum that wraps is the caller's fault");
}

/// A host finds the kernels of its own version by these names, and no others.
#[test]
fn names_end_in_the_version() {
    let version = profiler_wire::WIRE_VERSION;
    assert_eq!(symbol::DESCRIPTOR, format!("__profiler_descriptor_v{version}"));
    assert_eq!(symbol::DESCRIPTOR, format!("{}{version}", symbol::DESCRIPTOR_PREFIX));
    assert_eq!(symbol::CALIBRATION, format!("__profiler_calibrate_v{version}"));
}

/// The pauses in the documentation of the calibration kernel.
#[test]
fn pauses_stand_around_each_record() {
    assert_eq!((symbol::CALIBRATION_ROW, symbol::CALIBRATION_NEST), (3, 4));
    assert_eq!((symbol::CALIBRATION_APART, symbol::CALIBRATION_PAUSES), (2, 5));
}
