//! Runs the tests: those that a change is likely to break, or all.

use serde_json::Value;
use xtask::bundle::{self, Built};
use xtask::command::Run;
use xtask::tools::{self, Extent};
use xtask::{Error, cargo, target};

/// Asks tests for all targets and all cases.
const ALL_VARIABLE: &str = "PROFILER_TEST_ALL";

/// Runs them; arguments but `--all` go to `cargo test`, which then runs alone.
pub(crate) fn run(arguments: &[String]) -> Result<(), Error> {
    let is_all = arguments.iter().any(|argument| argument == "--all");
    let arguments: Vec<&String> = arguments.iter().filter(|one| *one != "--all").collect();
    let extent = if is_all || !arguments.is_empty() { Extent::All } else { Extent::Tests };
    let mut variables = tools::install(extent)?.variables();
    if is_all {
        variables.push((ALL_VARIABLE.to_owned(), "1".into()));
    }
    let test = || cargo().args(["test", "--no-fail-fast"]).envs(variables.clone());
    if !arguments.is_empty() {
        return test().arg("--workspace").args(arguments).run();
    }
    let mut failed = Vec::new();
    let mut note = |outcome: Result<(), Error>| failed.extend(outcome.err());
    note(test().arg("--workspace").run());
    if is_all {
        let metadata = cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
        let metadata = serde_json::from_str(&metadata)?;
        let programs = left_out(&metadata);
        let programs = programs.iter().flat_map(|name| ["--test", name]);
        note(test().arg("--workspace").args(programs).run());
        // Above, profiling is on, as other packages need it: here what users write compiles without.
        note(test().args(["--quiet", "--package", "profiler-device"]).run());
        note(cargo().args(["lab", "test"]).run());
        note(cargo().args(["lab", "check"]).run());
        // A workspace of its own, as it builds only with headers of CUDA.
        note(
            cargo()
                .args(["check", "--manifest-path", "examples/host_cuda_core/Cargo.toml"])
                .arg("--target-dir")
                .arg(target().join("cuda-core"))
                .envs(variables.clone())
                .run(),
        );
        note(crate::platforms::check());
        note(crate::supply_chain::check());
    }
    // The tests had them built. Each checks its own result; without arguments it runs where it can: on the
    // emulator if there is no GPU. Its files must not replace those of the user's own runs.
    let messages = cargo()
        .args(["build", "--workspace", "--examples"])
        .args(["--message-format", "json-render-diagnostics"])
        .envs(variables.clone())
        .output()?;
    let built = Built::read(&messages)?;
    for example in bundle::examples()? {
        let program = Run::new(built.binary(&example)?).arg("--out");
        note(program.arg(target().join("example-runs")).envs(variables.clone()).run());
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(failed.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n").into())
}

/// The test programs that only `--all` runs, as their manifests say `test = false`: they need tools that
/// are large, or try at length what rarely breaks.
fn left_out(metadata: &Value) -> Vec<&str> {
    fn array(value: &Value) -> impl Iterator<Item = &Value> {
        value.as_array().into_iter().flatten()
    }
    array(&metadata["packages"])
        .flat_map(|package| array(&package["targets"]))
        .filter(|target| target["kind"][0] == "test" && target["test"] == false)
        .filter_map(|target| target["name"].as_str())
        .collect()
}
