//! Modules and kernels of the library `cust`.

use cust::error::CudaError;
use cust::function::Function;
use cust::module::Module;
use profiler_cuda_driver::sys::CUresult;
use profiler_trace::SiteTable;

use super::driver;
use super::handles::{AsFunction, AsModule, RawFunction, RawModule};
use super::module_attachment::entry_names;
use crate::error::Error;

// SAFETY: the module is unloaded when the value is dropped, and not before as the primary context stays. `cust` lets a
// program destroy a context that it created before what is in it (`cust::context::legacy`): that is refused here.
unsafe impl AsModule for Module {
    unsafe fn raw_module(&self, ptx: &str) -> Result<RawModule, Error> {
        driver::require_primary_context()?;
        // It keeps its handle to itself, but a kernel leads there.
        for name in entry_names(ptx) {
            match self.get_function(name) {
                // SAFETY: it is used here alone.
                Ok(kernel) => return unsafe { kernel.raw_function() }.module(),
                Err(CudaError::NotFound) => {}
                Err(error) => driver::check("finding a kernel", CUresult(error as u32))?,
            }
        }
        // PTX without kernels is nearly always PTX without sites, which says more.
        SiteTable::from_ptx(ptx)?;
        Err(Error::NoDescriptor)
    }
}

// SAFETY: it borrows its module, which lives as said above.
unsafe impl AsFunction for Function<'_> {
    unsafe fn raw_function(&self) -> RawFunction {
        // SAFETY: as above.
        unsafe { RawFunction::new(self.to_raw().cast()) }
    }
}
