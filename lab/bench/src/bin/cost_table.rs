//! Makes the tables of a file of results, and the picture of a `record-cost.jsonl`; `cargo lab
//! cost-table` runs it.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program talks to its user there"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use profiler_bench::results::Results;
use profiler_bench::{plot, table};

/// Writes the table of a measurement between the marks of Markdown files, and draws the picture of
/// `record-cost.jsonl`.
#[derive(Debug, Parser)]
struct Arguments {
    /// What `record-cost` wrote
    results: PathBuf,

    /// Folder of README.md and docs, with the table's marks in them
    #[arg(long, default_value = ".", value_name = "DIR")]
    root: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let results = Results::read(&arguments.results).map_err(|error| error.to_string())?;
    // All are made before any is written, so that none is changed where one has no marks.
    let mut files = Vec::new();
    for text in table::texts(&results) {
        let path = arguments.root.join(text);
        let old = std::fs::read_to_string(&path).map_err(at(&path))?;
        let new = table::insert(&old, &results).map_err(|error| format!("{text}: {error}"))?;
        files.push((path, new));
    }
    if let Some(picture) = table::picture(&results) {
        files.push((arguments.root.join(picture), plot::svg(&results)?));
    }
    for (path, text) in files {
        std::fs::write(&path, text).map_err(at(&path))?;
        println!("{}", path.display());
    }
    Ok(())
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}
