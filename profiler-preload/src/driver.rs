//! Calls of the real driver.
#![allow(clippy::too_many_arguments, reason = "the driver's functions have so many")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use crate::table::{index, real};

/// A `CUresult`, 0 for success.
pub(crate) type Code = c_int;
/// A handle of the driver's: context, module, library, function, kernel, stream.
pub(crate) type Handle = *mut c_void;

pub(crate) const SUCCESS: Code = 0;

macro_rules! functions {
    ($(fn $name:ident = $index:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        $(
            /// The function of the driver with this name.
            ///
            /// # Safety
            ///
            /// What its documentation asks for.
            pub(crate) unsafe fn $name($($argument: $type),*) -> Code {
                type Function = unsafe extern "C" fn($($type),*) -> Code;
                // SAFETY: the driver has a function of this name and type, or the table has one that ignores its
                // arguments.
                let function = unsafe { std::mem::transmute::<*mut c_void, Function>(real(index::$index)) };
                // SAFETY: the caller's.
                unsafe { function($($argument),*) }
            }
        )*
    };
}

functions! {
    fn ctx_get_current = CUCTXGETCURRENT(context: *mut Handle);
    fn ctx_push = CUCTXPUSHCURRENT_V2(context: Handle);
    fn ctx_pop = CUCTXPOPCURRENT_V2(context: *mut Handle);
    fn ctx_get_device = CUCTXGETDEVICE(device: *mut c_int);
    fn device_get_name = CUDEVICEGETNAME(name: *mut c_char, bytes: c_int, device: c_int);
    fn device_get_attribute = CUDEVICEGETATTRIBUTE(value: *mut c_int, attribute: c_int, device: c_int);
    fn driver_get_version = CUDRIVERGETVERSION(version: *mut c_int);
    fn mem_alloc = CUMEMALLOC_V2(address: *mut u64, bytes: usize);
    fn mem_get_info = CUMEMGETINFO_V2(free: *mut usize, total: *mut usize);
    fn mem_host_register = CUMEMHOSTREGISTER_V2(start: *mut c_void, bytes: usize, flags: c_uint);
    fn mem_host_address = CUMEMHOSTGETDEVICEPOINTER_V2(address: *mut u64, start: *mut c_void, flags: c_uint);
    fn copy_to_host = CUMEMCPYDTOHASYNC_V2(to: *mut c_void, from: u64, bytes: usize, stream: Handle);
    fn copy_to_device = CUMEMCPYHTODASYNC_V2(to: u64, from: *const c_void, bytes: usize, stream: Handle);
    fn copy_rows = CUMEMCPY2DASYNC_V2(copy: *const Rows, stream: Handle);
    fn fill_bytes = CUMEMSETD8ASYNC(address: u64, value: u8, bytes: usize, stream: Handle);
    fn stream_create = CUSTREAMCREATE(stream: *mut Handle, flags: c_uint);
    fn stream_synchronize = CUSTREAMSYNCHRONIZE(stream: Handle);
    fn stream_get_ctx = CUSTREAMGETCTX(stream: Handle, context: *mut Handle);
    fn stream_is_capturing = CUSTREAMISCAPTURING(stream: Handle, status: *mut c_int);
    fn stream_is_capturing_ptsz = CUSTREAMISCAPTURING_PTSZ(stream: Handle, status: *mut c_int);
    fn exchange_capture_mode = CUTHREADEXCHANGESTREAMCAPTUREMODE(mode: *mut c_int);
    fn func_get_attribute = CUFUNCGETATTRIBUTE(value: *mut c_int, attribute: c_int, function: Handle);
    fn func_get_module = CUFUNCGETMODULE(module: *mut Handle, function: Handle);
    fn func_get_name = CUFUNCGETNAME(name: *mut *const c_char, function: Handle);
    fn kernel_get_function = CUKERNELGETFUNCTION(function: *mut Handle, kernel: Handle);
    fn kernel_get_name = CUKERNELGETNAME(name: *mut *const c_char, kernel: Handle);
    fn kernel_get_attribute = CUKERNELGETATTRIBUTE(value: *mut c_int, attribute: c_int, kernel: Handle, device: c_int);
    fn kernel_get_library = CUKERNELGETLIBRARY(library: *mut Handle, kernel: Handle);
    fn module_get_function = CUMODULEGETFUNCTION(function: *mut Handle, module: Handle, name: *const c_char);
    fn module_get_global = CUMODULEGETGLOBAL_V2(address: *mut u64, bytes: *mut usize, module: Handle, name: *const c_char);
    fn module_load = CUMODULELOAD(module: *mut Handle, path: *const c_char);
    fn module_load_data = CUMODULELOADDATA(module: *mut Handle, image: *const c_void);
    fn module_load_data_ex = CUMODULELOADDATAEX(module: *mut Handle, image: *const c_void, count: c_uint, options: *mut c_int, values: *mut *mut c_void);
    fn module_load_fat_binary = CUMODULELOADFATBINARY(module: *mut Handle, image: *const c_void);
    fn module_unload = CUMODULEUNLOAD(module: Handle);
    fn library_load_data = CULIBRARYLOADDATA(library: *mut Handle, code: *const c_void, jit: *mut c_int, jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut c_int, values: *mut *mut c_void, count: c_uint);
    fn library_load_from_file = CULIBRARYLOADFROMFILE(library: *mut Handle, path: *const c_char, jit: *mut c_int, jit_values: *mut *mut c_void, jit_count: c_uint, options: *mut c_int, values: *mut *mut c_void, count: c_uint);
    fn library_unload = CULIBRARYUNLOAD(library: Handle);
    fn library_get_kernel = CULIBRARYGETKERNEL(kernel: *mut Handle, library: Handle, name: *const c_char);
    fn launch_kernel = CULAUNCHKERNEL(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, stream: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    fn launch_kernel_ptsz = CULAUNCHKERNEL_PTSZ(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, stream: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    fn launch_cooperative = CULAUNCHCOOPERATIVEKERNEL(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, stream: Handle, parameters: *mut *mut c_void);
    fn launch_cooperative_ptsz = CULAUNCHCOOPERATIVEKERNEL_PTSZ(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, stream: Handle, parameters: *mut *mut c_void);
    fn launch_kernel_ex = CULAUNCHKERNELEX(config: *const LaunchConfig, function: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    fn launch_kernel_ex_ptsz = CULAUNCHKERNELEX_PTSZ(config: *const LaunchConfig, function: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    fn graph_launch = CUGRAPHLAUNCH(graph: Handle, stream: Handle);
    fn graph_launch_ptsz = CUGRAPHLAUNCH_PTSZ(graph: Handle, stream: Handle);
    fn begin_capture = CUSTREAMBEGINCAPTURE_V2(stream: Handle, mode: c_int);
    fn begin_capture_ptsz = CUSTREAMBEGINCAPTURE_V2_PTSZ(stream: Handle, mode: c_int);
    fn begin_capture_to_graph = CUSTREAMBEGINCAPTURETOGRAPH(stream: Handle, graph: Handle, dependencies: *const Handle, data: *const c_void, count: usize, mode: c_int);
    fn begin_capture_to_graph_ptsz = CUSTREAMBEGINCAPTURETOGRAPH_PTSZ(stream: Handle, graph: Handle, dependencies: *const Handle, data: *const c_void, count: usize, mode: c_int);
    fn end_capture = CUSTREAMENDCAPTURE(stream: Handle, graph: *mut Handle);
    fn end_capture_ptsz = CUSTREAMENDCAPTURE_PTSZ(stream: Handle, graph: *mut Handle);
    fn ctx_destroy = CUCTXDESTROY_V2(context: Handle);
    fn primary_release = CUDEVICEPRIMARYCTXRELEASE_V2(device: c_int);
    fn primary_get_state = CUDEVICEPRIMARYCTXGETSTATE(device: c_int, flags: *mut c_uint, is_active: *mut c_int);
    fn primary_retain = CUDEVICEPRIMARYCTXRETAIN(context: *mut Handle, device: c_int);
    fn primary_reset = CUDEVICEPRIMARYCTXRESET_V2(device: c_int);
    fn get_proc_address = CUGETPROCADDRESS(symbol: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64);
    fn get_proc_address_v2 = CUGETPROCADDRESS_V2(symbol: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64, status: *mut c_int);
}

/// `CUlaunchConfig` of cuda.h.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LaunchConfig {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared: c_uint,
    pub(crate) stream: Handle,
    pub(crate) attributes: *mut LaunchAttribute,
    pub(crate) count: c_uint,
}

/// `CUlaunchAttribute` of cuda.h.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LaunchAttribute {
    pub(crate) id: c_int,
    padding: [u8; 4],
    value: [u64; 8],
}

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`.
pub(crate) const PROGRAMMATIC_SERIALIZATION: c_int = 6;

/// `CUDA_MEMCPY2D` of cuda.h.
#[repr(C)]
pub(crate) struct Rows {
    from_x: usize,
    from_y: usize,
    from_type: c_int,
    from_host: *const c_void,
    from_device: u64,
    from_array: Handle,
    from_pitch: usize,
    to_x: usize,
    to_y: usize,
    to_type: c_int,
    to_host: *mut c_void,
    to_device: u64,
    to_array: Handle,
    to_pitch: usize,
    width: usize,
    height: usize,
}

const MEMORY_HOST: c_int = 1;
const MEMORY_DEVICE: c_int = 2;

impl Rows {
    /// Copies `height` rows of `width` bytes, `pitch` apart on the device, to the host without gaps.
    pub(crate) fn to_host(
        from: u64,
        pitch: usize,
        to: &mut [u8],
        width: usize,
        height: usize,
    ) -> Self {
        assert!(to.len() >= width * height, "the rows fit");
        Self {
            from_x: 0,
            from_y: 0,
            from_type: MEMORY_DEVICE,
            from_host: ptr::null(),
            from_device: from,
            from_array: ptr::null_mut(),
            from_pitch: pitch,
            to_x: 0,
            to_y: 0,
            to_type: MEMORY_HOST,
            to_host: to.as_mut_ptr().cast(),
            to_device: 0,
            to_array: ptr::null_mut(),
            to_pitch: width,
            width,
            height,
        }
    }
}

/// Makes a context current until it is dropped, and lets this thread's calls be none of a stream capture's.
#[derive(Debug)]
pub(crate) struct Entered {
    capture_mode: c_int,
}

/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
const RELAXED: c_int = 2;

impl Entered {
    pub(crate) fn new(context: Handle) -> Option<Self> {
        // SAFETY: the context is one that the driver gave.
        if unsafe { ctx_push(context) } != SUCCESS {
            return None;
        }
        let mut capture_mode = RELAXED;
        // SAFETY: the pointer is to a live variable.
        unsafe { exchange_capture_mode(&raw mut capture_mode) };
        Some(Self { capture_mode })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut context = ptr::null_mut();
        // SAFETY: the pointers are to live variables.
        unsafe {
            exchange_capture_mode(&raw mut self.capture_mode);
            ctx_pop(&raw mut context);
        }
    }
}

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`.
pub(crate) const SM_COUNT: c_int = 16;

/// An attribute of a device; 0 if the driver does not say it.
pub(crate) fn attribute(attribute: c_int, device: c_int) -> u32 {
    let mut value = 0;
    // SAFETY: the pointer is to a live variable.
    unsafe { device_get_attribute(&raw mut value, attribute, device) };
    u32::try_from(value).unwrap_or(0)
}

/// The compute capability of a device.
pub(crate) fn capability(device: c_int) -> (u32, u32) {
    (attribute(75, device), attribute(76, device))
}

/// The text that a function like `cuFuncGetName` gives.
pub(crate) fn text(get: impl FnOnce(*mut *const c_char) -> Code) -> Option<String> {
    let mut text = ptr::null();
    if get(&raw mut text) != SUCCESS || text.is_null() {
        return None;
    }
    // SAFETY: the driver gave a string, which lives as long as the function.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// The handle that a function gives.
pub(crate) fn handle(get: impl FnOnce(*mut Handle) -> Code) -> Option<Handle> {
    let mut handle = ptr::null_mut();
    (get(&raw mut handle) == SUCCESS && !handle.is_null()).then_some(handle)
}
