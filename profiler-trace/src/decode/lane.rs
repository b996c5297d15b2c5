//! What one lane recorded: units to regions and marks.

use std::collections::HashMap;

use profiler_wire::Word;
use profiler_wire::header::COUNT_MAX;
use profiler_wire::record::{RecordKind, SITE_MAX, track_number};

use super::begins::{Begin, Ranges};
use super::depth::{self, Ended};
use super::rooms::{Room, Survivors, write_ticks};
use super::ticks::{self, Bounds};
use crate::diagnostic::{Diagnostic, DiagnosticKind as Kind, Diagnostics, Place};
use crate::model::{Mark, Region, SiteIndex, Time, Value, Warp};
use crate::site_table::SiteTable;

/// Decodes the lanes of one warp into it.
pub(super) struct Decoder<'a> {
    pub warp: &'a mut Warp,
    pub sites: &'a SiteTable,
    pub first_site: u32,
    pub to_time: &'a dyn Fn(u64) -> Time,
    /// The warp's entry and exit by the record clock.
    pub entry: u64,
    pub exit: Option<u64>,
    pub diagnostics: &'a mut Diagnostics,
    /// Regions of the lanes done so far.
    pub regions: Vec<Ended>,
}

/// A unit that is a record or an attachment of a known site.
struct Unit {
    index: u32,
    kind: RecordKind,
    /// Index into the module's sites.
    site: usize,
    /// Ticks of word 0: of a `Range` its begin.
    ticks: u64,
    word: u64,
}

impl Unit {
    fn value(&self) -> Option<Value> {
        Some(match self.kind {
            RecordKind::ValueUnsigned => Value::Unsigned(self.word),
            RecordKind::ValueSigned => Value::Signed(self.word.cast_signed()),
            RecordKind::ValueFloat => Value::Float(f64::from_bits(self.word)),
            _ => return None,
        })
    }
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
    /// The first range, by its place in the room, of which it is not certain when it began.
    ambiguous: Option<u32>,
}

