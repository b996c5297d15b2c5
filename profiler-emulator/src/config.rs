//! The configuration of a launch, and the device that it runs on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::error::LaunchError;
use crate::scheduler;

/// Threads of a warp.
pub const WARP_SIZE: u32 = 32;
/// The most threads that a block may have.
pub const MAX_BLOCK_THREADS: u32 = 1024;
/// The most bytes of shared memory, static and dynamic together, that a block may have: what a
/// block can opt in to on compute capability 9.0.
pub const MAX_SHARED_BYTES: usize = 227 * 1024;
/// The most bytes that the stack of an emulated thread may have: far more than a kernel needs, and few
/// enough for an address.
const MAX_STACK_BYTES: usize = 1 << 30;

/// Cycles of the SM clock to a nanosecond: the nominal 2000 MHz, exactly.
pub const TICKS_PER_NS: u64 = 2;
/// Steps of the global timer in nanoseconds, as on an H200.
const GLOBALTIMER_STEP_NS: u64 = 32;
/// The global timer of a new device.
const GLOBALTIMER_EPOCH_NS: u64 = 1_700_000_000_000_000_000;
/// The clock of SM 0 of a new device.
const CLOCK_BASE: u64 = 10_000_000_000;
/// The difference between the clocks of neighbouring SMs.
const CLOCK_SKEW: u64 = 37_000_003;
/// Virtual cost of a clock read (8.2 cycles on an H200).
pub(crate) const CLOCK_READ_TICKS: u64 = 8;
/// Virtual time between two launches.
const LAUNCH_GAP_TICKS: u64 = 2_000;

/// A source of clock readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockMode {
    /// A deterministic model; see the crate's documentation.
    #[default]
    Virtual,
    /// The same model, but each reading of a launch is later than the one before it, in whatever thread. Lanes that
    /// read together on hardware read one after the other, as by the host's clock, and the same each time.
    Serial,
}

/// The carriers of GPU threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// A stackful coroutine: fast.
    #[default]
    Coroutines,
    /// A thread of the operating system, one running at a time: slow, but sanitizers and debuggers
    /// understand it. The results are those of coroutines. With `--cfg profiler_os_threads` in
    /// RUSTFLAGS every launch uses these.
    Os,
}

/// Ends launches from another thread of the host: what kills a process is to a kernel that hangs.
/// Clones are one and the same.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Something to give to a launch, and to keep.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the launches that were given it, and those that will be, with
    /// [`LaunchError::Stopped`]: as soon as one of their threads waits, yields, advances or ends.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`stop`](Self::stop) was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Shape and surroundings of one launch. [`LaunchConfig::new`] fills in the defaults.
#[derive(Clone, Debug)]
pub struct LaunchConfig {
    /// Blocks in x, y and z; at least 1, at most 2^31 - 1, 65535, 65535.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z; at least 1, at most 1024, 1024, 64 and 1024 in all.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of each block.
    pub dynamic_shared_bytes: u32,
    /// Constant memory: what [`crate::constant_u32`] and [`crate::constant_u64`] read.
    pub constant: Arc<[u8]>,
    /// The source of clock readings.
    pub clock: ClockMode,
    /// The carriers of GPU threads.
    pub threads: Threads,
    /// The number of blocks that are resident on an SM at once; at least 1. A wait for a block that is not
    /// resident never ends.
    pub blocks_per_sm: u32,
    /// Bytes of a thread's stack (without the guard page); at most 2^30.
    pub stack_bytes: usize,
    /// The number of yields, over the whole launch, with no other work by any thread, after which the launch is
    /// a livelock.
    pub yield_limit: u64,
    /// The time that a thread may run without suspending or ending, after which it is taken to wait for ever and
    /// the process ends with a message; [`Duration::MAX`] for any time.
    pub spin_limit: Duration,
    /// The kernel's name in messages; `None` for the name of the closure's type.
    pub name: Option<&'static str>,
    /// The number that [`crate::grid_id`] returns; `None` for the device's next one.
    pub grid_id: Option<u64>,
    /// A handle by which another thread can end the launch.
    pub stop: Option<Stop>,
}

