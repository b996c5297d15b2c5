//! From what lay in device memory to a [`Trace`].
//!
//! [`buffers`] says which units of a buffer survived and in which order. [`lane`] decodes the buffers of a warp:
//! [`pass`] goes over the units of each, which [`units`] takes apart and [`ticks`] gives their whole times, and
//! makes regions and marks of them. [`regions`] sorts them, [`anchors`] gathers readings of both clocks,
//! [`launches`] sorts warps into launches, and [`stream`] decodes warp by warp.

mod anchors;
mod buffers;
mod lane;
mod launches;
mod pass;
mod recorded;
mod regions;
mod silent;
mod stream;
mod streamed;
mod threads;
mod ticks;
mod units;

use profiler_wire::descriptor::{FLAG_LANES, LANE_STEP, Lost};
use profiler_wire::header::{self, Clock, unpack_counts};
use profiler_wire::record::{TRACK_FIELD_MAX, UNIT_BYTES, track_number};
use profiler_wire::{Descriptor, ExitHeader, SiteKind, SlotHeader, Strategy, WIRE_VERSION};

use crate::capture::{Capture, ModuleCapture};
use crate::clock::{Anchor, ClockMap, ToNs};
use crate::diagnostic::{Diagnostic, DiagnosticKind as Kind, Diagnostics, Location};
use crate::model::{ClockReading, Mark, SiteIndex, Time, Trace, Warp};
use buffers::{Buffer, Layout};
use lane::Scratch;
use regions::RegionTicks;
pub use stream::{Decoder, WarpRecords};
pub use streamed::StreamedTrace;
use ticks::Bounds;
use units::SiteKinds;

/// Decodes a capture, on as many threads as the machine has. Whatever its bytes are, this returns
/// what is whole, and says in [`Trace::diagnostics`] what is not.
///
/// A region takes 72 bytes in the trace, and a record 16 in the capture. [`Decoder`] goes through a
/// capture without a trace in memory.
#[must_use]
pub fn decode(capture: &Capture) -> Trace {
    Decoder::new(capture).trace()
}

/// Lanes of a warp but for lane 0.
const OTHER_LANES: usize = 31;

/// A slot in use.
#[derive(Debug)]
struct Slot {
    module: usize,
    /// Index into [`Trace::sites`] of the module's first site.
    first_site: u32,
    slot: u32,
    kernel: SiteIndex,
    header: SlotHeader,
    exit: Option<ExitHeader>,
    layouts: Layouts,
}

impl Slot {
    fn place(&self, lane: Option<u8>) -> Location {
        Location { module: self.module, slot: Some(self.slot), lane, unit: None }
    }

    /// Of readings of both clocks, that of the record clock.
    fn of_clock(&self, clock: u64, globaltimer: u64) -> u64 {
        match self.header.record_clock {
            Clock::Cycles => clock,
            Clock::GlobalTimer => globaltimer,
        }
    }

    /// The warp's entry and exit by its record clock, as they bound the times of a lane.
    fn bounds(&self, lane: usize) -> Bounds {
        let entry = self.of_clock(self.header.clock, self.header.globaltimer);
        let exit = self.exit.map(|exit| self.of_clock(exit.clock, exit.globaltimer).max(entry));
        Bounds { entry, exit, leader: lane == 0 }
    }

    /// A lane's buffer and what it counted there; `None` for a lane that has no buffer. A lane other
    /// than lane 0 that recorded nothing writes no count; one that never left did not either, and
    /// its records tell the two apart.
    fn buffer<'m>(&self, module: &'m ModuleCapture, lane: usize) -> Option<LaneBuffer<'m>> {
        if lane == 0 {
            let buffer = self.layouts.leader.buffer(&module.records, self.slot as usize, 0);
            let counts = self.exit.map(|exit| (exit.units, exit.attachments));
            return Some(LaneBuffer { buffer, counts, is_cut: false });
        }
        let buffer = self.layouts.lanes?.buffer(&module.lanes, self.slot as usize, lane);
        let counts = lane_counts(module, self.slot, lane);
        let is_cut = counts.is_none();
        let counts = counts.filter(|counts| *counts != (0, 0));
        Some(LaneBuffer { buffer, counts, is_cut })
    }
}

