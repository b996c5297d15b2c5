//! Reads the clocks of all SMs beside the user's kernels.
//!
//! An SM's clock wanders, and a kernel reads both clocks only where its warps enter, leave, or say
//! `profile_anchor!`. Here a kernel of one thread an SM reads them every so often, from before the user's
//! kernel begins until a word in device memory says that it is over.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use profiler_cuda_driver::sys::{CUfunction, CUstream};
use profiler_trace::{KeptClock, ModuleCapture};
use profiler_wire::symbol::CLOCK_KEEPER;

use super::driver::{self, DeviceMemory};
use super::handles::{Module, Stream};
use super::record_memory::MappedMemory;
use crate::error::Error;
use crate::host_memory::HostMemory;
use crate::launch::Shape;

/// The kernel; the text says what it does with its parameters.
const PTX: &str = include_str!("clock_keeper.ptx");

/// SMs that the kernel tells apart.
const SMS_MAX: u64 = 4096;
/// Bytes of `control` ahead of them: `stop` and the number of the next row.
const CONTROL_BYTES: u64 = 8;
/// Bytes of a reading, and of what a row begins with.
const READING_BYTES: u64 = 16;
/// Blocks of one thread that an SM holds at most (CUDA C++ Programming Guide, "Compute Capabilities"): with
/// as many for each, every SM of an idle GPU gets one.
const BLOCKS_PER_SM: u32 = 32;
/// From one reading to the next, at least.
const EVERY: Duration = Duration::from_micros(50);
/// Readings of an SM, at most: where more would be made, they are made less often.
const READINGS_MAX: u64 = 20_000;
/// The longest time to keep clocks for; beyond it is for ever.
const NS_MAX: u64 = 1 << 62;
/// For how long all SMs may take to begin.
const BEGIN_MAX: Duration = Duration::from_secs(1);

/// The module of the kernel.
#[derive(Debug)]
pub(crate) struct ClockKeepers {
    /// Dropped first: they end the kernel.
    keepers: Vec<ClockKeeper>,
    module: Module,
}

/// One launch of it.
#[derive(Debug)]
struct ClockKeeper {
    stream: Stream,
    /// In which it is told to stop, where no stream of the program's is: those may wait for what this thread
    /// has still to launch, and the default stream for those.
    stopping: Stream,
    control: DeviceMemory,
    rows: MappedMemory,
    layout: Rows,
    /// Whether it was told to stop.
    stopped: bool,
    /// Whether its readings were forgotten.
    forgotten: bool,
}

/// How readings lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rows {
    count: u32,
    bytes: u64,
    every_ns: u64,
    at_most_ns: u64,
}

impl Rows {
    /// Of so many SMs, for readings over `at_most`.
    fn new(count: u32, at_most: Duration) -> Self {
        let at_most_ns = u64::try_from(at_most.as_nanos()).unwrap_or(NS_MAX).min(NS_MAX);
        let every_ns = (at_most_ns / READINGS_MAX).max(EVERY.as_nanos() as u64);
        // One at the begin, one at the end, and what a row begins with.
        let bytes = (at_most_ns / every_ns + 3) * READING_BYTES;
        Self { count, bytes, every_ns, at_most_ns }
    }

    fn total_bytes(self) -> u64 {
        u64::from(self.count) * self.bytes
    }

    /// What was read so far; `ended` says whether that is all.
    fn read(self, memory: &HostMemory, ended: bool) -> Vec<KeptClock> {
        let mut words = vec![0; self.bytes as usize / 8];
        let mut clock = |row: u32| {
            memory.read_words((u64::from(row) * self.bytes) as usize, &mut words);
            let ([[number, _], readings @ ..], _) = words.as_chunks::<2>() else { return None };
            let sm = u32::try_from(number.checked_sub(1)?).ok()?;
            // Either word may be there ahead of the other.
            let whole = readings.iter().take_while(|reading| !reading.contains(&0));
            Some(KeptClock { sm, readings: whole.map(|&[a, b]| (a, b)).collect(), ended })
        };
        (0..self.count).filter_map(&mut clock).collect()
    }

