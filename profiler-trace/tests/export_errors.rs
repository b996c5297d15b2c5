//! A writer that fails ends an export with its error, wherever it fails.

mod support;

use std::io::{self, Write};

use profiler_trace::{ExportOptions, Trace};
use profiler_wire::SiteKind;

use support::{gpu, launch, region, site, warp};

/// Takes this many bytes.
struct Limited(usize);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no more room"));
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn trace() -> Trace {
    let mut trace = gpu();
    let kernel = site(&mut trace, SiteKind::Kernel, "gemm");
    let load = site(&mut trace, SiteKind::Region, "load");
    launch(&mut trace, kernel, [1, 1, 1], 0.0, 1000.0);
    let warp = warp(&mut trace, [0, 0, 0], 0, 0.0, 1000.0);
    region(&mut trace, warp, load, 0, 100.0, 200.0);
    trace
}

#[test]
fn errors_of_the_writer_are_returned() {
    let trace = trace();
    let options = ExportOptions::default();
    let mut perfetto = Vec::new();
    trace.write_perfetto_to(&mut perfetto, &options).expect("a vector takes all");
    let mut chrome = Vec::new();
    trace.write_chrome_to(&mut chrome, &options).expect("a vector takes all");
    for room in 0..perfetto.len() {
        let error = trace.write_perfetto_to(Limited(room), &options).expect_err("too little room");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
    for room in 0..chrome.len() {
        let error = trace.write_chrome_to(Limited(room), &options).expect_err("too little room");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
    trace.write_perfetto_to(Limited(perfetto.len()), &options).expect("room for all");
    trace.write_chrome_to(Limited(chrome.len()), &options).expect("room for all");
}

#[test]
fn a_file_that_cannot_be_created_is_an_error() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    assert!(trace().write_perfetto(folder).is_err());
    assert!(trace().write_chrome(folder).is_err());
}

#[test]
fn the_same_trace_gives_the_same_bytes() {
    let write = || {
        let mut bytes = Vec::new();
        trace()
            .write_perfetto_to(&mut bytes, &ExportOptions::default())
            .expect("a vector takes all");
        bytes
    };
    assert_eq!(write(), write());
}
