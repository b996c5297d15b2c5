//! A session over one or more modules of the user's own.

use std::ffi::c_void;
use std::path::PathBuf;
use std::time::Duration;

use cust::function::Function;
use cust::module::Module;
use cust::stream::Stream;
use cust::sys::{CUcontext, CUstream};
use profiler_device::DescriptorPtr;
use profiler_trace::{Capture, CaptureEnd, DeviceInfo, RecordCost, SiteTable, Trace};
use profiler_wire::symbol::DESCRIPTOR;

use super::ModuleAttachment;
use super::calibrator;
use super::clock::ClockReader;
use super::clock_keeper::ClockKeepers;
use super::driver::{self, Entered};
use crate::error::Error;
use crate::export::Output;
use crate::host_spans::{HostLog, HostRecorder};
use crate::launch::{Extent, Shape};
use crate::live::{Watch, WatchedHost};
use crate::options::{Cost, Options};
use crate::profiler::Profiler;

/// What stands in the place of its name for a kernel of a module that the session is not attached to.
/// No kernel is called that.
const OF_ANOTHER_MODULE: &str = "(kernel of another module)";

impl Profiler {
    /// Attaches a session to a loaded module: every launch of its kernels is recorded until the
    /// session ends. `ptx` is the text that the module was loaded from.
    ///
    /// Unless the profiler says [`Slots::Linear`](crate::Slots::Linear), launches need not be known
    /// to the session: the program launches as it always does, in any streams. While this runs, and while
    /// the session ends, no other thread may launch kernels of the module: their records would be in part
    /// those of the session.
    ///
    /// # Errors
    ///
    /// A context that is not the device's primary one, PTX without sites or of another version, a module that
    /// is not of this PTX, another session on the same module, too little device memory.
    pub fn attach<'m>(&self, module: &'m Module, ptx: &str) -> Result<ModuleSession<'m>, Error> {
        ModuleSession::new(&self.options, module, ptx, false)
    }
}

/// A session over modules that the program loaded through `cust`; made by [`Profiler::attach`].
///
/// When it is dropped it waits for the device, detaches from its modules, and, where
/// [`export_on_drop`](Self::export_on_drop) was called, writes its trace; all that in the context that
/// was current when it was made, and the thread's own is current again after it.
///
/// It borrows its modules, so that none is unloaded before it ends:
///
/// ```compile_fail,E0505
/// # use profiler_host::{Error, Profiler};
/// # fn unload(profiler: Profiler, module: cust::module::Module, ptx: &str) -> Result<(), Error> {
/// let session = profiler.attach(&module, ptx)?;
/// drop(module);
/// drop(session);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct ModuleSession<'m> {
    attached: Vec<ModuleAttachment<'m>>,
    options: Options,
    device: DeviceInfo,
    output: Output,
    /// Whether all launches pass through the session.
    announced: bool,
    /// The stream of the announced launches, where slots are linear.
    stream: Option<CUstream>,
    context: CUcontext,
    host: Option<Host>,
    /// `None` until clocks are to be kept.
    clocks: Option<ClockKeepers>,
}

/// What is recorded of the host, and what reads both clocks.
#[derive(Debug)]
struct Host {
    log: HostLog,
    clock: ClockReader,
}

impl Host {
    fn new(recorder: HostRecorder) -> Result<Self, Error> {
        let mut host = Self { log: HostLog::new(recorder), clock: ClockReader::new()? };
        host.read_both()?;
        Ok(host)
    }

    fn read_both(&mut self) -> Result<(), Error> {
        let pair = self.clock.read(|| self.log.now_ns())?;
        self.log.read_both(pair);
        Ok(())
    }
}

impl<'m> ModuleSession<'m> {
    pub(crate) fn new(
        options: &Options,
        module: &'m Module,
        ptx: &str,
        announced: bool,
    ) -> Result<Self, Error> {
        let context = driver::current_primary_context()?;
        let device = driver::device_info()?;
        let mut output = Output::new(options);
        if options.record_cost == Cost::Measure {
            let in_host = SiteTable::from_ptx(ptx)?.needs_host_memory();
            output.cost = Some(calibrator::record_cost(&device, in_host)?);
        }
        let attached = ModuleAttachment::new(options, module, ptx, &device, announced)?;
        let host = options.host.clone().map(Host::new).transpose()?;
        Ok(Self {
            host,
            clocks: None,
            attached: vec![attached],
            options: options.clone(),
            device,
            output,
            announced,
            stream: None,
            context,
        })
    }

