//! `cargo xtask host-bench`: what decoding, exports, statistics and reports cost, as whole processes
//! and as rates, beside other programs. Writes the raw results and the tables of
//! `docs/measurements/host-side.md`.

mod large;
mod plan;
mod process;
mod rates;
mod tables;

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::command::Run;
use crate::{Error, cargo, root, target};
use plan::{Command, Kind, Programs, Step};

const USAGE: &str = "usage: cargo xtask host-bench [--quick | --commands | --large]";

/// A document with tables, and the file of raw results beside it.
const DOCUMENT: &str = "host-side.md";
const RESULTS: &str = "host-side.jsonl";
/// That of the largest captures.
const LARGE_RESULTS: &str = "host-side-1e8.jsonl";

/// How much is measured.
pub(crate) struct Extent {
    /// Records of the captures, and how often each command runs.
    sizes: &'static [(u64, usize)],
    /// Records of the capture whose timeline is streamed by the library alone.
    largest: u64,
    /// Where results go.
    folder: PathBuf,
    /// Whether the library is measured, and its rates; what is not stays as it was.
    library: bool,
    rates: bool,
    /// Whether it is the largest captures alone.
    large: bool,
}

impl Extent {
    fn of(arguments: &[String]) -> Result<Self, Error> {
        let full = Self {
            sizes: &[(10_000, 5), (1_000_000, 3), (10_000_000, 2)],
            largest: 100_000_000,
            folder: root().join("docs/measurements"),
            library: true,
            rates: true,
            large: false,
        };
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words[..] {
            [] => Ok(full),
            ["--commands"] => Ok(Self { library: false, rates: false, ..full }),
            ["--large"] => Ok(Self { large: true, ..full }),
            ["--quick"] => Ok(Self {
                sizes: &[(10_000, 1), (100_000, 1)],
                largest: 1_000_000,
                folder: target().join("host-bench"),
                rates: false,
                ..full
            }),
            _ => Err(USAGE.into()),
        }
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Error> {
    let extent = Extent::of(arguments)?;
    let programs = build()?;
    let scratch = target().join("host-bench");
    std::fs::create_dir_all(&scratch)?;
    std::fs::create_dir_all(&extent.folder)?;
    let mut results = Results { lines: vec![machine()?] };
    if extent.large {
        large::measure(&programs, &scratch, &mut results)?;
        return write(&extent, LARGE_RESULTS, &results.lines, "large");
    }
    for &(records, runs) in extent.sizes {
        let folder = scratch.join(records.to_string());
        std::fs::create_dir_all(&folder)?;
        for command in plan::commands(&programs, &folder, records)? {
            results.measure(&command, records, runs)?;
        }
        // Some of them are large.
        std::fs::remove_dir_all(&folder)?;
    }
    if extent.library {
        for step in plan::library(&extent) {
            results.library(&programs.measure, &step)?;
        }
    }
    if extent.rates {
        rates::measure(&mut results)?;
    }
    results.add(json!({ "kind": "end", "load": load() }))?;
    if !extent.library {
        let before = std::fs::read_to_string(extent.folder.join(RESULTS))?;
        results.lines.extend(kept(&before)?);
    }
    write(&extent, RESULTS, &results.lines, "")
}

/// What stays of results when all commands are measured again: their lines behind the new ones, with
/// the machine that they are of.
fn kept(before: &str) -> Result<Vec<Value>, Error> {
    let lines = before.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    Ok(lines.into_iter().filter(|line| line["kind"] != "process").collect())
}

/// Writes results, and the tables of the document: all that were measured, or the one of this name.
fn write(extent: &Extent, results: &str, lines: &[Value], only: &str) -> Result<(), Error> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(extent.folder.join(results), text)?;
    let document = std::fs::read_to_string(root().join("docs/measurements").join(DOCUMENT))?;
    let filled = tables::fill(&document, lines, only)?;
    std::fs::write(extent.folder.join(DOCUMENT), filled)?;
    println!("wrote {results} and {DOCUMENT} in {}", extent.folder.display());
    Ok(())
}

/// Builds all that is measured.
fn build() -> Result<Programs, Error> {
    cargo().args(["build", "--release", "--package", "profiler-cli"]).run()?;
    let examples = ["measure", "synthetic_capture", "inferno_flamegraph"];
    let examples = examples.into_iter().flat_map(|example| ["--example", example]);
    cargo().args(["build", "--release", "--package", "profiler-trace"]).args(examples).run()?;
    let release = target().join("release");
    let example = |name: &str| release.join("examples").join(name);
    let python = target().join("tools/python/bin/python3");
    let has_duckdb = Run::new(&python).args(["-c", "import duckdb"]).succeeds();
    if !has_duckdb {
        println!("DuckDB is not measured beside: `cargo xtask tools` installs it");
    }
    Ok(Programs {
        profiler: release.join("profiler"),
        measure: example("measure"),
        synthetic_capture: example("synthetic_capture"),
        inferno: example("inferno_flamegraph"),
        duckdb: has_duckdb.then_some(python),
    })
}

/// What is measured on, and when.
fn machine() -> Result<Value, Error> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let of = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        line.split_once(':').map_or("unknown", |(_, value)| value.trim()).to_owned()
    };
    let rustc = Run::new("rustc").arg("--version").output()?;
    let day = Run::new("date").args(["-u", "+%F"]).output()?;
    Ok(json!({
        "kind": "machine",
        "date": day.trim(),
        "processor": of(&read("/proc/cpuinfo"), "model name"),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "memory": of(&read("/proc/meminfo"), "MemTotal"),
        "rustc": rustc.trim(),
        "load": load(),
    }))
}

