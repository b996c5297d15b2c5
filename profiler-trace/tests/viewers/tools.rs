//! Runs tools on files.

use std::path::{Path, PathBuf};
use std::process::Command;

use profiler_test_tools::Tool;

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
    let mut command = Command::new(Tool::Chromium.find()?);
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
