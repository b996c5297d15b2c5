//! Files that no writer makes, though their checksums are right.

use super::super::format::{PART_BYTES, Packing};
use super::*;
use crate::model::DeviceInfo;
use crate::synthetic::{Keep, SyntheticModule};

/// A block whose part is `part_bytes` zeros.
fn zeros(section: Section, offset: u64, part_bytes: u32, total: u64) -> Vec<u8> {
    let part = vec![0; part_bytes as usize];
    let header = BlockHeader {
        section,
        packing: Packing::Zeros,
        part_bytes,
        part_checksum: crc32c::crc32c(&part),
        payload_bytes: 0,
        payload_checksum: 0,
        offset,
        total,
    };
    header.to_bytes().to_vec()
}

fn plain(section: Section, part: &[u8]) -> Vec<u8> {
    let checksum = crc32c::crc32c(part);
    let header = BlockHeader {
        section,
        packing: Packing::Plain,
        part_bytes: part.len() as u32,
        part_checksum: checksum,
        payload_bytes: part.len() as u32,
        payload_checksum: checksum,
        offset: 0,
        total: part.len() as u64,
    };
    [&header.to_bytes(), part].concat()
}

fn end() -> Vec<u8> {
    plain(Section::End, &[])
}

fn capture() -> Capture {
    let module = SyntheticModule::new(Keep::First, 4);
    Capture {
        device: DeviceInfo { name: "synthetic".to_owned(), ..DeviceInfo::default() },
        ..module.into_capture().expect("no site is whole")
    }
}

/// The metadata of [`capture`] with a text in place of another.
fn metadata_with(text: &str, replacement: &str) -> Vec<u8> {
    let json = String::from_utf8(metadata::encode(&capture())).expect("JSON is text");
    assert!(json.contains(text), "{json}");
    json.replacen(text, replacement, 1).into_bytes()
}

const RECORDS: Section = Section::Array { module: 0, array: CaptureArray::Records };

/// Reads blocks after metadata that claim so many bytes of records.
fn refused(records: u64, blocks: &[Vec<u8>]) -> String {
    let metadata = metadata_with("\"records\":0", &format!("\"records\":{records}"));
    let metadata = plain(Section::Metadata, &metadata);
    let whole = [std::slice::from_ref(&metadata), blocks, &[metadata.clone(), end()]];
    Capture::read_from(whole.concat().concat().as_slice()).expect_err("refused").to_string()
}

#[test]
fn claims_take_no_memory() {
    let mut bytes = Vec::new();
    for part in 1..=4 {
        grow(&mut bytes, part * PART_BYTES, 1 << 60).expect("memory");
        assert!(bytes.capacity() <= 3 * part * PART_BYTES, "{}", bytes.capacity());
    }
    let part = zeros(RECORDS, 0, PART_BYTES as u32, 1 << 60);
    let error = refused(1 << 60, &[part]);
    assert!(error.contains("another block belongs there"), "{error}");
}

#[test]
fn blocks_that_do_not_follow_are_refused() {
    let other = |module, array| zeros(Section::Array { module, array }, 0, 16, 16);
    let records = || zeros(RECORDS, 0, 16, 16);
    for blocks in [
        // Of another length than the metadata have.
        vec![zeros(RECORDS, 0, 32, 32)],
        vec![],
        vec![other(0, CaptureArray::Lanes)],
        vec![other(1, CaptureArray::Records)],
        vec![records(), records()],
        vec![records(), other(9, CaptureArray::Lanes)],
        vec![records(), end()],
    ] {
        let error = refused(16, &blocks);
        assert!(error.contains("another block belongs there; copy"), "{error}");
    }
    let more = plain(Section::Metadata, &metadata_with("\"records\":0", "\"records\":16"));
    let error = refused(16, &[records(), more]);
    assert!(error.contains("the end mark belongs there"), "{error}");
}

