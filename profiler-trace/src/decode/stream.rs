//! Decodes a capture warp by warp.

use std::num::NonZeroUsize;
use std::sync::OnceLock;

use super::launches;
use super::regions::RegionTicks;
use super::{
    Scratch, SiteKinds, Slot, SlotSource, describe, entry_and_exit, fit_clocks, note_lost,
    note_nothing_selected, read_slots, threads, to_ns,
};
use crate::capture::{Capture, CaptureEnd, ModuleCapture};
use crate::clock::{ClockMap, ToNs};
use crate::cost::Subtraction;
use crate::diagnostic::{DiagnosticKind as Kind, Diagnostics, Location};
use crate::edges;
use crate::host::HostTrace;
use crate::model::{Edge, Launch, MarkIndex, Region, Site, SiteIndex, Time, Trace, Value, Warp};
use crate::progress::Progress;
use crate::resources::note_lost_blocks;

use super::silent::{self, Recorded};
use super::streamed::StreamedTrace;

/// Captures of fewer bytes are decoded on one thread: others would not be ready before it is done.
const SMALL_BYTES: usize = 1 << 18;

/// Reads a capture, warp by warp or as a whole.
///
/// ```
/// # fn count(capture: &profiler_trace::Capture) -> usize {
/// let mut count = 0;
/// profiler_trace::Decoder::new(capture).each_warp(|records| count += records.regions().len());
/// # count }
/// ```
///
/// In addition to the capture it holds a few hundred bytes for each slot, and nothing for a record.
/// A warp is decoded on demand, into memory that is used again.
#[derive(Debug)]
pub struct Decoder<'c> {
    capture: &'c Capture,
    /// Of each module.
    pub(super) kinds: Vec<SiteKinds>,
    /// Sites and the kernels in whose code they are, as far as that is known.
    sites_in_kernels: Vec<(SiteIndex, SiteIndex)>,
    /// Slots in use, in the order of the capture.
    slots: Vec<Slot>,
    clocks: ClockMap,
    /// Slots in the order of the trace.
    order: Vec<usize>,
    /// The launch of each slot.
    launch_of: Vec<usize>,
    /// Of each slot, whether it is shown.
    is_shown: Vec<bool>,
    /// The slots that are shown, in the order of the trace.
    shown: Vec<usize>,
    /// The launches with the warps that are shown.
    launches: Vec<Launch>,
    /// The trace without its warps, and without what only records tell. Its launches have all warps.
    head: Trace,
    threads: NonZeroUsize,
    /// Whether what recording cost is taken out of the times.
    subtracts_cost: bool,
    /// The findings of the first outline.
    found: OnceLock<Found>,
}

/// The findings in a capture.
#[derive(Debug)]
struct Found {
    diagnostics: Diagnostics,
    regions: RegionCounts,
}

/// Counts of the regions of the warps that are shown.
#[derive(Clone, Copy, Debug, Default)]
struct RegionCounts {
    all: usize,
    /// Those without an end.
    open: u64,
}

