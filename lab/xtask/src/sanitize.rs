//! Runs tests under a sanitizer: what is `unsafe` and needs no GPU, with every GPU thread of the
//! emulator a thread of the operating system, as no sanitizer follows a coroutine's switch of stacks
//! by itself; and with coroutines what there is for them alone. `lab/sanitizers.md` says what that
//! finds and what not.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use xtask::bundle::{self, Built};
use xtask::command::Run;
use xtask::{Error, target, tools};

use crate::lab;

/// A sanitizer.
struct Sanitizer {
    /// As the command and rustc call it.
    name: &'static str,
    /// As its library is called.
    library: &'static str,
    /// More for the compiler where GPU threads are the system's.
    flags: &'static str,
    /// Tests that it must fail.
    planted: &'static [&'static str],
}

const SANITIZERS: [Sanitizer; 2] = [
    Sanitizer { name: "address", library: "asan", flags: "", planted: &[] },
    Sanitizer {
        name: "thread",
        library: "tsan",
        flags: " --cfg=profiler_races",
        planted: &["races::planted_race_between_warps", "races::planted_race_between_blocks"],
    },
];

/// What a GPU thread of the emulator is.
#[derive(Clone, Copy)]
enum Threads {
    OfTheSystem,
    Coroutines,
}

/// What has `unsafe`, runs on the host, and has tests.
const PACKAGES: [&str; 4] =
    ["profiler-emulator", "profiler-kernel", "profiler-cuda-driver", "profiler-host"];

/// Random programs for each of three tests, each thread of which is the system's: they take a minute.
const PROGRAMS: &str = "24";

/// Programs that need a GPU and have `unsafe`, beside the examples and the tests that need one.
const GPU_PROGRAMS: [(&str, &str); 3] = [
    ("profiler-truth", "truth"),
    ("profiler-agreement", "agreement"),
    ("profiler-bench", "record-cost"),
];

/// How what needs a GPU is built. With some optimisation, as code without it is several times larger and
/// is to be carried to another machine; and this crate's kernel with more: a guard on the stack for each of
/// its thousand regions is more than the compiler has memory for with AddressSanitizer.
const GPU_PROFILE: [&str; 4] = [
    "--config=profile.dev.opt-level=1",
    "--config=profile.dev.debug=false",
    "--config=profile.dev.strip=true",
    "--config=profile.dev.package.test-kernels.opt-level=3",
];

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A compiler with the source of the standard library, which must be instrumented too.
struct Compiler {
    cargo: PathBuf,
    rustc: PathBuf,
    sysroot: PathBuf,
}

/// Runs the tests under the sanitizers named, or both.
pub(crate) fn run(arguments: &[String]) -> Result<(), Error> {
    let names = SANITIZERS.map(|sanitizer| sanitizer.name);
    if let Some(unknown) = arguments.iter().find(|argument| !names.contains(&argument.as_str())) {
        return Err(
            format!("`{unknown}` is no sanitizer; there are {}", names.join(" and ")).into()
        );
    }
    let compiler = Compiler::find()?;
    for sanitizer in SANITIZERS {
        if arguments.is_empty() || arguments.iter().any(|argument| argument == sanitizer.name) {
            compiler.test(&sanitizer, &compiler.runtime(sanitizer.library)?)?;
        }
    }
    Ok(())
}

/// Collects in target/gpu-sanitize the programs that talk to a GPU, built with each sanitizer.
pub(crate) fn gpu_bundle() -> Result<(), Error> {
    let compiler = Compiler::find()?;
    let tools = tools::install(tools::Extent::Tests)?;
    let folder = target().join("gpu-sanitize");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    for sanitizer in SANITIZERS {
        let runtime = compiler.runtime(sanitizer.library)?;
        let programs = folder.join(sanitizer.name);
        std::fs::create_dir_all(&programs)?;
        let built = |arguments: &[&str]| {
            let messages = compiler
                .cargo(&sanitizer, &runtime, Threads::OfTheSystem, arguments)
                .args(GPU_PROFILE)
                .args(["--message-format", "json-render-diagnostics"])
                .envs(tools.variables())
                .output()?;
            Built::read(&messages)
        };
        // One after the other, as a test and an example may have one name.
        let mut tests = vec!["test", "--no-run"];
        tests.extend(["--package", bundle::TEST_PACKAGE]);
        tests.extend(bundle::GPU_TESTS.iter().flat_map(|test| ["--test", test]));
        let tests = built(&tests)?;
        for name in bundle::GPU_TESTS {
            std::fs::copy(tests.binary(name)?, programs.join(format!("test.{name}")))?;
        }
        let examples = built(&["build", "--package", bundle::PACKAGE, "--examples"])?;
        for name in bundle::examples()? {
            std::fs::copy(examples.binary(&name)?, programs.join(name))?;
        }
        let manifest = lab().join("Cargo.toml").display().to_string();
        let mut others = vec!["build", "--bins", "--manifest-path", &manifest];
        others.extend(GPU_PROGRAMS.iter().flat_map(|(package, _)| ["--package", package]));
        let others = built(&others)?;
        for (_, name) in GPU_PROGRAMS {
            std::fs::copy(others.binary(name)?, programs.join(name))?;
        }
    }
    std::fs::write(folder.join("run.sh"), include_str!("sanitize.sh"))?;
    Run::new("chmod").arg("755").arg(folder.join("run.sh")).run()?;
    std::fs::write(folder.join("VERSION"), bundle::version()?)?;
    println!("{}: run.sh OUT_DIR runs it", folder.display());
    Ok(())
}

