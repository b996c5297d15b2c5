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
        // Without a time, so that the same text is the same file.
        let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        packer.write_all(text.as_bytes())?;
        let packed = packer.finish()?;
        let path = root().join(format!("profiler-host/src/gpu/{}.ptx.gz", module.name));
        println!("{}: {} bytes of {}", path.display(), packed.len(), text.len());
        std::fs::write(path, packed)?;
    }
    Ok(())
}
