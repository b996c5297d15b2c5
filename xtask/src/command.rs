//! Runs programs, says which, and fails with what they said.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Error;

/// A program and its arguments.
pub struct Run {
    command: Command,
    folder: PathBuf,
}

impl Run {
    /// The program, to be run in the repository's root.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self { command: Command::new(program), folder: crate::root().to_owned() }
    }

    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    pub fn envs(mut self, variables: impl IntoIterator<Item = (String, OsString)>) -> Self {
        self.command.envs(variables);
        self
    }

    pub fn folder(mut self, folder: &Path) -> Self {
        self.folder = folder.to_owned();
        self
    }

    fn describe(&self) -> String {
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Runs it, showing what it prints.
    pub fn run(mut self) -> Result<(), Error> {
        println!("+ {}", self.describe());
        let status = self
            .command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .status()
            .map_err(|error| format!("cannot run `{}`: {error}", self.describe()))?;
        if status.success() {
            return Ok(());
        }
        Err(format!("`{}` failed: {status}", self.describe()).into())
    }

    /// Runs it and gives its standard output.
    pub fn output(mut self) -> Result<String, Error> {
        let output = self
            .command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("cannot run `{}`: {error}", self.describe()))?;
        if !output.status.success() {
            return Err(format!("`{}` failed: {}", self.describe(), output.status).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The first line of its standard output, if it runs and succeeds; shows nothing.
    pub fn first_line(mut self) -> Option<String> {
        let command = self.command.current_dir(&self.folder).stdin(Stdio::null());
        let output = command.output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned())
    }

    /// Whether it succeeds, and what it prints on both of its outputs, which is not shown.
    pub fn outcome(mut self) -> Result<(bool, String), Error> {
        let output = self
            .command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run `{}`: {error}", self.describe()))?;
        let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        Ok((output.status.success(), text.concat()))
    }

    /// Whether it runs and succeeds; shows nothing.
    pub fn succeeds(mut self) -> bool {
        self.command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}
