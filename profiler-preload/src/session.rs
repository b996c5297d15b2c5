//! Which kernels the program has, and which of their launches record.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use profiler_wire::WIRE_VERSION;
use profiler_wire::spool::{Entry, Launch, NO_MODULE, SETTINGS_FILE, Settings};
use regex_lite::Regex;

use crate::context::Context;
use crate::driver::{self, Code, Entered, Handle, SUCCESS};
use crate::module::{self, Arrays, Found, Module};
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
    pub(crate) module: Option<usize>,
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
    module: Option<usize>,
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
        Some(plan) => session.around(&plan, &call, || launch(true)),
    }
}

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
        if let Some(kernel) = self.kernels.get_mut(&key) {
            kernel.launches += 1;
            for (_, module) in &kernel.modules {
                if let Some(module) = module.and_then(|index| self.modules.get_mut(index)) {
                    module.is_in_several_streams |= module.stream != call.stream;
                }
            }
            let is_due = kernel.next.is_some_and(|next| kernel.launches >= next);
            if !(is_due || kernel.times_next) {
                return None;
            }
        }
        if is_capturing(call) {
            return None;
        }
        let context = self.context(call.stream)?;
        let _entered = Entered::new(self.contexts[context].context)?;
        if !self.kernels.contains_key(&key) {
            self.add_kernel(call);
        }
        let module = self.module(context, call)?;
        let kernel = self.kernels.get_mut(&key)?;
        let number = kernel.launches;
        let mut plan = Plan { context, kernel: kernel.number, number, module: None };
        let is_due = kernel.next.is_some_and(|next| number >= next);
        if !is_due {
            kernel.times_next = false;
            return Some(plan);
        }
        if let Some(index) = module {
            let module = &mut self.modules[index];
            if !module.takes(call) {
                // The next launch may find memory.
                return None;
            }
            plan.module = Some(index);
        }
        kernel.next = self.settings.launches.after(number);
        kernel.times_next = plan.module.is_some();
        Some(plan)
    }

    /// Makes a launch between two kernels that read the time.
    fn around(&mut self, plan: &Plan, call: &Call, launch: impl FnOnce() -> Code) -> Code {
        let prepared = guarded(|| {
            let entered = Entered::new(self.contexts[plan.context].context)?;
            let stamps = self.contexts[plan.context].take_stamps()?;
            Some((entered, stamps))
        });
        let Some((entered, stamps)) = prepared.flatten() else { return launch() };
        let version = plan.module.map_or(0, |index| self.modules[index].version);
        let switch = |this: &Self, value, is_end| {
            let context = &this.contexts[plan.context];
            context.switch(call.stream, call.is_per_thread, version, value, stamps, is_end);
        };
        switch(self, WIRE_VERSION, false);
        drop(entered);
        let code = launch();
        let entered = Entered::new(self.contexts[plan.context].context);
        switch(self, 0, true);
        drop(entered);
        if let Some(index) = plan.module {
            let module = &mut self.modules[index];
            module.in_flight += 1;
            module.promised += module.slots_of(call);
        }
        let launch = Launch {
            kernel: plan.kernel,
            number: if code == SUCCESS { plan.number } else { 0 },
            grid: call.grid,
            block: call.block,
            stream: call.stream as u64,
            ns: [0; 2],
            is_recorded: plan.module.is_some(),
        };
        self.in_flight.push(InFlight {
            context: plan.context,
            stamps,
            module: plan.module,
            launch,
        });
        drain::wake();
        code
    }

    /// The index of the context of a stream.
    fn context(&mut self, stream: Handle) -> Option<usize> {
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
        let _entered = Entered::new(context)?;
        let number = u32::try_from(self.contexts.len()).ok()?;
        let (context, entry) = Context::new(context, number, self.settings.memory)?;
        self.entries.push(entry);
        self.contexts.push(context);
        if number == 0 {
            drain::start(&self.folder)?;
        }
        Some(self.contexts.len() - 1)
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
        self.kernels.insert(function as usize, kernel);
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
        let image = found.handles.iter().find_map(|handle| self.images.get(&(*handle as usize)));
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
        let blocks = call.grid.iter().map(|it| u64::from(*it)).product();
        let device = self.contexts[context].number;
        let arrays = Arrays::new(
            &mut self.contexts[context],
            &self.settings,
            found.address,
            number,
            blocks,
            warps_of_block(call.block),
        )?;
        self.module_numbers += 1;
        self.entries.push(Entry::Module { device, hash });
        self.modules.push(Module {
            context,
            handles: found.handles,
            version: found.address,
            arrays,
            promised: 0,
            in_flight: 0,
            copied: 0,
            is_draining: false,
            stream: call.stream,
            is_in_several_streams: false,
        });
        Ok(self.modules.len() - 1)
    }

    /// Keeps what is known of an image that was loaded.
    pub(crate) fn loaded(&mut self, handle: Handle, image: Image) {
        self.images.insert(handle as usize, image);
    }

    /// Forgets a module or library, whose handles the driver may give to others.
    pub(crate) fn unload(&mut self, handle: Handle) {
        self.images.remove(&(handle as usize));
        for module in self.modules.iter_mut().filter(|it| it.handles.contains(&handle)) {
            // Its memory is still copied when its launches have ended.
            module.handles = [ptr::null_mut(); 2];
        }
        self.forget_kernels(|kernel| !kernel.handles.contains(&handle));
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

impl Module {
    /// Slots that a launch takes.
    fn slots_of(&self, call: &Call) -> u64 {
        let blocks: u64 = call.grid.iter().map(|it| u64::from(*it)).product();
        let stride = u64::from(self.arrays.descriptor.block_stride);
        blocks.div_ceil(stride).saturating_mul(warps_of_block(call.block))
    }

    /// Whether a launch may record now: whether there are slots for it, and no launch in another stream records, whose
    /// end would end this one's records too.
    fn takes(&self, call: &Call) -> bool {
        let slots = u64::from(self.arrays.descriptor.slot_count);
        let is_alone =
            self.in_flight == 0 || self.stream == call.stream && !self.is_in_several_streams;
        let has_slots = self.promised == 0 || self.promised + self.slots_of(call) <= slots;
        is_alone && has_slots && !self.is_draining
    }
}

fn warps_of_block(block: [u32; 3]) -> u64 {
    block.iter().map(|it| u64::from(*it)).product::<u64>().div_ceil(32)
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
