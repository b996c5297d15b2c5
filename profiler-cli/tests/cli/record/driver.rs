//! A stand-in for the CUDA driver, for tests of `profiler record` on machines without a GPU.
//!
//! Its GPU's memory is host memory. A kernel runs within the call that launches it, and writes what a rewritten kernel
//! would; its second parameter says how many regions each warp records. Time is counted, not measured, so that results
//! are the same each time. An image is PTX, or PTX after the header of a cubin or a fatbin.
//!
//! `FAKE_LOG` names a file for a line of each call that matters. Images with the text of `FAKE_REFUSE` are refused.
//! With `FAKE_LATE` records are switched off when the next kernel is launched, as if a launch took until then.
//! Blocks of rewritten kernels can have `FAKE_THREADS` threads only, if the kernel does not ask for more.
#![allow(non_snake_case, reason = "they are the driver's names")]
#![allow(unused, reason = "not every function needs all that a macro gives it")]

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::{LazyLock, Mutex, PoisonError};

type Handle = usize;
type Result<T = ()> = std::result::Result<T, c_int>;
type Dim3 = [c_uint; 3];

const INVALID_PTX: c_int = 218;
const INVALID_HANDLE: c_int = 400;
const NOT_FOUND: c_int = 500;
const ILLEGAL_ADDRESS: c_int = 700;
const DESCRIPTOR: &CStr = c"__profiler_descriptor_v1";
const DESCRIPTOR_BYTES: usize = 128;
const SM_COUNT: u64 = 4;

#[derive(Clone)]
enum Object {
    Context,
    Stream { flags: c_uint, context: Handle },
    Module { text: String, descriptor: u64 },
    Library { module: Handle },
    Function { module: Handle, name: CString },
    Kernel { library: Handle, name: CString },
}

/// Handles are numbers of objects. One that is gone gives its number to the next.
#[derive(Default)]
struct Gpu {
    objects: Vec<Option<Object>>,
    /// Where memory begins, and how many bytes it has.
    memory: Vec<(u64, usize)>,
    primary: Handle,
    retained: u32,
    /// The stream that is being captured, or 0.
    capturing: Handle,
    /// What was captured last: a module, a kernel, its shape and its regions.
    graph: Vec<(Handle, String, [u64; 2], u64)>,
    ns: u64,
    launches: u64,
    /// What switches records off later: the descriptor's address, and that of the time.
    late: Option<[u64; 2]>,
}

static GPU: LazyLock<Mutex<Gpu>> = LazyLock::new(Mutex::default);

thread_local! {
    /// The thread's stack of contexts, the current one first. It is there to the process's end, as nothing drops it.
    static CONTEXTS: Cell<[Handle; 4]> = const { Cell::new([0; 4]) };
}

fn log(line: &str) {
    let Some(path) = std::env::var_os("FAKE_LOG") else { return };
    let mut file = OpenOptions::new().append(true).create(true).open(path).expect("the log opens");
    file.write_all(format!("{line}\n").as_bytes()).expect("the log takes a line");
}

fn current() -> Handle {
    CONTEXTS.get()[0]
}

impl Gpu {
    fn add(&mut self, object: Object) -> Handle {
        let free = self.objects.iter().position(Option::is_none).unwrap_or(self.objects.len());
        self.objects.resize(self.objects.len().max(free + 1), None);
        self.objects[free] = Some(object);
        (free + 1) * 16
    }

    fn get(&self, handle: Handle) -> Result<Object> {
        let object =
            (handle / 16).checked_sub(1).and_then(|index| self.objects.get(index)?.clone());
        object.ok_or(INVALID_HANDLE)
    }

    /// The flags and the context of a stream.
    fn stream(&self, stream: Handle) -> Result<(c_uint, Handle)> {
        match self.get(stream) {
            _ if stream == 0 => Ok((0, current())),
            Ok(Object::Stream { flags, context }) => Ok((flags, context)),
            _ => Err(INVALID_HANDLE),
        }
    }

    fn is_capturing(&self, stream: Handle) -> bool {
        stream != 0 && stream == self.capturing
    }

