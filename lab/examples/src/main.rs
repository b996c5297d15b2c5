//! Times the kernels of the examples that the command line names, or of all.
#![allow(clippy::print_stdout, reason = "a program talks to its user there")]

#[path = "../../../examples/gemm/problem.rs"]
mod gemm;
#[path = "../../../examples/hopper_gemm/problem.rs"]
mod hopper_gemm;
mod launches;
mod measure;
#[path = "../../../examples/persistent/problem.rs"]
mod persistent;
#[path = "../../../examples/pipeline/problem.rs"]
mod pipeline;
#[path = "../../../examples/softmax/problem.rs"]
mod softmax;
#[path = "../../../examples/hopper_gemm/tensor_map.rs"]
mod tensor_map;

use measure::{Builds, Result};
use profiler_host::include_ptx;

type Ptx = Option<&'static str>;
/// Its name, its PTX with annotations and without, and what launches its kernel.
type Example = (&'static str, Ptx, Ptx, fn(&Builds) -> Result);

const EXAMPLES: [Example; 5] = [
    ("softmax", include_ptx!("softmax"), include_ptx!("softmax_off"), launches::softmax),
    ("gemm", include_ptx!("gemm"), include_ptx!("gemm_off"), launches::gemm),
    ("pipeline", include_ptx!("pipeline"), include_ptx!("pipeline_off"), launches::pipeline),
    (
        "persistent",
        include_ptx!("persistent"),
        include_ptx!("persistent_off"),
        launches::persistent,
    ),
    (
        "hopper_gemm",
        include_ptx!("hopper_gemm"),
        include_ptx!("hopper_gemm_off"),
        launches::hopper_gemm,
    ),
];

fn main() -> Result {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let names = EXAMPLES.map(|(name, ..)| name);
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(
            format!("there is no example `{unknown}`; there are {}", names.join(", ")).into()
        );
    }
    for (name, annotated, without, measure) in EXAMPLES {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            let builds = Builds::load(annotated, without)?;
            println!("{name} on {}", builds.backend());
            measure(&builds)?;
        }
    }
    Ok(())
}
