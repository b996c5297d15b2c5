//! What one lane recorded: units to regions and marks.

use std::collections::HashMap;

use profiler_wire::header::{COUNT_MAX, LANE_COUNT_MAX};
use profiler_wire::record::{self, RecordKind, TICK_MASK, track_number};

use super::depth::{self, Ended};
use super::rooms::{Room, Survivors};
use super::ticks::{self, Bounds, Implausible, Written};
use super::units::{self, Unit};
use crate::diagnostic::{Diagnostic, DiagnosticKind as Kind, Diagnostics, Place};
use crate::model::{ClockReading, Mark, Region, RegionForm, SiteIndex, Time, Warp};
use crate::site_table::SiteTable;

/// Decodes the lanes of one warp into it.
pub(super) struct Decoder<'a> {
    pub warp: &'a mut Warp,
    pub sites: &'a SiteTable,
    pub first_site: u32,
    pub to_time: &'a dyn Fn(u64) -> Time,
    pub diagnostics: &'a mut Diagnostics,
    /// Regions of the lanes done so far.
    pub regions: Vec<Ended>,
}

/// The record that an attachment may follow.
#[derive(Clone, Copy)]
struct Owner {
    site: usize,
    /// Index into the lane's regions; `None` where the region's begin is lost.
    region: Option<usize>,
}

/// What pairing a lane's units found out about them.
#[derive(Default)]
struct Paired {
    /// How many of them are attachments.
    attachments: usize,
    /// The first region with a track, by its place in the room, of which it is not certain when it
    /// began.
    ambiguous: Option<u32>,
}