    /// Memory of the GPU.
    fn at(&self, address: u64, bytes: usize) -> Result<*mut u8> {
        let is_in =
            |it: &(u64, usize)| it.0 <= address && address + bytes as u64 <= it.0 + it.1 as u64;
        if !self.memory.iter().any(is_in) {
            log(&format!("fault: {bytes} bytes at {address:#x} are not the GPU's"));
            return Err(ILLEGAL_ADDRESS);
        }
        Ok(address as *mut u8)
    }

    fn write(&self, address: u64, words: &[u64]) -> Result {
        let to = self.at(address, 8 * words.len())?.cast::<u64>();
        // SAFETY: the memory is there, and aligned as the GPU asks for.
        unsafe { to.copy_from(words.as_ptr(), words.len()) };
        Ok(())
    }

    fn add_to(&self, address: u64, value: u64) -> Result<u64> {
        // SAFETY: as above.
        let before = unsafe { *self.at(address, 8)?.cast::<u64>() };
        self.write(address, &[before + value]).map(|()| before)
    }

    /// New memory, which holds anything but zeros.
    fn allocate(&mut self, bytes: usize) -> u64 {
        let memory = vec![[0xa5_u8; 512]; bytes.div_ceil(512) + 1].leak();
        let address = (memory.as_ptr() as u64).next_multiple_of(512);
        self.memory.push((address, bytes));
        address
    }

    /// Loads an image. The caller's has a header, or is text that ends with a zero.
    unsafe fn load(&mut self, name: &str, image: *const u8) -> Result<Handle> {
        // SAFETY: the caller's.
        let text = unsafe {
            let header = match &image.cast::<[u8; 4]>().read() {
                b"\x7fELF" => 64,
                b"\x50\xed\x55\xba" => 80,
                _ => 0,
            };
            CStr::from_ptr(image.add(header).cast()).to_string_lossy().into_owned()
        };
        let is_refused = std::env::var("FAKE_REFUSE").is_ok_and(|part| text.contains(&part));
        let variable = text.split_once("__profiler_descriptor_v1[128] = {");
        let kind = match (variable, text.split_once(".maxnreg ")) {
            (None, _) => "original".to_owned(),
            (_, None) => "rewritten".to_owned(),
            (_, Some((_, registers))) => {
                format!("rewritten within {} registers", &registers[..registers.find('\n').unwrap_or(0)])
            }
        };
        log(&format!("{name} {kind}{}", if is_refused { ", refused" } else { "" }));
        if is_refused || !text.contains(".version") {
            return Err(INVALID_PTX);
        }
        let mut descriptor = 0;
        if let Some((_, values)) = variable {
            descriptor = self.allocate(DESCRIPTOR_BYTES);
            for (at, byte) in (descriptor..).zip(values.split([',', '}']).take(DESCRIPTOR_BYTES)) {
                let byte = byte.trim().parse().map_err(|_| INVALID_PTX)?;
                // SAFETY: it was just allocated.
                unsafe { *self.at(at, 1)? = byte };
            }
        }
        Ok(self.add(Object::Module { text, descriptor }))
    }

    /// Removes a module with its functions, or a library with its kernels.
    fn unload(&mut self, handle: Handle) -> Result {
        match self.get(handle)? {
            Object::Module { descriptor, .. } => self.memory.retain(|it| it.0 != descriptor),
            Object::Library { module } => self.unload(module)?,
            _ => return Err(INVALID_HANDLE),
        }
        self.objects[handle / 16 - 1] = None;
        for it in &mut self.objects {
            if let Some(Object::Function { module: of, .. } | Object::Kernel { library: of, .. }) =
                it
                && *of == handle
            {
                *it = None;
            }
        }
        Ok(())
    }

    /// The function of a module with this name.
    fn function(&mut self, of: Handle, wanted: &CStr) -> Result<Handle> {
        let Object::Module { text, .. } = self.get(of)? else { return Err(INVALID_HANDLE) };
        if !text.contains(&format!(".entry {}(", wanted.to_string_lossy())) {
            return Err(NOT_FOUND);
        }
        let is_it = |it: &Option<_>| matches!(it, Some(Object::Function { module, name }) if *module == of && **name == *wanted);
        let known = self.objects.iter().position(is_it).map(|index| (index + 1) * 16);
        Ok(known
            .unwrap_or_else(|| self.add(Object::Function { module: of, name: wanted.to_owned() })))
    }

