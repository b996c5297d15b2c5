//! A GPU with one module and one stream.

use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::mpsc;
use std::time::Duration;

use profiler_cuda_driver::sys::constants::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
use profiler_cuda_driver::sys::{CUfunction, CUstream};
use profiler_trace::{DeviceInfo, KernelResources, RecordCost};

use crate::error::Error;
use crate::gpu::driver::{self, DeviceMemory};
use crate::gpu::handles::{Event, Module, PrimaryContext, Stream};
use crate::gpu::{GpuSession, function};
use crate::launch::{Extent, Kernel, Shape};
use crate::options::Options;

/// Shared memory that a block gets unasked, static and dynamic together
/// (CUDA C++ Programming Guide, "Compute Capabilities").
const SHARED_BYTES_UNASKED: u32 = 48 * 1024;
/// For how long a stream is held up at most: what is timed may wait for the stream itself.
const HOLD_MAX: Duration = Duration::from_millis(20);

/// A GPU with one module and one stream. The context is the last field: it is dropped last.
#[derive(Debug)]
pub(crate) struct Gpu {
    functions: RefCell<HashMap<String, Loaded>>,
    stream: Stream,
    module: Module,
    ptx: &'static str,
    pub(crate) info: DeviceInfo,
    _context: PrimaryContext,
    /// The driver's contexts belong to threads.
    _not_send: PhantomData<*const ()>,
}

/// A kernel that was looked up.
#[derive(Clone, Copy, Debug)]
struct Loaded {
    function: CUfunction,
    /// Bytes of dynamic shared memory that it may be launched with.
    dynamic_shared_limit: u32,
}

impl Gpu {
    /// The first device, with the module loaded.
    pub(crate) fn new(ptx: &'static str) -> Result<Self, Error> {
        let context = PrimaryContext::new()?;
        let info = driver::device_info()?;
        let module = driver::load(ptx)?;
        let stream = Stream::new()?;
        Ok(Self {
            functions: RefCell::default(),
            stream,
            module,
            ptx,
            info,
            _context: context,
            _not_send: PhantomData,
        })
    }

    pub(crate) fn stream(&self) -> CUstream {
        self.stream.as_inner()
    }

    pub(crate) fn session(
        &self,
        options: &Options,
        cost: &mut Option<RecordCost>,
    ) -> Result<GpuSession<'_>, Error> {
        GpuSession::new(options, self.module.raw(), self.ptx, true, cost)
    }

    pub(crate) fn synchronize(&self) -> Result<(), Error> {
        driver::synchronize(self.stream.as_inner())
    }

    pub(crate) fn zeroed(&self, bytes: u64) -> Result<DeviceMemory, Error> {
        let memory = DeviceMemory::new(bytes, super::buffer::smaller)?;
        memory.zero(self.stream.as_inner())?;
        Ok(memory)
    }

    /// Launches the kernel of this name in the stream.
    ///
    /// # Safety
    ///
    /// What the kernel asks of its arguments and of the shape; `K` must have its parameters.
    pub(crate) unsafe fn launch<K: Kernel>(
        &self,
        name: &'static str,
        shape: Shape,
        mut arguments: K::Arguments,
    ) -> Result<(), Error> {
        let function = self.loaded(name, shape.dynamic_shared_bytes)?;
        K::with_pointers(&mut arguments, |pointers| {
            // SAFETY: the pointers are to arguments of the types of the kernel's parameters, in
            // order, since the twin `K` has the same; the caller vouches for the values.
            unsafe { driver::launch(function, shape, self.stream.as_inner(), pointers) }
        })
    }

    /// What the kernel of this name takes of an SM, launched in such blocks.
    pub(crate) fn resources(
        &self,
        name: &str,
        block: Extent,
        dynamic_shared_bytes: u32,
    ) -> Result<KernelResources, Error> {
        // Allowed as much as a launch would be: else no block fits.
        let function = self.loaded(name, dynamic_shared_bytes)?;
        driver::resources(function, block, dynamic_shared_bytes)
    }

    /// The kernel, looked up once, and allowed as much dynamic shared memory.
    fn loaded(&self, name: &str, dynamic_shared_bytes: u32) -> Result<CUfunction, Error> {
        let mut functions = self.functions.borrow_mut();
        let loaded = match functions.get_mut(name) {
            Some(loaded) => loaded,
            None => {
                let function = function(self.module.raw(), self.ptx, name)?;
                let static_shared =
                    driver::function_attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
                let static_shared_bytes = u32::try_from(static_shared).unwrap_or(0);
                functions.entry(name.to_owned()).or_insert(Loaded {
                    function,
                    dynamic_shared_limit: SHARED_BYTES_UNASKED.saturating_sub(static_shared_bytes),
                })
            }
        };
        if dynamic_shared_bytes > loaded.dynamic_shared_limit {
            driver::allow_dynamic_shared(loaded.function, dynamic_shared_bytes)?;
            loaded.dynamic_shared_limit = dynamic_shared_bytes;
        }
        Ok(loaded.function)
    }

    /// Runs `launches` between two events and gives the time between them. The stream is held up ahead of
    /// the first one until all is queued: what the host takes to launch would lie between them otherwise.
    pub(crate) fn time<R>(
        &self,
        launches: impl FnOnce() -> Result<R, Error>,
    ) -> Result<(R, Duration), Error> {
        let (begin, end) = (Event::new()?, Event::new()?);
        let (queued, is_queued) = mpsc::channel::<()>();
        // It ends when the sender is dropped.
        let hold = move || {
            let _ended = is_queued.recv_timeout(HOLD_MAX);
        };
        self.stream.hold(hold)?;
        begin.record(&self.stream)?;
        let result = launches()?;
        end.record(&self.stream)?;
        drop(queued);
        self.synchronize()?;
        let milliseconds = end.since(&begin)?;
        Ok((result, Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3)))
    }
}
