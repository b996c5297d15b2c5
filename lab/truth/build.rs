//! Compiles the kernels to PTX, where there is a compiler for nvptx64. Without one the build warns,
//! and the program runs on the emulator.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kernels = profiler_build::Kernels::new("kernels");
    kernels.build_or_warn()?;
    kernels.name("truth_hosted_kernels").feature("host-buffer").build_or_warn()?;
    Ok(())
}
