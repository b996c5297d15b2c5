//! Compiles a crate of GPU kernels to PTX from a build script, and numbers its profiling sites.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     profiler_build::Kernels::new("kernels").build()?;
//!     Ok(())
//! }
//! ```
//!
//! The folder `kernels` holds an ordinary library crate of its own (with `[workspace]` in its
//! Cargo.toml, or a member of the outer workspace). NAME is the name of its library, with `-` replaced by `_`,
//! unless [`Kernels::name`] chooses another. The build script
//!
//! * writes the processed PTX to `OUT_DIR/NAME.ptx`, for
//!   `include_str!(concat!(env!("OUT_DIR"), "/NAME.ptx"))`, which `profiler_host::include_ptx!("NAME")`
//!   wraps;
//! * sets the environment variable `PROFILER_PTX_NAME` (upper case) to that path for the crate being
//!   built.
//!
//! # The compiler
//!
//! rustc compiles for nvptx64 by itself, if it has the source of `core` or a `core` built for that target.
//! The build script tries, in this order: the cargo in the environment variable `PROFILER_NVPTX_CARGO`;
//! rustup's toolchains with the component `rust-src`, nightly first;
//! those with the target `nvptx64-nvidia-cuda`; the toolchain in `/usr`, as Debian's packages
//! `rustc-web cargo-web rust-web-src` install it. Without any, [`Kernels::build`] fails with the one
//! command that installs one; [`Kernels::build_or_warn`] warns with it and writes an **empty** PTX
//! file, which `include_ptx!` turns into `None`: the host program still builds and runs its kernels
//! on the emulator.
//!
//! Kernels are compiled once, though cargo runs a build script in another folder for `debug` and `release`, for
//! each set of features and for clippy: the output is kept in cargo's target folder (`nvptx/*/kept`), until a
//! watched file or variable changes.
//!
//! # What a device crate needs
//!
//! * `#![cfg_attr(target_arch = "nvptx64", no_std)]`, as a GPU has no `std`.
//! * One panic handler: that of profiler-kernel, linked by `use profiler_kernel as _;` if nothing else
//!   names the crate, or its own, and then profiler-kernel with `default-features = false`.
//! * For vectors and boxes [`Kernels::alloc`] and a `#[global_allocator]`.
//!
//! If one of them is missing, the error says so.
//!
//! # Numbering
//!
//! Each site (kernel, region, mark) leaves a static with its entry in the PTX, and marked
//! instructions hold its id. The compiler writes hashed ids, which may clash; [`Ptx::process`]
//! numbers the sites of a module densely from 1. It also writes the launch bounds that `#[profiled]`
//! gives, for which rustc has no syntax, and makes clock reads wait for barriers: a `bar.warp.sync`
//! after each, without which a clock read after a barrier may be
//! served before the warp blocks (lab/measurements/barrier.md). `#[profiled]` compiles a kernel's body
//! twice; shared memory that an `asm!` in it declares is one array for both copies.
//!
//! Cargo shows a warning for each function that records and is not inlined. A call of an undefined function is
//! an error, except for the driver's own: `vprintf`, `malloc`, `free` and `__assertfail`. `==` of slices calls
//! `memcmp`, which is none of them.
#![forbid(unsafe_code)]

mod build_cache;
mod crate_info;
mod environment;
mod error;
mod nested;
mod process;
mod target;
mod toolchain;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

pub use error::Error;

use crate_info::CrateInfo;
use nested::Job;
use toolchain::{CARGO_VARIABLE, Search, Toolchain};

/// The variable that leaves PTX out.
const SKIP: &str = "PROFILER_SKIP_PTX";
/// PTX 7.1: what the compiler writes for sm_80 is 7.0, and `mbarrier.test_wait.parity` came after it.
const DEFAULT_PTX_VERSION: u32 = 71;

/// A device crate, and how to compile it.
#[derive(Clone, Debug)]
#[must_use = "nothing is compiled until `build` or `build_or_warn` is called"]
pub struct Kernels {
    folder: PathBuf,
    name: Option<String>,
    target: String,
    ptx_version: u32,
    features: Vec<String>,
    profile_enabled: bool,
    alloc: bool,
    launch_bounds: Vec<(String, LaunchBounds)>,
    out_dir: Option<PathBuf>,
    target_dir: Option<PathBuf>,
}

/// Launch bounds of a kernel; 0 is none. They are those of `#[profiled]` with the same names (PTX ISA,
/// "Performance-Tuning Directives").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    /// Threads of a block (`.maxntid`).
    pub max_threads: u32,
    /// Blocks that an SM holds at once (`.minnctapersm`).
    pub min_blocks: u32,
    /// Registers of a thread (`.maxnreg`).
    pub max_registers: u32,
}

