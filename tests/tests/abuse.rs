//! Abuse: everything that has broken a profiler, on the emulator and on a GPU.
//!
//! On a GPU each case runs in a process of its own, since a kernel that fails takes the process's
//! context with it, and one that hangs would take the tests with it. Where there is no GPU these
//! tests are listed as ignored. Without cargo:
//!
//! ```text
//! abuse record FOLDER [--sanitize]   runs all cases on the GPU, with --sanitize under
//!                                    compute-sanitizer's tools too; writes FOLDER/abuse.jsonl
//! abuse case NAME BACKEND SIZE       runs one case in this process
//! ```

#[path = "abuse/cases.rs"]
mod cases;
#[path = "abuse/events.rs"]
mod events;
#[path = "abuse/failures.rs"]
mod failures;
#[path = "support/graph.rs"]
mod graph;
#[path = "abuse/kernels.rs"]
mod kernels;
#[path = "abuse/modules.rs"]
mod modules;
#[path = "abuse/process.rs"]
mod process;
#[path = "abuse/record.rs"]
mod record;
#[path = "abuse/sanitizer.rs"]
mod sanitizer;
#[path = "abuse/sessions.rs"]
mod sessions;
#[path = "abuse/setting.rs"]
mod setting;
#[path = "abuse/shapes.rs"]
mod shapes;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};

use cases::CASES;
use process::End;
use setting::{Case, EMULATOR, GPU, PTX};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        [process::CASE, ..] => run_case(&arguments[1..]),
        ["record", folder] => run_record(folder, false),
        ["record", folder, "--sanitize"] => run_record(folder, true),
        _ => return libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // A closed stderr is no reason to fail otherwise.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs a case in this process, which ends if it fails.
fn run_case(arguments: &[String]) -> Result<bool, String> {
    let (name, setting) = process::parse(arguments)?;
    let case = CASES.iter().find(|case| case.name == name);
    (case.ok_or_else(|| format!("there is no case `{name}`"))?.run)(setting);
    Ok(true)
}

fn run_record(folder: &str, sanitize: bool) -> Result<bool, String> {
    if let Some(missing) = missing() {
        return Err(format!("the cases need a GPU: {missing}"));
    }
    let machine = machine().map_err(|error| error.to_string())?;
    record::record(Path::new(folder), sanitize, Path::new("compute-sanitizer"), &machine)
        .map_err(|error| error.to_string())
}

/// What a GPU run lacks here.
fn missing() -> Option<String> {
    if PTX.is_none() {
        return Some("a compiler for nvptx64; `cargo xtask tools` installs one".to_owned());
    }
    profiler_cuda_driver::driver_available().err().map(|error| error.to_string())
}

/// The GPU, and what this program was built from where a file beside it says that.
fn machine() -> Result<Value, profiler_host::Error> {
    let info = GPU.backend().device_info();
    let version = std::env::current_exe()
        .ok()
        .and_then(|program| Some(program.parent()?.parent()?.join("VERSION")))
        .and_then(|file| std::fs::read_to_string(file).ok());
    Ok(json!({
        "gpu": info.name,
        "driver": info.driver,
        "version": version.as_deref().unwrap_or_default().lines().collect::<Vec<_>>(),
    }))
}

fn trials() -> Vec<Trial> {
    let missing = missing();
    if let Some(missing) = &missing {
        // The reason must be seen; a closed stderr is no reason to fail.
        let _ = writeln!(std::io::stderr(), "cases on a GPU are ignored: {missing}");
    }
    let mut trials = vec![
        trial("a_process_that_hangs_is_ended", a_process_that_hangs_is_ended),
        trial("findings_are_told_apart", sanitizer::findings_are_told_apart),
        trial("outcomes_are_told_apart", record::outcomes_are_told_apart),
        trial("a_case_is_run_and_summed_up", a_case_is_run_and_summed_up),
    ];
    let gpu = Arc::new(RwLock::new(()));
    for case in &CASES {
        if case.emulator {
            trials.push(trial(format!("emulator::{}", case.name), move || (case.run)(EMULATOR)));
        }
        let gpu = Arc::clone(&gpu);
        let on_gpu = Trial::test(format!("gpu::{}", case.name), move || run_on_gpu(case, &gpu));
        trials.push(on_gpu.with_ignored_flag(missing.is_some()));
    }
    trials
}

fn trial(name: impl Into<String>, run: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, || {
        run();
        Ok(())
    })
}

/// Runs a case in a process of its own, beside others unless it must be alone.
fn run_on_gpu(case: &'static Case, gpu: &RwLock<()>) -> Result<(), Failed> {
    let (_alone, _together) = if case.alone {
        (Some(gpu.write().unwrap_or_else(PoisonError::into_inner)), None)
    } else {
        (None, Some(gpu.read().unwrap_or_else(PoisonError::into_inner)))
    };
    let finished = process::case(case.name, GPU, case.limit)?;
    match finished.end {
        End::Success => Ok(()),
        end => Err(format!("{end:?}\n{}", finished.output).into()),
    }
}

fn a_process_that_hangs_is_ended() {
    let run = |seconds: &str| process::run("sleep", &[seconds], Duration::from_millis(300));
    assert_eq!(run("600").expect("started").end, End::OutOfTime);
    assert_eq!(run("0").expect("started").end, End::Success);
    let failing = process::run("sh", &["-c", "echo said; exit 3"], Duration::from_secs(60));
    let failing = failing.expect("started");
    assert_eq!((failing.end, failing.output.as_str()), (End::Failure(Some(3)), "said\n"));
}

/// Runs a case on the emulator as it is run on a GPU: in a process of its own.
fn a_case_is_run_and_summed_up() {
    let limit = Duration::from_secs(600);
    let finished = process::case("read_several_times", EMULATOR, limit).expect("started");
    assert!(finished.passed(), "{}", finished.output);
    let unknown = process::case("no_such_case", EMULATOR, limit).expect("started");
    assert_eq!(unknown.end, End::Failure(Some(2)), "{}", unknown.output);
    assert!(unknown.output.contains("there is no case `no_such_case`"), "{}", unknown.output);
    // A case that panics is a process that fails: this one finds no GPU, or no stream of it here.
    if missing().is_some() {
        let failed = process::case("read_several_times", GPU, limit).expect("started");
        assert_eq!(failed.end, End::Failure(Some(101)), "{}", failed.output);
    }
}
