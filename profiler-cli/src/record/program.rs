//! Running the program with its own input, output, signals and exit status.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::console::Console;
use crate::exit::{Error, Verdict};

use super::folder::Folder;

/// How a program ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ended {
    /// With this status.
    With(ExitStatus),
    /// Before it began; a shell would give this status.
    NotRun(u8),
}

impl Ended {
    /// The program's end as this one's. A signal that ended it ends this one too.
    pub(crate) fn verdict(self) -> Verdict {
        let status = match self {
            Self::With(status) => status,
            Self::NotRun(status) => return Verdict::Program(status),
        };
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            let _ends = signal_hook::low_level::emulate_default_handler(signal);
            return Verdict::Program(u8::try_from(128 + signal).unwrap_or(u8::MAX));
        }
        Verdict::Program(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
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
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            console.error(&cannot_run(program, &error));
            return Ok(Ended::NotRun(if error.kind() == ErrorKind::NotFound { 127 } else { 126 }));
        }
    };
    let has_ended = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    pass_signals(&child, Arc::clone(&has_ended));
    let status = child
        .wait()
        .map_err(|error| Error::new(format!("cannot wait for the program: {error}")))?;
    has_ended.store(true, Ordering::Relaxed);
    Ok(Ended::With(status))
}

fn cannot_run(program: &OsStr, error: &io::Error) -> Error {
    /// The error of the system for a file that is no program.
    const ENOEXEC: i32 = 8;
    let help = match (error.kind(), error.raw_os_error()) {
        (ErrorKind::NotFound, _) if Path::new(program).exists() => {
            "the interpreter that its first line names, or its loader, is not on this machine"
        }
        (ErrorKind::NotFound, _) => "check its name, and whether PATH has its folder",
        (_, Some(ENOEXEC)) => "a script without `#!` is run by its interpreter, as in `sh SCRIPT`",
        (ErrorKind::PermissionDenied, _) => "make it executable, or run it by its interpreter",
        _ => "see whether it runs without `profiler record`",
    };
    Error::new(format!("cannot run {}: {error}", program.to_string_lossy())).with_help(help)
}

/// Hands signals on to the program, which decides. Those of the terminal, SIGINT and SIGQUIT, reach it by themselves.
/// When it has ended, they end this program.
#[cfg(unix)]
fn pass_signals(child: &std::process::Child, has_ended: Arc<AtomicBool>) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    let process = child.id().to_string();
    let all = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];
    let Ok(mut signals) = signal_hook::iterator::Signals::new(all) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if has_ended.load(Ordering::Relaxed) {
                let _ends = signal_hook::low_level::emulate_default_handler(signal);
            } else if signal != SIGINT && signal != SIGQUIT {
                let _sent =
                    Command::new("kill").args([format!("-{signal}"), process.clone()]).status();
            }
        }
    });
}
