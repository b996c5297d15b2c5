//! The GPU or the emulator, so that one host program serves with and without a GPU.

mod buffer;
#[cfg(feature = "cuda")]
mod gpu;

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use bytemuck::Pod;
use profiler_emulator::{Emulator, LaunchConfig};
use profiler_trace::{DeviceInfo, KernelResources};

pub use buffer::Buffer;
#[cfg(feature = "cuda")]
pub(crate) use gpu::Gpu;

use crate::emulator::{EmulatedDevice, no_session};
use crate::error::Error;
use crate::launch::{Extent, Kernel, Shape};

/// Which back end to run on. Parses from `auto`, `gpu` and `emulator`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The GPU if there is one and the kernels were compiled for it, the emulator otherwise.
    #[default]
    Auto,
    /// The GPU, or an error that says what is missing.
    Gpu,
    /// The emulator.
    Emulator,
}

impl FromStr for BackendChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" => Ok(Self::Auto),
            "gpu" => Ok(Self::Gpu),
            "emulator" => Ok(Self::Emulator),
            other => Err(Error::UnknownBackend(other.to_owned())),
        }
    }
}

/// A device to run kernels on: a GPU with a loaded module and a stream, or the emulator.
#[derive(Debug)]
pub struct Backend {
    pub(crate) device: Device,
    reason: Option<String>,
    pub(crate) has_session: Cell<bool>,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a program has one")]
pub(crate) enum Device {
    #[cfg(feature = "cuda")]
    Gpu(Gpu),
    Emulator(EmulatedDevice),
}

impl Backend {
    /// Chooses a back end. `ptx` comes from [`include_ptx!`](crate::include_ptx): the kernels' PTX, or
    /// `None` if no compiler for the GPU was found when the program was built.
    ///
    /// With [`BackendChoice::Auto`] the emulator is taken if something is missing, and
    /// [`Backend::reason`] says what, for the program to print. The CUDA toolkit's stub library is no
    /// driver. A GPU that fails or refuses the PTX, and a driver that does not start, are errors in any
    /// case.
    ///
    /// # Errors
    ///
    /// With [`BackendChoice::Gpu`]: no driver, no device, no PTX, each with its remedy. CUDA errors.
    pub fn choose(choice: BackendChoice, ptx: Option<&'static str>) -> Result<Self, Error> {
        if choice == BackendChoice::Emulator {
            return Ok(Self::emulator(Emulator::default(), LaunchConfig::new([1; 3], [1; 3])));
        }
        match gpu_or_why_not(ptx) {
            Ok(device) => Ok(Self::new(device, None)),
            Err(error) if choice == BackendChoice::Auto && is_absence(&error) => {
                let emulator =
                    Self::emulator(Emulator::default(), LaunchConfig::new([1; 3], [1; 3]));
                let mut reason = match &error {
                    // Its advice, to choose the emulator, is followed already.
                    #[cfg(feature = "cuda")]
                    Error::Driver(absence) => absence.to_string(),
                    other => other.to_string(),
                };
                if ptx.is_none() && !matches!(error, Error::NoPtx) {
                    // Whoever remedy the one would meet the other next.
                    reason += &format!(". Besides, {}", Error::NoPtx);
                }
                Ok(Self { reason: Some(reason), ..emulator })
            }
            Err(error) => Err(error),
        }
    }

    /// The emulator as the caller made it. Launches take everything from `template` but their
    /// shape, name and constant memory: clocks, threads, blocks on an SM at once, stack size.
    #[must_use]
    pub fn emulator(emulator: Emulator, template: LaunchConfig) -> Self {
        Self::new(Device::Emulator(EmulatedDevice::new(emulator, template)), None)
    }

