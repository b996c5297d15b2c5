//! The functions of the driver that this library has itself.
#![allow(non_snake_case, reason = "they are the driver's names")]
#![allow(clippy::too_many_arguments, reason = "the driver's functions have so many")]
#![allow(clippy::missing_safety_doc, reason = "the driver's documentation has it")]

use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::Ordering;

use crate::drain;
use crate::driver::{
    self, Code, Handle, LaunchAttribute, LaunchConfig, PROGRAMMATIC_SERIALIZATION, SUCCESS,
};
use crate::image::{self, Kind};
use crate::plan::{CAPTURES, Call, launch, launch_graph};
use crate::session::{self, guarded, lock};

/// The first version in which `cuGetProcAddress` has five parameters.
const PROC_ADDRESS_V2: c_int = 12_000;
/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD: u64 = 2;

/// The functions of this library by the names by which programs ask for them; of two, the second is for per-thread
/// default streams.
fn hook(symbol: &CStr, version: c_int, flags: u64) -> Option<*mut c_void> {
    let pick = |one: *mut c_void, per_thread: *mut c_void| {
        if flags & PER_THREAD == 0 { one } else { per_thread }
    };
    Some(match symbol.to_bytes() {
        b"cuGetProcAddress" if version >= PROC_ADDRESS_V2 => cuGetProcAddress_v2 as *mut c_void,
        b"cuGetProcAddress" => cuGetProcAddress as *mut c_void,
        b"cuGetProcAddress_v2" => cuGetProcAddress_v2 as *mut c_void,
        b"cuModuleLoad" => cuModuleLoad as *mut c_void,
        b"cuModuleLoadData" => cuModuleLoadData as *mut c_void,
        b"cuModuleLoadDataEx" => cuModuleLoadDataEx as *mut c_void,
        b"cuModuleLoadFatBinary" => cuModuleLoadFatBinary as *mut c_void,
        b"cuModuleUnload" => cuModuleUnload as *mut c_void,
        b"cuLibraryLoadData" => cuLibraryLoadData as *mut c_void,
        b"cuLibraryLoadFromFile" => cuLibraryLoadFromFile as *mut c_void,
        b"cuKernelGetFunction" => cuKernelGetFunction as *mut c_void,
        b"cuLibraryUnload" => cuLibraryUnload as *mut c_void,
        b"cuCtxDestroy" => cuCtxDestroy_v2 as *mut c_void,
        b"cuDevicePrimaryCtxRelease" => cuDevicePrimaryCtxRelease_v2 as *mut c_void,
        b"cuDevicePrimaryCtxReset" => cuDevicePrimaryCtxReset_v2 as *mut c_void,
        b"cuGraphLaunch" => pick(cuGraphLaunch as *mut c_void, cuGraphLaunch_ptsz as *mut c_void),
        b"cuStreamBeginCapture" => pick(
            cuStreamBeginCapture_v2 as *mut c_void,
            cuStreamBeginCapture_v2_ptsz as *mut c_void,
        ),
        b"cuStreamBeginCaptureToGraph" => pick(
            cuStreamBeginCaptureToGraph as *mut c_void,
            cuStreamBeginCaptureToGraph_ptsz as *mut c_void,
        ),
        b"cuStreamEndCapture" => {
            pick(cuStreamEndCapture as *mut c_void, cuStreamEndCapture_ptsz as *mut c_void)
        }
        b"cuLaunchKernel" => {
            pick(cuLaunchKernel as *mut c_void, cuLaunchKernel_ptsz as *mut c_void)
        }
        b"cuLaunchKernelEx" => {
            pick(cuLaunchKernelEx as *mut c_void, cuLaunchKernelEx_ptsz as *mut c_void)
        }
        b"cuLaunchCooperativeKernel" => pick(
            cuLaunchCooperativeKernel as *mut c_void,
            cuLaunchCooperativeKernel_ptsz as *mut c_void,
        ),
        _ => return None,
    })
}

