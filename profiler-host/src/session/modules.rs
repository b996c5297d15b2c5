//! Sessions of modules that the program loaded.

use super::{On, Session};
use crate::error::Error;
use crate::export::Output;
use crate::gpu::driver;
use crate::gpu::{AsModule, GpuSession};
use crate::options::Slots;
use crate::profiler::Profiler;

impl Profiler {
    /// Attaches a session to a loaded module: of `cust` the module itself, of `cudarc` any of its kernels, of others a
    /// [`RawModule`](crate::RawModule) or [`RawFunction`](crate::RawFunction). Every launch of its kernels is recorded until the session
    /// ends. `ptx` is the text that the module was loaded from.
    ///
    /// The program launches as it always does, in any streams. While this runs, and while the session ends,
    /// no other thread may launch kernels of the module: some of their records would be in the session.
    ///
    /// # Errors
    ///
    /// [`Slots::Linear`](crate::Slots::Linear); no context, or of `cust` one that is not the device's primary
    /// one; PTX without sites or of another version; a module that is not of this PTX or of another context;
    /// another session on the same module, too little device memory.
    pub fn attach<'m, M: AsModule + ?Sized>(
        &self,
        module: &'m M,
        ptx: &str,
    ) -> Result<Session<'m>, Error> {
        if self.options.slots == Slots::Linear {
            return Err(Error::Options(
                "slots(Slots::Linear) needs a session that makes all launches, as that of a Backend does; leave \
                 the option out: warps of modules that the program launches claim their slots"
                    .to_owned(),
            ));
        }
        let mut output = Output::new(&self.options);
        driver::entered_context()?;
        // SAFETY: the session borrows what leads to it.
        let module = unsafe { module.raw_module(ptx) }?;
        let session = GpuSession::new(&self.options, module, ptx, false, &mut output.cost)?;
        Ok(Session { on: On::Gpu(session), backend: None, output })
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
    /// See [`Profiler::attach`]; [`Error::Context`] if the calling thread's context is not the
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
            On::Emulator(_) => Err(Error::WrongSession {
                method: "attach_also",
                of: "modules on a GPU (Profiler::attach)",
            }),
        }
    }
}
