//! Finds the library that `profiler record` loads into programs, for the program to carry.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs};

// Cargo builds the library before this.
use profiler_preload_library as _;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    let carried = out.join("libprofiler_preload.so");
    match find(&out) {
        Some(library) => {
            println!("cargo::rerun-if-changed={}", library.display());
            fs::copy(library, carried).expect("Cargo's folder can be written to");
        }
        // On other systems `profiler record` says what it needs.
        None => fs::write(carried, []).expect("Cargo's folder can be written to"),
    }
}

/// The newest file of the library in the folder where Cargo puts what it builds for the machine that builds.
fn find(out: &Path) -> Option<PathBuf> {
    let profile = out.ancestors().nth(3)?;
    if env::var_os("HOST") != env::var_os("TARGET") {
        return None;
    }
    // With `--target`, even of this machine, the program has a folder of its own, and the library has not.
    let without_target = || Some(profile.ancestors().nth(2)?.join(profile.file_name()?));
    newest(profile).or_else(|| newest(&without_target()?))
}

fn newest(profile: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(profile.join("deps")).ok()?;
    let files = files.filter_map(Result::ok).map(|entry| entry.path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libprofiler_preload_library") && name.ends_with(".so")
    };
    let changed = |path: &PathBuf| {
        fs::metadata(path).and_then(|it| it.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    files.filter(is_library).max_by_key(changed)
}
