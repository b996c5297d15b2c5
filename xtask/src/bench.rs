//! Collects the bench for a machine that has an NVIDIA GPU and no Rust, and makes the table of what
//! it measured there.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::command::Run;
use crate::{Error, cargo, root, target, tools};

const PACKAGE: &str = "profiler-bench";
const BINARY: &str = "record-cost";
const PTX: &str = "bench_kernels.ptx";
/// Files of the package that the bundle holds as they are.
const SCRIPTS: [&str; 2] = ["run.sh", "proton.py"];
/// What a bundle may weigh.
const BYTES_MAX: u64 = 60 << 20;

/// Builds, and fills target/gpu-bench.
pub(crate) fn make() -> Result<(), Error> {
    let tools = tools::install()?;
    let messages = cargo()
        .args(["build", "--release", "--package", PACKAGE, "--bin", BINARY])
        .args(["--message-format", "json-render-diagnostics"])
        .envs(tools.variables())
        .envs([("CARGO_PROFILE_RELEASE_STRIP".to_owned(), "symbols".into())])
        .output()?;
    let (binary, ptx) = built(&messages)?;
    if std::fs::metadata(&ptx)?.len() == 0 {
        return Err(format!("{} is empty: it was built without a compiler", ptx.display()).into());
    }
    let bundle = target().join("gpu-bench");
    if bundle.exists() {
        std::fs::remove_dir_all(&bundle)?;
    }
    std::fs::create_dir_all(&bundle)?;
    let mut bytes = std::fs::copy(binary, bundle.join(BINARY))?;
    bytes += std::fs::copy(ptx, bundle.join(PTX))?;
    for script in SCRIPTS {
        bytes += std::fs::copy(root().join("bench").join(script), bundle.join(script))?;
    }
    Run::new("chmod").arg("755").arg(bundle.join("run.sh")).run()?;
    std::fs::write(bundle.join("VERSION"), version()?)?;
    if bytes > BYTES_MAX {
        return Err(format!("the bundle has {bytes} bytes, more than {BYTES_MAX}").into());
    }
    println!("{} ({} KiB): run.sh OUT_DIR runs it", bundle.display(), bytes >> 10);
    Ok(())
}

/// Writes the table of a file of results into the texts that show it, and draws its picture.
pub(crate) fn table(arguments: &[String]) -> Result<(), Error> {
    let [results] = arguments else {
        return Err("usage: cargo xtask cost-table RECORD_COST_JSONL".into());
    };
    // The command below runs in the repository's root, whatever the caller's folder is.
    let results = std::path::absolute(results)?;
    cargo()
        .args(["run", "--quiet", "--package", PACKAGE, "--bin", "cost-table", "--"])
        .arg(results)
        .arg("--root")
        .arg(root())
        .run()
}

/// Which sources the bundle was made from.
fn version() -> Result<String, Error> {
    let git = |arguments: &[&str]| Run::new("git").args(arguments).output();
    let commit = git(&["rev-parse", "HEAD"])?;
    let state = if git(&["status", "--porcelain"])?.is_empty() { "clean" } else { "with changes" };
    let compiler = profiler_build::compiler_version()?;
    let compiler = compiler.lines().next().unwrap_or_default();
    Ok(format!("commit: {} ({state})\nkernels: {compiler}\n", commit.trim()))
}

/// The binary and the processed PTX, by cargo's messages.
fn built(messages: &str) -> Result<(PathBuf, PathBuf), Error> {
    let (mut binary, mut ptx) = (None, None);
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line)?;
        match message["reason"].as_str() {
            Some("compiler-artifact") if message["target"]["name"] == BINARY => {
                binary = message["executable"].as_str().map(PathBuf::from).or(binary);
            }
            Some("build-script-executed") => {
                let folder = message["out_dir"].as_str().map(Path::new);
                ptx = folder.map(|folder| folder.join(PTX)).filter(|path| path.is_file()).or(ptx);
            }
            _ => {}
        }
    }
    match (binary, ptx) {
        (Some(binary), Some(ptx)) => Ok((binary, ptx)),
        (None, _) => Err(format!("cargo did not build {BINARY}").into()),
        (_, None) => Err(format!("no build script wrote {PTX}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{PTX, built, table};

    #[test]
    fn cargo_messages_name_the_binary_and_the_ptx() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = serde_json::json!({
            "reason": "build-script-executed",
            "package_id": "path+file:///x/bench#profiler-bench@0.0.0",
            "out_dir": folder.path(),
        });
        let artifact = r#"{"reason":"compiler-artifact","target":{"name":"record-cost"},"executable":"/t/record-cost"}"#;
        let messages = format!("{script}\nplain text\n{artifact}\n");
        let missing = built(&messages).expect_err("the PTX is missing").to_string();
        assert_eq!(missing, "no build script wrote bench_kernels.ptx");
        std::fs::write(folder.path().join(PTX), "x").expect("written");
        let (binary, ptx) = built(&messages).expect("both are there");
        assert_eq!((binary.to_str(), ptx), (Some("/t/record-cost"), folder.path().join(PTX)));
        assert!(built(&script.to_string()).is_err(), "the binary is missing");
    }

    #[test]
    fn the_table_is_of_one_file() {
        let usage = table(&[]).expect_err("no file").to_string();
        assert!(usage.contains("RECORD_COST_JSONL"), "{usage}");
    }
}
