//! Compiles the kernels to PTX, where there is a compiler for nvptx64.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kernels = profiler_build::Kernels::new("kernels").name("bench_kernels");
    let hosted = kernels.clone().name("bench_hosted_kernels").feature("host-buffer");
    // What `profiler-ptx` rewrites.
    let plain = kernels.clone().name("bench_plain_kernels").feature("plain").profile_enabled(false);
    let mut modules = vec![kernels.clone(), hosted, plain];
    if cfg!(feature = "combinations") {
        let combinations = kernels.name("bench_combinations").feature("combinations");
        let hosted = combinations.clone().name("bench_hosted_combinations").feature("host-buffer");
        modules.extend([combinations, hosted]);
    }
    for kernels in modules {
        kernels.build_or_warn()?;
    }
    Ok(())
}
