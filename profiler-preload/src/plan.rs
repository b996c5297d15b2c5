//! Which launches record, and what is launched around them.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use profiler_wire::spool::Launch;

use crate::context::{Switch, Switcher};
use crate::drain;
use crate::driver::{self, Code, Entered, Handle, SUCCESS};
use crate::module::{Module, Shape};
use crate::session::{Kernel, Session, get, guarded, lock};

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

/// `CU_STREAM_LEGACY` and `CU_STREAM_PER_THREAD`.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

impl Call {
    /// What tells its stream from others: the handle, or a place of the thread's own.
    fn stream_key(&self) -> u64 {
        thread_local! {
            static OWN: u8 = const { 0 };
        }
        match self.stream as usize {
            0 if !self.is_per_thread => 0,
            LEGACY => 0,
            0 | PER_THREAD => OWN.with(|own| ptr::from_ref(own) as u64),
            handle => handle as u64,
        }
    }
}

/// A launch of which the time is taken.
struct Plan {
    context: usize,
    kernel: u32,
    number: u64,
    /// Those that record.
    modules: Vec<usize>,
}

/// A launch whose times are not there yet.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) context: usize,
    pub(crate) stamps: u32,
    pub(crate) modules: Vec<usize>,
    /// The first slot in its module, if slots are computed.
    slot_base: u32,
    /// Whether what ends it is still to be launched.
    pub(crate) is_open: bool,
    /// With times of zero, and without a number if the driver refused it.
    pub(crate) launch: Launch,
}

/// What is launched around a launch.
struct Around {
    context: Handle,
    switcher: Switcher,
    stamps: u32,
    /// What begins it; to end it all that is switched on is switched off.
    switches: Vec<Switch>,
}

/// Graphs that are being made of what is launched in streams.
pub(crate) static CAPTURES: AtomicUsize = AtomicUsize::new(0);

/// Makes a launch, and records it if it is its turn. `launch` is told whether it is between two kernels that must not
/// overlap with it.
pub(crate) fn launch(call: Call, launch: impl FnMut(bool) -> Code) -> Code {
    planned(&call, Session::plan, launch)
}

/// Launches a graph, and records the kernels in it if it is its turn.
pub(crate) fn launch_graph(call: Call, launch: impl Fn() -> Code) -> Code {
    planned(&call, Session::plan_graph, |_| launch())
}

/// For how long a launch waits until one of another thread that records, of the same module, is made. It goes on then,
/// as the other may wait for it, and what that records is dropped.
const PATIENCE: Duration = Duration::from_millis(1);

/// Nothing is locked while the program's launch is on its way: it may wait for one of another thread.
fn planned(
    call: &Call,
    plan: fn(&mut Session, &Call) -> Option<Plan>,
    mut launch: impl FnMut(bool) -> Code,
) -> Code {
    let Some(session) = get() else { return launch(false) };
    let around = guarded(|| {
        let mut state = lock(session);
        let mut start = None;
        while state.is_beside_another(call)
            && start.get_or_insert_with(Instant::now).elapsed() < PATIENCE
        {
            drop(state);
            thread::yield_now();
            state = lock(session);
        }
        let plan = plan(&mut state, call)?;
        state.begin(plan, call)
    });
    let Some(around) = around.flatten() else { return launch(false) };
    let is_begun = around.switch(call, false);
    let code = launch(is_begun);
    let is_ended = around.switch(call, true);
    guarded(|| lock(session).end(&around, code, is_begun && is_ended));
    drain::wake();
    code
}

impl Around {
    /// Launches what reads the time and switches records on or off. Says whether the driver took all of it.
    fn switch(&self, call: &Call, is_end: bool) -> bool {
        let Some(_entered) = Entered::new(self.context) else { return false };
        let switches = self.switches.iter().map(|switch| {
            let switch = if is_end { Switch { value: [0; 2], ..*switch } } else { *switch };
            self.switcher.launch(call.stream, call.is_per_thread, switch, self.stamps, is_end)
        });
        // All of them, also after one that was refused.
        switches.fold(true, |all, one| all & one)
    }
}

