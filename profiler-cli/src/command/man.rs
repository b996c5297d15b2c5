//! `profiler man`: the manual's pages.

use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, ValueHint};

use crate::console::Console;
use crate::exit::{Error, Verdict};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  profiler man | man -l -
  profiler man --folder ~/.local/share/man/man1";

/// Print the manual's page, or write the pages of all commands
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Write a page for each command into this folder, which is made if need be
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let command = crate::arguments::Arguments::command();
    match &arguments.folder {
        Some(folder) => {
            let failed = |error| cannot_write(folder, &error);
            std::fs::create_dir_all(folder).map_err(failed)?;
            clap_mangen::generate_to(command, folder).map_err(failed)?;
            console.note(&format!("wrote the pages into {}", folder.display()));
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command)
                .render(&mut page)
                .map_err(|error| Error::new(format!("cannot make the page: {error}")))?;
            output::print(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(Verdict::Clean)
}

fn cannot_write(folder: &Path, error: &std::io::Error) -> Error {
    Error::new(format!("cannot write into {}: {error}", folder.display()))
}
