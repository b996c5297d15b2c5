//! Compiles the examples' kernels with annotations and without, where there is a compiler for nvptx64.

#[path = "../../examples/kernels.rs"]
mod kernels;

use std::path::Path;

use kernels::kernels;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for example in ["softmax", "gemm", "pipeline", "persistent", "hopper_gemm"] {
        let kernels = kernels(Path::new("../../examples"), example);
        let annotated = kernels.clone().build_or_warn()?;
        let mut without = kernels.profile_enabled(false).name(format!("{example}_off"));
        // Those that the annotations give.
        for (kernel, bounds) in annotated.map(|ptx| ptx.launch_bounds).unwrap_or_default() {
            without = without.launch_bounds(kernel, bounds);
        }
        without.build_or_warn()?;
    }
    Ok(())
}
