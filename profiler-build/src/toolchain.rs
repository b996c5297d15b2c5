//! Finds a toolchain that can compile for nvptx64.
//!
//! It needs a rustc no older than this crate's own, and either the library source of that very
//! rustc (`rust-src`, from which `core` is built) or a `core` installed for nvptx64. Unstable
//! features are switched on by `RUSTC_BOOTSTRAP`, so a stable toolchain serves as well as a nightly.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment;
use crate::error::Error;

/// The target that device crates are compiled for.
pub(crate) const TRIPLE: &str = "nvptx64-nvidia-cuda";
/// Names a cargo to use, before all others.
pub(crate) const CARGO_VARIABLE: &str = "PROFILER_NVPTX_CARGO";

/// A toolchain that serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toolchain {
    pub(crate) cargo: PathBuf,
    pub(crate) rustc: PathBuf,
    /// The output of `rustc -vV`; part of the key of the target folder.
    pub(crate) version: String,
    /// Whether `core` is built from source; otherwise it is installed.
    pub(crate) build_core: bool,
}

/// The places to search.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    /// The cargo that the user named.
    pub(crate) named: Option<PathBuf>,
    /// The folder of rustup's toolchains.
    pub(crate) rustup: Option<PathBuf>,
    /// The prefix of the toolchain that the system's packages install.
    pub(crate) system: PathBuf,
    /// The state of Debian's package manager; on other systems a path without a file.
    pub(crate) packages: PathBuf,
}

/// A folder with a toolchain in it, and how good a candidate it looks.
struct Candidate {
    prefix: PathBuf,
    name: String,
    has_source: bool,
    has_target: bool,
}

impl Search {
    /// As the environment says.
    pub(crate) fn from_environment() -> Self {
        let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let rustup = folder("RUSTUP_HOME").map(PathBuf::from).or_else(|| {
            let home: OsString = folder("HOME").or_else(|| folder("USERPROFILE"))?;
            Some(Path::new(&home).join(".rustup"))
        });
        Self {
            named: folder(CARGO_VARIABLE).map(PathBuf::from),
            rustup: rustup.map(|home| home.join("toolchains")),
            system: PathBuf::from("/usr"),
            packages: PathBuf::from("/var/lib/dpkg/status"),
        }
    }

    /// The first toolchain that serves: the named one; of rustup's, those with library source
    /// (nightly first), then those with the target; the system's.
    pub(crate) fn find(&self) -> Result<Toolchain, Error> {
        if let Some(cargo) = &self.named {
            return named(cargo).map_err(|reason| {
                Error::new(format!(
                    "PROFILER_NVPTX_CARGO names {}, which cannot be used: {reason}; point it at a cargo whose \
                     rustc stands beside it and has rust-src, or unset it",
                    cargo.display()
                ))
            });
        }
        let mut rejected = Vec::new();
        for candidate in self.candidates() {
            match candidate.check() {
                Ok(toolchain) => return Ok(toolchain),
                Err(reason) => rejected.push(reason),
            }
        }
        Err(Error::no_compiler(self.install_command(), &rejected))
    }

    /// Files that change when a toolchain or a part of one is installed: rustup's hash of each
    /// toolchain, its list of components, the package manager's state. Small ones, as cargo looks at
    /// all files of a folder, and only existing ones, as a missing one means "run at every build": that
    /// is wanted only if rustup is to install the compiler and has left no hash yet.
    pub(crate) fn watched(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self
            .candidates()
            .iter()
            .flat_map(|candidate| {
                ["lib/rustlib/components", "bin/rustc"].map(|file| candidate.prefix.join(file))
            })
            .collect();
        paths.push(self.packages.clone());
        paths.retain(|path| path.exists());
        let home = self.rustup.as_deref().and_then(Path::parent);
        let hashes = home.map(|home| home.join("update-hashes"));
        paths.extend(hashes.filter(|path| self.is_rustups_to_install() || path.exists()));
        paths
    }

