//! What the real Perfetto trace processor reads from written timelines.
//!
//! Where node or the engine is missing, every test is listed as ignored, with a line that says how
//! to install it; with `PROFILER_REQUIRE_TOOLS=1` that is a failure.

#[path = "trace_processor/chrome.rs"]
mod chrome;
#[path = "trace_processor/numbers.rs"]
mod numbers;
#[path = "trace_processor/perfetto.rs"]
mod perfetto;
mod support;
#[path = "support/zoo.rs"]
mod zoo;

use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use profiler_test_tools::trace_processor::{Rows, TraceProcessor};
use profiler_test_tools::{announce, are_required};
use profiler_trace::{DiagnosticKind, Export, ExportOptions, Trace};

/// The trace processor, and a folder for the traces of the test.
struct Context {
    processor: TraceProcessor,
    folder: PathBuf,
}

/// A format that a timeline is written in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Perfetto,
    Chrome,
}

/// A trace with two diagnostics, and what is said of them.
fn with_diagnostics() -> (Trace, [&'static str; 2]) {
    let (mut trace, _) = zoo::zoo();
    trace.diagnostics.add(support::said(DiagnosticKind::WaitWithoutSignal, 3, 0));
    let sentences = [
        "7 records did not fit the buffer of their warps. Build the profiler with \
         .records_per_warp(512) or more; `profiler record` keeps 1024, and with --keep last the last ones.",
        "3 waits have no earlier signal of the same name and key; no arrow leads to them. Check the keys, or \
         build the profiler with more records per warp.",
    ];
    (trace, sentences)
}

type Test = fn(&Context) -> Result<(), Failed>;

impl Context {
    /// Writes the trace and asks about it.
    fn ask(
        &self,
        trace: &Trace,
        options: &ExportOptions,
        format: Format,
        statements: &[&str],
    ) -> Result<Vec<Rows>, Failed> {
        let (path, bytes) = self.write(trace, options, format)?;
        let answers = self.processor.query(&path, statements);
        std::fs::remove_file(&path)?;
        assert!(!bytes.is_empty());
        Ok(answers?)
    }

    fn write(
        &self,
        trace: &Trace,
        options: &ExportOptions,
        format: Format,
    ) -> Result<(PathBuf, Vec<u8>), Failed> {
        let mut bytes = Vec::new();
        let extension = match format {
            Format::Perfetto => {
                trace.write_perfetto_to(&mut bytes, options)?;
                "pftrace"
            }
            Format::Chrome => {
                trace.write_chrome_to(&mut bytes, options)?;
                "json"
            }
        };
        // Tests run at once: each has a name of its own.
        let thread = std::thread::current();
        let name = format!("{:?}-{}.{extension}", thread.id(), std::process::id());
        let path = self.folder.join(name);
        std::fs::write(&path, &bytes)?;
        Ok((path, bytes))
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let found = TraceProcessor::find();
    if let Err(missing) = &found {
        announce("tests with the trace processor", missing);
    }
    let small = perfetto::TESTS.iter().chain(chrome::TESTS).chain(numbers::TESTS);
    let small = small.map(|test| (test, false));
    let large = numbers::LARGE.iter().map(|test| (test, true));
    let tests = small.chain(large).map(|(&(name, test), is_large)| {
        let found = found.clone();
        let is_ignored = is_large || (found.is_err() && !are_required());
        Trial::test(name, move || {
            let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
            test(&Context { processor: found?, folder })
        })
        .with_ignored_flag(is_ignored)
    });
    libtest_mimic::run(&arguments, tests.collect()).exit_code()
}
