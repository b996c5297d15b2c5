//! Compiles the examples' kernels to PTX, where there is a compiler for nvptx64. Without one the
//! build warns, and the examples run on the emulator.

mod kernels;

use std::path::Path;

use kernels::kernels;
use profiler_build::LaunchBounds;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for example in ["quickstart", "softmax", "gemm", "pipeline", "persistent", "watch"] {
        kernels(Path::new(""), example).build_or_warn()?;
    }
    hopper_gemm()
}

/// Twice: with annotations, and for comparison without.
fn hopper_gemm() -> Result<(), Box<dyn std::error::Error>> {
    let kernels = kernels(Path::new(""), "hopper_gemm");
    kernels.clone().build_or_warn()?;
    // Those that `#[profiled]` gives the kernel.
    let bounds = LaunchBounds { max_threads: 384, min_blocks: 1, max_registers: 0 };
    let off = kernels.profile_enabled(false).name("hopper_gemm_kernels_off");
    off.launch_bounds("hopper_gemm", bounds).build_or_warn()?;
    Ok(())
}