impl Kernels {
    /// The device crate in `folder`, relative to the folder of the crate being built.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            name: None,
            target: "sm_80".to_owned(),
            ptx_version: DEFAULT_PTX_VERSION,
            features: Vec::new(),
            profile_enabled: true,
            alloc: false,
            launch_bounds: Vec::new(),
            out_dir: None,
            target_dir: None,
        }
    }

    /// The oldest GPU architecture that the PTX runs on, by its name in PTX, such as `sm_90` or
    /// `sm_100a`; `sm_80` unless given, which is also the minimum. From `sm_90` on the device crate is
    /// compiled with `cfg(profiler_cluster)`, under which profiler-device records the rank of a block in
    /// its cluster.
    pub fn target(mut self, target: impl Into<String>) -> Self {
        self.target = target.into();
        self
    }

    /// The oldest version of the PTX language of the module, such as 78 for 7.8; by default 7.1. Where instructions
    /// need a newer one, also those written in `asm!`, the module states that by itself, as far as they are known
    /// here: this is for those that are not. A driver refuses a version that it does not know.
    pub fn ptx_version(mut self, version: u32) -> Self {
        self.ptx_version = version;
        self
    }

    /// Switches on a feature of the device crate.
    pub fn feature(mut self, feature: impl Into<String>) -> Self {
        self.features.push(feature.into());
        self
    }

    /// Whether kernels record (on unless given): the feature `enabled` of profiler-device, if the
    /// device crate depends on it. Off, the PTX is that of the kernels without annotations, unless
    /// the device crate's manifest switches the feature on itself.
    pub fn profile_enabled(mut self, enabled: bool) -> Self {
        self.profile_enabled = enabled;
        self
    }

    /// Whether the device crate may use the crate `alloc` (off unless given). It needs a
    /// `#[global_allocator]` then, for which the GPU's own `malloc` and `free` serve: `extern "C"`
    /// functions by these names.
    pub fn alloc(mut self, alloc: bool) -> Self {
        self.alloc = alloc;
        self
    }

    /// Launch bounds of a kernel, by its name in PTX, if it has none by `#[profiled]`. That includes kernels
    /// compiled without [profiling](Kernels::profile_enabled), which have no bounds by the attribute.
    pub fn launch_bounds(mut self, kernel: impl Into<String>, bounds: LaunchBounds) -> Self {
        self.launch_bounds.push((kernel.into(), bounds));
        self
    }

    /// The NAME in `NAME.ptx`; the name of the device crate's library unless given.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The folder for `NAME.ptx`, for use outside of a build script: nothing is printed for cargo then.
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// The folder in which compiled crates are kept between builds; by default cargo's target folder, or
    /// [`Kernels::out_dir`] outside of a build script.
    pub fn target_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.target_dir = Some(folder.into());
        self
    }

    /// Compiles the device crate and processes its PTX.
    ///
    /// # Errors
    ///
    /// No compiler, an unknown [target](Kernels::target), a crate that does not compile (the error has the
    /// compiler's diagnostics), or PTX that cannot be processed.
    pub fn build(&self) -> Result<Ptx, Error> {
        let search = Search::from_environment();
        self.watch_toolchain(&search)?;
        let toolchain = search.find()?;
        self.build_with(&toolchain)
    }

    /// Like [`Kernels::build`]; but if no compiler is found, it warns with the command that installs one, writes an
    /// empty PTX file and returns `None`. With `PROFILER_SKIP_PTX=1` in the environment it does so at once and says
    /// nothing: for `cargo check` and rust-analyzer, which need no PTX.
    ///
    /// # Errors
    ///
    /// As [`Kernels::build`], but for the missing compiler.
    pub fn build_or_warn(&self) -> Result<Option<Ptx>, Error> {
        self.tell_cargo(&rerun_if_env_changed(SKIP))?;
        if std::env::var_os(SKIP).is_some_and(|value| !value.is_empty() && value != "0") {
            self.tell_cargo(&self.leave_out()?.1)?;
            return Ok(None);
        }
        self.build_or_warn_with(&Search::from_environment())
    }

    /// Writes no PTX. Gives the name, and what tells cargo where it is.
    fn leave_out(&self) -> Result<(String, String), Error> {
        // A name that is no target is a mistake on every machine.
        nested::flags(&self.target)?;
        let info = CrateInfo::read(&self.folder()?, None)?;
        let name = self.name_or(&info);
        let path = self.write(&name, "")?;
        let told = path_variable(&name, &path);
        Ok((name, told))
    }

    fn build_or_warn_with(&self, search: &Search) -> Result<Option<Ptx>, Error> {
        self.watch_toolchain(search)?;
        match search.find() {
            Ok(toolchain) => self.build_with(&toolchain).map(Some),
            Err(error) => {
                let Some(command) = error.install_command() else { return Err(error) };
                let (name, path) = self.leave_out()?;
                let mut directives = format!(
                    "cargo::warning=no compiler for nvptx64, so {name} runs on the emulator only; \
                     install one with: {command}\n"
                );
                for path in search.watched() {
                    directives += &rerun_if_changed(&path);
                }
                self.tell_cargo(&(directives + &path))?;
                Ok(None)
            }
        }
    }

    fn build_with(&self, toolchain: &Toolchain) -> Result<Ptx, Error> {
        let folder = self.folder()?;
        let flags = nested::flags(&self.target)?;
        let info = CrateInfo::read(&folder, Some((toolchain, &flags)))?;
        let name = self.name_or(&info);
        // Told before compiling, so that a crate that fails to compile is watched too.
        let watched: String = info.sources.iter().map(|path| rerun_if_changed(path)).collect();
        // An update of the toolchain is another compiler under the same path.
        self.tell_cargo(&(watched + &rerun_if_changed(&toolchain.rustc)))?;
        let out_dir = self.output_folder()?;
        let mut features = self.features.clone();
        if let Some(dependency) = info.device_dependency.as_ref().filter(|_| self.profile_enabled) {
            features.push(format!("{dependency}/enabled"));
        }
        let outcome = Job {
            folder: &folder,
            info: &info,
            toolchain,
            target: &self.target,
            flags: &flags,
            alloc: self.alloc,
            features,
            target_root: &self.target_root(&out_dir),
            assembly: &out_dir.join(format!("{name}.unprocessed.ptx")),
        }
        .run()?;
        let processed = process::process(&outcome.text, &self.launch_bounds).map_err(|error| {
            Error::new(format!("the PTX of {name} cannot be processed: {error}"))
        })?;
        let text = process::raise_version(processed.text, self.ptx_version);
        let path = self.write(&name, &text)?;
        let mut directives: String =
            outcome.sources.iter().map(|path| rerun_if_changed(path)).collect();
        directives.extend(outcome.variables.iter().map(|name| rerun_if_env_changed(name)));
        let warned = processed.warnings.iter().map(String::as_str);
        for line in outcome.warnings.lines().chain(warned) {
            // Writing to a String cannot fail.
            let _ = writeln!(directives, "cargo::warning={line}");
        }
        directives += &path_variable(&name, &path);
        self.tell_cargo(&directives)?;
        let launch_bounds = processed.launch_bounds;
        Ok(Ptx { path, name, sites: processed.sites, launch_bounds })
    }

    fn watch_toolchain(&self, search: &Search) -> Result<(), Error> {
        let mut directives: String =
            [CARGO_VARIABLE, "RUSTUP_HOME"].into_iter().map(rerun_if_env_changed).collect();
        if let Some(cargo) = &search.named {
            directives += &rerun_if_changed(cargo);
        }
        self.tell_cargo(&directives)
    }

    fn folder(&self) -> Result<PathBuf, Error> {
        if self.folder.is_absolute() {
            return Ok(self.folder.clone());
        }
        Ok(variable("CARGO_MANIFEST_DIR")?.join(&self.folder))
    }

    fn output_folder(&self) -> Result<PathBuf, Error> {
        let folder = match &self.out_dir {
            Some(folder) => folder.clone(),
            None => variable("OUT_DIR")?,
        };
        std::fs::create_dir_all(&folder)
            .map_err(|source| Error::file("create", &folder, &source))?;
        // The compiler runs in another folder.
        folder.canonicalize().map_err(|source| Error::file("read", &folder, &source))
    }

    /// Cargo's target folder: the nearest one above OUT_DIR that bears cargo's tag.
    fn target_root(&self, out_dir: &Path) -> PathBuf {
        let tagged = || out_dir.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
        match (&self.target_dir, &self.out_dir) {
            // The compiler runs in another folder; a path that cannot be made absolute is left.
            (Some(folder), _) => std::path::absolute(folder).unwrap_or_else(|_| folder.clone()),
            (None, Some(_)) => out_dir.to_owned(),
            (None, None) => tagged().unwrap_or(out_dir).to_owned(),
        }
    }

    fn name_or(&self, info: &CrateInfo) -> String {
        self.name.clone().unwrap_or_else(|| info.library.clone())
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.output_folder()?.join(format!("{name}.ptx"));
        std::fs::write(&path, text).map_err(|source| Error::file("write", &path, &source))?;
        Ok(path)
    }

    /// Prints directives for cargo, in a build script.
    fn tell_cargo(&self, directives: &str) -> Result<(), Error> {
        if self.out_dir.is_some() {
            return Ok(());
        }
        std::io::stdout()
            .write_all(directives.as_bytes())
            .map_err(|source| Error::file("write", Path::new("standard output"), &source))
    }
}

