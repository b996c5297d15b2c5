//! The lab's commands. `cargo lab help` lists them.
#![deny(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command-line program talks to its user there")]

mod cost_table;
mod fuzz;
mod program;
mod sanitize;

use std::path::PathBuf;
use std::process::ExitCode;

use xtask::Error;
use xtask::command::Run;

const HELP: &str = "\
Usage: cargo lab COMMAND

Commands:
  test        Run the lab's own tests; further arguments go to `cargo test`
  check       Formatting and lints of the lab
  gpu-truth   Collect in target/gpu-truth the program that compares recorded times with true ones:
              `run.sh OUT_DIR` on a machine with an NVIDIA GPU runs it
  gpu-bench   Collect in target/gpu-bench the programs that measure what one recorded region costs,
              here and in other profilers: `run.sh OUT_DIR` there
  gpu-combinations
              Collect in target/gpu-combinations the program that measures it for every strategy,
              clock, kind of record and buffer: `run.sh --combinations OUT_DIR` there
  gpu-agreement
              Collect in target/gpu-agreement the program that runs random programs on the GPU and
              on the emulator: `run.sh OUT_DIR [SECONDS [SEED]]` there
  gpu-examples
              Collect in target/gpu-examples the program that measures what annotations and recording
              cost the examples: `run.sh OUT_DIR [EXAMPLE..]` there
  cost-table  Write the table of RESULTS_JSONL, which gpu-bench made, into README.md and
              lab/measurements/record-cost.md, with the picture docs/images/record-cost.svg
  fuzz        Fuzz TARGET for SECONDS, from its corpus in lab/fuzz/corpus, and keep what it found
  sanitize    Run tests under the sanitizers `address` and `thread`, or one of them: see
              lab/sanitizers.md
  gpu-sanitize
              Collect in target/gpu-sanitize the programs that talk to a GPU, built with either
              sanitizer: `run.sh OUT_DIR` there
  help        Show this text
";

fn main() -> ExitCode {
    xtask::run(run)
}

fn run(command: &str, rest: &[String]) -> Result<(), Error> {
    let with_arguments = matches!(command, "test" | "cost-table" | "fuzz" | "sanitize");
    if !with_arguments && !rest.is_empty() {
        return Err(
            format!("`cargo lab {command}` takes no arguments, see `cargo lab help`").into()
        );
    }
    match command {
        "test" => {
            let tools = xtask::tools::install(xtask::tools::Extent::Tests)?;
            cargo("test")
                .args(["--workspace", "--no-fail-fast"])
                .args(rest)
                .envs(tools.variables())
                .run()
        }
        "check" => {
            cargo("fmt").args(["--all", "--check"]).run()?;
            cargo("clippy").args(["--workspace", "--all-targets", "--", "--deny", "warnings"]).run()
        }
        "gpu-truth" => program::TRUTH.make(),
        "gpu-bench" => program::BENCH.make(),
        "gpu-combinations" => program::COMBINATIONS.make(),
        "gpu-agreement" => program::AGREEMENT.make(),
        "gpu-examples" => program::EXAMPLES.make(),
        "cost-table" => cost_table::table(rest),
        "fuzz" => fuzz::run(rest),
        "sanitize" => sanitize::run(rest),
        "gpu-sanitize" => sanitize::gpu_bundle(),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("unknown command `{other}`\n\n{HELP}").into()),
    }
}

/// The lab's folder.
fn lab() -> PathBuf {
    xtask::root().join("lab")
}

/// Cargo with a subcommand, in the lab's workspace.
fn cargo(subcommand: &str) -> Run {
    let cargo = xtask::cargo().arg(subcommand).arg("--manifest-path").arg(lab().join("Cargo.toml"));
    if subcommand == "fmt" {
        return cargo;
    }
    cargo.arg("--target-dir").arg(xtask::target().join("lab"))
}
