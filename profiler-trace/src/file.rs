//! Files that could not be written or read.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Prints errors in `Debug` as in `Display`: a `main` that returns an error prints the former.
macro_rules! debug_as_display {
    ($($error:ty),+ $(,)?) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )+};
}

pub(crate) use debug_as_display;

/// Why a file could not be written. `Display` names the file and the remedy; `Debug` is the same text, as a
/// `main` that returns an error prints that.
///
/// It becomes an [`io::Error`] where a function returns one.
#[non_exhaustive]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

impl FileError {
    /// Makes a file and lets `write` write it.
    pub(crate) fn of_writing(
        path: &Path,
        write: impl FnOnce(File) -> io::Result<()>,
    ) -> Result<(), Self> {
        let written = File::create(path).and_then(write);
        written.map_err(|source| Self { path: path.to_owned(), source })
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, source } = self;
        if path.as_os_str().is_empty() {
            return f.write_str("cannot write: the path is empty; name a file");
        }
        write!(f, "cannot write {}: ", path.display())?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match (source.kind(), folder) {
            (io::ErrorKind::NotFound, Some(folder)) if !folder.is_dir() => write!(
                f,
                "there is no folder {}; make the folder first, or name another one",
                folder.display()
            ),
            (io::ErrorKind::IsADirectory, _) => {
                f.write_str("it is a folder; add the name of a file to it")
            }
            _ => write!(f, "{source}; name a file that can be written, on a disk with room for it"),
        }
    }
}

debug_as_display!(FileError);

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        Self::new(error.source.kind(), error)
    }
}
