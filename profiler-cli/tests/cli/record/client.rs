//! A program that launches kernels, for tests of `profiler record`. Its arguments are what it does, in this order:
//!
//! | argument | what it does |
//! |---|---|
//! | `module=FILE`, `library=FILE` | loads a file, by `cuModuleLoadData` or `cuLibraryLoadData` |
//! | `kernel=NAME` | takes a kernel of what was loaded last |
//! | `unload` | unloads what was loaded last |
//! | `stream` | makes a stream, for the launches to come |
//! | `capture`, `captured` | begins and ends the capture of the stream |
//! | `graph=N` | launches so often what was captured last |
//! | `function` | takes the function of the kernel of a library |
//! | `grid=N`, `block=N`, `regions=N` | shape the launches to come |
//! | `by=WAY` | launches by `dlsym`, `table`, `per-thread` or `ex` |
//! | `drain` | lets every launch to come be followed by a release of the context, which others retain |
//! | `launch=N` | launches so often |
//! | `until=N:TEXT` | launches until the driver's log has so many lines with the text |
//! | `threads=N` | launches four times in each of so many threads, each with a stream of its own |
//! | `fork`, `parent` | lets a child do what is between the two; the parent waits for it |
//! | `exit=N`, `kill` | ends |

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::process::exit;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(process: c_int, signal: c_int) -> c_int;
}