/// PTX that was compiled and processed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ptx {
    /// The file: `OUT_DIR/NAME.ptx`.
    pub path: PathBuf,
    /// The NAME.
    pub name: String,
    /// The number of sites in the module.
    pub sites: usize,
    /// The entry symbols of kernels with launch bounds by `#[profiled]`, and the bounds, in the order of the
    /// source. There are none if [`Kernels::profile_enabled`] is off; use [`Kernels::launch_bounds`] then.
    pub launch_bounds: Vec<(String, LaunchBounds)>,
}

impl Ptx {
    /// Numbers the sites of a module. Takes the PTX text as the compiler wrote it, and returns it with
    ///
    /// * each site's id, dense from 1 in the order of the source (a name list takes as many
    ///   consecutive ids as its entry asks for), in the bytes of its static and in each instruction
    ///   that a site marker follows;
    /// * `.maxntid`, `.minnctapersm` and `.maxnreg` after the parameter lists of the kernels whose
    ///   site entries give these bounds;
    /// * a `bar.warp.sync` of the active lanes after each barrier, so that a clock read that follows is
    ///   not served before the warp blocks;
    /// * one declaration for a variable that an `asm!` declares in both copies of a profiled kernel's body;
    /// * a stamp as its first line: `// profiler-build: wire=1 sites=12 enabled=true`. `enabled` is
    ///   whether the module has any site or a launch descriptor.
    ///
    /// Everything else stays as it is.
    ///
    /// # Errors
    ///
    /// PTX that cannot be numbered: the message names the site, the kernel or the line.
    pub fn process(text: &str) -> Result<String, Error> {
        process::process(text, &[]).map(|processed| processed.text)
    }
}

