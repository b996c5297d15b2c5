//! Reading a session's arrays while kernels write to them, or after one of them failed.
//!
//! Nothing is synchronised with the device. What makes the reading sound:
//!
//! * Every word is read whole, and a unit, two words, is stored by one instruction of 16 bytes. PTX lets
//!   the words of a vector arrive apart, so that is not relied on alone: a buffer is read twice, and a unit
//!   counts only if it was the same both times. What is kept so is what the buffer held at one moment,
//!   between the two readings, but for units that were being written; in a ring, also for those that were
//!   being overwritten.
//! * A header is taken when all its parts have arrived ([`SlotHeader::is_whole`]). A warp publishes its
//!   counts after a fence, and headers and counts are read before buffers: whoever sees the counts sees the
//!   records. Without counts the decoder goes by what is there.
//! * Buffers are zero before a session, and no written unit is.

use std::sync::Arc;

use profiler_trace::{
    Capture, CaptureEnd, ClockPair, DeviceInfo, ModuleCapture, RecordCost, SiteTable, Trace,
};
use profiler_wire::descriptor::{Descriptor, Lost};
use profiler_wire::header::{self, ExitHeader, SlotHeader};
use profiler_wire::record::{UNIT_BYTES, UNIT_WORDS};

use crate::emulator::executed_sites;
use crate::error::Error;
use crate::export::Output;
#[cfg(feature = "cuda")]
use crate::gpu::WatchedClocks;
use crate::host_memory::HostMemory;
use crate::host_spans::HostLog;
use crate::layout::Layout;

/// Bytes of a word.
const WORD: usize = size_of::<u64>();
/// Words of the counts of a slot's lanes.
const COUNT_WORDS: usize = 32;

/// A view of a running session, from any thread; made by [`Session::watch`](crate::Session::watch). It
/// stays valid after the session, and then shows how that ended.
///
/// It shows all modules of the session; those without a kernel with `buffer = host` have their sites and
/// no records. It shows the host's spans if the session records them. It does not read the clocks: after
/// the session's last reading of them, they are taken to run alike.
///
/// ```
/// use profiler_device::{profile_region, profiled};
/// use profiler_host::{Backend, BackendChoice, Profiler, launch};
///
/// #[profiled(buffer = host)]
/// pub unsafe extern "ptx-kernel" fn work(out: *mut u32) {
///     profile_region!("store", {
///         // SAFETY: one thread, one number.
///         unsafe { *out = 1 };
///     });
/// }
///
/// # fn main() -> Result<(), profiler_host::Error> {
/// let backend = Backend::choose(BackendChoice::Emulator, None)?;
/// let mut out = backend.zeroed::<u32>(1)?;
/// let mut session = backend.session(&Profiler::builder().build()?)?;
/// let watch = session.watch()?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         for warp in &watch.snapshot()?.warps {
///             for open in warp.regions.iter().filter(|region| region.end.is_none()) {
///                 println!("warp {} of block {:?} is in {:?}", warp.warp, warp.block, open.site);
///             }
///         }
///         Ok::<(), profiler_host::Error>(())
///     });
///     // SAFETY: the kernel writes one number.
///     unsafe { launch!(session, work<<<1, 1>>>(out.as_mut_ptr())) }
/// })?;
/// assert_eq!(watch.snapshot()?.warps[0].regions.len(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Watch {
    device: DeviceInfo,
    modules: Vec<WatchedModule>,
    cost: Option<RecordCost>,
    subtract: bool,
    host: Option<WatchedHost>,
}

/// A module of a session that is watched.
#[derive(Clone, Debug)]
pub(crate) enum WatchedModule {
    /// Its arrays lie in memory of the host.
    Live(LiveArrays),
    /// They lie where they cannot be read: what is known without.
    #[cfg(feature = "cuda")]
    Unreadable(ModuleCapture),
    /// What the session has read of clocks.
    #[cfg(feature = "cuda")]
    Clocks(WatchedClocks),
}

/// What is recorded of the host in a session that is watched.
#[derive(Clone, Debug)]
pub(crate) struct WatchedHost {
    pub(crate) log: HostLog,
    /// What both clocks said when the view was made, for as long as the session has not read them.
    pub(crate) clock: Option<ClockPair>,
}

impl Watch {
    /// A view of a session's modules.
    ///
    /// # Errors
    ///
    /// [`Error::NotWatchable`] if the records of none can be read.
    pub(crate) fn new(
        device: DeviceInfo,
        modules: Vec<WatchedModule>,
        output: &Output,
        host: Option<WatchedHost>,
    ) -> Result<Self, Error> {
        if !modules.iter().any(|module| matches!(module, WatchedModule::Live(_))) {
            return Err(Error::NotWatchable);
        }
        Ok(Self { device, modules, cost: output.cost, subtract: output.subtracts(), host })
    }

    /// The records so far, decoded. Warps that have not left their kernel have no exit, and regions that
    /// have not ended no end. It waits for nothing, and stops nothing.
    ///
    /// # Errors
    ///
    /// See [`capture`](Self::capture).
    pub fn snapshot(&self) -> Result<Trace, Error> {
        let mut trace = profiler_trace::decode(&self.capture()?);
        if self.subtract {
            trace.subtract_record_cost();
        }
        Ok(trace)
    }

