//! The commands, one file each.

mod check;
mod completions;
mod diff;
mod export;
mod info;
mod instrument;
mod new;
mod ptxas;
mod record;
mod report;
mod sites;
mod stats;
mod timeline;

use clap::Subcommand;

use crate::console::Console;
use crate::exit::{Error, Verdict};

/// A command with its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Record(record::Arguments),
    Info(info::Arguments),
    Stats(stats::Arguments),
    Timeline(timeline::Arguments),
    Export(export::Arguments),
    Report(report::Arguments),
    Diff(diff::Arguments),
    Check(check::Arguments),
    Sites(sites::Arguments),
    Instrument(instrument::Arguments),
    New(new::Arguments),
    Completions(completions::Arguments),
    #[command(hide = true)]
    Ptxas(ptxas::Arguments),
}

/// Runs a command.
pub(crate) fn run(command: Command, console: &Console) -> Result<Verdict, Error> {
    match command {
        Command::Record(arguments) => record::run(arguments, console),
        Command::Ptxas(arguments) => ptxas::run(&arguments),
        Command::Info(arguments) => info::run(&arguments, console),
        Command::Stats(arguments) => stats::run(&arguments, console),
        Command::Timeline(arguments) => timeline::run(&arguments, console),
        Command::Export(arguments) => export::run(&arguments, console),
        Command::Report(arguments) => report::run(&arguments, console),
        Command::Diff(arguments) => diff::run(&arguments, console),
        Command::Check(arguments) => check::run(&arguments, console),
        Command::Sites(arguments) => sites::run(&arguments, console),
        Command::Instrument(arguments) => instrument::run(&arguments, console),
        Command::New(arguments) => new::run(&arguments, console),
        Command::Completions(arguments) => completions::run(&arguments),
    }
}
