fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Compiles the device crate to PTX; without a compiler it warns with the command that installs one.
    profiler_build::Kernels::new("kernels").build_or_warn()?;
    Ok(())
}
