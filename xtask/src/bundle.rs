//! Collects the examples and the GPU tests for a machine that has an NVIDIA GPU and no Rust.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::command::Run;
use crate::{Error, cargo, root, target, tools};

/// The package whose examples are bundled.
pub const PACKAGE: &str = "profiler-examples";
/// The package of the program that `cargo run` runs, which is bundled too, and the program.
pub const QUICKSTART: &str = "quickstart";
/// The package with tests that need a GPU, and those tests' targets.
pub const TEST_PACKAGE: &str = "profiler-tests";
pub const GPU_TESTS: [&str; 2] = ["kernels", "abuse"];
/// What a bundle may weigh.
const BYTES_MAX: u64 = 64 << 20;

/// What the names of programs of host libraries, which have no options, begin with.
const HOST: &str = "host_";

/// The names of the examples; none while the package is missing.
pub fn examples() -> Result<Vec<String>, Error> {
    Ok(example_targets()?.into_iter().filter(|name| !name.starts_with(HOST)).collect())
}

fn example_targets() -> Result<Vec<String>, Error> {
    let metadata = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).output()?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let mut names: Vec<String> = array(&metadata["packages"])
        .filter(|package| package["name"] == PACKAGE)
        .flat_map(|package| array(&package["targets"]))
        .filter(|target| array(&target["kind"]).any(|kind| kind == "example"))
        .filter_map(|target| target["name"].as_str().map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

/// Builds, and fills target/gpu-bundle.
pub fn make() -> Result<(), Error> {
    let tools = tools::install(tools::Extent::Tests)?;
    let wanted = examples()?;
    if wanted.is_empty() {
        return Err(format!("the package {PACKAGE} has no examples").into());
    }
    println!("building {QUICKSTART}, {}", wanted.join(", "));
    let messages = cargo()
        .args(["build", "--release", "--package", PACKAGE, "--package", QUICKSTART])
        .args(["--examples", "--bins"])
        .args(["--message-format", "json-render-diagnostics"])
        .envs(tools.variables())
        .output()?;
    let built = Built::read(&messages)?;
    let bundle = target().join("gpu-bundle");
    if bundle.exists() {
        std::fs::remove_dir_all(&bundle)?;
    }
    for folder in ["bin", "hosts", "tests"] {
        std::fs::create_dir_all(bundle.join(folder))?;
    }
    for name in &wanted {
        let binary = built.binary(name)?;
        std::fs::copy(binary, bundle.join("bin").join(name))?;
    }
    for name in example_targets()?.iter().filter(|name| name.starts_with(HOST)) {
        std::fs::copy(built.binary(name)?, bundle.join("hosts").join(name))?;
    }
    std::fs::copy(built.binary(QUICKSTART)?, bundle.join(QUICKSTART))?;
    println!("building the tests {}", GPU_TESTS.join(", "));
    let messages = cargo()
        .args(["test", "--release", "--no-run", "--message-format", "json-render-diagnostics"])
        .args(["--package", TEST_PACKAGE])
        .args(GPU_TESTS.iter().flat_map(|test| ["--test", test]))
        .envs(tools.variables())
        .output()?;
    let tests = Built::read(&messages)?;
    for name in GPU_TESTS {
        std::fs::copy(tests.binary(name)?, bundle.join("tests").join(name))?;
    }
    for ptx in &built.ptx {
        if std::fs::metadata(ptx)?.len() == 0 {
            return Err(
                format!("{} is empty: it was built without a compiler", ptx.display()).into()
            );
        }
    }
    std::fs::write(bundle.join("run.sh"), include_str!("run.sh"))?;
    Run::new("chmod").arg("755").arg(bundle.join("run.sh")).run()?;
    std::fs::write(bundle.join("VERSION"), version()?)?;
    let bytes = size(&bundle)?;
    if bytes > BYTES_MAX {
        return Err(format!("the bundle has {bytes} bytes, more than {BYTES_MAX}").into());
    }
    println!("{} ({} KiB): run.sh OUT_DIR runs it", bundle.display(), bytes >> 10);
    Ok(())
}

/// Builds the command line, and fills target/record-bundle: the program and those that its `record` is tried with.
pub fn make_record() -> Result<(), Error> {
    let messages = cargo()
        .args(["build", "--release", "--package", "profiler-cli"])
        .args(["--message-format", "json-render-diagnostics"])
        .output()?;
    let bundle = target().join("record-bundle");
    if bundle.exists() {
        std::fs::remove_dir_all(&bundle)?;
    }
    std::fs::create_dir_all(&bundle)?;
    std::fs::copy(Built::read(&messages)?.binary("profiler")?, bundle.join("profiler"))?;
    for file in std::fs::read_dir(root().join("examples/record"))? {
        let file = file?;
        std::fs::copy(file.path(), bundle.join(file.file_name()))?;
    }
    std::fs::write(bundle.join("VERSION"), version()?)?;
    println!("{}: run.sh OUT_DIR [PROGRAM..] runs it", bundle.display());
    Ok(())
}

/// What cargo reports that it has built.
pub struct Built {
    /// Names of programs, examples and tests, and their binaries.
    binaries: Vec<(String, PathBuf)>,
    /// PTX files in the OUT_DIR of both packages.
    ptx: Vec<PathBuf>,
}

impl Built {
    pub fn read(messages: &str) -> Result<Self, Error> {
        let mut built = Self { binaries: Vec::new(), ptx: Vec::new() };
        for line in messages.lines().filter(|line| line.starts_with('{')) {
            let message: Value = serde_json::from_str(line)?;
            match message["reason"].as_str() {
                Some("compiler-artifact") => {
                    let (Some(name), Some(path)) =
                        (message["target"]["name"].as_str(), message["executable"].as_str())
                    else {
                        continue;
                    };
                    built.binaries.push((name.to_owned(), path.into()));
                }
                Some("build-script-executed") => {
                    let own = message["package_id"].as_str().is_some_and(is_own);
                    if let Some(folder) = message["out_dir"].as_str().filter(|_| own) {
                        built.ptx.extend(ptx_files(Path::new(folder))?);
                    }
                }
                _ => {}
            }
        }
        Ok(built)
    }

    pub fn binary(&self, name: &str) -> Result<&Path, Error> {
        let mut found = self.binaries.iter().filter(|(other, _)| other == name);
        let (_, path) = found.next().ok_or_else(|| format!("cargo did not build {name}"))?;
        if found.next().is_some() {
            return Err(format!("two packages have a target {name}: rename one").into());
        }
        Ok(path)
    }
}

/// Whether a package id is that of [`PACKAGE`] or [`QUICKSTART`]: `path+file:///..#profiler-examples@0.1.0`,
/// or without the name if the folder bears it.
fn is_own(id: &str) -> bool {
    let (path, package) = id.rsplit_once('#').unwrap_or((id, ""));
    let name = match package.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or_default(),
    };
    [PACKAGE, QUICKSTART].contains(&name)
}

