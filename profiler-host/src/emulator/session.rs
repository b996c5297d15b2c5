//! A session on the emulator.

use std::sync::Arc;

use profiler_emulator::LaunchError;
use profiler_trace::{Capture, CaptureEnd, ClockPair, DeviceInfo};

use super::{EmulatedDevice, executed_sites};
use crate::arrays::Arrays;
use crate::error::Error;
use crate::host_memory::HostMemory;
use crate::host_spans::HostLog;
use crate::launch::{Kernel, Shape};
use crate::layout::Layout;
use crate::live::{LiveArrays, WatchedHost, WatchedModule};
use crate::options::{LaneBuffers, Options, Slots};

/// Runs kernels and records what they emit.
#[derive(Debug)]
pub(crate) struct EmulatorSession<'b> {
    device: &'b EmulatedDevice,
    arrays: Arrays,
    memory: Arc<HostMemory>,
    /// Whether a kernel failed since the last reset.
    failed: bool,
    host: Option<HostLog>,
}

/// Whether a launch that failed had begun to run.
fn has_begun(error: &Error) -> bool {
    let Error::Emulator(error) = error else { return false };
    use LaunchError::{Deadlock, Livelock, Panic, Stopped};
    matches!(error, Panic { .. } | Deadlock { .. } | Livelock { .. } | Stopped)
}

impl<'b> EmulatorSession<'b> {
    pub(crate) fn new(device: &'b EmulatedDevice, options: &Options) -> Result<Self, Error> {
        let lanes = options.lane_buffers != LaneBuffers::Never;
        let claimed = options.slots == Slots::Claimed;
        let layout = Layout::new(options, lanes, claimed, device.emulator.sm_count())?;
        let memory = Arc::new(HostMemory::zeroed(layout.bytes_to_allocate(), || layout.help())?);
        let base = layout.base(memory.address());
        let arrays = Arrays::new(options.clone(), layout, base);
        arrays.prepare(&*memory)?;
        let host = options.host.clone().map(HostLog::new);
        Ok(Self { device, arrays, memory, failed: false, host })
    }

    /// # Safety
    ///
    /// What the kernel asks of its arguments.
    pub(crate) unsafe fn launch<K: Kernel>(
        &mut self,
        name: &'static str,
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
        let constant = Arc::from(descriptor.to_bytes());
        // SAFETY: the caller vouches for the arguments; the descriptor is that of arrays that live
        // as long as the session.
        let result = unsafe { self.device.launch(name, shape, kernel, arguments, constant) };
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
        result
    }

    /// What both clocks say, if anything is recorded of the host. The host makes both, so that they
    /// agree.
    fn read_both(&self) -> Option<ClockPair> {
        let host_ns = self.host.as_ref()?.now_ns();
        let device_ns = self.device.emulator.globaltimer();
        Some(ClockPair { host_ns, device_ns, uncertainty_ns: 0.0 })
    }

    pub(crate) fn device(&self) -> DeviceInfo {
        self.device.info()
    }

    /// The module and the host's log for a view of the session.
    pub(crate) fn watched(&self) -> (Vec<WatchedModule>, Option<WatchedHost>) {
        let Arrays { layout, descriptor, .. } = &self.arrays;
        let address = self.memory.address();
        let live = LiveArrays::new(Arc::clone(&self.memory), address, layout, *descriptor, None);
        let host = self.host.clone().map(|log| WatchedHost { log, clock: self.read_both() });
        (vec![WatchedModule::Live(live)], host)
    }

    pub(crate) fn capture(&self) -> Result<Capture, Error> {
        let sites = executed_sites()?;
        Ok(Capture {
            device: self.device.info(),
            modules: vec![self.arrays.read_back(&*self.memory, sites)?],
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
        Ok(())
    }
}

#[cfg(test)]
#[path = "linear_slots_tests.rs"]
mod tests;
