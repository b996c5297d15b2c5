//! Which kernels the program has, and which of their launches record.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use profiler_ptx::Recording;
use profiler_wire::descriptor::Lost;
use profiler_wire::spool::{Entry, FOLDER_VARIABLE, NO_MODULE};

use crate::context::Context;
use crate::drain;
use crate::driver::{self, Entered, Handle};
use crate::module::{self, Arrays, Module, Shape};
use crate::plan::{Call, InFlight};

/// A stream by no handle: the default one, and the two that have numbers.
const NUMBERED_STREAMS: usize = 2;

/// All that is known of the program.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) recording: Arc<Recording>,
    pub(crate) contexts: Vec<Context>,
    /// Contexts in which the driver refuses what this library needs.
    refused: Vec<usize>,
    pub(crate) modules: Vec<Module>,
    pub(crate) kernels: HashMap<usize, Kernel>,
    /// Graphs, which are launched likewise.
    pub(crate) graphs: HashMap<usize, Kernel>,
    /// The libraries of functions that the program got of kernels: the driver does not say it.
    libraries: HashMap<usize, Handle>,
    /// The hashes of annotated modules, and why others do not record, by the handles of modules and libraries.
    images: HashMap<usize, Image>,
    pub(crate) in_flight: Vec<InFlight>,
    /// What is to be written, in this order and before what is read later.
    pub(crate) entries: Vec<Entry>,
    /// Numbers of kernels in the file.
    kernel_numbers: u32,
}

/// What is known of a loaded image.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    /// Of an annotated module, 0 of others.
    pub(crate) hash: u64,
    /// Why its kernels do not record.
    pub(crate) reason: Option<String>,
    /// Other forms of it, which were loaded to compare them. To unload one waits for kernels, so that they go with it.
    pub(crate) others: Vec<usize>,
}

/// A function or kernel by its handle.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// The number in the file.
    pub(crate) number: u32,
    pub(crate) is_selected: bool,
    pub(crate) launches: u64,
    /// The launch to be recorded next, if there is one.
    pub(crate) next: Option<u64>,
    /// Whether the time of the next launch is to be taken, which does not record.
    pub(crate) times_next: bool,
    /// The handles of its modules and libraries.
    pub(crate) handles: Vec<Handle>,
    /// By the index of a context: the module's index, or `None` if it does not record.
    pub(crate) modules: Vec<(usize, Option<usize>)>,
}

// SAFETY: the driver's handles are those of the process, not of a thread.
unsafe impl Send for Session {}

static SESSION: OnceLock<Option<Mutex<Session>>> = OnceLock::new();
/// Set in a process that was forked off one that had a session, after a failure of this library, and at the end.
pub(crate) static IS_OFF: AtomicBool = AtomicBool::new(false);

/// The process's session, if it has one.
pub(crate) fn get() -> Option<&'static Mutex<Session>> {
    if IS_OFF.load(Ordering::Relaxed) {
        return None;
    }
    SESSION.get_or_init(|| Session::new().map(Mutex::new)).as_ref()
}

