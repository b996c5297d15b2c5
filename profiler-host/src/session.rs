//! A session, from the descriptor to the capture: the same calls on the GPU and on the emulator.

#[cfg(feature = "cuda")]
mod modules;

use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "cuda")]
use profiler_cuda_driver::sys::CUstream;
#[cfg(feature = "cuda")]
use profiler_trace::CaptureEnd;
use profiler_trace::{Capture, DeviceInfo, RecordCost, Trace};

use crate::backend::{Backend, Device};
use crate::emulator::EmulatorSession;
use crate::error::Error;
use crate::export::Output;
#[cfg(feature = "cuda")]
use crate::gpu::GpuSession;
use crate::launch::{Kernel, Shape};
use crate::live::Watch;
use crate::options::Cost;
use crate::profiler::Profiler;

impl Backend {
    /// Attaches a session. Every launch through it is recorded. [`Slots::Auto`](crate::Slots::Auto) says how
    /// warps find their slots.
    ///
    /// # Errors
    ///
    /// PTX without sites or of another version, another session on the same backend, too little
    /// memory.
    pub fn session(&self, profiler: &Profiler) -> Result<Session<'_>, Error> {
        let options = &profiler.options;
        if self.has_session.get() {
            return Err(Error::AlreadyAttached);
        }
        let mut output = Output::new(options);
        let on = match &self.device {
            #[cfg(feature = "cuda")]
            Device::Gpu(gpu) => On::Gpu(gpu.session(options, &mut output.cost)?),
            Device::Emulator(device) => {
                if options.record_cost == Cost::Measure {
                    output.cost = Some(device.record_cost()?);
                }
                On::Emulator(EmulatorSession::new(device, options)?)
            }
        };
        self.has_session.set(true);
        Ok(Session { on, backend: Some(self), output })
    }
}

/// A profiling session. Kernels record while it lives.
///
/// | made by | of | launches |
/// |---|---|---|
/// | [`Backend::session`] | a GPU or the emulator | by [`launch!`](crate::launch) |
/// | `Profiler::attach` | modules that the program loaded | by the program, as ever |
///
/// A session that is dropped waits for the device and detaches. If
/// [`export_on_drop`](Self::export_on_drop) was called, it writes its trace.
///
/// A session of modules does this in the context that was current when it was made; then the thread's
/// own context is current again. It borrows its modules, so that none is unloaded before it ends:
///
/// ```compile_fail,E0505
/// # use profiler_host::{Error, Profiler};
/// # fn unload(profiler: Profiler, module: Box<dyn profiler_host::AsModule>, ptx: &str) -> Result<(), Error> {
/// let session = profiler.attach(&*module, ptx)?;
/// drop(module);
/// drop(session);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Session<'a> {
    on: On<'a>,
    /// `None` for modules of the program's own.
    backend: Option<&'a Backend>,
    output: Output,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "sessions are few")]