/// The buffer and counts of a lane.
struct LaneBuffer<'m> {
    buffer: Buffer<'m>,
    /// Its units and the attachments among them.
    counts: Option<(u32, u32)>,
    /// Whether the capture ends before its count.
    is_cut: bool,
}

/// The layouts of a module's buffers.
#[derive(Clone, Copy, Debug)]
struct Layouts {
    leader: Layout,
    /// Of the other lanes, where they have one.
    lanes: Option<Layout>,
}

/// Converts readings of the record clock of a slot.
fn to_ns<'m>(clocks: &'m ClockMap, header: &SlotHeader) -> ToNs<'m> {
    match header.record_clock {
        Clock::Cycles => clocks.of_cycles(header.sm),
        Clock::GlobalTimer => clocks.of_timer(),
    }
}

/// The entry of a slot's warp into the kernel and its exit, if it left.
fn entry_and_exit(slot: &Slot, clocks: &ClockMap) -> (Time, Option<Time>) {
    let Bounds { entry, exit, .. } = slot.bounds(0);
    let mut to_ns = to_ns(clocks, &slot.header);
    let mut time = |ticks| Time { ticks, ns: to_ns.ns(ticks) };
    (time(entry), exit.map(time))
}

fn read_slots(
    index: usize,
    module: &ModuleCapture,
    running: bool,
    first_site: u32,
    slots: &mut Vec<Slot>,
    trace: &mut Trace,
) {
    let descriptor = &module.descriptor;
    let place = Location { module: index, ..Location::default() };
    if module.headers.is_empty() {
        return;
    }
    let Descriptor { record_mask, record_limit, record_shift, .. } = *descriptor;
    let leader = Layout::new(record_mask, record_limit, record_shift, UNIT_BYTES);
    let Descriptor { lane_mask, lane_limit, lane_shift, .. } = *descriptor;
    let lanes = (descriptor.flags & FLAG_LANES != 0)
        .then(|| Layout::new(lane_mask, lane_limit, lane_shift, LANE_STEP));
    let version = descriptor.version;
    let (Some(leader), false, true) =
        (leader, matches!(lanes, Some(None)), version == WIRE_VERSION)
    else {
        let number = u64::from(version);
        trace.diagnostics.note_number(Kind::DamagedDescriptor, number, Some(place));
        return;
    };
    let read = |layout: Layout| layout.running(running);
    let layouts = Layouts { leader: read(leader), lanes: lanes.flatten().map(read) };
    let (whole, rest) = module.headers.as_chunks::<{ header::BYTES }>();
    if rest.iter().any(|byte| *byte != 0) {
        trace.diagnostics.note(Kind::TruncatedCapture, Some(place));
    }
    for (slot, bytes) in (0..descriptor.slot_count).zip(whole) {
        let words = header::words(bytes);
        if words == [0; header::WORDS] {
            continue;
        }
        let place = Some(Location { slot: Some(slot), ..place });
        let Some(header) = SlotHeader::unpack(&words) else {
            trace.diagnostics.note(Kind::DamagedHeader, place);
            continue;
        };
        // A kernel records only where the descriptor has its own version.
        if header.version != version {
            let number = u64::from(header.version);
            trace.diagnostics.note_number(Kind::HeaderVersion, number, place);
            continue;
        }
        let exit = ExitHeader::unpack(&words);
        let kernel = module
            .sites
            .index_of(header.kernel)
            .filter(|index| module.sites.sites()[*index].kind == SiteKind::Kernel);
        let Some(kernel) = kernel else {
            trace.diagnostics.note_number(Kind::UnknownKernel, u64::from(header.kernel), place);
            let leader = exit.map(|exit| (exit.units, exit.attachments));
            let lanes = if layouts.lanes.is_some() { OTHER_LANES } else { 0 };
            let others: Vec<_> =
                (1..=lanes).filter_map(|lane| lane_counts(module, slot, lane)).collect();
            if others.len() < lanes {
                trace.diagnostics.note(Kind::TruncatedCapture, place);
            }
            for (units, attachments) in others.into_iter().chain(leader) {
                let emitted = u64::from(units.saturating_sub(attachments));
                trace.lost_unplaced = trace.lost_unplaced.saturating_add(emitted);
            }
            continue;
        };
        let kernel = SiteIndex(first_site + kernel as u32);
        slots.push(Slot { module: index, first_site, slot, kernel, header, exit, layouts });
    }
}

