//! The part of a session that is on the GPU, over one or more modules.

use std::time::Duration;

use profiler_cuda_driver::sys::{CUcontext, CUstream};
use profiler_trace::{Capture, DeviceInfo, RecordCost, SiteTable};

use super::ModuleAttachment;
use super::calibrator;
use super::clock::ClockReader;
use super::clock_keeper::ClockKeepers;
use super::driver::{self, Entered};
use super::handles::RawModule;
use crate::backend::Gpu;
use crate::error::Error;
use crate::host_spans::{HostLog, HostRecorder};
use crate::launch::{Kernel, Shape};
use crate::live::{WatchedHost, WatchedModule};
use crate::options::{Cost, Options};

/// A session's modules on the GPU.
#[derive(Debug)]
pub(crate) struct GpuSession<'m> {
    attached: Vec<ModuleAttachment<'m>>,
    options: Options,
    device: DeviceInfo,
    /// Whether all launches pass through the session.
    announced: bool,
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

impl<'m> GpuSession<'m> {
    /// Attaches to the first module. Measures the cost of a record first if the options ask for it.
    pub(crate) fn new(
        options: &Options,
        module: RawModule,
        ptx: &str,
        announced: bool,
        cost: &mut Option<RecordCost>,
    ) -> Result<Self, Error> {
        let context = driver::entered_context()?;
        let device = driver::device_info()?;
        if options.record_cost == Cost::Measure {
            let in_host = SiteTable::from_ptx(ptx)?.needs_host_memory();
            *cost = Some(calibrator::record_cost(&device, in_host)?);
        }
        let attached = ModuleAttachment::new(options, module, ptx, &device, announced)?;
        let host = options.host.clone().map(Host::new).transpose()?;
        Ok(Self {
            host,
            clocks: None,
            attached: vec![attached],
            options: options.clone(),
            device,
            announced,
            context,
        })
    }

    /// Refuses another context than the session's.
    pub(crate) fn check_context(&self) -> Result<(), Error> {
        let is_own = driver::current_context()? == self.context;
        if is_own {
            return Ok(());
        }
        Err(Error::Context(
            "the session began in another CUDA context than the calling thread's; make that one current \
             (`CudaContext::bind_to_thread` of cudarc, `CurrentContext::set_current` of cust), or begin a session of \
             its own for the modules of this one",
        ))
    }

    /// In the session's context.
    pub(crate) fn attach_also(&mut self, module: RawModule, ptx: &str) -> Result<(), Error> {
        // To attach waits for all kernels of the context.
        self.clocks.as_mut().map(ClockKeepers::end).transpose()?;
        let attached =
            ModuleAttachment::new(&self.options, module, ptx, &self.device, self.announced)?;
        self.attached.push(attached);
        Ok(())
    }

    pub(crate) fn device(&self) -> &DeviceInfo {
        &self.device
    }

    /// The modules and the host's log for a view of the session.
    pub(crate) fn watched(&self) -> (Vec<WatchedModule>, Option<WatchedHost>) {
        let mut modules: Vec<_> = self.attached.iter().map(ModuleAttachment::watched).collect();
        let clocks = self.clocks.as_ref().and_then(ClockKeepers::watched);
        modules.extend(clocks.map(WatchedModule::Clocks));
        // The session has read the clocks when it began.
        let host =
            self.host.as_ref().map(|host| WatchedHost { log: host.log.clone(), clock: None });
        (modules, host)
    }

    pub(crate) fn keep_clocks(&mut self, at_most: Duration) -> Result<(), Error> {
        self.check_context()?;
        let clocks = match &mut self.clocks {
            Some(clocks) => clocks,
            none => none.insert(ClockKeepers::new()?),
        };
        clocks.begin(self.device.sm_count, at_most)
    }

    /// Ends what [`keep_clocks`](Self::keep_clocks) began, when `stream` comes to here or now.
    pub(crate) fn stop_clocks(&mut self, stream: Option<CUstream>) -> Result<(), Error> {
        let _entered = Entered::new(self.context);
        self.clocks.as_mut().map_or(Ok(()), |clocks| clocks.end_in(stream))
    }

    /// Checks the guards that outlive a failed kernel.
    pub(crate) fn check_guards_of_host(&self) -> Result<(), Error> {
        self.attached.iter().try_for_each(ModuleAttachment::check_guards_of_host)
    }

    /// Announces and launches a kernel of a backend's module.
    ///
    /// # Safety
    ///
    /// That of [`Gpu::launch`].
    pub(crate) unsafe fn launch_on<K: Kernel>(
        &mut self,
        gpu: &Gpu,
        name: &'static str,
        shape: Shape,
        arguments: K::Arguments,
    ) -> Result<(), Error> {
        let start_ns = self.host.as_ref().map_or(0, |host| host.log.now_ns());
        for attached in &mut self.attached {
            attached.announce(shape.grid.0, shape.block.0, gpu.stream())?;
        }
        // SAFETY: the caller's.
        let launched = unsafe { gpu.launch::<K>(name, shape, arguments) };
        match (&launched, &self.host) {
            (Ok(()), Some(host)) => host.log.launched(name, start_ns),
            (Ok(()), None) => {}
            // The next launch begins at the same slot, to which the base was moved.
            (Err(_), _) => self.attached.iter_mut().for_each(ModuleAttachment::take_back),
        }
        launched
    }

    /// Forgets all records and goes on: in the order of `stream` and without waiting for it if all launches
    /// are in it, or when all launches of the context have ended.
    pub(crate) fn reset(&mut self, stream: Option<CUstream>) -> Result<(), Error> {
        let _entered = Entered::new(self.context);
        if stream.is_none() {
            self.wait_for_all()?;
        }
        let raw = stream.unwrap_or(std::ptr::null_mut());
        if let Some(clocks) = &mut self.clocks {
            clocks.forget_in(raw)?;
        }
        for attached in &mut self.attached {
            attached.reset(raw)?;
        }
        self.host.iter().for_each(|host| host.log.reset());
        if stream.is_none() {
            // Streams that do not wait for the default stream must find all of this done.
            driver::synchronize_context()?;
        }
        Ok(())
    }

    /// Waits for the launches and reads their records back. `own` is the stream of all launches, if there
    /// is one.
    pub(crate) fn capture(&mut self, own: Option<CUstream>) -> Result<Capture, Error> {
        let _entered = Entered::new(self.context);
        match own {
            Some(stream) => driver::synchronize(stream)?,
            None => self.wait_for_all()?,
        }
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
            host: self.host.as_ref().map(|host| host.log.capture(None)).unwrap_or_default(),
            ..Capture::default()
        })
    }

    /// Waits for all streams of the context. Clocks are kept no longer then: the kernel that reads them would
    /// be waited for, too.
    fn wait_for_all(&mut self) -> Result<(), Error> {
        self.clocks.as_mut().map(ClockKeepers::end).transpose()?;
        driver::synchronize_context()
    }
}

impl Drop for GpuSession<'_> {
    fn drop(&mut self) {
        // The program may have made another context current since, and goes on in that.
        let _entered = Entered::new(self.context);
        self.clocks = None;
        self.attached.clear();
        self.host = None;
    }
}
