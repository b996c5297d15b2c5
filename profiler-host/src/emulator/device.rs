//! The emulator as a device: launches, and the cost of a record.

use std::sync::{Arc, OnceLock};

use profiler_device::__private::__profiler_calibrate_v1;
use profiler_emulator::{Emulator, LaunchConfig};
use profiler_trace::{DeviceInfo, RecordCost};
use profiler_wire::descriptor;

use super::EmulatorSession;
use crate::calibration;
use crate::error::Error;
use crate::launch::{Kernel, Shape};

/// The emulator and how to launch on it.
#[derive(Debug)]
pub(crate) struct EmulatedDevice {
    pub(crate) emulator: Emulator,
    /// Everything of a launch but its shape, name and constant memory.
    pub(super) template: LaunchConfig,
    /// The least alignment of buffers.
    pub(crate) buffer_alignment: usize,
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
        Self { emulator, template, buffer_alignment: 1, cost: OnceLock::new() }
    }

    /// Runs a kernel to its end, with `constant` as the constant memory; messages call it `name`.
    ///
    /// # Safety
    ///
    /// What the kernel asks of its arguments.
    pub(crate) unsafe fn launch<K: Kernel>(
        &self,
        name: &'static str,
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
        config.name = Some(name);
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

    /// What a record costs.
    pub(crate) fn record_cost(&self) -> Result<RecordCost, Error> {
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
        let options = calibration::options();
        let mut session = EmulatorSession::new(self, &options)?;
        // One warp: these do not wait for each other.
        let shape = Shape::new(1, 32, 0);
        let kernel: unsafe fn(u32) = __profiler_calibrate_v1;
        // SAFETY: the calibration kernel touches no memory but the session's.
        unsafe { session.launch("calibration", shape, kernel, (calibration::EMULATED_ROUNDS,)) }?;
        calibration::record_cost(&profiler_trace::decode(&session.capture()?))
    }
}

/// The constant memory of a launch without a session: an empty descriptor.
pub(crate) fn no_session() -> Arc<[u8]> {
    Arc::from([0; descriptor::BYTES])
}