    /// The function of a kernel.
    fn function_of(&mut self, kernel: Handle) -> Result<Handle> {
        let Object::Kernel { library, name } = self.get(kernel)? else {
            return Err(INVALID_HANDLE);
        };
        let Object::Library { module } = self.get(library)? else { return Err(INVALID_HANDLE) };
        self.function(module, &name)
    }

    /// Runs a kernel. The caller's `parameters` are those that it has.
    unsafe fn launch(
        &mut self,
        how: &str,
        function: Handle,
        [grid, block]: [Dim3; 2],
        stream: Handle,
        parameters: *const *const u64,
    ) -> Result {
        let function = self.function_of(function).unwrap_or(function);
        let Object::Function { module, name } = self.get(function)? else {
            return Err(INVALID_HANDLE);
        };
        self.stream(stream)?;
        if let Some([descriptor, stamp]) = self.late.take() {
            self.write(descriptor, &[0])?;
            self.ns += 1000;
            self.write(stamp, &[self.ns])?;
        }
        let name = name.to_string_lossy();
        if name == "profiler_switch" {
            // SAFETY: the caller's; the address is checked.
            let stamp = unsafe {
                let [descriptor, value, base, stamp, magic, stride] =
                    parameters.cast::<[*const u64; 6]>().read();
                log(&format!("switch {} stream {stream}", *value as u32));
                if *descriptor != 0 && *value == 0 && std::env::var_os("FAKE_LATE").is_some() {
                    self.late = Some([*descriptor, *stamp]);
                    return Ok(());
                }
                if *descriptor != 0 {
                    let at = self.at(*descriptor, DESCRIPTOR_BYTES)?;
                    *at.cast() = *value;
                    *at.add(40).cast() = base.cast::<u32>().read();
                    *at.add(120).cast() = *magic;
                    *at.add(88).cast() = stride.cast::<u32>().read();
                }
                *stamp
            };
            self.ns += 1000;
            return self.write(stamp, &[self.ns]);
        }
        // SAFETY: the caller's.
        let regions = unsafe { parameters.add(1).read().cast::<u32>().read() };
        let threads = |it: Dim3| it.iter().map(|it| u64::from(*it)).product();
        let shape = [grid, block].map(threads);
        let warps = if self.is_capturing(stream) {
            self.graph.push((module, name.to_string(), shape, regions.into()));
            0
        } else {
            self.run(module, &name, shape, regions.into())?
        };
        log(&format!("{how} {name} stream {stream} warps {warps}"));
        Ok(())
    }

    /// How many threads a block of a function can have.
    fn threads_of(&self, function: Handle) -> Result<c_int> {
        let Object::Function { module, .. } = self.get(function)? else {
            return Err(INVALID_HANDLE);
        };
        let Object::Module { text, descriptor } = self.get(module)? else {
            return Err(INVALID_HANDLE);
        };
        let few = std::env::var("FAKE_THREADS").ok().and_then(|few| few.parse().ok());
        Ok(few.filter(|_| descriptor != 0 && !text.contains(".maxnreg")).unwrap_or(768))
    }

