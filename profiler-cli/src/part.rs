//! Files on their way to their names. Whatever ends the program before one has its name, an error,
//! Ctrl-C, a polite kill or a closed terminal, leaves nothing of it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, PersistError};

/// The one file that has no name yet.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

fn unfinished() -> MutexGuard<'static, Option<PathBuf>> {
    // A path is whole whatever panicked beside it.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is deleted unless it gets a name. There is one at a time.
pub(crate) struct Part(NamedTempFile);

impl Part {
    /// One in a folder.
    pub(crate) fn new_in(folder: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        signals::watch();
        let mut builder = tempfile::Builder::new();
        builder.prefix(".profiler-").suffix(".part");
        // Temporary files are private otherwise, and would stay so under their final name.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        // No signal is answered between the file's making and its being known.
        let mut unfinished = unfinished();
        // The error's own text names the temporary file, which nobody asked for.
        let file = builder.tempfile_in(folder).map_err(|error| error.kind())?;
        *unfinished = Some(file.path().to_owned());
        Ok(Self(file))
    }

    /// The file, to be written.
    pub(crate) fn file(&mut self) -> &mut File {
        self.0.as_file_mut()
    }

    /// Gives the file its name, and takes the place of what has it.
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

    /// From now on the signals that ask the program to end remove the file that has no name yet
    /// before they end it, as they do without this: shells then see 128 and the signal's number.
    pub(super) fn watch() {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            let heeded =
                [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
            // Where there can be no handler, a signal leaves the file behind, and that is all.
            let Ok(mut signals) = Signals::new(heeded) else { return };
            thread::spawn(move || {
                let Some(signal) = signals.forever().next() else { return };
                // It is held to the end, so that no other file is begun.
                let mut unfinished = unfinished();
                if let Some(path) = unfinished.take() {
                    // There is nobody left to tell if that fails.
                    let _ = std::fs::remove_file(path);
                }
                let _ = emulate_default_handler(signal);
                process::exit(128 + signal);
            });
        });
    }

    /// Whether the program was begun to outlive the signal, as `nohup` does with `SIGHUP` and a shell
    /// with the `SIGINT` of what runs in its background: a handler would take that away. Where it is
    /// not known, `nohup` is the one that must be right.
    fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        match mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
            Some(mask) => mask >> (signal - 1) & 1 != 0,
            None => signal == SIGHUP,
        }
    }
}