/// Calls a function of the driver by its address. All arguments are whole numbers or pointers.
macro_rules! call {
    ($function:expr $(, $argument:expr)*) => {{
        type Function = unsafe extern "C" fn($(call!(@ $argument)),*) -> c_int;
        // SAFETY: the driver has such a function, whose arguments C passes like these; pointers are to live variables.
        let code = unsafe { std::mem::transmute::<usize, Function>($function)($($argument as usize),*) };
        assert_eq!(code, 0, stringify!($function));
    }};
    (@ $argument:expr) => { usize };
}

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`, and any other attribute.
const OVERLAP: u64 = 6;
const OTHER: u64 = 8;
/// The handle of the only graph that there is.
const GRAPH: usize = 16;

/// `CUlaunchConfig` of cuda.h. An attribute is a number and a value of 64 bytes.
#[repr(C)]
struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: usize,
    attributes: *const [u64; 9],
    count: u32,
}

/// What launches are made of.
#[derive(Clone, Debug, Default)]
struct Client {
    driver: usize,
    by: String,
    loaded: usize,
    is_library: bool,
    kernel: usize,
    stream: usize,
    grid: u32,
    block: u32,
    regions: u32,
    drains: bool,
}

impl Client {
    /// A function by its name in the library.
    fn named(&self, name: &CStr) -> usize {
        // SAFETY: the library is loaded, and the name ends with a zero.
        let found = unsafe { dlsym(self.driver as *mut c_void, name.as_ptr()) };
        assert!(!found.is_null(), "{name:?}");
        found as usize
    }

    /// A function by the name that the driver's table has.
    fn listed(&self, name: &CStr, flags: usize) -> usize {
        let (mut function, mut get, mut status) = (0_usize, 0_usize, 0);
        let first = self.named(c"cuGetProcAddress_v2");
        // As the runtime library does it, which asks for the function that it asks by.
        let own = c"cuGetProcAddress";
        call!(first, own.as_ptr(), &raw mut get, 13_000, 0, &raw mut status);
        call!(get, name.as_ptr(), &raw mut function, 13_000, flags, &raw mut status);
        assert!(function != 0 && status == 0, "{name:?}");
        function
    }

    fn load(&mut self, path: &str, is_library: bool) {
        let mut image = std::fs::read(path).expect("the file is there");
        image.push(0);
        self.is_library = is_library;
        let loaded = &raw mut self.loaded;
        if is_library {
            let function = self.listed(c"cuLibraryLoadData", 0);
            call!(function, loaded, image.as_ptr(), 0, 0, 0, 0, 0, 0);
        } else {
            let function = self.listed(c"cuModuleLoadData", 0);
            call!(function, loaded, image.as_ptr());
        }
    }

    fn take(&mut self, name: &str) {
        let name = CString::new(name).expect("it has no zero");
        let by = if self.is_library { c"cuLibraryGetKernel" } else { c"cuModuleGetFunction" };
        let function = self.named(by);
        call!(function, &raw mut self.kernel, self.loaded, name.as_ptr());
    }

    fn unload(&self) {
        let by = if self.is_library { c"cuLibraryUnload" } else { c"cuModuleUnload" };
        call!(self.named(by), self.loaded);
    }

    fn launch(&self) {
        let (out, regions) = (0_u64, self.regions);
        let parameters = [(&raw const out).cast::<c_void>(), (&raw const regions).cast()];
        let (kernel, stream, parameters) = (self.kernel, self.stream, parameters.as_ptr());
        let (grid, block) = (self.grid, self.block);
        if self.by == "ex" {
            let attributes = [[OVERLAP, 0, 0, 0, 0, 0, 0, 0, 0], [OTHER, 0, 0, 0, 0, 0, 0, 0, 0]];
            let (grid, block) = ([grid, 1, 1], [block, 1, 1]);
            let attributes = attributes.as_ptr();
            let config = Config { grid, block, shared: 0, stream, attributes, count: 2 };
            call!(self.named(c"cuLaunchKernelEx"), &raw const config, kernel, parameters, 0);
        } else {
            let launch = match self.by.as_str() {
                "dlsym" => self.named(c"cuLaunchKernel"),
                "table" => self.listed(c"cuLaunchKernel", 0),
                _ => self.listed(c"cuLaunchKernel", 2),
            };
            call!(launch, kernel, grid, 1, 1, block, 1, 1, 0, stream, parameters, 0);
        }
        self.release();
    }

    /// Lets the records be copied, if that is to follow each launch.
    fn release(&self) {
        if self.drains {
            self.retain();
            call!(self.named(c"cuDevicePrimaryCtxRelease_v2"), 0);
        }
    }

    fn retain(&self) -> usize {
        let mut context = 0_usize;
        call!(self.named(c"cuDevicePrimaryCtxRetain"), &raw mut context, 0);
        context
    }

    fn enter(&self) {
        call!(self.named(c"cuCtxPushCurrent_v2"), self.retain());
    }

    fn stream(&mut self) {
        call!(self.named(c"cuStreamCreate"), &raw mut self.stream, 0);
    }

    /// Launches until the driver has done something.
    fn launch_until(&self, count: usize, text: &str) {
        let log = std::env::var_os("FAKE_LOG").expect("there is a log");
        let start = Instant::now();
        let lines = || {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            log.lines().filter(|line| line.contains(text)).count()
        };
        while lines() < count {
            assert!(start.elapsed() < Duration::from_secs(120), "no {count} lines with {text}");
            self.launch();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn launch_in_threads(&self, threads: u32) {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut own = self.clone();
                    own.enter();
                    own.stream();
                    (0..4).for_each(|_| own.launch());
                });
            }
        });
    }
}

fn main() {
    // By either name, as programs ask for it.
    let name = std::env::var("CLIENT_OPENS").unwrap_or_else(|_| "libcuda.so.1".to_owned());
    let name = CString::new(name).expect("a name");
    // SAFETY: loading the driver runs its initialisers.
    let driver = unsafe { dlopen(name.as_ptr(), 2) } as usize;
    if driver == 0 {
        println!("there is no driver");
        exit(3);
    }
    let by = "dlsym".to_owned();
    let mut client = Client { driver, by, grid: 4, block: 64, regions: 3, ..Client::default() };
    let (mut child, mut is_entered) = (None, false);
    for argument in std::env::args().skip(1) {
        let (what, value) = argument.split_once('=').unwrap_or((&argument, ""));
        let number = value.split(':').next().unwrap_or("").parse().unwrap_or(0);
        if child.is_some_and(|child| child > 0) && what != "parent" {
            continue;
        }
        if !is_entered && what != "fork" {
            call!(client.named(c"cuInit"), 0);
            client.enter();
            is_entered = true;
        }
        match what {
            "module" | "library" => client.load(value, what == "library"),
            "kernel" => client.take(value),
            "unload" => client.unload(),
            "stream" => client.stream(),
            "capture" => call!(client.named(c"cuStreamBeginCapture_v2"), client.stream, 0),
            "captured" => call!(client.named(c"cuStreamEndCapture"), client.stream, 0),
            "graph" => (0..number).for_each(|_| {
                call!(client.named(c"cuGraphLaunch"), GRAPH, client.stream);
                client.release();
            }),
            "function" => {
                let kernel = client.kernel;
                call!(client.named(c"cuKernelGetFunction"), &raw mut client.kernel, kernel);
            }
            "grid" => client.grid = number,
            "block" => client.block = number,
            "regions" => client.regions = number,
            "by" => client.by = value.to_owned(),
            "drain" => client.drains = true,
            "launch" => (0..number).for_each(|_| client.launch()),
            "until" => {
                client.launch_until(number as usize, value.split_once(':').expect("a text").1)
            }
            "threads" => client.launch_in_threads(number),
            // SAFETY: nothing is locked, and no other thread of the client runs.
            "fork" => child = Some(unsafe { fork() }),
            "parent" if child == Some(0) => exit(0),
            "parent" => {
                let mut status = -1;
                // SAFETY: the pointer is to a live variable.
                unsafe { waitpid(child.take().unwrap_or(0), &raw mut status, 0) };
                assert_eq!(status, 0, "the child ends well");
            }
            "exit" => {
                println!("it ends");
                exit(number as i32);
            }
            // SAFETY: a signal to itself.
            "kill" => unsafe { assert_eq!(kill(std::process::id() as c_int, 9), 0) },
            _ => panic!("what is {what}?"),
        }
    }
    println!("it ends");
}
