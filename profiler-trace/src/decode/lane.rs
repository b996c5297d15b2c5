//! What one lane recorded: units to regions and marks.

use std::collections::BTreeSet;

use profiler_wire::header::{COUNT_MAX, Clock, LANE_COUNT_MAX};
use profiler_wire::record::{self, RecordKind};

use super::direct::{Counted, DirectLane, Open, SiteKinds};
use super::note_track;
use super::recorded::{RawMark, Recorded};
use super::regions::{self, NONE, Raw, Sorter};
use super::rooms::{Room, Survivors};
use super::shared::{LostBegins, Moment, begin_of_all, mark_of_all, written_by_all};
use super::ticks::{self, Bounds, Implausible, Written, start_behind};
use super::units::{self, Unit};
use crate::diagnostic::{Diagnostic, DiagnosticKind as Kind, Diagnostics, Place};
use crate::model::RegionRecord;
use crate::site_table::SiteTable;

/// Memory that is used again for each warp.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub recorded: Recorded,
    pub sorter: Sorter,
    /// What lane 0 recorded for all lanes, in the order of its regions.
    pub shared: Vec<Raw>,
    pub shared_marks: Vec<RawMark>,
    /// What it began for all lanes and they did not end together, as far as lane 0's records alone tell.
    pub unended: Vec<Moment>,
    /// Those of them that the last lane did not end either.
    pub left_open: Vec<Moment>,
    open: Open,
}

/// Decodes the lanes of one warp.
pub(super) struct Decoder<'a> {
    pub sites: &'a SiteTable,
    pub kinds: &'a SiteKinds,
    pub clock: Clock,
    pub scratch: &'a mut Scratch,
    pub diagnostics: &'a mut Diagnostics,
    /// Whether lanes in which nothing is odd are decoded in one pass.
    pub directly: bool,
    /// Whether no other lanes than this one have regions.
    pub is_alone: bool,
    /// Lanes with regions so far.
    pub lanes: u32,
    /// Records that were decoded so far.
    pub recorded: u64,
    /// Records that were emitted and not kept, so far.
    pub lost: u64,
    /// Whether lane 0 has regions that not all lanes have.
    pub leader_has_own: bool,
    /// How many records of lane 0 are of all lanes.
    pub shared: u64,
    /// Begins of all lanes that are lost, where some may be.
    pub lost_begins: Option<LostBegins>,
    /// When the last of those that are there was written.
    pub last_begin: Option<u64>,
    /// When the last lane wrote its first unit behind that one, if it is another lane than lane 0; `u64::MAX` where
    /// there is none.
    pub read_by: u64,
    /// What began at this tick or later the last lane ended only if its records say so. Ends of what began
    /// before may have been overwritten; `None` where those of anything may be missing.
    pub known_from: Option<u64>,
    /// Whether the last lane's count had stopped.
    pub stopped: bool,
}

impl Scratch {
    /// The regions, in the order of [`crate::Warp::regions`].
    pub(super) fn regions(&self) -> impl ExactSizeIterator<Item = &Raw> {
        let regions = self.recorded.regions.as_slice();
        self.sorter.order().iter().map(|index| &regions[*index as usize])
    }

    /// Forgets what was decoded.
    pub(super) fn clear(&mut self) {
        self.recorded.clear();
        self.sorter.keep(0);
        self.shared.clear();
        self.shared_marks.clear();
        self.unended.clear();
    }
}

/// The record that an attachment may follow.
#[derive(Clone, Copy)]
struct Owner {
    site: usize,
    /// Index into the warp's regions; `None` where the region's begin is lost.
    region: Option<usize>,
}

