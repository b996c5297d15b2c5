//! What records must be over all warps, and what headers, counters and diagnostics say they are.

use std::collections::BTreeMap;
use std::fmt;

use profiler_host::Capture;
use profiler_trace::{DiagnosticKind, Severity, Trace};
use profiler_wire::header::{self, ExitHeader, SlotHeader, unpack_counts};

use super::Times;
use crate::expected::{Count, Kept};
use crate::reference::{LaneRun, WarpRun};
use crate::script::{Lead, Place};

/// A number of which it is known how small and how large it may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    pub least: u64,
    pub most: u64,
}

impl Bounds {
    pub(super) fn exactly(number: u64) -> Self {
        Self { least: number, most: number }
    }

    pub(super) fn up_to(most: u64) -> Self {
        Self { least: 0, most }
    }

    fn contain(self, number: u64) -> bool {
        (self.least..=self.most).contains(&number)
    }
}

impl std::ops::AddAssign for Bounds {
    fn add_assign(&mut self, other: Self) {
        self.least += other.least;
        self.most += other.most;
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { least, most } = self;
        if least == most { write!(f, "{least}") } else { write!(f, "{least} to {most}") }
    }
}

/// What records must be, over all warps.
#[derive(Debug, Default)]
pub(super) struct Totals {
    records: Bounds,
    attachments: Bounds,
    pub unplaced: Bounds,
    open: Bounds,
    orphaned: Bounds,
    /// Of lane 0, and of the other lanes.
    too_small: [Bounds; 2],
    values_lost: Bounds,
}

/// What is known of the elections at a place.
struct Election {
    /// How often a lane comes there, at most.
    visits: u64,
    /// The fewest records, and the fewest attachments, that an elected lane emits.
    least: [u64; 2],
    /// Those of all lanes that come there.
    all: [u64; 2],
}

impl Election {
    const NONE: Self = Self { visits: 0, least: [u64::MAX; 2], all: [0; 2] };
}

impl Totals {
    /// Adds what a warp emits. Where elections are open, a place at which lanes come `n` times has
    /// at least `n` of them, and at most all lanes are elected that come there.
    pub(super) fn count(&mut self, run: &WarpRun, open: bool) {
        let mut elections: BTreeMap<Place, Election> = BTreeMap::new();
        for lane in &run.lanes {
            if open {
                self.count_open(&lane.with_all_elected(), &mut elections);
                continue;
            }
            for unit in &lane.units {
                let count =
                    if unit.is_attachment() { &mut self.attachments } else { &mut self.records };
                *count += Bounds::exactly(1);
            }
        }
        for Election { visits, least, all } in elections.into_values() {
            let bounds = |index: usize| Bounds { least: visits * least[index], most: all[index] };
            self.records += bounds(0);
            self.attachments += bounds(1);
        }
    }

    /// Adds what the `whole` of a lane emits in any case, and counts what is left to `elections`.
    fn count_open(&mut self, whole: &LaneRun, elections: &mut BTreeMap<Place, Election>) {
        let mut of_instances: BTreeMap<usize, Count> = BTreeMap::new();
        for unit in &whole.units {
            of_instances.entry(unit.instance).or_default().add(unit);
        }
        let mut visits: BTreeMap<Place, u64> = BTreeMap::new();
        for (instance, count) in of_instances {
            let instance = &whole.script.instances[instance];
            let counts = [count.records(), count.attachments];
            if let Lead::Fixed(_) = instance.lead {
                self.records += Bounds::exactly(counts[0]);
                self.attachments += Bounds::exactly(counts[1]);
                continue;
            }
            *visits.entry(instance.place).or_default() += 1;
            let election = elections.entry(instance.place).or_insert(Election::NONE);
            let bounds = election.least.iter_mut().zip(&mut election.all);
            for ((least, all), count) in bounds.zip(counts) {
                *least = count.min(*least);
                *all += count;
            }
        }
        for (place, visits) in visits {
            let election = elections.entry(place).or_insert(Election::NONE);
            election.visits = election.visits.max(visits);
        }
    }

    /// Adds the attachments that a lane without a buffer loses.
    pub(super) fn lose_unplaced_values(&mut self, lane: &LaneRun, open: bool) {
        let attachments =
            |lane: &LaneRun| lane.units.iter().filter(|unit| unit.is_attachment()).count() as u64;
        self.values_lost += if open {
            Bounds::up_to(attachments(&lane.with_all_elected()))
        } else {
            Bounds::exactly(attachments(lane))
        };
    }