impl<'c> Decoder<'c> {
    /// Reads all of the capture but its records: sites, headers, clocks, launches.
    #[must_use]
    pub fn new(capture: &'c Capture) -> Self {
        let mut head = Trace {
            device: capture.device.clone(),
            record_cost: capture.record_cost,
            resources: capture.resources.clone(),
            resolution_ns: 1.0,
            alignment_ns: 1.0,
            timer_step_ns: 1.0,
            ..Trace::default()
        };
        match capture.end {
            CaptureEnd::Finished => {}
            CaptureEnd::Running => head.diagnostics.note(Kind::KernelRunning, None),
            CaptureEnd::Failed { code } => {
                head.diagnostics.note_number(Kind::KernelFailed, code.into(), None);
            }
        }
        note_lost_blocks(&capture.resources, &mut head.diagnostics);
        let mut sites_in_kernels = Vec::new();
        let mut slots = Vec::new();
        let mut clock_keepers = Vec::new();
        for (index, module) in capture.modules.iter().enumerate() {
            let first_site = head.sites.len() as u32;
            let running = capture.end == CaptureEnd::Running;
            if module.is_of_clocks() {
                let keepers = &mut clock_keepers;
                read_slots(index, module, running, first_site, keepers, &mut head);
                continue;
            }
            head.sites.extend_from_slice(module.sites.sites());
            sites_in_kernels.extend(silent::sites_in_kernels(&module.sites, first_site));
            read_slots(index, module, running, first_site, &mut slots, &mut head);
            note_lost(index, module, &mut head);
            // On the emulator, whose failures have no number, all memory outlives them.
            if matches!(capture.end, CaptureEnd::Failed { code: 1.. })
                && module.headers.is_empty()
                && !module.sites.needs_host_memory()
            {
                let place = Location { module: index, ..Location::default() };
                head.diagnostics.note(Kind::RecordsGone, Some(place));
            }
            if capture.end == CaptureEnd::Finished {
                note_nothing_selected(index, module, &mut head);
            }
        }
        // Where no warp recorded, the host is all that has times.
        let first_pair = capture.host.clock.first().map(|pair| pair.device_ns);
        let first_entry = slots.iter().map(|slot| slot.header.globaltimer).min();
        let origin = first_entry.or(first_pair).unwrap_or(0);
        let clocks = fit_clocks(&slots, &clock_keepers, capture, origin, &mut head);
        let times: Vec<_> = slots
            .iter()
            .map(|slot| {
                let (entry, exit) = entry_and_exit(slot, &clocks);
                (entry.ns, exit.map(|exit| exit.ns))
            })
            .collect();
        let (launches, order) = launches::arrange(&slots, &times);
        let mut launch_of = vec![0; slots.len()];
        for (number, launch) in launches.iter().enumerate() {
            for &slot in &order[launch.warps.clone()] {
                launch_of[slot] = number;
            }
        }
        head.host = HostTrace::new(&capture.host, origin, &launches, &head.sites);
        head.launches = launches;
        let launches = head.launches.clone();
        let bytes = |module: &ModuleCapture| module.records.len() + module.lanes.len();
        let kinds = capture.modules.iter();
        let kinds = kinds.map(|module| SiteKinds::new(&module.sites, bytes(module))).collect();
        let bytes: usize = capture.modules.iter().map(bytes).sum();
        let threads = if bytes < SMALL_BYTES { NonZeroUsize::MIN } else { threads::available() };
        Self {
            capture,
            kinds,
            sites_in_kernels,
            is_shown: vec![true; slots.len()],
            slots,
            clocks,
            shown: order.clone(),
            launches,
            order,
            launch_of,
            head,
            threads,
            subtracts_cost: false,
            found: OnceLock::new(),
        }
    }

    /// Sets the number of decoding threads. The default is that of the machine, or one for a small
    /// capture. The result does not depend on it.
    #[must_use]
    pub fn threads(self, threads: NonZeroUsize) -> Self {
        Self { threads, ..self }
    }

    /// Subtracts the cost of recording from all times, as [`Trace::subtract_record_cost`] does: in
    /// [`Decoder::trace`], [`Decoder::outline`] and [`Decoder::streamed`]. [`WarpRecords`] stay as they were recorded.
    #[must_use]
    pub fn subtract_record_cost(self) -> Self {
        Self { subtracts_cost: true, found: OnceLock::new(), ..self }
    }

