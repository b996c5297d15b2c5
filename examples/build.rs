//! Compiles the examples' kernels to PTX, where there is a compiler for nvptx64. Without one the
//! build warns, and the examples run on the emulator.

mod kernels;

/// The build script of the example for Rust-CUDA, which is run here with a stand-in for what it calls.
mod rust_cuda {
    #[expect(unreachable_pub, reason = "it has what the crate has")]
    mod cuda_builder;

    include!("rust_cuda/build.rs");

    pub(crate) fn run() -> Result<(), Box<dyn std::error::Error>> {
        main()
    }
}

use std::path::Path;

use kernels::kernels;
use profiler_build::Kernels;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for example in ["softmax", "gemm", "pipeline", "persistent", "watch", "hopper_gemm"] {
        kernels(Path::new(""), example).build_or_warn()?;
    }
    // Of the host program in host_cudarc.
    Kernels::new("quickstart/kernels").build_or_warn()?;
    rust_cuda::run()
}
