//! How the program ends: its exit codes, and errors with their cure.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::process::ExitCode;

/// The command did what it was asked for, and where it checked something, found nothing.
pub(crate) const CLEAN: u8 = 0;
/// The command did what it was asked for, and found what it was told to look for.
pub(crate) const FOUND: u8 = 1;
/// The command could not do what it was asked for. clap ends with the same code where it does not
/// understand the arguments.
pub(crate) const TROUBLE: u8 = 2;
/// The command did what it was asked for, and the data do not tell.
pub(crate) const UNKNOWN: u8 = 3;

/// The exit codes in words, as `--help` and the manual show them.
pub(crate) const HELP: &str = "\
Exit codes:
  0      done; `check` and `diff` found nothing that they were told to fail on
  1      `check` found what --deny names, or `diff` a change beyond --fail-above
  2      not done: the arguments are wrong, a file cannot be read or written
  3      `diff --fail-above` cannot tell: too few data, losses, other devices, regions that are gone
  128+N  ended by signal N, as shells tell it: 130 by Ctrl-C, 143 by `kill`
A signal leaves no half-written file behind. A reader that closes the pipe early, as `head` does, is no error.";

/// What a command that did its work says about what it saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing was found, or nothing was looked for.
    Clean,
    /// What was looked for was found.
    Found,
    /// The data do not tell.
    Unknown,
}

impl Verdict {
    /// [`Verdict::Found`] if this holds.
    pub(crate) fn found_if(found: bool) -> Self {
        if found { Self::Found } else { Self::Clean }
    }

    /// The exit code.
    pub(crate) fn code(self) -> ExitCode {
        match self {
            Self::Clean => CLEAN.into(),
            Self::Found => FOUND.into(),
            Self::Unknown => UNKNOWN.into(),
        }
    }
}

/// Why a command could not do its work, and what to do about it.
#[derive(Debug)]
pub(crate) struct Error {
    what: String,
    cure: Option<String>,
}

impl Error {
    /// An error whose text says what to do.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), cure: None }
    }

    /// Adds what to do.
    pub(crate) fn with_cure(self, cure: impl Into<String>) -> Self {
        Self { cure: Some(cure.into()), ..self }
    }

    /// What to do, where the text itself does not say it.
    pub(crate) fn cure(&self) -> Option<&str> {
        self.cure.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl StdError for Error {}

/// An error and all that caused it, in one line. A cause whose text the error already holds is not
/// repeated.
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

/// Whether the reader of a pipe has closed it.
pub(crate) fn is_broken_pipe(error: &(dyn StdError + 'static)) -> bool {
    let mut at = Some(error);
    while let Some(error) = at {
        at = match error.downcast_ref::<io::Error>() {
            Some(error) if error.kind() == io::ErrorKind::BrokenPipe => return true,
            // Its source is that of the error in it, which would be passed over.
            Some(error) => error.get_ref().map(|inner| inner as &(dyn StdError + 'static)),
            None => error.source(),
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{chain, is_broken_pipe};

    #[test]
    fn a_closed_pipe_is_seen_behind_other_errors() {
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        let wrapped = io::Error::other(io::Error::other(closed));
        assert!(is_broken_pipe(&wrapped));
        assert!(!is_broken_pipe(&io::Error::other(io::Error::from(io::ErrorKind::NotFound))));
    }

    #[test]
    fn a_cause_is_said_once() {
        let error = io::Error::other(io::Error::other("the disk is full"));
        assert_eq!(chain(&error), "the disk is full");
    }
}
