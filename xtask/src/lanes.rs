//! Runs the tests of the workspace, several programs at once.
//!
//! Cargo runs one test program after the other, and many of ours have work for one processor only.

use std::ffi::OsString;

use serde_json::Value;

use crate::command::Run;
use crate::{Error, cargo};

/// Programs that take longest, with the seconds that they took on two processors. Of a name that several
/// packages have it is all of them.
const LONG: [(&str, u32); 13] = [
    ("assembled", 115),
    ("hostile", 113),
    ("stamps", 86),
    ("traces", 82),
    ("walkthrough", 70),
    ("emulator", 55),
    ("browser", 51),
    ("trace_processor", 51),
    ("compiler", 45),
    ("tools", 45),
    ("ui", 39),
    ("viewers", 38),
    ("abuse", 37),
];
/// What another one counts.
const SHORT: u32 = 5;
/// Each program has threads of its own, and some need a GiB of memory.
const LANES_MAX: usize = 4;

/// Test programs that run one behind the other.
#[derive(Debug, Default)]
struct Lane {
    names: Vec<String>,
    seconds: u32,
}

/// So many lanes, or one for each name: the longest first, each into the lane that has least to do.
fn lanes(mut names: Vec<String>, count: usize) -> Vec<Lane> {
    let seconds_of = |name: &str| {
        LONG.iter().find(|(long, _)| *long == name).map_or(SHORT, |(_, seconds)| *seconds)
    };
    names.sort();
    names.dedup();
    names.sort_by_key(|name| std::cmp::Reverse(seconds_of(name)));
    let mut lanes = Vec::new();
    lanes.resize_with(count.min(names.len()), Lane::default);
    for name in names {
        if let Some(lane) = lanes.iter_mut().min_by_key(|lane| lane.seconds) {
            lane.seconds += seconds_of(&name);
            lane.names.push(name);
        }
    }
    lanes
}

/// The names of all test programs, from what `cargo metadata` prints.
fn names(metadata: &Value) -> Vec<String> {
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = array(&metadata["packages"]);
    let targets = packages.iter().flat_map(|package| array(&package["targets"]));
    let tests = targets.filter(|target| array(&target["kind"]).contains(&"test".into()));
    tests.filter_map(|test| test["name"].as_str().map(str::to_owned)).collect()
}

/// Compiles everything; then runs the tests of libraries and programs, the test programs in lanes, and the
/// examples in the documentation. What the first lane prints is seen at once, that of another when it ends.
pub(crate) fn run(variables: &[(String, OsString)]) -> Result<(), Error> {
    let test = || cargo().args(["test", "--workspace"]).envs(variables.to_vec());
    test().arg("--no-run").run()?;
    let metadata = cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let names = names(&serde_json::from_str(&metadata)?);
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let of_lane = |lane: Lane| {
        lane.names
            .into_iter()
            .fold(test().arg("--no-fail-fast"), |run, name| run.args(["--test".to_owned(), name]))
    };
    let mut lanes = lanes(names, processors.min(LANES_MAX)).into_iter().map(of_lane);
    let first = lanes.next();
    let outcomes = std::thread::scope(|scope| {
        let others: Vec<_> = lanes.map(|lane| scope.spawn(|| lane.run_quietly())).collect();
        let units = test().args(["--no-fail-fast", "--lib", "--bins"]).run();
        let first = first.map_or(Ok(()), Run::run);
        let mut outcomes = vec![units, first];
        outcomes.extend(others.into_iter().map(|other| match other.join() {
            Ok(outcome) => outcome.map_err(Error::from),
            Err(_) => Err("a lane of tests panicked".into()),
        }));
        outcomes
    });
    let documented = test().args(["--no-fail-fast", "--doc"]).run();
    let failed = outcomes.into_iter().chain([documented]).filter_map(Result::err);
    let failed: Vec<String> = failed.map(|error| error.to_string()).collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{LONG, lanes, names};

    #[test]
    fn each_name_is_in_one_lane_and_the_lanes_are_as_long() {
        let mut all: Vec<String> = LONG.iter().map(|(name, _)| (*name).to_owned()).collect();
        all.extend((0..70).map(|number| format!("short{number}")));
        let twice = [&all[..], &all[..20]].concat();
        for count in 1..5 {
            let lanes = lanes(twice.clone(), count);
            assert_eq!(lanes.len(), count);
            let mut found: Vec<&String> = lanes.iter().flat_map(|lane| &lane.names).collect();
            found.sort();
            let mut expected: Vec<&String> = all.iter().collect();
            expected.sort();
            assert_eq!(found, expected);
            let seconds = || lanes.iter().map(|lane| lane.seconds);
            assert!(seconds().max() <= seconds().min().map(|least| least + 5), "{lanes:?}");
        }
        assert_eq!(lanes(vec!["one".to_owned()], 4).len(), 1);
        assert!(lanes(Vec::new(), 4).is_empty());
    }

    #[test]
    fn test_programs_are_those_of_all_packages() {
        let target = |kind: &str, name: &str| json!({ "kind": [kind], "name": name });
        let metadata = json!({ "packages": [
            { "targets": [target("lib", "one"), target("test", "emulator"), target("bin", "one")] },
            { "targets": [target("test", "emulator"), target("test", "rooms")] },
            { "targets": [target("custom-build", "build")] },
        ]});
        assert_eq!(names(&metadata), ["emulator", "emulator", "rooms"]);
        assert!(names(&json!({})).is_empty());
    }

    #[test]
    fn programs_that_are_said_to_take_long_exist() {
        let metadata = crate::cargo().args(["metadata", "--no-deps", "--format-version", "1"]);
        let metadata = metadata.output().expect("cargo runs");
        let names = names(&serde_json::from_str(&metadata).expect("JSON"));
        for (long, _) in LONG {
            assert!(names.iter().any(|name| name == long), "{long}");
        }
    }
}
