//! Runs random programs of regions on the GPU and on the emulator; exits with 1 where what they record
//! is not what it should be, or nothing could be run.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program talks to its user there")]

use std::process::ExitCode;

use profiler_agreement::{Arguments, run};

fn main() -> ExitCode {
    match run(&Arguments::read()) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(disagreement)) => {
            println!("{disagreement}");
            ExitCode::FAILURE
        }
        Err(failure) => {
            eprintln!("agreement: {failure}");
            ExitCode::FAILURE
        }
    }
}