/// The processed PTX in a folder.
fn ptx_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".ptx") && !name.ends_with(".unprocessed.ptx") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Which sources the bundle was made from.
pub fn version() -> Result<String, Error> {
    let git = |arguments: &[&str]| Run::new("git").args(arguments).output();
    let commit = git(&["rev-parse", "HEAD"])?;
    let changed = git(&["status", "--porcelain"])?;
    let state = if changed.is_empty() { "clean" } else { "with changes" };
    let rustc = Run::new("rustc").arg("--version").output()?;
    let ptx = profiler_build::compiler_version()?;
    let ptx = ptx.lines().next().unwrap_or_default();
    Ok(format!("commit: {} ({state})\nhost: {}\nkernels: {ptx}\n", commit.trim(), rustc.trim()))
}

fn size(folder: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() {
            size(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(bytes)
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::{Built, is_own};

    #[test]
    fn cargo_messages_name_binaries_and_ptx() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a.ptx", "a.unprocessed.ptx", "other.txt"] {
            std::fs::write(folder.path().join(name), "x").expect("written");
        }
        let messages = format!(
            "{}\n{}\n{}\n",
            r#"{"reason":"compiler-artifact","target":{"name":"gemm","kind":["example"]},"executable":"/t/gemm"}"#,
            r#"{"reason":"compiler-artifact","target":{"name":"gemm","kind":["lib"]},"executable":null}"#,
            serde_json::json!({
                "reason": "build-script-executed",
                "package_id": "path+file:///x/examples#profiler-examples@0.1.0",
                "out_dir": folder.path(),
            })
        );
        let built = Built::read(&messages).expect("read");
        assert_eq!(built.binary("gemm").expect("there").to_str(), Some("/t/gemm"));
        assert!(built.binary("softmax").is_err());
        let twice = Built::read(&messages.repeat(2)).expect("read");
        let error = twice.binary("gemm").expect_err("which one?").to_string();
        assert_eq!(error, "two packages have a target gemm: rename one");
        assert_eq!(built.ptx, [folder.path().join("a.ptx")]);
    }

    #[test]
    fn package_ids() {
        assert!(is_own("path+file:///x/examples#profiler-examples@0.1.0"));
        assert!(is_own("path+file:///x/profiler-examples#0.1.0"));
        assert!(!is_own("path+file:///x/host#profiler-host@0.1.0"));
    }
}
