//! Running the program with its own input, output, signals and exit status.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::console::Console;
use crate::exit::{Error, Verdict};

use super::folder::Folder;

/// How a program ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended(ExitStatus);

impl Ended {
    /// The program's end as this one's. A signal that ended it ends this one too.
    pub(crate) fn verdict(self) -> Verdict {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&self.0) {
            let _ends = signal_hook::low_level::emulate_default_handler(signal);
            return Verdict::Program(u8::try_from(128 + signal).unwrap_or(u8::MAX));
        }
        Verdict::Program(self.0.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
    }
}

/// Runs a program to its end.
pub(crate) fn run(
    command: &[OsString],
    folder: Option<&Folder>,
    console: &Console,
) -> Result<Ended, Error> {
    let (program, arguments) = command.split_first().ok_or_else(|| Error::new("no command"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    match folder {
        Some(folder) => {
            if Path::new(program).file_name().is_some_and(|name| name == "ncu") {
                console.note(
                    "Nsight Compute loads a driver library of its own, so nothing will be recorded: run one after \
                     the other",
                );
            }
            folder.prepare(&mut command);
        }
        None => console.note("no CUDA driver on this machine: the program runs as it is"),
    }
    let mut child = command.spawn().map_err(|error| {
        Error::new(format!("cannot run {}: {error}", program.to_string_lossy()))
            .with_help("give the program and its arguments after `--`")
    })?;
    #[cfg(unix)]
    pass_signals(&child);
    let status = child
        .wait()
        .map_err(|error| Error::new(format!("cannot wait for the program: {error}")))?;
    Ok(Ended(status))
}

/// Lets signals that ask this program to end be the other's, which decides. Those of the terminal reach it by
/// themselves.
#[cfg(unix)]
fn pass_signals(child: &std::process::Child) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    let process = child.id().to_string();
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])
    else {
        return;
    };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGTERM || signal == SIGHUP {
                let _sent =
                    Command::new("kill").args([format!("-{signal}"), process.clone()]).status();
            }
        }
    });
}