impl Decoder<'_> {
    /// Decodes the room of a lane. `counts` are its units and the attachments among them, `None` if
    /// it left no count.
    pub(super) fn lane(&mut self, room: &Room<'_>, counts: Option<(u32, u32)>, place: Place) {
        let leader = place.lane == Some(0);
        if counts.is_none() && room.is_blank() {
            return;
        }
        let survivors = match counts {
            Some((units, _)) => room.survivors(units),
            None => {
                if !leader && self.exit.is_some() {
                    self.diagnostics.note(Kind::LaneNeverLeft, Some(place));
                }
                room.scan()
            }
        };
        if survivors.cut > 0 {
            self.diagnostics.note(Kind::TruncatedCapture, Some(place));
        }
        let (units, mut times) = self.read(room, survivors, place);
        let bounds = Bounds { entry: self.entry, exit: self.exit, leader };
        let odd = ticks::widen(&mut times, bounds, survivors.oldest_lost);
        let unit = odd.first_backward.map(|index| units[index].index);
        self.diagnostics.add(Diagnostic {
            kind: Kind::TimeNotMonotonic,
            count: odd.backward,
            number: 0,
            place: Some(Place { unit, ..place }),
        });
        let Paired { attachments, ambiguous } = self.pair(&units, &times, place);
        if odd.ambiguous || ambiguous.is_some() {
            let unit = ambiguous.filter(|_| !odd.ambiguous);
            self.diagnostics.note(Kind::AmbiguousWrap, Some(Place { unit, ..place }));
        }
        let recorded = (units.len() - attachments) as u64;
        self.warp.recorded += recorded;
        match counts {
            Some(counts) => self.settle(counts, recorded, attachments as u64, survivors, place),
            None if room.overflowed() => {
                self.warp.lost += 1;
                self.note_small_room(1, survivors.count.saturating_mul(2), place);
            }
            None => {}
        }
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
    }

    /// Takes the surviving units apart; also gives the ticks at which each was written.
    fn read(
        &mut self,
        room: &Room<'_>,
        survivors: Survivors,
        place: Place,
    ) -> (Vec<Unit>, Vec<u64>) {
        let mut units = Vec::new();
        let mut times = Vec::new();
        let held = survivors.indices().filter(|_| survivors.cut < survivors.count);
        for index in held {
            let place = Some(Place { unit: Some(index), ..place });
            let words = room.unit(index);
            let (Some(word), Some(time)) = (Word::unpack(words[0]), write_ticks(words)) else {
                let kind = if words[0] == 0 { Kind::UnwrittenUnit } else { Kind::DamagedUnit };
                self.diagnostics.note(kind, place);
                continue;
            };
            let Word { kind, site: id, ticks } = word;
            if !tail_is_whole(kind, words[1]) {
                self.diagnostics.note(Kind::DamagedUnit, place);
                continue;
            }
            let Some(site) = self.sites.index_of(id) else {
                self.diagnostics.note_number(Kind::UnknownSite, u64::from(id), place);
                continue;
            };
            let fits = match kind {
                RecordKind::Mark => !self.is_region(site),
                kind => kind.is_value() || self.is_region(site),
            };
            if !fits {
                self.diagnostics.note(Kind::KindMismatch, place);
                continue;
            }
            units.push(Unit { index, kind, site, ticks, word: words[1] });
            times.push(time);
        }
        (units, times)
    }

    fn is_region(&self, site: usize) -> bool {
        self.sites.sites()[site].kind.is_region()
    }

    /// Makes regions and marks of a lane's units.
    fn pair(&mut self, units: &[Unit], times: &[u64], place: Place) -> Paired {
        let lane = place.lane.unwrap_or_default();
        let mut regions: Vec<Ended> = Vec::new();
        // Begins without an end so far, the latest last.
        let mut open: HashMap<(Option<u32>, usize), Vec<usize>> = HashMap::new();
        let mut owner: Option<Owner> = None;
        let mut ranges = Ranges::default();
        let mut paired = Paired::default();
        for (number, (unit, &ticks)) in (0..u32::MAX).zip(units.iter().zip(times)) {
            let place = Some(Place { unit: Some(unit.index), ..place });
            let site = SiteIndex(self.first_site + unit.site as u32);
            let region = |track, start: u64, end: Option<u64>| Ended {
                region: Region {
                    site,
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
                RecordKind::Range => {
                    let field = Word::unpack(unit.word).map_or(0, |end| end.site);
                    let start = match ranges.begin(self.entry, unit.ticks, ticks) {
                        Begin::Certain(start) => start,
                        Begin::Likely(start) => {
                            paired.ambiguous = paired.ambiguous.or(Some(unit.index));
                            start
                        }
                        Begin::BeforeEntry => {
                            self.diagnostics.note(Kind::StartBeforeEntry, place);
                            self.entry.min(ticks)
                        }
                    };
                    let ended = region(track_number(field), start, Some(ticks));
                    owner = Some(Owner { site: unit.site, region: Some(regions.len()) });
                    regions.push(ended);
                }
                RecordKind::Begin => {
                    let track = track_number(unit.word as u32);
                    open.entry((track, unit.site)).or_default().push(regions.len());
                    let ended = region(track, ticks, None);
                    regions.push(ended);
                    owner = None;
                }
                RecordKind::End => {
                    let track = track_number(unit.word as u32);
                    let begun = open.get_mut(&(track, unit.site)).and_then(Vec::pop);
                    owner = Some(Owner { site: unit.site, region: begun });
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
                    let mark = mark(track_number(unit.word as u32), None);
                    self.warp.marks.push(mark);
                    owner = None;
                }
                _ if self.is_region(unit.site) => {
                    paired.attachments += 1;
                    let region = owner
                        .take()
                        .filter(|owner| owner.site == unit.site)
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
        if recorded > emitted || attached > units {
            self.diagnostics.note(Kind::CountMismatch, Some(place));
        }
        self.warp.lost += emitted.saturating_sub(recorded);
        if units == COUNT_MAX {
            self.diagnostics.note(Kind::CountSaturated, Some(place));
        }
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

/// Whether word 1 of a unit is what its kind asks for.
fn tail_is_whole(kind: RecordKind, word: u64) -> bool {
    match kind {
        RecordKind::Range => Word::unpack(word).is_some_and(|end| end.kind == RecordKind::End),
        RecordKind::Begin | RecordKind::End | RecordKind::Mark => word <= u64::from(SITE_MAX),
        _ => true,
    }
}
