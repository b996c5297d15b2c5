//! What DuckDB reads from Parquet files and pyarrow from Arrow files, against the trace itself and
//! its own statistics.
//!
//! Where Python or its packages are missing, every test is listed as ignored, with a line that says
//! how to install them; with `PROFILER_REQUIRE_TOOLS=1` that is a failure.

#[path = "tables/queries.rs"]
mod queries;
#[path = "tables/reader.rs"]
mod reader;
#[path = "tables/rows.rs"]
mod rows;
mod support;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use profiler_test_tools::{announce, are_required};

use reader::Reader;

type Test = fn(&Reader) -> Result<(), Failed>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let found = Reader::find();
    if let Err(missing) = &found {
        announce("tests with DuckDB and pyarrow", missing);
    }
    let is_ignored = found.is_err() && !are_required();
    let tests = rows::TESTS.iter().chain(queries::TESTS).map(|&(name, test)| {
        let found = found.clone();
        Trial::test(name, move || test(&found?)).with_ignored_flag(is_ignored)
    });
    libtest_mimic::run(&arguments, tests.collect()).exit_code()
}
