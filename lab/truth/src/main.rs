//! Runs the tests that the command line names and exits with 1 if a limit did not hold or a test
//! could not be run.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program talks to its user there")]

use std::process::ExitCode;

use profiler_truth::{Arguments, Command, Failure, Report, Run, RunArguments, TESTS, plot, table};

fn main() -> ExitCode {
    let outcome = match Arguments::read().command {
        Command::Run(arguments) => run(&arguments),
        Command::Plot(arguments) => plot(&arguments.out).map(|files| {
            for file in files {
                println!("wrote {}", file.display());
            }
            true
        }),
        Command::Table(arguments) => table(&arguments.out).map(|file| {
            println!("wrote {}", file.display());
            true
        }),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("truth: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all tests came to their end and all limits held.
fn run(arguments: &RunArguments) -> Result<bool, Failure> {
    let run = Run::new(arguments)?;
    println!("running on: {}", run.backend());
    if let Some(reason) = run.backend().reason() {
        println!("why not on the GPU: {reason}");
    }
    let mut holds = true;
    for test in TESTS.iter().filter(|test| arguments.wants(test.name)) {
        println!("\n{}: {}", test.name, test.purpose);
        let mut report = Report::append(&arguments.out, test.name)?;
        if let Err(failure) = test.run(&run, &mut report) {
            report.broken(format!("the test did not come to its end: {failure}"));
        }
        holds &= report.finish()?;
    }
    Ok(holds)
}
