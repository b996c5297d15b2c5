//! The driver's functions that sessions need, with results.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr;

use profiler_cuda_driver::sys::{
    self, CUcontext, CUdeviceptr, CUfunction, CUresult, CUstream, constants,
};
use profiler_trace::{DeviceInfo, KernelResources};

use super::handles::{Module, RawModule};
use crate::arrays::{Memory, Rows};
use crate::error::Error;
use crate::launch::Extent;

/// Names a result code as CUDA does.
fn describe(code: CUresult) -> String {
    if code == CUresult::CUDA_ERROR_NO_DEVICE {
        // There may be no driver to ask.
        return "no CUDA driver or no CUDA device was found (CUDA_ERROR_NO_DEVICE)".to_owned();
    }
    type TextFunction = unsafe fn(CUresult, *mut *const c_char) -> CUresult;
    let text = |function: TextFunction| {
        let mut text = ptr::null();
        // SAFETY: the pointer is to a live variable, which the function sets to a static text.
        let answer = unsafe { function(code, &raw mut text) };
        if answer != CUresult::CUDA_SUCCESS || text.is_null() {
            return format!("error {}", code.0);
        }
        // SAFETY: the function succeeded: a static text that ends in zero.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    };
    format!("{} ({})", text(sys::cuGetErrorString), text(sys::cuGetErrorName))
}

/// Codes after which the context, and all device memory with it, is lost
/// (CUDA Driver API, "Data types used by CUDA driver": "the context must be destroyed").
fn is_fatal(code: CUresult) -> bool {
    matches!(
        code,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
    )
}

/// The error of a kernel that failed, as the driver tells it: the session knows the rest.
fn failed(reason: String, code: u32) -> Error {
    Error::KernelFailed { reason, code, salvaged: None, overwritten: None }
}

/// Makes an error of a code that is not success.
pub(crate) fn check(doing: &'static str, code: CUresult) -> Result<(), Error> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let reason = describe(code);
    if is_fatal(code) {
        return Err(failed(reason, code.0));
    }
    Err(Error::Cuda { doing, reason })
}

/// What lies between two rows is copied with them up to so many bytes: the driver copies rows one by
/// one to memory that is not page-locked.
const GAP_MAX: usize = 64 << 10;

/// Memory of the device.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    address: CUdeviceptr,
    bytes: u64,
    /// The driver's contexts belong to threads.
    _not_send: PhantomData<*const ()>,
}

impl DeviceMemory {
    /// Memory with arbitrary content. `remedy` says what to lower where it does not fit.
    pub(crate) fn new(bytes: u64, help: impl Fn() -> String) -> Result<Self, Error> {
        let (mut free, mut total) = (0_usize, 0_usize);
        // SAFETY: both pointers are to live variables.
        let code = unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
        check("reading how much device memory is free", code)?;
        let out_of_memory = || Error::OutOfMemory { bytes, free: Some(free as u64), help: help() };
        let size = usize::try_from(bytes).map_err(|_| out_of_memory())?;
        let mut address = 0;
        // SAFETY: the pointer is to a live variable. The driver refuses a size of 0.
        match unsafe { sys::cuMemAlloc_v2(&raw mut address, size.max(1)) } {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => return Err(out_of_memory()),
            code => check("allocating device memory", code)?,
        }
        Ok(Self { address, bytes, _not_send: PhantomData })
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Fills the memory with zeros, in the order of `stream`.
    pub(crate) fn zero(&self, stream: CUstream) -> Result<(), Error> {
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the range is this allocation, which lives until `drop`, where the driver waits.
        let code = unsafe { sys::cuMemsetD8Async(self.address, 0, self.bytes as usize, stream) };
        check("zeroing device memory", code)
    }
}

impl Memory for DeviceMemory {
    fn read(&self, address: u64, rows: Rows, into: &mut [u8]) -> Result<(), Error> {
        if rows.pitch - rows.width <= GAP_MAX || rows.count == 1 {
            let bytes = rows.count.saturating_sub(1) * rows.pitch + rows.width;
            copy_to_host(address, &mut into[..bytes])?;
            for row in into.chunks_mut(rows.pitch.max(1)).take(rows.count) {
                let width = rows.width.min(row.len());
                row[width..].fill(0);
            }
            return Ok(());
        }
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: constants::CU_MEMORYTYPE_DEVICE,
            srcHost: ptr::null(),
            srcDevice: address,
            srcArray: ptr::null_mut(),
            srcPitch: rows.pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: constants::CU_MEMORYTYPE_HOST,
            dstHost: into.as_mut_ptr().cast(),
            dstDevice: 0,
            dstArray: ptr::null_mut(),
            dstPitch: rows.pitch,
            WidthInBytes: rows.width,
            Height: rows.count,
        };
        assert!(into.len() >= rows.count * rows.pitch, "the target takes all rows");
        // SAFETY: the source is within this allocation by the layout; the target was just checked.
        // The unaligned variant takes any pitch.
        check("reading records back", unsafe { sys::cuMemcpy2DUnaligned_v2(&raw const copy) })
    }

