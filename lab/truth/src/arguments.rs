//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use profiler_host::BackendChoice;
use truth_kernels::{HOSTED_WORK, KNOWN_WORK};

use crate::TESTS;

/// Compares recorded times with times that kernels measure themselves.
#[derive(Clone, Debug, Parser)]
#[command(name = "truth")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Runs tests; exits with 1 if a limit does not hold
    Run(RunArguments),
    /// Draws what runs have found
    Plot(FolderArguments),
    /// Writes cross-check.md: mean regions, here and under a peer
    Table(FolderArguments),
}

/// What to run.
#[derive(Clone, Debug, Args)]
pub struct RunArguments {
    /// Tests to run; all where none is named
    #[arg(value_parser = TESTS.map(|test| test.name))]
    pub tests: Vec<String>,

    /// Where the kernels run: `gpu`, `emulator`, or `auto` for the GPU where there is one
    #[arg(long, default_value = "auto", value_name = "auto|gpu|emulator")]
    pub backend: BackendChoice,

    /// How much work [default: small on the emulator, full on the GPU]
    #[arg(long, value_enum)]
    pub size: Option<Size>,

    /// Seconds for which the test `boost` leaves the GPU idle [default: 12 on a GPU, 0 on the emulator]
    #[arg(long, value_name = "SECONDS")]
    pub idle: Option<u64>,

    /// Kernel of the tests `known-work` and `crowded-work` to run; may be given more than once [default: all]
    #[arg(long = "kernel", value_name = "NAME", value_parser = kernels_of_known_work())]
    pub kernels: Vec<String>,

    /// Folder whose truth.jsonl is appended to
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub out: PathBuf,
}

/// Their names.
fn kernels_of_known_work() -> Vec<&'static str> {
    KNOWN_WORK.iter().chain(HOSTED_WORK).map(|kernel| kernel.name).collect()
}

/// Whose findings to show.
#[derive(Clone, Debug, Args)]
pub struct FolderArguments {
    /// Folder with a truth.jsonl, where drawings and tables go
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub out: PathBuf,
}

/// How much work a test does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Size {
    /// Seconds on the emulator; limits on times mean nothing then.
    Small,
    /// What the limits are for.
    Full,
}

impl Arguments {
    /// Reads the process's command line. Ends the process where it asks for help or is wrong.
    #[must_use]
    pub fn read() -> Self {
        Self::parse()
    }
}

impl RunArguments {
    /// Whether this test is to be run.
    #[must_use]
    pub fn wants(&self, test: &str) -> bool {
        self.tests.is_empty() || self.tests.iter().any(|name| name == test)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn tests_are_chosen_by_name() {
        Arguments::command().debug_assert();
        let parsed = |words: &[&str]| match Arguments::try_parse_from([&["truth"], words].concat())
        {
            Ok(Arguments { command: Command::Run(run) }) => Ok(run),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        };
        let all = parsed(&["run"]).expect("nothing is required");
        assert!(TESTS.iter().all(|test| all.wants(test.name)));
        let one = parsed(&["run", "mapping", "--size", "small"]).expect("both exist");
        assert_eq!((one.wants("mapping"), one.wants("long")), (true, false));
        assert_eq!(one.size, Some(Size::Small));
        let one = parsed(&["run", "known-work", "--kernel", "work_when_timer"]).expect("it exists");
        assert_eq!(one.kernels, ["work_when_timer"]);
        let wrong = parsed(&["run", "--kernel", "work_when"]).expect_err("there is no such kernel");
        assert!(wrong.to_string().contains("hosted_thread_cycles"), "{wrong}");
        let wrong = parsed(&["run", "maping"]).expect_err("there is no such test");
        assert!(wrong.to_string().contains("known-work"), "{wrong}");
    }
}
