//! Sessions of modules that the program loaded.

use std::ffi::c_void;

use super::{On, Session};
use crate::error::Error;
use crate::export::Output;
use crate::gpu::driver;
use crate::gpu::{AsFunction, AsModule, AsStream, GpuSession, RawStream};
use crate::launch::{Extent, Shape};
use crate::profiler::Profiler;

impl Profiler {
    /// Attaches a session to a loaded module: of `cust` the module itself, of `cudarc` any of its kernels, of others a
    /// [`RawModule`](crate::RawModule) or [`RawFunction`](crate::RawFunction). Every launch of its kernels is recorded until the session
    /// ends. `ptx` is the text that the module was loaded from.
    ///
    /// The program launches as it always does, in any streams. Only with
    /// [`Slots::Linear`](crate::Slots::Linear) it must announce each launch ([`Session::prepare`]). While
    /// this runs, and while the session ends, no other thread may launch kernels of the module: some of
    /// their records would be in the session.
    ///
    /// # Errors
    ///
    /// No context, or of `cust` one that is not the device's primary one; PTX without sites or of another version; a
    /// module that is not of this PTX or of another context; another session on the same module, too little device memory.
    pub fn attach<'m, M: AsModule + ?Sized>(
        &self,
        module: &'m M,
        ptx: &str,
    ) -> Result<Session<'m>, Error> {
        let mut output = Output::new(&self.options);
        driver::entered_context()?;
        // SAFETY: the session borrows what leads to it.
        let module = unsafe { module.raw_module(ptx) }?;
        let session = GpuSession::new(&self.options, module, ptx, false, &mut output.cost)?;
        let apart = self.options.apart;
        Ok(Session { on: On::Gpu(session), backend: None, apart, output })
    }
}

/// Methods of sessions on a GPU. On the emulator they are an [`Error::WrongSession`].
impl<'a> Session<'a> {
    /// Attaches the session to one more module, with the same options. If the session measures the cost
    /// of a record, the first module tells it, and the first one that has kernels with `buffer = host` the
    /// cost of their records.
    ///
    /// # Errors
    ///
    /// See [`Profiler::attach`]; [`Error::OtherContext`] if the calling thread's context is not the
    /// session's.
    pub fn attach_also<M: AsModule + ?Sized>(
        &mut self,
        module: &'a M,
        ptx: &str,
    ) -> Result<(), Error> {
        match &mut self.on {
            On::Gpu(session) => {
                session.check_context()?;
                // SAFETY: the session borrows what leads to it.
                let module = unsafe { module.raw_module(ptx) }?;
                session.attach_also(module, ptx)
            }
            On::Emulator(_) => Err(wrong("attach_also")),
        }
    }

    /// Announces a launch of this shape that follows in `stream`. Linear slots then move in stream order,
    /// without waiting for the device. With claimed slots this does nothing. Every launch of a session
    /// with linear slots must be announced, in its own shape. A CUDA graph's launches must be too, so it can
    /// be replayed only with claimed slots.
    ///
    /// A launch that was not announced, or in another shape, overwrites the slots of the one announced
    /// before it. If its records do not agree with that one's shape or place, reading back is an
    /// [`Error::UnannouncedLaunch`]. A launch of exactly the same shape right after it replaces its records
    /// and is not found out. If launches may be forgotten, claim slots.
    ///
    /// The launch takes slots in every module of the session, as it does not say whose kernel follows.
    /// [`prepare_kernel`](Self::prepare_kernel) takes them in one.
    ///
    /// # Errors
    ///
    /// [`Error::SeveralStreams`] with linear slots, if the last launch was in another stream.
    pub fn prepare(
        &mut self,
        stream: &impl AsStream,
        grid: impl Into<Extent>,
        block: impl Into<Extent>,
    ) -> Result<(), Error> {
        let shape = Shape::new(grid, block, 0);
        // SAFETY: it is used here alone.
        let stream = unsafe { stream.raw_stream() };
        let announced = self.gpu("prepare")?.announce(stream, shape, |_| true);
        self.salvaging(announced)
    }

    /// [Announces](Self::prepare) a launch of this kernel. It takes slots in its module alone.
    ///
    /// # Errors
    ///
    /// [`Error::NotAttached`] if the session is not attached to the module; see
    /// [`prepare`](Self::prepare).
    pub fn prepare_kernel(
        &mut self,
        kernel: &impl AsFunction,
        stream: &impl AsStream,
        grid: impl Into<Extent>,
        block: impl Into<Extent>,
    ) -> Result<(), Error> {
        // SAFETY: both are used here alone.
        let (kernel, stream) = unsafe { (kernel.raw_function(), stream.raw_stream()) };
        self.gpu("prepare_kernel")?;
        let module = kernel.module();
        let module = self.salvaging(module)?;
        let session = self.gpu("prepare_kernel")?;
        if !session.is_attached_to(module) {
            return Err(Error::NotAttached);
        }
        let shape = Shape::new(grid, block, 0);
        let announced = session.announce(stream, shape, |attached| attached.is_of(module));
        self.salvaging(announced)
    }

    /// [Announces](Self::prepare) a launch in the module of the kernel alone, and makes it. `cust`'s own
    /// `launch!` after [`prepare`](Self::prepare) does the same, and checks the number of arguments.
    ///
    /// # Safety
    ///
    /// `arguments` must be pointers to values of the types of the kernel's parameters, in order,
    /// and the values must be what the kernel asks for.
    ///
    /// # Errors
    ///
    /// See [`prepare`](Self::prepare); CUDA errors.
    pub unsafe fn launch(
        &mut self,
        function: &impl AsFunction,
        shape: Shape,
        stream: &impl AsStream,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        // SAFETY: both are used here alone.
        let (function, stream) = unsafe { (function.raw_function(), stream.raw_stream()) };
        // SAFETY: the caller's.
        let launched = unsafe { self.gpu("launch")?.launch(function, shape, stream, arguments) };
        self.salvaging(launched)
    }

    /// Ends [`keep_clocks`](Self::keep_clocks) when `stream` comes to here: after the kernels that were
    /// launched in it before. Waits for nothing.
    ///
    /// # Errors
    ///
    /// CUDA errors.
    pub fn stop_clocks_after(&mut self, stream: &impl AsStream) -> Result<(), Error> {
        // SAFETY: it is used here alone.
        self.stop_clocks_in(Some(unsafe { stream.raw_stream() }))
    }

    pub(super) fn stop_clocks_in(&mut self, stream: Option<RawStream>) -> Result<(), Error> {
        match &mut self.on {
            On::Gpu(session) => {
                let stopped = session.stop_clocks(stream);
                self.salvaging(stopped)
            }
            On::Emulator(_) => Ok(()),
        }
    }

    fn gpu(&mut self, method: &'static str) -> Result<&mut GpuSession<'a>, Error> {
        match &mut self.on {
            On::Gpu(session) => Ok(session),
            On::Emulator(_) => Err(wrong(method)),
        }
    }
}

fn wrong(method: &'static str) -> Error {
    Error::WrongSession { method, of: "modules on a GPU (Profiler::attach)" }
}