    /// Does what a rewritten kernel does, and says how many warps recorded.
    fn run(&mut self, of: Handle, name: &str, shape: [u64; 2], regions: u64) -> Result<u64> {
        let (start, took) = (self.ns, 1000 + 200 * regions);
        (self.ns, self.launches) = (start + took, self.launches + 1);
        let Object::Module { text, descriptor } = self.get(of)? else { return Err(INVALID_HANDLE) };
        // Its site is the first number that is moved to a register of the profiler's.
        let begin = format!("{name}(");
        let body = text.split(".entry ").find(|it| it.starts_with(&begin)).unwrap_or_default();
        let mut moved = body
            .split("mov.u32 %profiler_r")
            .filter_map(|it| it.split_once(", ")?.1.split_once(';'));
        let Some(site) = moved.find_map(|(value, _)| value.parse::<u64>().ok()) else {
            return Ok(0);
        };
        let from = self.at(descriptor, DESCRIPTOR_BYTES)?;
        // SAFETY: the descriptor has so many bytes, and is aligned to 16.
        let word = |at: usize| unsafe { from.add(at).cast::<u32>().read() };
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let [version, mask, limit, shift] = [0, 24, 28, 32].map(|at| u64::from(word(at)));
        let [headers, records, claims, lost] = [8, 16, 96, 112].map(long);
        if version == 0 {
            return Ok(0);
        }
        // Slots are computed, or claimed from the common pool alone.
        assert!(word(4) <= 1 && word(92) == 0, "a descriptor of `profiler record`");
        let counter = claims + 4 * u64::from(word(44)) * 128;
        let ([grid, block], mut recorded, mut turn) = (shape, 0, 0);
        let magic = long(120);
        let is_recorded = |at: &u64| at.wrapping_mul(magic) <= magic.wrapping_sub(1);
        let blocks = (u64::from(word(80))..grid).filter(is_recorded);
        for at in blocks.take(word(84) as usize) {
            for warp in (0..block.div_ceil(32)).filter(|warp| word(76) >> (warp % 32) & 1 != 0) {
                let slot = match word(4) {
                    0 => u64::from(word(40)) + turn,
                    _ => u64::from(word(104)) + self.add_to(counter, 1)?,
                };
                turn += 1;
                if slot >= word(36).into() {
                    self.add_to(lost, 1)?;
                    self.add_to(lost + 8, regions)?;
                    continue;
                }
                recorded += 1;
                let (header, entered) = (headers + 128 * slot, start + 10 * recorded);
                // All extents but the first are 1.
                let (extent, threads) = (grid | 1 << 32 | 1 << 48, block | 1 << 11 | 1 << 22);
                self.write(header, &[2 * entered, entered])?;
                self.write(header + 16, &[0x5052_0000 | version | site << 32, self.launches])?;
                self.write(header + 32, &[at, extent])?;
                self.write(header + 48, &[threads | warp << 32 | (at % SM_COUNT) << 40, 0])?;
                for region in 0..regions {
                    let (cursor, begin) = (16 * region, 2 * (entered + 100 + 200 * region));
                    if cursor < limit {
                        let stamp = (begin + 200) | 1 << 52 | (site + 1) << 32;
                        self.write(records + (slot << shift | cursor & mask), &[begin, stamp])?;
                    }
                }
                let left = entered + took - 100;
                self.write(header + 64, &[2 * left, left, regions, 0x5850_4f46_4c45_5821])?;
            }
        }
        // Records cost 5 %.
        self.ns += took / 20;
        Ok(recorded)
    }
}

/// The driver's functions. Each has the GPU to itself, and returns an error's code or 0.
macro_rules! functions {
    ($gpu:ident: $($name:ident($($argument:ident: $type:ty),*) $body:block)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                let mut gpu = GPU.lock().unwrap_or_else(PoisonError::into_inner);
                let $gpu = &mut *gpu;
                // SAFETY: the caller gives what the driver's documentation asks for. Memory of the GPU is checked.
                let mut run = || -> Result { unsafe { $body }; Ok(()) };
                run().err().unwrap_or(0)
            }
        )*
        fn find(wanted: &str) -> Option<usize> {
            [$((stringify!($name), $name as *const () as usize)),*].iter().find(|it| it.0 == wanted).map(|it| it.1)
        }
    };
}

