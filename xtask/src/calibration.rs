//! Writes the kernels that measure what a record costs into profiler-host, as PTX.

#[path = "../../calibration/ptx.rs"]
mod ptx;

use xtask::{Error, root, target};

/// Compiles and packs all modules.
pub(crate) fn write() -> Result<(), Error> {
    let out = target().join("calibration");
    for module in ptx::MODULES {
        let text = module.compile(root(), &out, &target())?;
        let bytes = if module.file.ends_with(".lz4") {
            lz4_flex::compress_prepend_size(text.as_bytes())
        } else {
            text.as_bytes().to_vec()
        };
        println!("{}: {} bytes of {}", module.file, bytes.len(), text.len());
        std::fs::write(root().join(module.file), bytes)?;
    }
    Ok(())
}
