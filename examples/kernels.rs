//! How the examples' kernels are compiled: for the build script here and for that of `lab/examples`.

use std::path::Path;

use profiler_build::Kernels;

/// The kernels of an example, in the crate in the folder `kernels` of `examples`.
pub(crate) fn kernels(examples: &Path, example: &str) -> Kernels {
    let kernels = Kernels::new(examples.join("kernels")).feature(example).name(example);
    match example {
        // PTX 8.3: the fence for tensor maps.
        "hopper_gemm" => kernels.target("sm_90a"),
        _ => kernels,
    }
}
