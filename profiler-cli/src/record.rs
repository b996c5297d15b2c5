//! Recording a program: its folder and environment, its run, and what it left.

mod collect;
mod folder;
mod names;
mod open;
mod program;
mod summary;

use std::ffi::OsString;
use std::path::Path;

use profiler_wire::spool::{Launches, Settings};

use crate::console::Console;
use crate::exit::{Error, Verdict};
use collect::Recording;
use folder::Folder;
use program::Ended;

pub(crate) use folder::refuse;

/// Runs a program, and writes what it recorded.
pub(crate) fn run(
    settings: &Settings,
    command: &[OsString],
    output: &Path,
    opens: bool,
    console: &Console,
) -> Result<Verdict, Error> {
    let folder = Folder::new(settings)?;
    if folder.is_some() && settings.launches != Launches::None {
        summary::check_output(output)?;
    }
    let ended = program::run(command, folder.as_ref(), console)?;
    if let (Some(folder), Ended::With(_)) = (folder, ended) {
        // The program has done its work: its status is the command's, whatever comes of the records.
        if let Err(error) = collect(settings, &folder, output, opens, console) {
            console.error(&error);
        }
        folder.leave_to_its_users(console);
    }
    Ok(ended.verdict())
}

/// Writes what a program recorded, and shows it if that was asked for.
fn collect(
    settings: &Settings,
    folder: &Folder,
    output: &Path,
    opens: bool,
    console: &Console,
) -> Result<(), Error> {
    let recordings: Vec<Recording> = folder
        .spools()?
        .into_iter()
        .filter_map(|(process, bytes)| Recording::of(process, &bytes, folder.root()))
        .collect();
    summary::missing(settings, &recordings, folder.root(), console);
    if settings.launches == Launches::None {
        summary::list(&recordings, &folder.refused(), folder.root(), console);
        return Ok(());
    }
    let paths = summary::write(&recordings, &folder.refused(), output, console)?;
    match paths.first() {
        Some(path) if opens => open::open(path, console),
        _ => Ok(()),
    }
}
