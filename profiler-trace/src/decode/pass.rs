//! The pass over the units of a lane: from units to regions and marks.
//!
//! Most units are plain ranges: of a known region, and at a time that leaves nothing open. A tight
//! loop takes them ([`Ranges::append`]). All others go through [`Pass::step`], one by one.

use std::collections::BTreeSet;

use profiler_wire::record::{self, RecordKind, TICK_MASK};

use super::buffers;
use super::note_track;
use super::recorded::{RawMark, Recorded};
use super::regions::{NONE, RegionTicks, Sizes};
use super::ticks::{Bounds, Implausible, Oddities, Widening, start_after};
use super::units::{self, LaneUnits, Unit};
use crate::diagnostic::{DiagnosticKind as Kind, Diagnostics, Location};

/// A begin without an end so far: track, site, when, and the region's index.
type Begun = (u32, u32, u64, usize);

/// Memory that is used again for each lane.
#[derive(Debug, Default)]
pub(super) struct PassMemory {
    /// Begins without an end so far.
    open: BTreeSet<Begun>,
    /// See [`LaneUnits::widening`].
    oldest: Vec<(u32, u64)>,
}

/// The counts of a pass over a lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub units: u64,
    pub attachments: u64,
    /// Whether the regions are plain, as [`super::regions::Sorter::sort`] asks for.
    pub is_plain: bool,
}

/// The sizes of a lane's regions, while a pass goes over them.
#[derive(Clone, Copy)]
struct LaneSizes {
    /// See [`Sizes::next`]; if the regions are not plain, it says nothing.
    sizes: Sizes,
    last_end: u64,
    is_plain: bool,
    /// The number of regions before the lane.
    first: usize,
}

impl LaneSizes {
    /// The size of the next region, as long as all are plain. `regions` are those before it.
    #[inline]
    fn next(&mut self, regions: &[RegionTicks], start: u64, end: u64) -> u32 {
        let mut size = 0;
        if self.is_plain {
            match self.sizes.next(&regions[self.first..], self.last_end, start) {
                Some(found) => size = found,
                None => self.is_plain = false,
            }
            self.last_end = end;
        }
        size
    }
}

/// A pass over a lane between two of its units.
#[derive(Clone, Copy)]
struct Ranges {
    /// The time of the unit before.
    last: u64,
    /// The number of units that were read.
    number: u32,
    sizes: LaneSizes,
}

impl Ranges {
    /// Appends the plain ranges that come next, and returns the first unit that is none.
    #[inline]
    fn append(
        mut self,
        lane: &LaneUnits<'_>,
        units: &mut impl Iterator<Item = [u64; 2]>,
        regions: &mut Vec<RegionTicks>,
    ) -> (Self, Option<[u64; 2]>) {
        let Bounds { entry, .. } = lane.bounds;
        // So that no sum of a begin up to it and of ticks wraps.
        let limit = lane.bounds.limit().min(u64::MAX - TICK_MASK);
        let longest = limit.saturating_sub(entry);
        let number = lane.place.lane.unwrap_or_default();
        for unit in units {
            let [data, stamp] = unit;
            let Some((id, ticks)) = record::unpack_range(stamp) else { return (self, Some(unit)) };
            let Some(site) = lane.kinds.region_at(id) else { return (self, Some(unit)) };
            let end = data.wrapping_add(ticks.wrapping_sub(data) & TICK_MASK);
            // A begin before the entry and an end before that of the last unit are large differences.
            let (since_entry, gap) = (data.wrapping_sub(entry), end.wrapping_sub(self.last));
            if since_entry > longest || end > limit || gap > TICK_MASK {
                return (self, Some(unit));
            }
            self.last = end;
            let size = self.sizes.next(regions, data, end);
            regions.push(RegionTicks {
                start: data,
                end,
                site,
                track: 0,
                end_unit: self.number,
                value: NONE,
                size,
                depth: 0,
                lane: number,
                value_in_record: false,
            });
            self.number += 1;
        }
        (self, None)
    }
}

/// A pass over a lane.
struct Pass<'a> {
    lane: &'a LaneUnits<'a>,
    recorded: &'a mut Recorded,
    open: &'a mut BTreeSet<Begun>,
    diagnostics: &'a mut Diagnostics,
    widening: Widening<'a>,
    sizes: LaneSizes,
    /// The number of units that were read, whole or not.
    number: u32,
    /// The region whose record an attachment may follow.
    owner: Option<usize>,
    counted: Counted,
    /// The first region with a track or a value in its record of which it is not certain when it
    /// began, by its record's number.
    ambiguous: Option<u32>,
}

