//! The timelines that the examples write, read by the real Perfetto trace processor: whole, and
//! with buffers too small for their records.

use std::path::Path;
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use profiler_test_tools::trace_processor::TraceProcessor;
use profiler_test_tools::{announce, are_required};

const EXAMPLES: [&str; 5] = ["softmax", "gemm", "pipeline", "persistent", "watch"];

fn check(processor: &TraceProcessor, name: &str, more: &[&str]) -> Result<(), Failed> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traces").join(name).join(more.concat());
    let program = crate::example(name);
    let output = Command::new(program)
        .args(["--backend", "emulator", "--out"])
        .arg(&out)
        .args(more)
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let summary = printed.lines().last().and_then(|line| line.strip_prefix("summary: "));
    let summary: serde_json::Value = serde_json::from_str(summary.ok_or("no summary")?)?;
    let recorded = summary["recorded"].as_u64().ok_or("no count of records")?;
    let lost = summary["lost"].as_u64().ok_or("no count of losses")?;
    assert_eq!(lost > 0, !more.is_empty(), "{summary}");
    for extension in ["pftrace", "json"] {
        let path = out.join(name).with_extension(extension);
        let found = processor.check(&path)?;
        // Each region is a slice, and beside them lie the kernel's and those about the trace. With
        // `buffer = host` a region is two records.
        let regions = if name == "watch" { recorded / 2 } else { recorded };
        assert!(found.slices > regions, "{extension}: {found:?} for {recorded} records");
        assert_eq!((found.processes, found.unfinished), (1, 0), "{extension}: {found:?}");
        let said = processor.query(
            &path,
            &["SELECT name FROM slice WHERE name GLOB '*LOST*' OR name GLOB '*emulator*'"],
        )?;
        let said = said[0].texts(0);
        assert!(said.iter().any(|name| name.contains("not GPU times")), "{extension}: {said:?}");
        assert_eq!(
            said.iter().any(|name| name.contains("LOST")),
            lost > 0,
            "{extension}: {said:?}"
        );
        if name == "pipeline" && lost == 0 {
            assert!(found.flows > 0, "{extension}: the arrows are missing");
        }
    }
    Ok(())
}

/// The tests, by what is installed.
pub(crate) fn trials() -> Vec<Trial> {
    let processor = TraceProcessor::find();
    if let Err(missing) = &processor {
        announce("the tests of the examples' traces", missing);
    }
    let ignored = processor.is_err() && !are_required();
    let mut trials = Vec::new();
    for name in EXAMPLES {
        for (suffix, more) in [("", &[][..]), ("_with_losses", &["--squeeze", "10"][..])] {
            let processor = processor.clone();
            let trial = Trial::test(format!("{name}{suffix}"), move || {
                check(&processor.map_err(|missing| missing.to_string())?, name, more)
            });
            trials.push(trial.with_ignored_flag(ignored));
        }
    }
    trials
}
