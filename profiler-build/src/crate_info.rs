//! The facts that cargo knows about a device crate.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::environment;
use crate::error::Error;
use crate::toolchain::{TRIPLE, Toolchain};

/// The crate whose feature `enabled` makes kernels record.
const DEVICE_CRATE: &str = "profiler-device";

/// A device crate.
#[derive(Debug)]
pub(crate) struct CrateInfo {
    /// The name of its library, `-` replaced by `_`.
    pub(crate) library: String,
    /// The name by which it knows profiler-device, if it depends on it.
    pub(crate) device_dependency: Option<String>,
    /// Manifests and source folders of the crate and of all crates that it takes by path, and the
    /// configuration of cargo for them.
    pub(crate) sources: Vec<PathBuf>,
    /// The names of the libraries of these crates, `-` replaced by `_`.
    pub(crate) libraries: Vec<String>,
    /// Cargo's ids of the crate and its dependencies: names, versions and sources.
    pub(crate) packages: BTreeSet<String>,
}

impl CrateInfo {
    /// Asks cargo, as it compiles: with a toolchain and the flags of its compiler. Without them only the name
    /// is known: the outer cargo is asked, and no dependency is resolved.
    pub(crate) fn read(
        folder: &Path,
        compiler: Option<(&Toolchain, &[String])>,
    ) -> Result<Self, Error> {
        let bad = |reason: &str| Error::not_a_device_crate(folder, reason);
        let manifest = folder.join("Cargo.toml");
        if !manifest.is_file() {
            return Err(bad("it has no Cargo.toml"));
        }
        let metadata = metadata(folder, &manifest, compiler)?;
        let packages: HashMap<&str, &Value> = array(&metadata["packages"])
            .filter_map(|package| Some((package["id"].as_str()?, package)))
            .collect();
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let own = canonical(&manifest);
        let Some((&id, package)) = packages.iter().find(|(_, package)| {
            package["manifest_path"].as_str().is_some_and(|path| canonical(Path::new(path)) == own)
        }) else {
            return Err(bad("cargo does not list it as a package"));
        };
        let library = first_library(package, |kind| matches!(kind, "lib" | "rlib" | "cdylib"))
            .ok_or_else(|| bad("it has no library"))?;
        let device_dependency = dependency_on_device(package).and_then(|dependency| {
            dependency["rename"].as_str().or(dependency["name"].as_str()).map(str::to_owned)
        });
        let used = used_by(id, &metadata, &packages);
        let mut sources = sources(&metadata, &used);
        sources.extend(configuration(&canonical(folder)));
        Ok(Self {
            library,
            device_dependency,
            sources,
            libraries: taken_by_path(&used)
                .filter_map(|package| first_library(package, is_library))
                .collect(),
            packages: used
                .iter()
                .filter_map(|package| package["id"].as_str().map(str::to_owned))
                .collect(),
        })
    }
}

/// The name of a package's first library of one of the kinds, `-` replaced by `_`.
fn first_library(package: &Value, is_meant: impl Fn(&str) -> bool) -> Option<String> {
    let has_kind =
        |target: &&Value| array(&target["kind"]).filter_map(Value::as_str).any(&is_meant);
    let target = array(&package["targets"]).find(has_kind)?;
    Some(target["name"].as_str()?.replace('-', "_"))
}

/// Whether others link or load a target of this kind.
fn is_library(kind: &str) -> bool {
    kind.ends_with("lib") || kind == "proc-macro"
}

/// The packages without a registry or repository after them: those can change between builds.
fn taken_by_path<'m>(used: &[&'m Value]) -> impl Iterator<Item = &'m Value> {
    used.iter().copied().filter(|package| package["source"].is_null())
}

/// The files by which a cargo that runs in `folder` is configured, from there upwards: they may set
/// variables that a crate reads.
fn configuration(folder: &Path) -> impl Iterator<Item = PathBuf> {
    folder
        .ancestors()
        .flat_map(|folder| ["config.toml", "config"].map(|name| folder.join(".cargo").join(name)))
        .filter(|path| path.is_file())
}

/// The dependency of a package on profiler-device.
fn dependency_on_device(package: &Value) -> Option<&Value> {
    array(&package["dependencies"])
        .filter(|dependency| dependency["kind"].is_null())
        .find(|dependency| dependency["name"] == DEVICE_CRATE)
}

/// Runs `cargo metadata`.
fn metadata(
    folder: &Path,
    manifest: &Path,
    compiler: Option<(&Toolchain, &[String])>,
) -> Result<Value, Error> {
    let mut command = match compiler {
        Some((toolchain, flags)) => {
            let mut command = Command::new(&toolchain.cargo);
            environment::of_device_crates(&mut command, &toolchain.rustc, flags);
            command
        }
        None => {
            let outer = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut command = Command::new(outer);
            environment::clean(&mut command);
            command
        }
    };
    command.args(["metadata", "--format-version", "1", "--color", "never", "--manifest-path"]);
    command.arg(manifest).current_dir(folder);
    match compiler {
        Some(_) => command.args(["--filter-platform", TRIPLE]),
        None => command.arg("--no-deps"),
    };
    let output =
        command.output().map_err(|source| Error::run(Path::new(command.get_program()), &source))?;
    let bad = |reason: &str| Error::not_a_device_crate(folder, reason);
    if !output.status.success() {
        return Err(bad(&format!(
            "cargo says\n{}\n",
            String::from_utf8_lossy(&output.stderr).trim_end()
        )));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|source| bad(&format!("cargo metadata cannot be read ({source})")))
}

/// The package `root` and those that it depends on, as far as dependencies are resolved.
fn used_by<'m>(
    root: &'m str,
    metadata: &'m Value,
    packages: &HashMap<&str, &'m Value>,
) -> Vec<&'m Value> {
    let nodes: HashMap<&str, &Value> = array(&metadata["resolve"]["nodes"])
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let mut used = Vec::new();
    let mut seen = HashSet::from([root]);
    let mut waiting = vec![root];
    while let Some(id) = waiting.pop() {
        for next in nodes.get(id).into_iter().flat_map(|node| array(&node["dependencies"])) {
            if let Some(next) = next.as_str().filter(|&next| seen.insert(next)) {
                waiting.push(next);
            }
        }
        used.extend(packages.get(id));
    }
    used
}

/// The files of packages that are taken by path.
fn sources(metadata: &Value, used: &[&Value]) -> Vec<PathBuf> {
    let mut sources = Vec::new();
    if let Some(workspace) = metadata["workspace_root"].as_str() {
        sources.extend(["Cargo.toml", "Cargo.lock"].map(|file| Path::new(workspace).join(file)));
    }
    for package in taken_by_path(used) {
        sources.extend(package["manifest_path"].as_str().map(PathBuf::from));
        for target in array(&package["targets"]) {
            let kinds: Vec<&str> = array(&target["kind"]).filter_map(Value::as_str).collect();
            let Some(path) = target["src_path"].as_str().map(Path::new) else { continue };
            if kinds.contains(&"custom-build") {
                sources.push(path.to_owned());
            } else if kinds.into_iter().any(is_library) {
                sources.extend(path.parent().map(Path::to_owned));
            }
        }
    }
    sources.retain(|path| path.exists());
    sources.sort();
    sources.dedup();
    sources
}

/// The elements of an array; none of anything else.
fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