/// What pairing a lane's units found out about them.
#[derive(Default)]
struct Paired {
    /// How many of them are attachments.
    attachments: u64,
    /// Regions without an end.
    open: u64,
    /// Records of all lanes.
    shared: u64,
    /// The first region with a track or a value in its record, by its place in the room, of which it is not
    /// certain when it began.
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
        self.scratch.recorded.parted.clear();
        self.read_by = u64::MAX;
        self.known_from = (counts.is_some() || room.is_whole()).then_some(0);
        // All of a room is looked at only where the warp has not left: there, its begin and end may be
        // on their way.
        if counts.is_none() && bounds.exit.is_some() && room.is_blank() {
            return;
        }
        let survivors = room.survivors_of(counts);
        if counts.is_none() && survivors.count == 0 {
            return;
        }
        if counts.is_none() && !bounds.leader && bounds.exit.is_some() {
            self.diagnostics.note(Kind::LaneNeverLeft, Some(place));
        }
        if survivors.cut > 0 {
            self.diagnostics.note(Kind::TruncatedCapture, Some(place));
        }
        let first = self.scratch.recorded.regions.len();
        let since = self.last_begin.unwrap_or(u64::MAX);
        let (clock, kinds) = (self.clock, self.kinds);
        let direct = DirectLane { room, survivors, bounds, clock, kinds, place, since };
        let Counted { units, attachments, is_plain, shared, oldest, newest, behind, .. } =
            match self.directly(&direct) {
                Some(counted) => counted,
                None => self.carefully(room, survivors, bounds, place),
            };
        self.known_from = self.known_from.filter(|_| survivors.cut == 0).and_then(|from| {
            // In one step of the timer what began may have ended before the oldest record that is left.
            if survivors.oldest_lost { Some(oldest?.saturating_add(1)) } else { Some(from) }
        });
        if bounds.leader && counts.is_some_and(|(units, _)| units > survivors.count) {
            let read = if survivors.oldest_lost {
                oldest.map(|oldest| 0..=oldest)
            } else {
                newest.map(|newest| newest..=u64::MAX)
            };
            self.lost_begins = read.map(|read| LostBegins { most: 0, read });
        }
        self.read_by = behind.unwrap_or(u64::MAX);
        self.shared += shared;
        self.is_alone &= shared == 0;
        let Scratch { recorded, sorter, .. } = &mut *self.scratch;
        let regions = &mut recorded.regions[first..];
        self.lanes += u32::from(!regions.is_empty());
        sorter.sort(regions, is_plain, self.is_alone);
        let records = units - attachments;
        self.recorded += records;
        match counts {
            Some(counts) => {
                let stopped = counts.0 >= room.count_max();
                self.stopped = stopped;
                if stopped {
                    self.diagnostics.note(Kind::CountSaturated, Some(place));
                }
                // Attachments are counted on where units are not; both are then lower bounds.
                let counts = (counts.0, if stopped { counts.1.min(counts.0) } else { counts.1 });
                self.settle(counts, records, attachments, survivors, place);
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
        self.lost += u64::from(units.saturating_sub(attached));
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

    fn directly(&mut self, lane: &DirectLane<'_>) -> Option<Counted> {
        if !self.directly {
            return None;
        }
        let mut notes = Diagnostics::default();
        let Scratch { recorded, open, .. } = &mut *self.scratch;
        let counted = lane.decode(open, recorded, &mut notes)?;
        self.diagnostics.extend(&notes);
        self.note_open(counted.open, lane.place);
        Some(counted)
    }

    pub(super) fn note_open(&mut self, count: u64, place: Place) {
        let kind = Kind::OpenRegion;
        self.diagnostics.add(Diagnostic { kind, count, number: 0, place: Some(place) });
    }

    /// Decodes a lane step by step, and notes what is odd.
    fn carefully(
        &mut self,
        room: &Room<'_>,
        survivors: Survivors,
        bounds: Bounds,
        place: Place,
    ) -> Counted {
        let (units, mut times) =
            units::read(room, survivors, self.sites, &bounds, self.clock, place, self.diagnostics);
        let odd = ticks::widen(&mut times, bounds, survivors.oldest_lost);
        let unit = odd.first_backward.map(|index| units[index].index);
        self.diagnostics.add(Diagnostic {
            kind: Kind::TimeNotMonotonic,
            count: odd.backward,
            number: 0,
            place: Some(Place { unit, ..place }),
        });
        let Paired { attachments, open, shared, ambiguous } =
            self.pair(room, &units, &times, &bounds, place);
        self.note_open(open, place);
        if odd.ambiguous || ambiguous.is_some() {
            let unit = ambiguous.filter(|_| !odd.ambiguous);
            self.diagnostics.note(Kind::AmbiguousWrap, Some(Place { unit, ..place }));
        }
        Counted {
            units: units.len() as u64,
            attachments,
            open,
            shared,
            oldest: times.first().map(|written| written.time),
            newest: times.last().map(|written| written.time),
            behind: self.last_begin.and_then(|begin| {
                times.iter().map(|written| written.time).find(|time| *time > begin)
            }),
            is_plain: false,
        }
    }

    /// Makes regions and marks of a lane's units.
    fn pair(
        &mut self,
        room: &Room<'_>,
        units: &[Unit],
        times: &[Written],
        bounds: &Bounds,
        place: Place,
    ) -> Paired {
        let lane = place.lane.unwrap_or_default();
        let recorded = &mut self.scratch.recorded;
        let first = recorded.regions.len();
        let mut open: BTreeSet<Begun> = BTreeSet::new();
        let mut owner: Option<Owner> = None;
        let mut paired = Paired::default();
        for (number, (unit, written)) in (0..NONE).zip(units.iter().zip(times)) {
            let ticks = written.time;
            let place = Some(Place { unit: Some(unit.index), ..place });
            let Some(of_site) = unit.site else {
                paired.attachments += 1;
                recorded.anchors.push((lane, ticks));
                continue;
            };
            let site = of_site as u32;
            let mark = |track, value| RawMark::own(lane, site, ticks, track, value);
            if room.is_of_all(unit.kind, unit.data) {
                if unit.kind == RecordKind::Begin {
                    begin_of_all(&mut recorded.begun, site, ticks, number);
                } else {
                    mark_of_all(recorded, site, ticks);
                }
                paired.shared += 1;
                owner = None;
                continue;
            }
            let Recorded { regions, values, marks, begun, parted, ended, .. } = &mut *recorded;
            match unit.kind {
                RecordKind::Range
                | RecordKind::RangeShared
                | RecordKind::RangeParted
                | RecordKind::RangeTracked
                | RecordKind::RangeUnsigned
                | RecordKind::RangeSigned
                | RecordKind::RangeWatched
                | RecordKind::Open => {
                    let has_value = unit.kind.is_range_with_value();
                    let (track, start) = if !unit.kind.has_whole_begin() {
                        let (field, begin) = record::unpack(unit.data);
                        let before = bounds.start_before(ticks, begin);
                        let track = if has_value { 0 } else { field };
                        if unit.kind == RecordKind::RangeWatched {
                            let begun = before.ok().and_then(|(start, _)| {
                                let begun = latest(&open, track, site, start)?;
                                Some((begun, start_behind(begun.2, begin, ticks)?))
                            });
                            if let Some((begun @ (.., index), start)) = begun {
                                open.remove(&begun);
                                let region = &mut regions[index];
                                (region.start, region.end, region.end_unit) =
                                    (start, ticks, number);
                                owner = Some(Owner { site: of_site, region: Some(index) });
                                continue;
                            }
                        }
                        if before.is_ok_and(|(_, is_ambiguous)| is_ambiguous) {
                            paired.ambiguous = paired.ambiguous.or(Some(unit.index));
                        }
                        (track, before.map(|(start, _)| start))
                    } else {
                        let end = bounds.end_of_range(unit.data, ticks);
                        (0, end.map(|_| unit.data))
                    };
                    let start = start.unwrap_or_else(|why| {
                        let kind = match why {
                            Implausible::BeforeEntry => Kind::StartBeforeEntry,
                            Implausible::BehindExit => Kind::TimeNotMonotonic,
                        };
                        self.diagnostics.note(kind, place);
                        bounds.entry
                    });
                    note_track(track, place, self.diagnostics);
                    let mut region = Raw {
                        start: start.min(ticks),
                        end: ticks,
                        site,
                        track,
                        end_unit: number,
                        value: NONE,
                        lane,
                        record: match unit.kind {
                            RecordKind::RangeShared => RegionRecord::Shared,
                            RecordKind::RangeParted => RegionRecord::Parted,
                            _ if has_value => RegionRecord::WithValue,
                            _ => RegionRecord::Own,
                        },
                        ..Raw::default()
                    };
                    paired.shared += u64::from(region.is_shared());
                    let began = Moment::of_end(site, region.start, lane, number);
                    match unit.kind {
                        RecordKind::RangeParted => parted.push(began),
                        // Where no begin is ahead, as in memory of the GPU, it is of none.
                        RecordKind::RangeShared if !begun.is_empty() => {
                            written_by_all(begun, ticks);
                            ended.push(began);
                        }
                        _ => {}
                    }
                    owner = Some(Owner { site: of_site, region: Some(regions.len()) });
                    if unit.kind == RecordKind::Open {
                        region.open(number);
                        owner = None;
                    }
                    if has_value {
                        region.value = values.len() as u32;
                        values.extend(units::value(unit.kind, unit.data));
                        owner = None;
                    }
                    regions.push(region);
                }
                RecordKind::Begin => {
                    let track = unit.data as u32;
                    note_track(track, place, self.diagnostics);
                    open.insert((track, site, ticks, regions.len()));
                    owner = None;
                    regions.push(Raw {
                        start: ticks,
                        end: u64::MAX,
                        site,
                        track,
                        end_unit: NONE,
                        value: NONE,
                        size: number,
                        lane,
                        ..Raw::default()
                    });
                }
                RecordKind::End => {
                    let begun = latest(&open, unit.data as u32, site, u64::MAX);
                    let index = begun.map(|begun| begun.3);
                    owner = Some(Owner { site: of_site, region: index });
                    match begun {
                        None => self.diagnostics.note(Kind::UnmatchedEnd, place),
                        Some(begun @ (.., index)) => {
                            open.remove(&begun);
                            let region = &mut regions[index];
                            region.end = ticks.max(region.start);
                            region.end_unit = number;
                        }
                    }
                }
                RecordKind::Mark => {
                    let track = unit.data as u32;
                    note_track(track, place, self.diagnostics);
                    marks.push(mark(track, None));
                    owner = None;
                }
                kind if self.sites.sites()[of_site].kind.is_region() => {
                    paired.attachments += 1;
                    let region = owner
                        .take()
                        .filter(|owner| owner.site == of_site)
                        .and_then(|owner| owner.region)
                        // Of another moment it is where the unit of its own region is damaged or missing.
                        .filter(|region| regions[*region].end == ticks);
                    match (region, units::value(kind, unit.data)) {
                        (Some(region), Some(value)) => {
                            regions[region].value = values.len() as u32;
                            values.push(value);
                        }
                        _ => self.diagnostics.note(Kind::OrphanedValue, place),
                    }
                }
                kind => {
                    marks.push(mark(0, units::value(kind, unit.data)));
                    owner = None;
                }
            }
        }
        let regions = &recorded.regions[first..];
        paired.open = regions.iter().filter(|region| region.is_open()).count() as u64;
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
        self.lost += emitted.saturating_sub(recorded);
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

/// A begin without an end so far: track, site, when, and the region's index.
type Begun = (u32, u32, u64, usize);

/// The latest of the begins of a track and site that were written no later than at a time.
fn latest(open: &BTreeSet<Begun>, track: u32, site: u32, time: u64) -> Option<Begun> {
    open.range((track, site, 0, 0)..=(track, site, time, usize::MAX)).next_back().copied()
}