impl LaunchConfig {
    /// A launch of `grid` blocks of `block` threads, with everything else at its default: no
    /// dynamic shared memory, no constant memory, virtual clock, coroutines with stacks of 1 MiB,
    /// one block on an SM at once, 2^24 yields, 30 seconds of a thread that does not suspend.
    #[must_use]
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            grid,
            block,
            dynamic_shared_bytes: 0,
            constant: Arc::from([]),
            clock: ClockMode::default(),
            threads: Threads::default(),
            blocks_per_sm: 1,
            stack_bytes: 1024 * 1024,
            yield_limit: 1 << 24,
            spin_limit: Duration::from_secs(30),
            name: None,
            grid_id: None,
            stop: None,
        }
    }

    /// Whether another thread has ended the launch.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(Stop::is_stopped)
    }

    /// Threads of a block.
    pub(crate) fn block_threads(&self) -> usize {
        self.block.iter().map(|&extent| extent as usize).product()
    }

    /// Blocks of the grid.
    pub(crate) fn grid_blocks(&self) -> u64 {
        self.grid.iter().map(|&extent| u64::from(extent)).product()
    }

    pub(crate) fn check(&self) -> Result<(), LaunchError> {
        let invalid = |message: String| Err(LaunchError::InvalidConfig(message));
        for (what, dims, limits) in [
            ("grid", self.grid, [0x7fff_ffff, 65_535, 65_535]),
            ("block", self.block, [1024, 1024, 64]),
        ] {
            for (axis, (extent, limit)) in dims.into_iter().zip(limits).enumerate() {
                if extent == 0 || extent > limit {
                    let axis = ["x", "y", "z"][axis];
                    return invalid(format!(
                        "{what} has extent {extent} in {axis}; it must be 1 to {limit}"
                    ));
                }
            }
        }
        let threads: u64 = self.block.iter().map(|&extent| u64::from(extent)).product();
        if threads > u64::from(MAX_BLOCK_THREADS) {
            return invalid(format!(
                "a block of {:?} has {threads} threads; at most {MAX_BLOCK_THREADS} are possible",
                self.block
            ));
        }
        if self.dynamic_shared_bytes as usize > MAX_SHARED_BYTES {
            return invalid(format!(
                "{} bytes of dynamic shared memory; at most {MAX_SHARED_BYTES} are possible",
                self.dynamic_shared_bytes
            ));
        }
        if self.stack_bytes > MAX_STACK_BYTES {
            return invalid(format!(
                "stack_bytes is {}; a thread's stack has at most {MAX_STACK_BYTES} bytes",
                self.stack_bytes
            ));
        }
        if self.blocks_per_sm == 0 {
            return invalid("blocks_per_sm is 0; it must be at least 1".into());
        }
        Ok(())
    }
}

/// An emulated device: its SMs, its time and the number of its next launch.
///
/// Launches on one device follow each other in time. Two devices made alike give the same clock
/// readings for the same launches. Kernels of one device may be launched from several threads of
/// the host at once; each launch then runs on the thread that made it.
#[derive(Debug)]
pub struct Emulator {
    sm_count: u32,
    /// When the next launch begins, in ticks since the device was made.
    ///
    /// Relaxed wherever it is used, as the next: numbers, by which nothing is published.
    ticks: AtomicU64,
    next_grid_id: AtomicU64,
}

impl Emulator {
    /// A device with `sm_count` SMs (0 is taken as 1).
    #[must_use]
    pub fn new(sm_count: u32) -> Self {
        Self {
            sm_count: sm_count.max(1),
            ticks: AtomicU64::new(0),
            next_grid_id: AtomicU64::new(1),
        }
    }

    /// The number of SMs of the device.
    #[must_use]
    pub fn sm_count(&self) -> u32 {
        self.sm_count
    }

    /// Runs `kernel` once for each thread of the launch and returns when all have finished.
    ///
    /// # Errors
    ///
    /// [`LaunchError`]: a shape that no GPU takes, a panic in a thread, a deadlock, a livelock, or a
    /// [`Stop`].
    /// Writes until then remain.
    pub fn launch<Kernel: Fn() + Sync>(
        &self,
        config: &LaunchConfig,
        kernel: Kernel,
    ) -> Result<(), LaunchError> {
        config.check()?;
        let grid_id =
            config.grid_id.unwrap_or_else(|| self.next_grid_id.fetch_add(1, Ordering::Relaxed));
        let start = self.ticks.load(Ordering::Relaxed);
        let name = config.name.unwrap_or_else(std::any::type_name::<Kernel>);
        let (end, result) = scheduler::run(self, config, &kernel, name, grid_id, start);
        self.ticks.fetch_max(end + LAUNCH_GAP_TICKS, Ordering::Relaxed);
        result
    }

    /// The difference between an SM's cycle counter and the device's time in cycles. It differs
    /// from SM to SM by tens of millions, as on hardware.
    #[must_use]
    pub fn clock_offset(sm: u32) -> u64 {
        CLOCK_BASE + u64::from(sm) * CLOCK_SKEW
    }

    /// The value of [`crate::globaltimer`] in a kernel launched now, in nanoseconds.
    #[must_use]
    pub fn globaltimer(&self) -> u64 {
        globaltimer_at(self.ticks.load(Ordering::Relaxed))
    }
}

impl Default for Emulator {
    /// A device with 4 SMs.
    fn default() -> Self {
        Self::new(4)
    }
}

/// The global timer at a device time of `ticks` cycles.
pub(crate) fn globaltimer_at(ticks: u64) -> u64 {
    let ns = ticks / TICKS_PER_NS;
    GLOBALTIMER_EPOCH_NS + ns - ns % GLOBALTIMER_STEP_NS
}

/// [`Emulator::launch`] on a device of 4 SMs that the whole process shares.
///
/// Its time depends on what else the process has launched; for clock readings that repeat, make an
/// [`Emulator`].
///
/// # Errors
///
/// See [`Emulator::launch`].
pub fn launch<Kernel: Fn() + Sync>(
    config: &LaunchConfig,
    kernel: Kernel,
) -> Result<(), LaunchError> {
    static SHARED: std::sync::LazyLock<Emulator> = std::sync::LazyLock::new(Emulator::default);
    SHARED.launch(config, kernel)
}
