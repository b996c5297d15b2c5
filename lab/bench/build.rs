//! Compiles the kernels to PTX, where there is a compiler for nvptx64.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // PTX 7.4 has the eviction hints of a store.
    let kernels = profiler_build::Kernels::new("kernels").name("bench_kernels").ptx_version(74);
    let hosted = kernels.clone().name("bench_hosted_kernels").feature("host-buffer");
    // PTX 8.1 has asynchronous stores.
    let hopper = kernels.clone().name("bench_hopper_kernels").feature("hopper");
    let hopper = hopper.target("sm_90").ptx_version(81);
    let mut modules = vec![kernels.clone(), hosted, hopper];
    if cfg!(feature = "combinations") {
        let combinations = kernels.name("bench_combinations").feature("combinations");
        let hosted = combinations.clone().name("bench_hosted_combinations").feature("host-buffer");
        modules.extend([combinations, hosted]);
    }
    let mut built = Vec::new();
    for kernels in modules {
        built.extend(kernels.build_or_warn()?);
    }
    if let [_, _, hopper, ..] = &built[..] {
        launch_in_clusters(&hopper.path, ".entry shared_ring_16b_asynchronous_")?;
    }
    Ok(())
}

/// Lets the kernels whose entries begin so be launched in clusters of two blocks: on an H200 an
/// asynchronous store is an illegal instruction in any other launch.
fn launch_in_clusters(path: &Path, entry: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (mut is_parameters, mut kernels) = (false, 0);
    let mut text = String::new();
    for line in std::fs::read_to_string(path)?.lines() {
        text += line;
        text.push('\n');
        is_parameters |= line.contains(entry);
        if is_parameters && line == ")" {
            text += ".explicitcluster\n.reqnctapercluster 2\n";
            is_parameters = false;
            kernels += 1;
        }
    }
    if kernels == 0 {
        return Err(format!("{} has no kernel `{entry}..`", path.display()).into());
    }
    std::fs::write(path, text)?;
    Ok(())
}
