//! Compiles the kernels to PTX, where there is a compiler for nvptx64. Without one the build warns,
//! and the program runs on the emulator.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    profiler_build::Kernels::new("../tests/kernels/programs").name("programs").build_or_warn()?;
    Ok(())
}