functions! { gpu:
    cuInit(_flags: c_uint) {}
    cuDriverGetVersion(version: *mut c_int) { *version = 13_000 }
    cuDeviceGet(device: *mut c_int, ordinal: c_int) { *device = ordinal }
    cuDeviceGetName(name: *mut c_char, _bytes: c_int, _device: c_int) { name.copy_from(c"Fake GPU".as_ptr(), 9) }
    cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _device: c_int) {
        *value = match attribute { 75 => 9, 16 => SM_COUNT as c_int, _ => 0 }
    }
    cuDevicePrimaryCtxRetain(context: *mut Handle, _device: c_int) {
        if gpu.primary == 0 { gpu.primary = gpu.add(Object::Context) }
        gpu.retained += 1;
        *context = gpu.primary
    }
    cuDevicePrimaryCtxRelease_v2(_device: c_int) { gpu.retained -= 1 }
    cuDevicePrimaryCtxGetState(_device: c_int, flags: *mut c_uint, is_active: *mut c_int) {
        (*flags, *is_active) = (0, (gpu.retained > 0).into())
    }
    cuCtxPushCurrent_v2(context: Handle) {
        gpu.get(context)?;
        let [first, second, third, _] = CONTEXTS.get();
        CONTEXTS.set([context, first, second, third])
    }
    cuCtxPopCurrent_v2(context: *mut Handle) {
        let [first, second, third, fourth] = CONTEXTS.get();
        CONTEXTS.set([second, third, fourth, 0]);
        *context = first
    }
    cuCtxGetCurrent(context: *mut Handle) { *context = current() }
    cuCtxGetDevice(device: *mut c_int) { *device = 0 }
    cuCtxSynchronize() { log("cuCtxSynchronize") }
    cuStreamCreate(stream: *mut Handle, flags: c_uint) {
        *stream = gpu.add(Object::Stream { flags, context: current() })
    }
    cuStreamSynchronize(stream: Handle) { log(&format!("cuStreamSynchronize flags {}", gpu.stream(stream)?.0)) }
    cuStreamGetCtx(stream: Handle, context: *mut Handle) { *context = gpu.stream(stream)?.1 }
    cuStreamIsCapturing(stream: Handle, status: *mut c_int) { *status = gpu.is_capturing(stream).into() }
    cuStreamIsCapturing_ptsz(stream: Handle, status: *mut c_int) { *status = gpu.is_capturing(stream).into() }
    cuStreamBeginCapture_v2(stream: Handle, _mode: c_int) { (gpu.capturing, gpu.graph) = (stream, Vec::new()) }
    cuStreamEndCapture(stream: Handle, _graph: *mut Handle) { gpu.capturing = 0 }
    cuGraphLaunch(_graph: Handle, stream: Handle) {
        for (module, name, shape, regions) in gpu.graph.clone() {
            let warps = gpu.run(module, &name, shape, regions)?;
            log(&format!("cuGraphLaunch {name} stream {stream} warps {warps}"))
        }
    }
    cuThreadExchangeStreamCaptureMode(_mode: *mut c_int) {}
    cuMemAlloc_v2(address: *mut u64, bytes: usize) { *address = gpu.allocate(bytes) }
    cuMemHostRegister_v2(start: u64, bytes: usize, _flags: c_uint) { gpu.memory.push((start, bytes)) }
    cuMemHostGetDevicePointer_v2(address: *mut u64, start: u64, _flags: c_uint) { *address = start }
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) { (*free, *total) = (8 << 30, 16 << 30) }
    cuMemcpyDtoHAsync_v2(to: *mut u8, from: u64, bytes: usize, _stream: Handle) {
        to.copy_from(gpu.at(from, bytes)?, bytes)
    }
    cuMemcpyHtoDAsync_v2(to: u64, from: *const u8, bytes: usize, _stream: Handle) {
        gpu.at(to, bytes)?.copy_from(from, bytes)
    }
    cuMemcpy2DAsync_v2(copy: *const usize, stream: Handle) {
        let [from, from_pitch, to, to_pitch, width, height] = [4, 6, 10, 13, 14, 15].map(|at| *copy.add(at));
        for row in 0..height {
            let bytes = gpu.at((from + row * from_pitch) as u64, width)?;
            ((to + row * to_pitch) as *mut u8).copy_from(bytes, width)
        }
        log(&format!("cuMemcpy2DAsync_v2 flags {}", gpu.stream(stream)?.0))
    }
    cuMemsetD8Async(address: u64, value: u8, bytes: usize, _stream: Handle) {
        gpu.at(address, bytes)?.write_bytes(value, bytes)
    }
    cuModuleLoadData(module: *mut Handle, image: *const u8) { *module = gpu.load("cuModuleLoadData", image)? }
    cuModuleUnload(module: Handle) { gpu.unload(module)? }
    cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) {
        *function = gpu.function(module, CStr::from_ptr(name))?
    }
    cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: Handle, name: *const c_char) {
        let Object::Module { descriptor, .. } = gpu.get(module)? else { return Err(INVALID_HANDLE) };
        if descriptor == 0 || CStr::from_ptr(name) != DESCRIPTOR { return Err(NOT_FOUND) }
        (*address, *bytes) = (descriptor, DESCRIPTOR_BYTES)
    }
    cuLibraryLoadData(library: *mut Handle, image: *const u8) {
        let module = gpu.load("cuLibraryLoadData", image)?;
        *library = gpu.add(Object::Library { module })
    }
    cuLibraryUnload(library: Handle) { gpu.unload(library)? }
    cuLibraryGetKernel(kernel: *mut Handle, library: Handle, name: *const c_char) {
        let name = CStr::from_ptr(name).to_owned();
        *kernel = gpu.add(Object::Kernel { library, name });
        gpu.function_of(*kernel)?;
    }
    cuKernelGetFunction(function: *mut Handle, kernel: Handle) { *function = gpu.function_of(kernel)? }
    cuKernelGetAttribute(value: *mut c_int, _attribute: c_int, kernel: Handle, _device: c_int) {
        let function = gpu.function_of(kernel)?;
        *value = gpu.threads_of(function)?
    }
    cuKernelGetLibrary(of: *mut Handle, kernel: Handle) {
        let Object::Kernel { library, .. } = gpu.get(kernel)? else { return Err(INVALID_HANDLE) };
        *of = library
    }
    cuFuncGetAttribute(value: *mut c_int, _attribute: c_int, function: Handle) { *value = gpu.threads_of(function)? }
    cuFuncGetModule(of: *mut Handle, function: Handle) {
        let Object::Function { module, .. } = gpu.get(function)? else { return Err(INVALID_HANDLE) };
        *of = module
    }
    cuFuncGetName(text: *mut *const c_char, function: Handle) {
        // Names are left in memory for ever.
        let Object::Function { name, .. } = gpu.get(function)? else { return Err(INVALID_HANDLE) };
        *text = name.into_raw()
    }
    cuKernelGetName(text: *mut *const c_char, kernel: Handle) {
        let Object::Kernel { name, .. } = gpu.get(kernel)? else { return Err(INVALID_HANDLE) };
        *text = name.into_raw()
    }
    cuLaunchKernel(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, _shared: c_uint, stream: Handle, parameters: *const *const u64, _extra: usize) {
        let shape = [[grid_x, grid_y, grid_z], [block_x, block_y, block_z]];
        gpu.launch("cuLaunchKernel", function, shape, stream, parameters)?
    }
    cuLaunchKernel_ptsz(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint,
        block_y: c_uint, block_z: c_uint, _shared: c_uint, stream: Handle, parameters: *const *const u64,
        _extra: usize) {
        let shape = [[grid_x, grid_y, grid_z], [block_x, block_y, block_z]];
        gpu.launch("cuLaunchKernel_ptsz", function, shape, stream, parameters)?
    }
    cuLaunchKernelEx(config: *const u32, function: Handle, parameters: *const *const u64, _extra: usize) {
        // Both extents, the shared memory, the stream, the attributes of 72 bytes each, and how many they are.
        let stream = *config.add(8).cast::<Handle>();
        let (attributes, count) = (*config.add(10).cast::<*const u32>(), *config.add(12) as usize);
        let ids: Vec<u32> = (0..count).map(|index| *attributes.add(18 * index)).collect();
        gpu.launch(&format!("cuLaunchKernelEx {ids:?}"), function, *config.cast(), stream, parameters)?
    }
    cuGetProcAddress_v2(name: *const c_char, function: *mut usize, _version: c_int, flags: u64, status: *mut c_int) {
        let name = CStr::from_ptr(name).to_string_lossy();
        let per_thread = if flags & 2 == 0 { None } else { find(&format!("{name}_ptsz")) };
        let found = per_thread.or_else(|| find(&format!("{name}_v2"))).or_else(|| find(&name));
        if !status.is_null() { *status = found.is_none().into() }
        *function = found.ok_or(NOT_FOUND)?
    }
}
