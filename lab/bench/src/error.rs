//! What ends the measurement.

/// Why a measurement failed; its text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Built without a compiler for the GPU.
    #[error(
        "the kernels were not compiled: `cargo xtask tools` installs a compiler for nvptx64, then \
         build again"
    )]
    NoPtx,
    /// Built without the kernels that were asked for.
    #[error(
        "this program was built without the kernels of `--combinations`: `cargo lab \
         gpu-combinations` collects one that has them"
    )]
    NoCombinations,
    /// The driver refused something.
    #[error("{doing} failed: {reason}")]
    Cuda {
        /// What was being done.
        doing: &'static str,
        /// What the driver said.
        reason: String,
    },
    /// A session failed.
    #[error(transparent)]
    Session(#[from] profiler_host::Error),
    /// Not every region is there, whole and in order.
    #[error("the check of the records failed: {0}")]
    Check(String),
    /// A scheme that does not exist.
    #[error("there is no scheme `{name}`; there are {available}")]
    NoScheme {
        /// What was asked for.
        name: String,
        /// All schemes.
        available: String,
    },
    /// A scheme of the other set.
    #[error("`{name}` is {belongs} of `--combinations`: {help} that option")]
    OtherSet {
        /// What was asked for.
        name: String,
        /// Whether it is `one` or `none`.
        belongs: &'static str,
        /// What to do about it.
        help: &'static str,
    },
    /// A file of results could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file of results is not what this program writes.
    #[error("{place}: {reason}; make the file anew with the program `record-cost`")]
    Results {
        /// File and line.
        place: String,
        /// What is wrong.
        reason: String,
    },
}

impl Error {
    /// Makes an error of one of `cust`'s.
    pub(crate) fn cuda(doing: &'static str) -> impl FnOnce(cust::error::CudaError) -> Self {
        move |error| Self::Cuda { doing, reason: format!("{error} ({error:?})") }
    }
}
