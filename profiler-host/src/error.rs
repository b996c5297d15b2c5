//! The errors of sessions, each with its remedy.

use std::path::PathBuf;

use profiler_trace::{Capture, FileError, SiteTableError};
use profiler_wire::WIRE_VERSION;
use profiler_wire::symbol::DESCRIPTOR;

/// An error of a session. `Display` says what to do. `Debug` is the same text: a
/// `main` that returns an error prints that.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Options that cannot work. The text names the option and its values, or the other option beside
    /// which it does nothing.
    #[error("{0}")]
    Options(String),
    /// A text that is no [`BackendChoice`](crate::BackendChoice).
    #[error("unknown back end `{0}`; expected one of `auto`, `gpu`, `emulator`")]
    UnknownBackend(String),
    /// The module's sites cannot be read: not profiled, another wire version, clashing ids.
    #[error(transparent)]
    Sites(#[from] SiteTableError),
    /// The CUDA driver cannot be used.
    #[cfg(feature = "cuda")]
    #[error("{0}; without a GPU, choose the emulator")]
    Driver(#[from] profiler_cuda_driver::DriverError),
    /// A call to CUDA failed.
    #[cfg(feature = "cuda")]
    #[error("{doing}: {reason}")]
    Cuda {
        /// The step that failed.
        doing: &'static str,
        /// CUDA's name and text for the failure.
        reason: String,
    },
    /// A kernel failed, and with it everything in device memory was lost; not so the records of
    /// kernels with `#[profiled(buffer = host)]`, see [`Error::salvaged`].
    #[cfg(feature = "cuda")]
    #[error(
        "a kernel failed ({reason}), and all device memory of the process is gone with it, {}; run \
         the program under compute-sanitizer, or on the emulator{}",
        kept(salvaged.as_deref()),
        besides(overwritten.as_deref())
    )]
    KernelFailed {
        /// CUDA's name and text for the failure.
        reason: String,
        /// CUDA's number for it (`CUresult`).
        code: u32,
        /// The records that are left in the session that reports the failure; see [`Error::salvaged`].
        salvaged: Option<Box<Capture>>,
        /// [`Error::GuardsOverwritten`], if guard words in host memory were. Those in device memory are
        /// gone.
        overwritten: Option<Box<Error>>,
    },
    /// No kernel of the session can be watched.
    #[error(
        "no kernel of the session's modules can be watched: annotate it with \
         #[profiled(buffer = host)], so that its records go to memory that the host can read \
         meanwhile"
    )]
    NotWatchable,
    /// A GPU was asked of a program that was built without the feature `cuda`.
    #[error(
        "the GPU was asked for, but this program was built without the feature `cuda` of \
         profiler-host; build it with that feature (it is on by default)"
    )]
    NoCudaFeature,
    /// A GPU was asked of a program whose kernels were not compiled for one.
    #[error(
        "the kernels were not compiled for the GPU, because no compiler for nvptx64 was found, or \
         `PROFILER_SKIP_PTX` was set, when this program was built; run `rustup \
         toolchain install nightly --component rust-src` (on Debian: `apt-get install rustc-web \
         cargo-web rust-web-src`) and build the program again without the variable"
    )]
    NoPtx,
    /// The driver refused the PTX.
    #[error(
        "the driver refused the module: {reason}; the PTX must not ask for a newer GPU or a newer \
         PTX version than this machine has (see `.target` and `.version` at its top)"
    )]
    BadPtx {
        /// The message of the driver and its compiler.
        reason: String,
    },
    /// The module has no descriptor, although its PTX has.
    #[error(
        "the module has no symbol {DESCRIPTOR} of wire version {WIRE_VERSION}: the PTX given to the \
         session is not the one that the module was loaded from, or its kernels were built without \
         the feature `enabled` of profiler-device"
    )]
    NoDescriptor,
    /// Another session is attached to the module.
    #[error(
        "another session is attached to this module; finish or drop it first (one session serves \
         any number of launches)"
    )]
    AlreadyAttached,
    /// The calling thread has no CUDA context, or not the one that it should have.
    #[cfg(feature = "cuda")]
    #[error("{0}")]
    Context(&'static str),
    /// Clocks were to be kept on all SMs, and not all of them had a place for that.
    #[cfg(feature = "cuda")]
    #[error(
        "clocks are kept on {begun} of {of} SMs only, because other kernels fill the GPU; call keep_clocks \
         when they have ended (Session::capture waits for those of the session)"
    )]
    ClocksNotKept {
        /// The number of SMs on which it began.
        begun: u32,
        /// The number of SMs.
        of: u32,
    },
    /// A method that this session does not have.
    #[error("{method} is a method of sessions of {of}, and this is none")]
    WrongSession {
        /// The method.
        method: &'static str,
        /// The sessions that have it.
        of: &'static str,
    },
    /// [Guard words](crate::ProfilerBuilder::guards) were overwritten.
    #[error(
        "{words} guard word(s) of the session's memory were overwritten, the first {first}: a kernel \
         wrote to memory that is not its own; run the program under compute-sanitizer's memcheck, \
         or on the emulator"
    )]
    GuardsOverwritten {
        /// The number of words.
        words: u64,
        /// The place of the first.
        first: String,
    },
    /// A launch past the session that is attached.
    #[error(
        "a session is attached to this backend, and a launch past it would overwrite its records; \
         launch through the session, or drop it first"
    )]
    LaunchPastSession,
    /// The arrays of a session, or a buffer, do not fit.
    #[error("{bytes} bytes of memory are not to be had{}; {help}", free_bytes(*free))]
    OutOfMemory {
        /// The bytes that were asked for.
        bytes: u64,
        /// The bytes that are free, if that is known.
        free: Option<u64>,
        /// The options to lower.
        help: String,
    },
    /// The module has no kernel of this name.
    #[error(
        "the module has no kernel `{name}`; it has {available}. The kernel's function must have the \
         same name in PTX: #[unsafe(no_mangle)]; a generic one has none (see `launch!`)"
    )]
    NoKernel {
        /// The name.
        name: String,
        /// The kernels that are there.
        available: String,
    },
    /// The emulator was asked what a kernel takes of an SM.
    #[error(
        "what a kernel takes of an SM is known of a GPU alone: the emulator runs the kernel's twin, \
         which has no registers; choose the GPU (BackendChoice::Gpu), or ask only where \
         backend.is_gpu()"
    )]
    NoResources,
    /// A buffer was given a slice of another length.
    #[error("a buffer of {buffer} elements cannot take {slice}; give it a slice of its own length")]
    Length {
        /// Elements of the buffer.
        buffer: usize,
        /// Elements of the slice.
        slice: usize,
    },
    /// A buffer larger than the address space.
    #[error("a buffer of {0} elements is larger than memory can be")]
    BufferTooLarge(usize),
    /// The emulator could not run the kernel.
    #[error("the emulator: {0}")]
    Emulator(#[from] profiler_emulator::LaunchError),
    /// The capacity cannot be inferred from a run.
    #[error("{0}")]
    Capacity(String),
    /// The cost of a record cannot be measured.
    #[error("{0}")]
    Calibration(String),
    /// A trace or a capture could not be written. The records of the session are not lost; see
    /// [`Error::salvaged`].
    #[error(
        "the trace could not be written to {}: {source}; name a folder that is there and can be written to{}",
        path.display(),
        if salvaged.is_some() { ", and write what was recorded again: Error::salvaged has it" } else { "" }
    )]
    Export {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
        /// The records of the session, if it ended by this.
        salvaged: Option<Box<Capture>>,
    },
    /// A trace whose format does not follow from the file's name.
    #[error(
        "{} does not say which format: end it in .pftrace (Perfetto), .json (Chrome) or .capture \
         (what was read back, for the command `profiler`)",
        if .0.as_os_str().is_empty() { "an empty path".to_owned() } else { .0.display().to_string() }
    )]
    UnknownFormat(PathBuf),
    /// A capture that was to be made from a trace.
    #[error(
        "{} cannot be made from a trace: write the session's capture (Capture::write), or let the \
         session write it (export_on_drop)",
        .0.display()
    )]
    NotFromTrace(PathBuf),
}