    /// Adds what a lane with a buffer loses.
    pub(super) fn lose(&mut self, kept: &Kept, is_leader: bool) {
        let lost = |emitted: u64, survived: u64| Bounds::exactly(emitted - survived);
        let Kept { emitted, survived, .. } = kept;
        self.open += Bounds::exactly(kept.open);
        self.orphaned += Bounds::exactly(kept.orphaned);
        self.too_small[usize::from(!is_leader)] += lost(emitted.records(), survived.records());
        self.values_lost += lost(emitted.attachments, survived.attachments);
    }

    /// Adds what a lane may lose of `all` that it records, where it is not known how much. (Of lane 0
    /// that is so only where elections are open, which nothing of this is compared for.)
    pub(super) fn may_lose(&mut self, all: &Kept) {
        // Of what has a begin of its own, the end may find no buffer.
        self.open += Bounds::up_to(all.open + all.begins);
        self.orphaned += Bounds::up_to(all.emitted.attachments);
        self.too_small[1] += Bounds::up_to(all.emitted.records());
        self.values_lost += Bounds::up_to(all.emitted.attachments);
    }

    /// What headers, lanes and the counters of what found no buffer say was emitted, together with what
    /// the trace says was recorded and lost.
    pub(super) fn check_counts(&self, capture: &Capture, trace: &Trace) -> Result<(), String> {
        let (mut units, mut attachments) = (0, 0);
        let mut add = |of_lane: (u64, u64)| {
            units += of_lane.0;
            attachments += of_lane.1;
        };
        for module in &capture.modules {
            for words in slots(&module.headers) {
                if let Some(exit) = SlotHeader::unpack(&words).and(ExitHeader::unpack(&words)) {
                    add((exit.units.into(), exit.attachments.into()));
                }
            }
            for bytes in module.lane_counts.as_chunks::<8>().0 {
                let (units, attachments) = unpack_counts(u64::from_le_bytes(*bytes));
                add((units.into(), attachments.into()));
            }
            add((module.lost.units, module.lost.attachments));
        }
        let records = u64::saturating_sub(units, attachments);
        ensure!(
            self.records.contain(records) && self.attachments.contain(attachments),
            "{records} records and {attachments} attachments were emitted, not {} and {}",
            self.records,
            self.attachments
        );
        let accounted = trace.recorded() + trace.lost();
        ensure!(accounted == records, "{accounted} records are accounted for, of {records}");
        Ok(())
    }

    /// The trace says what is missing, with the right counts, and nothing else.
    pub(super) fn check_diagnostics(
        &self,
        trace: &Trace,
        no_slot: u64,
        times: Times,
        open: bool,
    ) -> Result<(), String> {
        use DiagnosticKind as Of;
        let waits = trace.warps.iter().flat_map(|warp| &warp.marks);
        let waits = waits
            .filter(|mark| trace.site(mark.site).kind == profiler_wire::SiteKind::Wait)
            .count();
        let found = |kind| {
            let of_kind =
                trace.diagnostics.list.iter().filter(|diagnostic| diagnostic.kind == kind);
            of_kind.map(|diagnostic| diagnostic.count).sum::<u64>()
        };
        let of_losses = [
            (Of::BufferTooSmall, self.too_small[0]),
            (Of::LaneBufferTooSmall, self.too_small[1]),
            (Of::ValuesLost, self.values_lost),
            (Of::OpenRegion, self.open),
            (Of::OrphanedValue, self.orphaned),
            (Of::RecordsWithoutBuffer, self.unplaced),
        ];
        let in_any_case = [
            (Of::NoSlot, Bounds::exactly(no_slot)),
            (Of::WaitWithoutSignal, Bounds::exactly((waits - trace.edges.len()) as u64)),
        ];
        let all = [&of_losses[..], &in_any_case].concat();
        // Where elections are open, so is what is lost of what they recorded.
        let known = if open { &in_any_case[..] } else { &all };
        for &(kind, count) in known {
            let found = found(kind);
            ensure!(count.contain(found), "{} counts {found}, not {count}", kind.name());
        }
        for diagnostic in &trace.diagnostics.list {
            let kind = diagnostic.kind;
            let is_counted = all.iter().any(|&(other, _)| other == kind);
            // A launch of some microseconds may not tell the frequency of the clock, which is of no
            // concern to the order.
            let of_clock = times == Times::Hardware
                && matches!(kind, Of::ClockUncertain | Of::ClockContradiction);
            let is_fine = is_counted || of_clock || diagnostic.severity() == Severity::Info;
            ensure!(is_fine, "{diagnostic}");
        }
        Ok(())
    }
}

/// The words of each slot.
fn slots(headers: &[u8]) -> impl Iterator<Item = [u64; header::WORDS]> {
    headers.as_chunks::<{ header::BYTES }>().0.iter().map(|bytes| {
        let words = bytes.as_chunks::<8>().0;
        std::array::from_fn(|index| u64::from_le_bytes(words[index]))
    })
}
