//! What real viewers and readers make of written profiles and tables.
//!
//! A test whose tool the machine lacks is listed as ignored, with a line that says how to install
//! it; with `PROFILER_REQUIRE_TOOLS=1` it fails. `cargo xtask tools` installs them.

#[path = "viewers/catapult.rs"]
mod catapult;
#[path = "viewers/proton.rs"]
mod proton;
mod support;
#[path = "viewers/tables.rs"]
mod tables;
#[path = "viewers/tools.rs"]
mod tools;
#[path = "support/zoo.rs"]
mod zoo;

use std::collections::BTreeSet;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use profiler_test_tools::{Tool, announce, are_required};

/// What a test needs, and what it does with it.
#[derive(Clone, Copy)]
struct Test {
    name: &'static str,
    needs: &'static [Tool],
    run: fn() -> Result<(), Failed>,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut reasons = BTreeSet::new();
    let tests = [proton::TESTS, catapult::TESTS, tables::TESTS].concat();
    let trials = tests.into_iter().map(|test| {
        let missing = test.needs.iter().find_map(|tool| tool.find().err());
        let is_ignored = missing.is_some() && !are_required();
        if let Some(missing) = &missing {
            reasons.insert(missing.clone());
        }
        Trial::test(test.name, move || match missing {
            Some(missing) => Err(missing.into()),
            None => (test.run)(),
        })
        .with_ignored_flag(is_ignored)
    });
    let trials: Vec<Trial> = trials.collect();
    for reason in reasons {
        announce("tests", &reason);
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
