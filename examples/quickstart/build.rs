//! Compiles the kernel to PTX. Without a compiler for nvptx64 the build warns, and the program runs on
//! the emulator.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    profiler_build::Kernels::new("kernels").build_or_warn()?;
    Ok(())
}
