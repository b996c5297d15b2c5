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
        Ok(Self { device, modules, cost: output.cost, subtract: output.subtract, host })
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
mod tests {
    //! What views of a session show, by memory that no kernel writes to.

    use profiler_wire::header::EXIT_MARK;

    use super::*;

    #[test]
    fn a_header_is_taken_by_its_whole_halves() {
        let whole: [u64; header::WORDS] = std::array::from_fn(|word| match word {
            0..8 => word as u64 + 1,
            11 => EXIT_MARK,
            8..12 => word as u64,
            _ => 0,
        });
        // A unit of two words has arrived, or it has not.
        for there in 0..1_u32 << 6 {
            let mut words = whole;
            for unit in (0..6).filter(|unit| there & (1 << unit) == 0) {
                words[2 * unit..2 * unit + 2].fill(0);
            }
            take_whole(&mut words);
            let has_entry = there & 0xf == 0xf;
            let has_exit = has_entry && there >> 4 == 0b11;
            assert_eq!(words[..8] == whole[..8], has_entry, "{there:b}");
            assert_eq!(words[8..12] == whole[8..12], has_exit, "{there:b}");
            assert!(has_entry || words == [0; header::WORDS]);
            assert!(has_exit || words[8..] == [0; 8]);
        }
    }

    /// On the emulator no module is out of reach, and all memory outlives a failure.
    #[cfg(feature = "cuda")]
    mod failed {
        use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
        use profiler_trace::{DiagnosticKind as Kind, HostSpanKind, decode};
        use profiler_wire::SiteKind;
        use profiler_wire::site::{Buffer, SiteEntry};

        use super::*;
        use crate::host_spans::HostRecorder;
        use crate::options::Options;

        /// A module with one kernel, whose one warp has entered it.
        fn module(kernel: &str, buffer: Buffer) -> SyntheticModule {
            let mut module = SyntheticModule::new(Keep::First, 4);
            let mut entry = SiteEntry::new(SiteKind::Kernel, kernel, "k.rs", "k", 1, 1);
            entry.buffer = buffer;
            let kernel = module.site_entry(&entry, &[]);
            module.warps.push(SyntheticWarp::new(kernel, 1_000, 64_000));
            module
        }

        /// A module of which nothing can be read keeps its place and its sites, and what the host did is there.
        #[test]
        fn what_outlives_a_failed_kernel_is_there_as_a_whole() {
            let [gone, kept] = [("gone", Buffer::Global), ("kept", Buffer::Host)]
                .map(|(kernel, buffer)| module(kernel, buffer));
            let headers = kept.capture().expect("the sites are whole").headers;
            let [gone, kept] =
                [gone, kept].map(|module| module.sites().expect("the sites are whole"));
            let arrays = live(Some(kept));
            let LiveArrays { memory, address, descriptor, .. } = &arrays;
            memory.write_words((descriptor.headers - address) as usize, &headers);
            let unreadable =
                ModuleCapture { sites: gone, descriptor: *descriptor, ..ModuleCapture::default() };

            let recorder = HostRecorder::new();
            let log = HostLog::new(recorder.clone());
            log.read_both(ClockPair { host_ns: 0, device_ns: 60_000, uncertainty_ns: 1.0 });
            recorder.in_span("upload", || ());
            log.launched("gone", log.now_ns());
            let watch = Watch::new(
                DeviceInfo::default(),
                vec![WatchedModule::Unreadable(unreadable), WatchedModule::Live(arrays)],
                &Output::new(&Options::default()),
                Some(WatchedHost { log, clock: None }),
            );
            let watch = watch.expect("one module can be read");
            let capture =
                watch.capture_at(CaptureEnd::Failed { code: 700 }).expect("it can be read");
            let trace = decode(&capture);
            let names: Vec<&str> = trace.sites.iter().map(|site| site.name.as_str()).collect();
            assert_eq!(names, ["gone", "kept"], "each module has its index");
            let [launch] = trace.launches.as_slice() else {
                panic!("one launch: {:?}", trace.launches)
            };
            assert_eq!((trace.site(launch.kernel).name.as_str(), trace.warps.len()), ("kept", 1));
            let host: Vec<_> =
                trace.host.spans().map(|span| (span.name.as_str(), span.kind)).collect();
            let call = ("gone", HostSpanKind::Launch(None));
            assert_eq!(host, [("upload", HostSpanKind::Span), call]);
            let gone = trace.diagnostics.get(Kind::RecordsGone).expect("it is said");
            assert_eq!((gone.count, gone.place.map(|place| place.module)), (1, Some(0)), "{gone}");
            let salvaged = Some(Box::new(capture));
            let error = failed(salvaged, None);
            assert!(error.contains("Error::salvaged has them (of 1 module, "), "{error}");
            assert!(!error.contains("guard word"), "{error}");
        }

        fn failed(salvaged: Option<Box<Capture>>, overwritten: Option<Box<Error>>) -> String {
            let reason = "a trap".to_owned();
            Error::KernelFailed { reason, code: 719, salvaged, overwritten }.to_string()
        }

        /// That a kernel failed hides no guard word that was overwritten, nor the other way round.
        #[test]
        fn a_failure_and_guards_that_were_overwritten_are_both_said() {
            let first = "at byte 8, before all arrays".to_owned();
            let guards = Box::new(Error::GuardsOverwritten { words: 2, first });
            let error = failed(None, Some(guards));
            assert!(error.starts_with("a kernel failed (a trap), "), "{error}");
            let (_, after) = error.split_once(". Besides, ").expect("both");
            assert!(after.starts_with("2 guard word(s) of the session's memory "), "{after}");
        }

        /// What records in device memory cannot be watched, and it is said what can.
        #[test]
        fn modules_out_of_reach_are_not_watchable() {
            let watch = |modules| {
                let output = Output::new(&Options::default());
                Watch::new(DeviceInfo::default(), modules, &output, None)
            };
            let gone = || WatchedModule::Unreadable(ModuleCapture::default());
            let error = watch(vec![gone(), gone()]).expect_err("nothing can be read");
            assert!(matches!(error, Error::NotWatchable), "{error}");
            assert!(error.to_string().contains("#[profiled(buffer = host)]"), "{error}");
            watch(vec![gone(), WatchedModule::Live(live(None))]).expect("one can be read");
        }

        /// Arrays for one warp, which nothing was written to.
        fn live(sites: Option<SiteTable>) -> LiveArrays {
            let options = Options { max_warps: Some(1), ..Options::default() };
            let layout = Layout::new(&options, false, false, 1).expect("a layout");
            let memory =
                HostMemory::zeroed(layout.bytes_to_allocate(), || layout.help()).expect("memory");
            let address = memory.address();
            let descriptor = layout.descriptor(&options, layout.base(address));
            LiveArrays::new(Arc::new(memory), address, &layout, descriptor, sites)
        }
    }
}
