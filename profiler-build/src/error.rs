//! The error, with help.

use std::fmt;
use std::path::Path;

/// Why a device crate did not become PTX: a sentence with the remedy. `Debug` is the same text as `Display`: a `main`
/// that returns an error prints that.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    message: String,
    /// The command that installs a compiler, if none was found.
    install: Option<&'static str>,
}

impl Error {
    pub(crate) fn new(message: String) -> Self {
        Self { message, install: None }
    }

    /// No toolchain on this machine can compile for nvptx64; those that were tried, and why each does not serve.
    pub(crate) fn no_compiler(command: &'static str, rejected: &[String]) -> Self {
        let rejected: String = rejected.iter().map(|reason| format!("  {reason}\n")).collect();
        let message = format!(
            "no compiler for nvptx64 with its library source was found; install one with\n    {command}\n\
             or name its cargo in the environment variable PROFILER_NVPTX_CARGO. Looked at:\n{rejected}"
        );
        Self { message, install: Some(command) }
    }

    /// The folder holds no device crate; with the missing part, or cargo's message.
    pub(crate) fn not_a_device_crate(folder: &Path, reason: &str) -> Self {
        Self::new(format!(
            "{} is not a device crate: {reason}; Kernels::new takes the folder of a crate that has a \
             Cargo.toml and a library",
            folder.display()
        ))
    }

    /// The device crate does not compile; with the compiler's diagnostics, rendered.
    pub(crate) fn compile(folder: &Path, output: &str) -> Self {
        Self::new(format!(
            "the device crate {} does not compile for nvptx64{}:\n{output}{}",
            folder.display(),
            help(output),
            of_feature(output)
        ))
    }

    /// A program could not be started.
    pub(crate) fn run(program: &Path, source: &std::io::Error) -> Self {
        Self::new(format!("cannot run {}: {source}", program.display()))
    }

    /// A file or folder that could not be read or written; `action` is "read", "write" or "create".
    pub(crate) fn file(action: &str, path: &Path, source: &std::io::Error) -> Self {
        Self::new(format!("cannot {action} {}: {source}", path.display()))
    }

    /// Whether it is the machine that lacks a compiler for nvptx64. The message has the command that installs one.
    #[must_use]
    pub fn is_no_compiler(&self) -> bool {
        self.install.is_some()
    }

    /// The command that installs a compiler, where none was found.
    pub(crate) fn install_command(&self) -> Option<&'static str> {
        self.install
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

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
