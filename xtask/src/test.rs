//! Runs the tests: those that a change is likely to break, or all.

use serde_json::Value;
use xtask::bundle::{self, Built};
use xtask::command::Run;
use xtask::tools::{self, Extent};
use xtask::{Error, cargo, target};

/// Test programs that only `--all` runs, by package and name: they need tools that are large, or
/// try at length what rarely breaks.
const ONLY_WITH_ALL: [(&str, &str); 7] = [
    ("profiler-cli", "hostile"),
    ("profiler-cli", "readers"),
    ("profiler-parquet", "tables"),
    ("profiler-ptx", "producers"),
    ("profiler-report", "browser"),
    ("profiler-tests", "abuse"),
    ("profiler-trace", "viewers"),
];

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
    // Tests run them; where it is told which test programs to build, `cargo test` does not build them.
    let messages = cargo()
        .args(["build", "--workspace", "--examples"])
        .args(["--message-format", "json-render-diagnostics"])
        .envs(variables.clone())
        .output()?;
    let built = Built::read(&messages)?;
    let mut failed = Vec::new();
    let mut note = |outcome: Result<(), Error>| failed.extend(outcome.err());
    if is_all {
        note(test().arg("--workspace").run());
        // Above, profiling is on, as other packages need it: here what users write compiles without.
        note(test().args(["--quiet", "--package", "profiler-device"]).run());
        note(cargo().args(["lab", "test"]).run());
        note(cargo().args(["lab", "check"]).run());
        note(crate::platforms::check());
        note(crate::supply_chain::check());
    } else {
        let metadata = cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
        let programs = programs(&serde_json::from_str(&metadata)?)?;
        let programs = programs.iter().flat_map(|name| ["--test", name]);
        note(test().args(["--workspace", "--lib", "--bins"]).args(programs).run());
        note(test().args(["--quiet", "--workspace", "--doc"]).run());
    }
    // Each checks its own result; without arguments it runs where it can: on the emulator if there is
    // no GPU. Its files must not replace those of the user's own runs.
    for example in bundle::examples()? {
        let program = Run::new(built.binary(&example)?).arg("--out");
        note(program.arg(target().join("example-runs")).envs(variables.clone()).run());
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(failed.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n").into())
}

/// The names of the test programs that run without `--all`.
fn programs(metadata: &Value) -> Result<Vec<String>, Error> {
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut names = Vec::new();
    let mut left_out = 0;
    for package in array(&metadata["packages"]) {
        for target in array(&package["targets"]) {
            let (Some(package), Some(name)) = (package["name"].as_str(), target["name"].as_str())
            else {
                continue;
            };
            if target["kind"][0] != "test" {
                continue;
            }
            if ONLY_WITH_ALL.contains(&(package, name)) {
                left_out += 1;
            } else {
                names.push(name.to_owned());
            }
        }
    }
    if left_out < ONLY_WITH_ALL.len() {
        return Err("a test program that only `--all` runs is not there any more".into());
    }
    // `--test` takes a name of all packages.
    if let Some((_, name)) = ONLY_WITH_ALL.iter().find(|(_, name)| names.iter().any(|n| n == name))
    {
        return Err(format!("two packages have a test program `{name}`: rename one").into());
    }
    names.sort();
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ONLY_WITH_ALL, programs};

    #[test]
    fn what_only_all_runs_is_left_out_and_must_exist() {
        let target = |kind: &str, name: &str| json!({ "kind": [kind], "name": name });
        let package = |(package, name): (&str, &str)| json!({ "name": package, "targets": [target("lib", "x"), target("test", name)] });
        let mut packages: Vec<_> = ONLY_WITH_ALL.map(package).into();
        packages.extend([("a", "one"), ("b", "one"), ("b", "two")].map(package));
        let found = programs(&json!({ "packages": packages })).expect("all are there");
        assert_eq!(found, ["one", "two"]);
        packages.push(package(("c", "browser")));
        assert!(programs(&json!({ "packages": packages })).is_err());
        assert!(programs(&json!({ "packages": packages[1..7] })).is_err());
    }
}