enum On<'a> {
    #[cfg(feature = "cuda")]
    Gpu(GpuSession<'a>),
    Emulator(EmulatorSession<'a>),
}

impl<'a> Session<'a> {
    /// The device that the session runs on.
    #[must_use]
    pub fn device(&self) -> DeviceInfo {
        match &self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session) => session.device().clone(),
            On::Emulator(session) => session.device(),
        }
    }

    /// The cost of a record, if it was given or measured.
    #[must_use]
    pub fn record_cost(&self) -> Option<RecordCost> {
        self.output.cost
    }

    /// Launches a kernel; [`launch!`](crate::launch) expands to this.
    ///
    /// # Safety
    ///
    /// The arguments and the shape must be what the kernel asks for.
    ///
    /// # Errors
    ///
    /// See [`launch!`](crate::launch); [`Error::WrongSession`] if the session is one of modules.
    pub unsafe fn launch_kernel<K: Kernel>(
        &mut self,
        name: &'static str,
        shape: Shape,
        kernel: K,
        arguments: K::Arguments,
    ) -> Result<(), Error> {
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session) => {
                let Some(gpu) = self.backend.and_then(Backend::gpu) else {
                    return Err(Error::WrongSession {
                        method: "launch!",
                        of: "a backend (Backend::session)",
                    });
                };
                // SAFETY: the caller's.
                let launched = unsafe { session.launch_on::<K>(gpu, name, shape, arguments) };
                self.salvaging(launched)
            }
            On::Emulator(session) => {
                // SAFETY: the caller's.
                unsafe { session.launch(name, shape, kernel, arguments) }
            }
        }
    }

    /// A view of the records so far. Any thread may read it while kernels run. On a GPU it shows the
    /// kernels with `#[profiled(buffer = host)]`. On the emulator it shows all kernels, and a launch
    /// returns when the kernel has ended.
    ///
    /// # Errors
    ///
    /// [`Error::NotWatchable`] if the modules have no such kernel.
    pub fn watch(&self) -> Result<Watch, Error> {
        let (modules, host) = match &self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session) => session.watched(),
            On::Emulator(session) => session.watched(),
        };
        Watch::new(self.device(), modules, &self.output, host)
    }

    /// Keeps the clocks of all SMs. From here on a kernel of the session's own, one thread on each SM,
    /// reads `%clock64` and `%globaltimer` every 50 µs. Times are then as exact in the middle of a long
    /// kernel as at its begin and end, without `profile_anchor!`. (For more than a second it reads less
    /// often, 20 000 times in all.) The emulator's clocks do not wander, so there it does nothing.
    ///
    /// It ends after [`stop_clocks`](Self::stop_clocks), when records are read back or forgotten, when it
    /// is called again, or after `at_most`, whichever is first. A session of modules does not know in which
    /// streams its kernels run: wait for them before reading back.
    ///
    /// Call it before the kernels are launched. It waits until every SM has its thread. Until it ends
    ///
    /// * a block of that thread is on each SM, which has a little less room for others: a kernel that
    ///   needs all of an SM's shared memory or registers, or whose blocks wait for each other and fill the
    ///   GPU, begins or goes on only afterwards;
    /// * a wait for the whole device waits for it too (`cuCtxSynchronize`, freeing device memory).
    ///
    /// So give it no more time than the kernels need. The note `clock-unread` says if a clock was not read
    /// for long.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use profiler_host::{Backend, BackendChoice, Profiler, launch};
    ///
    /// mod kernels {
    ///     pub unsafe fn simulate(out: *mut u32) {
    ///         unsafe { *out = 1 };
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), profiler_host::Error> {
    /// let backend = Backend::choose(BackendChoice::Emulator, None)?;
    /// let mut out = backend.zeroed::<u32>(1)?;
    /// let mut session = backend.session(&Profiler::builder().build()?)?;
    /// session.keep_clocks(Duration::from_millis(100))?;
    /// // SAFETY: the kernel writes one number.
    /// unsafe { launch!(session, kernels::simulate<<<1, 1>>>(out.as_mut_ptr())) }?;
    /// session.stop_clocks()?;
    /// let trace = session.finish()?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `Error::ClocksNotKept` if other kernels fill the GPU for a second and until one of their blocks has
    /// ended; `Error::Context` if the calling thread's context is not the session's; too little memory
    /// (16 bytes a reading and SM, page-locked on the host); CUDA errors.
    pub fn keep_clocks(&mut self, at_most: Duration) -> Result<(), Error> {
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session) => {
                let kept = session.keep_clocks(at_most);
                self.salvaging(kept)
            }
            On::Emulator(_) => {
                let _nothing_to_keep = at_most;
                Ok(())
            }
        }
    }

    /// Ends [`keep_clocks`](Self::keep_clocks), without waiting: on a backend after the launches so far, in
    /// a session of modules now.
    ///
    /// # Errors
    ///
    /// CUDA errors.
    pub fn stop_clocks(&mut self) -> Result<(), Error> {
        #[cfg(feature = "cuda")]
        let stream = self.own_stream();
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session) => {
                let stopped = session.stop_clocks(stream);
                self.salvaging(stopped)
            }
            On::Emulator(_) => Ok(()),
        }
    }

    /// Forgets all records and goes on. A session of modules waits for all launches of its context first.
    ///
    /// # Errors
    ///
    /// CUDA errors, or too little memory.
    pub fn reset(&mut self) -> Result<(), Error> {
        #[cfg(feature = "cuda")]
        let stream = self.own_stream();
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session) => {
                let reset = session.reset(stream);
                self.salvaging(reset)
            }
            On::Emulator(session) => session.reset(),
        }
    }

    /// Waits for the launches and reads their records back, undecoded. A session of modules waits for all
    /// streams of the context in which it began.
    ///
    /// # Errors
    ///
    /// CUDA errors; `Error::KernelFailed`, which holds the records of kernels with `buffer = host`
    /// ([`Error::salvaged`]).
    pub fn capture(&mut self) -> Result<Capture, Error> {
        #[cfg(feature = "cuda")]
        let stream = self.own_stream();
        let capture = match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session) => {
                let capture = session.capture(stream);
                self.salvaging(capture)
            }
            On::Emulator(session) => session.capture(),
        };
        Ok(Capture { record_cost: self.output.cost, ..capture? })
    }

    /// Decodes a [`capture`](Self::capture) as the profiler's options ask.
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
    pub fn trace(&mut self) -> Result<Trace, Error> {
        let capture = self.capture()?;
        Ok(self.decode(&capture))
    }

    /// Like [`trace`](Self::trace), and then [resets](Self::reset): one trace per iteration.
    ///
    /// # Errors
    ///
    /// See [`capture`](Self::capture).
    pub fn take_trace(&mut self) -> Result<Trace, Error> {
        let trace = self.trace()?;
        self.reset()?;
        Ok(trace)
    }

    /// Ends the session: waits for the launches, reads their records back, decodes them, and detaches. If
    /// [`export_on_drop`](Self::export_on_drop) was called, it writes the file, also with the records that
    /// a failed kernel left. A session ends once; [`trace`](Self::trace) reads records before that:
    ///
    /// ```compile_fail,E0382
    /// # use profiler_host::{Error, Session};
    /// # fn twice(session: Session<'_>) -> Result<(), Error> {
    /// session.finish()?;
    /// session.finish()?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// See [`capture`](Self::capture), [`crate::write_trace`] and [`Capture::write`].
    pub fn finish(mut self) -> Result<Trace, Error> {
        let capture = self.capture().inspect_err(|error| self.output.salvage(error))?;
        self.output.finish(capture)
    }

    /// Writes a file when the session is finished or dropped: the capture if the name ends in `.capture`,
    /// the trace otherwise. [`set_export`](Self::set_export) and [`crate::set_export`] switch it off. A
    /// failure during a drop is printed to standard error.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownFormat`] if the name ends in none of `.pftrace`, `.json` and `.capture`;
    /// [`Error::Export`] if there is no such folder.
    pub fn export_on_drop(&mut self, path: impl Into<PathBuf>) -> Result<(), Error> {
        self.output.set_path(path.into())
    }

    /// Switches this session's export on drop on or off.
    pub fn set_export(&mut self, export: bool) {
        self.output.export = export;
    }

    fn export_now(&mut self) -> Result<(), Error> {
        let Some(path) = self.output.take_path() else { return Ok(()) };
        match self.capture() {
            Ok(capture) => self.output.export(&capture, path),
            Err(error) => {
                let Some(capture) = error.salvaged() else { return Err(error) };
                self.output.export(capture, path)?;
                match error {
                    // The capture says that a kernel failed, but nothing of guards.
                    #[cfg(feature = "cuda")]
                    Error::KernelFailed { overwritten: Some(guards), .. } => Err(*guards),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Adds to the error of a failed kernel what outlives it: the records in host memory, the sites of all
    /// modules, the host's spans, and whether guards in host memory were overwritten.
    #[cfg(feature = "cuda")]
    fn salvaging<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.map_err(|error| match (error, &self.on) {
            (Error::KernelFailed { reason, code, salvaged: None, .. }, On::Gpu(session)) => {
                let watch = self.watch().ok();
                let end = CaptureEnd::Failed { code };
                let capture = watch.and_then(|watch| watch.capture_at(end).ok());
                let overwritten = session.check_guards_of_host().err().map(Box::new);
                Error::KernelFailed { reason, code, salvaged: capture.map(Box::new), overwritten }
            }
            (error, _) => error,
        })
    }

    /// The stream of the session's launches, if they are those of a backend on a GPU.
    #[cfg(feature = "cuda")]
    fn own_stream(&self) -> Option<CUstream> {
        Some(self.backend?.gpu()?.stream())
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        Output::report(self.export_now());
        if let Some(backend) = self.backend {
            backend.has_session.set(false);
        }
    }
}
