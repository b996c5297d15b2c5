//! Site entries: their bytes, and what is refused.

use profiler_wire::record::SITE_MAX;
use profiler_wire::site::{self, Names, STRATEGY_OF_KERNEL, SiteError};
use profiler_wire::{SiteEntry, SiteKind, Strategy, WIRE_VERSION};

#[test]
fn kinds_and_strategies_have_their_numbers() {
    let kinds = [
        SiteKind::Kernel,
        SiteKind::Region,
        SiteKind::Mark,
        SiteKind::Signal,
        SiteKind::Wait,
        SiteKind::Names,
    ];
    for (number, kind) in (1..).zip(kinds) {
        assert_eq!((SiteKind::from_bits(number), kind as u8), (Some(kind), number));
        assert_eq!(kind.is_region(), [1, 2, 6].contains(&number), "{kind:?}");
    }
    for number in [0].into_iter().chain(7..=255) {
        assert_eq!(SiteKind::from_bits(number), None);
    }
    let strategies = [
        (0, Strategy::Warp),
        (1, Strategy::Block),
        (2, Strategy::WarpGroup),
        (3, Strategy::Elected),
        (4, Strategy::Thread),
        (5, Strategy::When),
        (0x100, Strategy::WarpIndex(0)),
        (0x11f, Strategy::WarpIndex(31)),
        (0x1ff, Strategy::WarpIndex(255)),
    ];
    for (code, strategy) in strategies {
        assert_eq!((strategy.code(), Strategy::from_code(code)), (code, Some(strategy)));
        assert_eq!(strategy.needs_lanes(), (3..=5).contains(&code), "{strategy:?}");
    }
    for code in [6, 0xff, 0x200, STRATEGY_OF_KERNEL] {
        assert_eq!(Strategy::from_code(code), None);
    }
}

const NAMES: [&str; 2] = ["loaded", ""];

/// An entry in which each field differs from all others.
fn entry() -> SiteEntry<'static> {
    SiteEntry {
        strategy: 0x0304,
        ids: 3,
        max_threads: 0x2122_2324,
        min_blocks: 0x3132_3334,
        max_registers: 0x4142_4344,
        unit: "B",
        symbol: "k",
        names: Names::Given(&NAMES),
        ..SiteEntry::new(SiteKind::Names, "TASK", "a.rs", "m", 0x0102_0304, 0x1112_1314)
    }
}

/// Bytes of [`entry`].
const LENGTH: usize = 48 + 6 + 6 + 3 + 3 + 3 + 8 + 2;

#[test]
fn an_entry_has_its_bytes() {
    assert_eq!(entry().encoded_len(), LENGTH);
    let bytes: [u8; LENGTH] = entry().encode();
    let key = u64::from_le_bytes(bytes[8..16].try_into().expect("8 bytes"));
    let id = u32::from_le_bytes(bytes[16..20].try_into().expect("4 bytes"));
    let mut expected = b"PSIT".to_vec();
    expected.extend([WIRE_VERSION as u8, 6, 0x04, 0x03]);
    expected.extend(key.to_le_bytes());
    expected.extend(id.to_le_bytes());
    expected.extend([3, 0, 0, 0]);
    expected.extend([4, 3, 2, 1, 0x14, 0x13, 0x12, 0x11]);
    expected.extend([0x24, 0x23, 0x22, 0x21, 0x34, 0x33, 0x32, 0x31, 0x44, 0x43, 0x42, 0x41]);
    expected.extend([7, 0, 0, 0]);
    expected.extend(b"\x04\0TASK\x04\0a.rs\x01\0m\x01\0B\x01\0k\x06\0loaded\0\0");
    assert_eq!(bytes.as_slice(), expected);

    // The key is the hash of the entry without key and id.
    let mut plain = bytes;
    plain[8..20].fill(0);
    assert_eq!((key, site::key_of(&bytes)), (site::fnv1a(&plain), key));
    assert_eq!(id, site::hashed_id(key, 3));
}

#[test]
fn an_entry_comes_back() {
    let bytes: [u8; LENGTH] = entry().encode();
    // Spare bytes after it are no part of it.
    for spare in [0, 5] {
        let bytes = [bytes.as_slice(), &[7; 5][..spare]].concat();
        let parsed = SiteEntry::parse(&bytes).expect("an entry");
        assert!(parsed.names.iter().eq(NAMES));
        assert_eq!((parsed.names.len(), parsed.names.is_empty()), (2, false));
        let names = Names::Given(&NAMES);
        assert_eq!((names.len(), names.iter().eq(NAMES)), (2, true));
        let (key, id) = (site::key_of(&bytes), parsed.id);
        assert_eq!(SiteEntry { names, ..parsed }, SiteEntry { key, id, ..entry() });
    }
    let region = SiteEntry::new(SiteKind::Region, "", "", "", 1, 2);
    assert_eq!((region.strategy, region.ids, region.encoded_len()), (STRATEGY_OF_KERNEL, 1, 58));
    assert!(region.names.is_empty());
    let bytes: [u8; 58] = region.encode();
    assert!(SiteEntry::parse(&bytes).expect("an entry").names.is_empty());
}

