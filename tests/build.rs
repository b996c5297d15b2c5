//! Compiles the test kernels to PTX, where there is a compiler for nvptx64.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rustc-check-cfg=cfg(no_nvptx_compiler)");
    println!("cargo::rerun-if-env-changed=PROFILER_REQUIRE_TOOLS");
    let required = std::env::var_os("PROFILER_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    for (name, enabled) in [("plain", false), ("annotated", false), ("strategies", true)] {
        let kernels = profiler_build::Kernels::new(format!("kernels/{name}"))
            .name(name)
            .profile_enabled(enabled);
        if required {
            kernels.build()?;
        } else if kernels.build_or_warn()?.is_none() {
            println!("cargo::rustc-cfg=no_nvptx_compiler");
        }
    }
    Ok(())
}
