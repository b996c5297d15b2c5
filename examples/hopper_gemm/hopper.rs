//! Whether the example can run here.

use cust_raw::{CUdevice_attribute as Attribute, CUresult};
use profiler_host::{BackendChoice, Error};

/// The one compute capability that the kernel's PTX, for `sm_90a`, runs on.
const CAPABILITY: (i32, i32) = (9, 0);

/// Why the example cannot run, if that is not a failure: it was not asked for a GPU, or there is one
/// of another kind. A GPU that was asked for and is not there is left to the back end to report.
pub(crate) fn why_not(choice: BackendChoice, has_ptx: bool) -> Option<String> {
    if choice == BackendChoice::Emulator {
        return Some("the emulator has none of what it uses".to_owned());
    }
    let absent = match profiler_cuda_driver::driver_available() {
        // What fails says so where the back end is made.
        Err(error) if !error.is_absence() => return None,
        Err(error) => error.to_string(),
        Ok(()) if !has_ptx => Error::NoPtx.to_string(),
        Ok(()) => return other_capability(capability()),
    };
    (choice == BackendChoice::Auto).then_some(absent)
}

fn other_capability(found: Option<(i32, i32)>) -> Option<String> {
    let (major, minor) = found.filter(|&found| found != CAPABILITY)?;
    Some(format!("this one has {major}.{minor}"))
}

/// The compute capability of the first device, which is the one that back ends take; `None` where
/// the driver does not say, so that the back end meets its error.
fn capability() -> Option<(i32, i32)> {
    let mut device = 0;
    // SAFETY: the pointer is to a live variable; the driver was started.
    if unsafe { cust_raw::cuDeviceGet(&raw mut device, 0) } != CUresult::CUDA_SUCCESS {
        return None;
    }
    let attribute = |attribute: Attribute| {
        let mut value = 0;
        // SAFETY: the pointer is to a live variable, and the device was just found.
        let code = unsafe { cust_raw::cuDeviceGetAttribute(&raw mut value, attribute, device) };
        (code == CUresult::CUDA_SUCCESS).then_some(value)
    };
    Some((
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_gpu_is_a_reason() {
        assert_eq!(other_capability(Some((9, 0))), None);
        assert_eq!(other_capability(None), None);
        let reason = other_capability(Some((8, 0))).expect("another GPU");
        assert!(reason.contains("8.0"), "{reason}");
        assert!(why_not(BackendChoice::Emulator, true).is_some());
    }
}
