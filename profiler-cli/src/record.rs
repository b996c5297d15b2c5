//! Recording a program: its folder and environment, its run, and what it left.

mod collect;
mod folder;
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

pub(crate) use folder::{SETTINGS, refuse};

/// Runs a program, and writes what it recorded.
pub(crate) fn run(
    settings: &Settings,
    command: &[OsString],
    output: &Path,
    opens: bool,
    console: &Console,
) -> Result<Verdict, Error> {
    summary::check_output(output)?;
    let folder = Folder::new(settings)?;
    let ended = program::run(command, folder.as_ref(), console)?;
    if let Some(folder) = folder {
        let modules = folder.modules();
        let spools = folder.spools()?.into_iter();
        let recordings: Vec<Recording> = spools
            .filter_map(|(process, bytes)| Recording::of(process, &bytes, &modules))
            .collect();
        if settings.launches == Launches::None {
            summary::list(&recordings, &folder.refused(), &modules, console);
        } else {
            let paths = summary::write(&recordings, &folder.refused(), output, console)?;
            if let (true, Some(path)) = (opens, paths.first()) {
                open::open(path, console)?;
            }
        }
    }
    Ok(ended.verdict())
}
