//! A session on the emulator.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use profiler_device::__private::CALIBRATIONS;
use profiler_device::DescriptorPtr;
use profiler_emulator::{ClockMode, Emulator, LaunchConfig, LaunchError};
use profiler_trace::{Capture, CaptureEnd, ClockPair, DeviceInfo, RecordCost, SiteTable, Trace};
use profiler_wire::descriptor;
use profiler_wire::site::ID_OFFSET;

use crate::arrays::Arrays;
use crate::calibration;
use crate::error::Error;
use crate::export::Output;
use crate::host_memory::HostMemory;
use crate::host_spans::HostLog;
use crate::launch::{Kernel, Shape};
use crate::layout::Layout;
use crate::live::{LiveArrays, Watch, WatchedHost, WatchedModule};
use crate::options::{Cost, Keep, LaneBuffers, Options, Slots};

/// Runs kernels and records what they emit.
#[derive(Debug)]
pub(crate) struct EmulatorSession<'b> {
    device: &'b EmulatedDevice,
    arrays: Arrays,
    memory: Arc<HostMemory>,
    /// Whether a kernel failed since the last reset.
    failed: bool,
    /// The descriptor's place, where it is the session's own.
    own_descriptor: Option<HostMemory>,
    pub(crate) output: Output,
    host: Option<HostLog>,
}

/// The emulator and how to launch on it.
#[derive(Debug)]
pub(crate) struct EmulatedDevice {
    pub(crate) emulator: Emulator,
    /// Everything of a launch but its shape and constant memory.
    template: LaunchConfig,
    /// What a record costs by a clock that is a model, where a session has measured it.
    cost: OnceLock<RecordCost>,
}

/// A kernel with its arguments, to be run by every thread of a launch.
struct Job<K: Kernel> {
    kernel: K,
    arguments: K::Arguments,
}

// SAFETY: a job's arguments are only copied. What the arguments point to may be shared between the
// threads of the launch: `launch_kernel` is unsafe, and its caller vouches for that.
unsafe impl<K: Kernel> Sync for Job<K> {}

impl<K: Kernel> Job<K> {
    /// # Safety
    ///
    /// See [`Kernel::call`].
    unsafe fn run(&self) {
        // SAFETY: the caller's.
        unsafe { self.kernel.call(&self.arguments) }
    }
}

impl EmulatedDevice {
    pub(crate) fn new(emulator: Emulator, template: LaunchConfig) -> Self {
        Self { emulator, template, cost: OnceLock::new() }
    }

    /// Runs a kernel to its end, with `constant` as the constant memory.
    ///
    /// # Safety
    ///
    /// What the kernel asks of its arguments.
    pub(crate) unsafe fn launch<K: Kernel>(
        &self,
        shape: Shape,
        kernel: K,
        arguments: K::Arguments,
        constant: Arc<[u8]>,
    ) -> Result<(), Error> {
        let mut config = self.template.clone();
        config.grid = shape.grid.0;
        config.block = shape.block.0;
        config.dynamic_shared_bytes = shape.dynamic_shared_bytes;
        config.constant = constant;
        let job = Job { kernel, arguments };
        // SAFETY: the caller vouches for the arguments, and the emulator calls this from its
        // threads only.
        self.emulator.launch(&config, || unsafe { job.run() })?;
        Ok(())
    }

    pub(crate) fn info(&self) -> DeviceInfo {
        DeviceInfo {
            name: "emulator".to_owned(),
            emulated: true,
            sm_count: self.emulator.sm_count(),
            clock_mhz: Some(1000.0 * profiler_emulator::TICKS_PER_NS as f64),
            ..DeviceInfo::default()
        }
    }

    /// What a record costs. By the host's clock each session measures anew.
    fn record_cost(&self) -> Result<RecordCost, Error> {
        if self.template.clock == ClockMode::Real {
            return self.calibrate();
        }
        match self.cost.get() {
            Some(&cost) => Ok(cost),
            None => {
                let cost = self.calibrate()?;
                Ok(*self.cost.get_or_init(|| cost))
            }
        }
    }

