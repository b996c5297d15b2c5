//! Hostile bytes: every truncation and every flipped bit of a small capture's file is refused, and every
//! flipped bit of what a device wrote is given to all that is made of captures. Nothing panics, takes
//! for ever or takes memory out of proportion.

#[path = "../../../profiler-trace/tests/support/captures.rs"]
mod captures;
#[path = "../../../profiler-trace/tests/support/check.rs"]
#[allow(dead_code, unreachable_pub, reason = "the fuzz targets use all of it")]
mod check;
#[path = "../../../profiler-trace/tests/support/memory.rs"]
#[allow(unreachable_pub, reason = "the fuzz targets use it")]
mod memory;
#[cfg(unix)]
mod program;

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

mod small {
    //! The smallest capture that has something of everything.

    use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
    use profiler_trace::{Capture, KeptClock, ModuleCapture, RecordCost, ResourceEffect, Value};
    use profiler_wire::SiteKind;

    use crate::captures::host;

    /// One launch of one block with two warps, by whose records and those of the first one's lane 7 all kinds
    /// are there; the second waits for the signal of the first. Two threads of the host launch it, and what
    /// recording costs and does to the kernel is known, and the session has kept the clock.
    pub(crate) fn small() -> Capture {
        let mut module = SyntheticModule::new(Keep::First, 16);
        module.lane_capacity = Some(4);
        let kernel = module.site(SiteKind::Kernel, "kernel");
        let region = module.site_with_unit(SiteKind::Region, "region", "bytes");
        let mark = module.site(SiteKind::Mark, "mark");
        let signal = module.site(SiteKind::Signal, "s");
        let wait = module.site(SiteKind::Wait, "s");
        let names = module.names("TASK", &["copy", "compute"]);
        // 2 ticks a nanosecond.
        let ns = |ticks: u64| 64_000 + (ticks - 1_000) / 2;
        for index in 0..2 {
            let entry = 1_000 + 10 * u64::from(index);
            let mut warp = SyntheticWarp::new(kernel, entry, ns(entry));
            warp.header.block_dim = [64, 1, 1];
            warp.header.grid_dim = [1, 1, 1];
            warp.header.warp = index;
            if index == 0 {
                warp.begin(region, Some(2), entry + 10);
                warp.range(region, None, entry + 20, entry + 25);
                warp.attach(region, entry + 25, Value::Float(1.5));
                warp.range(names + 1, Some(3), entry + 30, entry + 90);
                warp.mark(mark, Some(4), entry + 95);
                warp.range_unsigned(region, entry + 96, entry + 99, 7);
                warp.anchor(entry + 100, ns(entry + 100));
                warp.watched(region, Some(2), entry + 12, entry + 102);
                warp.begin(region, None, entry + 103).end(region, None, entry + 104);
                warp.open(region, None, entry + 95, entry + 105);
                warp.value(signal, entry + 110, Value::Unsigned(1));
                warp.begin(names, None, entry + 115).mark(mark, None, entry + 117).lane(7);
                warp.range_signed(region, entry + 40, entry + 60, -7);
            } else {
                warp.range(region, None, entry + 20, entry + 110);
                warp.value(wait, entry + 150, Value::Signed(1));
            }
            warp.leave(2_000, ns(2_000));
            module.warps.push(warp);
        }
        let readings = [900, 1_400, 2_100].map(|ticks| (ticks, 64_000 + ticks / 2 - 500));
        let clock = KeptClock { sm: 0, readings: readings.to_vec(), ended: true };
        let clocks = ModuleCapture::of_clocks(&[clock]).expect("the site is whole");
        let modules = vec![module.capture().expect("the sites are whole"), clocks];
        Capture {
            modules,
            host: host(),
            record_cost: Some(RecordCost::uniform(7.1, 0.1 + 0.2)),
            resources: vec![ResourceEffect {
                kernel: "gemm".to_owned(),
                ..ResourceEffect::default()
            }],
            ..module.into_capture().expect("the sites are whole")
        }
    }

