//! Compiles the examples' kernels without annotations, for `--unannotated`.

#[path = "../../examples/kernels.rs"]
mod kernels;

use std::path::Path;

use crate::{Error, root, target};
use kernels::kernels;

/// Writes `NAME.ptx` into `folder` for each example. Its kernels have the launch bounds that their
/// annotations give them.
pub(crate) fn make(examples: &[String], folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder)?;
    for name in examples {
        println!("compiling {name} without annotations");
        let out = target().join("unannotated");
        let kernels = kernels(&root().join("examples"), name).out_dir(out).target_dir(target());
        let annotated = kernels.clone().name(format!("{name}-annotated")).build()?;
        let mut without = kernels.profile_enabled(false).name(name);
        for (kernel, bounds) in annotated.launch_bounds {
            without = without.launch_bounds(kernel, bounds);
        }
        std::fs::copy(without.build()?.path, folder.join(format!("{name}.ptx")))?;
    }
    Ok(())
}
