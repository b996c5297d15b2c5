//! The Hopper gemm without a Hopper GPU: what the program says, and what ptxas makes of its kernel.
//!
//! Where a compiler for nvptx64 or ptxas is missing, the tests that need it are listed as ignored;
//! with `PROFILER_REQUIRE_TOOLS=1` that is a failure.

use std::path::Path;
use std::process::Command;

use example_kernels::hopper_gemm::BLOCK;
use libtest_mimic::{Failed, Trial};
use profiler_test_tools::{Missing, Tool, announce, are_required};

/// The kernel's PTX; empty where there was no compiler.
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/hopper_gemm.ptx"));

/// The tests, by what is installed.
pub(crate) fn trials() -> Vec<Trial> {
    let (ptxas, nvdisasm) = (Tool::Ptxas.find(), Tool::Nvdisasm.find());
    let missing = if PTX.is_empty() {
        Some(Missing::new("needs a compiler for nvptx64; `cargo xtask tools` installs one"))
    } else {
        ptxas.clone().err().or_else(|| nvdisasm.clone().err())
    };
    if let Some(missing) = &missing {
        announce("tests of the Hopper gemm's PTX", missing);
    }
    let is_ignored = missing.is_some() && !are_required();
    let assembled = Trial::test("the_kernel_is_assembled_as_it_should", move || {
        missing.map_or(Ok(()), |missing| Err(Failed::from(missing)))?;
        has_what_makes_it_fast();
        assembles_cleanly(&ptxas?, &nvdisasm?)
    });
    let elsewhere = Trial::test("elsewhere_it_says_what_it_needs", || {
        elsewhere_it_says_what_it_needs();
        Ok(())
    });
    vec![elsewhere, assembled.with_ignored_flag(is_ignored)]
}

fn elsewhere_it_says_what_it_needs() {
    let program = crate::example("hopper_gemm");
    let output = Command::new(program)
        .args(["--backend", "emulator"])
        .output()
        .expect("cargo test builds the examples");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("compute capability 9.0"), "{printed}");
    assert!(printed.contains("this is CPU emulator"), "{printed}");
}

fn has_what_makes_it_fast() {
    let bounds = format!(".maxntid {BLOCK}\n.minnctapersm 1\n");
    assert!(PTX.contains(&bounds), "without its launch bounds `setmaxnreg` is ignored");
    // An annotated kernel has its body twice.
    let count = |text: &str| PTX.matches(text).count();
    assert_eq!((count("setmaxnreg.inc"), count("setmaxnreg.dec")), (2, 2));
    let products = count("wgmma.mma_async.sync.aligned.m64n256k16");
    assert_eq!(products, 2 * 4, "one for each 16 of K");
    assert!(!PTX.contains(".local"), "sums are in registers");
}

/// Nothing is spilled, no `wgmma` waits for the one before it (ptxas reports that as an `info` with
/// a code from C7510 on), and copies have their operands at hand: where ptxas takes them for such
/// as may differ between lanes, it elects one lane after the other in a loop around each.
fn assembles_cleanly(ptxas: &Path, nvdisasm: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("module.ptx");
    std::fs::write(&input, PTX)?;
    let cubin = folder.path().join("module.cubin");
    let output = Command::new(ptxas)
        .args(["--verbose", "--gpu-name", "sm_90a", "--output-file"])
        .arg(&cubin)
        .arg(&input)
        .output()?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("ptxas refuses it:\n{log}").into());
    }
    let kernel = log.split("Compiling entry function 'hopper_gemm'").nth(1);
    let kernel = kernel.ok_or_else(|| format!("ptxas says nothing of the kernel:\n{log}"))?;
    let stack = kernel.lines().find(|line| line.contains("spill stores")).unwrap_or_default();
    assert_eq!(
        stack.trim(),
        "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        "{log}"
    );
    assert!(!log.contains("(C75"), "{log}");
    let output = Command::new(nvdisasm).arg("--print-code").arg(&cubin).output()?;
    let sass = String::from_utf8_lossy(&output.stdout);
    let loads = sass.matches("UTMALDG").count();
    assert!(loads > 0 && !sass.contains("ELECT"), "{loads} tensor copies; one in a loop?");
    Ok(())
}