#[test]
fn a_part_that_unpacks_to_something_else_is_damaged() {
    let mut block = plain(RECORDS, &[7; 16]);
    let Parsed::Header(header) = BlockHeader::parse(block.first_chunk().expect("a header")) else {
        panic!("a whole block")
    };
    let wrong = BlockHeader { part_checksum: header.part_checksum ^ 1, ..header };
    block[..HEADER_BYTES].copy_from_slice(&wrong.to_bytes());
    let error = refused(16, &[block]);
    assert!(error.contains("the block does not fit its checksum"), "{error}");
}

#[test]
fn metadata_that_mean_nothing_are_refused_and_say_where() {
    let read = |metadata: &[u8]| {
        let file = [plain(Section::Metadata, metadata), end()].concat();
        Capture::read_from(file.as_slice()).expect_err("refused").to_string()
    };
    let site = |id: u32, kind: &str, strategy: u32| {
        let place = r#""name":"","file":"","module":"","line":1,"column":1"#;
        format!(r#""sites":[{{"id":{id},"kind":"{kind}","strategy":{strategy},{place}}}]"#)
    };
    for (text, replacement, said) in [
        (
            "\"emulated\":false",
            "\"emulated\":0",
            "integer `0`, expected a boolean at line 1 column",
        ),
        ("\"sm_count\":0", "\"sm_count\":-1", "integer `-1`, expected u32 at line 1 column"),
        ("\"finished\"", "\"paused\"", "unknown variant `paused`, expected one of `finished`"),
        ("\"sites\":[]", &site(0, "mark", 0), "0 is not the id of a site"),
        ("\"sites\":[]", &site(1, "spot", 0), "unknown variant `spot`, expected one of `kernel`"),
        ("\"sites\":[]", &site(1, "mark", 30583), "30583 is not the code of a strategy"),
        ("\"name\"", "\"nom\"", "missing field `name` at line 1 column"),
        ("\"sites\":[]", "\"sites\":[7]", "invalid type: integer `7`"),
        (
            "\"descriptor\":\"",
            "\"descriptor\":\"00",
            "the descriptor is not 256 hexadecimal digits",
        ),
        ("\"missing\":[]", "\"missing\":[7]", "missing is not empty: the capture was read from"),
        ("{", "", "line 1"),
    ] {
        let error = read(&metadata_with(text, replacement));
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn members_that_are_not_known_are_skipped() {
    let metadata = metadata_with("{", "{\"color\":\"blue\",");
    let metadata = plain(Section::Metadata, &metadata);
    let file = [metadata.clone(), metadata, end()].concat();
    assert_eq!(Capture::read_from(file.as_slice()).expect("whole"), capture());
}

#[test]
fn other_versions_are_refused_with_both_named() {
    let mut file = Vec::new();
    capture().write_to(&mut file).expect("a vector takes everything");
    let with = |at: usize, version: u16| {
        let mut file = file.clone();
        file[at..at + 2].copy_from_slice(&version.to_le_bytes());
        let checked = HEADER_BYTES - 4;
        let checksum = crc32c::crc32c(&file[..checked]);
        file[checked..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
        Capture::read_from(file.as_slice()).expect_err("refused").to_string()
    };
    let format = with(8, 9);
    assert!(format.contains("has format version 9, this library reads version 1"), "{format}");
    let wire = with(10, 2);
    assert!(wire.contains("have wire version 2, this library reads version 1;"), "{wire}");
}

#[test]
fn numbers_that_json_has_not_come_back() {
    let mut odd = capture();
    odd.device.clock_mhz = Some(f64::NAN);
    let read = metadata::decode(&metadata::encode(&odd)).expect("readable").capture;
    assert!(read.device.clock_mhz.is_some_and(f64::is_nan));
    for number in [f64::INFINITY, -0.0, 0.1 + 0.2, f64::MIN_POSITIVE / 3.0] {
        odd.device.clock_mhz = Some(number);
        let read = metadata::decode(&metadata::encode(&odd)).expect("readable").capture;
        assert_eq!(read.device.clock_mhz.map(f64::to_bits), Some(number.to_bits()));
    }
}