impl Compiler {
    fn find() -> Result<Self, Error> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(format!(
                "sanitizers are run for {TARGET} only; run this on such a machine"
            )
            .into());
        }
        let toolchains = ["/usr/bin".into(), home("RUSTUP_HOME", ".rustup").join("toolchains")];
        let [system, rustup] = toolchains;
        let installed = std::fs::read_dir(rustup).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = installed.map(|entry| entry.path().join("bin")).collect();
        folders.sort();
        folders.push(system);
        // Nightly is the last by its name among rustup's, and made for this.
        let with_source = folders.into_iter().rev().find_map(|folder| {
            let (cargo, rustc) = (folder.join("cargo"), folder.join("rustc"));
            let sysroot = sysroot(&rustc).ok()?;
            let source = sysroot.join("lib/rustlib/src/rust/library/Cargo.lock");
            source.is_file().then_some(Self { cargo, rustc, sysroot })
        });
        with_source.ok_or_else(|| {
            "no compiler has the source of the standard library, which a sanitizer needs; install \
             one: `rustup toolchain install nightly --component rust-src`, or on Debian `apt-get \
             install rustc-web cargo-web rust-web-src`"
                .into()
        })
    }

    /// The sanitizer's library: this compiler's own, or that of the compiler that runs this, which
    /// may be another. Distributions leave it out of theirs.
    fn runtime(&self, library: &str) -> Result<PathBuf, Error> {
        let default = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let sysroots = [Some(self.sysroot.clone()), sysroot(Path::new(&default)).ok()];
        let ending = format!("_rt.{library}.a");
        let is_library = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&ending))
        };
        let found = sysroots.into_iter().flatten().find_map(|sysroot| {
            let folder = sysroot.join("lib/rustlib").join(TARGET).join("lib");
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).find(is_library)
        });
        found.ok_or_else(|| {
            format!(
                "no compiler here has the library librustc-*{ending}; rustup's have it: `rustup \
                 toolchain install stable`"
            )
            .into()
        })
    }

    fn test(&self, sanitizer: &Sanitizer, runtime: &Path) -> Result<(), Error> {
        let packages = PACKAGES.iter().flat_map(|package| ["--package", package]);
        let tests = |threads| self.cargo(sanitizer, runtime, threads, &["test"]);
        tests(Threads::OfTheSystem)
            .args(["--lib", "--tests", "--no-fail-fast"])
            .args(packages)
            .run()?;
        // The record path by every strategy into every buffer.
        tests(Threads::OfTheSystem)
            .arg("--manifest-path")
            .arg(lab().join("Cargo.toml"))
            .args(["--package", "profiler-agreement", "--test", "emulator", "records"])
            .envs([("PROPTEST_CASES".to_owned(), PROGRAMS.into())])
            .run()?;
        tests(Threads::Coroutines)
            .args(["--package", "profiler-emulator", "--test", "emulator", "--"])
            .args(["overflow::", "guards::"])
            .run()?;
        for planted in sanitizer.planted {
            let (succeeds, printed) = tests(Threads::OfTheSystem)
                .args(["--package", "profiler-emulator", "--test", "emulator", "--"])
                .args(["--ignored", "--exact", planted])
                .outcome()?;
            if succeeds || !printed.contains("WARNING: ThreadSanitizer: data race") {
                return Err(format!("{} did not see the race in {planted}", sanitizer.name).into());
            }
        }
        Ok(())
    }

    /// Cargo with these arguments, and all that makes it build with the sanitizer.
    fn cargo(
        &self,
        sanitizer: &Sanitizer,
        runtime: &Path,
        threads: Threads,
        arguments: &[&str],
    ) -> Run {
        let more = match threads {
            Threads::OfTheSystem => format!(" --cfg=profiler_os_threads{}", sanitizer.flags),
            Threads::Coroutines => String::new(),
        };
        let flags = format!(
            "-Zsanitizer={} -Zexternal-clangrt \
             -Zpre-link-args=-Wl,--whole-archive,{},--no-whole-archive{more}",
            sanitizer.name,
            runtime.display(),
        );
        // Tests ask for more memory than there is, and expect an error. What coroutines are tested for is
        // what this repository's own handler says of a fault, after which a fault ends the process.
        let options = match threads {
            Threads::OfTheSystem => "allocator_may_return_null=1",
            Threads::Coroutines => "allocator_may_return_null=1:handle_segv=0",
        };
        let variable = |name: &str, value: OsString| (name.to_owned(), value);
        Run::new(&self.cargo)
            .args(arguments)
            .args(["-Zbuild-std", "--target", TARGET, "--target-dir"])
            .arg(target().join("sanitize").join(sanitizer.name))
            .envs([
                // The flags are there for nightly compilers; this lets others take them.
                variable("RUSTC_BOOTSTRAP", "1".into()),
                variable("RUSTC", self.rustc.clone().into()),
                variable("RUSTFLAGS", flags.into()),
                variable("RUST_TEST_THREADS", "2".into()),
                variable("ASAN_OPTIONS", options.into()),
                variable("TSAN_OPTIONS", options.into()),
            ])
    }
}

/// Where a compiler's libraries lie.
fn sysroot(rustc: &Path) -> Result<PathBuf, Error> {
    let printed = Run::new(rustc).args(["--print", "sysroot"]).output()?;
    Ok(printed.trim().into())
}

fn home(variable: &str, folder: &str) -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(folder));
    std::env::var_os(variable).map(PathBuf::from).or_else(home).unwrap_or_default()
}
