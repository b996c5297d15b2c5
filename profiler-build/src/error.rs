//! Errors, with help.

use std::fmt;
use std::path::PathBuf;

use profiler_wire::record::SITE_MAX;
use profiler_wire::site::SiteError;

/// Why a device crate did not become PTX. `Debug` is the same text as `Display`: a `main` that returns
/// an error prints that.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No toolchain on this machine can compile for nvptx64.
    #[error(
        "no compiler for nvptx64 with its library source was found; install one with\n    {command}\n\
         or name its cargo in the environment variable PROFILER_NVPTX_CARGO. Looked at:\n{}",
        .rejected.iter().map(|reason| format!("  {reason}\n")).collect::<String>()
    )]
    NoCompiler {
        /// The one command that installs a compiler on this platform.
        command: &'static str,
        /// The toolchains that were tried, and why each does not serve.
        rejected: Vec<String>,
    },
    /// The cargo that PROFILER_NVPTX_CARGO names cannot be used.
    #[error(
        "PROFILER_NVPTX_CARGO names {}, which cannot be used: {reason}; point it at a cargo whose \
         rustc stands beside it and has rust-src, or unset it", .path.display()
    )]
    NamedCompiler {
        /// The value of the variable.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// [`Kernels::target`](crate::Kernels::target) is no architecture to compile for.
    #[error("Kernels::target is {target:?}: {reason}")]
    Target {
        /// The text that was given.
        target: String,
        /// The problem, and a target to give.
        reason: String,
    },
    /// A variable that cargo gives to build scripts is not set.
    #[error(
        "the environment variable {variable} is not set; call Kernels::build from a build script, \
         or give Kernels::out_dir and an absolute folder"
    )]
    NotABuildScript {
        /// That variable.
        variable: &'static str,
    },
    /// The folder holds no device crate.
    #[error(
        "{} is not a device crate: {reason}; Kernels::new takes the folder of a crate that has a \
         Cargo.toml and a library", .folder.display()
    )]
    NotADeviceCrate {
        /// The folder.
        folder: PathBuf,
        /// The missing part, or cargo's message.
        reason: String,
    },
    /// The device crate does not compile; with the compiler's messages.
    #[error(
        "the device crate {} does not compile for nvptx64{}:\n{output}{}",
        .folder.display(), help(.output), of_feature(.output)
    )]
    Compile {
        /// The folder of the device crate.
        folder: PathBuf,
        /// The compiler's diagnostics, rendered.
        output: String,
    },
    /// The PTX cannot be numbered.
    #[error("the PTX of {name} cannot be processed: {source}")]
    Process {
        /// The name of the device crate's PTX.
        name: String,
        /// The problem.
        source: ProcessError,
    },
    /// A program could not be started.
    #[error("cannot run {}: {source}", .program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {source}", .path.display())]
    File {
        /// "read", "write" or "create".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// Messages of rustc about things that a device crate lacks and a CPU program has, with help.
const HELP: [(&str, &str); 4] = [
    (
        "`#[panic_handler]` function required",
        "it has no panic handler: add profiler-kernel to its dependencies and `use profiler_kernel as _;` \
         to its lib.rs, or write a `#[panic_handler]`",
    ),
    (
        "duplicate lang item `panic_impl`",
        "it has two panic handlers: take one away (that of profiler-kernel with `default-features = false`, \
         wherever the device crate or one of its dependencies names it)",
    ),
    (
        "can't find crate for `alloc`",
        "it uses the crate `alloc`: call `Kernels::alloc(true)` in the build script",
    ),
    (
        "can't find crate for `std`",
        "a GPU has no `std`: put `#![cfg_attr(target_arch = \"nvptx64\", no_std)]` at the top of the lib.rs \
         of the crate that misses it",
    ),
];

/// Help for the compiler's messages, if there is any.
fn help(output: &str) -> String {
    let found = HELP.into_iter().filter(|(said, _)| output.contains(said));
    found.map(|(_, help)| format!("; {help}")).collect()
}

/// Adds to rustc's advice on features: the crate is compiled for the host, too.
fn of_feature(output: &str) -> &'static str {
    if !output.contains("#![feature(") {
        return "";
    }
    "\nname such features in the line that a crate of kernels begins with, as it is compiled for the host as \
     well:\n    #![cfg_attr(target_arch = \"nvptx64\", no_std, feature(abi_ptx, asm_experimental_arch))]"
}

