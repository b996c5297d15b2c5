//! A session on a [`Backend`]: the same calls on the GPU and on the emulator.

use std::path::PathBuf;
use std::time::Duration;

use profiler_device::DescriptorPtr;
use profiler_trace::{Capture, DeviceInfo, RecordCost, Trace};

use crate::backend::{Backend, Device};
use crate::emulator_session::EmulatorSession;
use crate::error::Error;
use crate::launch::{Kernel, Shape};
use crate::live::Watch;
use crate::profiler::Profiler;

impl Profiler {
    /// Attaches a session to a backend: every launch through the session is recorded. How warps find
    /// their slots, [`Slots::Auto`](crate::Slots::Auto) says, unless the profiler does.
    ///
    /// # Errors
    ///
    /// PTX without sites or of another version, another session on the same backend, too little
    /// memory.
    pub fn attach_backend<'b>(&self, backend: &'b Backend) -> Result<Session<'b>, Error> {
        Session::new(self, backend)
    }
}

/// A session on a [`Backend`]; made by [`Profiler::attach_backend`] or [`Backend::session`].
/// Kernels are launched by [`launch!`](crate::launch).
///
/// When it is dropped it waits for the device, detaches, and, where
/// [`export_on_drop`](Self::export_on_drop) was called, writes its trace.
#[derive(Debug)]
pub struct Session<'b> {
    on: On<'b>,
    backend: &'b Backend,
    /// Whether the module's own descriptor is left alone.
    apart: bool,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "sessions are few")]
enum On<'b> {
    #[cfg(feature = "cuda")]
    Gpu(crate::gpu::ModuleSession<'b>, &'b crate::backend::Gpu),
    Emulator(EmulatorSession<'b>),
}

impl<'b> Session<'b> {
    fn new(profiler: &Profiler, backend: &'b Backend) -> Result<Self, Error> {
        let apart = profiler.options.apart;
        if !apart && backend.has_session() {
            return Err(Error::AlreadyAttached);
        }
        let on = match backend.device() {
            #[cfg(feature = "cuda")]
            Device::Gpu(gpu) => {
                let mut session = gpu.session(&profiler.options)?;
                if apart {
                    session.close(gpu.stream())?;
                }
                On::Gpu(session, gpu)
            }
            Device::Emulator(device) => {
                On::Emulator(EmulatorSession::new(device, &profiler.options)?)
            }
        };
        if !apart {
            backend.set_has_session(true);
        }
        Ok(Self { on, backend, apart })
    }

    /// What the session runs on.
    #[must_use]
    pub fn device(&self) -> DeviceInfo {
        self.backend.device_info()
    }