/// Appends what a lane recorded, and notes what is odd.
pub(super) fn decode(
    lane: &LaneUnits<'_>,
    memory: &mut PassMemory,
    recorded: &mut Recorded,
    diagnostics: &mut Diagnostics,
) -> Counted {
    let PassMemory { open, oldest } = memory;
    let first = recorded.regions.len();
    let pass = Pass {
        lane,
        recorded,
        open,
        diagnostics,
        widening: lane.widening(oldest),
        sizes: LaneSizes { sizes: Sizes::default(), last_end: 0, is_plain: true, first },
        number: 0,
        owner: None,
        counted: Counted::default(),
        ambiguous: None,
    };
    match lane.buffer.parts(lane.survivors) {
        Some(parts) => pass.over(parts.map(|part| part.iter().map(buffers::words))),
        None => pass.over([lane.survivors.indices().map(|index| lane.buffer.unit(index))]),
    }
}

impl Pass<'_> {
    fn over(mut self, parts: impl IntoIterator<Item = impl Iterator<Item = [u64; 2]>>) -> Counted {
        for mut part in parts {
            loop {
                let unit = match self.widening.is_among_oldest() {
                    true => part.next(),
                    false => self.ranges(&mut part),
                };
                let Some(unit) = unit else { break };
                self.step(unit);
            }
        }
        self.finish()
    }

    /// Takes the plain ranges that come next, and returns the first unit that is none.
    #[inline]
    fn ranges(&mut self, units: &mut impl Iterator<Item = [u64; 2]>) -> Option<[u64; 2]> {
        // The oldest units of a ring may end after what comes then: that is not plain.
        let last_end = if self.sizes.is_plain { self.sizes.last_end } else { 0 };
        let last = self.widening.last.max(last_end);
        let run = Ranges { last, number: self.number, sizes: self.sizes };
        let (run, unit) = run.append(self.lane, units, &mut self.recorded.regions);
        let count = run.number - self.number;
        if count > 0 {
            self.owner = self.recorded.regions.len().checked_sub(1);
            self.counted.units += u64::from(count);
            self.widening.forward(run.last, u64::from(count));
        }
        (self.number, self.sizes) = (run.number, run.sizes);
        unit
    }

    /// Takes any unit.
    fn step(&mut self, words: [u64; 2]) {
        let number = self.number;
        self.number += 1;
        let unit = match self.lane.read(words) {
            Ok(unit) => unit,
            Err((kind, detail)) => {
                let place = self.lane.place_of(number);
                self.diagnostics.note_number(kind, detail, place);
                return;
            }
        };
        self.counted.units += 1;
        let ticks = self.widening.next(number, unit.written);
        let lane = self.lane.place.lane.unwrap_or_default();
        let site = unit.site;
        match unit.kind {
            RecordKind::Anchor => {
                self.counted.attachments += 1;
                self.recorded.anchors.push((lane, ticks));
            }
            RecordKind::Begin => {
                let track = unit.data as u32;
                self.note_track(track, number);
                self.open.insert((track, site, ticks, self.recorded.regions.len()));
                self.owner = None;
                self.sizes.is_plain = false;
                let mut region = RegionTicks {
                    start: ticks,
                    site,
                    track,
                    value: NONE,
                    lane,
                    ..RegionTicks::default()
                };
                region.open(number);
                self.recorded.regions.push(region);
            }
            RecordKind::Mark => {
                let track = unit.data as u32;
                self.note_track(track, number);
                self.owner = None;
                self.recorded.marks.push(RawMark { ticks, site, track, lane, value: None });
            }
            RecordKind::ValueUnsigned | RecordKind::ValueSigned | RecordKind::ValueFloat => {
                self.value(&unit, ticks, number);
            }
            RecordKind::Range
            | RecordKind::RangeTracked
            | RecordKind::RangeUnsigned
            | RecordKind::RangeSigned
            | RecordKind::RangeWatched
            | RecordKind::Open => self.region(&unit, ticks, number),
        }
    }

    /// Takes a value, of a region or of a mark.
    fn value(&mut self, unit: &Unit, ticks: u64, number: u32) {
        let Recorded { regions, values, marks, .. } = &mut *self.recorded;
        let (site, owner) = (unit.site, self.owner.take());
        let value = units::value(unit.kind, unit.data);
        if !unit.is_of_region {
            let lane = self.lane.place.lane.unwrap_or_default();
            marks.push(RawMark { ticks, site, track: 0, lane, value });
            return;
        }
        self.counted.attachments += 1;
        // If the unit of its own region is damaged or missing, the region before has another site or
        // another moment.
        let region = owner.and_then(|owner| regions.get_mut(owner));
        match (region.filter(|region| region.site == site && region.end == ticks), value) {
            (Some(region), Some(value)) => {
                region.value = values.len() as u32;
                values.push(value);
            }
            _ => self.diagnostics.note(Kind::OrphanedValue, self.lane.place_of(number)),
        }
    }

    /// Takes the record of a region.
    fn region(&mut self, unit: &Unit, ticks: u64, number: u32) {
        let &Unit { kind, site, data, .. } = unit;
        let bounds = self.lane.bounds;
        let has_value = kind.is_range_with_value();
        let (track, start) = if kind == RecordKind::Range {
            (0, bounds.end_of_range(data, ticks).map(|_| data))
        } else {
            let (field, begin) = record::unpack(data);
            let before = bounds.start_before(ticks, begin);
            let track = if has_value { 0 } else { field };
            if kind == RecordKind::RangeWatched
                && let Ok((start, _)) = before
                && self.end((track, site, start), begin, ticks, number)
            {
                return;
            }
            if before.is_ok_and(|(_, is_ambiguous)| is_ambiguous) {
                self.ambiguous.get_or_insert(number);
            }
            (track, before.map(|(start, _)| start))
        };
        let start = start.unwrap_or_else(|why| {
            let kind = match why {
                Implausible::BeforeEntry => Kind::StartBeforeEntry,
                Implausible::AfterExit => Kind::TimeNotMonotonic,
            };
            self.diagnostics.note(kind, self.lane.place_of(number));
            bounds.entry
        });
        self.note_track(track, number);
        let Recorded { regions, values, .. } = &mut *self.recorded;
        let mut region = RegionTicks {
            start: start.min(ticks),
            end: ticks,
            site,
            track,
            end_unit: number,
            value: NONE,
            lane: self.lane.place.lane.unwrap_or_default(),
            ..RegionTicks::default()
        };
        self.owner = Some(regions.len());
        let is_next = track == 0 && ticks >= self.sizes.last_end;
        if kind == RecordKind::Open {
            region.open(number);
            self.owner = None;
            self.sizes.is_plain = false;
        } else if is_next {
            region.size = self.sizes.next(regions, region.start, ticks);
        } else {
            self.sizes.is_plain = false;
        }
        if has_value {
            region.value = values.len() as u32;
            region.value_in_record = true;
            values.extend(units::value(kind, data));
            self.owner = None;
        }
        regions.push(region);
    }

    /// Ends the region of a track and site whose begin is the latest one no later than `start`, if
    /// there is one. `begin` has the low bits of when it began.
    fn end(
        &mut self,
        (track, site, start): (u32, u32, u64),
        begin: u64,
        ticks: u64,
        number: u32,
    ) -> bool {
        let until = (track, site, start, usize::MAX);
        let begun = self.open.range((track, site, 0, 0)..=until).next_back().copied();
        let ended = begun.and_then(|begun| Some((begun, start_after(begun.2, begin, ticks)?)));
        let Some((begun @ (.., index), start)) = ended else { return false };
        self.open.remove(&begun);
        let region = &mut self.recorded.regions[index];
        (region.start, region.end, region.end_unit) = (start, ticks, number);
        self.owner = Some(index);
        true
    }

    fn note_track(&mut self, track: u32, number: u32) {
        note_track(track, self.lane.place_of(number), self.diagnostics);
    }

    /// Notes what is odd about the lane as a whole.
    fn finish(self) -> Counted {
        let Self { lane, recorded, open, diagnostics, widening, sizes, .. } = self;
        // Not `clear`, which gives its memory back.
        while open.pop_first().is_some() {}
        let Oddities { backward, first_backward, ambiguous } = widening.finish();
        let mut add = |kind, count, number: Option<u32>| {
            let place = number.and_then(|number| lane.place_of(number));
            let place = Some(place.unwrap_or(Location { unit: None, ..lane.place }));
            diagnostics.note_count(kind, count, place);
        };
        add(Kind::TimeNotMonotonic, backward, first_backward);
        let open = recorded.regions[sizes.first..].iter().filter(|region| region.is_open());
        add(Kind::OpenRegion, open.count() as u64, None);
        if ambiguous || self.ambiguous.is_some() {
            add(Kind::AmbiguousWrap, 1, self.ambiguous.filter(|_| !ambiguous));
        }
        Counted { is_plain: sizes.is_plain, ..self.counted }
    }
}
