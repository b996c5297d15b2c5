//! Runs the nested cargo that compiles a device crate to PTX text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use profiler_wire::site::fnv1a;

use crate::build_cache::BuildCache;
use crate::crate_info::CrateInfo;
use crate::environment::{self, PROFILE};
use crate::error::Error;
use crate::target::{architecture, require_known};
use crate::toolchain::{self, TRIPLE, Toolchain};

/// The oldest architecture whose PTX may name `%cluster_ctarank` (PTX ISA, "Special Registers").
const FIRST_WITH_CLUSTERS: u32 = 90;

/// A crate to compile, and how.
pub(crate) struct Job<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) info: &'a CrateInfo,
    pub(crate) toolchain: &'a Toolchain,
    /// The GPU architecture, such as `sm_80`.
    pub(crate) target: &'a str,
    /// The compiler's flags for it, see [`flags`].
    pub(crate) flags: &'a [String],
    /// Whether the crate `alloc` is there.
    pub(crate) alloc: bool,
    /// Features of the device crate.
    pub(crate) features: Vec<String>,
    /// The folder in which the shared target folders lie.
    pub(crate) target_root: &'a Path,
    /// The file for the PTX text.
    pub(crate) assembly: &'a Path,
}

/// The result of compiling.
pub(crate) struct Outcome {
    /// The PTX text.
    pub(crate) text: String,
    /// The compiler's warnings, rendered.
    pub(crate) warnings: String,
    /// The source files that went into it.
    pub(crate) sources: Vec<PathBuf>,
    /// The environment variables that the crate and those that it takes by path read while they were
    /// compiled.
    pub(crate) variables: BTreeSet<String>,
}

impl Job<'_> {
    /// Compiles, unless the result is [kept](BuildCache).
    pub(crate) fn run(&self) -> Result<Outcome, Error> {
        let target_dir = self.target_dir();
        let kept = BuildCache::new(&target_dir.join("kept"), self.key(), &self.info.sources);
        if let Some(outcome) = kept.read() {
            std::fs::write(self.assembly, &outcome.text)
                .map_err(|source| Error::file("write", self.assembly, &source))?;
            return Ok(outcome);
        }
        let begun = SystemTime::now();
        let outcome = self.compile(&target_dir)?;
        kept.write(&outcome, begun);
        Ok(outcome)
    }

    /// Everything that an outcome depends on, except files and variables.
    fn key(&self) -> String {
        let Self { flags, .. } = self;
        let Toolchain { cargo, rustc, version, build_core } = self.toolchain;
        // An update of the toolchain is another compiler under the same path, mostly of another version.
        let updated = rustc.metadata().and_then(|file| file.modified());
        format!(
            "{}\n{version}\n{cargo:?}\n{rustc:?}\n{updated:?}\n{build_core}\n{flags:?}\n{PROFILE:?}\n{:?}\n\
             {:?}\n{:?}\n{:?}\n",
            env!("CARGO_PKG_VERSION"),
            self.folder,
            self.features,
            self.alloc,
            self.info.packages,
        )
    }

    fn compile(&self, target_dir: &Path) -> Result<Outcome, Error> {
        let Toolchain { rustc, version, .. } = self.toolchain;
        // LLVM itself only warns, and then fails over everything that the default architecture lacks.
        if let Ok(printed) = toolchain::run(rustc, &["--target", TRIPLE, "--print", "target-cpus"])
        {
            require_known(self.target, version, &printed)?;
        }
        // A file of an earlier build must not pass for the result of this one.
        match std::fs::remove_file(self.assembly) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file("write", self.assembly, &source));
            }
            _ => {}
        }
        let mut command = self.command(target_dir);
        let output =
            command.output().map_err(|source| Error::run(&self.toolchain.cargo, &source))?;
        let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        if !output.status.success() || !self.assembly.is_file() {
            return Err(Error::compile(self.folder, &said));
        }
        let text = std::fs::read_to_string(self.assembly)
            .map_err(|source| Error::file("read", self.assembly, &source))?;
        let dep_info =
            target_dir.join(TRIPLE).join("release").join(format!("{}.d", self.info.library));
        let sources = std::fs::read_to_string(dep_info).map(|text| dependencies(&text));
        let variables = self.variables(target_dir);
        Ok(Outcome { text, warnings: said, sources: sources.unwrap_or_default(), variables })
    }

    /// The variables in rustc's own dep-info, which cargo's does not repeat. They may include those of an earlier
    /// build with other features: running the build script once too often does no harm.
    fn variables(&self, target_dir: &Path) -> BTreeSet<String> {
        // Macros are compiled for the machine that compiles.
        let folders =
            [target_dir.join(TRIPLE).join("release/deps"), target_dir.join("release/deps")];
        folders
            .iter()
            .filter_map(|folder| std::fs::read_dir(folder).ok())
            .flat_map(|folder| folder.filter_map(Result::ok))
            .map(|file| file.path())
            .filter(|path| is_dep_info(path, &self.info.libraries))
            .filter_map(|path| std::fs::read_to_string(path).ok())
            .flat_map(|text| variables(&text).map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }

    /// Shared by all device crates with the same compiler and flags, so that `core` is compiled
    /// once; apart from the outer build's folder, which the outer cargo keeps locked.
    fn target_dir(&self) -> PathBuf {
        let key = format!("{}\n{}", self.toolchain.version, self.flags.join("\n"));
        let key = fnv1a(key.as_bytes()) as u32;
        self.target_root.join("nvptx").join(format!("{}-{key:08x}", self.target))
    }

    fn command(&self, target_dir: &Path) -> Command {
        let mut command = Command::new(&self.toolchain.cargo);
        let jobs = std::env::var_os("NUM_JOBS");
        environment::of_device_crates(&mut command, &self.toolchain.rustc, self.flags);
        command.current_dir(self.folder);
        if let Some(jobs) = jobs {
            command.env("CARGO_BUILD_JOBS", jobs);
        }
        command
            .args(["rustc", "--quiet", "--color", "never", "--lib", "--release"])
            .args(["--target", TRIPLE, "--crate-type", "cdylib", "--manifest-path"])
            .arg(self.folder.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(target_dir);
        if self.toolchain.build_core {
            // Units that are compiled side by side: what of them a kernel uses becomes one module in the end.
            command.args(["--config", "profile.release.package.core.codegen-units=16"]);
            command.arg(if self.alloc { "-Zbuild-std=core,alloc" } else { "-Zbuild-std=core" });
        }
        if !self.features.is_empty() {
            command.arg("--features").arg(self.features.join(","));
        }
        // No linker is needed: with link-time optimisation the assembly is the whole module.
        let mut emit = std::ffi::OsString::from("--emit=asm=");
        emit.push(self.assembly);
        command.args(["--", "-Zno-link"]).arg(emit);
        command
    }
}

/// The compiler's flags for an architecture.
pub(crate) fn flags(target: &str) -> Result<Vec<String>, Error> {
    let mut flags = vec![
        format!("-Ctarget-cpu={target}"),
        // The pass copies collectives into both arms of a divergent branch.
        "-Zmir-enable-passes=-JumpThreading".to_owned(),
    ];
    if architecture(target)? >= FIRST_WITH_CLUSTERS {
        flags.push("--cfg=profiler_cluster".to_owned());
    }
    Ok(flags)
}

/// The files in cargo's dep-info: `target: file file`, with spaces in names after backslashes.
fn dependencies(dep_info: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in dep_info.lines() {
        let Some((_, list)) = line.split_once(": ") else { continue };
        let mut name = String::new();
        let mut characters = list.chars().peekable();
        while let Some(c) = characters.next() {
            match c {
                '\\' if characters.peek() == Some(&' ') => {
                    name.push(' ');
                    characters.next();
                }
                ' ' => files.push(std::mem::take(&mut name)),
                c => name.push(c),
            }
        }
        files.push(name);
    }
    files.retain(|file| !file.is_empty());
    files.into_iter().map(PathBuf::from).filter(|file| file.is_file()).collect()
}

/// Whether a file is rustc's dep-info of one of these libraries: `library.d` or `library-hash.d`.
fn is_dep_info(path: &Path, libraries: &[String]) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let library = stem.split_once('-').map_or(stem, |(library, _)| library);
    path.extension().is_some_and(|extension| extension == "d")
        && libraries.iter().any(|known| known == library)
}

