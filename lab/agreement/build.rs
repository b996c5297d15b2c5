//! Compiles the kernels to PTX, where there is a compiler for nvptx64. Without one the build warns,
//! and the program runs on the emulator.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kernels = profiler_build::Kernels::new("kernels");
    kernels.clone().name("programs").build_or_warn()?;
    kernels.name("hosted_programs").feature("host-buffer").build_or_warn()?;
    Ok(())
}
