//! Which kernels the program has, and which of their launches record.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use profiler_wire::spool::{Entry, Launch, NO_MODULE, SETTINGS_FILE, Settings};
use regex_lite::Regex;

use crate::context::{Context, Switch};
use crate::driver::{self, Code, Entered, Handle, SUCCESS};
use crate::module::{self, Arrays, Found, Module, Shape};
use crate::{drain, image};

/// Names the folder of the recording.
const FOLDER_VARIABLE: &str = "PROFILER_RECORD";
/// A stream by no handle: the default one, and the two that have numbers.
const NUMBERED_STREAMS: usize = 2;

/// All that is known of the program.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) settings: Settings,
    pub(crate) filter: Regex,
    pub(crate) folder: PathBuf,
    pub(crate) contexts: Vec<Context>,
    /// Contexts in which the driver refuses what this library needs.
    refused: Vec<usize>,
    pub(crate) modules: Vec<Module>,
    kernels: HashMap<usize, Kernel>,
    /// The hashes of annotated modules, and why others do not record, by the handles of modules and libraries.
    images: HashMap<usize, Image>,
    pub(crate) in_flight: Vec<InFlight>,
    /// What is to be written, in this order and before what is read later.
    pub(crate) entries: Vec<Entry>,
    /// Numbers of the file.
    kernel_numbers: u32,
    module_numbers: u32,
}

/// What is known of a loaded image.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    /// Of an annotated module, 0 of others.
    pub(crate) hash: u64,
    /// Why its kernels do not record.
    pub(crate) reason: Option<String>,
}

/// A function or kernel by its handle.
#[derive(Debug)]
struct Kernel {
    /// The number in the file.
    number: u32,
    is_selected: bool,
    launches: u64,
    /// The launch to be recorded next, if there is one.
    next: Option<u64>,
    /// Whether the time of the next launch is to be taken, which does not record.
    times_next: bool,
    /// The handles of its modules and libraries.
    handles: Vec<Handle>,
    /// By the index of a context: the module's index, or `None` if it does not record.
    modules: Vec<(usize, Option<usize>)>,
}

/// A launch whose times are not there yet.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) context: usize,
    pub(crate) stamps: u32,
    pub(crate) modules: Vec<usize>,
    /// The address of the first module's descriptor, and its first slot.
    address: u64,
    slot_base: u32,
    /// With times of zero.
    pub(crate) launch: Launch,
}

/// What a program asks of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) function: Handle,
    pub(crate) stream: Handle,
    /// Whether stream 0 is the thread's own.
    pub(crate) is_per_thread: bool,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
}

/// A launch of which the time is taken.
struct Plan {
    context: usize,
    kernel: u32,
    number: u64,
    /// Those that record.
    modules: Vec<usize>,
}

// SAFETY: the driver's handles are those of the process, not of a thread.
unsafe impl Send for Session {}

static SESSION: OnceLock<Option<Mutex<Session>>> = OnceLock::new();
/// Set in a process that was forked off one that had a session, and after a failure of this library.
static IS_OFF: AtomicBool = AtomicBool::new(false);

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

/// Makes a launch, and records it if it is its turn. `launch` is told whether it is between two kernels that must not
/// overlap with it.
pub(crate) fn launch(call: Call, mut launch: impl FnMut(bool) -> Code) -> Code {
    let Some(session) = get() else { return launch(false) };
    let mut session = lock(session);
    let planned = guarded(|| session.plan(&call)).flatten();
    match planned {
        None => {
            drop(session);
            launch(false)
        }
        // No other thread may launch in between.
        Some(plan) => session.around(plan, &call, || launch(true)),
    }
}

/// Launches a graph, and records the kernels in it if it is its turn.
pub(crate) fn launch_graph(call: Call, launch: impl Fn() -> Code) -> Code {
    let Some(session) = get() else { return launch() };
    let mut session = lock(session);
    let planned = guarded(|| session.plan_graph(&call)).flatten();
    match planned {
        None => {
            drop(session);
            launch()
        }
        Some(plan) => session.around(plan, &call, launch),
    }
}