impl Decoder<'_> {
    /// Decodes the room of a lane. `counts` are its units and the attachments among them, `None` if
    /// it left no count.
    pub(super) fn lane(
        &mut self,
        room: &Room<'_>,
        counts: Option<(u32, u32)>,
        bounds: Bounds,
        place: Place,
    ) {
        if counts.is_none() && room.is_blank() {
            return;
        }
        let survivors = room.survivors_of(counts);
        if counts.is_none() && !bounds.leader && bounds.exit.is_some() {
            self.diagnostics.note(Kind::LaneNeverLeft, Some(place));
        }
        if survivors.cut > 0 {
            self.diagnostics.note(Kind::TruncatedCapture, Some(place));
        }
        let (units, mut times) = units::read(
            room,
            survivors,
            self.sites,
            &bounds,
            self.warp.clock,
            place,
            self.diagnostics,
        );
        let odd = ticks::widen(&mut times, bounds, survivors.oldest_lost);
        let unit = odd.first_backward.map(|index| units[index].index);
        self.diagnostics.add(Diagnostic {
            kind: Kind::TimeNotMonotonic,
            count: odd.backward,
            number: 0,
            place: Some(Place { unit, ..place }),
        });
        let Paired { attachments, ambiguous } = self.pair(&units, &times, &bounds, place);
        if odd.ambiguous || ambiguous.is_some() {
            let unit = ambiguous.filter(|_| !odd.ambiguous);
            self.diagnostics.note(Kind::AmbiguousWrap, Some(Place { unit, ..place }));
        }
        let recorded = (units.len() - attachments) as u64;
        self.warp.recorded += recorded;
        match counts {
            Some(counts) => {
                let stopped = counts.0 >= room.count_max();
                if stopped {
                    self.diagnostics.note(Kind::CountSaturated, Some(place));
                }
                // Attachments are counted on where units are not; both are then lower bounds.
                let counts = (counts.0, if stopped { counts.1.min(counts.0) } else { counts.1 });
                self.settle(counts, recorded, attachments as u64, survivors, place);
            }
            None if room.is_full(survivors.count) => {
                let number = u64::from(survivors.count.max(1)).saturating_mul(2);
                self.diagnostics.note_number(Kind::RoomFull, number, Some(place));
            }
            None => {}
        }
    }

    /// Notes a lane whose records the capture's file lacks; what it emitted is lost, if it is known.
    pub(super) fn lost(&mut self, counts: Option<(u32, u32)>, place: Place) {
        self.diagnostics.note(Kind::UnreadableRecords, Some(place));
        let (units, attached) = counts.unwrap_or_default();
        self.warp.lost += u64::from(units.saturating_sub(attached));
    }

    /// Sorts what all lanes recorded into the warp.
    pub(super) fn finish(mut self) {
        let end = |region: &Region| region.end.map_or(u64::MAX, |end| end.ticks);
        self.regions.sort_by(|left, right| {
            let (left, right) = (&left.region, &right.region);
            left.start.ticks.cmp(&right.start.ticks).then(end(right).cmp(&end(left)))
        });
        self.warp.regions = self.regions.drain(..).map(|ended| ended.region).collect();
        self.warp.marks.sort_by_key(|mark| mark.time.ticks);
        self.warp.anchors.sort_by_key(|anchor| anchor.time.ticks);
    }

    /// Makes regions and marks of a lane's units.
    fn pair(&mut self, units: &[Unit], times: &[Written], bounds: &Bounds, place: Place) -> Paired {
        let lane = place.lane.unwrap_or_default();
        let mut regions: Vec<Ended> = Vec::new();
        // Begins without an end so far, the latest last.
        let mut open: HashMap<(Option<u32>, usize), Vec<usize>> = HashMap::new();
        let mut owner: Option<Owner> = None;
        let mut paired = Paired::default();
        for (number, (unit, written)) in (0..u32::MAX).zip(units.iter().zip(times)) {
            let ticks = written.time;
            let place = Some(Place { unit: Some(unit.index), ..place });
            let Some(of_site) = unit.site else {
                paired.attachments += 1;
                let time = (self.to_time)(ticks);
                self.warp.anchors.push(ClockReading { lane, time });
                continue;
            };
            let site = SiteIndex(self.first_site + of_site as u32);
            let region = |form, track, start: u64, end: Option<u64>| Ended {
                region: Region {
                    site,
                    form,
                    track,
                    lane,
                    depth: 0,
                    start: (self.to_time)(start),
                    end: end.map(self.to_time),
                    value: None,
                },
                end_unit: if end.is_some() { number } else { u32::MAX },
            };
            let mark =
                |track, value| Mark { site, track, lane, time: (self.to_time)(ticks), value };
            match unit.kind {
                RecordKind::Range | RecordKind::RangeTracked => {
                    let tracked = unit.kind == RecordKind::RangeTracked;
                    let (track, start) = if tracked {
                        let (field, begin) = record::unpack(unit.data);
                        let length = ticks.wrapping_sub(begin) & TICK_MASK;
                        let start =
                            ticks.checked_sub(length).filter(|start| *start >= bounds.entry);
                        if start.is_some_and(|start| start - bounds.entry > TICK_MASK) {
                            paired.ambiguous = paired.ambiguous.or(Some(unit.index));
                        }
                        (track_number(field), start.ok_or(Implausible::BeforeEntry))
                    } else {
                        let end = bounds.end_of_range(unit.data, ticks);
                        (None, end.map(|_| unit.data))
                    };
                    let start = start.unwrap_or_else(|why| {
                        let kind = match why {
                            Implausible::BeforeEntry => Kind::StartBeforeEntry,
                            Implausible::BehindExit => Kind::TimeNotMonotonic,
                        };
                        self.diagnostics.note(kind, place);
                        bounds.entry
                    });
                    let start = start.min(ticks);
                    let ended = region(RegionForm::Block, track, start, Some(ticks));
                    owner = Some(Owner { site: of_site, region: Some(regions.len()) });
                    regions.push(ended);
                }
                RecordKind::Begin => {
                    let track = track_number(unit.data as u32);
                    open.entry((track, of_site)).or_default().push(regions.len());
                    let ended = region(RegionForm::Token, track, ticks, None);
                    regions.push(ended);
                    owner = None;
                }
                RecordKind::End => {
                    let track = track_number(unit.data as u32);
                    let begun = open.get_mut(&(track, of_site)).and_then(Vec::pop);
                    owner = Some(Owner { site: of_site, region: begun });
                    match begun {
                        None => self.diagnostics.note(Kind::UnmatchedEnd, place),
                        Some(index) => {
                            let ended = &mut regions[index];
                            let end = ticks.max(ended.region.start.ticks);
                            ended.region.end = Some((self.to_time)(end));
                            ended.end_unit = number;
                        }
                    }
                }
                RecordKind::Mark => {
                    let mark = mark(track_number(unit.data as u32), None);
                    self.warp.marks.push(mark);
                    owner = None;
                }
                _ if self.sites.sites()[of_site].kind.is_region() => {
                    paired.attachments += 1;
                    let region = owner
                        .take()
                        .filter(|owner| owner.site == of_site)
                        .and_then(|owner| owner.region);
                    match region {
                        None => self.diagnostics.note(Kind::OrphanedValue, place),
                        Some(index) => regions[index].region.value = unit.value(),
                    }
                }
                _ => {
                    let mark = mark(None, unit.value());
                    self.warp.marks.push(mark);
                    owner = None;
                }
            }
        }
        let never_ended = regions.iter().filter(|ended| ended.region.end.is_none()).count();
        self.diagnostics.add(Diagnostic {
            kind: Kind::OpenRegion,
            count: never_ended as u64,
            number: 0,
            place: Some(place),
        });
        depth::set(&mut regions);
        self.regions.append(&mut regions);
        paired
    }

    /// Compares what survived with what was emitted.
    fn settle(
        &mut self,
        (units, attached): (u32, u32),
        recorded: u64,
        attachments: u64,
        survivors: Survivors,
        place: Place,
    ) {
        let emitted = u64::from(units.saturating_sub(attached));
        let stopped = units >= COUNT_MAX || place.lane != Some(0) && units >= LANE_COUNT_MAX;
        if !stopped && (recorded > emitted || attached > units) {
            self.diagnostics.note(Kind::CountMismatch, Some(place));
        }
        self.warp.lost += emitted.saturating_sub(recorded);
        if units > survivors.count {
            // Of what did not fit, damaged units are no part.
            let beyond = u64::from(units - survivors.count);
            let values = u64::from(attached).saturating_sub(attachments).min(beyond);
            self.note_small_room(beyond - values, units, place);
            self.diagnostics.add(Diagnostic {
                kind: Kind::ValuesLost,
                count: values,
                number: 0,
                place: Some(place),
            });
        }
    }

    fn note_small_room(&mut self, count: u64, needed: u32, place: Place) {
        let kind = if place.lane == Some(0) { Kind::RoomTooSmall } else { Kind::LaneRoomTooSmall };
        let number = u64::from(needed);
        self.diagnostics.add(Diagnostic { kind, count, number, place: Some(place) });
    }
}