/// The version, as `rustc -vV` prints it, of the compiler that [`Kernels::build`] would use; for tests that need
/// a compiler.
///
/// # Errors
///
/// No compiler, or PROFILER_NVPTX_CARGO names one that cannot be used.
pub fn compiler_version() -> Result<String, Error> {
    Search::from_environment().find().map(|toolchain| toolchain.version)
}

fn variable(name: &str) -> Result<PathBuf, Error> {
    std::env::var_os(name).map(PathBuf::from).ok_or_else(|| {
        Error::new(format!(
            "the environment variable {name} is not set; call Kernels::build from a build script, \
             or give Kernels::out_dir and an absolute folder"
        ))
    })
}

fn rerun_if_changed(path: &Path) -> String {
    format!("cargo::rerun-if-changed={}\n", path.display())
}

fn rerun_if_env_changed(variable: &str) -> String {
    format!("cargo::rerun-if-env-changed={variable}\n")
}

fn path_variable(name: &str, path: &Path) -> String {
    let variable = name.to_uppercase().replace('-', "_");
    format!("cargo::rustc-env=PROFILER_PTX_{variable}={}\n", path.display())
}

#[cfg(test)]
mod tests {
    use super::{Kernels, Path, Search};

    fn device_crate() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("src")).expect("created");
        std::fs::write(folder.path().join("src/lib.rs"), "").expect("written");
        let manifest = "[package]\nname = \"my-kernels\"\nedition = \"2024\"\n[workspace]\n";
        std::fs::write(folder.path().join("Cargo.toml"), manifest).expect("written");
        folder
    }

    fn no_toolchain(folder: &Path) -> Search {
        let system = folder.to_owned();
        Search { named: None, rustup: None, system, packages: folder.join("status") }
    }

    #[test]
    fn without_a_compiler_the_ptx_is_empty() {
        let folder = device_crate();
        let out = folder.path().join("out");
        let nothing = no_toolchain(folder.path());
        let kernels = Kernels::new(folder.path()).out_dir(&out);
        assert_eq!(kernels.build_or_warn_with(&nothing).expect("goes on"), None);
        assert_eq!(std::fs::read(out.join("my_kernels.ptx")).expect("written"), b"");
        let other = kernels.name("other");
        other.build_or_warn_with(&nothing).expect("goes on");
        assert!(out.join("other.ptx").is_file());
        let refused = other.target("90").build_or_warn_with(&nothing).expect_err("no target");
        assert!(refused.to_string().starts_with("Kernels::target is \"90\""), "{refused}");
    }

    #[test]
    fn a_folder_that_is_no_crate_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let nothing = no_toolchain(folder.path());
        let kernels = Kernels::new(folder.path()).out_dir(folder.path().join("out"));
        let refused = kernels.build_or_warn_with(&nothing).expect_err("there is no manifest");
        assert!(refused.to_string().contains("is not a device crate: it has no Cargo.toml;"));
    }
}
