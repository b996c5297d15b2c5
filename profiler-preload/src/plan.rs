//! Which launches record, and what is launched around them.

use std::sync::atomic::{AtomicUsize, Ordering};

use profiler_wire::spool::Launch;

use crate::context::Switch;
use crate::drain;
use crate::driver::{self, Code, Entered, Handle, SUCCESS};
use crate::module::{Module, Shape};
use crate::session::{InFlight, Kernel, Session, get, guarded, lock};

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

/// Graphs that are being made of what is launched in streams.
pub(crate) static CAPTURES: AtomicUsize = AtomicUsize::new(0);

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

impl Session {
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
}

impl Kernel {
    fn is_due(&self) -> bool {
        self.next.is_some_and(|next| self.launches >= next)
    }
}

impl Module {
    /// Whether no launch records, and all that was recorded is copied.
    pub(crate) fn is_idle(&self) -> bool {
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
