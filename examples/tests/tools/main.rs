//! What other programs make of the examples: ptxas of a kernel, Perfetto's trace processor of the
//! timelines. A test whose tool is missing is listed as ignored, which libtest cannot say at run time.

mod hopper_gemm;
mod traces;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = hopper_gemm::trials().into_iter().chain(traces::trials()).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The program of an example: in a folder beside the quickstart, which is a binary too.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_quickstart")).with_file_name("examples").join(name)
}
