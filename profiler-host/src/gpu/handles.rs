//! Modules and kernels of host libraries by their handles, and a session's own modules and streams.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr;

use profiler_cuda_driver::sys::{
    self, CUcontext, CUevent, CUfunction, CUmodule, CUresult, CUstream,
};

use super::driver::{self, check};
use crate::error::Error;

/// A loaded module by the driver's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawModule(CUmodule);

/// A kernel of a loaded module by the driver's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFunction(CUfunction);

// SAFETY: the driver's handles are those of the process, not of a thread.
unsafe impl Send for RawModule {}
// SAFETY: as above.
unsafe impl Sync for RawModule {}
// SAFETY: as above.
unsafe impl Send for RawFunction {}
// SAFETY: as above.
unsafe impl Sync for RawFunction {}

impl RawModule {
    /// A `CUmodule`.
    ///
    /// # Safety
    ///
    /// The module must be loaded for as long as this value or a copy is used, or a session is attached to it.
    #[must_use]
    pub const unsafe fn new(module: *mut c_void) -> Self {
        Self(module)
    }

    pub(crate) fn as_inner(self) -> CUmodule {
        self.0
    }

    /// A kernel of the module; `None` if it has none of this name.
    pub(crate) fn function(self, name: &str) -> Result<Option<CUfunction>, Error> {
        let Ok(name) = CString::new(name) else { return Ok(None) };
        let mut function = ptr::null_mut();
        // SAFETY: the pointers are to a live variable and a text that ends in zero; the module is loaded.
        let code = unsafe { sys::cuModuleGetFunction(&raw mut function, self.0, name.as_ptr()) };
        if code == CUresult::CUDA_ERROR_NOT_FOUND {
            return Ok(None);
        }
        check("finding a kernel", code)?;
        Ok(Some(function))
    }
}

impl RawFunction {
    /// A `CUfunction`.
    ///
    /// # Safety
    ///
    /// Its module must be loaded for as long as this value or a copy is used, or a session is attached to it.
    #[must_use]
    pub const unsafe fn new(function: *mut c_void) -> Self {
        Self(function)
    }

    pub(crate) fn as_inner(self) -> CUfunction {
        self.0
    }

    /// The kernel's module.
    pub(crate) fn module(self) -> Result<RawModule, Error> {
        let mut module = ptr::null_mut();
        // SAFETY: the pointer is to a live variable; the function is of a loaded module.
        let code = unsafe { sys::cuFuncGetModule(&raw mut module, self.0) };
        check("finding the module", code)?;
        Ok(RawModule(module))
    }
}

/// What leads to a loaded module: a module, or one of its kernels where a host library keeps the module's handle to
/// itself.
///
/// # Safety
///
/// The module must be loaded for as long as the value lives.
#[diagnostic::on_unimplemented(
    message = "a session cannot attach to `{Self}`",
    note = "the features `cudarc` and `cust` of profiler-host make functions or modules of these libraries fit; a \
            handle of any other library is wrapped by `RawModule::new` or `RawFunction::new`"
)]
pub unsafe trait AsModule {
    /// The module. `ptx` is the text that it was loaded from.
    ///
    /// # Errors
    ///
    /// CUDA errors; [`Error::NoDescriptor`] if no kernel leads to the module.
    ///
    /// # Safety
    ///
    /// The result must not be used after the value.
    unsafe fn raw_module(&self, ptx: &str) -> Result<RawModule, Error>;
}

/// A kernel of a loaded module.
///
/// # Safety
///
/// Its module must be loaded for as long as the value lives.
pub unsafe trait AsFunction {
    /// The kernel.
    ///
    /// # Safety
    ///
    /// The result must not be used after the value.
    unsafe fn raw_function(&self) -> RawFunction;
}

// SAFETY: who made the value promised it.
unsafe impl AsModule for RawModule {
    unsafe fn raw_module(&self, _ptx: &str) -> Result<RawModule, Error> {
        Ok(*self)
    }
}

