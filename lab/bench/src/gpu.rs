//! The GPU: its module, a stream, memory, and launches of the template.

use std::ffi::c_void;

use cust::context::Context;
use cust::device::{Device, DeviceAttribute};
use cust::event::{Event, EventFlags};
use cust::function::{BlockSize, Function, FunctionAttribute};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use profiler_bench_kernels::{WARP, kernel_name};

use crate::Error;
use crate::schemes::{Kernels, Scheme};

/// Kernels that are loaded.
#[derive(Debug)]
pub struct Loaded {
    /// The module.
    pub module: Module,
    /// The PTX that it is of.
    pub ptx: &'static str,
}

impl Loaded {
    fn new(ptx: Option<&'static str>) -> Result<Self, Error> {
        let ptx = ptx.ok_or(Error::NoPtx)?;
        let module = Module::from_ptx(ptx, &[]).map_err(Error::cuda("loading the kernels"))?;
        Ok(Self { module, ptx })
    }

    /// A kernel of this name.
    ///
    /// # Errors
    ///
    /// The module has none.
    pub fn function(&self, name: &str) -> Result<Function<'_>, Error> {
        self.module.get_function(name).map_err(|error| Error::Cuda {
            doing: "finding a kernel",
            reason: format!("{name}: {error}"),
        })
    }
}

/// A GPU with the kernels loaded.
#[derive(Debug)]
pub struct Gpu {
    /// All kernels that are in no other module.
    pub kernels: Loaded,
    /// The other modules that are loaded.
    others: Vec<(Kernels, Loaded)>,
    /// All launches go through it.
    pub stream: Stream,
    /// The GPU's name.
    pub name: String,
    /// How many SMs it has.
    pub sm_count: u32,
    /// The highest frequency of its SMs' clock, in MHz.
    pub clock_mhz: u32,
    _context: Context,
}

/// Shape of a launch, in warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Warps of a block.
    pub warps: u32,
    /// Blocks of the grid.
    pub count: u32,
}

impl Blocks {
    /// Warps of the grid.
    #[must_use]
    pub fn warps_of_grid(self) -> usize {
        self.warps as usize * self.count as usize
    }

    /// Threads of a block.
    #[must_use]
    pub fn threads(self) -> u32 {
        self.warps * WARP
    }
}

impl Gpu {
    /// Opens the first GPU and loads the kernels of these schemes.
    ///
    /// # Errors
    ///
    /// No driver, no GPU, no PTX.
    pub fn open(schemes: &[&Scheme]) -> Result<Self, Error> {
        let context = cust::quick_init().map_err(Error::cuda("opening the GPU"))?;
        let device = Device::get_device(0).map_err(Error::cuda("finding the GPU"))?;
        let sm_count = device
            .get_attribute(DeviceAttribute::MultiprocessorCount)
            .map_err(Error::cuda("counting the SMs"))?;
        let clock_khz = device
            .get_attribute(DeviceAttribute::ClockRate)
            .map_err(Error::cuda("asking for the frequency of the SMs"))?;
        let mut others = Vec::new();
        for (kernels, ptx) in [
            (Kernels::Hosted, crate::HOSTED_PTX),
            (Kernels::Rewritten, crate::rewritten()),
            (Kernels::Combinations, crate::COMBINATIONS_PTX),
            (Kernels::HostedCombinations, crate::HOSTED_COMBINATIONS_PTX),
        ] {
            if schemes.iter().any(|scheme| scheme.kernels == kernels) {
                others.push((kernels, Loaded::new(ptx)?));
            }
        }
        Ok(Self {
            name: device.name().map_err(Error::cuda("asking for the GPU's name"))?,
            sm_count: u32::try_from(sm_count).unwrap_or(0),
            clock_mhz: u32::try_from(clock_khz / 1000).unwrap_or(0),
            kernels: Loaded::new(crate::PTX)?,
            others,
            stream: Stream::new(StreamFlags::NON_BLOCKING, None)
                .map_err(Error::cuda("making a stream"))?,
            _context: context,
        })
    }

