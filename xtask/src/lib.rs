//! The repository's own commands: what `cargo xtask` and `cargo lab` share.
#![deny(unsafe_code)]
#![allow(missing_docs, reason = "nobody but these two commands calls it")]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program talks to its user there"
)]

pub mod bundle;
pub mod command;
pub mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use command::Run;

/// Any error that ends a command; its text says what to do.
pub type Error = Box<dyn std::error::Error>;

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository's root")
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    root().join("target")
}

/// Cargo, run in the repository's root.
pub fn cargo() -> Run {
    Run::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a command by its name and arguments, `help` without any, and says what went wrong.
pub fn run(command: impl Fn(&str, &[String]) -> Result<(), Error>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((name, rest)) => command(name, rest),
        None => command("help", &[]),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