#[test]
fn what_is_no_entry_is_refused() {
    let whole: [u8; LENGTH] = entry().encode();
    for length in 0..LENGTH {
        assert_eq!(SiteEntry::parse(&whole[..length]), Err(SiteError::Truncated), "{length} bytes");
    }
    let altered = |at: usize, with: &[u8]| {
        let mut bytes = whole;
        bytes[at..at + with.len()].copy_from_slice(with);
        SiteEntry::parse(&bytes).map(|entry| (entry.id, entry.ids))
    };
    for at in 0..4 {
        assert_eq!(altered(at, b"?"), Err(SiteError::NotASite));
    }
    for found in [0, 2, 255] {
        assert_eq!(altered(4, &[found]), Err(SiteError::Version { found: u32::from(found) }));
    }
    assert_eq!(altered(5, &[7]), Err(SiteError::Kind(7)));
    // The buffer stands above the kind: one that there is not, of a kernel, and one that a region has none of.
    let (kernel, region) = (SiteKind::Kernel, SiteKind::Region);
    for (kind, buffer) in [(kernel, 2), (kernel, 15), (region, 1), (region, 2)] {
        let bits = kind as u8 | buffer << site::KIND_BITS;
        assert_eq!(altered(5, &[bits]), Err(SiteError::Buffer { kind, buffer }));
    }
    assert_eq!(altered(5, &[7 | 2 << site::KIND_BITS]), Err(SiteError::Kind(7)));
    // Fewer strings than every entry has, and more than there are.
    assert_eq!(altered(44, &[4]), Err(SiteError::Truncated));
    assert_eq!(altered(44, &[8]), Err(SiteError::Truncated));
    // A string that is not UTF-8, among those that every entry has and among the names.
    assert_eq!(altered(50, &[0xff]), Err(SiteError::Truncated));
    assert_eq!(altered(LENGTH - 6, &[0xff]), Err(SiteError::Truncated));

    let ids = |id: u32, ids: u32| altered(16, &[id.to_le_bytes(), ids.to_le_bytes()].concat());
    for (id, count) in [(1, 1), (SITE_MAX, 1), (1, SITE_MAX), (SITE_MAX - 2, 3)] {
        assert_eq!(ids(id, count), Ok((id, count)));
    }
    for (id, count) in
        [(0, 1), (1, 0), (SITE_MAX + 1, 1), (SITE_MAX - 1, 3), (2, SITE_MAX), (1, u32::MAX)]
    {
        assert_eq!(ids(id, count), Err(SiteError::IdOutOfRange { id, ids: count }));
    }
}

#[test]
fn refusals_say_why() {
    let says = |error: SiteError, parts: &[&str]| {
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    says(SiteError::NotASite, &["begin like a site entry"]);
    says(SiteError::Truncated, &["truncated or damaged"]);
    let read = format!("reads version {WIRE_VERSION}");
    says(SiteError::Version { found: 7 }, &["wire version 7", &read, "build the kernels with"]);
    says(SiteError::Kind(9), &["number 9"]);
    let buffer = SiteError::Buffer { kind: SiteKind::Region, buffer: 3 };
    says(buffer, &["kind 2 names the buffer number 3", "build the kernels with"]);
    says(SiteError::IdOutOfRange { id: 5, ids: 3 }, &["5 to 7", "1 to 1048575"]);
    says(SiteError::IdOutOfRange { id: 0, ids: 0 }, &["0 to 0"]);
}

#[test]
fn hashes_are_fnv_1a() {
    // From the reference vectors of the hash's authors.
    assert_eq!(site::fnv1a(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(site::fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(site::fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn a_hashed_id_leaves_buffer_for_all_its_ids() {
    for key in [0, 1, u64::from(SITE_MAX), 1 << 32, 0x0123_4567_89ab_cdef, u64::MAX] {
        for ids in [1, 2, 1000, SITE_MAX - 1, SITE_MAX] {
            let id = site::hashed_id(key, ids);
            assert!(id >= 1 && id + (ids - 1) <= SITE_MAX, "{ids} ids from {id}");
        }
        assert_eq!(site::hashed_id(key, SITE_MAX), 1);
        assert_eq!(site::hashed_id(key, u32::MAX), 1, "refused where sites are numbered");
    }
    // Both halves of the key count, and every id is reached.
    // 2^32 is 2^12 modulo 2^20 - 1.
    assert_eq!(site::hashed_id(41, 1), 42);
    assert_eq!(site::hashed_id(41 << 32, 1), 41 * (1 << 12) + 42);
    assert_eq!(site::hashed_id(41 << 32 | 40, 1), 41 * (1 << 12) + 2);
    assert_eq!(site::hashed_id(u64::from(SITE_MAX) - 1, 1), SITE_MAX);
    assert_eq!(site::hashed_id(u64::from(SITE_MAX), 1), 1);
}
