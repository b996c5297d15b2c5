//! What other programs make of the examples: ptxas of a kernel, Perfetto's trace processor of the
//! timelines. A test whose tool is missing is listed as ignored, which libtest cannot say at run time.

mod hopper_gemm;
mod traces;

use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = hopper_gemm::trials().into_iter().chain(traces::trials()).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The program of an example: target/debug/examples/NAME, where this one is target/debug/deps/TEST.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test's own program");
    test.ancestors().nth(2).expect("it lies in a folder of a folder").join("examples").join(name)
}
