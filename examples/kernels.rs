//! How the examples' kernels are compiled: for the build script, and for `cargo xtask gpu-bundle`,
//! which compiles them once more without annotations.

use std::path::Path;

use profiler_build::Kernels;

/// The kernels of an example, whose folder lies in `examples`.
pub(crate) fn kernels(examples: &Path, example: &str) -> Kernels {
    let kernels = Kernels::new(examples.join(example).join("kernels"));
    match example {
        // PTX 8.3: the fence for tensor maps.
        "hopper_gemm" => kernels.target("sm_90a").ptx_version(83),
        _ => kernels,
    }
}
