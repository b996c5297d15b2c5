//! The check fails where it must: a check that cannot fail would prove nothing.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use profiler_test_tools::trace_processor::{CheckError, TraceProcessor};
use profiler_test_tools::{announce, are_required};

/// One packet: at 5 ns, on packet sequence 1, an event of a type (1 begins a slice, 2 ends one).
fn packet(event_type: u8) -> [u8; 12] {
    // Trace.packet { timestamp: 5, trusted_packet_sequence_id: 1,
    //                track_event { type: .., track_uuid: 0x7f } }
    [0x0a, 10, 0x40, 5, 0x50, 1, 0x5a, 4, 0x48, event_type, 0x58, 0x7f]
}

fn write(name: &str, bytes: &[u8]) -> Result<PathBuf, Failed> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes)?;
    Ok(path)
}

fn what_is_good_passes(processor: &TraceProcessor) -> Result<(), Failed> {
    let path = write("good.pftrace", &[packet(1), packet(2)].concat())?;
    let summary = processor.check(&path)?;
    assert_eq!((summary.slices, summary.tracks, summary.flows), (1, 1, 0));
    assert_eq!(summary.unfinished, 0);
    let answers = processor.query(&path, &["SELECT 'a', 2, 0.5, NULL, 1 << 60", "SELECT 3"])?;
    assert_eq!(answers[0].rows[0].len(), 5);
    let row = serde_json::to_string(&answers[0].rows[0])?;
    assert_eq!(row, r#"["a",2,0.5,null,"1152921504606846976"]"#);
    assert_eq!(answers[1].integers(0), [3]);
    Ok(())
}

fn errors_of_the_import_are_errors(processor: &TraceProcessor) -> Result<(), Failed> {
    // An arrow that begins where there is no slice.
    let json =
        br#"{"traceEvents":[{"ph":"s","id":1,"pid":1,"tid":1,"ts":1,"cat":"c","name":"n"}]}"#;
    let path = write("arrow.json", json)?;
    let Err(CheckError::Import(errors)) = processor.check(&path) else {
        return Err("an arrow without a slice passed".into());
    };
    assert_eq!(errors, [("flow_no_enclosing_slice".to_owned(), 1)]);
    Ok(())
}

fn slices_without_an_end_are_counted(processor: &TraceProcessor) -> Result<(), Failed> {
    let path = write("unfinished.pftrace", &packet(1))?;
    assert_eq!(processor.check(&path)?.unfinished, 1);
    Ok(())
}

fn what_is_no_trace_does_not_load(processor: &TraceProcessor) -> Result<(), Failed> {
    let path = write("none.pftrace", b"this is no trace")?;
    assert!(matches!(processor.check(&path), Err(CheckError::Load(_))));
    Ok(())
}

fn bad_sql_is_an_error(processor: &TraceProcessor) -> Result<(), Failed> {
    let path = write("sql.pftrace", &[packet(1), packet(2)].concat())?;
    let result = processor.query(&path, &["SELECT nothing FROM nowhere"]);
    assert!(matches!(result, Err(CheckError::Sql { .. })));
    Ok(())
}

fn a_missing_file_is_an_error(processor: &TraceProcessor) -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no such file");
    assert!(matches!(processor.check(&path), Err(CheckError::Engine(_))));
    Ok(())
}

type Test = fn(&TraceProcessor) -> Result<(), Failed>;

const TESTS: [(&str, Test); 6] = [
    ("what_is_good_passes", what_is_good_passes),
    ("errors_of_the_import_are_errors", errors_of_the_import_are_errors),
    ("slices_without_an_end_are_counted", slices_without_an_end_are_counted),
    ("what_is_no_trace_does_not_load", what_is_no_trace_does_not_load),
    ("bad_sql_is_an_error", bad_sql_is_an_error),
    ("a_missing_file_is_an_error", a_missing_file_is_an_error),
];

fn main() -> ExitCode {
    let found = TraceProcessor::find();
    let is_ignored = found.is_err() && !are_required();
    if let Err(missing) = &found {
        announce("tests with the trace processor", missing);
    }
    let tests = TESTS.map(|(name, test)| {
        let found = found.clone();
        Trial::test(name, move || test(&found?)).with_ignored_flag(is_ignored)
    });
    libtest_mimic::run(&Arguments::from_args(), tests.into()).exit_code()
}
