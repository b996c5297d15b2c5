//! Measures on the GPU what a record costs, by a module of its own.

use profiler_trace::{Capture, DeviceInfo, ModuleCapture, RecordCost, SiteTable};
use profiler_wire::symbol::CALIBRATION;

use super::driver;
use super::module_attachment::{ModuleAttachment, function};
use crate::calibration;
use crate::error::Error;
use crate::launch::Shape;

/// The PTX of the calibration kernel, alone in its module, which `cargo xtask calibration-ptx` makes.
const PACKED: &[u8] = include_bytes!("calibration.ptx.lz4");

/// Measures what a record costs for kernels whose records go to memory of the GPU, or of the host.
pub(crate) fn record_cost(device: &DeviceInfo, in_host: bool) -> Result<RecordCost, Error> {
    let capture = Capture {
        device: device.clone(),
        modules: vec![run(device, in_host)?],
        ..Capture::default()
    };
    calibration::record_cost(&profiler_trace::decode(&capture))
}

fn ptx() -> Result<String, Error> {
    let damaged = |reason: String| Error::BadPtx { reason };
    let ptx =
        lz4_flex::decompress_size_prepended(PACKED).map_err(|error| damaged(error.to_string()))?;
    String::from_utf8(ptx).map_err(|error| damaged(error.to_string()))
}

fn run(device: &DeviceInfo, in_host: bool) -> Result<ModuleCapture, Error> {
    let ptx = ptx()?;
    let module = driver::load(&ptx)?;
    let kernel = function(module.raw(), &ptx, CALIBRATION)?;
    let (options, sites) = (calibration::options(), SiteTable::from_ptx(&ptx)?);
    let mut attached =
        ModuleAttachment::with_sites(&options, module.raw(), sites, in_host, device, true)?;
    let shape = Shape::new(1, calibration::THREADS, 0);
    let mut rounds = calibration::ROUNDS;
    // Twice: the first run fetches the kernel's code.
    for _ in 0..2 {
        attached.reset(std::ptr::null_mut())?;
        attached.announce(shape.grid.0, shape.block.0, std::ptr::null_mut())?;
        let mut arguments = [(&raw mut rounds).cast()];
        // SAFETY: the calibration kernel takes one u32 and touches no memory but the session's.
        unsafe { driver::launch(kernel, shape, std::ptr::null_mut(), &mut arguments) }?;
        driver::synchronize_context()?;
    }
    attached.read_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_of_this_version_and_alone_in_its_module() {
        let ptx = ptx().expect("it was packed");
        let entries: Vec<&str> = super::super::module_attachment::entry_names(&ptx).collect();
        assert_eq!(entries, [CALIBRATION]);
        let sites = SiteTable::from_ptx(&ptx).expect("of this wire version");
        let kernels: Vec<_> = sites.kernels().map(|site| site.symbol.as_deref()).collect();
        assert_eq!(kernels, [Some(CALIBRATION)]);
        // It runs on each GPU that kernels can be compiled for.
        assert!(ptx.lines().any(|line| line == ".target sm_80"));
    }
}