// SAFETY: as above.
unsafe impl AsModule for RawFunction {
    unsafe fn raw_module(&self, _ptx: &str) -> Result<RawModule, Error> {
        self.module()
    }
}

// SAFETY: as above.
unsafe impl AsFunction for RawFunction {
    unsafe fn raw_function(&self) -> RawFunction {
        *self
    }
}

/// A module of a session's or backend's own.
#[derive(Debug)]
pub(crate) struct Module(RawModule);

impl Module {
    /// Takes a module that nobody else unloads.
    pub(super) fn owned(module: CUmodule) -> Self {
        Self(RawModule(module))
    }

    pub(crate) fn raw(&self) -> RawModule {
        self.0
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: it was loaded for this value, and nothing that outlives it refers to it.
        unsafe { sys::cuModuleUnload(self.0.0) };
    }
}

/// A stream of a session's or backend's own.
#[derive(Debug)]
pub(crate) struct Stream(CUstream);

impl Stream {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut stream = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        // It waits for the default stream: copies of the profiler's are there.
        check("making a stream", unsafe { sys::cuStreamCreate(&raw mut stream, 0) })?;
        Ok(Self(stream))
    }

    pub(crate) fn as_inner(&self) -> CUstream {
        self.0
    }

    /// Lets the stream wait until `hold` returns.
    pub(crate) fn hold(&self, hold: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        type Held = Box<dyn FnOnce() + Send>;
        /// Runs what was held.
        unsafe extern "C" fn run(data: *mut c_void) {
            // SAFETY: it was made of a box below, and the driver calls this once.
            let held = unsafe { Box::from_raw(data.cast::<Held>()) };
            held();
        }
        let held: Box<Held> = Box::new(Box::new(hold));
        let data = Box::into_raw(held);
        // SAFETY: the function takes what it is given, once.
        let code = unsafe { sys::cuLaunchHostFunc(self.0, run, data.cast()) };
        if code != CUresult::CUDA_SUCCESS {
            // SAFETY: the driver did not take it.
            drop(unsafe { Box::from_raw(data) });
        }
        check("holding up the stream", code)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: it was made for this value. What is in the stream still runs to its end.
        unsafe { sys::cuStreamDestroy_v2(self.0) };
    }
}

/// An event that has a time.
#[derive(Debug)]
pub(crate) struct Event(CUevent);

impl Event {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut event = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        check("making an event", unsafe { sys::cuEventCreate(&raw mut event, 0) })?;
        Ok(Self(event))
    }

    pub(crate) fn record(&self, stream: &Stream) -> Result<(), Error> {
        // SAFETY: both are live.
        check("recording an event", unsafe { sys::cuEventRecord(self.0, stream.as_inner()) })
    }

    /// Milliseconds since an earlier event. Both must have been come to.
    pub(crate) fn since(&self, earlier: &Self) -> Result<f32, Error> {
        let mut milliseconds = 0.0;
        // SAFETY: the pointer is to a live variable, and both events are live.
        let code = unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, earlier.0, self.0) };
        check("reading an event", code)?;
        Ok(milliseconds)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it was made for this value.
        unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// The first device's primary context, which is the calling thread's from here on.
#[derive(Debug)]
pub(crate) struct PrimaryContext(c_int);

impl PrimaryContext {
    pub(crate) fn new() -> Result<Self, Error> {
        const FLAGS: c_uint = 0;
        // SAFETY: 0 is the only value that is allowed.
        check("starting CUDA", unsafe { sys::cuInit(FLAGS) })?;
        let (mut device, mut context): (c_int, CUcontext) = (0, ptr::null_mut());
        // SAFETY: the pointer is to a live variable.
        check("finding the device", unsafe { sys::cuDeviceGet(&raw mut device, 0) })?;
        // SAFETY: the pointer is to a live variable; it is released when this is dropped.
        let code = unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut context, device) };
        check("making a context", code)?;
        let this = Self(device);
        driver::set_current_context(context)?;
        Ok(this)
    }
}

impl Drop for PrimaryContext {
    fn drop(&mut self) {
        // SAFETY: it was retained for this value.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.0) };
    }
}
