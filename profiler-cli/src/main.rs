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
mod screen;
mod selection;
mod units;
mod window;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Color};
use console::Console;

fn main() -> ExitCode {
    // Help and errors about arguments are printed while these are parsed, with colour or without.
    Color::asked_for(std::env::args_os()).apply();
    let arguments = Arguments::parse();
    let console = Console::new(arguments.quiet);
    match command::run(arguments.command, &console) {
        Ok(verdict) => verdict.code(),
        Err(error) => {
            console.error(&error);
            exit::TROUBLE.into()
        }
    }
}