    /// Attaches the session to one more module, with the same options. Where the session measures what
    /// a record costs, the first module tells it, and the first one that has kernels with `buffer = host`
    /// what their records cost.
    ///
    /// # Errors
    ///
    /// See [`Profiler::attach`]; [`Error::OtherContext`], where the calling thread's context is not the one
    /// in which the session began.
    pub fn attach_also(&mut self, module: &'m Module, ptx: &str) -> Result<(), Error> {
        if driver::current_context()? != self.context {
            return Err(Error::OtherContext);
        }
        // To attach waits for all kernels of the context.
        self.clocks.as_mut().map(ClockKeepers::end).transpose()?;
        if self.options.record_cost == Cost::Measure
            && let Some(cost) = &mut self.output.cost
            && cost.host.is_none()
            && SiteTable::from_ptx(ptx)?.needs_host_memory()
        {
            // The modules so far have no kernel that records there.
            cost.host = calibrator::record_cost(&self.device, true)?.host;
        }
        let attached =
            ModuleAttachment::new(&self.options, module, ptx, &self.device, self.announced)?;
        self.attached.push(attached);
        Ok(())
    }

    /// What the session runs on.
    #[must_use]
    pub fn device(&self) -> &DeviceInfo {
        &self.device
    }

    /// What a record costs, if it was given or measured.
    #[must_use]
    pub fn record_cost(&self) -> Option<RecordCost> {
        self.output.cost
    }

    /// The descriptor to give to kernels that take it as a parameter, where the profiler was told to
    /// profile [apart](crate::ProfilerBuilder::apart); elsewhere null, which records nothing. It is
    /// that of the first module.
    #[must_use]
    pub fn descriptor(&self) -> DescriptorPtr {
        let own = self.attached.first().and_then(ModuleAttachment::own_descriptor);
        DescriptorPtr::new(std::ptr::without_provenance(own.unwrap_or(0) as usize))
    }

    /// Announces a launch of this shape that follows in `stream`: with linear slots, moves them in
    /// stream order, without waiting for the device; with claimed slots, does nothing. Every launch
    /// of a session with linear slots must be announced, also those of a CUDA graph (which can
    /// therefore be replayed only with claimed slots), and with the shape in which it is made.
    ///
    /// A launch that was not announced, or in another shape, writes over the slots of the one that
    /// was announced before it. Where what it wrote does not agree with that one's shape or place,
    /// reading back is an [`Error::UnannouncedLaunch`]. One of exactly the same shape right after
    /// it replaces its records and is not found out. Where launches may be forgotten, claim slots.
    ///
    /// The launch takes slots in every module that the session is attached to, since it does not
    /// say whose kernel follows; so with two modules slots run out twice as fast.
    /// [`prepare_module`](Self::prepare_module) takes them in one.
    ///
    /// # Errors
    ///
    /// [`Error::SeveralStreams`] with linear slots, if the last launch was in another stream.
    pub fn prepare(
        &mut self,
        stream: &Stream,
        grid: impl Into<Extent>,
        block: impl Into<Extent>,
    ) -> Result<(), Error> {
        let announced = self.announce(stream, Shape::new(grid, block, 0), |_| true);
        self.salvaging(announced)
    }

    /// [Announces](Self::prepare) a launch of a kernel of this module, which takes slots there alone.
    ///
    /// # Errors
    ///
    /// [`Error::NotAttached`], where the session is not attached to the module; see
    /// [`prepare`](Self::prepare).
    pub fn prepare_module(
        &mut self,
        module: &Module,
        stream: &Stream,
        grid: impl Into<Extent>,
        block: impl Into<Extent>,
    ) -> Result<(), Error> {
        if !self.attached.iter().any(|attached| attached.is_of(module)) {
            return Err(Error::NotAttached);
        }
        let shape = Shape::new(grid, block, 0);
        let announced = self.announce(stream, shape, |attached| attached.is_of(module));
        self.salvaging(announced)
    }

