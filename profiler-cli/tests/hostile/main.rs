//! Hostile bytes: every truncation and every flipped bit of a small capture's file is refused, and every
//! flipped bit of what a device wrote is given to all that is made of captures. Nothing panics, takes
//! for ever or takes memory out of proportion.

#[path = "../../../profiler-trace/tests/support/captures.rs"]
mod captures;
#[path = "../../../profiler-trace/tests/support/check.rs"]
#[allow(dead_code, unreachable_pub, reason = "the fuzz targets use all of it")]
mod check;
mod front_ends;
#[path = "../../../profiler-trace/tests/support/memory.rs"]
#[allow(unreachable_pub, reason = "the fuzz targets use it")]
mod memory;
#[cfg(unix)]
mod program;
mod small;

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use profiler_trace::{Capture, ClockPair, HostCapture, HostRecord, decode};

use captures::{check_has_every_kind, file};
use check::MEMORY_FLOOR;
use front_ends::FrontEnds;
use memory::within;
use small::small;

/// Reading takes a buffer of 256 KiB and one part, packed and unpacked.
const READ_BYTES: usize = MEMORY_FLOOR;

/// Only one test at a time may measure memory.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A damaged file, and the error of reading it.
pub(crate) struct Damaged {
    pub(crate) what: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) error: String,
}

/// Of every truncation and every flipped bit of the small capture's file, one for each kind of error.
/// Found once for all tests, each of which must be [`alone`] when it asks.
fn damaged_files() -> &'static [Damaged] {
    static FILES: LazyLock<Vec<Damaged>> = LazyLock::new(|| damage(&file(&small())));
    &FILES
}

fn damage(bytes: &[u8]) -> Vec<Damaged> {
    let truncated = (0..bytes.len())
        .map(|length| (format!("the first {length} bytes"), bytes[..length].into()));
    let flipped = (0..8 * bytes.len()).map(|bit| {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        (format!("bit {bit} flipped"), flipped)
    });
    let mut files = BTreeMap::new();
    for (what, bytes) in truncated.chain(flipped) {
        let read = within(READ_BYTES, || Capture::read_from(bytes.as_slice()));
        let error = read.expect_err(&what).to_string();
        let kind = error.replace(|letter: char| letter.is_ascii_digit(), "");
        files.entry(kind).or_insert(Damaged { what, bytes, error });
    }
    files.into_values().collect()
}

#[test]
fn the_capture_that_is_damaged_has_every_kind() {
    let _alone = alone();
    let capture = small();
    check_has_every_kind(&capture);
    let trace = decode(&capture);
    assert!(!trace.edges.is_empty() && trace.host.spans().count() > 0, "{}", trace.diagnostics);
    assert!(!trace.resources.is_empty() && trace.record_cost.is_some());
}

#[test]
fn every_truncation_and_every_flipped_bit_is_refused() {
    let _alone = alone();
    let files = damaged_files();
    let errors: Vec<&str> = files.iter().map(|damaged| damaged.error.as_str()).collect();
    // No byte, another begin, a header, a payload, and no end mark.
    assert_eq!(errors.len(), 5, "{errors:?}");
}

/// The device's buffers have no checksum: a faulty kernel may have written anything there. The front
/// ends take turns, as each flip makes another trace.
#[test]
fn every_flipped_bit_that_a_device_wrote_through_one_front_end_in_turn() {
    let _alone = alone();
    let capture = small();
    let front_ends = FrontEnds::new(&capture);
    let mut flips = 0;
    for module in 0..capture.modules.len() {
        for (array, bytes) in
            small::arrays_mut(&mut capture.modules[module].clone()).into_iter().enumerate()
        {
            // Units that nobody wrote are the same thing many times; the first is enough.
            let first_zero = bytes.chunks(16).position(|unit| unit.iter().all(|byte| *byte == 0));
            for (unit, written) in bytes.chunks(16).enumerate() {
                let is_zero = written.iter().all(|byte| *byte == 0);
                if is_zero && Some(unit) != first_zero {
                    continue;
                }
                for bit in 0..8 * written.len() {
                    let mut flipped = capture.clone();
                    small::arrays_mut(&mut flipped.modules[module])[array][16 * unit + bit / 8] ^=
                        1 << (bit % 8);
                    let what = format!("unit {unit} of array {array}, bit {bit}");
                    front_ends.run_one(flips, &what, &flipped);
                    flips += 1;
                }
            }
        }
    }
    assert!(flips > 1000, "{flips} bits were flipped");
}

/// Spans of the host are under the metadata's checksum in a file, but their times come from two clocks, which a
/// faulty writer may have read as anything.
#[test]
fn hosts_of_any_kind_through_every_front_end() {
    let _alone = alone();
    let times = [0, 1, 64_000, 64_000_000_000, u64::MAX - 1, u64::MAX];
    let pair =
        |host_ns, device_ns, uncertainty_ns| ClockPair { host_ns, device_ns, uncertainty_ns };
    let clocks = [
        vec![pair(0, 64_000, 0.0)],
        vec![pair(0, u64::MAX, 1e300), pair(u64::MAX, 0, 0.5)],
        vec![pair(5, 64_000, 1.0), pair(5, 0, 1.0), pair(6, u64::MAX, 1.0)],
    ];
    let mut capture = small();
    let front_ends = FrontEnds::new(&capture);
    let threads = ["main", "", "</script>", "a;b\nc"];
    let spans = times.iter().flat_map(|&start_ns| {
        times.iter().enumerate().map(move |(at, &end_ns)| HostRecord {
            thread: at as u32 % 4,
            name: threads[at % 4].to_owned(),
            is_launch: at == 1,
            // Some end before they begin.
            start_ns,
            end_ns,
        })
    });
    let spans: Vec<HostRecord> = spans.collect();
    for (index, clock) in clocks.into_iter().enumerate() {
        let threads = threads.map(str::to_owned).into();
        capture.host = HostCapture { clock, threads, spans: spans.clone() };
        front_ends.run(&format!("clock {index} of the host"), &capture);
    }
}

/// The descriptor is under the metadata's checksum in a file, but a faulty writer may have put anything there.
#[test]
fn every_flipped_bit_of_the_descriptor_through_one_front_end_in_turn() {
    let _alone = alone();
    let capture = small();
    let front_ends = FrontEnds::new(&capture);
    for (module, whole) in capture.modules.iter().enumerate() {
        let bytes = whole.descriptor.to_bytes();
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            let mut capture = capture.clone();
            capture.modules[module].descriptor = profiler_wire::Descriptor::from_bytes(&flipped);
            let what = format!("bit {bit} of the descriptor of module {module}");
            front_ends.run_one(bit, &what, &capture);
        }
    }
}
