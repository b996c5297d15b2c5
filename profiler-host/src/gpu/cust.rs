//! Modules, kernels and streams of the library `cust`.

use cust::function::Function;
use cust::module::Module;
use cust::stream::Stream;

use super::driver;
use super::handles::{AsFunction, AsModule, AsStream, RawFunction, RawModule, RawStream};
use super::module_attachment::entry_names;
use crate::error::Error;
use crate::launch::Extent;

// SAFETY: the module is unloaded when the value is dropped, and not before as the primary context stays.
unsafe impl AsModule for Module {
    fn raw_module(&self, ptx: &str) -> Result<RawModule, Error> {
        driver::require_primary_context()?;
        // It keeps its handle to itself, but a kernel leads there.
        let mut kernels = entry_names(ptx).filter_map(|name| self.get_function(name).ok());
        kernels.next().ok_or(Error::NoDescriptor)?.raw_function().module()
    }
}

// SAFETY: it borrows its module.
unsafe impl AsFunction for Function<'_> {
    fn raw_function(&self) -> RawFunction {
        // SAFETY: as above.
        unsafe { RawFunction::new(self.to_raw().cast()) }
    }
}

// SAFETY: the stream is destroyed when the value is dropped.
unsafe impl AsStream for Stream {
    fn raw_stream(&self) -> RawStream {
        // SAFETY: as above.
        unsafe { RawStream::new(self.as_inner().cast()) }
    }
}

impl From<cust::function::GridSize> for Extent {
    fn from(grid: cust::function::GridSize) -> Self {
        Self([grid.x, grid.y, grid.z])
    }
}

impl From<cust::function::BlockSize> for Extent {
    fn from(block: cust::function::BlockSize) -> Self {
        Self([block.x, block.y, block.z])
    }
}
