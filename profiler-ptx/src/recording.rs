//! The folder of what `profiler record` records: what the library in the program and the stand-in for ptxas share.
#![cfg(feature = "recording")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use profiler_wire::spool::{SETTINGS_FILE, Settings, module_file};
use regex_lite::Regex;

use crate::{Error, Instrumented, Options, instrument, kernel_names};

/// An open folder.
#[derive(Debug)]
pub struct Recording {
    /// The folder.
    pub folder: PathBuf,
    /// What was asked for.
    pub settings: Settings,
    filter: Regex,
}

impl Recording {
    /// Reads the settings in a folder. `None` if they are not there or not of this version.
    #[must_use]
    pub fn open(folder: PathBuf) -> Option<Self> {
        let settings = Settings::from_text(&fs::read_to_string(folder.join(SETTINGS_FILE)).ok()?)?;
        let filter = Regex::new(&settings.kernel).ok()?;
        Some(Self { folder, settings, filter })
    }

    /// Whether a kernel of this name is to record.
    #[must_use]
    pub fn takes(&self, kernel: &str) -> bool {
        self.filter.is_match(kernel)
    }

    /// Rewrites a module, with [`Options::threads`]. `None` if none of its kernels is to record.
    ///
    /// # Errors
    ///
    /// As of [`instrument`].
    pub fn rewrite(
        &self,
        ptx: &str,
        threads: &[(String, u32)],
    ) -> Result<Option<Instrumented>, Error> {
        let names = kernel_names(ptx).into_iter();
        // The command has read the regions.
        let regions = self.settings.regions.iter().filter_map(|it| it.parse().ok());
        let options = Options {
            budget: self.settings.budget,
            auto: self.settings.auto,
            regions: regions.collect(),
            threads: threads.to_vec(),
            kernels: names.filter(|name| self.takes(name)).collect(),
            ..Options::default()
        };
        // Without names all kernels would be taken.
        if options.kernels.is_empty() { Ok(None) } else { instrument(ptx, &options).map(Some) }
    }

    /// Writes the text of a module that records, by which the command knows its sites, and gives the file.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn keep(&self, hash: u64, ptx: &str) -> io::Result<PathBuf> {
        let path = self.folder.join(module_file(hash));
        // Other threads and processes may write and read the same.
        static WRITTEN: AtomicU32 = AtomicU32::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let unfinished = path.with_extension(format!("{}.{number}", std::process::id()));
        fs::write(&unfinished, ptx)?;
        fs::rename(&unfinished, &path)?;
        Ok(path)
    }

    /// Whether the text of a module with this hash was kept, here or by another process.
    #[must_use]
    pub fn is_kept(&self, hash: u64) -> bool {
        Path::is_file(&self.folder.join(module_file(hash)))
    }
}