    /// Measures what a record costs.
    fn calibrate(&self) -> Result<RecordCost, Error> {
        let options = calibration_options();
        let mut session = EmulatorSession::new(self, &options)?;
        // One warp: these do not wait for each other.
        let shape = Shape::new(1, 32, 0);
        // All, as which buffers kernels have is not known here before they run.
        for &kernel in CALIBRATIONS {
            // SAFETY: the calibration kernels touch no memory but the session's.
            unsafe {
                session.launch("calibration", shape, kernel, (calibration::EMULATED_ROUNDS,))
            }?;
        }
        Ok(calibration::record_cost(&profiler_trace::decode(&session.capture()?))?)
    }
}

/// The sites that were executed in this process, as the site table of a PTX module would hold them.
pub(crate) fn executed_sites() -> Result<SiteTable, Error> {
    let numbered = profiler_emulator::module::numbered_entries().into_iter();
    let entries = numbered.map(|(number, entry)| {
        let mut entry = entry.to_vec();
        entry[ID_OFFSET..ID_OFFSET + 4].copy_from_slice(&number.to_le_bytes());
        entry
    });
    let entries: Vec<Vec<u8>> = entries.collect();
    let table = SiteTable::from_entries(entries.iter().map(Vec::as_slice))?;
    Ok(table.with_kernels(profiler_emulator::module::executed()))
}

/// The options of a calibration run.
pub(crate) fn calibration_options() -> Options {
    Options {
        records_per_warp: calibration::RECORDS,
        keep: Keep::First,
        slots: Slots::Linear,
        lane_buffers: LaneBuffers::Never,
        max_warps: Some(calibration::WARPS),
        ..Options::default()
    }
}

/// Whether a launch that failed had begun to run.
fn has_begun(error: &Error) -> bool {
    let Error::Emulator(error) = error else { return false };
    use LaunchError::{Deadlock, Livelock, Panic, Stopped};
    matches!(error, Panic { .. } | Deadlock { .. } | Livelock { .. } | Stopped)
}

/// The constant memory of a launch without a session: an empty descriptor.
pub(crate) fn no_session() -> Arc<[u8]> {
    Arc::from([0; descriptor::BYTES])
}

impl<'b> EmulatorSession<'b> {
    pub(crate) fn new(device: &'b EmulatedDevice, options: &Options) -> Result<Self, Error> {
        let lanes = options.lane_buffers != LaneBuffers::Never;
        let claimed = options.slots == Slots::Claimed;
        let layout = Layout::new(options, lanes, claimed, device.emulator.sm_count())?;
        let mut output = Output::new(options);
        if options.record_cost == Cost::Measure {
            output.cost = Some(device.record_cost()?);
        }
        let memory = Arc::new(HostMemory::zeroed(layout.bytes_to_allocate(), || layout.help())?);
        let base = layout.base(memory.address());
        let arrays = Arrays::new(options.clone(), layout, base);
        arrays.prepare(&*memory)?;
        let own_descriptor = options
            .apart
            .then(|| HostMemory::zeroed(descriptor::BYTES as u64, || arrays.layout.help()))
            .transpose()?;
        let host = options.host.clone().map(HostLog::new);
        let mut session =
            Self { device, arrays, memory, failed: false, own_descriptor, output, host };
        session.close();
        Ok(session)
    }

    /// Sees to it that kernels that are given the descriptor past the session find no slot, and are
    /// counted.
    fn close(&mut self) {
        let mut descriptor = self.arrays.descriptor;
        descriptor.slot_base = self.arrays.closed_base();
        if let Some(own) = &mut self.own_descriptor {
            own.write(&descriptor.to_bytes());
        }
    }