/// Why PTX cannot be numbered, see [`Ptx::process`](crate::Ptx::process). `Debug` is the text of `Display`.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The text carries the stamp of an earlier run.
    #[error("its sites are numbered already; give the text as the compiler wrote it")]
    AlreadyProcessed,
    /// A static begins like a site entry and is none of this version.
    #[error(
        "the static {symbol}: {source}; build the device crate with this version of the profiler"
    )]
    BadSite {
        /// The symbol of the static.
        symbol: String,
        /// The problem.
        source: SiteError,
    },
    /// The bytes of a site entry do not agree with themselves.
    #[error("the site entry in the static {symbol} is damaged: {reason}; rebuild the device crate")]
    DamagedSite {
        /// The symbol of the static.
        symbol: String,
        /// The contradiction.
        reason: &'static str,
    },
    /// Two different sites hash to one key.
    #[error("{first} and {second} have the same 64-bit key; rename one of them")]
    KeyClash {
        /// One site.
        first: String,
        /// The other.
        second: String,
    },
    /// The sites need more ids than a record can hold.
    #[error(
        "the module has sites with {ids} ids in all, and a record holds ids up to {SITE_MAX}; split \
         the module or shorten its name lists"
    )]
    TooManySites {
        /// The number of ids that the sites need.
        ids: u64,
    },
    /// A marker comment does not stand after an instruction with an immediate.
    #[error(
        "line {line} has a site marker that does not follow an instruction whose last operand is a \
         decimal number: `{text}`; build the device crate with this version of the profiler"
    )]
    MalformedMarker {
        /// The line, from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// The code refers to a site whose static is missing.
    #[error(
        "line {line} uses the site with key {key}, whose entry is not in the module; build the \
         device crate through profiler_build::Kernels, with one version of the profiler"
    )]
    MissingSite {
        /// The line, from 1.
        line: usize,
        /// The key in the marker.
        key: u64,
    },
    /// The instruction before a marker does not hold the hashed id of its site.
    #[error(
        "line {line} uses {site} with the id {found} where its entry has {expected}; build the \
         device crate with one version of the profiler"
    )]
    WrongId {
        /// The line, from 1.
        line: usize,
        /// The site.
        site: String,
        /// The immediate.
        found: u32,
        /// The id in the entry.
        expected: u32,
    },
    /// The module uses functions or variables that nothing defines.
    #[error(
        "{uses}, which the module does not define, and no library is linked to it: take mathematics \
         from the crate `libm`, compare slices by `a.iter().eq(b)` in place of `a == b`, which calls \
         `memcmp`, and write any other function or variable in Rust"
    )]
    Unresolved {
        /// Who calls or uses which.
        uses: String,
    },
    /// Declarations in the two copies of a kernel's body cannot be joined.
    #[error(
        "#[profiled] compiles the body of the kernel `{kernel}` twice, and {reason}; or compile it once, \
         by `#[profiled(single_body)]`"
    )]
    Copies {
        /// The kernel's symbol.
        kernel: String,
        /// The problem.
        reason: String,
    },
    /// A kernel's launch bounds cannot be written into the PTX.
    #[error("the launch bounds of {kernel}: {reason}")]
    LaunchBounds {
        /// The kernel.
        kernel: String,
        /// The problem, with help.
        reason: String,
    },
}

impl fmt::Debug for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
