//! Exit codes, and errors with help.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::process::ExitCode;

/// The command could not do its work. clap ends with the same code if the arguments are wrong.
pub(crate) const TROUBLE: u8 = 2;

/// The exit codes in words, as `--help` and the manual show them.
pub(crate) const HELP: &str = "\
Exit codes:
  0      done; `check` and `diff` found nothing that they were told to fail on
  1      `check` found what --deny names, or `diff` a change beyond --fail-above
  2      not done: the arguments are wrong, a file cannot be read or written
  3      `diff --fail-above` cannot tell: growth that may be noise, too few
         data, losses, other devices, regions that are gone or did not end,
         kernels that failed or did not end
  128+N  ended by signal N: 129 by a closed terminal, 130 by Ctrl-C,
         143 by `kill`
A signal leaves no half-written file behind. A reader that closes the pipe
early, as `head` does, is no error.";

/// The result of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing was found, if something was looked for.
    Clean,
    /// What it was told to look for was found.
    Found,
    /// The data do not tell.
    Unknown,
    /// The exit status of a program that was run.
    Program(u8),
}

impl Verdict {
    /// [`Verdict::Found`] if this holds.
    pub(crate) fn found_if(found: bool) -> Self {
        if found { Self::Found } else { Self::Clean }
    }

    /// The exit code.
    pub(crate) fn code(self) -> ExitCode {
        match self {
            Self::Clean => ExitCode::SUCCESS,
            Self::Found => ExitCode::from(1),
            Self::Unknown => ExitCode::from(3),
            Self::Program(status) => status.into(),
        }
    }
}

/// Why a command could not do its work, with help.
#[derive(Debug)]
pub(crate) struct Error {
    what: String,
    help: Option<String>,
}

impl Error {
    /// An error without help.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), help: None }
    }

    /// Adds help.
    pub(crate) fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// The remedy, unless the text itself names it.
    pub(crate) fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl StdError for Error {}

/// An error and its causes, in one line. A text that is already there is not repeated.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text += ": ";
            text += &more;
        }
        cause = error.source();
    }
    text
}

/// The error of the system among the causes of an error.
fn of_system<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e io::Error> {
    let mut at = Some(error);
    while let Some(error) = at {
        at = match error.downcast_ref::<io::Error>() {
            // Its source is that of the error in it, which would be passed over.
            Some(error) => match error.get_ref() {
                Some(inner) => Some(inner as &(dyn StdError + 'static)),
                None => return Some(error),
            },
            None => error.source(),
        };
    }
    None
}

/// Whether the reader of a pipe has closed it.
pub(crate) fn is_broken_pipe(error: &(dyn StdError + 'static)) -> bool {
    of_system(error).is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The error that a file cannot be read, with help.
pub(crate) fn cannot_read(name: &str, error: &io::Error) -> Error {
    let said = Error::new(format!("cannot read {name}: {}", chain(error)));
    let Some(error) = of_system(error) else { return said };
    said.with_help(match error.kind() {
        io::ErrorKind::NotFound => "check the path; there is no such file",
        io::ErrorKind::PermissionDenied => {
            "ask its owner for the right to read it, or for a copy; `ls -l` shows the owner"
        }
        io::ErrorKind::IsADirectory => "it is a folder: name a file in it",
        _ => "check its disk or connection, or read a copy of it",
    })
}

/// The error that a result cannot be written. An error of the system gets help; others say in their text
/// what to do.
pub(crate) fn cannot_write(name: &str, error: &(dyn StdError + 'static)) -> Error {
    let said = Error::new(format!("cannot write {name}: {}", chain(error)));
    let Some(error) = of_system(error) else { return said };
    said.with_help(match error.kind() {
        io::ErrorKind::NotFound => "no file can be made there; name one in another folder",
        io::ErrorKind::PermissionDenied => {
            "name a file in a folder of your own, or ask the owner of this one for the right to write; \
             `ls -ld` shows the owner"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there (`df -h` shows how much there is), or write to another disk"
        }
        io::ErrorKind::IsADirectory => "add the name of a file to it",
        _ => "check its disk or connection, or write elsewhere",
    })
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{HELP, cannot_read, cannot_write, chain, is_broken_pipe};

    /// A terminal breaks longer ones in the middle, where the next stands at the left.
    #[test]
    fn no_line_is_longer_than_a_terminal() {
        for line in HELP.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn a_closed_pipe_is_seen_after_other_errors() {
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        let wrapped = io::Error::other(io::Error::other(closed));
        assert!(is_broken_pipe(&wrapped));
        assert!(!is_broken_pipe(&io::Error::other(io::Error::from(io::ErrorKind::NotFound))));
    }

    #[test]
    fn what_the_system_refuses_has_help() {
        let cases = [
            (io::ErrorKind::PermissionDenied, "right to read", "right to write"),
            (io::ErrorKind::NotFound, "check the path", "another folder"),
            (io::ErrorKind::StorageFull, "read a copy", "make room"),
            (io::ErrorKind::IsADirectory, "a file in it", "name of a file"),
            (io::ErrorKind::TimedOut, "read a copy", "write elsewhere"),
        ];
        for (kind, to_read, to_write) in cases {
            let error = cannot_read("a", &io::Error::from(kind));
            assert!(error.help().is_some_and(|help| help.contains(to_read)), "{error:?}");
            // Also where a writer of a format has put it into an error of its own.
            let wrapped = io::Error::other(io::Error::other(io::Error::from(kind)));
            let error = cannot_write("a", &wrapped);
            assert!(error.help().is_some_and(|help| help.contains(to_write)), "{error:?}");
        }
    }

    #[test]
    fn what_is_not_the_systems_says_itself_what_to_do() {
        let error = cannot_write("a", &io::Error::other("nothing to draw; record a launch"));
        assert_eq!(error.to_string(), "cannot write a: nothing to draw; record a launch");
        assert_eq!(error.help(), None);
    }

    #[test]
    fn a_cause_is_said_once() {
        let error = io::Error::other(io::Error::other("the disk is full"));
        assert_eq!(chain(&error), "the disk is full");
    }
}
