//! The project's own commands. `cargo xtask help` lists them.
#![deny(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command-line program talks to its user there")]

mod calibration;
mod cases;
mod links;
mod platforms;
mod size;
mod supply_chain;
mod test;
mod tidy;

use std::process::ExitCode;

use xtask::{Error, bundle, cargo, root, tools};

const HELP: &str = "\
Usage: cargo xtask COMMAND

Commands:
  test        Install the tools that the tests need, then run the tests that a change can break, and
              the examples; with --all every test, those of the lab too
  tools       Only install the tools of all tests: a compiler for nvptx64, ptxas, nvdisasm,
              Perfetto's trace processor, Node.js, Chromium, viewers
  check       Formatting, lints, documentation and tidy, as continuous integration does
  platforms   Type-check the libraries and the command line for Windows, macOS and Linux on aarch64
  tidy        The repository's own rules: length of files, names of the wire format, licences,
              links between pages
  size        Print how large the repository is, in figures that must not grow
  calibration-ptx
              Compile the kernels that measure what a record costs into profiler-host/src/gpu, after
              a change of profiler-device's record path
  supply-chain  Licences, duplicate versions and sources of all dependencies, advisories, every set
              of features, the oldest compiler and dependencies, what packages hold; installs
              cargo-deny and cargo-hack in target/tools
  gpu-bundle  Collect the examples and the tests that need a GPU in target/gpu-bundle, for a machine
              with an NVIDIA GPU and without Rust: `run.sh OUT_DIR` there runs them
  record-bundle
              Likewise `profiler` and the programs of examples/record in target/record-bundle
  help        Show this text

Other arguments of `test` go to `cargo test`, which then runs alone. `cargo lab help` lists the commands that measure.
";

fn main() -> ExitCode {
    xtask::run(run)
}

fn run(command: &str, rest: &[String]) -> Result<(), Error> {
    if command != "test" && !rest.is_empty() {
        return Err(format!("`cargo xtask {command}` takes no arguments, see --help").into());
    }
    match command {
        "test" => test::run(rest),
        "tools" => tools::install(tools::Extent::All).map(drop),
        "check" => check(),
        "tidy" => tidy(),
        "platforms" => platforms::check(),
        "size" => size::print(),
        "calibration-ptx" => calibration::write(),
        "supply-chain" => supply_chain::check(),
        "gpu-bundle" => bundle::make(),
        "record-bundle" => bundle::make_record(),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("unknown command `{other}`\n\n{HELP}").into()),
    }
}

fn check() -> Result<(), Error> {
    cargo().args(["fmt", "--all", "--check"]).run()?;
    // Not `--all-targets`, which takes libraries without tests twice. `--tests` leaves out what only `--all` runs.
    for targets in [&["--lib", "--bins", "--examples", "--tests"][..], &["--test", "*"]] {
        let clippy = cargo().args(["clippy", "--workspace"]).args(targets);
        clippy.args(["--", "--deny", "warnings"]).run()?;
    }
    cargo()
        .args(["doc", "--workspace", "--no-deps"])
        .envs([("RUSTDOCFLAGS".to_owned(), "--deny warnings".into())])
        .run()?;
    tidy()
}

fn tidy() -> Result<(), Error> {
    let mut offences = tidy::offences(root())?;
    offences.extend(cases::offences(root()));
    offences.extend(links::offences(root())?);
    if offences.is_empty() {
        return Ok(());
    }
    Err(format!("{} rule(s) broken:\n{}", offences.len(), offences.join("\n")).into())
}
