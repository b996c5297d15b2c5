//! The timelines that the examples write, read by the real Perfetto trace processor.

use std::path::Path;
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use profiler_host::trace::{Capture, decode};
use profiler_test_tools::trace_processor::TraceProcessor;
use profiler_test_tools::{announce, are_required};

const EXAMPLES: [&str; 5] = ["softmax", "gemm", "pipeline", "persistent", "watch"];

fn check(processor: &TraceProcessor, name: &str) -> Result<(), Failed> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traces").join(name);
    let program = crate::example(name);
    let output =
        Command::new(program).args(["--backend", "emulator", "--out"]).arg(&out).output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let capture = Capture::read(out.join(name).with_extension("capture"))?;
    let recorded = decode(&capture).recorded();
    let timeline = out.join(name).with_extension("pftrace");
    let found = processor.check(&timeline)?;
    // Each region is a slice, and beside them lie the kernel's and those about the trace. With
    // `buffer = host` a region is two records.
    let regions = if name == "watch" { recorded / 2 } else { recorded };
    assert!(found.slices > regions, "{found:?} for {recorded} records");
    assert_eq!((found.processes, found.unfinished), (1, 0), "{found:?}");
    let said = processor.query(
        &timeline,
        &["SELECT name FROM slice WHERE name GLOB '*LOST*' OR name GLOB '*emulator*'"],
    )?;
    let said = said[0].texts(0);
    assert!(said.iter().any(|name| name.contains("not GPU times")), "{said:?}");
    assert!(!said.iter().any(|name| name.contains("LOST")), "{said:?}");
    assert!(name != "pipeline" || found.flows > 0, "the arrows are missing");
    Ok(())
}

/// The tests, by what is installed.
pub(crate) fn trials() -> Vec<Trial> {
    let processor = TraceProcessor::find();
    if let Err(missing) = &processor {
        announce("the tests of the examples' traces", missing);
    }
    let ignored = processor.is_err() && !are_required();
    let trial = |name: &'static str| {
        let processor = processor.clone();
        let trial = Trial::test(name, move || {
            check(&processor.map_err(|missing| missing.to_string())?, name)
        });
        trial.with_ignored_flag(ignored)
    };
    EXAMPLES.into_iter().map(trial).collect()
}
