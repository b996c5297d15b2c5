//! `profiler`: records programs, and reads, shows and converts captures of GPU kernels, on a terminal.
//!
//! Each command is one file of [`command`]. They share [`load`], which reads captures, [`output`], which
//! writes results, [`console`], which talks to the user, and [`exit`], which has the exit codes.
#![forbid(unsafe_code)]

mod arguments;
mod command;
mod console;
mod exit;
mod kernels;
mod load;
mod output;
mod part;
mod record;
mod screen;
mod selection;
mod terminal;
mod units;
mod window;

use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;
use console::Console;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.color.apply();
    let console = Console::new(arguments.quiet);
    match command::run(arguments.command, &console) {
        Ok(verdict) => verdict.code(),
        Err(error) => {
            console.error(&error);
            exit::TROUBLE.into()
        }
    }
}