    /// Shows only the warps that `takes` accepts, of those that were shown so far. It gets warps
    /// without their records: their identity, their launch, and their times.
    ///
    /// Launches keep their places and times, and one may have no warp left. Clocks, arrows, losses
    /// and [`Trace::diagnostics`] are found as if all warps were there, so a warp does not change
    /// when others are left out. Arrows to or from left out warps are left out, too.
    /// [`Trace::left_out_warps`] counts these warps.
    ///
    /// ```
    /// # fn export(capture: &profiler_trace::Capture, file: std::fs::File) -> std::io::Result<()> {
    /// use profiler_trace::{Decoder, Export};
    ///
    /// let decoder = Decoder::new(capture).only(|warp| warp.launch == 3 && warp.block[0] < 8);
    /// decoder.streamed().write_perfetto_to(file, &Default::default())?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn only(mut self, takes: impl Fn(&Warp) -> bool) -> Self {
        let mut warp = Warp::default();
        let is_shown = |slot: &usize| {
            warp.launch = self.launch_of[*slot];
            describe(&self.slots[*slot], &self.clocks, &mut warp);
            takes(&warp)
        };
        self.shown.retain(is_shown);
        self.is_shown.fill(false);
        self.shown.iter().for_each(|&slot| self.is_shown[slot] = true);
        let mut shown = self.shown.as_slice();
        let mut start = 0;
        for (number, launch) in self.launches.iter_mut().enumerate() {
            let count = shown.partition_point(|&slot| self.launch_of[slot] == number);
            shown = &shown[count..];
            launch.warps = start..start + count;
            start += count;
        }
        self.found = OnceLock::new();
        self
    }

    /// The number of shown warps: all of the capture, except those that [`Decoder::only`] leaves
    /// out.
    #[must_use]
    pub fn warp_count(&self) -> usize {
        self.shown.len()
    }

    /// The launches, in the order of [`Trace::launches`]. Here a launch without a warp that left
    /// the kernel ends at minus infinity.
    #[must_use]
    pub fn launches(&self) -> &[Launch] {
        &self.launches
    }

    /// The sites, in the order of [`Trace::sites`].
    #[must_use]
    pub fn sites(&self) -> &[Site] {
        &self.head.sites
    }

    /// The spans of the host.
    #[must_use]
    pub fn host(&self) -> &HostTrace {
        &self.head.host
    }

    /// Visits the warps in the order of [`Trace::warps`], on this thread.
    pub fn each_warp(&self, mut visit: impl FnMut(&WarpRecords<'_>)) {
        let mut memory = Memory::default();
        Progress::expect("warps visited", self.shown.len());
        for &slot in Progress::each(&self.shown) {
            visit(&self.slot(slot, &mut memory, &mut Diagnostics::default()));
        }
    }

    /// The whole trace in memory.
    #[must_use]
    pub fn trace(&self) -> Trace {
        let (mut trace, _) = self.gather(|records| records.to_warp());
        if self.subtracts_cost {
            trace.subtract_from_each_warp();
        }
        trace
    }

    /// A trace whose warps are decoded when they are asked for. Next to the capture it holds what
    /// [`Decoder::outline`] returns, and the regions of one warp.
    #[must_use]
    pub fn streamed(&self) -> StreamedTrace<'_> {
        StreamedTrace::new(self)
    }

    /// The trace but for the regions of its warps, which [`Warp::regions`] then lacks.
    #[must_use]
    pub fn outline(&self) -> Trace {
        let (mut outline, regions) = self.gather(|records| records.warp.clone());
        if self.subtracts_cost {
            self.subtract_from_outline(&mut outline);
        }
        self.found.get_or_init(|| Found { diagnostics: outline.diagnostics.clone(), regions });
        outline
    }

    /// Everything lost or odd, [`Trace::diagnostics`]. This decodes the whole capture, unless that
    /// was done before.
    #[must_use]
    pub fn diagnostics(&self) -> Diagnostics {
        let found = self.found.get().map(|found| found.diagnostics.clone());
        found.unwrap_or_else(|| self.outline().diagnostics)
    }

    /// How many regions the warps that are shown have, once there was an outline.
    pub(super) fn region_count(&self) -> usize {
        self.found.get().map_or(0, |found| found.regions.all)
    }

    /// How many of them have no end.
    pub(super) fn open_regions(&self) -> u64 {
        self.found.get().map_or(0, |found| found.regions.open)
    }

    /// A warp by its index in [`Trace::warps`], and what was odd when the cost of recording was
    /// subtracted from it.
    pub(super) fn warp(&self, index: usize, memory: &mut Memory, odd: &mut Diagnostics) -> Warp {
        let records = self.slot(self.shown[index], memory, &mut Diagnostics::default());
        let mut warp = records.to_warp();
        if self.subtracts_cost
            && let Some(cost) = Subtraction::of(&self.head)
        {
            cost.subtract(&mut warp, odd);
        }
        warp
    }

    /// Subtracts the cost of recording from a trace whose warps lack their regions. Each is decoded
    /// for that once more, since what is cut out of its times depends on its regions.
    fn subtract_from_outline(&self, outline: &mut Trace) {
        if Subtraction::of(&self.head).is_none() {
            return outline.subtract_from_each_warp();
        }
        let work = |memory: &mut Memory, warps: std::ops::Range<usize>| {
            let mut odd = Diagnostics::default();
            let warps: Vec<Warp> = Progress::each(warps)
                .map(|index| Warp { regions: Vec::new(), ..self.warp(index, memory, &mut odd) })
                .collect();
            (warps, odd)
        };
        Progress::expect("warps corrected", self.shown.len());
        outline.warps.clear();
        let mut odd = Diagnostics::default();
        for (warps, of_warps) in threads::in_ranges(self.threads, self.shown.len(), work) {
            outline.warps.extend(warps);
            odd.extend(&of_warps);
        }
        outline.end_subtraction(odd);
    }

    fn slot<'m>(
        &'m self,
        slot: usize,
        memory: &'m mut Memory,
        diagnostics: &mut Diagnostics,
    ) -> WarpRecords<'m> {
        let launch = self.launch_of[slot];
        let slot = &self.slots[slot];
        let source = SlotSource {
            slot,
            module: &self.capture.modules[slot.module],
            kinds: &self.kinds[slot.module],
            clocks: &self.clocks,
        };
        memory.warp.launch = launch;
        source.decode(&mut memory.scratch, diagnostics, &mut memory.warp);
        WarpRecords {
            warp: &memory.warp,
            scratch: &memory.scratch,
            first_site: slot.first_site,
            to_ns: to_ns(&self.clocks, &slot.header),
        }
    }

    /// A trace of the warps that are shown, of each what `keep` returns. All are decoded: arrows and
    /// diagnostics are those of all. Beside it, how many regions those that are shown have.
    fn gather(&self, keep: impl Fn(&WarpRecords<'_>) -> Warp + Sync) -> (Trace, RegionCounts) {
        let work = |memory: &mut Memory, slots: std::ops::Range<usize>| {
            let mut diagnostics = Diagnostics::default();
            let mut recorded = Recorded::default();
            let mut regions = RegionCounts::default();
            // With each warp that never left, when it was last heard of.
            let kept: Vec<(Warp, Option<f64>)> = slots
                .map(|slot| {
                    let open_before = diagnostics.count(Kind::OpenRegion);
                    let records = self.slot(slot, memory, &mut diagnostics);
                    recorded.add(self.slots[slot].kernel, &records, self.head.sites.len());
                    let last_ns = records.warp.exit.is_none().then(|| records.last_ns());
                    if !self.is_shown[slot] {
                        return (records.warp.clone(), last_ns);
                    }
                    regions.all += records.regions().len();
                    regions.open += diagnostics.count(Kind::OpenRegion) - open_before;
                    let warp = keep(&records);
                    Progress::step();
                    (warp, last_ns)
                })
                .collect();
            (kept, diagnostics, regions, recorded)
        };
        Progress::expect("warps decoded", self.shown.len());
        let done = threads::in_ranges(self.threads, self.slots.len(), work);
        let mut regions = RegionCounts::default();
        let mut trace = self.head.clone();
        let mut kept = Vec::with_capacity(self.slots.len());
        let mut recorded = Recorded::default();
        for (slots, diagnostics, of_part, recorded_in_part) in done {
            recorded.append(recorded_in_part);
            regions.all += of_part.all;
            regions.open += of_part.open;
            kept.extend(slots.into_iter().map(Some));
            trace.diagnostics.extend(&diagnostics);
        }
        trace.never_recorded = recorded.missing(&self.sites_in_kernels, &self.head.sites);
        trace.warps.reserve_exact(kept.len());
        for slot in &self.order {
            let Some((warp, last_ns)) = kept[*slot].take() else { continue };
            if let Some(last_ns) = last_ns {
                let end_ns = &mut trace.launches[warp.launch].end_ns;
                *end_ns = end_ns.max(last_ns);
            }
            trace.warps.push(warp);
        }
        let (signals, unmatched) = edges::join(&trace);
        trace.edges = signals;
        trace.diagnostics.add(unmatched);
        if self.subtracts_cost {
            trace.note_crowded_warps();
        }
        if self.shown.len() < self.order.len() {
            self.leave_out(&mut trace);
        }
        (trace, regions)
    }

    /// Takes what is not shown out of a trace of all warps.
    fn leave_out(&self, trace: &mut Trace) {
        let all = trace.warps.len();
        let mut places = Vec::with_capacity(all);
        let mut count = 0;
        for &slot in &self.order {
            let is_shown = self.is_shown[slot];
            places.push(is_shown.then_some(count));
            count += usize::from(is_shown);
        }
        let mut is_shown = places.iter().map(Option::is_some);
        trace.warps.retain(|_| is_shown.next().unwrap_or(false));
        let place = |mark: MarkIndex| Some(MarkIndex { warp: places[mark.warp]?, ..mark });
        let edges = std::mem::take(&mut trace.edges).into_iter();
        let edges =
            edges.filter_map(|edge| Some(Edge { from: place(edge.from)?, to: place(edge.to)? }));
        trace.edges = edges.collect();
        for (launch, shown) in trace.launches.iter_mut().zip(&self.launches) {
            launch.warps = shown.warps.clone();
        }
        trace.left_out_warps = (all - trace.warps.len()) as u64;
    }
}