    /// Aligns the buffers of the emulator to a power of two, up to 4096; on a GPU they are aligned to 256 bytes in any
    /// case.
    ///
    /// A buffer of the emulator ends where a guard page begins, and so is aligned only as far as its length allows.
    /// A kernel that reads whole vectors from a buffer that ends in a part of one needs this: without it, Rust
    /// reports a "misaligned pointer dereference". Accesses to the bytes between the buffer's end and the next multiple
    /// of the alignment are then not found.
    ///
    /// ```
    /// # use profiler_host::{Backend, BackendChoice};
    /// let backend = Backend::choose(BackendChoice::Emulator, None)?.with_buffer_alignment(256);
    /// let buffer = backend.zeroed::<f32>(1001)?;
    /// assert_eq!(buffer.as_ptr().addr() % 256, 0);
    /// # Ok::<(), profiler_host::Error>(())
    /// ```
    #[must_use]
    pub fn with_buffer_alignment(mut self, alignment: usize) -> Self {
        match &mut self.device {
            #[cfg(feature = "cuda")]
            Device::Gpu(_) => {}
            Device::Emulator(device) => device.buffer_alignment = alignment,
        }
        self
    }

    fn new(device: Device, reason: Option<String>) -> Self {
        Self { device, reason, has_session: Cell::new(false) }
    }

    /// Why [`BackendChoice::Auto`] took the emulator, with all that is missing; `None` if it did
    /// not.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Whether this is a GPU. Otherwise times are not GPU times.
    #[must_use]
    pub fn is_gpu(&self) -> bool {
        !self.device_info().emulated
    }

    /// The device that kernels run on.
    #[must_use]
    pub fn device_info(&self) -> DeviceInfo {
        match &self.device {
            #[cfg(feature = "cuda")]
            Device::Gpu(gpu) => gpu.info.clone(),
            Device::Emulator(device) => device.info(),
        }
    }

    /// A buffer with these elements, in memory that kernels can reach.
    ///
    /// # Errors
    ///
    /// Too little memory.
    #[track_caller]
    pub fn upload<T: Pod>(&self, elements: &[T]) -> Result<Buffer<'_, T>, Error> {
        let mut buffer = Buffer::new(&self.device, elements.len())?;
        buffer.write(elements)?;
        Ok(buffer)
    }

