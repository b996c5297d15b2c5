//! `profiler`: what captures of profiled GPU kernels tell, from a terminal.
//!
//! Each command is one file of [`command`]. What they share: [`load`] reads captures, [`output`]
//! writes results, [`console`] tells the user what goes on, [`exit`] says how the program ends.
#![forbid(unsafe_code)]

mod arguments;
mod command;
mod console;
mod exit;
mod load;
mod output;
mod part;
mod selection;
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
