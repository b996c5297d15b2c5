//! Writes the kernels that measure what a record costs into profiler-host, as PTX.

#[path = "../../calibration/ptx.rs"]
mod ptx;

use std::io::Write as _;

use flate2::{Compression, GzBuilder};

use xtask::{Error, root, target};

/// Compiles and packs all modules.
pub(crate) fn write() -> Result<(), Error> {
    let out = target().join("calibration");
    for module in ptx::MODULES {
        let text = module.compile(root(), &out, &target())?;
        let bytes = if module.file.ends_with(".gz") {
            // Without a time, so that the same text is the same file.
            let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
            packer.write_all(text.as_bytes())?;
            packer.finish()?
        } else {
            text.as_bytes().to_vec()
        };
        println!("{}: {} bytes of {}", module.file, bytes.len(), text.len());
        std::fs::write(root().join(module.file), bytes)?;
    }
    Ok(())
}