/// A warp that was decoded, while it is visited.
#[derive(Debug)]
pub struct WarpRecords<'m> {
    /// The warp, but for its regions: [`Warp::regions`] is empty.
    pub warp: &'m Warp,
    pub(super) scratch: &'m Scratch,
    pub(super) first_site: u32,
    to_ns: ToNs<'m>,
}

impl WarpRecords<'_> {
    /// The regions, in the order of [`Warp::regions`]. They are made one by one, so regions that a
    /// visitor does not look at cost nothing.
    #[inline]
    pub fn regions(&self) -> impl ExactSizeIterator<Item = Region> {
        let mut to_ns = self.to_ns.clone();
        let values = self.scratch.recorded.values.as_slice();
        self.scratch.regions().map(move |raw| self.region(raw, values, &mut to_ns))
    }

    /// A region in its place in time. It is part of the loop that asks for it: a call for each would
    /// take longer than the rest.
    #[inline(always)]
    fn region(&self, raw: &RegionTicks, values: &[Value], to_ns: &mut ToNs<'_>) -> Region {
        // An open one has no end to convert.
        let end = if raw.is_open() { raw.start } else { raw.end };
        let [start_ns, end_ns] = to_ns.ns_of_two([raw.start, end]);
        let start = Time { ticks: raw.start, ns: start_ns };
        let end = (!raw.is_open()).then_some(Time { ticks: end, ns: end_ns });
        raw.region(self.first_site, values, start, end)
    }

    /// The warp with its regions.
    #[must_use]
    pub fn to_warp(&self) -> Warp {
        let mut to_ns = self.to_ns.clone();
        let values = self.scratch.recorded.values.as_slice();
        let raw = self.scratch.regions();
        let mut regions = Vec::with_capacity(raw.len());
        for raw in raw {
            regions.push(self.region(raw, values, &mut to_ns));
        }
        Warp { regions, ..self.warp.clone() }
    }

    /// See [`Warp::last_ns`].
    fn last_ns(&self) -> f64 {
        let ends = self.regions().map(|region| region.end.unwrap_or(region.start).ns);
        ends.fold(self.warp.last_ns(), f64::max)
    }
}

/// Memory that a thread uses again for each warp.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    scratch: Scratch,
    warp: Warp,
}
