//! The cost of a page and of a flame graph per region, from a trace in memory to a writer that only counts.
//!
//! ```sh
//! cargo bench -p profiler-report --bench page
//! ```

use std::io;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use profiler_report::{ReportOptions, write_flamegraph, write_html};
use profiler_test_tools::synthetic::{Content, sized};
use profiler_trace::Decoder;

fn pages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("page");
    group.sample_size(10);
    for records in [10_000, 1_000_000, 10_000_000] {
        let capture = sized(records, Content::Regions).expect("the sites are whole");
        let trace = Decoder::new(&capture).trace();
        group.throughput(Throughput::Elements(records));
        group.bench_function(BenchmarkId::new("report", records), |bencher| {
            bencher.iter(|| write_html(&trace, io::sink(), &ReportOptions::default()));
        });
        group.bench_function(BenchmarkId::new("flame graph", records), |bencher| {
            bencher.iter(|| write_flamegraph(&trace, io::sink()));
        });
    }
    group.finish();
}

criterion_group!(benches, pages);
criterion_main!(benches);
