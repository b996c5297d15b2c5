//! The modules as profiler-host carries them: for the command that writes them, and for the test that they
//! are those of the sources.

use std::path::Path;

use profiler_build::Kernels;
use profiler_wire::symbol::SITE_STATIC;

/// A module: its name in `profiler-host/src/gpu`, and the feature of the crate that makes it.
pub(crate) struct Module {
    pub(crate) name: &'static str,
    feature: Option<&'static str>,
}

pub(crate) const MODULES: [Module; 2] = [
    Module { name: "calibration", feature: None },
    Module { name: "calibration_host", feature: Some("host-buffer") },
];

/// What stands ahead of the compiler's version, in the first line.
const MADE_BY: &str = "// cargo xtask calibration-ptx, ";

impl Module {
    /// The PTX, compiled with `out_dir` and `target_dir` for what is made on the way.
    pub(crate) fn compile(
        &self,
        repository: &Path,
        out_dir: &Path,
        target_dir: &Path,
    ) -> Result<String, Box<dyn std::error::Error>> {
        let kernels = Kernels::new(repository.join("calibration")).name(self.name);
        let kernels = kernels.out_dir(out_dir).target_dir(target_dir);
        let ptx = self.feature.into_iter().fold(kernels, Kernels::feature).build()?;
        Ok(format!("{}\n{}", first_line()?, lean(&std::fs::read_to_string(ptx.path)?)))
    }
}

/// The first line of what the compiler at hand makes.
pub(crate) fn first_line() -> Result<String, profiler_build::Error> {
    let version = profiler_build::compiler_version()?;
    let line = |begin| version.lines().find(|line| line.starts_with(begin)).unwrap_or_default();
    Ok(format!("{MADE_BY}{}, {}", line("rustc "), line("LLVM version: ")))
}

/// PTX without comments and indents, and with short names for the site entries.
fn lean(ptx: &str) -> String {
    let (mut text, mut sites) = (String::new(), 0);
    for line in ptx.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && !"_$".contains(c));
        match words.find(|word| word.contains(SITE_STATIC)) {
            // Nothing refers to them: each stands here alone.
            Some(word) => {
                text += &line.replace(word, &format!("{SITE_STATIC}_{sites}"));
                sites += 1;
            }
            None => text += line,
        }
        text.push('\n');
    }
    text
}