/// The units that a lane other than lane 0 emitted, and the attachments among them; `None` where
/// the capture ends before.
fn lane_counts(module: &ModuleCapture, slot: u32, lane: usize) -> Option<(u32, u32)> {
    let at = (slot as usize * 32 + lane) * 8;
    let bytes = module.lane_counts.get(at..)?.first_chunk::<8>()?;
    Some(unpack_counts(u64::from_le_bytes(*bytes)))
}

/// Reports what warps without a slot and lanes without a buffer lost.
fn note_lost(index: usize, module: &ModuleCapture, trace: &mut Trace) {
    let lost = module.lost;
    let place = Some(Location { module: index, ..Location::default() });
    let records = lost.units.saturating_sub(lost.attachments);
    trace.lost_unplaced = trace.lost_unplaced.saturating_add(records);
    trace.diagnostics.add(Diagnostic {
        kind: Kind::NoSlot,
        count: lost.warps,
        number: module.needed_slots(),
        place,
    });
    trace.diagnostics.note_count(Kind::RecordsWithoutBuffer, records, place);
    trace.diagnostics.note_count(Kind::ValuesLost, lost.attachments, place);
}

/// Reports where the selection of a session took nothing of a module.
fn note_nothing_selected(index: usize, module: &ModuleCapture, trace: &mut Trace) {
    let Descriptor { warp_mask, block_first, block_count, block_stride, .. } = module.descriptor;
    let takes_all =
        (warp_mask, block_first, block_count) == (u32::MAX, 0, u32::MAX) && block_stride <= 1;
    let is_empty = module.lost == Lost::default() && module.headers.iter().all(|byte| *byte == 0);
    if !takes_all && is_empty {
        let place = Location { module: index, ..Location::default() };
        trace.diagnostics.note(Kind::NothingSelected, Some(place));
    }
}

/// Maps clocks by what the warps of the user's kernels read, and those that read clocks alone.
fn fit_clocks(
    slots: &[Slot],
    clock_keepers: &[Slot],
    capture: &Capture,
    origin: u64,
    trace: &mut Trace,
) -> ClockMap {
    let mut anchors = Vec::with_capacity(2 * (slots.len() + clock_keepers.len()));
    for slot in slots.iter().chain(clock_keepers) {
        let mut anchor =
            |clock, globaltimer| anchors.push(Anchor { sm: slot.header.sm, clock, globaltimer });
        anchor(slot.header.clock, slot.header.globaltimer);
        if let Some(exit) = slot.exit {
            anchor(exit.clock, exit.globaltimer);
        }
        let module = &capture.modules[slot.module];
        anchors::gather(slot, module, &mut anchors, &mut trace.diagnostics);
    }
    let by = |clock: Clock| slots.iter().any(|slot| slot.header.record_clock == clock);
    let (cycles, timer) = (by(Clock::Cycles), by(Clock::GlobalTimer));
    // Where all records hold the timer itself, what the cycles say is of no concern.
    let mut ignored = Diagnostics::default();
    let noted = if cycles { &mut trace.diagnostics } else { &mut ignored };
    if trace.device.clock_mhz.is_none() {
        anchors::note_unread(slots, &anchors, noted);
    }
    let clocks = ClockMap::fit(&anchors, origin, trace.device.clock_mhz, noted);
    trace.origin_ns = origin;
    if !slots.is_empty() {
        trace.alignment_ns = if cycles { clocks.alignment } else { clocks.step_at_most };
        trace.timer_step_ns = clocks.step_at_most;
        trace.resolution_ns = if cycles { clocks.slope } else { clocks.step };
        // Of two clocks in one session, the finer one is the finest step that was seen.
        if cycles && timer {
            trace.resolution_ns = clocks.slope.min(clocks.step);
        }
        trace.clock_mhz = (cycles || clocks.known).then(|| 1000.0 / clocks.slope);
    }
    clocks
}

/// The parts of a capture that decoding a slot needs.
struct SlotSource<'c> {
    slot: &'c Slot,
    module: &'c ModuleCapture,
    kinds: &'c SiteKinds,
    clocks: &'c ClockMap,
}