    /// The kernels that a scheme's are among, which must be one of those given to [`Gpu::open`].
    #[must_use]
    pub fn loaded(&self, scheme: &Scheme) -> &Loaded {
        let found = self.others.iter().find(|(kernels, _)| *kernels == scheme.kernels);
        found.map_or(&self.kernels, |(_, loaded)| loaded)
    }

    /// A kernel of a scheme.
    ///
    /// # Errors
    ///
    /// The module has none.
    pub fn kernel(&self, scheme: &Scheme, body: u32, recorded: u32) -> Result<Function<'_>, Error> {
        self.loaded(scheme).function(&kernel_name(scheme.kernel, body, recorded))
    }

    /// Waits for all launches.
    ///
    /// # Errors
    ///
    /// What a kernel failed with.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.stream.synchronize().map_err(Error::cuda("waiting for the kernels"))
    }

    /// Launches in the stream.
    ///
    /// # Safety
    ///
    /// `arguments` must be pointers to values of the types of the kernel's parameters, in order, and the
    /// values what the kernel asks for.
    ///
    /// # Errors
    ///
    /// What the driver says to the launch.
    pub unsafe fn launch(
        &self,
        function: &Function<'_>,
        blocks: Blocks,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        // SAFETY: the caller's; function and stream are live.
        let code = unsafe {
            sys::cuLaunchKernel(
                function.to_raw(),
                blocks.count,
                1,
                1,
                blocks.threads(),
                1,
                1,
                0,
                self.stream.as_inner(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        answer("launching a kernel", code)
    }

    /// An event that can be timed.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub fn event(&self) -> Result<Event, Error> {
        Event::new(EventFlags::DEFAULT).map_err(Error::cuda("making an event"))
    }

    /// Records an event in the stream.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub fn record(&self, event: &Event) -> Result<(), Error> {
        event.record(&self.stream).map_err(Error::cuda("recording an event"))
    }
}

/// Microseconds between two recorded events; waits for the second.
///
/// # Errors
///
/// What a kernel before it failed with.
pub fn microseconds(begin: &Event, end: &Event) -> Result<f64, Error> {
    end.synchronize().map_err(Error::cuda("waiting for an event"))?;
    let milliseconds = end.elapsed_time_f32(begin).map_err(Error::cuda("reading two events"))?;
    Ok(f64::from(milliseconds) * 1e3)
}

/// Registers of a kernel's thread.
///
/// # Errors
///
/// What the driver says.
pub fn registers(function: &Function<'_>) -> Result<u32, Error> {
    let registers = function
        .get_attribute(FunctionAttribute::NumRegisters)
        .map_err(Error::cuda("reading a kernel's registers"))?;
    Ok(u32::try_from(registers).unwrap_or(0))
}

/// How many such blocks an SM holds at once.
///
/// # Errors
///
/// What the driver says.
pub fn blocks_that_fit(function: &Function<'_>, blocks: Blocks) -> Result<u32, Error> {
    function
        .max_active_blocks_per_multiprocessor(BlockSize::x(blocks.threads()), 0)
        .map_err(Error::cuda("asking how many blocks fit an SM"))
}

pub(crate) fn answer(doing: &'static str, code: sys::CUresult) -> Result<(), Error> {
    match code {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(Error::Cuda { doing, reason: format!("{other:?}") }),
    }
}

/// Where the kernels of the template write.
#[derive(Debug)]
pub struct Memory {
    /// Two numbers a warp.
    cycles: DeviceBuffer<u64>,
    /// Buffer for all buffers, and so much more that they can be aligned.
    buffers: DeviceBuffer<u8>,
}

/// Buffers of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Bytes of each: a power of two.
    pub bytes: usize,
    /// How many there are.
    pub count: usize,
}

impl Buffers {
    fn total(self) -> usize {
        self.bytes * self.count
    }
}

impl Memory {
    /// Memory for launches of up to so many warps, with buffers of up to so many bytes in all, each of
    /// up to `buffer_bytes`.
    ///
    /// # Errors
    ///
    /// Too little memory.
    pub fn new(warps: usize, bytes: usize, buffer_bytes: usize) -> Result<Self, Error> {
        let doing = "taking memory for the records";
        Ok(Self {
            cycles: DeviceBuffer::zeroed(2 * warps).map_err(Error::cuda(doing))?,
            buffers: DeviceBuffer::zeroed(bytes + buffer_bytes).map_err(Error::cuda(doing))?,
        })
    }

