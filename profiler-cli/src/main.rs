//! `profiler`: what captures of profiled GPU kernels tell, from a terminal.
//!
//! Each command is one file of [`command`]. What they share: [`load`] reads captures, [`output`]
//! writes results, [`console`] tells the user what goes on, [`exit`] says how the program ends.
#![deny(unsafe_code)]

mod arguments;
mod closed;
mod command;
mod console;
mod exit;
mod load;
mod output;
mod part;
mod screen;
mod selection;
mod terminal;
mod units;
mod window;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Color};
use console::Console;

fn main() -> ExitCode {
    // Help and errors about arguments are printed while these are parsed, with colour or without.
    Color::asked_for(std::env::args_os()).apply();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(words) => return told(&words),
    };
    let console = Console::new(arguments.quiet);
    match command::run(arguments.command, &console) {
        Ok(verdict) => verdict.code(),
        Err(error) => {
            console.error(&error);
            exit::TROUBLE.into()
        }
    }
}

/// Prints help, the version, or what is wrong with the arguments. Help that cannot be written is a failure.
fn told(words: &clap::Error) -> ExitCode {
    if !words.use_stderr()
        && let Err(error) = output::check_stdout()
    {
        Console::new(false).error(&error);
        return exit::TROUBLE.into();
    }
    match words.print() {
        Err(error) if !words.use_stderr() && !exit::is_broken_pipe(&error) => {
            Console::new(false).error(&exit::cannot_write("standard output", &error));
            exit::TROUBLE.into()
        }
        _ => ExitCode::from(u8::try_from(words.exit_code()).unwrap_or(exit::TROUBLE)),
    }
}