    /// How many SMs have begun.
    fn begun(self, memory: &HostMemory) -> u32 {
        let mut word = [0];
        let mut has_begun = |row: u32| {
            memory.read_words((u64::from(row) * self.bytes) as usize, &mut word);
            word != [0]
        };
        (0..self.count).map(|row| u32::from(has_begun(row))).sum()
    }
}

/// The readings of a session that is watched.
#[derive(Clone, Debug)]
pub(crate) struct WatchedClocks {
    rows: Vec<(Arc<HostMemory>, Rows)>,
}

impl WatchedClocks {
    /// What was read so far.
    pub(crate) fn read(&self) -> Result<ModuleCapture, Error> {
        let clocks = self.rows.iter().flat_map(|(memory, rows)| rows.read(memory, false));
        Ok(ModuleCapture::of_clocks(&clocks.collect::<Vec<_>>())?)
    }
}

impl ClockKeepers {
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Self { module: driver::load(PTX)?, keepers: Vec::new() })
    }

    /// Begins to read the clocks of so many SMs, once it has ended what it began before.
    pub(crate) fn begin(&mut self, sm_count: u32, at_most: Duration) -> Result<(), Error> {
        self.end()?;
        let kernel = super::function(self.module.raw(), PTX, CLOCK_KEEPER)?;
        let keeper = ClockKeeper::begin(kernel, Rows::new(sm_count, at_most))?;
        self.keepers.push(keeper);
        Ok(())
    }

    /// Ends it when `stream` comes to here, or now.
    pub(crate) fn end_in(&mut self, stream: Option<CUstream>) -> Result<(), Error> {
        let mut running = self.keepers.iter_mut().filter(|keeper| !keeper.stopped);
        running.try_for_each(|keeper| keeper.stop_in(stream))
    }

    /// Ends it now, and waits for that; also for what was told to end after kernels that still run.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        for keeper in &mut self.keepers {
            keeper.end()?;
        }
        self.keepers.retain(|keeper| !keeper.forgotten);
        Ok(())
    }

    /// Forgets what was read until `stream` comes to here.
    pub(crate) fn forget_in(&mut self, stream: CUstream) -> Result<(), Error> {
        self.end_in(Some(stream))?;
        self.keepers.iter_mut().for_each(|keeper| keeper.forgotten = true);
        Ok(())
    }

    fn counted(&self) -> impl Iterator<Item = &ClockKeeper> {
        self.keepers.iter().filter(|keeper| !keeper.forgotten)
    }

    /// All readings, after [`end`](Self::end); `None` where there are none.
    pub(crate) fn read_back(&self) -> Result<Option<ModuleCapture>, Error> {
        let clocks: Vec<KeptClock> = self
            .counted()
            .flat_map(|keeper| keeper.layout.read(keeper.rows.memory(), true))
            .collect();
        if clocks.is_empty() {
            return Ok(None);
        }
        Ok(Some(ModuleCapture::of_clocks(&clocks)?))
    }

    /// A view of the readings for who watches; `None` where there are none.
    pub(crate) fn watched(&self) -> Option<WatchedClocks> {
        let rows: Vec<_> = self
            .counted()
            .map(|keeper| (Arc::clone(keeper.rows.memory()), keeper.layout))
            .collect();
        (!rows.is_empty()).then_some(WatchedClocks { rows })
    }
}

