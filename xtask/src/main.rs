//! The project's own commands. `cargo xtask help` lists them.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program talks to its user there"
)]

mod abuse_table;
mod bundle;
mod command;
mod cost_table;
mod program;
mod tidy;
mod tools;

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
  tidy        The repository's own rules: length of files, names of the wire format, licences
  gpu-bundle  Collect the examples with their PTX in target/gpu-bundle, for a machine with an
              NVIDIA GPU and without Rust: `run.sh OUT_DIR` there runs them
  gpu-truth   Collect in target/gpu-truth the program that compares recorded times with true ones:
              `run.sh OUT_DIR` on a machine with an NVIDIA GPU runs it
  gpu-bench   Collect in target/gpu-bench the programs that measure what one recorded region costs,
              here and in other profilers: `run.sh OUT_DIR` on a machine with an NVIDIA GPU
  cost-table  Write the table of RECORD_COST_JSONL, which that made, into README.md and
              docs/measurements/record-cost.md, and draw docs/images/record-cost.svg
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
    if !matches!(command, "test" | "cost-table" | "abuse-table") && !rest.is_empty() {
        return Err(format!("`cargo xtask {command}` takes no arguments, see --help").into());
    }
    match command {
        "test" => test(rest),
        "tools" => tools::install().map(drop),
        "check" => check(),
        "tidy" => tidy(),
        "gpu-bundle" => bundle::make(),
        "gpu-truth" => program::TRUTH.make(),
        "gpu-bench" => program::BENCH.make(),
        "abuse-table" => abuse_table::table(rest),
        "cost-table" => cost_table::table(rest),
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
    cargo()
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(arguments)
        .envs(tools.variables())
        .run()?;
    if !arguments.is_empty() {
        return Ok(());
    }
    // What fuzzing found interesting, given to the same functions again.
    cargo()
        .args(["test", "--quiet", "--manifest-path"])
        .arg(root().join("fuzz/Cargo.toml"))
        .arg("--target-dir")
        .arg(target().join("fuzz"))
        .run()?;
    // Each example checks its own result; without arguments it runs where it can: on the emulator
    // if there is no GPU. What it writes belongs into a folder of its own.
    for example in bundle::examples()? {
        let folder = target().join("example-runs").join(&example);
        std::fs::create_dir_all(&folder)?;
        cargo()
            .args(["run", "--quiet", "--package", bundle::PACKAGE, "--example", &example])
            .arg("--manifest-path")
            .arg(root().join("Cargo.toml"))
            .envs(tools.variables())
            .folder(&folder)
            .run()?;
    }
    Ok(())
}

fn check() -> Result<(), Error> {
    cargo().args(["fmt", "--all", "--check"]).run()?;
    cargo().args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]).run()?;
    cargo()
        .args(["doc", "--workspace", "--no-deps"])
        .envs([("RUSTDOCFLAGS".to_owned(), "--deny warnings".into())])
        .run()?;
    tidy()
}

fn tidy() -> Result<(), Error> {
    let offences = tidy::offences(root())?;
    if offences.is_empty() {
        return Ok(());
    }
    Err(format!("{} rule(s) broken:\n{}", offences.len(), offences.join("\n")).into())
}