/// The variables in rustc's dep-info: `# env-dep:NAME=VALUE`, without a value where it was not set. Of
/// what the nested build is not given, the user's own setting has no effect.
fn variables(dep_info: &str) -> impl Iterator<Item = &str> {
    dep_info
        .lines()
        .filter_map(|line| line.strip_prefix("# env-dep:"))
        .map(|variable| variable.split_once('=').map_or(variable, |(name, _)| name))
        .filter(|&name| !environment::is_of_the_outer_build(name))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{dependencies, is_dep_info, variables};

    #[test]
    fn dep_info_lists_the_variables_that_a_user_may_set() {
        let text = "/x/k.ptx: src/lib.rs\n\n# env-dep:TILE=64\n# env-dep:CARGO_PKG_NAME=k\n\
                    # env-dep:UNSET\n# env-dep:OUT_DIR=/x\n# checksum:blake3=0 file\n";
        assert_eq!(variables(text).collect::<Vec<_>>(), ["TILE", "UNSET"]);
        let libraries = ["my_kernels".to_owned()];
        for (file, expected) in [
            ("my_kernels.d", true),
            ("my_kernels-0123456789abcdef.d", true),
            ("my_kernels.ptx", false),
            ("libmy_kernels-0123456789abcdef.rlib", false),
            ("core-0123456789abcdef.d", false),
        ] {
            assert_eq!(is_dep_info(&Path::new("/x").join(file), &libraries), expected, "{file}");
        }
    }

    #[test]
    fn dep_info_lists_existing_files_with_spaces_in_their_names() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("two words.rs");
        std::fs::write(&file, "").expect("written");
        let escaped = file.display().to_string().replace(' ', "\\ ");
        let found = dependencies(&format!("/x/libk.ptx: {escaped} /no/such.rs\n"));
        assert_eq!(found, [file]);
    }
}
