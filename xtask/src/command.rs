//! Runs programs, says which, and fails with what they said.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

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

    /// Runs it, and shows what it has printed, in the order in which it did, when it ends. The error is text, as
    /// other threads run such.
    pub fn run_quietly(self) -> Result<(), String> {
        let described = self.describe();
        let (printed, status) =
            self.printed().map_err(|error| format!("cannot run `{described}`: {error}"))?;
        println!("+ {described}\n{}", String::from_utf8_lossy(&printed));
        if status.success() { Ok(()) } else { Err(format!("`{described}` failed: {status}")) }
    }

    /// What it prints to either output, and how it ends.
    fn printed(mut self) -> std::io::Result<(Vec<u8>, ExitStatus)> {
        let (mut reader, writer) = std::io::pipe()?;
        self.command.current_dir(&self.folder).stdin(Stdio::null());
        let mut child = self.command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
        // It holds the writing ends, which would never be closed.
        drop(self.command);
        let mut printed = Vec::new();
        reader.read_to_end(&mut printed)?;
        Ok((printed, child.wait()?))
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

#[cfg(all(test, unix))]
mod tests {
    use super::Run;

    #[test]
    fn what_is_printed_to_either_output_is_in_order_and_whole() {
        // More than a pipe holds.
        let script = "echo one; echo two >&2; echo three; head -c 200000 /dev/zero; exit 3";
        let run = Run::new("sh").args(["-c", script]);
        let (printed, status) = run.printed().expect("there is a shell");
        assert!(printed.starts_with(b"one\ntwo\nthree\n\0"), "{:?}", &printed[..20]);
        assert_eq!((printed.len(), status.code()), (14 + 200_000, Some(3)));
        let failed = Run::new("sh").args(["-c", "exit 3"]).run_quietly();
        assert!(failed.is_err_and(|error| error.contains("`sh -c exit 3` failed")));
        assert!(Run::new("no-such-program").run_quietly().is_err());
    }
}
