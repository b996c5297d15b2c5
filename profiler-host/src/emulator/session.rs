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
use crate::options::{Options, Slots};

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
        let lanes = options.lane_buffers != Some(false);
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
mod tests {
    //! What linear slots hold, and how many launches need.

    use profiler_device::__private::__profiler_calibrate_v1 as profiled;
    use profiler_emulator::{Emulator, LaunchConfig};

    use super::*;
    use crate::capacity::Capacity;

    const SLOTS: u32 = 64;

    fn device() -> EmulatedDevice {
        EmulatedDevice::new(Emulator::new(2), LaunchConfig::new([1; 3], [1; 3]))
    }

    fn session(device: &EmulatedDevice, change: impl FnOnce(&mut Options)) -> EmulatorSession<'_> {
        let mut options = Options { max_warps: Some(SLOTS), ..Options::default() };
        change(&mut options);
        EmulatorSession::new(device, &options).expect("a session")
    }

    fn run(
        session: &mut EmulatorSession<'_>,
        kernel: unsafe fn(u32),
        (grid, block): (u32, u32),
        argument: u32,
    ) -> Result<(), Error> {
        // SAFETY: the kernels of these tests touch no memory but the session's.
        unsafe { session.launch("kernel", Shape::new(grid, block, 0), kernel, (argument,)) }
    }

    /// How many slots hold a header.
    fn headers(session: &EmulatorSession<'_>) -> usize {
        let capture = session.capture().expect("a capture").modules.swap_remove(0);
        let headers = capture.headers.chunks_exact(profiler_wire::header::BYTES);
        headers.filter(|header| header.iter().any(|&byte| byte != 0)).count()
    }

    /// A kernel without a recorder.
    fn not_profiled(_: u32) {}

    /// A kernel that fails before blocks from `first` on enter it.
    fn failing(first: u32) {
        assert!(profiler_emulator::block_index()[0] < first, "out of luck");
        profiled(1);
    }

    #[test]
    fn slots_of_launches_that_do_not_record_are_counted_as_needed() {
        let device = device();
        let run = |slots| {
            let mut session = session(&device, |options| options.max_warps = Some(slots));
            for (kernel, grid) in
                [(profiled as unsafe fn(u32), 3), (not_profiled, 60), (profiled, 4)]
            {
                run(&mut session, kernel, (grid, 64), 1).expect("the kernel runs");
            }
            session.capture().expect("a capture")
        };
        let needed = 2 * (3 + 60 + 4);
        // The last launch finds no slot, only a part of it does, all of it does.
        for slots in [7, 100, needed - 1] {
            let capture = run(slots);
            assert!(capture.modules[0].lost.warps > 0);
            assert_eq!(capture.modules[0].needed_slots(), u64::from(needed), "{slots}");
            let error = Capacity::needed(&capture).expect_err("warps found no slot");
            assert!(error.to_string().contains(&format!(".max_warps({needed})")), "{error}");
            let trace = profiler_trace::decode(&capture);
            let said = trace.diagnostics.to_string();
            assert!(said.contains(&format!(".max_warps({needed})")), "{said}");
        }
        let capture = run(needed);
        assert_eq!(capture.modules[0].lost.warps, 0);
        assert_eq!(Capacity::needed(&capture).expect("it tells").max_warps, needed);
        assert_eq!(run(1000).modules[0].needed_slots(), u64::from(needed));
    }

    #[test]
    fn warps_are_counted_that_find_no_slot() {
        let device = device();
        let mut session = session(&device, |_| ());
        run(&mut session, profiled, (SLOTS + 3, 32), 1).expect("the kernel runs");
        run(&mut session, not_profiled, (2, 32), 0).expect("the kernel runs");
        let capture = session.capture().expect("a capture");
        assert_eq!((capture.modules[0].lost.warps, headers(&session)), (3, SLOTS as usize));
    }

    #[test]
    fn kernels_may_leave_slots_empty() {
        let device = device();
        let mut session = session(&device, |_| ());
        run(&mut session, not_profiled, (4, 64), 0).expect("the kernel runs");
        run(&mut session, profiled, (2, 2048), 1).expect_err("no block is that large");
        run(&mut session, profiled, (4, 32), 1).expect("the kernel runs");
        run(&mut session, failing, (4, 32), 0).expect_err("it fails at once");
        let before = headers(&session);
        run(&mut session, failing, (4, 32), 2).expect_err("it fails on its way");
        assert!((before..before + 4).contains(&headers(&session)));
        session.reset().expect("memory");
        assert_eq!(headers(&session), 0, "a reset forgets them");
        run(&mut session, profiled, (1, 32), 1).expect("the kernel runs");
        assert_eq!(headers(&session), 1);
    }

    #[test]
    fn a_launch_has_slots_for_the_selected_warps() {
        let device = device();
        let selection = |options: &mut Options| {
            (options.block_first, options.block_count, options.block_stride) = (1, 3, 2);
            options.warp_mask = 0b1010;
        };
        let mut session = session(&device, selection);
        // Blocks 1, 3 and 5; warps 1 and 3 of five, and warp 1 of two.
        for (grid, block, selected) in [(9, 160, 6), (4, 64, 8), (1, 64, 8), (9, 32, 8)] {
            run(&mut session, profiled, (grid, block), 1).expect("the kernel runs");
            assert_eq!(headers(&session), selected, "{grid} x {block}");
            assert_eq!(session.arrays.next_slot, selected as u64, "{grid} x {block}");
        }
    }
}
