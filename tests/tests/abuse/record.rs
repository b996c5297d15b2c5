//! Runs all cases on the GPU, each in a process of its own, and writes what became of them.

use std::fs::{self, File};
use std::io::Write as _;
use std::num::NonZero;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::cases::{CASES, SANITIZER_LIMIT};
use crate::process::{self, End, Finished};
use crate::sanitizer::Findings;
use crate::setting::{Case, GPU, Tool};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// A case, alone or under a tool.
#[derive(Clone, Copy)]
struct Job {
    case: &'static Case,
    tool: Option<Tool>,
}

/// What became of a job.
struct Outcome {
    /// Why it failed; `None` if it passed.
    failure: Option<String>,
    provoked: usize,
}

impl Job {
    /// All jobs, or those without a tool.
    fn all(sanitize: bool) -> Vec<Self> {
        let tools = if sanitize { Tool::ALL } else { &[] };
        let of = |case| {
            let tools = std::iter::once(None).chain(tools.iter().copied().map(Some));
            tools.map(move |tool| Self { case, tool })
        };
        CASES.iter().flat_map(of).collect()
    }

    fn tool_name(self) -> &'static str {
        self.tool.map_or("none", Tool::name)
    }

    fn run(self, sanitizer: &Path) -> std::io::Result<Finished> {
        let name = self.case.name;
        match self.tool {
            None => process::case(name, GPU, self.case.limit),
            Some(tool) => process::sanitized(sanitizer, tool.name(), name, GPU, SANITIZER_LIMIT),
        }
    }

    /// Judges what a process did.
    fn judge(self, finished: &Finished) -> Outcome {
        let failed = |failure: String| Outcome { failure: Some(failure), provoked: 0 };
        match finished.end {
            End::OutOfTime => return failed("out of time".to_owned()),
            End::Failure(Some(status)) => return failed(format!("failed with status {status}")),
            End::Failure(None) => return failed("ended by a signal".to_owned()),
            End::Success => {}
        }
        let Some(tool) = self.tool else {
            return Outcome { failure: None, provoked: 0 };
        };
        match Findings::read(&finished.output, self.case.provokes.under(tool)) {
            Err(error) => failed(error),
            Ok(findings) if findings.is_clean() => {
                Outcome { failure: None, provoked: findings.provoked }
            }
            Ok(findings) => {
                let missing = findings.missing.iter().map(|words| format!("not found: {words}"));
                let all: Vec<String> = findings.others.iter().cloned().chain(missing).collect();
                Outcome { failure: Some(all.join("; ")), provoked: findings.provoked }
            }
        }
    }
}

/// Writes results as they come: to the summary, to the terminal, and each log to a file.
struct Report<'a> {
    folder: &'a Path,
    summary: File,
    passed: usize,
    failed: usize,
}

impl<'a> Report<'a> {
    fn new(folder: &'a Path) -> Result<Self, Error> {
        fs::create_dir_all(folder)?;
        let summary = File::create(folder.join("abuse.jsonl"))?;
        Ok(Self { folder, summary, passed: 0, failed: 0 })
    }

    fn line(&mut self, line: &Value) -> Result<(), Error> {
        Ok(writeln!(self.summary, "{line}")?)
    }

    fn add(&mut self, job: Job, finished: &Finished) -> Result<(), Error> {
        let (name, tool) = (job.case.name, job.tool_name());
        fs::write(self.folder.join(format!("{name}.{tool}.txt")), &finished.output)?;
        let Outcome { failure, provoked } = job.judge(finished);
        match failure {
            None => self.passed += 1,
            Some(_) => self.failed += 1,
        }
        let result = failure.as_deref().unwrap_or("passed");
        writeln!(std::io::stdout(), "{name:<28} {tool:<10} {:>6.1}s  {result}", finished.seconds)?;
        self.line(&json!({
            "case": name,
            "what": job.case.what,
            "tool": tool,
            "result": result,
            "provoked": provoked,
            "seconds": (finished.seconds * 10.0).round() / 10.0,
        }))
    }
}

/// Runs jobs, as many at once as there are processor cores, or one after the other.
fn run_all(
    jobs: &[Job],
    workers: usize,
    sanitizer: &Path,
    report: &Mutex<Report<'_>>,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), Error> {
        while let Some(&job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let finished = job.run(sanitizer)?;
            report.lock().map_err(|error| error.to_string())?.add(job, &finished)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| Error::from("a worker panicked"))?)
    })
}

/// Runs all cases on the GPU, with `sanitize` under compute-sanitizer's tools too, and writes
/// `abuse.jsonl` and the logs to `folder`. `machine` is the summary's first line. Says whether all
/// passed.
pub(crate) fn record(
    folder: &Path,
    sanitize: bool,
    sanitizer: &Path,
    machine: &Value,
) -> Result<bool, Error> {
    let mut report = Report::new(folder)?;
    report.line(machine)?;
    let report = Mutex::new(report);
    let (alone, together): (Vec<Job>, Vec<Job>) =
        Job::all(sanitize).into_iter().partition(|job| job.case.alone);
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    run_all(&together, cores, sanitizer, &report)?;
    run_all(&alone, 1, sanitizer, &report)?;
    let report = report.into_inner().map_err(|error| error.to_string())?;
    writeln!(std::io::stdout(), "{} passed, {} failed", report.passed, report.failed)?;
    Ok(report.failed == 0 && report.passed > 0)
}

/// Checks what is made of processes that ended in each way.
pub(crate) fn outcomes_are_told_apart() {
    let finished = |end, output: &str| Finished { end, output: output.to_owned(), seconds: 1.0 };
    let job = |name: &str, tool| Job {
        case: CASES.iter().find(|case| case.name == name).expect("a case"),
        tool,
    };
    let failure = |job: Job, finished: &Finished| job.judge(finished).failure;
    let plain = job("grids", None);
    assert_eq!(failure(plain, &finished(End::Success, "")), None);
    assert_eq!(
        failure(plain, &finished(End::Failure(Some(101)), "")).as_deref(),
        Some("failed with status 101")
    );
    assert_eq!(failure(plain, &finished(End::OutOfTime, "")).as_deref(), Some("out of time"));
    let clean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
    let checked = job("grids", Some(Tool::Initcheck));
    assert_eq!(failure(checked, &finished(End::Success, clean)), None);
    assert!(failure(checked, &finished(End::Success, "")).is_some(), "no summary");
    assert!(failure(checked, &finished(End::Failure(Some(101)), clean)).is_some());
    let illegal = job("illegal_address", Some(Tool::Memcheck));
    let missing = failure(illegal, &finished(End::Success, clean));
    assert_eq!(missing.as_deref(), Some("not found: Invalid __global__ write"));
    let found =
        "========= Invalid __global__ write of size 4 bytes\n========= ERROR SUMMARY: 1 error\n";
    assert_eq!(failure(illegal, &finished(End::Success, found)), None);
    let elsewhere = job("illegal_address", Some(Tool::Racecheck));
    assert_eq!(failure(elsewhere, &finished(End::Success, clean)), None, "memcheck alone finds it");
    assert_eq!(
        failure(checked, &finished(End::Success, found)).as_deref(),
        Some("Invalid __global__ write of size 4 bytes")
    );
}
