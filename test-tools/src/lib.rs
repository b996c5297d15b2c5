//! Where the tools of others are that tests need.
//!
//! A tool is the one that its variable of the environment names; or else that of `cargo xtask tools`,
//! which installs all of them; or else the machine's. A test whose tool is missing is ignored, and
//! says what installs it; where [`are_required`] holds it fails.
//!
//! ```no_run
//! use profiler_test_tools::{Tool, announce, are_required};
//!
//! let ptxas = Tool::Ptxas.find();
//! if let Err(missing) = &ptxas {
//!     announce("tests with ptxas", missing);
//! }
//! let is_ignored = ptxas.is_err() && !are_required();
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "synthetic")]
pub mod synthetic;
pub mod trace_processor;

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A tool that a test needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// NVIDIA's assembler of PTX.
    Ptxas,
    /// NVIDIA's disassembler of machine code.
    Nvdisasm,
    /// Python with these packages.
    Python(&'static [&'static str]),
    /// `proton-viewer`, of the Python package triton.
    ProtonViewer,
    /// A folder of Node.js packages: webcomponents.js.
    NodeModules,
    /// Catapult's trace viewer, as one page.
    Catapult,
    /// Chromium, or a browser that is built from it.
    Chromium,
}

/// A tool is missing. `Display` says which, and what installs it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing(String);

impl Missing {
    /// With what is missing, and what installs it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

impl From<Missing> for String {
    fn from(missing: Missing) -> Self {
        missing.0
    }
}

/// Whether PTX is assembled for a target: for those of Ampere and Hopper always, for newer ones where
/// `PROFILER_TEST_ALL` is set, as `cargo xtask test --all` does.
#[must_use]
pub fn is_target_wanted(target: &str) -> bool {
    matches!(target, "sm_80" | "sm_90" | "sm_90a") || quick_or_all(false, true)
}

/// How much a test tries: `quick`, or `all` where `PROFILER_TEST_ALL` is set.
#[must_use]
pub fn quick_or_all<T>(quick: T, all: T) -> T {
    if std::env::var_os("PROFILER_TEST_ALL").is_some() { all } else { quick }
}

/// Whether a missing tool is a failure and no reason to ignore a test (`PROFILER_REQUIRE_TOOLS=1`).
#[must_use]
pub fn are_required() -> bool {
    std::env::var_os("PROFILER_REQUIRE_TOOLS").is_some_and(|value| value == "1")
}

/// Says on standard error that these tests are ignored, and why.
pub fn announce(tests: &str, missing: &Missing) {
    // The reason must be seen; a closed stderr is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{tests} are ignored: {missing}");
}

/// What is there of what `cargo xtask tools` installs, by its path in the folder of the tools.
#[must_use]
pub fn installed(path: impl AsRef<Path>) -> Option<PathBuf> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("target").join("tools");
    Some(tools.join(path)).filter(|path| path.exists())
}

const NODE_PACKAGES: [&str; 1] = ["webcomponents.js"];
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

