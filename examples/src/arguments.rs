//! The command line of all examples.

use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};
use profiler_host::BackendChoice;

/// Runs a profiled kernel, checks its result and writes its timeline.
#[derive(Clone, Debug, Parser)]
pub struct Arguments {
    /// Where the kernel runs: `gpu`, `emulator`, or `auto` for the GPU where there is one
    #[arg(long, default_value = "auto", value_name = "auto|gpu|emulator")]
    pub backend: BackendChoice,

    /// Folder that NAME.pftrace, NAME.json and NAME.capture are written to; made where it is missing
    #[arg(long, default_value = "target/profiles", value_name = "DIR")]
    pub out: PathBuf,

    /// How much work [default: small on the emulator, full on the GPU]
    #[arg(long, value_enum)]
    pub size: Option<Size>,

    /// Gives warps one N-th of the buffer that their records need, to see what a loss looks like
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub squeeze: Option<u32>,

    /// Shows on the timeline also the host's calls that launch
    #[arg(long)]
    pub host: bool,

    /// Measures what annotations cost while nothing records: PTX of the same kernels compiled
    /// without them; on the GPU only
    #[arg(long, value_name = "PTX")]
    pub unannotated: Option<PathBuf>,
}

/// How much work an example does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Size {
    /// A few seconds on the emulator.
    Small,
    /// Enough to keep a large GPU busy; on the emulator this takes very long.
    Full,
}

impl Arguments {
    /// Reads the process's command line. Ends the process where it asks for help or is wrong.
    #[must_use]
    pub fn read(name: &'static str) -> Self {
        let command = Self::command().name(name).after_help(format!(
            "Example:\n  cargo run --release --example {name} -- --backend emulator --out traces\n\n\
             Open the .pftrace or the .json at https://ui.perfetto.dev"
        ));
        match Self::from_arg_matches(&command.get_matches()) {
            Ok(arguments) => arguments,
            Err(error) => error.exit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_choices() {
        Arguments::command().debug_assert();
        let parsed =
            |arguments: &[&str]| Arguments::try_parse_from([&["example"], arguments].concat());
        let defaults = parsed(&[]).expect("nothing is required");
        assert_eq!(defaults.backend, BackendChoice::Auto);
        assert_eq!((defaults.out, defaults.size), (PathBuf::from("target/profiles"), None));
        let given = parsed(&["--backend", "emulator", "--size", "full"]).expect("both exist");
        assert_eq!((given.backend, given.size), (BackendChoice::Emulator, Some(Size::Full)));
        assert_eq!(parsed(&["--squeeze", "10"]).expect("a number").squeeze, Some(10));
        assert!(parsed(&["--squeeze", "1"]).is_err(), "that would squeeze nothing");
        assert!(parsed(&["--host"]).expect("a switch").host);
        let unannotated = parsed(&["--unannotated", "a.ptx"]).expect("a file").unannotated;
        assert_eq!(unannotated, Some(PathBuf::from("a.ptx")));
        let wrong = parsed(&["--backend", "cpu"]).expect_err("there is no such back end");
        assert!(wrong.to_string().contains("unknown back end `cpu`"), "{wrong}");
    }
}