/// As `Display`: a `main` that returns an error prints this.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl From<FileError> for Error {
    fn from(FileError { path, source, .. }: FileError) -> Self {
        Self::Export { path, source, salvaged: None }
    }
}

impl Error {
    /// The records of a session that ended by this error. Decode them by [`crate::trace::decode`], or write
    /// them by [`Capture::write`].
    ///
    /// - After a failed kernel on the GPU: the records of kernels with `#[profiled(buffer = host)]`, the sites
    ///   of all modules, and the host's spans. Regions that were open have no end. The records of modules
    ///   without such a kernel are gone. `None` if no module has one.
    ///   On the emulator the launch itself is the error, and the session goes on.
    /// - If the session's file could not be written ([`Error::Export`]): all records.
    #[must_use]
    pub fn salvaged(&self) -> Option<&Capture> {
        match self {
            Self::Export { salvaged, .. } => salvaged.as_deref(),
            #[cfg(feature = "cuda")]
            Self::KernelFailed { salvaged, .. } => salvaged.as_deref(),
            _ => None,
        }
    }
}

#[cfg(feature = "cuda")]
fn kept(salvaged: Option<&Capture>) -> String {
    let Some(capture) = salvaged else {
        return "the records there too; where the kernel is annotated with #[profiled(buffer = host)] they \
                lie elsewhere, and the end of its session gives them back with the error"
            .to_owned();
    };
    let modules = capture.modules.iter().filter(|module| !module.is_of_clocks());
    let lost = modules.filter(|module| !module.sites.needs_host_memory()).count();
    let modules = match lost {
        0 => String::new(),
        1 => " (of 1 module, which has no such kernel, the sites alone)".to_owned(),
        _ => format!(" (of {lost} modules, which have no such kernel, the sites alone)"),
    };
    "but not the records of kernels with buffer = host: Error::salvaged has them".to_owned()
        + &modules
}

#[cfg(feature = "cuda")]
fn besides(overwritten: Option<&Error>) -> String {
    overwritten.map_or_else(String::new, |error| format!(". Besides, {error}"))
}

fn free_bytes(free: Option<u64>) -> String {
    free.map_or_else(String::new, |free| format!(" ({free} are free)"))
}
