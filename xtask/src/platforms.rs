//! Type-checks what runs on other systems than this.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use xtask::command::Run;
use xtask::{Error, target};

/// The systems.
const TARGETS: [&str; 3] =
    ["x86_64-pc-windows-msvc", "aarch64-apple-darwin", "aarch64-unknown-linux-gnu"];
/// The libraries and the program that people use, and what these depend on.
const PACKAGES: [&str; 4] = ["profiler-host", "profiler-cli", "profiler-build", "profiler-ptx"];

/// Checks all, with a standard library of its own source: no other is needed.
pub(crate) fn check() -> Result<(), Error> {
    let toolchain = toolchain()?;
    let folder = target().join("platforms");
    std::fs::create_dir_all(&folder)?;
    for target in TARGETS {
        let set = |name: &str, value: &str| (name.to_owned(), OsString::from(value));
        Run::new(toolchain.join("bin/cargo"))
            .args(["check", "--locked", "--target", target])
            .args(["-Zbuild-std=std,panic_abort", "-Zwarnings", "--config"])
            .arg("build.warnings=\"deny\"")
            .arg("--target-dir")
            .arg(&folder)
            .args(PACKAGES.iter().flat_map(|package| ["--package", package]))
            .envs([
                ("RUSTC".to_owned(), toolchain.join("bin/rustc").into()),
                set("RUSTC_BOOTSTRAP", "1"),
                set("RUSTFLAGS", "-Zno-codegen"),
                set("CARGO_PROFILE_DEV_DEBUG", "0"),
                set("PROFILER_SKIP_PTX", "1"),
            ])
            .run()?;
    }
    Ok(())
}

/// The folder of a toolchain that has the source of the standard library.
fn toolchain() -> Result<PathBuf, Error> {
    let sysroot = |arguments: &[&str]| Run::new("rustc").args(arguments).first_line();
    let found = [
        Some("/usr".to_owned()),
        sysroot(&["--print", "sysroot"]),
        sysroot(&["+nightly", "--print", "sysroot"]),
    ];
    let has_source = |folder: &PathBuf| Path::new(folder).join(SOURCE).is_dir();
    let found = found.into_iter().flatten().map(PathBuf::from).find(has_source);
    found.ok_or_else(|| "no toolchain has the source of the standard library".into())
}

/// The source of the standard library in a toolchain.
const SOURCE: &str = "lib/rustlib/src/rust/library/std";
