//! Writes results: to standard output, or to a file that appears when it is whole.

use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;

use crate::arguments::File;
use crate::console::Console;
use crate::exit::{Error, cannot_write, is_broken_pipe};
use crate::part::Part;
use crate::screen::Screen;
use crate::terminal;

/// Prints text to standard output, with its colours where they may be used.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut stdout = anstream::stdout().lock();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    printed.or_else(|error| closed_or("standard output", &error))
}

/// Prints text; on a terminal, lines break between words.
pub(crate) fn print_lines(text: &str) -> Result<(), Error> {
    print(&terminal::lines(text, terminal::width_of_stdout()))
}

/// Prints a JSON document to standard output.
pub(crate) fn print_json(text: &str) -> Result<(), Error> {
    let mut stdout = shown(io::stdout().is_terminal(), io::stdout(), Content::Json);
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    printed.or_else(|error| closed_or("standard output", &error))
}

/// A writer that is safe for a terminal if it goes to one, and exact otherwise.
fn shown<'w>(
    is_terminal: bool,
    writer: impl Write + Send + 'w,
    content: Content,
) -> Box<dyn Write + Send + 'w> {
    if is_terminal && content != Content::Binary {
        Box::new(Screen::new(writer, content))
    } else {
        Box::new(writer)
    }
}

/// Whether the output can be read on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// It can.
    Text,
    /// It can, and is JSON, in which any character of a text has another form.
    Json,
    /// It cannot.
    Binary,
}

/// Refuses an output that cannot be written, before any work is done: binary data on a terminal, a
/// folder, a file that would replace one of the `inputs`.
pub(crate) fn check(output: &File, content: Content, inputs: &[&File]) -> Result<(), Error> {
    match output {
        File::Standard if content == Content::Binary && io::stdout().is_terminal() => {
            Err(Error::new("this format is not for a terminal")
                .with_help("write it to a file with -o FILE, or into a pipe"))
        }
        File::Standard => Ok(()),
        File::Path(path) => Target::of(path, inputs).map(drop),
    }
}

/// The width of an output's terminal, if it goes to one.
pub(crate) fn width(output: &File) -> Option<usize> {
    match output {
        File::Standard => terminal::width_of_stdout(),
        File::Path(_) => None,
    }
}

/// Writes a result, which `write` makes, and says on the console where it is; see [`check`].
pub(crate) fn write(
    output: &File,
    content: Content,
    inputs: &[&File],
    console: &Console,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Result<(), Error> {
    match output {
        File::Standard => {
            let written = console.print(|stdout| {
                let stdout = shown(io::stdout().is_terminal(), stdout, content);
                let mut writer = BufWriter::with_capacity(1 << 16, stdout);
                let result = write(&mut writer).and_then(|()| writer.flush());
                // The rest of an output that failed is of no use.
                let _ = writer.into_parts();
                result
            });
            written.or_else(|error| closed_or("standard output", &error))
        }
        File::Path(path) => {
            let target = Target::of(path, inputs)?;
            let name = path.display();
            let bytes = ProgressBar::hidden();
            console.work(&format!("writing {name}"), || {
                target.write(|file| {
                    let is_terminal = file.is_terminal();
                    let file = shown(is_terminal, bytes.wrap_write(file), content);
                    let mut writer = BufWriter::with_capacity(1 << 16, file);
                    write(&mut writer)?;
                    writer.flush()
                })
            })?;
            console.note(&format!("wrote {name}, {}", crate::units::bytes(bytes.position())));
            Ok(())
        }
    }
}

/// A reader that stops early is no failure.
fn closed_or(name: &str, error: &io::Error) -> Result<(), Error> {
    if is_broken_pipe(error) { Ok(()) } else { Err(cannot_write(name, error)) }
}

/// A file to be written.
struct Target<'p> {
    path: &'p Path,
    /// The file itself, if `path` is a link to it.
    real: PathBuf,
    /// Whether it is, or will be, a file on a disk, and no pipe or device.
    is_plain: bool,
    /// Its folder.
    folder: PathBuf,
}

impl<'p> Target<'p> {
    fn of(path: &'p Path, inputs: &[&File]) -> Result<Self, Error> {
        if path.as_os_str().is_empty() {
            return Err(Error::new("cannot write a file: the path is empty")
                .with_help("name a file, or `-` for standard output"));
        }
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let about = fs::metadata(&real).ok();
        if about.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(Error::new(format!("cannot write {}: it is a folder", path.display()))
                .with_help("add the name of a file to it"));
        }
        let is_plain = about.is_none_or(|about| about.is_file());
        let is_input = |input: &&File| {
            input.path().and_then(|input| fs::canonicalize(input).ok()).is_some_and(|it| it == real)
        };
        if is_plain && inputs.iter().any(is_input) {
            return Err(Error::new(format!(
                "{} would overwrite the file that is read",
                path.display()
            ))
            .with_help("give -o another name"));
        }
        if is_plain && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("capture"))
        {
            return Err(Error::new(format!(
                "{} is the name of a capture, and the output is none",
                path.display()
            ))
            .with_help("give -o a name that does not end in .capture"));
        }
        let folder = match real.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        if !folder.is_dir() {
            return Err(Error::new(format!(
                "cannot write {}: there is no folder {}",
                path.display(),
                folder.display()
            ))
            .with_help("make the folder first, or name another one"));
        }
        Ok(Self { path, real, is_plain, folder })
    }

    fn write(&self, write: impl FnOnce(&mut fs::File) -> io::Result<()>) -> Result<(), Error> {
        let name = self.path.display().to_string();
        let failed = |error: io::Error| cannot_write(&name, &error);
        if !self.is_plain {
            let file = fs::OpenOptions::new().write(true).open(&self.real);
            return write(&mut file.map_err(failed)?).or_else(|error| closed_or(&name, &error));
        }
        let mut part = Part::new_in(&self.folder).map_err(failed)?;
        // A file that replaces another has the same readers.
        if let Ok(about) = fs::metadata(&self.real) {
            part.file().set_permissions(about.permissions()).map_err(failed)?;
        }
        write(part.file()).map_err(failed)?;
        part.persist(&self.real).map_err(failed)
    }
}
