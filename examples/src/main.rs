//! `cargo run --release` without a name runs the quickstart.

use std::process::ExitCode;

#[path = "../quickstart/main.rs"]
mod quickstart;

fn main() -> ExitCode {
    quickstart::main()
}
