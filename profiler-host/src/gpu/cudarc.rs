//! Kernels of the library `cudarc`. It keeps modules' handles to itself; a kernel leads to its module.

use cudarc::driver::CudaFunction;

use super::handles::{AsFunction, AsModule, RawFunction, RawModule};
use crate::error::Error;

// SAFETY: it holds its module.
unsafe impl AsModule for CudaFunction {
    unsafe fn raw_module(&self, _ptx: &str) -> Result<RawModule, Error> {
        // SAFETY: it is used here alone.
        unsafe { self.raw_function() }.module()
    }
}

// SAFETY: as above.
unsafe impl AsFunction for CudaFunction {
    unsafe fn raw_function(&self) -> RawFunction {
        // SAFETY: as above.
        unsafe { RawFunction::new(self.cu_function().cast()) }
    }
}