    /// The records so far, undecoded.
    ///
    /// # Errors
    ///
    /// Sites that clash, on the emulator, which learns of them when they run.
    pub fn capture(&self) -> Result<Capture, Error> {
        self.capture_at(CaptureEnd::Running)
    }

    pub(crate) fn capture_at(&self, end: CaptureEnd) -> Result<Capture, Error> {
        Ok(Capture {
            device: self.device.clone(),
            modules: self.modules.iter().map(WatchedModule::read).collect::<Result<_, _>>()?,
            record_cost: self.cost,
            end,
            host: self.host.as_ref().map(|host| host.log.capture(host.clock)).unwrap_or_default(),
            ..Capture::default()
        })
    }
}

impl WatchedModule {
    fn read(&self) -> Result<ModuleCapture, Error> {
        match self {
            Self::Live(arrays) => arrays.read(),
            #[cfg(feature = "cuda")]
            Self::Unreadable(known) => Ok(known.clone()),
            #[cfg(feature = "cuda")]
            Self::Clocks(clocks) => clocks.read(),
        }
    }
}

/// The arrays of a module, in memory of the host.
#[derive(Clone, Debug)]
pub(crate) struct LiveArrays {
    memory: Arc<HostMemory>,
    /// The address by which kernels know the first byte of the memory.
    address: u64,
    layout: Layout,
    descriptor: Descriptor,
    /// `None`: those that the emulator has registered by then.
    sites: Option<SiteTable>,
}

impl LiveArrays {
    pub(crate) fn new(
        memory: Arc<HostMemory>,
        address: u64,
        layout: &Layout,
        descriptor: Descriptor,
        sites: Option<SiteTable>,
    ) -> Self {
        Self { memory, address, layout: layout.clone(), descriptor, sites }
    }

    /// Reads the slots in use: those with a header.
    fn read(&self) -> Result<ModuleCapture, Error> {
        let mut headers: Vec<[u64; header::WORDS]> =
            self.layout.zeros(self.layout.slot_count as usize)?;
        self.words(self.descriptor.headers, headers.as_flattened_mut());
        headers.iter_mut().for_each(take_whole);
        let slots = headers.iter().rposition(|header| header[2] != 0).map_or(0, |last| last + 1);
        headers.truncate(slots);
        let in_use = || (0..slots).filter(|slot| headers[*slot][2] != 0);

        let buffer = self.layout.buffer;
        let buffer_words = buffer.stride() as usize / WORD;
        let mut lane_counts = Vec::new();
        if self.layout.lane_buffer.is_some() {
            lane_counts = self.layout.zeros(slots * COUNT_WORDS)?;
            for slot in in_use() {
                let counts = &mut lane_counts[slot * COUNT_WORDS..][..COUNT_WORDS];
                self.words(
                    self.descriptor.lane_counts + (slot * COUNT_WORDS * WORD) as u64,
                    counts,
                );
            }
        }
        let mut records = self.layout.zeros(slots * buffer_words)?;
        for slot in in_use() {
            let exit = ExitHeader::unpack(&headers[slot]);
            let units = exit.map_or(buffer.capacity(), |exit| exit.units.min(buffer.capacity()));
            let words = (units as usize * UNIT_WORDS).min(buffer_words);
            let at = slot * buffer_words;
            self.units(self.descriptor.records + (at * WORD) as u64, &mut records[at..at + words]);
        }
        let mut lanes = Vec::new();
        if let Some(buffer) = self.layout.lane_buffer {
            let buffer_words = buffer.stride() as usize / WORD;
            lanes = self.layout.zeros(slots * buffer_words)?;
            for slot in in_use() {
                let at = slot * buffer_words;
                let buffer = &mut lanes[at..at + buffer_words];
                self.units(self.descriptor.lanes + (at * WORD) as u64, buffer);
            }
        }
        let mut lost = [0; Lost::BYTES / WORD];
        self.words(self.descriptor.lost, &mut lost);
        let [warps, units, attachments] = lost;
        let sites = match &self.sites {
            Some(sites) => sites.clone(),
            // Read last, when every site of the records has been registered.
            None => executed_sites()?,
        };
        Ok(ModuleCapture {
            sites,
            descriptor: self.descriptor,
            headers: bytes(headers.as_flattened()),
            records: bytes(&records),
            lanes: bytes(&lanes),
            lane_counts: bytes(&lane_counts),
            lost: Lost { warps, units, attachments },
        })
    }

    /// Reads words by the address that kernels know them by.
    fn words(&self, address: u64, into: &mut [u64]) {
        self.memory.read_words((address - self.address) as usize, into);
    }

    /// Reads units, twice: those that changed meanwhile are zero.
    fn units(&self, address: u64, into: &mut [u64]) {
        self.words(address, into);
        let mut again = [0; UNIT_WORDS];
        let (units, _) = into.as_chunks_mut::<UNIT_WORDS>();
        for (index, unit) in units.iter_mut().enumerate() {
            self.words(address + index as u64 * u64::from(UNIT_BYTES), &mut again);
            if *unit != again {
                *unit = [0; UNIT_WORDS];
            }
        }
    }
}

/// Takes those halves of a header out that are not there as a whole.
fn take_whole(words: &mut [u64; header::WORDS]) {
    if !SlotHeader::is_whole(words) {
        *words = [0; header::WORDS];
    }
    if !ExitHeader::is_whole(words) {
        words[header::EXIT_START..].fill(0);
    }
}

/// The bytes of words, as the device has them.
fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