impl Tool {
    /// The variable of the environment that names it.
    #[must_use]
    pub fn variable(self) -> &'static str {
        match self {
            Self::Ptxas => "PROFILER_PTXAS",
            Self::Nvdisasm => "PROFILER_NVDISASM",
            Self::Python(_) => "PROFILER_PYTHON",
            Self::ProtonViewer => "PROFILER_PROTON_VIEWER",
            Self::NodeModules => "PROFILER_NODE_MODULES",
            Self::Catapult => "PROFILER_CATAPULT",
            Self::Chromium => "PROFILER_CHROMIUM",
        }
    }

    /// Where it is.
    ///
    /// # Errors
    ///
    /// If it is nowhere, or its variable names something else.
    pub fn find(self) -> Result<PathBuf, Missing> {
        self.among(std::env::var_os(self.variable()).map(PathBuf::from))
    }

    fn among(self, named: Option<PathBuf>) -> Result<PathBuf, Missing> {
        if let Some(named) = named {
            let missing = || self.missing(&format!(", which {} is not", named.display()));
            return if self.is(&named) { Ok(named) } else { Err(missing()) };
        }
        self.candidates().into_iter().find(|path| self.is(path)).ok_or_else(|| self.missing(""))
    }

    fn candidates(self) -> Vec<PathBuf> {
        let (own, machine): (_, &[&str]) = match self {
            Self::Ptxas => (of_cuda("ptxas"), &["ptxas"]),
            Self::Nvdisasm => (of_cuda("nvdisasm"), &["nvdisasm"]),
            Self::Python(_) => (installed("python/bin/python3"), &["python3"]),
            Self::ProtonViewer => (installed("python/bin/proton-viewer"), &["proton-viewer"]),
            Self::NodeModules => (installed("node/node_modules"), &[]),
            Self::Catapult => (installed("catapult/trace_viewer_full.html"), &[]),
            Self::Chromium => (None, &BROWSERS),
        };
        own.into_iter().chain(machine.iter().map(PathBuf::from)).collect()
    }

    /// Whether this is it.
    fn is(self, path: &Path) -> bool {
        match self {
            Self::Ptxas | Self::Nvdisasm | Self::Chromium => runs(path, &["--version"]),
            Self::ProtonViewer => runs(path, &["--help"]),
            Self::Python(packages) => {
                const PROGRAM: &str = "import importlib.util as u, sys\n\
                    sys.exit(not all(map(u.find_spec, sys.argv[1:])))";
                runs(path, &[&["-c", PROGRAM], packages].concat())
            }
            Self::NodeModules => {
                let has = |name: &&str| path.join(name).is_dir();
                NODE_PACKAGES.iter().all(has)
            }
            Self::Catapult => path.is_file(),
        }
    }

    /// `wrong` is what is wrong with what the variable names.
    fn missing(self, wrong: &str) -> Missing {
        let packages = NODE_PACKAGES.join(", ");
        let (what, help) = match self {
            Self::Ptxas => ("ptxas".to_owned(), "run `cargo xtask tools`"),
            Self::Nvdisasm => ("nvdisasm".to_owned(), "run `cargo xtask tools`"),
            Self::Python([]) => ("Python".to_owned(), "install Python 3"),
            Self::Python(packages) => {
                (format!("Python with {}", packages.join(" and ")), "run `cargo xtask tools`")
            }
            Self::ProtonViewer => ("proton-viewer".to_owned(), "run `cargo xtask tools`"),
            Self::NodeModules => {
                (format!("the Node.js package {packages}"), "run `cargo xtask tools`")
            }
            Self::Catapult => {
                ("catapult's trace_viewer_full.html".to_owned(), "run `cargo xtask tools`")
            }
            Self::Chromium => ("Chromium".to_owned(), "install the package chromium"),
        };
        Missing(format!("{what} is missing: {help}, or let {} name it{wrong}", self.variable()))
    }
}

/// A program of the Python package that holds CUDA's tools.
fn of_cuda(program: &str) -> Option<PathBuf> {
    let pythons = std::fs::read_dir(installed("python/lib")?).ok()?.filter_map(Result::ok);
    pythons
        .map(|python| python.path().join("site-packages/nvidia/cu13/bin").join(program))
        .find(|path| path.is_file())
}

fn runs(program: &Path, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::{Missing, Tool};

    const ALL: [Tool; 8] = [
        Tool::Ptxas,
        Tool::Nvdisasm,
        Tool::Python(&[]),
        Tool::Python(&["duckdb", "pyarrow"]),
        Tool::ProtonViewer,
        Tool::NodeModules,
        Tool::Catapult,
        Tool::Chromium,
    ];

    #[test]
    fn what_a_variable_names_must_be_the_tool() {
        for tool in ALL {
            let Missing(text) = tool.among(Some("/nowhere".into())).expect_err("nothing is there");
            let named = format!("let {} name it, which /nowhere is not", tool.variable());
            assert!(text.ends_with(&named), "{text}");
        }
    }

    #[test]
    fn packages_that_python_lacks_are_named() {
        let tool = Tool::Python(&["sys", "no_such_package"]);
        let Missing(text) = tool.find().expect_err("there is no such package");
        assert!(text.starts_with("Python with sys and no_such_package is missing: run"), "{text}");
    }
}
