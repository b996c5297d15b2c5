//! The modules as profiler-host carries them: for the command that writes them, and for the test that they
//! are those of the sources.

use std::path::Path;

use profiler_build::Kernels;
use profiler_wire::symbol::SITE_STATIC;

/// A module: its name, the file that carries it, and the feature of the crate that makes it.
pub(crate) struct Module {
    pub(crate) name: &'static str,
    pub(crate) file: &'static str,
    feature: Option<&'static str>,
}

pub(crate) const MODULES: [Module; 2] = [
    Module {
        name: "calibration",
        file: "profiler-host/src/gpu/calibration.ptx.lz4",
        feature: None,
    },
    Module { name: "runtime", file: "profiler-ptx/src/runtime.ptx", feature: Some(TEMPLATE) },
];

/// The feature that makes the runtime's pieces, of which only these are carried, with the comments that say what
/// their registers are.
const TEMPLATE: &str = "template";
const PIECES: [&str; 4] =
    ["__profiler_recorded(", "__profiler_enter(", "__profiler_record(", "__profiler_leave("];
const REGISTERS: &str = "// profiler-";

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
        let text = std::fs::read_to_string(ptx.path)?;
        let text = if self.feature == Some(TEMPLATE) { pieces(&text) } else { lean(&text) };
        Ok(format!("{}\n{text}", first_line()?))
    }
}

/// The first line of what the compiler at hand makes.
pub(crate) fn first_line() -> Result<String, profiler_build::Error> {
    let version = profiler_build::compiler_version()?;
    let line = |begin| version.lines().find(|line| line.starts_with(begin)).unwrap_or_default();
    Ok(format!("{MADE_BY}{}, {}", line("rustc "), line("LLVM version: ")))
}

/// The runtime's pieces alone.
fn pieces(ptx: &str) -> String {
    let (mut text, mut is_inside) = (String::new(), false);
    for line in ptx.lines().map(str::trim) {
        is_inside |= line.contains(".entry ") && PIECES.iter().any(|name| line.contains(name));
        let is_comment = line.starts_with("//") && !line.starts_with(REGISTERS);
        if is_inside && !is_comment && !line.is_empty() {
            text += line;
            text.push('\n');
        }
        is_inside &= line != "}";
    }
    text
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
