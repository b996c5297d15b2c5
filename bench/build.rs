//! Compiles the kernels to PTX, where there is a compiler for nvptx64.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rustc-check-cfg=cfg(no_nvptx_compiler)");
    println!("cargo::rerun-if-env-changed=PROFILER_REQUIRE_TOOLS");
    // PTX 7.4 has the eviction hints of a store.
    let kernels = profiler_build::Kernels::new("kernels").name("bench_kernels").ptx_version(74);
    let hosted = kernels.clone().name("bench_hosted_kernels").feature("host-buffer");
    // PTX 8.1 has asynchronous stores.
    let hopper = kernels.clone().name("bench_hopper_kernels").feature("hopper");
    let hopper = hopper.target("sm_90").ptx_version(81);
    let is_required = std::env::var_os("PROFILER_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    for kernels in [kernels, hosted, hopper] {
        if is_required {
            kernels.build()?;
        } else if kernels.build_or_warn()?.is_none() {
            println!("cargo::rustc-cfg=no_nvptx_compiler");
        }
    }
    Ok(())
}
