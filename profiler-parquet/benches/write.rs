//! How fast tables are written: regions a second, to a writer that only counts, so that no disk is
//! measured.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use profiler_parquet::{write_arrow, write_parquet};

fn tables(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tables");
    group.sample_size(10).warm_up_time(Duration::from_millis(500));
    for regions in [10_000, 1_000_000, 10_000_000] {
        let trace = support::many_regions(regions);
        group.throughput(Throughput::Elements(regions));
        group.bench_function(BenchmarkId::new("parquet", regions), |bencher| {
            bencher.iter(|| write_parquet(&trace, io::sink()));
        });
        group.bench_function(BenchmarkId::new("arrow", regions), |bencher| {
            bencher.iter(|| write_arrow(&trace, io::sink()));
        });
    }
    group.finish();
}

criterion_group!(benches, tables);
criterion_main!(benches);
