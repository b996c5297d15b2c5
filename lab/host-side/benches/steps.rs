//! What decoding and writing cost per record, beside a plain sum over the same memory.
//!
//! ```sh
//! cargo bench --manifest-path lab/host-side/Cargo.toml --bench steps
//! cargo bench --manifest-path lab/host-side/Cargo.toml --bench steps -- visit    # one of them
//! ```
//!
//! All on one thread; throughput is in records, of 16 bytes each. Large captures take gigabytes:
//! those of 10^7 records and their trace about one.

use std::hint::black_box;
use std::num::NonZeroUsize;

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use profiler_test_tools::synthetic::{Content, sized};
use profiler_trace::{Capture, Decoder, Export, ExportOptions, StackGroup, Trace};

const SIZES: [u64; 3] = [10_000, 1_000_000, 10_000_000];

fn one_thread(capture: &Capture) -> Decoder<'_> {
    Decoder::new(capture).threads(NonZeroUsize::MIN)
}

/// Pairs, widens and sorts everything, and looks at nothing.
fn pair(capture: &Capture) -> usize {
    let mut count = 0;
    one_thread(capture).each_warp(|records| count += records.regions().len());
    count
}

/// The sum of the durations of all regions, in whole picoseconds: a sum of integers does not make
/// each addition wait for the last.
fn visit(capture: &Capture) -> i64 {
    let mut picoseconds = 0;
    one_thread(capture).each_warp(|records| {
        let lengths = records.regions().filter_map(|region| Some(region.end?.ns - region.start.ns));
        picoseconds += lengths.map(|ns| (ns * 1000.0) as i64).sum::<i64>();
    });
    picoseconds
}

/// The sum of all words: what reading the memory alone takes.
fn sum(capture: &Capture) -> u64 {
    let words = capture.modules.iter().flat_map(|module| module.records.as_chunks::<8>().0);
    words.fold(0, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

fn group<'c>(
    criterion: &'c mut Criterion,
    name: &str,
    records: u64,
) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(records));
    group.sample_size(10);
    group
}

fn decoding(criterion: &mut Criterion) {
    for records in SIZES {
        let capture = capture(records, Content::Regions);
        let mut group = group(criterion, "decode", records);
        let size = |step: &str| BenchmarkId::new(step, records);
        group.bench_function(size("sum of the words"), |bencher| bencher.iter(|| sum(&capture)));
        group.bench_function(size("pair"), |bencher| bencher.iter(|| pair(&capture)));
        group.bench_function(size("visit"), |bencher| bencher.iter(|| visit(&capture)));
        group.bench_function(size("trace"), |bencher| {
            bencher.iter_with_large_drop(|| one_thread(&capture).trace());
        });
        group.finish();
    }
    for (name, content) in Content::ALL.into_iter().filter(|(name, _)| *name != "regions") {
        let records = 1_000_000;
        let capture = capture(records, content);
        let mut group = group(criterion, "decode", records);
        let size = BenchmarkId::new(format!("visit {name}"), records);
        group.bench_function(size, |bencher| bencher.iter(|| visit(&capture)));
        group.finish();
    }
}

fn writing(criterion: &mut Criterion) {
    for records in SIZES {
        let trace: Trace = one_thread(&capture(records, Content::Regions)).trace();
        let mut group = group(criterion, "write", records);
        let plain = ExportOptions::default();
        group.bench_function(BenchmarkId::new("perfetto", records), |bencher| {
            bencher.iter(|| trace.write_perfetto_to(std::io::sink(), &plain));
        });
        group.bench_function(BenchmarkId::new("chrome", records), |bencher| {
            bencher.iter(|| trace.write_chrome_to(std::io::sink(), &plain));
        });
        group.bench_function(BenchmarkId::new("hatchet", records), |bencher| {
            bencher.iter(|| trace.write_hatchet_to(std::io::sink()));
        });
        group.bench_function(BenchmarkId::new("folded", records), |bencher| {
            bencher.iter(|| trace.write_folded_to(std::io::sink(), StackGroup::Kernel));
        });
        group.bench_function(BenchmarkId::new("events-csv", records), |bencher| {
            bencher.iter(|| trace.write_events_csv_to(std::io::sink()));
        });
        group.bench_function(BenchmarkId::new("events-json", records), |bencher| {
            bencher.iter(|| trace.write_events_json_to(std::io::sink()));
        });
        group.bench_function(BenchmarkId::new("statistics", records), |bencher| {
            bencher.iter(|| black_box(trace.stats()));
        });
        group.finish();
    }
    // What a slice may have beside: values, marks, tracks of numbers.
    for (name, content) in Content::ALL.into_iter().filter(|(name, _)| *name != "regions") {
        let records = 1_000_000;
        let trace: Trace = one_thread(&capture(records, content)).trace();
        let mut group = group(criterion, "write", records);
        group.bench_function(BenchmarkId::new(format!("perfetto {name}"), records), |bencher| {
            bencher.iter(|| trace.write_perfetto_to(std::io::sink(), &ExportOptions::default()));
        });
        group.finish();
    }
}

fn capture(records: u64, content: Content) -> Capture {
    sized(records, content).expect("the sites are whole")
}

criterion_group!(benches, decoding, writing);
criterion_main!(benches);
