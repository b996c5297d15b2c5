//! Writing traces and captures to files, and the switches that turn it off.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use profiler_trace::{Capture, RecordCost, Trace};

use crate::error::Error;
use crate::options::{Cost, Options};

/// Relaxed wherever it is used: a switch, by which nothing is published.
static EXPORT: AtomicBool = AtomicBool::new(true);

/// Switches exports on drop on or off for the whole process. Default: on. Files that the program
/// writes by [`write_trace`] or by the trace's own methods are written in any case.
pub fn set_export(export: bool) {
    EXPORT.store(export, Ordering::Relaxed);
}

/// Writes a trace in the format that the file's name asks for: `.pftrace` for Perfetto's own,
/// `.json` for Chrome's.
///
/// # Errors
///
/// Another ending, `.capture` included: a capture is written by [`Capture::write`], as it cannot be
/// made from a trace. Errors of the file system.
pub fn write_trace(trace: &Trace, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let written = match Format::of(path)? {
        Format::Perfetto => trace.write_perfetto(path),
        Format::Chrome => trace.write_chrome(path),
        Format::Capture => return Err(Error::NotFromTrace(path.to_owned())),
    };
    Ok(written?)
}

/// The format that a file's name asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Perfetto,
    Chrome,
    /// The capture.
    Capture,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Error> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Ok(Self::Chrome),
            Some("pftrace" | "perfetto-trace") => Ok(Self::Perfetto),
            Some("capture") => Ok(Self::Capture),
            _ => Err(Error::UnknownFormat(path.to_owned())),
        }
    }
}

/// What a session does with its records: decodes and exports them.
#[derive(Debug)]
pub(crate) struct Output {
    /// The file to export to on drop.
    path: Option<PathBuf>,
    /// The session's own switch.
    pub(crate) export: bool,
    /// Whether the cost of records is taken out of the times.
    pub(crate) subtract: bool,
    /// The cost of a record, if it is known.
    pub(crate) cost: Option<RecordCost>,
}

impl Output {
    pub(crate) fn new(options: &Options) -> Self {
        let cost = match options.record_cost {
            Cost::Known(cost) => Some(cost),
            Cost::Unknown | Cost::Measure => None,
        };
        Self { path: None, export: true, subtract: options.subtract_record_cost, cost }
    }

    pub(crate) fn set_path(&mut self, path: PathBuf) -> Result<(), Error> {
        Format::of(&path)?;
        // Said before anything is recorded.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let is_there = folder.map_or(Ok(true), |folder| fs::metadata(folder).map(|is| is.is_dir()));
        if let Err(source) = is_there.and_then(|is_folder| match is_folder {
            true => Ok(()),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }) {
            return Err(Error::Export { path, source, salvaged: None });
        }
        self.path = Some(path);
        Ok(())
    }

    /// The file to export to, if that is still to be done. The path is given once.
    pub(crate) fn take_path(&mut self) -> Option<PathBuf> {
        let path = self.path.take();
        path.filter(|_| self.export && EXPORT.load(Ordering::Relaxed))
    }

    /// Decodes a capture as the options ask.
    pub(crate) fn decode(&self, capture: &Capture) -> Trace {
        let mut trace = profiler_trace::decode(capture);
        if self.subtract {
            trace.subtract_record_cost();
        }
        trace
    }

    /// Writes a capture, or what it decodes to, as the file's name asks.
    pub(crate) fn export(&self, capture: &Capture, path: PathBuf) -> Result<(), Error> {
        if Format::of(&path)? != Format::Capture {
            return write_trace(&self.decode(capture), path);
        }
        Ok(capture.write(path)?)
    }

    /// Decodes a session's last capture, and writes the file if one was asked for.
    pub(crate) fn finish(&mut self, capture: Capture) -> Result<Trace, Error> {
        let trace = self.decode(&capture);
        let exported = match self.take_path() {
            Some(path) if Format::of(&path)? == Format::Capture => self.export(&capture, path),
            Some(path) => write_trace(&trace, path),
            None => Ok(()),
        };
        match exported {
            Ok(()) => Ok(trace),
            Err(Error::Export { path, source, .. }) => {
                Err(Error::Export { path, source, salvaged: Some(Box::new(capture)) })
            }
            Err(error) => Err(error),
        }
    }

    /// Exports the records that a failed kernel left when its session ends.
    pub(crate) fn salvage(&mut self, error: &Error) {
        if let Some(capture) = error.salvaged()
            && let Some(path) = self.take_path()
        {
            Self::report(self.export(capture, path));
        }
    }

    /// Prints the failure of a drop, which cannot return it.
    pub(crate) fn report(result: Result<(), Error>) {
        if let Err(error) = result {
            let said = format!("profiler: the trace of a session was not exported: {error}\n");
            // Not `eprintln!`, which panics where nobody reads: a drop must not.
            let _nobody_reads = io::stderr().write_all(said.as_bytes());
        }
    }
}