pub(crate) fn lock(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    // A panic switches the session off.
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs code of this library, which must not fail the program.
pub(crate) fn guarded<T>(code: impl FnOnce() -> T) -> Option<T> {
    let result = catch_unwind(AssertUnwindSafe(code));
    if result.is_err() {
        IS_OFF.store(true, Ordering::Relaxed);
    }
    result.ok()
}

extern "C" fn after_fork() {
    IS_OFF.store(true, Ordering::Relaxed);
}

impl Session {
    fn new() -> Option<Self> {
        let recording = Recording::open(std::env::var_os(FOLDER_VARIABLE)?.into())?;
        // SAFETY: the function only stores to an atomic.
        unsafe { libc::pthread_atfork(None, None, Some(after_fork)) };
        Some(Self {
            recording: Arc::new(recording),
            contexts: Vec::new(),
            refused: Vec::new(),
            modules: Vec::new(),
            kernels: HashMap::new(),
            graphs: HashMap::new(),
            libraries: HashMap::new(),
            images: HashMap::new(),
            in_flight: Vec::new(),
            entries: Vec::new(),
            kernel_numbers: 0,
        })
    }

    /// The context of a stream, and its index if something is known of it.
    pub(crate) fn context_of(&self, call: &Call) -> Option<(Handle, Option<usize>)> {
        let stream = call.stream;
        // SAFETY: the pointers are to live variables; the stream is the program's.
        let context = driver::handle(|context| unsafe {
            if stream as usize > NUMBERED_STREAMS {
                driver::stream_get_ctx(stream, context)
            } else {
                driver::ctx_get_current(context)
            }
        })?;
        Some((context, self.contexts.iter().position(|it| it.context == context)))
    }

    /// The index of the context of a stream.
    pub(crate) fn context(&mut self, call: &Call) -> Option<usize> {
        let (context, known) = self.context_of(call)?;
        if known.is_some() {
            return known;
        }
        let key = call.function as usize;
        if self.refused.contains(&(context as usize)) {
            if !self.kernels.contains_key(&key) {
                self.add_kernel(call);
                let kernel = self.kernels.get_mut(&key)?;
                kernel.next = None;
                let reason =
                    "the driver refused the profiler's own kernel: it is older than CUDA 12";
                let (kernel, reason) = (kernel.number, reason.to_owned());
                self.entries.push(Entry::Attached { kernel, module: NO_MODULE, reason });
                drain::wake();
            }
            return None;
        }
        let _entered = Entered::new(context)?;
        let number = u32::try_from(self.contexts.len()).ok()?;
        if number == 0 && self.refused.is_empty() {
            drain::start(&self.recording.folder)?;
        }
        match Context::new(context, number, self.recording.settings.memory) {
            None => {
                self.refused.push(context as usize);
                self.context(call)
            }
            Some((context, entry)) => {
                self.entries.push(entry);
                self.contexts.push(context);
                Some(self.contexts.len() - 1)
            }
        }
    }

    pub(crate) fn add_kernel(&mut self, call: &Call) {
        let function = call.function;
        // SAFETY: the handle is a function's or a kernel's, of which the driver tells the one from the other.
        let name = unsafe {
            driver::text(|name| driver::func_get_name(name, function))
                .or_else(|| driver::text(|name| driver::kernel_get_name(name, function)))
        };
        let name = name.unwrap_or_else(|| "(kernel without a name)".to_owned());
        let is_selected = self.recording.takes(&name);
        let handles = self.handles(function).to_vec();
        let kernel = Kernel { handles, ..self.new_kernel(name, is_selected) };
        self.kernels.insert(function as usize, kernel);
    }

    /// A kernel or graph at its first launch.
    pub(crate) fn new_kernel(&mut self, name: String, is_selected: bool) -> Kernel {
        let number = self.kernel_numbers;
        self.kernel_numbers += 1;
        self.entries.push(Entry::Kernel { name });
        Kernel {
            number,
            is_selected,
            launches: 1,
            next: self.recording.settings.launches.after(0).filter(|_| is_selected),
            times_next: false,
            handles: Vec::new(),
            modules: Vec::new(),
        }
    }

    /// The module of a function in the current context, and its library; null if that is not known.
    fn handles(&self, function: Handle) -> [Handle; 2] {
        let [module, library] = module::handles(function);
        let known = self.libraries.get(&(function as usize));
        [module, known.copied().unwrap_or(library)]
    }

    /// The index of the module of a kernel in a context, which is current. `Some(None)` if it does not record.
    pub(crate) fn module(&mut self, context: usize, call: &Call) -> Option<Option<usize>> {
        let kernel = self.kernels.get(&(call.function as usize))?;
        if !kernel.is_selected {
            return Some(None);
        }
        if let Some((_, module)) = kernel.modules.iter().find(|(index, _)| *index == context) {
            return Some(*module);
        }
        let number = kernel.number;
        let handles = self.handles(call.function);
        let (index, reason) = match self.attach(context, handles, call) {
            Ok(index) => (Some(index), String::new()),
            Err(reason) => (None, reason),
        };
        let module = index.map_or(NO_MODULE, |index| self.modules[index].arrays.number);
        self.entries.push(Entry::Attached { kernel: number, module, reason });
        let kernel = self.kernels.get_mut(&(call.function as usize))?;
        kernel.handles.extend(handles);
        kernel.modules.push((context, index));
        Some(index)
    }

    fn attach(
        &mut self,
        context: usize,
        handles: [Handle; 2],
        call: &Call,
    ) -> Result<usize, String> {
        let image = handles.iter().find_map(|handle| self.images.get(&(*handle as usize)));
        let image = image.cloned().unwrap_or_default();
        let Some(found) = module::find(handles[0], &self.contexts[context])? else {
            let reason = image.reason;
            return Err(reason.unwrap_or_else(|| "it was loaded as machine code".to_owned()));
        };
        let known = |it: &Module| it.context == context && it.handles[0] == handles[0];
        match self.modules.iter().position(known) {
            Some(index) if self.modules[index].arrays.descriptor.headers == found.headers => {
                return Ok(index);
            }
            _ if found.is_on => return Err("the program records it itself".to_owned()),
            _ if found.headers != 0 => return Err("something else fills its descriptor".to_owned()),
            // Another one had the handle, and went unseen.
            Some(index) => self.modules[index].leave(),
            None => {}
        }
        // Text that was seen is kept by its own hash, whatever its descriptor says.
        let hash = if image.hash == 0 { found.hash } else { image.hash };
        if !self.recording.is_kept(hash) {
            return Err("its module has records, but was not loaded from PTX".to_owned());
        }
        let settings = &self.recording.settings;
        let shape = Shape::new(call.grid, call.block, settings.warp_mask);
        let number = u32::try_from(self.modules.len()).unwrap_or(NO_MODULE);
        let context_of_it = &mut self.contexts[context];
        let arrays = Arrays::new(context_of_it, settings, &found, number, shape)?;
        self.entries.push(Entry::Module { device: context_of_it.number, hash });
        self.modules.push(Module {
            context,
            handles,
            address: found.address,
            arrays,
            promised: 0,
            in_flight: 0,
            copied: 0,
            lost: Lost::default(),
            is_draining: false,
            stream: None,
            is_in_several_streams: false,
            is_claimed: false,
            spoiled: u32::MAX,
            is_captured: false,
            graph_stride: 1,
            is_full: false,
        });
        Ok(self.modules.len() - 1)
    }

    /// Keeps what is known of an image that was loaded.
    pub(crate) fn loaded(&mut self, handle: Handle, image: Image) {
        self.images.insert(handle as usize, image);
    }

    /// Keeps of which library a function is that the program got of a kernel.
    pub(crate) fn got_function(&mut self, function: Handle, kernel: Handle) {
        // SAFETY: the driver has just taken the handle for a kernel's.
        let library =
            driver::handle(|library| unsafe { driver::kernel_get_library(library, kernel) });
        if let Some(library) = library {
            self.libraries.insert(function as usize, library);
        }
    }

    /// Forgets a module or library, whose handles the driver may give to others. Gives those that go with it.
    pub(crate) fn unload(&mut self, handle: Handle) -> Vec<Handle> {
        let image = self.images.remove(&(handle as usize)).unwrap_or_default();
        self.libraries.retain(|_, library| *library != handle);
        let of_it = |it: &&mut Module| it.handles.contains(&handle);
        self.modules.iter_mut().filter(of_it).for_each(Module::leave);
        self.reuse_memory();
        self.forget_kernels(|kernel| !kernel.handles.contains(&handle));
        image.others.into_iter().map(|other| other as Handle).collect()
    }

    /// Takes back the memory of modules that are unloaded and copied.
    pub(crate) fn reuse_memory(&mut self) {
        for module in &mut self.modules {
            let is_unloaded = module.handles == [ptr::null_mut(); 2];
            // In several streams a launch that nobody knows of may still write to it.
            if is_unloaded && module.is_idle() && !module.is_full && !module.is_in_several_streams {
                module.arrays.leave(&mut self.contexts[module.context]);
                module.is_full = true;
            }
        }
    }

    /// Forgets a context that goes away, whose handles the driver may give to others.
    pub(crate) fn forget_context(&mut self, context: Handle) {
        self.refused.retain(|refused| *refused != context as usize);
        let Some(index) = self.contexts.iter().position(|it| it.context == context) else { return };
        // No context has it: nothing is copied from there any more.
        self.contexts[index].context = ptr::null_mut();
        self.in_flight.retain(|flight| flight.context != index);
        for module in self.modules.iter_mut().filter(|module| module.context == index) {
            module.leave();
            module.is_full = true;
        }
        self.forget_kernels(|kernel| kernel.modules.iter().all(|(context, _)| *context != index));
    }

    /// Writes how often kernels were launched, and forgets those that are not to be kept.
    fn forget_kernels(&mut self, keep: impl Fn(&Kernel) -> bool) {
        let entries = &mut self.entries;
        self.kernels.retain(|_, kernel| {
            let keeps = keep(kernel);
            if !keeps {
                let Kernel { number: kernel, launches, .. } = *kernel;
                entries.push(Entry::Count { kernel, launches });
            }
            keeps
        });
    }

    /// Writes how often kernels were launched.
    pub(crate) fn count_all(&mut self) {
        self.kernels.extend(std::mem::take(&mut self.graphs));
        self.forget_kernels(|_| false);
    }
}