impl ClockKeeper {
    fn begin(kernel: CUfunction, layout: Rows) -> Result<Self, Error> {
        let help = || "keep clocks for a shorter time".to_owned();
        let control_bytes = CONTROL_BYTES + 4 * SMS_MAX;
        let keeper = Self {
            stream: Stream::new()?,
            stopping: Stream::new()?,
            control: DeviceMemory::new(control_bytes, || "free device memory".to_owned())?,
            rows: MappedMemory::new(layout.total_bytes(), help)?,
            layout,
            stopped: false,
            forgotten: false,
        };
        keeper.control.zero(keeper.stream.as_inner())?;
        let (mut control, mut rows) = (keeper.control.address(), keeper.rows.address());
        let Rows { mut count, mut bytes, mut every_ns, mut at_most_ns } = layout;
        let mut arguments: [*mut c_void; 6] = [
            (&raw mut control).cast(),
            (&raw mut rows).cast(),
            (&raw mut count).cast(),
            (&raw mut bytes).cast(),
            (&raw mut every_ns).cast(),
            (&raw mut at_most_ns).cast(),
        ];
        let shape = Shape::new(count.saturating_mul(BLOCKS_PER_SM), 1, 0);
        // SAFETY: the parameters are these, in order. `control` has a word for each SM that the kernel tells
        // apart after two others; it writes `count` rows of `bytes` each, at least three units, and ends
        // where a row has one unit left, which is for the last reading.
        unsafe { driver::launch(kernel, shape, keeper.stream.as_inner(), &mut arguments) }?;
        keeper.wait_until_begun()?;
        Ok(keeper)
    }

    fn wait_until_begun(&self) -> Result<(), Error> {
        let since = Instant::now();
        loop {
            let (begun, of) = (self.layout.begun(self.rows.memory()), self.layout.count);
            if begun == of {
                return Ok(());
            }
            if since.elapsed() > BEGIN_MAX {
                return Err(Error::ClocksNotKept { begun, of });
            }
            std::thread::yield_now();
        }
    }

    fn stop_in(&mut self, stream: Option<CUstream>) -> Result<(), Error> {
        self.stopped = true;
        let stream = stream.unwrap_or_else(|| self.stopping.as_inner());
        driver::set_word(self.control.address(), 1, stream)
    }

    fn end(&mut self) -> Result<(), Error> {
        if !self.stopped {
            self.stop_in(None)?;
        }
        driver::synchronize(self.stream.as_inner())
    }
}

impl Drop for ClockKeeper {
    fn drop(&mut self) {
        // The rows must not be freed while the kernel writes to them. Where waiting fails the context is lost,
        // and `MappedMemory` sees to the rest.
        let _lost_context = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_all_readings_that_are_made_until_the_end() {
        for (at_most_ns, every_ns) in
            [(0, 50_000), (49_999, 50_000), (10_000_000, 50_000), (9_000_000_000, 450_000)]
        {
            let rows = Rows::new(132, Duration::from_nanos(at_most_ns));
            assert_eq!((rows.every_ns, rows.at_most_ns), (every_ns, at_most_ns));
            let readings = rows.bytes / READING_BYTES - 1;
            assert!(readings >= at_most_ns / every_ns + 2, "{rows:?}");
            assert!(rows.total_bytes() < 64 << 20, "{rows:?}");
        }
        let for_ever = Rows::new(132, Duration::MAX);
        assert!(for_ever.total_bytes() < 64 << 20, "{for_ever:?}");
    }

    #[test]
    fn what_was_read_ends_where_a_row_is_not_whole() {
        let rows = Rows::new(3, Duration::ZERO);
        let memory = HostMemory::zeroed(rows.total_bytes(), String::new).expect("memory");
        assert_eq!((rows.begun(&memory), rows.read(&memory, true)), (0, Vec::new()));
        let row = rows.bytes as usize / 8;
        let mut words = vec![0_u64; 3 * row];
        words[..4].copy_from_slice(&[8, 0, 100, 1000]);
        words[row..row + 6].copy_from_slice(&[1, 0, 200, 2000, 0, 3000]);
        memory
            .write_words(0, &words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>());
        assert_eq!(rows.begun(&memory), 2);
        let clock = |sm, reading| KeptClock { sm, readings: vec![reading], ended: false };
        assert_eq!(rows.read(&memory, false), [clock(7, (100, 1000)), clock(0, (200, 2000))]);
    }
}