/// Gives this library's function in the place of the one that the driver gave.
unsafe fn replace(symbol: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64) {
    // SAFETY: the driver has taken the symbol for a string, and has written the function.
    unsafe {
        if symbol.is_null() || function.is_null() || (*function).is_null() {
            return;
        }
        if let Some(hook) = hook(CStr::from_ptr(symbol), version, flags) {
            *function = hook;
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetProcAddress(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: u64,
) -> Code {
    // SAFETY: the caller's.
    unsafe {
        let code = driver::get_proc_address(symbol, function, version, flags);
        if code == SUCCESS {
            replace(symbol, function, version, flags);
        }
        code
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetProcAddress_v2(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: u64,
    status: *mut c_int,
) -> Code {
    // SAFETY: the caller's.
    unsafe {
        let code = driver::get_proc_address_v2(symbol, function, version, flags, status);
        if code == SUCCESS {
            replace(symbol, function, version, flags);
        }
        code
    }
}

/// The values of the compiler's options as the program gave them: the driver writes how long its log is over how much
/// room there is for it.
struct OptionValues {
    values: *mut *mut c_void,
    given: Vec<*mut c_void>,
}

impl OptionValues {
    /// # Safety
    ///
    /// `values` must be null or have `count` values, for as long as this lives.
    unsafe fn of(values: *mut *mut c_void, count: c_uint) -> Self {
        let count = if values.is_null() { 0 } else { count as usize };
        // SAFETY: the caller's.
        let given = (0..count).map(|index| unsafe { *values.add(index) }).collect();
        Self { values, given }
    }

    fn put_back(&self) {
        for (index, value) in self.given.iter().enumerate() {
            // SAFETY: that of `of`. What the driver has not written need not be memory to write to.
            unsafe {
                if *self.values.add(index) != *value {
                    *self.values.add(index) = *value;
                }
            }
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoad(module: *mut Handle, path: *const c_char) -> Code {
    // SAFETY: the caller's.
    unsafe {
        let Some(bytes) = file(path) else { return driver::module_load(module, path) };
        let file = bytes.as_ptr().cast();
        image::load(file, Kind::Module, module, |module, image| {
            // What is not rewritten is loaded from the file.
            if std::ptr::eq(image, file) {
                driver::module_load(module, path)
            } else {
                driver::module_load_data(module, image)
            }
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadData(module: *mut Handle, image: *const c_void) -> Code {
    // SAFETY: the caller's.
    unsafe {
        image::load(image, Kind::Module, module, |module, image| {
            driver::module_load_data(module, image)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut Handle,
    image: *const c_void,
    count: c_uint,
    options: *mut c_int,
    values: *mut *mut c_void,
) -> Code {
    // SAFETY: the caller's.
    unsafe {
        let given = OptionValues::of(values, count);
        image::load(image, Kind::Module, module, |module, image| {
            given.put_back();
            driver::module_load_data_ex(module, image, count, options, values)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadFatBinary(module: *mut Handle, fatbin: *const c_void) -> Code {
    // SAFETY: the caller's.
    unsafe {
        image::load(fatbin, Kind::Module, module, |module, image| {
            if std::ptr::eq(image, fatbin) {
                driver::module_load_fat_binary(module, image)
            } else {
                driver::module_load_data(module, image)
            }
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleUnload(module: Handle) -> Code {
    unloading(Kind::Module, module);
    // SAFETY: the caller's.
    unsafe { driver::module_unload(module) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLibraryLoadData(
    library: *mut Handle,
    code: *const c_void,
    jit: *mut c_int,
    jit_values: *mut *mut c_void,
    jit_count: c_uint,
    options: *mut c_int,
    values: *mut *mut c_void,
    count: c_uint,
) -> Code {
    // SAFETY: the caller's.
    unsafe {
        let given = OptionValues::of(jit_values, jit_count);
        image::load(code, Kind::Library, library, |library, code| {
            given.put_back();
            driver::library_load_data(
                library, code, jit, jit_values, jit_count, options, values, count,
            )
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLibraryLoadFromFile(
    library: *mut Handle,
    path: *const c_char,
    jit: *mut c_int,
    jit_values: *mut *mut c_void,
    jit_count: c_uint,
    options: *mut c_int,
    values: *mut *mut c_void,
    count: c_uint,
) -> Code {
    // SAFETY: the caller's.
    unsafe {
        let as_it_is = |library| {
            driver::library_load_from_file(
                library, path, jit, jit_values, jit_count, options, values, count,
            )
        };
        let Some(bytes) = file(path) else { return as_it_is(library) };
        let (file, given) = (bytes.as_ptr().cast(), OptionValues::of(jit_values, jit_count));
        image::load(file, Kind::Library, library, |library, image| {
            given.put_back();
            if std::ptr::eq(image, file) {
                as_it_is(library)
            } else {
                driver::library_load_data(
                    library, image, jit, jit_values, jit_count, options, values, count,
                )
            }
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuKernelGetFunction(function: *mut Handle, kernel: Handle) -> Code {
    // SAFETY: the caller's.
    let code = unsafe { driver::kernel_get_function(function, kernel) };
    if let (SUCCESS, Some(session)) = (code, session::get()) {
        // SAFETY: the driver has written the function.
        guarded(|| lock(session).got_function(unsafe { *function }, kernel));
    }
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLibraryUnload(library: Handle) -> Code {
    unloading(Kind::Library, library);
    // SAFETY: the caller's.
    unsafe { driver::library_unload(library) }
}

/// The bytes of a file and a zero, if a session wants to see them.
unsafe fn file(path: *const c_char) -> Option<Vec<u8>> {
    session::get()?;
    if path.is_null() {
        return None;
    }
    // SAFETY: the caller gives a path to the driver.
    let path = unsafe { CStr::from_ptr(path) };
    let mut bytes = std::fs::read(OsStr::from_bytes(path.to_bytes())).ok()?;
    // So that text ends, and as many bytes are there as a header has.
    bytes.resize(bytes.len() + image::ELF_HEADER_BYTES, 0);
    Some(bytes)
}

fn unloading(kind: Kind, handle: Handle) {
    if let Some(session) = session::get() {
        let others = guarded(|| lock(session).unload(handle)).unwrap_or_default();
        others.into_iter().for_each(|other| kind.unload(other));
    }
}

/// A launch's parameters, as both functions have them.
macro_rules! launches {
    ($($name:ident, $cooperative:ident, $ex:ident: $real:ident, $real_cooperative:ident, $real_ex:ident, $is_per_thread:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                function: Handle,
                grid_x: c_uint,
                grid_y: c_uint,
                grid_z: c_uint,
                block_x: c_uint,
                block_y: c_uint,
                block_z: c_uint,
                shared: c_uint,
                stream: Handle,
                parameters: *mut *mut c_void,
                extra: *mut *mut c_void,
            ) -> Code {
                let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
                let is_per_thread = $is_per_thread;
                launch(Call { function, stream, is_per_thread, grid, block }, |_| {
                    // SAFETY: the caller's.
                    unsafe {
                        driver::$real(
                            function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                            stream, parameters, extra,
                        )
                    }
                })
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $cooperative(
                function: Handle,
                grid_x: c_uint,
                grid_y: c_uint,
                grid_z: c_uint,
                block_x: c_uint,
                block_y: c_uint,
                block_z: c_uint,
                shared: c_uint,
                stream: Handle,
                parameters: *mut *mut c_void,
            ) -> Code {
                let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
                let is_per_thread = $is_per_thread;
                launch(Call { function, stream, is_per_thread, grid, block }, |_| {
                    // SAFETY: the caller's.
                    unsafe {
                        driver::$real_cooperative(
                            function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                            stream, parameters,
                        )
                    }
                })
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $ex(
                config: *const LaunchConfig,
                function: Handle,
                parameters: *mut *mut c_void,
                extra: *mut *mut c_void,
            ) -> Code {
                // SAFETY: the caller's: null, or a configuration.
                let Some(known) = (unsafe { config.as_ref() }) else {
                    // SAFETY: the driver refuses it.
                    return unsafe { driver::$real_ex(config, function, parameters, extra) };
                };
                let call = Call {
                    function,
                    stream: known.stream,
                    is_per_thread: $is_per_thread,
                    grid: known.grid,
                    block: known.block,
                };
                launch(call, |is_recorded| {
                    let (mut config, mut attributes) = (*known, Vec::new());
                    if is_recorded {
                        attributes = without_overlap(known);
                        config.attributes = attributes.as_mut_ptr();
                        config.count = attributes.len() as c_uint;
                    }
                    // SAFETY: the caller's; the attributes live until the call returns.
                    let code = unsafe {
                        driver::$real_ex(&raw const config, function, parameters, extra)
                    };
                    drop(attributes);
                    code
                })
            }
        )*
    };
}

launches! {
    cuLaunchKernel, cuLaunchCooperativeKernel, cuLaunchKernelEx:
        launch_kernel, launch_cooperative, launch_kernel_ex, false;
    cuLaunchKernel_ptsz, cuLaunchCooperativeKernel_ptsz, cuLaunchKernelEx_ptsz:
        launch_kernel_ptsz, launch_cooperative_ptsz, launch_kernel_ex_ptsz, true;
}

/// Begins to capture a stream.
fn capturing(begin: impl FnOnce() -> Code) -> Code {
    CAPTURES.fetch_add(1, Ordering::Relaxed);
    let code = begin();
    if code != SUCCESS {
        captured();
    }
    code
}

/// Ends a capture; one that was invalidated ends too.
fn captured() {
    let _nothing_to_end =
        CAPTURES.try_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1));
}

/// Functions of graphs, each for both kinds of default streams.
macro_rules! graphs {
    ($($launch:ident, $begin:ident, $begin_to:ident, $end:ident:
       $real_launch:ident, $real_begin:ident, $real_begin_to:ident, $real_end:ident, $is_per_thread:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $launch(graph: Handle, stream: Handle) -> Code {
                let call = Call {
                    function: graph,
                    stream,
                    is_per_thread: $is_per_thread,
                    grid: [0; 3],
                    block: [0; 3],
                };
                // SAFETY: the caller's.
                launch_graph(call, || unsafe { driver::$real_launch(graph, stream) })
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $begin(stream: Handle, mode: c_int) -> Code {
                // SAFETY: the caller's.
                capturing(|| unsafe { driver::$real_begin(stream, mode) })
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $begin_to(
                stream: Handle,
                graph: Handle,
                nodes: *const Handle,
                data: *const c_void,
                count: usize,
                mode: c_int,
            ) -> Code {
                // SAFETY: the caller's.
                capturing(|| unsafe {
                    driver::$real_begin_to(stream, graph, nodes, data, count, mode)
                })
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $end(stream: Handle, graph: *mut Handle) -> Code {
                // SAFETY: the caller's.
                let code = unsafe { driver::$real_end(stream, graph) };
                captured();
                code
            }
        )*
    };
}

graphs! {
    cuGraphLaunch, cuStreamBeginCapture_v2, cuStreamBeginCaptureToGraph, cuStreamEndCapture:
        graph_launch, begin_capture, begin_capture_to_graph, end_capture, false;
    cuGraphLaunch_ptsz, cuStreamBeginCapture_v2_ptsz, cuStreamBeginCaptureToGraph_ptsz, cuStreamEndCapture_ptsz:
        graph_launch_ptsz, begin_capture_ptsz, begin_capture_to_graph_ptsz, end_capture_ptsz, true;
}

/// The attributes of a launch but for the one that lets it begin before what is in the stream has ended: it would
/// not see that its records are switched on.
fn without_overlap(config: &LaunchConfig) -> Vec<LaunchAttribute> {
    if config.attributes.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller of the launch says that so many are there.
    let attributes =
        unsafe { std::slice::from_raw_parts(config.attributes, config.count as usize) };
    attributes.iter().filter(|it| it.id != PROGRAMMATIC_SERIALIZATION).copied().collect()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxDestroy_v2(context: Handle) -> Code {
    // SAFETY: the caller's.
    drain::leave(Some(context), || unsafe { driver::ctx_destroy(context) }, || true)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> Code {
    let release = || {
        // SAFETY: the caller's.
        unsafe { driver::primary_release(device) }
    };
    drain::leave(primary(device), release, || !is_active(device))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxReset_v2(device: c_int) -> Code {
    // SAFETY: the caller's.
    drain::leave(primary(device), || unsafe { driver::primary_reset(device) }, || true)
}

/// Whether a device's primary context is there.
fn is_active(device: c_int) -> bool {
    let (mut flags, mut is_active) = (0, 0);
    // SAFETY: the pointers are to live variables.
    unsafe { driver::primary_get_state(device, &raw mut flags, &raw mut is_active) };
    is_active != 0
}

/// The primary context of a device, if it is there and this library is at work.
fn primary(device: c_int) -> Option<Handle> {
    session::get().filter(|_| is_active(device))?;
    // SAFETY: the pointer is to a live variable; what is retained is released.
    unsafe {
        let primary = driver::handle(|context| driver::primary_retain(context, device));
        driver::primary_release(device);
        primary
    }
}
