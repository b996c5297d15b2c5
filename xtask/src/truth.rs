//! Collects the truth program for a machine that has an NVIDIA GPU and no Rust.

use std::path::PathBuf;

use serde_json::Value;

use crate::command::Run;
use crate::{Error, cargo, target, tools};

const PACKAGE: &str = "profiler-truth";
const BINARY: &str = "truth";
const PTX: &str = "truth_kernels.ptx";

/// Builds, and fills target/gpu-truth.
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
    let bundle = target().join("gpu-truth");
    if bundle.exists() {
        std::fs::remove_dir_all(&bundle)?;
    }
    std::fs::create_dir_all(&bundle)?;
    std::fs::copy(binary, bundle.join(BINARY))?;
    std::fs::copy(ptx, bundle.join(PTX))?;
    std::fs::write(bundle.join("run.sh"), include_str!("truth.sh"))?;
    Run::new("chmod").arg("755").arg(bundle.join("run.sh")).run()?;
    let commit = Run::new("git").args(["rev-parse", "HEAD"]).output()?;
    let changed = Run::new("git").args(["status", "--porcelain"]).output()?;
    let state = if changed.is_empty() { "clean" } else { "with changes" };
    let compiler = profiler_build::compiler_version()?;
    let compiler = compiler.lines().next().unwrap_or_default();
    std::fs::write(
        bundle.join("VERSION"),
        format!("commit: {} ({state})\nkernels: {compiler}\n", commit.trim()),
    )?;
    println!("{}: run.sh OUT_DIR runs it", bundle.display());
    Ok(())
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
                let folder = message["out_dir"].as_str().map(PathBuf::from);
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
    use super::built;

    #[test]
    fn cargo_messages_name_the_binary_and_the_ptx() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("truth_kernels.ptx"), "x").expect("written");
        let script = serde_json::json!({
            "reason": "build-script-executed",
            "out_dir": folder.path(),
        });
        let other = r#"{"reason":"build-script-executed","out_dir":"/nowhere"}"#;
        let artifact = |executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"truth"}},"executable":{executable}}}"#
            )
        };
        let messages = format!("{script}\n{other}\n{}\n", artifact(r#""/t/truth""#));
        let (binary, ptx) = built(&messages).expect("both are named");
        assert_eq!(binary.to_str(), Some("/t/truth"));
        assert_eq!(ptx, folder.path().join("truth_kernels.ptx"));
        let error = built(&artifact("null")).expect_err("no binary");
        assert_eq!(error.to_string(), "cargo did not build truth");
        let error = built(&artifact(r#""/t/truth""#)).expect_err("no PTX");
        assert_eq!(error.to_string(), "no build script wrote truth_kernels.ptx");
    }
}