    /// Takes back the launch that was announced last to the modules for which `of` holds: CUDA refused
    /// it. The next one to be announced there begins at the same slot, to which the base was moved.
    pub(crate) fn take_back(&mut self, of: impl Fn(&ModuleAttachment<'m>) -> bool) {
        self.attached
            .iter_mut()
            .filter(|attached| of(attached))
            .for_each(ModuleAttachment::take_back);
    }

    /// Announces a launch in those modules for which `of` holds.
    fn announce(
        &mut self,
        stream: &Stream,
        shape: Shape,
        of: impl Fn(&ModuleAttachment<'m>) -> bool,
    ) -> Result<(), Error> {
        let (grid, block, stream) = (shape.grid.0, shape.block.0, stream.as_inner());
        for attached in self.attached.iter_mut().filter(|attached| attached.is_linear()) {
            if !of(attached) {
                continue;
            }
            if *self.stream.get_or_insert(stream) != stream {
                return Err(Error::SeveralStreams);
            }
            attached.announce(grid, block, stream)?;
        }
        Ok(())
    }

    /// A view of what the session's kernels have recorded so far, for any thread, while they run:
    /// those with `#[profiled(buffer = host)]`.
    ///
    /// # Errors
    ///
    /// [`Error::NotWatchable`], where no such kernel is in the session's modules.
    pub fn watch(&self) -> Result<Watch, Error> {
        let modules = self.attached.iter().map(ModuleAttachment::watched).collect();
        // The session has read the clocks when it began.
        let host =
            self.host.as_ref().map(|host| WatchedHost { log: host.log.clone(), clock: None });
        let watch = Watch::of_those_in_reach(self.device.clone(), modules, &self.output, host)?;
        Ok(watch.with_clocks(self.clocks.as_ref().and_then(ClockKeepers::watched)))
    }

    /// Keeps the clocks of all SMs: from here on a kernel of the session's own, one thread on each SM, reads
    /// `%clock64` and `%globaltimer` every 50 µs, so that times are as exact anywhere in a long kernel as
    /// where its warps enter and leave, without `profile_anchor!` in it. (For more than a second it reads
    /// less often, 20 000 times in all.) It ends after [`stop_clocks`](Self::stop_clocks), when records are
    /// read back or forgotten, when it is called again, or after `at_most`, whichever is first.
    ///
    /// Call it before the kernels are launched: it waits until what it began before has ended, and then until
    /// every SM has its thread. Until it ends
    ///
    /// * a block of that thread stands on each SM, which has a little less buffer for others: a kernel that needs
    ///   all of an SM's shared memory or registers, or whose blocks wait for each other and fill the GPU,
    ///   begins or goes on only when it has ended;
    /// * whatever waits for all of the device waits for it (`cuCtxSynchronize`, freeing device memory).
    ///
    /// So give it no more time than the kernels need. Times of what runs when it has ended are as exact as
    /// without; the note `clock-unread` says where a clock was not read for long.
    ///
    /// # Errors
    ///
    /// [`Error::ClocksNotKept`], where other kernels fill the GPU, for a second and until one of their blocks
    /// has ended; [`Error::OtherContext`], where the calling
    /// thread's context is not the one in which the session began; too little memory (16 bytes a reading and
    /// SM, page-locked on the host), what CUDA says.
    pub fn keep_clocks(&mut self, at_most: Duration) -> Result<(), Error> {
        if driver::current_context()? != self.context {
            return Err(Error::OtherContext);
        }
        let clocks = match &mut self.clocks {
            Some(clocks) => clocks,
            none => none.insert(ClockKeepers::new()?),
        };
        let begun = clocks.begin(self.device.sm_count, at_most);
        self.salvaging(begun)
    }

    /// Ends what [`keep_clocks`](Self::keep_clocks) began when `stream` comes to here: after the kernels that
    /// were launched in it before. Waits for nothing.
    ///
    /// # Errors
    ///
    /// What CUDA says.
    pub fn stop_clocks(&mut self, stream: &Stream) -> Result<(), Error> {
        let _entered = Entered::new(self.context);
        let clocks = self.clocks.as_mut();
        let ended = clocks.map_or(Ok(()), |clocks| clocks.end_in(stream.as_inner()));
        self.salvaging(ended)
    }

    /// Adds to the error of a kernel that failed what outlives it: what kernels have recorded in memory
    /// of the host, the sites of all modules, and what the host did; and whether guards there were
    /// overwritten.
    fn salvaging<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.map_err(|error| match error {
            Error::KernelFailed { reason, code, salvaged: None, .. } => {
                let watch = self.watch().ok();
                let capture =
                    watch.and_then(|watch| watch.capture_at(CaptureEnd::Failed { code }).ok());
                let mut checks = self.attached.iter().map(ModuleAttachment::check_guards_of_host);
                let overwritten = checks.find_map(Result::err).map(Box::new);
                let salvaged = capture.map(Box::new);
                Error::KernelFailed { reason, code, salvaged, overwritten }
            }
            error => error,
        })
    }

    /// [Announces](Self::prepare) a launch, in the module of the kernel alone, and makes it. `cust`'s
    /// own `launch!` after [`prepare`](Self::prepare) does the same and checks the arguments' number
    /// at least.
    ///
    /// # Safety
    ///
    /// `arguments` must be pointers to values of the types of the kernel's parameters, in order,
    /// and the values must be what the kernel asks for.
    ///
    /// # Errors
    ///
    /// See [`prepare`](Self::prepare); and what CUDA says to the launch.
    pub unsafe fn launch(
        &mut self,
        function: &Function<'_>,
        shape: Shape,
        stream: &Stream,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        // SAFETY: the caller's.
        let launched = unsafe { self.announce_and_launch(function, shape, stream, arguments) };
        self.salvaging(launched)
    }

    /// [`launch`](Self::launch), but for what is added to its error.
    ///
    /// # Safety
    ///
    /// That of [`launch`](Self::launch).
    unsafe fn announce_and_launch(
        &mut self,
        function: &Function<'_>,
        shape: Shape,
        stream: &Stream,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        let kernel = function.to_raw();
        // Where a kernel takes the descriptor as a parameter, its module says nothing of where it
        // records; and one module needs no search.
        let is_anywhere = self.options.apart || self.attached.len() == 1;
        let symbol = if !is_anywhere && self.attached.iter().any(ModuleAttachment::is_linear) {
            driver::symbol(kernel, DESCRIPTOR)?.map(|(address, _)| address)
        } else {
            None
        };
        let records_in =
            |attached: &ModuleAttachment<'_>| is_anywhere || attached.has_descriptor(symbol);
        self.announce(stream, shape, records_in)?;
        let start_ns = self.host_now_ns();
        // SAFETY: the caller's.
        let launched = unsafe { driver::launch(kernel, shape, stream.as_inner(), arguments) };
        match (&launched, &self.host) {
            (Ok(()), Some(host)) => {
                let name = self.attached.iter().find_map(|attached| attached.name_of(kernel));
                host.log.launched(name.unwrap_or(OF_ANOTHER_MODULE), start_ns);
            }
            (Ok(()), None) => {}
            (Err(_), _) => self.take_back(records_in),
        }
        launched
    }

    /// The host's clock, where the host is recorded.
    pub(crate) fn host_now_ns(&self) -> u64 {
        self.host.as_ref().map_or(0, |host| host.log.now_ns())
    }

    /// Notes a launch whose call began then and ends now.
    pub(crate) fn launched(&self, kernel: &str, start_ns: u64) {
        if let Some(host) = &self.host {
            host.log.launched(kernel, start_ns);
        }
    }

    /// With linear slots: launches that are not announced find no slot from here on, up to the next
    /// one that is.
    pub(crate) fn close(&mut self, stream: &Stream) -> Result<(), Error> {
        self.attached.iter_mut().try_for_each(|attached| attached.close(stream.as_inner()))
    }

    /// Forgets all records and goes on, in the order of `stream` and without waiting for it. Other
    /// streams must have no launch of the session's kernels under way, and must wait for `stream`
    /// before the next.
    ///
    /// # Errors
    ///
    /// What CUDA says.
    pub fn reset(&mut self, stream: &Stream) -> Result<(), Error> {
        let reset = self.reset_raw(stream.as_inner());
        self.salvaging(reset)
    }

    fn reset_raw(&mut self, stream: CUstream) -> Result<(), Error> {
        let _entered = Entered::new(self.context);
        if let Some(clocks) = &mut self.clocks {
            clocks.forget_in(stream)?;
        }
        for attached in &mut self.attached {
            attached.reset(stream)?;
        }
        // Launches in another stream would not wait for this.
        self.stream = Some(stream);
        self.host.iter().for_each(|host| host.log.reset());
        Ok(())
    }

    /// Waits for the launches and reads their records back, undecoded. With claimed slots, and where
    /// launches were announced in another stream than this, waits for all streams of the context in which
    /// the session began, whichever is the calling thread's.
    ///
    /// # Errors
    ///
    /// [`Error::KernelFailed`], which holds what kernels with `buffer = host` had recorded
    /// ([`Error::salvaged`]); [`Error::UnannouncedLaunch`], what CUDA says.
    pub fn capture(&mut self, stream: &Stream) -> Result<Capture, Error> {
        let _entered = Entered::new(self.context);
        let is_linear = self.attached.iter().all(ModuleAttachment::is_linear);
        let is_of_stream = is_linear && self.stream.is_none_or(|own| own == stream.as_inner());
        let mut waited = driver::synchronize(stream);
        if waited.is_ok() && !is_of_stream {
            // The program may have destroyed the announced stream since, whose launches go on.
            waited = self.wait_for_all();
        }
        let capture = waited.and_then(|()| self.capture_all());
        self.salvaging(capture)
    }

    /// Waits for all streams of the context. Clocks are kept no longer then: the kernel that reads them would
    /// be waited for, too.
    fn wait_for_all(&mut self) -> Result<(), Error> {
        self.clocks.as_mut().map(ClockKeepers::end).transpose()?;
        driver::synchronize_context()
    }

    /// Reads records back when the launches have been waited for.
    fn capture_all(&mut self) -> Result<Capture, Error> {
        self.clocks.as_mut().map(ClockKeepers::end).transpose()?;
        self.host.as_mut().map(Host::read_both).transpose()?;
        let modules = self.attached.iter().map(ModuleAttachment::read_back);
        let mut modules: Vec<_> = modules.collect::<Result<_, _>>()?;
        if let Some(clocks) = &self.clocks {
            modules.extend(clocks.read_back()?);
        }
        Ok(Capture {
            device: self.device.clone(),
            modules,
            record_cost: self.output.cost,
            host: self.host.as_ref().map(|host| host.log.capture(None)).unwrap_or_default(),
            ..Capture::default()
        })
    }

    /// Decodes what [`capture`](Self::capture) gave, as the profiler's options ask.
    #[must_use]
    pub fn decode(&self, capture: &Capture) -> Trace {
        self.output.decode(capture)
    }

    /// Waits for the launches, reads their records back and decodes them. The records stay; see
    /// [`take_trace`](Self::take_trace).
    ///
    /// # Errors
    ///
    /// See [`capture`](Self::capture).
    pub fn trace(&mut self, stream: &Stream) -> Result<Trace, Error> {
        let capture = self.capture(stream)?;
        Ok(self.decode(&capture))
    }

    /// Like [`trace`](Self::trace), and then [resets](Self::reset): one trace per iteration.
    ///
    /// # Errors
    ///
    /// See [`capture`](Self::capture).
    pub fn take_trace(&mut self, stream: &Stream) -> Result<Trace, Error> {
        let trace = self.trace(stream)?;
        self.reset(stream)?;
        Ok(trace)
    }

    /// Ends the session: waits for the launches, reads their records back, decodes them, exports
    /// them where [`export_on_drop`](Self::export_on_drop) was called, and detaches.
    ///
    /// # Errors
    ///
    /// See [`capture`](Self::capture), [`crate::write_trace`] and [`Capture::write`].
    pub fn finish(mut self, stream: &Stream) -> Result<Trace, Error> {
        let capture = self.capture(stream);
        self.finish_capture(capture)
    }

    /// Writes the trace, or, where the name ends in `.capture`, what it is decoded from, to `path`
    /// when the session is finished or dropped, unless exports are switched off ([`set_export`](Self::set_export), [`crate::set_export`]). A failure while
    /// dropping is printed to standard error.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownFormat`], where the name ends in none of `.pftrace`, `.json` and `.capture`;
    /// [`Error::Export`], where there is no such folder.
    pub fn export_on_drop(&mut self, path: impl Into<PathBuf>) -> Result<(), Error> {
        self.output.set_path(path.into())
    }

    /// Switches this session's export on drop on or off.
    pub fn set_export(&mut self, export: bool) {
        self.output.export = export;
    }

    /// Decodes the last capture, and exports where that was asked for, also what a kernel that failed
    /// has left.
    pub(crate) fn finish_capture(
        &mut self,
        capture: Result<Capture, Error>,
    ) -> Result<Trace, Error> {
        let capture = capture.inspect_err(|error| self.output.salvage(error))?;
        self.output.finish(capture)
    }

    fn export_now(&mut self) -> Result<(), Error> {
        let Some(path) = self.output.take_path() else { return Ok(()) };
        let capture = self.wait_for_all().and_then(|()| self.capture_all());
        match self.salvaging(capture) {
            Ok(capture) => self.output.export(&capture, path),
            Err(error) => {
                let Some(capture) = error.salvaged() else { return Err(error) };
                self.output.export(capture, path)?;
                match error {
                    // The capture says that a kernel failed, but nothing of guards.
                    Error::KernelFailed { overwritten: Some(guards), .. } => Err(*guards),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl Drop for ModuleSession<'_> {
    fn drop(&mut self) {
        // The program may have made another context current since, and goes on in that.
        let _entered = Entered::new(self.context);
        Output::report(self.export_now());
        self.clocks = None;
        self.attached.clear();
        self.host = None;
    }
}
