//! Takes the place of Rust-CUDA's `cuda_builder` where that cannot be compiled: the functions that
//! the example's build script calls, with their signatures (`crates/cuda_builder/src/lib.rs` in
//! Rust-CUDA's repository, read in November 2026).
//!
//! It compiles nothing: what it writes is a module without kernels.
#![forbid(unsafe_code)]

use std::fmt;
use std::path::{Path, PathBuf};

/// A module without kernels.
const EMPTY_MODULE: &str = ".version 7.1\n.target sm_80\n.address_size 64\n";

/// Why nothing was built. Like the original it is no [`std::error::Error`].
#[derive(Debug)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The device crate is not there.
    CratePathDoesntExist(PathBuf),
    /// The PTX could not be written.
    FailedToCopyPtxFile(std::io::Error),
}

impl fmt::Display for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CratePathDoesntExist(path) => write!(f, "there is no {}", path.display()),
            Self::FailedToCopyPtxFile(error) => write!(f, "the PTX cannot be written: {error}"),
        }
    }
}

/// Would compile a device crate.
#[derive(Debug)]
pub struct CudaBuilder {
    folder: PathBuf,
    target: Option<PathBuf>,
}

impl CudaBuilder {
    /// The device crate in a folder.
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        Self { folder: path_to_crate_root.as_ref().to_owned(), target: None }
    }

    /// Where to write the PTX.
    #[must_use]
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.target = Some(path.as_ref().to_owned());
        self
    }

    /// Gives where the PTX is.
    ///
    /// # Errors
    ///
    /// Where there is no such crate, or the PTX cannot be written.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        if !self.folder.join("Cargo.toml").is_file() {
            return Err(CudaBuilderError::CratePathDoesntExist(self.folder));
        }
        let target = self.target.unwrap_or_else(|| self.folder.join("kernels.ptx"));
        std::fs::write(&target, EMPTY_MODULE).map_err(CudaBuilderError::FailedToCopyPtxFile)?;
        Ok(target)
    }
}
