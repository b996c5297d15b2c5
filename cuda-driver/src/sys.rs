//! The driver's functions that the profiler calls, by the names and types of `cuda.h`.
//!
//! Each looks its namesake up in the driver's library on its first call. Without a driver they answer
//! [`CUresult::CUDA_ERROR_NO_DEVICE`]; a function that an old driver lacks answers
//! [`CUresult::CUDA_ERROR_NOT_SUPPORTED`].
#![allow(non_snake_case, reason = "the names are those of cuda.h")]
#![allow(clippy::too_many_arguments, reason = "the signatures are those of cuda.h")]

use std::ffi::{c_char, c_int, c_uint, c_void};

/// A result code. Newer drivers have codes that are not named here.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CUresult(pub c_uint);

/// Defines result codes.
macro_rules! codes {
    ($($name:ident = $code:literal,)*) => {
        #[allow(missing_docs, reason = "they are explained where cuda.h defines them")]
        impl CUresult {
            $(pub const $name: Self = Self($code);)*

            /// The code's name; that of an unknown error for those that are not listed here.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                    _ => "CUDA_ERROR_UNKNOWN",
                }
            }
        }
    };
}

codes! {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
    CUDA_ERROR_INVALID_PC = 718,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_SYSTEM_NOT_READY = 802,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
    CUDA_ERROR_UNKNOWN = 999,
}

/// A device.
pub type CUdevice = c_int;
/// An address of the device.
pub type CUdeviceptr = u64;
/// A context.
pub type CUcontext = *mut c_void;
/// A module.
pub type CUmodule = *mut c_void;
/// A kernel of a module.
pub type CUfunction = *mut c_void;
/// A stream.
pub type CUstream = *mut c_void;
/// An event.
pub type CUevent = *mut c_void;
/// A function of the host's that a stream calls.
pub type CUhostFn = unsafe extern "C" fn(*mut c_void);

/// Numbers that the driver's functions take.
#[allow(missing_docs, reason = "they are explained where cuda.h defines them")]
pub mod constants {
    use std::ffi::{c_int, c_uint};

    pub const CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: c_int = 16;
    pub const CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: c_int = 75;
    pub const CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: c_int = 76;
    pub const CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: c_int = 0;
    pub const CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: c_int = 1;
    pub const CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: c_int = 3;
    pub const CU_FUNC_ATTRIBUTE_NUM_REGS: c_int = 4;
    pub const CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
    pub const CU_POINTER_ATTRIBUTE_CONTEXT: c_int = 1;
    pub const CU_JIT_ERROR_LOG_BUFFER: c_int = 5;
    pub const CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: c_int = 6;
    pub const CU_MEMORYTYPE_HOST: c_int = 1;
    pub const CU_MEMORYTYPE_DEVICE: c_int = 2;
    pub const CU_MEMHOSTREGISTER_PORTABLE: c_uint = 1;
    pub const CU_MEMHOSTREGISTER_DEVICEMAP: c_uint = 2;
}

/// A copy of rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "they are explained where cuda.h defines them")]
pub struct CUDA_MEMCPY2D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcMemoryType: c_int,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: *mut c_void,
    pub srcPitch: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstMemoryType: c_int,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: *mut c_void,
    pub dstPitch: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
}

/// Defines the driver's functions: `fn NAME(ARGUMENT: TYPE, ..);`, all of which return a [`CUresult`].
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => { $(
        /// The driver's function of this name.
        ///
        /// # Safety
        ///
        /// What the driver's documentation of it asks for.
        pub unsafe fn $name($($argument: $type),*) -> CUresult {
            static ENTRY: $crate::library::Entry =
                $crate::library::Entry::new($crate::library::name!($name));
            match ENTRY.resolve() {
                Ok(address) => {
                    // SAFETY: the address is that of the driver's function of this name, and this its signature.
                    let function = unsafe {
                        std::mem::transmute::<
                            std::ptr::NonNull<()>,
                            unsafe extern "C" fn($($type),*) -> CUresult,
                        >(address)
                    };
                    // SAFETY: the caller's.
                    unsafe { function($($argument),*) }
                }
                Err(code) => code,
            }
        }
    )* };
}

functions! {
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuGetErrorName(error: CUresult, text: *mut *const c_char);
    fn cuGetErrorString(error: CUresult, text: *mut *const c_char);
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetName(name: *mut c_char, bytes: c_int, device: CUdevice);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: CUdevice);
    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuDevicePrimaryCtxGetState(device: CUdevice, flags: *mut c_uint, is_active: *mut c_int);
    fn cuCtxSetCurrent(context: CUcontext);
    fn cuCtxGetCurrent(context: *mut CUcontext);
    fn cuCtxGetDevice(device: *mut CUdevice);
    fn cuCtxSynchronize();
    fn cuModuleLoadDataEx(
        module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut c_int, values: *mut *mut c_void,
    );
    fn cuModuleUnload(module: CUmodule);
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn cuModuleGetGlobal_v2(
        address: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char,
    );
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    fn cuMemFree_v2(address: CUdeviceptr);
    fn cuMemHostRegister_v2(start: *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemHostUnregister(start: *mut c_void);
    fn cuMemHostGetDevicePointer_v2(address: *mut CUdeviceptr, start: *mut c_void, flags: c_uint);
    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize);
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize);
    fn cuMemcpy2DUnaligned_v2(copy: *const CUDA_MEMCPY2D);
    fn cuMemsetD8Async(address: CUdeviceptr, value: u8, count: usize, stream: CUstream);
    fn cuMemsetD32Async(address: CUdeviceptr, value: c_uint, count: usize, stream: CUstream);
    fn cuPointerGetAttribute(value: *mut c_void, attribute: c_int, address: CUdeviceptr);
    fn cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamSynchronize(stream: CUstream);
    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventDestroy_v2(event: CUevent);
    fn cuEventElapsedTime(milliseconds: *mut f32, begin: CUevent, end: CUevent);
    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: CUfunction);
    fn cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int);
    fn cuFuncGetModule(module: *mut CUmodule, function: CUfunction);
    fn cuLaunchKernel(
        function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared_bytes: c_uint, stream: CUstream, parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    );
    fn cuLaunchHostFunc(stream: CUstream, function: CUhostFn, data: *mut c_void);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: CUfunction, threads: c_int, shared_bytes: usize,
    );
}