    /// What a record costs, if it was given or measured.
    #[must_use]
    pub fn record_cost(&self) -> Option<RecordCost> {
        match &self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, _) => session.record_cost(),
            On::Emulator(session) => session.output.cost,
        }
    }

    /// The descriptor to give to kernels that take it as a parameter, where the profiler was told to
    /// profile [apart](crate::ProfilerBuilder::apart); elsewhere null, which records nothing.
    #[must_use]
    pub fn descriptor(&self) -> DescriptorPtr {
        match &self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, _) => session.descriptor(),
            On::Emulator(session) => session.descriptor(),
        }
    }

    /// Launches a kernel; [`launch!`](crate::launch) expands to this.
    ///
    /// # Safety
    ///
    /// What the kernel asks of its arguments and of the shape.
    ///
    /// # Errors
    ///
    /// See [`launch!`](crate::launch).
    pub unsafe fn launch_kernel<K: Kernel>(
        &mut self,
        name: &'static str,
        shape: Shape,
        kernel: K,
        arguments: K::Arguments,
    ) -> Result<(), Error> {
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, gpu) => {
                let start_ns = session.host_now_ns();
                session.prepare(gpu.stream(), shape.grid, shape.block)?;
                // SAFETY: the caller's.
                let launched = unsafe { gpu.launch::<K>(name, shape, arguments) };
                match launched {
                    Ok(()) => session.launched(name, start_ns),
                    Err(_) => session.take_back(|_| true),
                }
                if self.apart {
                    session.close(gpu.stream())?;
                }
                launched
            }
            On::Emulator(session) => {
                // SAFETY: the caller's.
                unsafe { session.launch(name, shape, kernel, arguments) }
            }
        }
    }

    /// A view of what the session's kernels have recorded so far, for any thread, while they run:
    /// those with `#[profiled(buffer = host)]`; on the emulator, where a launch returns when the kernel
    /// has ended, all.
    ///
    /// # Errors
    ///
    /// `Error::NotWatchable`, where no such kernel is in the module.
    pub fn watch(&self) -> Result<Watch, Error> {
        match &self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, _) => session.watch(),
            On::Emulator(session) => Ok(session.watch()),
        }
    }

    /// Keeps the clocks of all SMs: from here on a kernel of the session's own, one thread on each SM, reads
    /// both of its clocks every 50 µs, so that times are as exact anywhere in a long kernel as where its
    /// warps enter and leave, without `profile_anchor!` in it. `ModuleSession::keep_clocks` says more, and for
    /// which kernels it is not. It ends when the launches up to [`stop_clocks`](Self::stop_clocks) have, when
    /// records are read back or forgotten, or after `at_most`. On the emulator, whose clocks do not wander,
    /// nothing need be kept.
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
    /// `Error::ClocksNotKept`, where other kernels fill the GPU; too little memory, what CUDA says.
    pub fn keep_clocks(&mut self, at_most: Duration) -> Result<(), Error> {
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, _) => session.keep_clocks(at_most),
            On::Emulator(_) => {
                let _nothing_to_keep = at_most;
                Ok(())
            }
        }
    }

    /// Ends what [`keep_clocks`](Self::keep_clocks) began, after the launches so far. Waits for nothing.
    ///
    /// # Errors
    ///
    /// What CUDA says.
    pub fn stop_clocks(&mut self) -> Result<(), Error> {
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, gpu) => session.stop_clocks(gpu.stream()),
            On::Emulator(_) => Ok(()),
        }
    }

    /// Forgets all records and goes on.
    ///
    /// # Errors
    ///
    /// What CUDA says, or too little memory.
    pub fn reset(&mut self) -> Result<(), Error> {
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, gpu) => {
                session.reset(gpu.stream())?;
                if self.apart {
                    session.close(gpu.stream())?;
                }
                Ok(())
            }
            On::Emulator(session) => session.reset(),
        }
    }

    /// Waits for the launches and reads their records back, undecoded.
    ///
    /// # Errors
    ///
    /// [`Error::UnannouncedLaunch`], where a kernel was given the session's
    /// [`descriptor`](Self::descriptor) in a launch past the session and slots are linear;
    /// `Error::KernelFailed`, which holds what kernels with `buffer = host` had recorded
    /// ([`Error::salvaged`]); what CUDA says.
    pub fn capture(&mut self) -> Result<Capture, Error> {
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, gpu) => session.capture(gpu.stream()),
            On::Emulator(session) => session.capture(),
        }
    }

    /// Decodes what [`capture`](Self::capture) gave, as the profiler's options ask.
    #[must_use]
    pub fn decode(&self, capture: &Capture) -> Trace {
        match &self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, _) => session.decode(capture),
            On::Emulator(session) => session.output.decode(capture),
        }
    }

    /// Waits for the launches, reads their records back and decodes them. The records stay; see
    /// [`take_trace`](Self::take_trace).
    ///
    /// # Errors
    ///
    /// See [`capture`](Self::capture).
    pub fn trace(&mut self) -> Result<Trace, Error> {
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, gpu) => session.trace(gpu.stream()),
            On::Emulator(session) => session.trace(),
        }
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

    /// Ends the session: waits for the launches, reads their records back, decodes them, exports
    /// them where [`export_on_drop`](Self::export_on_drop) was called, and detaches. A session ends
    /// once; [`trace`](Self::trace) reads what is there before that:
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
        let capture = self.capture();
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, _) => session.finish_capture(capture),
            On::Emulator(session) => session.output.finish(capture?),
        }
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
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, _) => session.export_on_drop(path),
            On::Emulator(session) => session.export_on_drop(path.into()),
        }
    }

    /// Switches this session's export on drop on or off.
    pub fn set_export(&mut self, export: bool) {
        match &mut self.on {
            #[cfg(feature = "cuda")]
            On::Gpu(session, _) => session.set_export(export),
            On::Emulator(session) => session.output.export = export,
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if !self.apart {
            self.backend.set_has_session(false);
        }
    }
}