impl Session {
    /// Counts a launch, and decides whether its time is taken.
    fn plan(&mut self, call: &Call) -> Option<Plan> {
        let key = call.function as usize;
        let is_captured = CAPTURES.load(Ordering::Relaxed) > 0 && is_capturing(call);
        let attached = self.attached(call);
        if let Some(kernel) = self.kernels.get_mut(&key) {
            kernel.launches += u64::from(!is_captured);
            let is_plain = !(kernel.is_due() || kernel.times_next || is_captured);
            if let Some(module) = attached.filter(|_| !is_captured) {
                self.launched(module, call);
            }
            if is_plain {
                return None;
            }
        }
        let is_new = !self.kernels.contains_key(&key);
        let context = self.context(call)?;
        let _entered = Entered::new(self.contexts[context].context)?;
        if is_new {
            self.add_kernel(call);
        }
        let module = self.module(context, call)?;
        // In a graph that is made by other means than the functions that are counted.
        if is_captured || is_capturing(call) {
            if let Some(module) = module {
                let settings = &self.recording.settings;
                let shape = Shape::new(call.grid, call.block, settings.warp_mask);
                let module = &mut self.modules[module];
                module.is_captured = true;
                let sm_count = self.contexts[context].sm_count;
                (module.graph_stride, _) = shape.stride_and_slots(settings, sm_count);
            }
            let kernel = self.kernels.get_mut(&key)?;
            kernel.launches -= u64::from(is_new || !is_captured);
            return None;
        }
        if let (Some(module), None) = (module, attached) {
            self.launched(module, call);
        }
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
        let launches = self.recording.settings.launches;
        self.kernels.get_mut(&key)?.took(launches.after(number), is_due, module.is_some());
        Some(plan)
    }

    /// Whether a launch of the same module that records is about to be made by another thread.
    fn is_beside_another(&self, call: &Call) -> bool {
        let mut open = self.in_flight.iter().filter(|flight| flight.is_open).peekable();
        // Mostly there is none.
        open.peek().is_some()
            && self.attached(call).is_some_and(|module| open.any(|it| it.modules.contains(&module)))
    }

    /// The module to which a kernel is attached in the context of a launch.
    fn attached(&self, call: &Call) -> Option<usize> {
        let modules = &self.kernels.get(&(call.function as usize))?.modules;
        if modules.is_empty() {
            return None;
        }
        let (_, context) = self.context_of(call)?;
        modules.iter().find(|(index, _)| Some(*index) == context)?.1
    }

    /// Counts a launch of a module's kernel that may see that records of another one are on, and write to its slots.
    fn launched(&mut self, index: usize, call: &Call) {
        let stream = call.stream_key();
        let module = &mut self.modules[index];
        let is_other = *module.stream.get_or_insert(stream) != stream;
        module.is_in_several_streams |= is_other;
        if module.is_claimed {
            return;
        }
        for flight in self.in_flight.iter().filter(|flight| flight.modules.first() == Some(&index))
        {
            let has_ended = self.contexts[flight.context].has_ended(flight.stamps);
            if flight.is_open || is_other && !has_ended {
                module.spoiled = module.spoiled.min(flight.slot_base);
            }
        }
    }

    /// Counts a launch of a graph, and decides whether its kernels record.
    fn plan_graph(&mut self, call: &Call) -> Option<Plan> {
        let key = call.function as usize;
        let context = self.context_of(call)?.1?;
        let in_graphs = |it: &Module| it.context == context && it.is_captured;
        let modules: Vec<usize> =
            (0..self.modules.len()).filter(|index| in_graphs(&self.modules[*index])).collect();
        if modules.is_empty() {
            return None;
        }
        for module in &modules {
            self.launched(*module, call);
        }
        match self.graphs.get_mut(&key) {
            Some(graph) => graph.launches += 1,
            None => {
                let graph = self.new_kernel("(CUDA graph)".to_owned(), true);
                self.graphs.insert(key, graph);
            }
        }
        let graph = self.graphs.get(&key)?;
        let (number, is_due) = (graph.launches, graph.is_due());
        if !(is_due || graph.times_next) {
            return None;
        }
        let mut plan = Plan { context, kernel: graph.number, number, modules: Vec::new() };
        if is_due {
            // How many warps it has is not known: it gets what there is.
            let is_ready = |it: &Module| {
                it.is_idle()
                    && it.copied < it.arrays.descriptor.slot_count
                    && (it.is_claimed || it.copied == 0)
            };
            plan.modules = modules;
            plan.modules.retain(|index| is_ready(&self.modules[*index]));
            if plan.modules.is_empty() {
                return None;
            }
            for index in &plan.modules {
                self.modules[*index].is_claimed = true;
            }
        }
        let launches = self.recording.settings.launches;
        self.graphs.get_mut(&key)?.took(launches.after(number), is_due, true);
        Some(plan)
    }