/// Fills in the identity and the times of a slot's warp from its header.
fn describe(slot: &Slot, clocks: &ClockMap, warp: &mut Warp) {
    let header = &slot.header;
    warp.slot = slot.slot;
    warp.block = header.block;
    warp.warp = header.warp;
    warp.sm = header.sm;
    warp.cluster_rank = header.cluster_rank;
    warp.strategy = strategy_of(header).unwrap_or(Strategy::Warp);
    warp.track = track_number(track_of(header));
    warp.clock = header.record_clock;
    (warp.entry, warp.exit) = entry_and_exit(slot, clocks);
}

fn strategy_of(header: &SlotHeader) -> Option<Strategy> {
    u16::try_from(header.strategy).ok().and_then(Strategy::from_code)
}

/// A header has more room for it than a record: beyond is beyond in both.
fn track_of(header: &SlotHeader) -> u32 {
    header.track.min(TRACK_FIELD_MAX)
}

impl SlotSource<'_> {
    /// Decodes the slot into `scratch` and, but for its regions, into `warp`.
    fn decode(&self, scratch: &mut Scratch, diagnostics: &mut Diagnostics, warp: &mut Warp) {
        let slot = self.slot;
        let header = &slot.header;
        let place = slot.place(None);
        let Bounds { entry, exit, .. } = slot.bounds(0);
        if exit.is_none() {
            diagnostics.note(Kind::WarpNeverLeft, Some(place));
        }
        if slot.exit.is_some_and(|exit| slot.of_clock(exit.clock, exit.globaltimer) < entry) {
            diagnostics.note(Kind::TimeNotMonotonic, Some(place));
        }
        if strategy_of(header).is_none() {
            let number = u64::from(header.strategy);
            diagnostics.note_number(Kind::UnknownStrategy, number, Some(place));
        }
        note_track(track_of(header), Some(place), diagnostics);
        describe(slot, self.clocks, warp);
        scratch.clear();
        let mut decoder = lane::Decoder {
            sites: &self.module.sites,
            kinds: self.kinds,
            clock: header.record_clock,
            scratch,
            diagnostics,
            is_alone: slot.layouts.lanes.is_none(),
            lanes: 0,
            recorded: 0,
            lost: 0,
        };
        for lane in 0..=OTHER_LANES {
            let place = slot.place(Some(lane as u8));
            let first = decoder.scratch.recorded.regions.len();
            if let Some(LaneBuffer { buffer, counts, is_cut }) = slot.buffer(self.module, lane) {
                if is_cut {
                    decoder.diagnostics.note(Kind::TruncatedCapture, Some(place));
                }
                decoder.lane(&buffer, counts, slot.bounds(lane), place);
            }
            if let (1.., Some(exit)) = (lane, exit) {
                let own = &decoder.scratch.recorded.regions.as_slice()[first..];
                let is_after = |region: &&RegionTicks| !region.is_open() && region.end > exit;
                decoder.diagnostics.note_count(
                    Kind::RegionAfterExit,
                    own.iter().filter(is_after).count() as u64,
                    Some(place),
                );
            }
        }
        decoder.finish();
        let (recorded, lost) = (decoder.recorded, decoder.lost);
        (warp.recorded, warp.lost) = (recorded, lost);
        self.place_in_time(scratch, warp);
    }

    /// Gives everything but regions its nanoseconds.
    fn place_in_time(&self, scratch: &Scratch, warp: &mut Warp) {
        let recorded = &scratch.recorded;
        let first_site = self.slot.first_site;
        let mut to_ns = to_ns(self.clocks, &self.slot.header);
        let mut time = |ticks| Time { ticks, ns: to_ns.ns(ticks) };
        warp.anchors.clear();
        let anchors = recorded.anchors.iter();
        warp.anchors.extend(anchors.map(|&(lane, ticks)| ClockReading { lane, time: time(ticks) }));
        warp.marks.clear();
        warp.marks.extend(recorded.marks.iter().map(|mark| Mark {
            site: SiteIndex(first_site + mark.site),
            track: track_number(mark.track),
            lane: mark.lane,
            time: time(mark.ticks),
            value: mark.value,
        }));
    }
}

/// Notes a track, as a record or header holds it, that stands for all beyond the largest.
fn note_track(track: u32, place: Option<Location>, diagnostics: &mut Diagnostics) {
    if track == TRACK_FIELD_MAX {
        diagnostics.note(Kind::TrackOutOfRange, place);
    }
}

#[cfg(test)]
mod tests;
