//! Compiles the examples' kernels to PTX, where there is a compiler for nvptx64. Without one the
//! build warns, and the examples run on the emulator.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for example in ["quickstart", "softmax", "gemm", "pipeline", "persistent"] {
        profiler_build::Kernels::new(format!("{example}/kernels")).build_or_warn()?;
    }
    Ok(())
}
