//! Processes that end in time.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use profiler_host::BackendChoice;

use crate::setting::Setting;

/// The first argument of a process that runs one case.
pub(crate) const CASE: &str = "case";

/// Findings that compute-sanitizer prints: all of any case. By itself it stops at 100, and a trap alone
/// gives one for each thread.
const FINDINGS_PRINTED: &str = "10000";

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Success,
    /// The exit status; `None` after a signal.
    Failure(Option<i32>),
    OutOfTime,
}

/// A process that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) end: End,
    /// Standard output, and after it standard error.
    pub(crate) output: String,
    pub(crate) seconds: f64,
}

impl Finished {
    pub(crate) fn passed(&self) -> bool {
        self.end == End::Success
    }
}

/// Runs a program with all that it starts, and ends it where it takes longer than `limit`.
pub(crate) fn run(
    program: impl AsRef<OsStr>,
    arguments: &[impl AsRef<OsStr>],
    limit: Duration,
) -> io::Result<Finished> {
    let begin = Instant::now();
    // coreutils' timeout ends the whole process group, also what a sanitizer has started.
    let ended = Command::new("timeout")
        .arg("--kill-after=5s")
        .arg(format!("{}s", limit.as_secs_f64()))
        .arg(program)
        .args(arguments)
        .output()?;
    let mut output = String::from_utf8_lossy(&ended.stdout).into_owned();
    output += &String::from_utf8_lossy(&ended.stderr);
    let end = match ended.status.code() {
        Some(0) => End::Success,
        // The second: it did not end when it was asked to, and was killed.
        Some(124 | 137) => End::OutOfTime,
        code => End::Failure(code),
    };
    Ok(Finished { end, output, seconds: begin.elapsed().as_secs_f64() })
}

/// The arguments of a process of this program that runs one case.
pub(crate) fn arguments(name: &str, setting: Setting) -> [&str; 3] {
    let back_end = if setting.is_gpu() { "gpu" } else { "emulator" };
    [CASE, name, back_end]
}

/// Reads what [`arguments`] gives, but its first.
pub(crate) fn parse(arguments: &[String]) -> Result<(&str, Setting), String> {
    let [name, back_end] = arguments else {
        return Err(format!("usage: {CASE} NAME gpu|emulator"));
    };
    let choice = back_end.parse::<BackendChoice>().map_err(|error| error.to_string())?;
    Ok((name, Setting { choice }))
}

/// Runs a case in a process of its own.
pub(crate) fn case(name: &str, setting: Setting, limit: Duration) -> io::Result<Finished> {
    run(std::env::current_exe()?, &arguments(name, setting), limit)
}

/// Runs a case under a tool of compute-sanitizer in a process of its own.
pub(crate) fn sanitized(
    sanitizer: &Path,
    tool: &str,
    name: &str,
    setting: Setting,
    limit: Duration,
) -> io::Result<Finished> {
    let program = std::env::current_exe()?;
    let mut all: Vec<&OsStr> = ["--tool", tool, "--target-processes", "application-only"]
        .into_iter()
        .chain(["--print-limit", FINDINGS_PRINTED])
        .map(OsStr::new)
        .collect();
    all.push(program.as_os_str());
    let arguments = arguments(name, setting);
    all.extend(arguments.map(OsStr::new));
    run(sanitizer, &all, limit)
}
