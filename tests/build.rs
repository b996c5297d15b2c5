//! Compiles the test kernels to PTX, where there is a compiler for nvptx64, and for comparison the
//! examples' kernels too.

/// Whether kernels record. Without, their module's name ends in `_off`.
#[derive(Clone, Copy)]
enum Profiling {
    On,
    Off,
    /// Modules of both kinds.
    Both,
}

use Profiling::{Both, Off, On};
use profiler_build::Kernels;

/// The modules of `kernels`.
const TESTS: [(&str, Profiling); 14] = [
    ("plain", Off),
    ("annotated", Both),
    ("strategies", Both),
    ("collectives", On),
    ("anchors", On),
    ("thousand", On),
    ("barriers", Both),
    ("functions", On),
    ("intrinsics", On),
    ("stamps", Both),
    ("watched", On),
    ("abuse", On),
    ("declared", Both),
    ("linted", Both),
];

/// A newer target and the version of PTX that has its instructions, for which the kernels of
/// `stamps` are compiled too.
const STAMPS_TARGETS: [(&str, u32); 2] = [("sm_90", 80), ("sm_90a", 80)];

/// The kernels of an example that are for sm_80.
const EXAMPLES: [&str; 5] = ["softmax", "gemm", "pipeline", "persistent", "watch"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rustc-check-cfg=cfg(no_nvptx_compiler)");
    let tests = TESTS.map(|(name, profiling)| (name, module(name), profiling));
    let example = |name| (name, Kernels::new("../examples/kernels").feature(name), Both);
    let apart = [("quickstart", "../examples/quickstart/kernels"), ("renamed", "renamed_kernels")]
        .map(|(name, folder)| (name, Kernels::new(folder), Both));
    let mut compiles = true;
    for (name, kernels, profiling) in tests.into_iter().chain(EXAMPLES.map(example)).chain(apart) {
        if matches!(profiling, On | Both) {
            compiles &= compile(&kernels, name, true)?;
        }
        if matches!(profiling, Off | Both) {
            compiles &= compile(&kernels, &format!("{name}_off"), false)?;
        }
    }
    compiles &= compile(&module("stamps").feature("twice"), "stamps_twice", true)?;
    for (target, version) in STAMPS_TARGETS {
        let kernels = module("stamps").target(target).ptx_version(version);
        compiles &= compile(&kernels, &format!("stamps_{target}"), true)?;
        compiles &= compile(&kernels, &format!("stamps_{target}_off"), false)?;
        let kernels = kernels.feature("twice");
        compiles &= compile(&kernels, &format!("stamps_{target}_twice"), true)?;
    }
    // As `examples/kernels.rs` has it.
    let (_, kernels, _) = example("hopper_gemm");
    let kernels = kernels.target("sm_90a");
    compiles &= compile(&kernels, "hopper_gemm", true)?;
    compiles &= compile(&kernels, "hopper_gemm_off", false)?;
    let kernels = module("intrinsics").target("sm_90");
    compiles &= compile(&kernels, "intrinsics_sm_90", true)?;
    let hosted = module("annotated").feature("hosted");
    compiles &= compile(&hosted, "annotated_hosted_off", false)?;
    if !compiles {
        println!("cargo::rustc-cfg=no_nvptx_compiler");
    }
    Ok(())
}

/// One module of `kernels`.
fn module(name: &str) -> Kernels {
    Kernels::new("kernels").feature(name)
}

/// Whether there is a compiler. (That there is one where tools are required, a test of `ptx.rs` asks: did this
/// script ask, all kernels would be compiled again by each command that requires tools after one that does not.)
fn compile(kernels: &Kernels, name: &str, enabled: bool) -> Result<bool, profiler_build::Error> {
    let kernels = kernels.clone().name(name).profile_enabled(enabled);
    Ok(kernels.build_or_warn()?.is_some())
}