    /// A buffer of `length` zeros, in memory that kernels can reach.
    ///
    /// # Errors
    ///
    /// Too little memory.
    #[track_caller]
    pub fn zeroed<T: Pod>(&self, length: usize) -> Result<Buffer<'_, T>, Error> {
        Buffer::new(&self.device, length)
    }

    /// Waits until all launches have finished.
    ///
    /// # Errors
    ///
    /// [`Error`] of a kernel that failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        match &self.device {
            #[cfg(feature = "cuda")]
            Device::Gpu(gpu) => gpu.synchronize(),
            Device::Emulator(_) => Ok(()),
        }
    }

    /// The resources that a kernel takes of an SM, and the number of its blocks that fit one, in launches
    /// with blocks of this shape and so many bytes of dynamic shared memory. No block fits that has more
    /// threads than the kernel's launch bounds or the device allow.
    ///
    /// Annotations take registers, with and without a session. To compare, ask a second back end with
    /// PTX of the same kernels compiled without annotations (`Kernels::profile_enabled(false)` of
    /// `profiler-build`), and give both to [`ResourceEffect`](profiler_trace::ResourceEffect).
    ///
    /// ```no_run
    /// # use profiler_host::{Backend, BackendChoice, Error, trace::ResourceEffect};
    /// # fn compare(ptx: &'static str, unannotated: &'static str) -> Result<(), Error> {
    /// let resources = |ptx| {
    ///     Backend::choose(BackendChoice::Gpu, Some(ptx))?.resources("gemm", 256, 0)
    /// };
    /// let (without, with) = (resources(unannotated)?, resources(ptx)?);
    /// let effect = ResourceEffect {
    ///     kernel: "gemm".to_owned(),
    ///     block: [256, 1, 1],
    ///     dynamic_shared_bytes: 0,
    ///     without,
    ///     with,
    /// };
    /// println!("{effect}");
    /// if effect.loses_blocks() {
    ///     println!("annotations cost blocks: give min_blocks, or annotate less");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoResources`] on the emulator; [`Error::NoKernel`]; more dynamic shared memory than a
    /// block can have; CUDA errors.
    pub fn resources(
        &self,
        kernel: &str,
        block: impl Into<Extent>,
        dynamic_shared_bytes: u32,
    ) -> Result<KernelResources, Error> {
        match &self.device {
            #[cfg(feature = "cuda")]
            Device::Gpu(gpu) => gpu.resources(kernel, block.into(), dynamic_shared_bytes),
            Device::Emulator(_) => {
                let _only_of_a_gpu = (kernel, block, dynamic_shared_bytes);
                Err(Error::NoResources)
            }
        }
    }

    /// Runs `launches` and gives its result and the time from their begin to their end: by CUDA events on
    /// the GPU (with a resolution of about 0.5 µs), by the host's clock on the emulator. On the GPU they
    /// begin when all are launched or 20 ms have passed, so that the host's time to launch is not part of it.
    ///
    /// # Errors
    ///
    /// The errors of `launches`; CUDA errors.
    pub fn time<R>(
        &self,
        launches: impl FnOnce() -> Result<R, Error>,
    ) -> Result<(R, Duration), Error> {
        match &self.device {
            #[cfg(feature = "cuda")]
            Device::Gpu(gpu) => gpu.time(launches),
            Device::Emulator(_) => {
                let begin = Instant::now();
                let result = launches()?;
                Ok((result, begin.elapsed()))
            }
        }
    }

    /// Launches a kernel without profiling; [`launch!`](crate::launch) expands to this.
    ///
    /// # Safety
    ///
    /// The arguments and the shape must be what the kernel asks for.
    ///
    /// # Errors
    ///
    /// [`Error::LaunchPastSession`] while a session is attached; see [`launch!`](crate::launch).
    pub unsafe fn launch_kernel<K: Kernel>(
        &self,
        name: &'static str,
        shape: Shape,
        kernel: K,
        arguments: K::Arguments,
    ) -> Result<(), Error> {
        if self.has_session.get() {
            return Err(Error::LaunchPastSession);
        }
        match &self.device {
            // SAFETY: the caller's.
            #[cfg(feature = "cuda")]
            Device::Gpu(gpu) => unsafe { gpu.launch::<K>(name, shape, arguments) },
            Device::Emulator(device) => {
                // SAFETY: the caller's.
                unsafe { device.launch(name, shape, kernel, arguments, no_session()) }
            }
        }
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn gpu(&self) -> Option<&Gpu> {
        match &self.device {
            Device::Gpu(gpu) => Some(gpu),
            Device::Emulator(_) => None,
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.device_info();
        match info.compute_capability {
            Some((major, minor)) => write!(
                f,
                "{} (sm_{major}{minor}, {} SMs, {})",
                info.name, info.sm_count, info.driver
            ),
            None => write!(f, "CPU emulator ({} SMs; times are not GPU times)", info.sm_count),
        }
    }
}

/// Whether the error says that something is not there, rather than that it fails.
fn is_absence(error: &Error) -> bool {
    match error {
        #[cfg(feature = "cuda")]
        Error::Driver(error) => error.is_absence(),
        Error::NoPtx | Error::NoCudaFeature => true,
        _ => false,
    }
}

#[cfg(feature = "cuda")]
fn gpu_or_why_not(ptx: Option<&'static str>) -> Result<Device, Error> {
    profiler_cuda_driver::driver_available()?;
    Ok(Device::Gpu(Gpu::new(ptx.ok_or(Error::NoPtx)?)?))
}

#[cfg(not(feature = "cuda"))]
fn gpu_or_why_not(_ptx: Option<&'static str>) -> Result<Device, Error> {
    Err(Error::NoCudaFeature)
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use profiler_cuda_driver::DriverError;

    use super::*;

    #[test]
    fn the_emulator_is_taken_for_what_is_missing_and_not_for_what_fails() {
        let no_library = DriverError::NoLibrary { library: "libcuda", reason: "none".to_owned() };
        let stub = DriverError::StubLibrary { library: "libcuda" };
        for missing in [no_library, stub, DriverError::NoDevice] {
            assert!(is_absence(&missing.clone().into()), "{missing}");
        }
        assert!(is_absence(&Error::NoPtx));
        let failing = [DriverError::Init, DriverError::Count];
        for failing in failing.map(|failed| failed("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH")) {
            assert!(!is_absence(&failing.clone().into()), "{failing}");
        }
    }
}
