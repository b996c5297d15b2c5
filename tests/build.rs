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

/// The kernels of a folder in `kernels`.
const TESTS: [(&str, Profiling); 6] = [
    ("plain", Off),
    ("annotated", Both),
    ("strategies", Both),
    ("collectives", On),
    ("rooms", On),
    ("thousand", On),
];

/// The kernels of an example.
const EXAMPLES: [&str; 5] = ["quickstart", "softmax", "gemm", "pipeline", "persistent"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rustc-check-cfg=cfg(no_nvptx_compiler)");
    println!("cargo::rerun-if-env-changed=PROFILER_REQUIRE_TOOLS");
    let tests = TESTS.map(|(name, profiling)| (name, format!("kernels/{name}"), profiling));
    let examples = EXAMPLES.map(|name| (name, format!("../examples/{name}/kernels"), Both));
    let mut compiles = true;
    for (name, folder, profiling) in tests.iter().chain(&examples) {
        if matches!(profiling, On | Both) {
            compiles &= compile(folder, name, true)?;
        }
        if matches!(profiling, Off | Both) {
            compiles &= compile(folder, &format!("{name}_off"), false)?;
        }
    }
    if !compiles {
        println!("cargo::rustc-cfg=no_nvptx_compiler");
    }
    Ok(())
}

/// Whether there is a compiler; none is an error where tools are required.
fn compile(folder: &str, name: &str, enabled: bool) -> Result<bool, profiler_build::Error> {
    let kernels = profiler_build::Kernels::new(folder).name(name).profile_enabled(enabled);
    if std::env::var_os("PROFILER_REQUIRE_TOOLS").is_some_and(|value| value == "1") {
        return kernels.build().map(|_| true);
    }
    Ok(kernels.build_or_warn()?.is_some())
}