/// How many processes wanted a core in the last minute.
fn load() -> Value {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|load| load.parse::<f64>().ok()).into()
}

/// A line of JSON for each run.
pub(crate) struct Results {
    lines: Vec<Value>,
}

impl Results {
    pub(crate) fn add(&mut self, line: Value) -> Result<(), Error> {
        writeln!(std::io::stdout(), "{line}")?;
        self.lines.push(line);
        Ok(())
    }

    /// Runs a command once to see what it writes, and then as often as asked for.
    fn measure(&mut self, command: &Command, records: u64, runs: usize) -> Result<(), Error> {
        let written = process::written(&command.words, command.output.as_deref())?;
        if command.kind == Kind::Preparation {
            return Ok(());
        }
        for _ in 0..runs {
            let cost = process::measure(&command.words)?;
            self.add(json!({
                "kind": "process",
                "step": command.step,
                "is_peer": command.kind == Kind::Peer,
                "records": records,
                "seconds": cost.seconds,
                "processor_seconds": cost.processor_seconds,
                "peak_bytes": cost.peak_bytes,
                "written_bytes": written,
            }))?;
        }
        Ok(())
    }

    /// A step of the library, over a capture in memory.
    fn library(&mut self, program: &Path, step: &Step) -> Result<(), Error> {
        let &Step { step, content, records, threads } = step;
        let size = [records.to_string(), threads.to_string()];
        let output = Run::new(program).arg(step).args(&size).arg(content).output()?;
        let mut line: Value = serde_json::from_str(&output)?;
        line["kind"] = "library".into();
        let mut label = step.to_owned();
        if content != "regions" {
            label = format!("{label}, {content}");
        }
        if threads > 1 {
            label = format!("{label}, {threads} threads");
        }
        line["step"] = label.into();
        self.add(line)
    }
}

#[cfg(test)]
mod tests {
    use super::{Extent, kept};

    #[test]
    fn what_is_not_measured_again_stays() {
        let before = "{\"kind\":\"machine\"}\n{\"kind\":\"process\"}\n{\"kind\":\"rate\"}\n";
        let kinds: Vec<_> =
            kept(before).expect("JSON").iter().map(|line| line["kind"].clone()).collect();
        assert_eq!(kinds, ["machine", "rate"]);
    }

    #[test]
    fn the_full_extent_alone_goes_into_the_documentation() {
        let of = |arguments: &[&str]| {
            Extent::of(&arguments.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        let full = of(&[]).expect("no arguments");
        assert!(full.folder.ends_with("docs/measurements") && full.rates);
        let quick = of(&["--quick"]).expect("a known argument");
        assert!(!quick.folder.ends_with("docs/measurements"));
        let commands = of(&["--commands"]).expect("a known argument");
        assert!(commands.sizes == full.sizes && !commands.library && !commands.rates);
        assert!(of(&["--large"]).expect("a known argument").large);
        assert!(of(&["--quick", "--quick"]).is_err() && of(&["--fast"]).is_err());
    }
}
