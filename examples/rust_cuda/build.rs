fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?).join("kernels.ptx");
    // Its error is no `std::error::Error`.
    let built = cuda_builder::CudaBuilder::new("kernels").copy_to(&out).build();
    built.map_err(|error| error.to_string())?;
    let ptx = profiler_build::Ptx::process(&std::fs::read_to_string(&out)?)?;
    std::fs::write(&out, ptx)?;
    Ok(())
}