    /// The arrays, to be altered.
    pub(crate) fn arrays_mut(module: &mut ModuleCapture) -> [&mut Vec<u8>; 4] {
        [&mut module.headers, &mut module.records, &mut module.lanes, &mut module.lane_counts]
    }
}

mod front_ends {
    //! All that is made of captures, by the libraries that the command line calls.

    use std::panic::{AssertUnwindSafe, catch_unwind};

    use profiler_parquet::{write_arrow, write_parquet};
    use profiler_report::{ReportOptions, write_flamegraph, write_html};
    use profiler_trace::diff::{DiffOptions, Threshold, diff};
    use profiler_trace::{Capture, Trace, decode};

    use crate::check;
    use crate::memory::within;

    /// Arguments of the checks in `profiler-trace/tests/support/check.rs`: timelines by block, by SM, without counters; stacks;
    /// tables; statistics by each of the six groupings; launches; ways of decoding; costs and merges;
    /// diagnostics.
    const CHECKS: [u8; 14] = [0, 8, 16, 1, 2, 3, 11, 19, 27, 35, 43, 4, 5, 6];

    /// Those, pages, tables, and differences.
    const COUNT: usize = CHECKS.len() + 3;

    /// A page holds its scripts and styles, compressed regions and tables, and what makes them.
    const PAGE_BYTES: usize = 16 << 20;

    pub(crate) struct FrontEnds {
        whole: Trace,
        options: DiffOptions,
    }

    impl FrontEnds {
        /// `whole` is what others are compared with.
        pub(crate) fn new(whole: &Capture) -> Self {
            let options = DiffOptions::default();
            Self { whole: decode(whole), options }
        }

        /// Gives a capture to all of them.
        pub(crate) fn run(&self, what: &str, capture: &Capture) {
            (0..COUNT).for_each(|index| self.run_one(index, what, capture));
        }

        /// Gives a capture to one of them, all of which have their turns as `index` grows.
        pub(crate) fn run_one(&self, index: usize, what: &str, capture: &Capture) {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                if let Some(choice) = CHECKS.get(index % COUNT) {
                    check::capture(capture, *choice);
                    return;
                }
                let trace = decode(capture);
                let memory = PAGE_BYTES + check::MEMORY_FACTOR * check::size(capture);
                within(memory, || match index % COUNT - CHECKS.len() {
                    0 => pages(&trace),
                    1 => tables(&trace),
                    _ => self.differences(&trace),
                });
            }));
            assert!(outcome.is_ok(), "{what}: see the panic above");
        }

        fn differences(&self, trace: &Trace) {
            let (whole, other) = ([self.whole.clone()], [trace.clone()]);
            for (a, b) in [(&whole, &other), (&other, &whole)] {
                let diff = diff(a, b, &self.options).expect("the options are in order");
                assert!(!diff.to_string().is_empty());
                assert!(diff.to_json().is_object());
                assert!(!diff.check(&Threshold::default()).to_string().is_empty());
            }
        }
    }

    fn html(trace: &Trace) -> String {
        let mut html = Vec::new();
        let options = ReportOptions::default();
        write_html(trace, &mut html, &options).expect("a vector takes all");
        String::from_utf8(html).expect("UTF-8")
    }

    fn pages(trace: &Trace) {
        let html = html(trace);
        assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
        let mut svg = Vec::new();
        match write_flamegraph(trace, &mut svg) {
            Ok(()) => assert!(svg.trim_ascii_end().ends_with(b"</svg>")),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}"),
        }
    }

    fn tables(trace: &Trace) {
        let (mut parquet, mut arrow) = (Vec::new(), Vec::new());
        write_parquet(trace, &mut parquet).expect("what was decoded is consistent");
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
        write_arrow(trace, &mut arrow).expect("what was decoded is consistent");
        assert!(arrow.starts_with(b"ARROW1") && arrow.ends_with(b"ARROW1"));
    }
}