    fn write_at(&self, address: u64, from: &[u8]) -> Result<(), Error> {
        copy_to_device(address, from)
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` and not freed since. After a failed kernel this fails, and
        // the memory is gone already.
        unsafe { sys::cuMemFree_v2(self.address) };
    }
}

/// Copies from the device and waits for it.
pub(crate) fn copy_to_host(address: u64, into: &mut [u8]) -> Result<(), Error> {
    if into.is_empty() {
        return Ok(());
    }
    // SAFETY: the target is a live slice of this length; callers pass addresses of live arrays.
    let code =
        unsafe { sys::cuMemcpyDtoH_v2(into.as_mut_ptr().cast::<c_void>(), address, into.len()) };
    check("copying from the device", code)
}

/// Copies to the device and waits for it.
pub(crate) fn copy_to_device(address: u64, from: &[u8]) -> Result<(), Error> {
    if from.is_empty() {
        return Ok(());
    }
    // SAFETY: the source is a live slice of this length; callers pass addresses of live arrays.
    let code = unsafe { sys::cuMemcpyHtoD_v2(address, from.as_ptr().cast::<c_void>(), from.len()) };
    check("copying to the device", code)
}

/// Sets one 4-byte word, in the order of `stream`.
pub(crate) fn set_word(address: u64, word: u32, stream: CUstream) -> Result<(), Error> {
    // SAFETY: callers pass the address of a live 4-byte word of the device.
    check("writing a word", unsafe { sys::cuMemsetD32Async(address, word, 1, stream) })
}

/// Waits for all streams of the context.
pub(crate) fn synchronize_context() -> Result<(), Error> {
    // SAFETY: takes no argument.
    check("waiting for the device", unsafe { sys::cuCtxSynchronize() })
}

/// Waits for one stream.
pub(crate) fn synchronize(stream: CUstream) -> Result<(), Error> {
    // SAFETY: the stream is live.
    check("waiting for the stream", unsafe { sys::cuStreamSynchronize(stream) })
}

/// The context of the calling thread.
pub(crate) fn current_context() -> Result<CUcontext, Error> {
    let mut context = ptr::null_mut();
    // SAFETY: the pointer is to a live variable.
    check("reading the context", unsafe { sys::cuCtxGetCurrent(&raw mut context) })?;
    Ok(context)
}

/// The calling thread's context.
pub(crate) fn entered_context() -> Result<CUcontext, Error> {
    match current_context()? {
        context if context.is_null() => Err(Error::Context(
            "the calling thread has no CUDA context; make that of the module current before the session begins \
             (`CudaContext::bind_to_thread` of cudarc, `cust::quick_init()`, `cuCtxSetCurrent`)",
        )),
        context => Ok(context),
    }
}

/// The error of a module of `cust` in a context that may be destroyed before it.
#[cfg(feature = "cust")]
const NOT_PRIMARY: Error = Error::Context(
    "the calling thread's CUDA context is not the device's primary one and could be destroyed before the session \
     ends; make it with `cust::quick_init()` or `cust::context::Context::new`, not with `cust::context::legacy`",
);

/// Refuses a context that is not the primary one of its device: modules that do not hold it may be gone before a session
/// ends. The handle of the primary one stays valid whoever releases it.
#[cfg(feature = "cust")]
pub(crate) fn require_primary_context() -> Result<(), Error> {
    let context = entered_context()?;
    let (mut device, mut primary) = (0, ptr::null_mut());
    // SAFETY: the pointer is to a live variable.
    check("finding the device", unsafe { sys::cuCtxGetDevice(&raw mut device) })?;
    let (mut flags, mut is_active) = (0, 0);
    // SAFETY: both pointers are to live variables.
    let code =
        unsafe { sys::cuDevicePrimaryCtxGetState(device, &raw mut flags, &raw mut is_active) };
    check("finding the primary context", code)?;
    // To retain one that is not there would make it.
    if is_active == 0 {
        return Err(NOT_PRIMARY);
    }
    // SAFETY: the pointer is to a live variable; what is retained is released at once, and only its
    // handle is compared.
    let code = unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut primary, device) };
    check("finding the primary context", code)?;
    // SAFETY: it was retained above.
    let code = unsafe { sys::cuDevicePrimaryCtxRelease_v2(device) };
    check("finding the primary context", code)?;
    if context == primary { Ok(()) } else { Err(NOT_PRIMARY) }
}

/// While it lives, a context is the calling thread's; after it the one that was.
#[derive(Debug)]
pub(crate) struct Entered {
    before: Option<CUcontext>,
}

impl Entered {
    /// Enters a context: that of a session, or null.
    pub(crate) fn new(context: CUcontext) -> Self {
        let before = current_context().ok();
        // If this fails, so will what is then asked of the driver, and says why.
        let _told_there = set_current_context(context);
        Self { before }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // What fails here fails in whatever the program does next, which says so.
            let _told_next = set_current_context(before);
        }
    }
}

pub(super) fn set_current_context(context: CUcontext) -> Result<(), Error> {
    // SAFETY: the context is null, that of a session's modules, which are loaded there for as long as the session lives
    // (`AsModule`), or what was current when an `Entered` began, and nothing that one does destroys a context.
    check("entering the context", unsafe { sys::cuCtxSetCurrent(context) })
}

/// The address and size of a symbol in a module.
pub(crate) fn symbol(module: RawModule, name: &str) -> Result<Option<(u64, usize)>, Error> {
    let Ok(name) = CString::new(name) else { return Ok(None) };
    let (mut address, mut bytes) = (0, 0);
    // SAFETY: the pointers are to live variables and a text that ends in zero; the module is loaded.
    let code = unsafe {
        sys::cuModuleGetGlobal_v2(
            &raw mut address,
            &raw mut bytes,
            module.as_inner(),
            name.as_ptr(),
        )
    };
    if code == CUresult::CUDA_ERROR_NOT_FOUND {
        return Ok(None);
    }
    check("finding the descriptor", code)?;
    Ok(Some((address, bytes)))
}

/// The context to which an address of the device belongs.
pub(crate) fn context_of(address: u64) -> Result<CUcontext, Error> {
    let mut context: CUcontext = ptr::null_mut();
    // SAFETY: of this attribute the driver writes a context's handle, and the pointer is to a live variable
    // of that type.
    let code = unsafe {
        sys::cuPointerGetAttribute(
            (&raw mut context).cast(),
            constants::CU_POINTER_ATTRIBUTE_CONTEXT,
            address,
        )
    };
    check("finding the module's context", code)?;
    Ok(context)
}

/// One attribute of a kernel.
pub(crate) fn function_attribute(kernel: CUfunction, attribute: c_int) -> Result<c_int, Error> {
    let mut value = 0;
    // SAFETY: the pointer is to a live variable; the function is of a loaded module.
    let code = unsafe { sys::cuFuncGetAttribute(&raw mut value, attribute, kernel) };
    check("reading an attribute of the kernel", code)?;
    Ok(value)
}

/// What a kernel takes of an SM in blocks of this shape.
pub(crate) fn resources(
    kernel: CUfunction,
    block: Extent,
    dynamic_shared_bytes: u32,
) -> Result<KernelResources, Error> {
    let attribute = |attribute| {
        let value = function_attribute(kernel, attribute)?;
        Ok::<u32, Error>(u32::try_from(value).unwrap_or(0))
    };
    let threads = block.0.into_iter().fold(1, u32::saturating_mul);
    // Of blocks that no launch may have the driver need not say how many fit.
    let is_refused = threads == 0
        || threads > attribute(constants::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?
        || dynamic_shared_bytes
            > attribute(constants::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?;
    Ok(KernelResources {
        registers: attribute(constants::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
        local_bytes: attribute(constants::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        shared_bytes: attribute(constants::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        blocks_per_sm: if is_refused {
            0
        } else {
            blocks_per_sm(kernel, threads, dynamic_shared_bytes)?
        },
    })
}

/// How many blocks of so many threads fit an SM.
fn blocks_per_sm(kernel: CUfunction, threads: u32, shared_bytes: u32) -> Result<u32, Error> {
    let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
    let mut blocks = 0;
    // SAFETY: the pointer is to a live variable; the function is of a loaded module.
    let code = unsafe {
        sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &raw mut blocks,
            kernel,
            threads,
            shared_bytes as usize,
        )
    };
    check("asking how many blocks of the kernel fit an SM", code)?;
    Ok(u32::try_from(blocks).unwrap_or(0))
}

/// Lets a kernel be launched with this much dynamic shared memory.
pub(crate) fn allow_dynamic_shared(kernel: CUfunction, bytes: u32) -> Result<(), Error> {
    let attribute = constants::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    // SAFETY: the function is of a loaded module.
    let code = unsafe { sys::cuFuncSetAttribute(kernel, attribute, bytes) };
    check("raising the kernel's limit of dynamic shared memory", code)
}

/// Launches a kernel.
///
/// # Safety
///
/// `arguments` must be pointers to values of the types of the kernel's parameters, in order, and
/// the values what the kernel asks for.
pub(crate) unsafe fn launch(
    kernel: CUfunction,
    shape: crate::Shape,
    stream: CUstream,
    arguments: &mut [*mut c_void],
) -> Result<(), Error> {
    let ([x, y, z], [width, height, depth]) = (shape.grid.0, shape.block.0);
    // SAFETY: the caller vouches for the arguments; kernel and stream are live.
    let code = unsafe {
        sys::cuLaunchKernel(
            kernel,
            x,
            y,
            z,
            width,
            height,
            depth,
            shape.dynamic_shared_bytes as c_uint,
            stream,
            arguments.as_mut_ptr(),
            ptr::null_mut(),
        )
    };
    check("launching the kernel", code)
}

/// Loads a module; where the driver refuses it, the error has what its compiler said.
pub(crate) fn load(ptx: &str) -> Result<Module, Error> {
    let bad = |reason: String| Error::BadPtx { reason };
    let text = CString::new(ptx).map_err(|_| bad("it holds a zero byte".to_owned()))?;
    let mut log = vec![0_u8; 8192];
    let mut options =
        [constants::CU_JIT_ERROR_LOG_BUFFER, constants::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // Sizes go by value in the place of the pointer (CUDA Driver API, cuModuleLoadDataEx).
    let mut values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len())];
    let mut module = ptr::null_mut();
    // SAFETY: the text ends in zero; options and values have two elements each; the log has the
    // size that is given.
    let code = unsafe {
        sys::cuModuleLoadDataEx(
            &raw mut module,
            text.as_ptr().cast(),
            options.len() as c_uint,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if code == CUresult::CUDA_SUCCESS {
        return Ok(Module::owned(module));
    }
    if is_fatal(code) {
        check("loading the module", code)?;
    }
    let log = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
    Err(bad(format!("{} {}", describe(code), log.trim())))
}

/// What the current device is.
pub(crate) fn device_info() -> Result<DeviceInfo, Error> {
    let mut device = 0;
    // SAFETY: the pointer is to a live variable.
    check("finding the device", unsafe { sys::cuCtxGetDevice(&raw mut device) })?;
    let attribute = |attribute: c_int| {
        let mut value = 0;
        // SAFETY: the pointer is to a live variable; the device is the context's.
        let code = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, device) };
        check("reading what the device is", code)?;
        Ok::<u32, Error>(u32::try_from(value).unwrap_or(0))
    };
    let mut name = [0_u8; 256];
    // SAFETY: the buffer has the size that is given.
    let code =
        unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, device) };
    check("reading the device's name", code)?;
    let name = CStr::from_bytes_until_nul(&name).map(CStr::to_string_lossy).unwrap_or_default();
    let mut version = 0;
    // SAFETY: the pointer is to a live variable.
    check("reading the version", unsafe { sys::cuDriverGetVersion(&raw mut version) })?;
    Ok(DeviceInfo {
        name: name.into_owned(),
        emulated: false,
        compute_capability: Some((
            attribute(constants::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(constants::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        )),
        sm_count: attribute(constants::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        driver: format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
        clock_mhz: None,
    })
}