    fn candidates(&self) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = self
            .rustup
            .iter()
            .filter_map(|toolchains| std::fs::read_dir(toolchains).ok())
            .flat_map(|folder| folder.filter_map(Result::ok))
            .map(|toolchain| Candidate::new(toolchain.path()))
            .collect();
        candidates.sort_by_cached_key(|candidate| {
            let nightly = candidate.name.starts_with("nightly");
            (!candidate.has_source, !candidate.has_target, !nightly, candidate.name.clone())
        });
        candidates.push(Candidate::new(self.system.clone()));
        candidates
    }

    fn install_command(&self) -> &'static str {
        if self.is_rustups_to_install() {
            "rustup toolchain install nightly --component rust-src"
        } else {
            "apt-get install rustc-web cargo-web rust-web-src"
        }
    }

    /// Whether the command that installs a compiler is one of rustup's.
    fn is_rustups_to_install(&self) -> bool {
        let has_rustup = self.rustup.as_ref().is_some_and(|toolchains| toolchains.is_dir());
        has_rustup || !self.packages.is_file()
    }
}

impl Candidate {
    fn new(prefix: PathBuf) -> Self {
        let name = prefix.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self {
            has_source: library_source(&prefix).is_dir(),
            has_target: installed_target(&prefix).is_dir(),
            name,
            prefix,
        }
    }

    fn check(&self) -> Result<Toolchain, String> {
        let place = self.prefix.display();
        let tool = |name: &str| {
            let path = self.prefix.join("bin").join(format!("{name}{EXE_SUFFIX}"));
            if path.is_file() { Ok(path) } else { Err(format!("{place}: has no {name}")) }
        };
        let (cargo, rustc) = (tool("cargo")?, tool("rustc")?);
        if !self.has_source && !self.has_target {
            return Err(format!("{place}: has neither rust-src nor the target {TRIPLE}"));
        }
        let version = version(&rustc).map_err(|reason| format!("{place}: {reason}"))?;
        Ok(Toolchain { cargo, rustc, version, build_core: self.has_source })
    }
}

/// The toolchain of the cargo that the user named.
fn named(cargo: &Path) -> Result<Toolchain, String> {
    if !cargo.is_file() {
        return Err("there is no such file".to_owned());
    }
    let rustc = cargo.with_file_name(format!("rustc{EXE_SUFFIX}"));
    if !rustc.is_file() {
        return Err("no rustc stands beside it".to_owned());
    }
    let version = version(&rustc)?;
    let sysroot = PathBuf::from(run(&rustc, &["--print", "sysroot"])?.trim());
    let build_core = library_source(&sysroot).is_dir();
    if !build_core && !installed_target(&sysroot).is_dir() {
        return Err(format!("{} has neither rust-src nor the target {TRIPLE}", sysroot.display()));
    }
    Ok(Toolchain { cargo: cargo.to_owned(), rustc, version, build_core })
}

fn library_source(sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib/src/rust/library/core")
}

fn installed_target(sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib").join(TRIPLE).join("lib")
}

/// The output of `rustc -vV`, if that compiler is no older than this crate's minimum.
fn version(rustc: &Path) -> Result<String, String> {
    let text = run(rustc, &["-vV"])?;
    let release = text.lines().find_map(|line| line.strip_prefix("release: ")).unwrap_or_default();
    let minimum = env!("CARGO_PKG_RUST_VERSION");
    if numbers(release) < numbers(minimum) {
        return Err(format!("is Rust {release}, and the profiler needs {minimum}"));
    }
    Ok(text)
}