    /// Whether a launch may record now: whether there are slots for it, and no launch in another stream records, whose
    /// end would end this one's records too. Makes room if that takes no waiting.
    fn is_ready(&mut self, index: usize, call: &Call) -> bool {
        let settings = &self.recording.settings;
        let shape = Shape::new(call.grid, call.block, settings.warp_mask);
        let is_open = |it: &InFlight| it.is_open && it.modules.contains(&index);
        let is_open = self.in_flight.iter().any(is_open);
        let module = &mut self.modules[index];
        let is_claimed = module.is_in_several_streams;
        let is_alone = module.in_flight == 0 || !is_claimed && !is_open;
        let changes_mode = module.is_claimed != is_claimed;
        if module.is_draining || module.is_full || !is_alone || changes_mode && !module.is_idle() {
            return false;
        }
        module.is_claimed = is_claimed;
        let slots = u64::from(module.arrays.descriptor.slot_count);
        let sm_count = self.contexts[module.context].sm_count;
        let (_, wanted) = shape.stride_and_slots(settings, sm_count);
        let has_slots = module.promised == 0 || module.promised + wanted <= slots;
        if has_slots && (wanted <= slots || is_claimed) {
            return true;
        }
        if !module.is_idle() {
            return false;
        }
        let context = &mut self.contexts[module.context];
        let (arrays, address) = (module.arrays, module.address);
        let made = if is_claimed {
            arrays.renewed(context, settings, address, wanted)
        } else {
            arrays.fitted(context, settings, address, shape)
        };
        match made {
            Ok(arrays) => {
                module.arrays = arrays;
                module.forget_slots();
            }
            Err(_) => module.is_full = true,
        }
        made.is_ok()
    }

    /// Takes slots for a launch, and says what is to be launched around it.
    fn begin(&mut self, plan: Plan, call: &Call) -> Option<Around> {
        let shape = Shape::new(call.grid, call.block, self.recording.settings.warp_mask);
        let context = &mut self.contexts[plan.context];
        let stamps = context.take_stamps()?;
        let (mut switches, mut slot_base) = (Vec::new(), 0);
        for index in &plan.modules {
            let module = &mut self.modules[*index];
            slot_base = module.promised as u32;
            let value = module.arrays.switched_on(module.is_claimed);
            let slots = u64::from(module.arrays.descriptor.slot_count);
            // Of a graph it is not known.
            let (stride, taken) = match call.grid {
                [0, ..] => (module.graph_stride, slots),
                _ => shape.stride_and_slots(&self.recording.settings, context.sm_count),
            };
            switches.push(Switch { descriptor: module.address, value, slot_base, stride });
            module.promised = (module.promised + taken).min(slots);
            module.in_flight += 1;
        }
        if switches.is_empty() {
            // The time alone.
            switches.push(Switch::default());
        }
        let launch = Launch {
            kernel: plan.kernel,
            device: context.number,
            number: plan.number,
            grid: call.grid,
            block: call.block,
            stream: call.stream_key(),
            ns: [0; 2],
            is_recorded: !plan.modules.is_empty(),
        };
        let around =
            Around { context: context.context, switcher: context.switcher, stamps, switches };
        self.in_flight.push(InFlight {
            context: plan.context,
            stamps,
            modules: plan.modules,
            slot_base,
            is_open: true,
            launch,
        });
        Some(around)
    }

    /// Keeps how a launch went. `is_timed` says whether all around it was launched.
    fn end(&mut self, around: &Around, code: Code, is_timed: bool) {
        let contexts = &self.contexts;
        let of_it = |it: &&mut InFlight| {
            it.is_open
                && it.stamps == around.stamps
                && contexts[it.context].context == around.context
        };
        let Some(flight) = self.in_flight.iter_mut().find(of_it) else { return };
        flight.is_open = false;
        if code != SUCCESS {
            flight.launch.number = 0;
        }
        if !is_timed {
            // The context is lost, as after a kernel that failed, and with it all that was recorded there.
            self.forget_context(around.context);
        }
    }
}

impl Kernel {
    fn is_due(&self) -> bool {
        self.next.is_some_and(|next| self.launches >= next)
    }

    /// Keeps that the time of a launch is taken, which records if it was due.
    fn took(&mut self, next: Option<u64>, was_due: bool, records: bool) {
        self.times_next = was_due && records;
        if was_due {
            self.next = next;
        }
    }
}

impl Module {
    /// Whether no launch records, and all that was recorded is copied.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight == 0 && !self.is_draining && self.promised == u64::from(self.copied)
    }

    /// Keeps that it is unloaded. Its memory is still copied when its launches have ended.
    pub(crate) fn leave(&mut self) {
        self.handles = [ptr::null_mut(); 2];
        self.is_captured = false;
    }

    /// Begins with empty slots.
    pub(crate) fn forget_slots(&mut self) {
        (self.promised, self.copied, self.lost) = (0, 0, Default::default());
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
