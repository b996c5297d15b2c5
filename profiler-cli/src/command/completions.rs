//! `profiler completions`: scripts that complete arguments in a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::{Error, Verdict};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  profiler completions bash > ~/.local/share/bash-completion/completions/profiler
  profiler completions zsh > ~/.zfunc/_profiler    # with ~/.zfunc in $fpath
  profiler completions fish > ~/.config/fish/completions/profiler.fish";

/// Print the completions of a shell
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Result<Verdict, Error> {
    let mut script = Vec::new();
    let mut command = crate::arguments::Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "profiler", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Verdict::Clean)
}
