//! Random programs on the emulator: every strategy and clock, capacity and selection, with times to
//! the tick.
//!
//! `PROPTEST_CASES` says how many; the default takes some seconds.

use profiler_agreement::{Times, cases, check, emulator};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Cases of a plain `cargo test`.
const CASES: u32 = 120;
/// Cases that once failed.
const REGRESSIONS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/emulator.proptest-regressions");

fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let is_given = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig {
        cases: if is_given { config.cases } else { CASES },
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        ..config
    }
}

proptest! {
    #![proptest_config(config())]

    /// What is recorded is what the reference says, and what is not is counted.
    #[test]
    fn records_are_those_of_the_reference(case in cases()) {
        let outcome = case.run(&emulator(&case)).expect("the launches");
        for times in [Times::Virtual, Times::Hardware] {
            if let Err(difference) = check(&case, &outcome, times) {
                return Err(TestCaseError::fail(format!("{times:?}: {difference}")));
            }
        }
    }
}