/// Graphs that are being made of what is launched in streams.
pub(crate) static CAPTURES: AtomicUsize = AtomicUsize::new(0);

impl Session {
    fn new() -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os(FOLDER_VARIABLE)?);
        let text = std::fs::read_to_string(folder.join(SETTINGS_FILE)).ok()?;
        let settings = Settings::from_text(&text)?;
        let filter = Regex::new(&settings.kernel).ok()?;
        // SAFETY: the function only stores to an atomic.
        unsafe { libc::pthread_atfork(None, None, Some(after_fork)) };
        Some(Self {
            settings,
            filter,
            folder,
            contexts: Vec::new(),
            refused: Vec::new(),
            modules: Vec::new(),
            kernels: HashMap::new(),
            images: HashMap::new(),
            in_flight: Vec::new(),
            entries: Vec::new(),
            kernel_numbers: 0,
            module_numbers: 0,
        })
    }

    /// Counts a launch, and decides whether its time is taken.
    fn plan(&mut self, call: &Call) -> Option<Plan> {
        let key = call.function as usize;
        let is_captured = CAPTURES.load(Ordering::Relaxed) > 0 && is_capturing(call);
        if let Some(kernel) = self.kernels.get_mut(&key) {
            kernel.launches += 1;
            for (_, module) in &kernel.modules {
                let module = module.and_then(|index| self.modules.get_mut(index));
                let Some(module) = module.filter(|module| module.stream != call.stream) else {
                    continue;
                };
                module.is_in_several_streams = true;
                if module.is_claimed {
                    continue;
                }
                // This launch may see that records are on, and write to the slots of one that has not ended.
                for flight in &self.in_flight {
                    let context = &self.contexts[flight.context];
                    if flight.address == module.address && !context.has_ended(flight.stamps) {
                        module.spoiled = module.spoiled.min(flight.slot_base);
                    }
                }
            }
            if !(kernel.is_due() || kernel.times_next || is_captured) {
                return None;
            }
        }
        if is_captured || is_capturing(call) {
            self.captured(call);
            return None;
        }
        let context = self.context(call)?;
        let _entered = Entered::new(self.contexts[context].context)?;
        if !self.kernels.contains_key(&key) {
            self.add_kernel(call);
        }
        let module = self.module(context, call)?;
        let kernel = self.kernels.get(&key)?;
        let (number, is_due) = (kernel.launches, kernel.is_due());
        let mut plan = Plan { context, kernel: kernel.number, number, modules: Vec::new() };
        if let (Some(index), true) = (module, is_due) {
            if !self.is_ready(index, call) {
                let is_full = self.modules[index].is_full;
                let kernel = self.kernels.get_mut(&key)?;
                // The next launch may find memory that is free again.
                kernel.next = kernel.next.filter(|_| !is_full);
                return None;
            }
            plan.modules.push(index);
        }
        let launches = self.settings.launches;
        let kernel = self.kernels.get_mut(&key)?;
        kernel.times_next = is_due && module.is_some();
        if is_due {
            kernel.next = launches.after(number);
        }
        Some(plan)
    }

    /// Keeps that a graph will launch a kernel.
    fn captured(&mut self, call: &Call) -> Option<()> {
        let context = self.context(call)?;
        let _entered = Entered::new(self.contexts[context].context)?;
        let key = call.function as usize;
        if !self.kernels.contains_key(&key) {
            self.add_kernel(call);
        }
        self.kernels.get_mut(&key)?.launches -= 1;
        let module = self.module(context, call)??;
        self.modules[module].is_captured = true;
        Some(())
    }

    /// Counts a launch of a graph, and decides whether its kernels record.
    fn plan_graph(&mut self, call: &Call) -> Option<Plan> {
        let key = call.function as usize;
        if let Some(graph) = self.kernels.get_mut(&key) {
            graph.launches += 1;
            if !(graph.is_due() || graph.times_next) {
                return None;
            }
        } else if !self.modules.iter().any(|module| module.is_captured) {
            return None;
        }
        let context = self.context(call)?;
        let _entered = Entered::new(self.contexts[context].context)?;
        if !self.kernels.contains_key(&key) {
            self.add(call, "(CUDA graph)".to_owned(), true);
        }
        let graph = self.kernels.get(&key)?;
        let (number, is_due) = (graph.launches, graph.is_due());
        let mut plan = Plan { context, kernel: graph.number, number, modules: Vec::new() };
        if is_due {
            // How many warps it has is not known: it gets what there is.
            let is_ready = |it: &&usize| {
                let module = &self.modules[**it];
                module.context == context
                    && module.is_captured
                    && module.is_idle()
                    && module.copied < module.arrays.descriptor.slot_count
                    && (module.is_claimed || module.copied == 0)
            };
            plan.modules = (0..self.modules.len()).filter(|it| is_ready(&it)).collect();
            if plan.modules.is_empty() {
                return None;
            }
            for index in &plan.modules {
                self.modules[*index].is_claimed = true;
            }
        }
        let launches = self.settings.launches;
        let graph = self.kernels.get_mut(&key)?;
        graph.times_next = is_due;
        if is_due {
            graph.next = launches.after(number);
        }
        Some(plan)
    }

    /// Whether a launch may record now: whether there are slots for it, and no launch in another stream records, whose
    /// end would end this one's records too. Makes room if that takes no waiting.
    fn is_ready(&mut self, index: usize, call: &Call) -> bool {
        let shape = Shape::new(call.grid, call.block, self.settings.warp_mask);
        let module = &mut self.modules[index];
        let is_alone =
            module.in_flight == 0 || module.stream == call.stream && !module.is_in_several_streams;
        let is_claimed = module.is_in_several_streams;
        let changes_mode = module.is_claimed != is_claimed;
        if module.is_draining || module.is_full || !is_alone || changes_mode && !module.is_idle() {
            return false;
        }
        module.is_claimed = is_claimed;
        let slots = u64::from(module.arrays.descriptor.slot_count);
        let has_slots =
            module.promised == 0 || module.promised + module.arrays.slots_of(shape) <= slots;
        let fits = module.arrays.fits(&self.settings, shape);
        if has_slots && (fits || module.is_in_several_streams) {
            return true;
        }
        if !module.is_idle() {
            return false;
        }
        let context = &mut self.contexts[module.context];
        let (arrays, address) = (module.arrays, module.address);
        let made = if module.is_in_several_streams {
            arrays.renewed(context, &self.settings, address)
        } else {
            arrays.fitted(context, &self.settings, address, shape)
        };
        match made {
            Ok(arrays) => {
                module.arrays = arrays;
                (module.promised, module.copied) = (0, 0);
            }
            Err(_) => module.is_full = true,
        }
        made.is_ok()
    }

    /// Makes a launch between two kernels that read the time.
    fn around(&mut self, plan: Plan, call: &Call, launch: impl FnOnce() -> Code) -> Code {
        let prepared = guarded(|| {
            let entered = Entered::new(self.contexts[plan.context].context)?;
            let stamps = self.contexts[plan.context].take_stamps()?;
            Some((entered, stamps))
        });
        let Some((entered, stamps)) = prepared.flatten() else { return launch() };
        let shape = Shape::new(call.grid, call.block, self.settings.warp_mask);
        self.switch(&plan, call, stamps, false);
        let module = plan.modules.first().map(|index| &self.modules[*index]);
        let (address, slot_base) =
            module.map_or((0, 0), |module| (module.address, module.promised as u32));
        drop(entered);
        let code = launch();
        let entered = Entered::new(self.contexts[plan.context].context);
        self.switch(&plan, call, stamps, true);
        drop(entered);
        for index in &plan.modules {
            let module = &mut self.modules[*index];
            module.in_flight += 1;
            // Of a graph it is not known.
            let slots = u64::from(module.arrays.descriptor.slot_count);
            let taken = if call.grid[0] == 0 { slots } else { module.arrays.slots_of(shape) };
            module.promised = (module.promised + taken).min(slots);
        }
        let launch = Launch {
            kernel: plan.kernel,
            number: if code == SUCCESS { plan.number } else { 0 },
            grid: call.grid,
            block: call.block,
            stream: call.stream as u64,
            ns: [0; 2],
            is_recorded: !plan.modules.is_empty(),
        };
        self.in_flight.push(InFlight {
            context: plan.context,
            stamps,
            modules: plan.modules,
            address,
            slot_base,
            launch,
        });
        drain::wake();
        code
    }

    /// Launches what reads the time and switches records of a plan's modules on or off.
    fn switch(&self, plan: &Plan, call: &Call, stamps: u32, is_end: bool) {
        let context = &self.contexts[plan.context];
        let modules = plan.modules.iter().map(|index| {
            let module = &self.modules[*index];
            let value = if is_end { [0; 2] } else { module.arrays.switched_on(module.is_claimed) };
            Switch { descriptor: module.address, value, slot_base: module.promised as u32 }
        });
        let time_alone = plan.modules.is_empty().then(Switch::default);
        for switch in modules.chain(time_alone) {
            context.switch(call.stream, call.is_per_thread, switch, stamps, is_end);
        }
    }

    /// The index of the context of a stream.
    fn context(&mut self, call: &Call) -> Option<usize> {
        let stream = call.stream;
        // SAFETY: the pointers are to live variables; the stream is the program's.
        let context = driver::handle(|context| unsafe {
            if stream as usize > NUMBERED_STREAMS {
                driver::stream_get_ctx(stream, context)
            } else {
                driver::ctx_get_current(context)
            }
        })?;
        if let Some(index) = self.contexts.iter().position(|it| it.context == context) {
            return Some(index);
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
            drain::start(&self.folder)?;
        }
        match Context::new(context, number, self.settings.memory) {
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

    fn add_kernel(&mut self, call: &Call) {
        let function = call.function;
        // SAFETY: the handle is a function's or a kernel's, of which the driver tells the one from the other.
        let name = unsafe {
            driver::text(|name| driver::func_get_name(name, function))
                .or_else(|| driver::text(|name| driver::kernel_get_name(name, function)))
        };
        let name = name.unwrap_or_else(|| "(kernel without a name)".to_owned());
        let is_selected = self.filter.is_match(&name);
        self.add(call, name, is_selected);
    }

    fn add(&mut self, call: &Call, name: String, is_selected: bool) {
        let kernel = Kernel {
            number: self.kernel_numbers,
            is_selected,
            launches: 1,
            next: if is_selected { self.settings.launches.after(0) } else { None },
            times_next: false,
            handles: Vec::new(),
            modules: Vec::new(),
        };
        self.kernel_numbers += 1;
        self.entries.push(Entry::Kernel { name });
        self.kernels.insert(call.function as usize, kernel);
    }

    /// The index of the module of a kernel in a context, which is current. `Some(None)` if it does not record.
    fn module(&mut self, context: usize, call: &Call) -> Option<Option<usize>> {
        let kernel = self.kernels.get(&(call.function as usize))?;
        if !kernel.is_selected {
            return Some(None);
        }
        if let Some((_, module)) = kernel.modules.iter().find(|(index, _)| *index == context) {
            return Some(*module);
        }
        let number = kernel.number;
        let (found, reason) = module::find(call.function, &self.contexts[context]);
        let handles = found.handles;
        let attached = match reason {
            Some(reason) => Err(reason.to_owned()),
            None => self.attach(context, &found, call),
        };
        let (index, reason) = match attached {
            Ok(index) => (Some(index), String::new()),
            Err(reason) => (None, reason),
        };
        let module = index.map_or(NO_MODULE, |index| self.modules[index].arrays.number);
        self.entries.push(Entry::Attached { kernel: number, module, reason });
        let kernel = self.kernels.get_mut(&(call.function as usize))?;
        kernel.handles.extend(handles.iter().filter(|handle| !handle.is_null()));
        kernel.modules.push((context, index));
        Some(index)
    }

    fn attach(&mut self, context: usize, found: &Found, call: &Call) -> Result<usize, String> {
        let mut handles = found.handles.iter().chain([&call.function]);
        let image = handles.find_map(|handle| self.images.get(&(*handle as usize)));
        let image = image.cloned().unwrap_or_default();
        if found.address == 0 {
            let reason = image.reason;
            return Err(reason.unwrap_or_else(|| "it was loaded as machine code".to_owned()));
        }
        let known = |it: &Module| it.context == context && it.handles[0] == found.handles[0];
        if let Some(index) = self.modules.iter().position(known) {
            return Ok(index);
        }
        // Text that was seen is kept by its own hash, whatever its descriptor says.
        let hash = if image.hash == 0 { found.hash } else { image.hash };
        if !image::is_kept(&self.folder, hash) {
            return Err("its module has records, but was not loaded from PTX".to_owned());
        }
        let number = self.module_numbers;
        let shape = Shape::new(call.grid, call.block, self.settings.warp_mask);
        let device = self.contexts[context].number;
        let arrays =
            Arrays::new(&mut self.contexts[context], &self.settings, found, number, shape)?;
        self.module_numbers += 1;
        self.entries.push(Entry::Module { device, hash });
        self.modules.push(Module {
            context,
            handles: found.handles,
            address: found.address,
            arrays,
            promised: 0,
            in_flight: 0,
            copied: 0,
            is_draining: false,
            stream: call.stream,
            is_in_several_streams: false,
            is_claimed: false,
            spoiled: u32::MAX,
            is_captured: false,
            is_full: false,
        });
        Ok(self.modules.len() - 1)
    }

    /// Keeps what is known of an image that was loaded.
    pub(crate) fn loaded(&mut self, handle: Handle, image: Image) {
        self.images.insert(handle as usize, image);
    }

    /// Keeps why the kernels of a library do not record for a function that the program got of it: the driver does
    /// not say of which library a function is.
    pub(crate) fn got_function(&mut self, function: Handle, kernel: Handle) {
        // SAFETY: the driver has just taken the handle for a kernel's.
        let library =
            driver::handle(|library| unsafe { driver::kernel_get_library(library, kernel) });
        let image = library.and_then(|library| self.images.get(&(library as usize)));
        if let Some(Image { reason: reason @ Some(_), .. }) = image {
            let image = Image { hash: 0, reason: reason.clone() };
            self.images.insert(function as usize, image);
        }
    }

    /// Forgets a module or library, whose handles the driver may give to others.
    pub(crate) fn unload(&mut self, handle: Handle) {
        self.images.remove(&(handle as usize));
        for module in self.modules.iter_mut().filter(|it| it.handles.contains(&handle)) {
            // Its memory is still copied when its launches have ended.
            module.handles = [ptr::null_mut(); 2];
            module.is_captured = false;
        }
        self.reuse_memory();
        self.forget_kernels(|kernel| !kernel.handles.contains(&handle));
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

    /// Forgets contexts that go away.
    pub(crate) fn forget_contexts(&mut self, goes: impl Fn(&Context) -> bool) {
        for (index, context) in self.contexts.iter_mut().enumerate() {
            if goes(context) {
                // No context has it: nothing is copied from there any more.
                context.context = ptr::null_mut();
                self.in_flight.retain(|flight| flight.context != index);
                for kernel in self.kernels.values_mut() {
                    kernel.modules.retain(|(context, _)| *context != index);
                }
            }
        }
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
        self.forget_kernels(|_| false);
    }
}

impl Kernel {
    fn is_due(&self) -> bool {
        self.next.is_some_and(|next| self.launches >= next)
    }
}

impl Module {
    /// Whether no launch records, and all that was recorded is copied.
    fn is_idle(&self) -> bool {
        self.in_flight == 0 && !self.is_draining && self.promised == u64::from(self.copied)
    }
}

/// Whether the launch becomes a part of a graph and does not run now.
fn is_capturing(call: &Call) -> bool {
    let mut status = 0;
    // SAFETY: the pointer is to a live variable; the stream is the program's.
    let code = unsafe {
        if call.is_per_thread {
            driver::stream_is_capturing_ptsz(call.stream, &raw mut status)
        } else {
            driver::stream_is_capturing(call.stream, &raw mut status)
        }
    };
    code != SUCCESS || status != 0
}
