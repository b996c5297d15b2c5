//! The Hopper gemm without a Hopper GPU: what the program says, and what ptxas makes of its kernel.
//!
//! Where a compiler for nvptx64 or ptxas is missing, the tests that need it are listed as ignored;
//! with `PROFILER_REQUIRE_TOOLS=1` that is a failure.

use std::path::Path;
use std::process::Command;

use example_kernels::hopper_gemm::BLOCK;
use libtest_mimic::{Failed, Trial};
use profiler_test_tools::{Missing, Tool, announce, are_required};

/// The kernel's PTX with and without annotations.
const MODULES: [(&str, &str); 2] = [
    ("annotated", include_str!(concat!(env!("OUT_DIR"), "/hopper_gemm.ptx"))),
    ("plain", include_str!(concat!(env!("OUT_DIR"), "/hopper_gemm_off.ptx"))),
];
/// The tests, by what is installed.
pub(crate) fn trials() -> Vec<Trial> {
    let (ptxas, nvdisasm) = (Tool::Ptxas.find(), Tool::Nvdisasm.find());
    let missing = if MODULES.iter().any(|(_, ptx)| ptx.is_empty()) {
        Some(Missing::new("needs a compiler for nvptx64; `cargo xtask tools` installs one"))
    } else {
        ptxas.clone().err().or_else(|| nvdisasm.clone().err())
    };
    if let Some(missing) = &missing {
        announce("tests of the Hopper gemm's PTX", missing);
    }
    let mut trials = vec![Trial::test("elsewhere_it_says_what_it_needs", || {
        elsewhere_it_says_what_it_needs();
        Ok(())
    })];
    for (name, ptx) in MODULES {
        let (ptxas, nvdisasm) = (ptxas.clone(), nvdisasm.clone());
        let missing = missing.clone();
        let is_ignored = missing.is_some() && !are_required();
        let trial = Trial::test(format!("{name}_kernel_is_assembled_as_it_should"), move || {
            missing.map_or(Ok(()), |missing| Err(Failed::from(missing)))?;
            has_what_makes_it_fast(ptx);
            assembles_cleanly(&ptxas?, &nvdisasm?, ptx)
        });
        trials.push(trial.with_ignored_flag(is_ignored));
    }
    trials
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
    assert!(printed.contains("the emulator has none of what it uses"), "{printed}");
}

/// The build script states the plain kernel's bounds; they must be those of the annotated one.
fn has_what_makes_it_fast(ptx: &str) {
    let bounds = format!(".maxntid {BLOCK}\n.minnctapersm 1\n");
    assert!(ptx.contains(&bounds), "without its launch bounds `setmaxnreg` is ignored");
    // An annotated kernel has its body twice.
    let bodies = ptx.matches("setmaxnreg.inc").count();
    assert!(bodies == 1 || bodies == 2, "{bodies} bodies");
    let count = |text: &str| ptx.matches(text).count();
    let products = count("wgmma.mma_async.sync.aligned.m64n256k16");
    assert_eq!(products, 4 * bodies, "one for each 16 of K");
    assert_eq!(count("setmaxnreg.dec"), bodies);
    assert!(!ptx.contains(".local"), "sums are in registers");
}

/// Nothing is spilled, no `wgmma` waits for the one before it (ptxas reports that as an `info` with
/// a code from C7510 on), and copies have their operands at hand: where ptxas takes them for such
/// as may differ between lanes, it elects one lane after the other in a loop around each.
fn assembles_cleanly(ptxas: &Path, nvdisasm: &Path, ptx: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("module.ptx");
    std::fs::write(&input, ptx)?;
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