/// Major and minor of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// The standard output of a short command.
pub(crate) fn run(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    environment::clean(&mut command);
    let output = command
        .args(arguments)
        .output()
        .map_err(|source| format!("cannot run {}: {source}", program.display()))?;
    if !output.status.success() {
        return Err(format!(
            "{} failed: {}",
            program.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    //! The search, in folders made for the test; compilers are shell scripts.

    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::{Search, Toolchain};
    use crate::error::Error;

    /// The contents of a toolchain folder.
    #[derive(Clone, Copy)]
    enum Has {
        Source,
        Target,
        Nothing,
    }

    fn install(prefix: &Path, version: &str, has: Has) {
        std::fs::create_dir_all(prefix.join("bin")).expect("created");
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = --print ]; then echo {}; else echo release: {version}; fi\n",
            prefix.display()
        );
        for tool in ["cargo", "rustc"] {
            let path = prefix.join("bin").join(tool);
            std::fs::write(&path, &script).expect("written");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
        }
        let folder = match has {
            Has::Source => "lib/rustlib/src/rust/library/core",
            Has::Target => "lib/rustlib/nvptx64-nvidia-cuda/lib",
            Has::Nothing => "lib",
        };
        std::fs::create_dir_all(prefix.join(folder)).expect("created");
    }

    fn find(root: &Path) -> Result<Toolchain, Error> {
        search(root).find()
    }

    fn search(root: &Path) -> Search {
        Search {
            named: None,
            rustup: Some(root.join("toolchains")),
            system: root.join("usr"),
            packages: root.join("status"),
        }
    }

    #[test]
    fn nightly_with_source_goes_before_stable_before_target_before_system() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        let toolchains = root.join("toolchains");
        install(&root.join("usr"), "1.96.0", Has::Source);
        assert_eq!(find(root).expect("found").cargo, root.join("usr/bin/cargo"));
        install(&toolchains.join("1.97.0"), "1.97.0", Has::Target);
        let found = find(root).expect("found");
        assert_eq!(found.rustc, toolchains.join("1.97.0/bin/rustc"));
        assert!(!found.build_core);
        install(&toolchains.join("stable-x86_64"), "1.98.0", Has::Source);
        let found = find(root).expect("found");
        assert_eq!(found.rustc, toolchains.join("stable-x86_64/bin/rustc"));
        assert!(found.build_core);
        install(&toolchains.join("nightly-x86_64"), "1.99.0-nightly", Has::Source);
        assert_eq!(find(root).expect("found").version.trim(), "release: 1.99.0-nightly");
    }

    #[test]
    fn what_does_not_serve_is_passed_over_and_named_with_its_reason() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        install(&root.join("toolchains/old"), "1.63.0", Has::Source);
        install(&root.join("toolchains/bare"), "1.97.0", Has::Nothing);
        let error = find(root).expect_err("nothing here serves");
        assert_eq!(
            error.install_command(),
            Some("rustup toolchain install nightly --component rust-src")
        );
        let rejected = error.to_string();
        assert!(rejected.contains("old: is Rust 1.63.0, and the profiler needs 1."), "{rejected}");
        assert!(rejected.contains("bare: has neither rust-src nor the target"), "{rejected}");
        assert!(rejected.contains("usr: has no cargo"), "{rejected}");
    }

    #[test]
    fn the_named_cargo_goes_first_and_never_falls_through() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        install(&root.join("usr"), "1.96.0", Has::Source);
        install(&root.join("own"), "1.96.1", Has::Source);
        let mut search = search(root);
        search.named = Some(root.join("own/bin/cargo"));
        assert_eq!(search.find().expect("found").rustc, root.join("own/bin/rustc"));
        search.named = Some(root.join("none/bin/cargo"));
        let error = search.find().expect_err("no such file");
        assert!(!error.is_no_compiler(), "{error}");
        let reason = "which cannot be used: there is no such file; point it at a cargo";
        assert!(error.to_string().contains(reason), "{error}");
        install(&root.join("bare"), "1.96.0", Has::Nothing);
        search.named = Some(root.join("bare/bin/cargo"));
        let error = search.find().expect_err("nothing to compile core from").to_string();
        assert!(error.contains("has neither rust-src"), "{error}");
    }

    #[test]
    fn what_is_watched_exists_and_changes_when_a_toolchain_is_installed() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        std::fs::create_dir(root.join("update-hashes")).expect("created");
        install(&root.join("toolchains/bare"), "1.97.0", Has::Nothing);
        let watched = search(root).watched();
        assert!(watched.contains(&root.join("update-hashes")), "{watched:?}");
        assert!(watched.contains(&root.join("toolchains/bare/bin/rustc")), "{watched:?}");
        assert!(watched.iter().all(|path| path.exists()), "{watched:?}");
    }

    #[test]
    fn a_rustup_that_is_yet_to_install_something_is_watched() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        let hashes = root.join("update-hashes");
        let command = || search(root).find().expect_err("nothing is installed").to_string();
        assert!(command().contains("rustup toolchain install"), "{}", command());
        assert_eq!(search(root).watched(), [hashes.as_path()]);
        // Debian's packages are the remedy there, and their state says when they are installed.
        std::fs::write(root.join("status"), "").expect("written");
        assert!(command().contains("apt-get install"), "{}", command());
        assert_eq!(search(root).watched(), [root.join("status")]);
        std::fs::create_dir(root.join("toolchains")).expect("created");
        assert!(command().contains("rustup toolchain install"), "{}", command());
        assert_eq!(search(root).watched(), [root.join("status"), hashes]);
    }
}