    /// # Safety
    ///
    /// What the kernel asks of its arguments.
    pub(crate) unsafe fn launch<K: Kernel>(
        &mut self,
        name: &str,
        shape: Shape,
        kernel: K,
        arguments: K::Arguments,
    ) -> Result<(), Error> {
        let start = self.read_both();
        if let (Some(host), Some(start)) = (&self.host, start) {
            host.read_both(start);
        }
        let mut descriptor = self.arrays.descriptor;
        descriptor.slot_base = self.arrays.announce(shape.grid.0, shape.block.0);
        let bytes = descriptor.to_bytes();
        let constant = match &mut self.own_descriptor {
            Some(own) => {
                own.write(&bytes);
                no_session()
            }
            None => Arc::from(bytes),
        };
        // SAFETY: the caller vouches for the arguments; the descriptor is that of arrays that live
        // as long as the session.
        let result = unsafe { self.device.launch(shape, kernel, arguments, constant) };
        let end = self.read_both();
        let is_refused = result.as_ref().is_err_and(|error| !has_begun(error));
        if is_refused {
            self.arrays.take_back();
        } else {
            self.failed |= result.is_err();
            if let (Some(host), Some(start), Some(end)) = (&self.host, start, end) {
                host.launched(name, start.host_ns);
                host.read_both(end);
            }
        }
        self.close();
        result
    }

    /// What both clocks say, if anything is recorded of the host. The host makes both, so that they
    /// agree.
    fn read_both(&self) -> Option<ClockPair> {
        let host_ns = self.host.as_ref()?.now_ns();
        let device_ns = self.device.emulator.globaltimer(self.device.template.clock);
        Some(ClockPair { host_ns, device_ns, uncertainty_ns: 0.0 })
    }

    pub(crate) fn descriptor(&self) -> DescriptorPtr {
        let own = self.own_descriptor.as_ref();
        DescriptorPtr::new(own.map_or(std::ptr::null(), |own| own.as_ptr().cast_const()))
    }

    pub(crate) fn watch(&self) -> Watch {
        let Arrays { layout, descriptor, .. } = &self.arrays;
        let address = self.memory.address();
        let live = LiveArrays::new(Arc::clone(&self.memory), address, layout, *descriptor, None);
        let modules = vec![WatchedModule::Live(live)];
        let host = self.host.clone().map(|log| WatchedHost { log, clock: self.read_both() });
        Watch::new(self.device.info(), modules, &self.output, host)
    }

    pub(crate) fn capture(&self) -> Result<Capture, Error> {
        let sites = executed_sites()?;
        Ok(Capture {
            device: self.device.info(),
            modules: vec![self.arrays.read_back(&*self.memory, sites)?],
            record_cost: self.output.cost,
            end: if self.failed { CaptureEnd::Failed { code: 0 } } else { CaptureEnd::Finished },
            host: self.host.as_ref().map(|host| host.capture(self.read_both())).unwrap_or_default(),
            ..Capture::default()
        })
    }

    pub(crate) fn reset(&mut self) -> Result<(), Error> {
        let layout = &self.arrays.layout;
        if Arc::get_mut(&mut self.memory).is_some() {
            // Fresh memory is zero without being filled: most of the buffers were never touched.
            let memory = HostMemory::zeroed(layout.bytes_to_allocate(), || layout.help())?;
            self.memory = Arc::new(memory);
        } else {
            // Whoever watches looks there.
            self.memory.zero_words();
        }
        let base = self.arrays.layout.base(self.memory.address());
        self.arrays.reset_at(base);
        self.arrays.prepare(&*self.memory)?;
        self.failed = false;
        self.host.iter().for_each(HostLog::reset);
        self.close();
        Ok(())
    }

    pub(crate) fn trace(&self) -> Result<Trace, Error> {
        Ok(self.output.decode(&self.capture()?))
    }

    pub(crate) fn export_on_drop(&mut self, path: PathBuf) -> Result<(), Error> {
        self.output.set_path(path)
    }
}

impl Drop for EmulatorSession<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.output.take_path() {
            let written = self.capture().and_then(|capture| self.output.export(&capture, path));
            Output::report(written);
        }
    }
}

#[cfg(test)]
#[path = "linear_slots_tests.rs"]
mod tests;
