//! One module that a session is attached to: its descriptor, its arrays, its sites.

use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

use profiler_cuda_driver::sys::{CUfunction, CUstream};
use profiler_trace::{DeviceInfo, ModuleCapture, SiteTable};
use profiler_wire::descriptor::{self, offset};
use profiler_wire::symbol::DESCRIPTOR;

use super::driver;
use super::handles::RawModule;
use super::record_memory::RecordMemory;
use crate::arrays::Arrays;
use crate::error::Error;
use crate::layout::Layout;
use crate::live::{LiveArrays, WatchedModule};
use crate::options::Options;

/// How many kernels an error names.
const NAMED_KERNELS: usize = 8;

/// Held by who looks whether a descriptor is empty until he has filled it, and by who empties one: modules
/// may be shared between threads, and two of them may attach to one at the same time. Nobody waits for
/// kernels while he holds it: those may wait for what another thread launches once it has attached.
static DESCRIPTORS: Mutex<()> = Mutex::new(());

fn descriptors() -> MutexGuard<'static, ()> {
    // It guards nothing that a panic could leave in pieces.
    DESCRIPTORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A module with a filled descriptor. Dropping it empties the descriptor and frees the arrays.
#[derive(Debug)]
pub(crate) struct ModuleAttachment<'m> {
    /// Address of the descriptor in the module's constant memory.
    symbol: u64,
    arrays: Arrays,
    memory: RecordMemory,
    sites: SiteTable,
    /// `slot_base` as it will be when what was enqueued so far has run.
    slot_base: u32,
    _module: PhantomData<&'m ()>,
}

/// The names of the kernels in a PTX text.
pub(crate) fn entry_names(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.lines().filter_map(|line| {
        let (before, name) = line.split_once(".entry ")?;
        if before.contains("//") {
            return None;
        }
        name.split(|c: char| c == '(' || c.is_whitespace()).find(|name| !name.is_empty())
    })
}

/// A kernel of the module.
pub(crate) fn function(module: RawModule, ptx: &str, name: &str) -> Result<CUfunction, Error> {
    match module.function(name)? {
        Some(function) => Ok(function),
        None => {
            let names: Vec<&str> = entry_names(ptx).collect();
            let mut available = match names.len() {
                0 => "none".to_owned(),
                count => names[..count.min(NAMED_KERNELS)].join(", "),
            };
            if names.len() > NAMED_KERNELS {
                available += &format!(" and {} more", names.len() - NAMED_KERNELS);
            }
            Err(Error::NoKernel { name: name.to_owned(), available })
        }
    }
}

/// The address of the descriptor of a module of the current context.
fn find_descriptor(module: RawModule) -> Result<u64, Error> {
    match driver::symbol(module, DESCRIPTOR)? {
        // An address is valid in all contexts, so that nothing else would fail before a kernel does.
        Some((address, descriptor::BYTES)) => {
            if driver::context_of(address)? == driver::current_context()? {
                Ok(address)
            } else {
                Err(Error::Context(
                    "the module was loaded in another CUDA context than the calling thread's, on another GPU perhaps, \
                     whose kernels cannot record in memory of this one; make the module's context current \
                     (`CudaContext::bind_to_thread` of cudarc, `CurrentContext::set_current` of cust) before the \
                     session begins",
                ))
            }
        }
        _ => Err(Error::NoDescriptor),
    }
}

/// Refuses the descriptor of a module that another session has filled.
fn require_empty(symbol: u64) -> Result<(), Error> {
    let mut version = [0; 4];
    driver::copy_to_host(symbol + u64::from(offset::VERSION), &mut version)?;
    if u32::from_le_bytes(version) == 0 { Ok(()) } else { Err(Error::AlreadyAttached) }
}

impl<'m> ModuleAttachment<'m> {
    /// Attaches to a module. `announced` says whether all launches pass through the session. Records go to
    /// memory of the host where the module has a kernel that asks for that.
    pub(crate) fn new(
        options: &Options,
        module: RawModule,
        ptx: &str,
        device: &DeviceInfo,
        announced: bool,
    ) -> Result<Self, Error> {
        let sites = SiteTable::from_ptx(ptx)?;
        let in_host = sites.needs_host_memory();
        Self::with_sites(options, module, sites, in_host, device, announced)
    }