    /// Where buffers of this size begin: at a multiple of it.
    fn base(&self, buffers: Buffers) -> u64 {
        self.buffers.as_device_ptr().as_raw().next_multiple_of(buffers.bytes.max(1) as u64)
    }

    fn holds(&self, buffers: Buffers) -> Result<(), Error> {
        let after =
            self.base(buffers) - self.buffers.as_device_ptr().as_raw() + buffers.total() as u64;
        if after <= self.buffers.len() as u64 {
            return Ok(());
        }
        Err(Error::Cuda {
            doing: "laying out the buffers",
            reason: format!("{buffers:?} do not fit {} bytes", self.buffers.len()),
        })
    }

    /// Zeroes these buffers, in the stream's order.
    ///
    /// # Errors
    ///
    /// What the driver says; buffers that do not fit.
    pub fn zero(&mut self, gpu: &Gpu, buffers: Buffers) -> Result<(), Error> {
        self.holds(buffers)?;
        if buffers.total() == 0 {
            return Ok(());
        }
        // SAFETY: within the allocation, as was just checked; what writes there is in one stream.
        let code = unsafe {
            sys::cuMemsetD8Async(self.base(buffers), 0, buffers.total(), gpu.stream.as_inner())
        };
        answer("zeroing the buffers", code)
    }

    /// Launches a kernel of the template.
    ///
    /// # Safety
    ///
    /// `function` must be a kernel of the template, and each of `buffers` must take all that its scheme
    /// writes in so many iterations.
    ///
    /// # Errors
    ///
    /// What the driver says; buffers that do not fit.
    pub unsafe fn launch(
        &mut self,
        gpu: &Gpu,
        function: &Function<'_>,
        blocks: Blocks,
        buffers: Buffers,
        iterations: u32,
    ) -> Result<(), Error> {
        self.holds(buffers)?;
        if self.cycles.len() < 2 * blocks.warps_of_grid() {
            return Err(Error::Cuda {
                doing: "laying out the cycles",
                reason: format!("there are {} for {blocks:?}", self.cycles.len()),
            });
        }
        let mut cycles = self.cycles.as_device_ptr().as_raw();
        let mut base = self.base(buffers);
        let mut buffer_bytes = u32::try_from(buffers.bytes).unwrap_or(u32::MAX);
        let mut iterations = iterations;
        let mut arguments = [
            (&raw mut cycles).cast::<c_void>(),
            (&raw mut base).cast(),
            (&raw mut buffer_bytes).cast(),
            (&raw mut iterations).cast(),
        ];
        // SAFETY: the template's four arguments; two numbers for each warp and buffers that lie in the
        // allocation, as was just checked; that they take all records is the caller's to see to.
        unsafe { gpu.launch(function, blocks, &mut arguments) }
    }

    /// Waits, and gives the cycles that the last launch took, one number for each warp.
    ///
    /// # Errors
    ///
    /// What the kernel failed with.
    pub fn cycles(&self, gpu: &Gpu, warps: usize) -> Result<Vec<u64>, Error> {
        gpu.synchronize()?;
        let mut pairs = vec![0; self.cycles.len()];
        self.cycles.copy_to(&mut pairs).map_err(Error::cuda("reading the cycles"))?;
        Ok(pairs.chunks_exact(2).take(warps).map(|pair| pair[0]).collect())
    }

    /// Waits, and gives what is in these buffers.
    ///
    /// # Errors
    ///
    /// What the kernel failed with; buffers that do not fit.
    pub fn read(&self, gpu: &Gpu, buffers: Buffers) -> Result<Vec<u8>, Error> {
        self.holds(buffers)?;
        gpu.synchronize()?;
        let mut bytes = vec![0; buffers.total()];
        // SAFETY: the target is a live slice of this length; the source lies in the allocation, as
        // was just checked.
        let code = unsafe {
            sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), self.base(buffers), bytes.len())
        };
        answer("reading the buffers", code)?;
        Ok(bytes)
    }
}
