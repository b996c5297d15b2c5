//! The project's own commands. `cargo xtask help` lists them.
#![deny(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program talks to its user there"
)]

mod abuse_table;
mod bundle;
mod calibration;
mod cases;
mod command;
mod cost_table;
mod host_bench;
mod lanes;
mod links;
mod program;
mod sanitize;
mod supply_chain;
mod tidy;
mod tools;
mod unannotated;
mod unsafe_list;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use command::Run;

/// Anything that ends a command; its text says what to do.
type Error = Box<dyn std::error::Error>;

const HELP: &str = "\
Usage: cargo xtask COMMAND

Commands:
  test        Install the tools that the tests need, then run all tests and examples
  tools       Only install them: a compiler for nvptx64, ptxas, nvdisasm, Perfetto's trace
              processor, Node.js
  check       Formatting, lints, documentation and tidy, as continuous integration does
  tidy        The repository's own rules: length of files, names of the wire format, licences,
              tests that docs/cases.md names
  sanitize    Run tests under the sanitizers `address` and `thread`, or one of them: see
              docs/sanitizers.md
  gpu-sanitize
              Collect in target/gpu-sanitize the programs that talk to a GPU, built with either
              sanitizer: `run.sh OUT_DIR` on a machine with an NVIDIA GPU runs them
  calibration-ptx
              Compile the kernels that measure what a record costs into profiler-host/src/gpu, where
              the record path of profiler-device has changed
  unsafe-list Write docs/unsafe.md: everything `unsafe`, with its reason
  supply-chain  Licences, duplicate versions and sources of all dependencies, advisories, every set
              of features, the oldest compiler and dependencies, what packages hold; installs
              cargo-deny and cargo-hack in target/tools
  gpu-bundle  Collect the examples and the tests that need a GPU in target/gpu-bundle, for a machine
              with an NVIDIA GPU and without Rust: `run.sh OUT_DIR` there runs them
  gpu-truth   Collect in target/gpu-truth the program that compares recorded times with true ones:
              `run.sh OUT_DIR` on a machine with an NVIDIA GPU runs it
  gpu-bench   Collect in target/gpu-bench the programs that measure what one recorded region costs,
              here and in other profilers: `run.sh OUT_DIR` on a machine with an NVIDIA GPU
  gpu-combinations
              Collect in target/gpu-combinations the program that measures it for every strategy,
              clock, kind of record and buffer: `run.sh --combinations OUT_DIR` there
  gpu-agreement
              Collect in target/gpu-agreement the program that runs random programs on the GPU and
              on the emulator: `run.sh OUT_DIR [SECONDS [SEED]]` on a machine with an NVIDIA GPU
  cost-table  Write the table of RESULTS_JSONL, which gpu-bench or gpu-combinations made: of
              record-cost.jsonl into README.md and docs/measurements/record-cost.md, with the
              picture docs/images/record-cost.svg, of record-combinations.jsonl into
              docs/measurements/record-combinations.md
  host-bench  Measure decoding, exports, statistics and reports of captures of up to 10^7 records,
              and write docs/measurements/host-side.jsonl and the tables of host-side.md; with
              --quick on small captures, and into target/host-bench; with --commands the programs
              alone, with --large those of 10^8 records, into host-side-1e8.jsonl
  abuse-table Write docs/measurements/abuse.md from ABUSE_JSONL, which the bundle's run.sh made
  help        Show this text

Further arguments of `test` go to `cargo test`.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((command, rest)) => run(command, rest),
        None => run("help", &[]),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &str, rest: &[String]) -> Result<(), Error> {
    let with_arguments =
        matches!(command, "test" | "cost-table" | "abuse-table" | "sanitize" | "host-bench");
    if !with_arguments && !rest.is_empty() {
        return Err(format!("`cargo xtask {command}` takes no arguments, see --help").into());
    }
    match command {
        "test" => test(rest),
        "sanitize" => sanitize::run(rest),
        "gpu-sanitize" => sanitize::gpu_bundle(),
        "tools" => tools::install().map(drop),
        "check" => check(),
        "tidy" => tidy(),
        "unsafe-list" => {
            let text = unsafe_list::text(root())?;
            Ok(std::fs::write(root().join(unsafe_list::FILE), text)?)
        }
        "calibration-ptx" => calibration::write(),
        "supply-chain" => supply_chain::check(),
        "gpu-bundle" => bundle::make(),
        "gpu-truth" => program::TRUTH.make(),
        "gpu-bench" => program::BENCH.make(),
        "gpu-combinations" => program::COMBINATIONS.make(),
        "gpu-agreement" => program::AGREEMENT.make(),
        "abuse-table" => abuse_table::table(rest),
        "cost-table" => cost_table::table(rest),
        "host-bench" => host_bench::run(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("unknown command `{other}`\n\n{HELP}").into()),
    }
}

/// The repository's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository's root")
}

/// Cargo's target folder.
fn target() -> PathBuf {
    root().join("target")
}

fn cargo() -> Run {
    Run::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn test(arguments: &[String]) -> Result<(), Error> {
    let tools = tools::install()?;
    if !arguments.is_empty() {
        let chosen = cargo().args(["test", "--workspace", "--no-fail-fast"]).args(arguments);
        return chosen.envs(tools.variables()).run();
    }
    lanes::run(&tools.variables())?;
    // Above, profiling is on, as other packages need it: here what users write compiles without it.
    cargo()
        .args(["test", "--quiet", "--package", "profiler-device"])
        .envs(tools.variables())
        .run()?;
    // What fuzzing found interesting, given to the same functions again.
    cargo()
        .args(["test", "--quiet", "--manifest-path"])
        .arg(root().join("fuzz/Cargo.toml"))
        .arg("--target-dir")
        .arg(target().join("fuzz"))
        .run()?;
    // Each example checks its own result; without arguments it runs where it can: on the emulator
    // if there is no GPU. Its files must not replace those of the user's own runs.
    for example in bundle::examples()? {
        cargo()
            .args(["run", "--quiet", "--package", bundle::PACKAGE, "--example", &example])
            .args(["--", "--out"])
            .arg(target().join("example-runs"))
            .envs(tools.variables())
            .run()?;
    }
    Ok(())
}

fn check() -> Result<(), Error> {
    // The fuzz targets lie outside of the workspace.
    let fuzz = || cargo().folder(&root().join("fuzz"));
    cargo().args(["fmt", "--all", "--check"]).run()?;
    fuzz().args(["fmt", "--check"]).run()?;
    cargo().args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]).run()?;
    fuzz()
        .args(["clippy", "--all-targets", "--target-dir"])
        .arg(target().join("fuzz"))
        .args(["--", "--deny", "warnings"])
        .run()?;
    cargo()
        .args(["doc", "--workspace", "--no-deps"])
        .envs([("RUSTDOCFLAGS".to_owned(), "--deny warnings".into())])
        .run()?;
    tidy()
}

fn tidy() -> Result<(), Error> {
    let mut offences = tidy::offences(root())?;
    offences.extend(unsafe_list::offence(root())?);
    offences.extend(cases::offences(root()));
    offences.extend(links::offences(root())?);
    if offences.is_empty() {
        return Ok(());
    }
    Err(format!("{} rule(s) broken:\n{}", offences.len(), offences.join("\n")).into())
}
