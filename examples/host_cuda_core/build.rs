//! Compiles the quickstart's kernels to PTX.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    profiler_build::Kernels::new("../quickstart/kernels").build()?;
    Ok(())
}
