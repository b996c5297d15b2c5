//! A writer that fails ends an export with its error, wherever it fails.

use crate::support::{lone_warp, region, site};

use std::io::{self, Write};
use std::path::Path;

use profiler_trace::{Export, ExportOptions, StackGroup, Trace};
use profiler_wire::SiteKind;

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
    let (mut trace, warp) = lone_warp("gemm", 1000.0);
    let load = site(&mut trace, SiteKind::Region, "load");
    region(&mut trace, warp, load, 0, 100.0, 200.0);
    trace
}

type Way = fn(&Trace, &mut dyn Write) -> io::Result<()>;

/// Every way to write a trace.
const EXPORTS: [Way; 8] = [
    |trace, writer| trace.write_perfetto_to(writer, &ExportOptions::default()),
    |trace, writer| trace.write_chrome_to(writer, &ExportOptions::default()),
    |trace, writer| trace.write_hatchet_to(writer),
    |trace, writer| trace.write_folded_to(writer, StackGroup::Warp),
    |trace, writer| trace.write_events_csv_to(writer),
    |trace, writer| trace.write_events_json_to(writer),
    |trace, writer| trace.stats().write_csv_to(writer),
    |trace, writer| trace.stats().write_json_to(writer),
];

#[test]
fn errors_of_the_writer_are_returned() {
    let trace = trace();
    for (index, export) in EXPORTS.into_iter().enumerate() {
        let mut bytes = Vec::new();
        export(&trace, &mut bytes).expect("a vector takes all");
        for buffer in 0..bytes.len() {
            let error = export(&trace, &mut Limited(buffer)).expect_err("too little room");
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "export {index}");
        }
        export(&trace, &mut Limited(bytes.len())).expect("room for all");
    }
}

#[test]
fn a_file_that_cannot_be_created_is_an_error() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let missing = folder.join("none/a");
    let parts = [
        (folder, "it is a folder; add the name of a file to it".to_owned()),
        (
            missing.as_path(),
            format!(
                "there is no folder {}/none; make the folder first, or name another one",
                folder.display()
            ),
        ),
    ];
    for (path, why) in parts {
        refused(path, &format!("cannot write {}: {why}", path.display()));
    }
    refused(Path::new(""), "cannot write: the path is empty; name a file");

    fn refused(path: &Path, expected: &str) {
        let errors = [
            trace().write_perfetto(path),
            trace().write_chrome(path),
            profiler_trace::Capture::default().write(path),
        ];
        for error in errors.map(|written| written.expect_err("no file can be there")) {
            // A `main` that returns it prints the latter.
            assert_eq!([format!("{error}"), format!("{error:?}")], [expected; 2]);
            let kind = error.source.kind();
            let as_io = io::Error::from(error);
            assert_eq!((as_io.kind(), as_io.to_string()), (kind, expected.to_owned()));
        }
    }
}
