//! The buffers of one warp's lanes: which units survived in each, and what was lost.

use profiler_wire::header::Clock;

use super::buffers::Buffer;
use super::pass::{self, Counted, PassMemory};
use super::recorded::Recorded;
use super::regions::{self, RegionTicks, Sorter};
use super::ticks::Bounds;
use super::units::{LaneUnits, SiteKinds};
use crate::diagnostic::{Diagnostic, DiagnosticKind as Kind, Diagnostics, Location};
use crate::site_table::SiteTable;

/// Memory that is used again for each warp.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub recorded: Recorded,
    pub sorter: Sorter,
    memory: PassMemory,
}

/// Decodes the lanes of one warp.
pub(super) struct Decoder<'a> {
    pub sites: &'a SiteTable,
    pub kinds: &'a SiteKinds,
    pub clock: Clock,
    pub scratch: &'a mut Scratch,
    pub diagnostics: &'a mut Diagnostics,
    /// Whether no other lanes than this one have regions.
    pub is_alone: bool,
    /// Lanes with regions so far.
    pub lanes: u32,
    /// Records that were decoded so far.
    pub recorded: u64,
    /// Records that were emitted and not kept, so far.
    pub lost: u64,
}

impl Scratch {
    /// The regions, in the order of [`crate::Warp::regions`].
    pub(super) fn regions(&self) -> impl ExactSizeIterator<Item = &RegionTicks> {
        let regions = self.recorded.regions.as_slice();
        self.sorter.order().iter().map(|index| &regions[*index as usize])
    }

    /// Forgets what was decoded.
    pub(super) fn clear(&mut self) {
        self.recorded.clear();
        self.sorter.keep(0);
    }
}

impl Decoder<'_> {
    /// Decodes the buffer of a lane, and compares what survived with what was emitted. `counts` are its
    /// units and the attachments among them, `None` if it left no count.
    pub(super) fn lane(
        &mut self,
        buffer: &Buffer<'_>,
        counts: Option<(u32, u32)>,
        bounds: Bounds,
        place: Location,
    ) {
        // All of a buffer is looked at only if the warp has not left: its begin and end may then be
        // on their way.
        if counts.is_none() && bounds.exit.is_some() && buffer.is_blank() {
            return;
        }
        let survivors = buffer.survivors_of(counts);
        if counts.is_none() && survivors.count == 0 {
            return;
        }
        if counts.is_none() && !bounds.leader && bounds.exit.is_some() {
            self.diagnostics.note(Kind::LaneNeverLeft, Some(place));
        }
        if survivors.cut > 0 {
            self.diagnostics.note(Kind::TruncatedCapture, Some(place));
        }
        let Scratch { recorded, sorter, memory } = &mut *self.scratch;
        let first = recorded.regions.len();
        let (clock, kinds, sites) = (self.clock, self.kinds, self.sites);
        let lane = LaneUnits { buffer, survivors, bounds, clock, sites, kinds, place };
        let Counted { units, attachments, is_plain } =
            pass::decode(&lane, memory, recorded, self.diagnostics);
        let regions = &mut recorded.regions[first..];
        self.lanes += u32::from(!regions.is_empty());
        sorter.sort(regions, is_plain, self.is_alone);
        let records = units - attachments;
        self.recorded += records;
        match counts {
            Some((units, attached)) => {
                let stopped = units >= buffer.count_max();
                // Attachments are counted on after units are not; both are then lower bounds.
                let attached = if stopped { attached.min(units) } else { attached };
                let emitted = u64::from(units.saturating_sub(attached));
                if stopped {
                    self.diagnostics.note(Kind::CountSaturated, Some(place));
                } else if records > emitted || attached > units {
                    self.diagnostics.note(Kind::CountMismatch, Some(place));
                }
                self.lost += emitted.saturating_sub(records);
                if units > survivors.count {
                    // Of what did not fit, damaged units are no part.
                    let beyond = u64::from(units - survivors.count);
                    let values = u64::from(attached).saturating_sub(attachments).min(beyond);
                    self.note_small_buffer(beyond - values, units, place);
                    self.diagnostics.note_count(Kind::ValuesLost, values, Some(place));
                }
            }
            None if buffer.is_full(survivors.count) => {
                let number = u64::from(survivors.count.max(1)).saturating_mul(2);
                self.diagnostics.note_number(Kind::BufferFull, number, Some(place));
            }
            None => {}
        }
    }

    /// Sorts what all lanes recorded.
    pub(super) fn finish(&mut self) {
        let Scratch { recorded, sorter, .. } = &mut *self.scratch;
        let Recorded { regions, marks, anchors, .. } = recorded;
        if self.lanes > 1 {
            regions::sort_lanes(regions);
        }
        if !self.is_alone {
            sorter.keep(regions.len());
        }
        marks.sort_by_key(|mark| mark.ticks);
        anchors.sort_by_key(|anchor| anchor.1);
    }

    fn note_small_buffer(&mut self, count: u64, needed: u32, place: Location) {
        let kind =
            if place.lane == Some(0) { Kind::BufferTooSmall } else { Kind::LaneBufferTooSmall };
        let number = u64::from(needed);
        self.diagnostics.add(Diagnostic { kind, count, number, place: Some(place) });
    }
}
