//! Collects a package's program with its PTX and scripts for a machine that has an NVIDIA GPU and no
//! Rust.

use std::path::PathBuf;

use serde_json::Value;

use xtask::command::Run;
use xtask::{Error, bundle, target, tools};

use crate::{cargo, lab};

/// A program that is bundled.
pub(crate) struct Program {
    package: &'static str,
    /// The package's feature that it needs, if any; a test of the same name has what nothing else compiles.
    feature: Option<&'static str>,
    binary: &'static str,
    ptx: &'static str,
    /// The package's folder, and the files in it that the bundle holds as they are.
    folder: &'static str,
    scripts: &'static [&'static str],
    /// What runs the bundle on a machine with a GPU.
    usage: &'static str,
    /// The bundle's folder in target.
    bundle: &'static str,
    /// What the bundle may weigh.
    bytes_max: u64,
}

/// What one recorded region costs.
pub(crate) const BENCH: Program = Program {
    package: "profiler-bench",
    feature: None,
    binary: "record-cost",
    ptx: "bench_kernels.ptx",
    folder: "bench",
    scripts: &["run.sh", "proton.py"],
    usage: "run.sh OUT_DIR",
    bundle: "gpu-bench",
    bytes_max: 60 << 20,
};

/// What one costs by every strategy with every clock, kind of record and buffer: the same program with
/// more kernels, so that the program and its PTX have 87 MB together.
pub(crate) const COMBINATIONS: Program = Program {
    feature: Some("combinations"),
    ptx: "bench_combinations.ptx",
    // Proton is not measured there.
    scripts: &["run.sh"],
    usage: "run.sh --combinations OUT_DIR",
    bundle: "gpu-combinations",
    bytes_max: 120 << 20,
    ..BENCH
};

/// Whether times are true.
pub(crate) const TRUTH: Program = Program {
    package: "profiler-truth",
    feature: None,
    binary: "truth",
    ptx: "truth_kernels.ptx",
    folder: "truth",
    scripts: &["run.sh", "proton.py"],
    usage: "run.sh OUT_DIR",
    bundle: "gpu-truth",
    bytes_max: 60 << 20,
};

/// Whether random programs record what they should.
pub(crate) const AGREEMENT: Program = Program {
    package: "profiler-agreement",
    feature: None,
    binary: "agreement",
    ptx: "programs.ptx",
    folder: "agreement",
    scripts: &["run.sh"],
    usage: "run.sh OUT_DIR",
    bundle: "gpu-agreement",
    bytes_max: 60 << 20,
};

/// What annotations and recording cost the examples. Both builds of their kernels are in the program.
pub(crate) const EXAMPLES: Program = Program {
    package: "lab-examples",
    feature: None,
    binary: "example-costs",
    ptx: "hopper_gemm_off.ptx",
    folder: "examples",
    scripts: &["run.sh", "cublas.py"],
    usage: "run.sh OUT_DIR [EXAMPLE..]",
    bundle: "gpu-examples",
    bytes_max: 60 << 20,
};

impl Program {
    /// Builds, and fills the bundle's folder.
    pub(crate) fn make(&self) -> Result<(), Error> {
        let tools = tools::install(tools::Extent::Tests)?;
        if let Some(feature) = self.feature {
            cargo("test")
                .args(["--release", "--package", self.package])
                .args(["--features", feature, "--test", feature])
                .envs(tools.variables())
                .run()?;
        }
        let messages = cargo("build")
            .args(["--release", "--package", self.package, "--bin", self.binary])
            .args(self.feature.into_iter().flat_map(|feature| ["--features", feature]))
            .args(["--message-format", "json-render-diagnostics"])
            .envs(tools.variables())
            .output()?;
        let (binary, ptx) = self.built(&messages)?;
        if std::fs::metadata(&ptx)?.len() == 0 {
            let message = format!("{} is empty: it was built without a compiler", ptx.display());
            return Err(message.into());
        }
        let bundle = target().join(self.bundle);
        if bundle.exists() {
            std::fs::remove_dir_all(&bundle)?;
        }
        std::fs::create_dir_all(&bundle)?;
        let mut bytes = std::fs::copy(binary, bundle.join(self.binary))?;
        bytes += std::fs::copy(ptx, bundle.join(self.ptx))?;
        for script in self.scripts {
            bytes += std::fs::copy(lab().join(self.folder).join(script), bundle.join(script))?;
        }
        Run::new("chmod").arg("755").arg(bundle.join("run.sh")).run()?;
        std::fs::write(bundle.join("VERSION"), bundle::version()?)?;
        if bytes > self.bytes_max {
            let message = format!("the bundle has {bytes} bytes, more than {}", self.bytes_max);
            return Err(message.into());
        }
        println!("{} ({} KiB): {} runs it", bundle.display(), bytes >> 10, self.usage);
        Ok(())
    }

    /// The binary and the processed PTX, by cargo's messages.
    fn built(&self, messages: &str) -> Result<(PathBuf, PathBuf), Error> {
        let (mut binary, mut ptx) = (None, None);
        for line in messages.lines().filter(|line| line.starts_with('{')) {
            let message: Value = serde_json::from_str(line)?;
            match message["reason"].as_str() {
                Some("compiler-artifact") if message["target"]["name"] == self.binary => {
                    binary = message["executable"].as_str().map(PathBuf::from).or(binary);
                }
                Some("build-script-executed") => {
                    let folder = message["out_dir"].as_str().map(PathBuf::from);
                    let file = folder.map(|folder| folder.join(self.ptx));
                    ptx = file.filter(|path| path.is_file()).or(ptx);
                }
                _ => {}
            }
        }
        match (binary, ptx) {
            (Some(binary), Some(ptx)) => Ok((binary, ptx)),
            (None, _) => Err(format!("cargo did not build {}", self.binary).into()),
            (_, None) => Err(format!("no build script wrote {}", self.ptx).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TRUTH;

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
        let messages = format!("{script}\n{other}\nplain text\n{}\n", artifact(r#""/t/truth""#));
        let (binary, ptx) = TRUTH.built(&messages).expect("both are named");
        assert_eq!(binary.to_str(), Some("/t/truth"));
        assert_eq!(ptx, folder.path().join("truth_kernels.ptx"));
        let error = TRUTH.built(&artifact("null")).expect_err("no binary");
        assert_eq!(error.to_string(), "cargo did not build truth");
        let error = TRUTH.built(&artifact(r#""/t/truth""#)).expect_err("no PTX");
        assert_eq!(error.to_string(), "no build script wrote truth_kernels.ptx");
    }
}