    /// Attaches to a module that has these sites; `in_host` says whether records go to memory of the host.
    pub(crate) fn with_sites(
        options: &Options,
        module: RawModule,
        sites: SiteTable,
        in_host: bool,
        device: &DeviceInfo,
        announced: bool,
    ) -> Result<Self, Error> {
        let symbol = find_descriptor(module)?;
        // Kernels that still run must see the descriptor as it was when they were launched.
        driver::synchronize_context()?;
        require_empty(symbol)?;
        let lanes = options.lane_buffers.unwrap_or_else(|| sites.needs_lanes());
        let claimed = options.claims(announced, device.sm_count);
        let layout = Layout::new(options, lanes, claimed, device.sm_count)?;
        let memory = RecordMemory::new(in_host, layout.bytes_to_allocate(), || layout.help())?;
        let base = layout.base(memory.address());
        let arrays = Arrays::new(options.clone(), layout, base);
        arrays.prepare(&memory)?;
        {
            let _alone = descriptors();
            // Another thread may have attached meanwhile.
            require_empty(symbol)?;
            driver::copy_to_device(symbol, &arrays.descriptor.to_bytes())?;
        }
        let attached = Self { symbol, arrays, memory, sites, slot_base: 0, _module: PhantomData };
        // Streams that do not wait for the default stream must find all of this done.
        driver::synchronize_context()?;
        Ok(attached)
    }

    /// Takes slots for a launch that follows in `stream`.
    pub(crate) fn announce(
        &mut self,
        grid: [u32; 3],
        block: [u32; 3],
        stream: CUstream,
    ) -> Result<(), Error> {
        let base = self.arrays.announce(grid, block);
        self.move_base(base, stream)
    }

    /// Takes back the last launch that was announced.
    pub(crate) fn take_back(&mut self) {
        self.arrays.take_back();
    }

    fn move_base(&mut self, base: u32, stream: CUstream) -> Result<(), Error> {
        if self.arrays.is_linear() && base != self.slot_base {
            driver::set_word(self.symbol + u64::from(offset::SLOT_BASE), base, stream)?;
            self.slot_base = base;
        }
        Ok(())
    }

    pub(crate) fn read_back(&self) -> Result<ModuleCapture, Error> {
        self.arrays.read_back(&self.memory, self.sites.clone())
    }

    /// Checks the guards where they outlive a kernel that fails: in memory of the host.
    pub(crate) fn check_guards_of_host(&self) -> Result<(), Error> {
        match &self.memory {
            RecordMemory::Mapped(_) => self.arrays.check_guards(&self.memory),
            RecordMemory::Device(_) => Ok(()),
        }
    }

    /// A view of the module for who watches.
    pub(crate) fn watched(&self) -> WatchedModule {
        let (sites, descriptor) = (self.sites.clone(), self.arrays.descriptor);
        match &self.memory {
            RecordMemory::Mapped(mapped) => WatchedModule::Live(LiveArrays::new(
                mapped.memory().clone(),
                self.memory.address(),
                &self.arrays.layout,
                descriptor,
                Some(sites),
            )),
            RecordMemory::Device(_) => WatchedModule::Unreadable(ModuleCapture {
                sites,
                descriptor,
                ..ModuleCapture::default()
            }),
        }
    }

    /// Forgets all records, in the order of `stream`.
    pub(crate) fn reset(&mut self, stream: CUstream) -> Result<(), Error> {
        if self.arrays.has_guards() {
            // They are written past all streams.
            driver::synchronize_context()?;
            self.arrays.prepare(&self.memory)?;
        } else {
            self.memory.zero(stream)?;
        }
        self.arrays.reset_at(self.arrays.layout.base(self.memory.address()));
        self.move_base(0, stream)
    }
}

impl Drop for ModuleAttachment<'_> {
    fn drop(&mut self) {
        // The descriptor must be empty before the arrays are freed, and no kernel may still write
        // to them. If either fails, the context is lost, and the module and its memory with it.
        if driver::synchronize_context().is_ok() {
            let _alone = descriptors();
            let empty = descriptor::Descriptor::default().to_bytes();
            let _lost_context = driver::copy_to_device(self.symbol, &empty);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_in_ptx() {
        let ptx = "//\n.version 8.0\n// .entry not_this(\n.visible .entry first(\n\t.param .u64 a\n)\n\
                   .entry second ()\n.func helper()\n";
        assert_eq!(entry_names(ptx).collect::<Vec<_>>(), ["first", "second"]);
    }
}
