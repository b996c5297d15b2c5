//! `profiler man`: manual pages.

use std::io;
use std::path::PathBuf;

use clap::builder::StyledStr;
use clap::{Args, Command, CommandFactory, ValueHint};
use clap_mangen::Man;
use roff::{Roff, roman};

use crate::console::Console;
use crate::exit::{self, Error, Verdict};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  profiler man | man -l -
  profiler man stats | man -l -
  profiler man --folder ~/.local/share/man/man1";

/// Print a page of the manual, or write all of them
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The command that the page is about [default: the program as a whole]
    #[arg(value_name = "COMMAND", conflicts_with = "folder")]
    command: Option<String>,
    /// Write a page for each command into this folder, which is made if needed
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let commands = commands();
    let failed = |error: io::Error| Error::new(format!("cannot make the page: {error}"));
    if let Some(folder) = &arguments.folder {
        let failed =
            |error: io::Error| exit::cannot_write(&format!("into {}", folder.display()), &error);
        std::fs::create_dir_all(folder).map_err(failed)?;
        for command in &commands {
            let name = command.get_display_name().unwrap_or_else(|| command.get_name());
            let path = folder.join(format!("{name}.1"));
            output::write_file(&path, &page(command).map_err(failed)?)?;
        }
        let count = commands.len();
        console.note(&format!("wrote {count} pages into {}", folder.display()));
        return Ok(Verdict::Clean);
    }
    let wanted = match &arguments.command {
        Some(name) => commands.iter().find(|command| command.get_name() == name),
        None => commands.first(),
    };
    let Some(command) = wanted else {
        let names = commands.iter().skip(1).map(Command::get_name);
        return Err(Error::new("there is no such command")
            .with_help(format!("it is one of {}", names.collect::<Vec<_>>().join(", "))));
    };
    output::print(&String::from_utf8_lossy(&page(command).map_err(failed)?))?;
    Ok(Verdict::Clean)
}

/// The program as a whole, then its commands.
fn commands() -> Vec<Command> {
    let mut program = crate::arguments::Arguments::command().disable_help_subcommand(true);
    program.build();
    let commands: Vec<Command> = program.get_subcommands().cloned().collect();
    std::iter::once(program).chain(commands).collect()
}

/// A page in roff. Texts after the options in help get sections of their own.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let help = command.get_after_long_help().or(command.get_after_help());
    let help = help.map(StyledStr::to_string).unwrap_or_default();
    let man = Man::new(command.clone()).source(concat!("profiler ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    for section in help.split("\n\n") {
        let (title, text) = section.split_once(":\n").unwrap_or(("Notes", section));
        let title = match title {
            // Manuals have this name for it.
            "Exit codes" => "EXIT STATUS".to_owned(),
            title => title.to_uppercase(),
        };
        let mut roff = Roff::new();
        roff.control("SH", [title.as_str()]).control("nf", []);
        roff.text([roman(text)]).control("fi", []);
        roff.to_writer(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_version_section(&mut page)?;
    }
    Ok(page)
}
