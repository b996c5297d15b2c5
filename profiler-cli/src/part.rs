//! Files that get their name when they are whole. An error, Ctrl-C, a polite kill or a closed terminal
//! before that leaves nothing behind.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, PersistError};

/// The one file that has no name yet.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

fn unfinished() -> MutexGuard<'static, Option<PathBuf>> {
    // A panic elsewhere cannot break a path.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is deleted unless it gets a name. There is one at a time.
pub(crate) struct Part(NamedTempFile);

impl Part {
    /// Makes a file in a folder.
    pub(crate) fn new_in(folder: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        signals::watch();
        let mut builder = tempfile::Builder::new();
        builder.prefix(".profiler-").suffix(".part");
        // Temporary files are private otherwise, and would stay so under their final name.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        // The lock keeps a signal from coming between making the file and knowing its path.
        let mut unfinished = unfinished();
        // The error's own text names the temporary file, which the user does not know.
        let file = builder.tempfile_in(folder).map_err(|error| error.kind())?;
        *unfinished = Some(file.path().to_owned());
        Ok(Self(file))
    }

    /// The file, to be written.
    pub(crate) fn file(&mut self) -> &mut File {
        self.0.as_file_mut()
    }

    /// Gives the file its name, and replaces the file that has it.
    pub(crate) fn persist(self, path: &Path) -> io::Result<()> {
        let mut unfinished = unfinished();
        self.0.persist(path).map_err(|PersistError { error, .. }| error)?;
        *unfinished = None;
        Ok(())
    }
}

#[cfg(unix)]
mod signals {
    use std::process;
    use std::sync::Once;
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    use super::unfinished;

    /// Makes the signals that end the program first remove the file that has no name yet. Shells still see 128
    /// and the signal's number.
    pub(super) fn watch() {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            let heeded =
                [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
            // Without a handler, a signal leaves the file behind, and nothing worse.
            let Ok(mut signals) = Signals::new(heeded) else { return };
            thread::spawn(move || {
                let Some(signal) = signals.forever().next() else { return };
                // The lock is held to the end, so that no other file is begun.
                let mut unfinished = unfinished();
                if let Some(path) = unfinished.take() {
                    // If this fails, nobody is left to tell.
                    let _ = std::fs::remove_file(path);
                }
                let _ = emulate_default_handler(signal);
                process::exit(128 + signal);
            });
        });
    }

    /// Whether the program was started to survive the signal, as by `nohup` (`SIGHUP`) or in the background of a
    /// shell (`SIGINT`); a handler would end that. If it is not known, `nohup` is assumed.
    fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        match mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
            Some(mask) => mask >> (signal - 1) & 1 != 0,
            None => signal == SIGHUP,
        }
    }
}
