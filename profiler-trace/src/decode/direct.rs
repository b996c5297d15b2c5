//! The direct way from the units of a lane to its regions and marks: one pass over the raw words,
//! for lanes in which nothing is odd. Wherever something is, it gives up, and the careful way
//! ([`super::lane`]) takes the lane from its beginning, so that this one decides nothing that needs
//! a diagnostic on times or damage.

use std::collections::HashMap;

use profiler_wire::Stamp;
use profiler_wire::header::Clock;
use profiler_wire::record::{self, RecordKind, TICK_BITS, TICK_MASK, TRACK_FIELD_MAX};

use super::note_track;
use super::recorded::{RawMark, Recorded};
use super::regions::{NONE, Raw, Sizes};
use super::rooms::{self, Room, Survivors};
use super::shared::{Moment, begin_of_all, mark_of_all, written_by_all};
use super::ticks::{Bounds, SLACK, start_behind};
use crate::diagnostic::{DiagnosticKind as Kind, Diagnostics, Place};
use crate::model::RegionRecord;
use crate::site_table::SiteTable;

/// What stands at each site id of a module: the site's index, with [`SiteKinds::NO_REGION`] where it
/// is no region; [`NONE`] where there is none.
#[derive(Debug, Default)]
pub(super) struct SiteKinds(Vec<u32>);

/// Ids that are taken for dense, however little was recorded.
const IDS_DENSE: usize = 1024;

impl SiteKinds {
    /// Above all indices, as ids are below it.
    const NO_REGION: u32 = 1 << 31;

    /// `bytes` are those of the records that it is to be used for. Where the ids are so sparse that
    /// it would be larger, no site is in it: lanes are then decoded with the table itself.
    pub(super) fn new(table: &SiteTable, bytes: usize) -> Self {
        let ids = table.sites().last().map_or(0, |site| site.id as usize + 1);
        if ids > IDS_DENSE.max(bytes / size_of::<u32>()) {
            return Self::default();
        }
        let mut kinds = Vec::new();
        for (index, site) in (0..).zip(table.sites()) {
            if site.id <= record::SITE_MAX {
                let id = site.id as usize;
                if kinds.len() <= id {
                    kinds.resize(id + 1, NONE);
                }
                kinds[id] = if site.kind.is_region() { index } else { index | Self::NO_REGION };
            }
        }
        Self(kinds)
    }

    /// The index of the site with some id, and whether it is a region.
    fn at(&self, id: u32) -> Option<(u32, bool)> {
        let code = self.0.get(id as usize).copied().filter(|code| *code != NONE)?;
        Some((code & !Self::NO_REGION, code < Self::NO_REGION))
    }

    /// The index of the site with some id, if it is a region.
    fn region_at(&self, id: u32) -> Option<u32> {
        self.0.get(id as usize).copied().filter(|code| *code < Self::NO_REGION)
    }
}

/// Begins without an end so far: of each track and site the latest region, in whose `value` stands
/// the one before it.
#[derive(Debug, Default)]
pub(super) struct Open {
    of_warp: Vec<u32>,
    /// The entries of `of_warp` that may be other than [`NONE`], some of them more than once.
    used: Vec<u32>,
    of_tracks: HashMap<(u32, u32), u32>,
}

impl Open {
    fn clear(&mut self) {
        for site in self.used.drain(..) {
            self.of_warp[site as usize] = NONE;
        }
        self.of_tracks.clear();
    }

    /// The latest region of a track and site, to be read or set.
    fn latest(&mut self, track: u32, site: u32) -> &mut u32 {
        if track != 0 {
            return self.of_tracks.entry((track, site)).or_insert(NONE);
        }
        let at = site as usize;
        if self.of_warp.len() <= at {
            self.of_warp.resize(at + 1, NONE);
        }
        let latest = &mut self.of_warp[at];
        if *latest == NONE {
            self.used.push(site);
        }
        latest
    }
}

/// What the pass over a lane counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub units: u64,
    pub attachments: u64,
    /// Regions without an end.
    pub open: u64,
    /// Records of all lanes.
    pub shared: u64,
    /// When the first and the last of the units were written, if there are any.
    pub oldest: Option<u64>,
    pub newest: Option<u64>,
    /// When the first of those was that were written later than [`DirectLane::since`].
    pub behind: Option<u64>,
    /// Whether the regions are plain, as [`super::regions::Sorter::sort`] asks for.
    pub is_plain: bool,
}

impl Counted {
    /// Notes when a unit was written, which is not before those that were noted.
    #[inline]
    fn note_behind(&mut self, since: u64, written: u64) {
        if written > since {
            self.behind.get_or_insert(written);
        }
    }
}

/// The sizes of a lane's regions, while a pass goes over them.
#[derive(Clone, Copy)]
struct LaneSizes {
    /// See [`Sizes::next`]; of regions that are not plain it says nothing.
    sizes: Sizes,
    last_end: u64,
    is_plain: bool,
    /// How many regions there were before the lane.
    first: usize,
}

impl LaneSizes {
    /// The size of the next region, as long as all are plain. `regions` are those before it.
    #[inline]
    fn next(&mut self, regions: &[Raw], start: u64, end: u64) -> u32 {
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
    /// When the unit before was written.
    last: u64,
    /// How many units were read.
    number: u32,
    sizes: LaneSizes,
}

impl Ranges {
    /// Appends the ranges that come next, which most units are, and returns the first unit that is
    /// none. `None` if one is odd.
    #[inline]
    fn append(
        mut self,
        lane: &DirectLane<'_>,
        units: &mut impl Iterator<Item = [u64; 2]>,
        regions: &mut Vec<Raw>,
    ) -> Option<(Self, Option<[u64; 2]>)> {
        let Bounds { entry, exit, .. } = lane.bounds;
        let limit = lane.bounds.limit();
        let number = lane.place.lane.unwrap_or_default();
        for unit in units {
            let [data, stamp] = unit;
            let Some((id, ticks)) = record::unpack_range(stamp) else {
                return Some((self, Some(unit)));
            };
            let site = lane.kinds.region_at(id)?;
            let end = data.checked_add(ticks.wrapping_sub(data) & TICK_MASK)?;
            let gap = end.checked_sub(self.last)?;
            let gap_hides = gap > TICK_MASK && (self.number > 0 || exit.is_none());
            if data < entry || end > limit || gap_hides {
                return None;
            }
            self.last = end;
            let size = self.sizes.next(regions, data, end);
            regions.push(Raw {
                start: data,
                end,
                site,
                track: 0,
                end_unit: self.number,
                value: NONE,
                size,
                depth: 0,
                lane: number,
                record: RegionRecord::Own,
            });
            self.number += 1;
        }
        Some((self, None))
    }
}

/// A lane to be decoded.
pub(super) struct DirectLane<'a> {
    pub room: &'a Room<'a>,
    pub survivors: Survivors,
    pub bounds: Bounds,
    pub clock: Clock,
    pub kinds: &'a SiteKinds,
    pub place: Place,
    /// It is asked which unit is the first that was written later than at this tick.
    pub since: u64,
}

impl DirectLane<'_> {
    /// Appends what the lane recorded. `None` if something is odd: nothing is appended then, and
    /// what `notes` holds is void.
    pub(super) fn decode(
        &self,
        open: &mut Open,
        recorded: &mut Recorded,
        notes: &mut Diagnostics,
    ) -> Option<Counted> {
        if self.survivors.cut > 0 {
            return None;
        }
        let before = recorded.lengths();
        open.clear();
        let (room, survivors) = (self.room, self.survivors);
        let counted = match room.parts(survivors) {
            Some(parts) => {
                let parts = parts.map(|part| part.iter().map(rooms::words));
                self.pass(parts, open, recorded, notes)
            }
            None => {
                let units = survivors.indices().map(|index| room.unit(index));
                self.pass([units], open, recorded, notes)
            }
        };
        if counted.is_none() {
            recorded.cut(before);
        }
        counted
    }

    /// The time from which the widening starts: not behind the first unit, and so near that no wrap
    /// lies between.
    fn first_time(&self) -> Option<u64> {
        let Bounds { entry, exit, leader } = self.bounds;
        if !self.survivors.oldest_lost {
            return Some(entry);
        }
        // Back from the first time that is known: the end of a range, or else the exit.
        let mut back: u64 = 0;
        let mut later: Option<u64> = None;
        for index in self.survivors.indices() {
            let unit = self.room.unit(index);
            let Stamp { kind, ticks, .. } = self.room.stamp(unit[1])?;
            // Where a range is the oldest survivor, it says its time itself.
            let is_oldest = later.is_none();
            if let Some(later) = later {
                back = back.checked_add(ticks.wrapping_sub(later) & TICK_MASK)?;
            }
            later = Some(ticks);
            if kind.has_whole_begin() {
                let first = self.bounds.end_of_range(unit[0], ticks).ok()?.checked_sub(back)?;
                let since_entry = first.checked_sub(entry)?;
                return (is_oldest || since_entry <= TICK_MASK).then_some(first);
            }
        }
        match (exit, later) {
            (Some(exit), Some(last)) if leader => {
                let back = back.checked_add(exit.wrapping_sub(last) & TICK_MASK)?;
                let first = exit.checked_sub(back)?;
                (first.checked_sub(entry)? <= TICK_MASK).then_some(first)
            }
            (Some(_), Some(_)) => None,
            _ => Some(entry),
        }
    }

    fn pass(
        &self,
        parts: impl IntoIterator<Item = impl Iterator<Item = [u64; 2]>>,
        open: &mut Open,
        recorded: &mut Recorded,
        notes: &mut Diagnostics,
    ) -> Option<Counted> {
        let exit = self.bounds.exit;
        let limit = self.bounds.limit();
        let lane = self.place.lane.unwrap_or_default();
        let mut last = self.first_time()?;
        let mut counted = Counted::default();
        let first = recorded.regions.len();
        let mut sizes = LaneSizes { sizes: Sizes::default(), last_end: 0, is_plain: true, first };
        let mut number: u32 = 0;
        // Site and region of the record that an attachment may follow.
        let (mut owner_site, mut owner) = (NONE, NONE);
        for mut part in parts {
            loop {
                let run = Ranges { last, number, sizes };
                let (run, unit) = run.append(self, &mut part, &mut recorded.regions)?;
                if run.number > number
                    && let Some(region) = recorded.regions.last()
                {
                    (owner_site, owner) = (region.site, recorded.regions.len() as u32 - 1);
                    let first = recorded.regions.len() - (run.number - number) as usize;
                    let of_run = &recorded.regions[first..];
                    counted.oldest.get_or_insert(of_run[0].end);
                    if run.last > self.since && counted.behind.is_none() {
                        let behind = of_run.iter().find(|region| region.end > self.since);
                        counted.behind = behind.map(|region| region.end);
                    }
                }
                Ranges { last, number, sizes } = run;
                let Some([data, stamp]) = unit else { break };
                let Stamp { kind, site: id, ticks } = self.room.stamp(stamp)?;
                if matches!(kind, RecordKind::RangeShared | RecordKind::RangeParted) {
                    let is_shared = kind == RecordKind::RangeShared;
                    let (site, is_region) = self.kinds.at(id)?;
                    let end = self.bounds.end_of_range(data, ticks).ok()?;
                    let gap = end.checked_sub(last)?;
                    let gap_hides = gap > TICK_MASK && (number > 0 || exit.is_none());
                    if is_shared && lane != 0 || !is_region || gap_hides {
                        return None;
                    }
                    last = end;
                    counted.oldest.get_or_insert(end);
                    counted.note_behind(self.since, end);
                    (owner_site, owner) = (site, recorded.regions.len() as u32);
                    sizes.is_plain = false;
                    let mut record = RegionRecord::Parted;
                    let began = Moment::of_end(site, data, lane, number);
                    if is_shared {
                        record = RegionRecord::Shared;
                        counted.shared += 1;
                        // Where no begin is ahead, as in memory of the GPU, it is of none.
                        if !recorded.begun.is_empty() {
                            written_by_all(&mut recorded.begun, end);
                            recorded.ended.push(began);
                        }
                    } else {
                        recorded.parted.push(began);
                    }
                    recorded.regions.push(Raw {
                        start: data,
                        end,
                        site,
                        track: 0,
                        end_unit: number,
                        value: NONE,
                        size: 0,
                        depth: 0,
                        lane,
                        record,
                    });
                    number += 1;
                    continue;
                }
                let step = ticks.wrapping_sub(last) & TICK_MASK;
                let now = last.checked_add(step).filter(|now| *now <= limit)?;
                if exit.is_none() && (1 << TICK_BITS) - step < SLACK {
                    return None;
                }
                last = now;
                counted.oldest.get_or_insert(now);
                counted.note_behind(self.since, now);
                if kind == RecordKind::Anchor {
                    if id != 0 || self.clock != Clock::Cycles {
                        return None;
                    }
                    counted.attachments += 1;
                    recorded.anchors.push((lane, now));
                    number += 1;
                    continue;
                }
                let (site, is_region) = self.kinds.at(id)?;
                if self.room.is_of_all(kind, data) {
                    let is_begin = kind == RecordKind::Begin;
                    if lane != 0 || is_begin != is_region {
                        return None;
                    }
                    owner_site = NONE;
                    counted.shared += 1;
                    if is_begin {
                        begin_of_all(&mut recorded.begun, site, now, number);
                    } else {
                        mark_of_all(recorded, site, now);
                    }
                    number += 1;
                    continue;
                }
                match kind {
                    RecordKind::Mark | RecordKind::Begin | RecordKind::End
                        if data > u64::from(TRACK_FIELD_MAX) =>
                    {
                        return None;
                    }
                    RecordKind::Mark if is_region => return None,
                    RecordKind::Mark => {
                        owner_site = NONE;
                        let track = data as u32;
                        note_track(track, self.place_of(number), notes);
                        recorded.marks.push(RawMark::own(lane, site, now, track, None));
                    }
                    RecordKind::RangeTracked
                    | RecordKind::RangeUnsigned
                    | RecordKind::RangeSigned
                    | RecordKind::Open
                        if is_region =>
                    {
                        let (field, begin) = record::unpack(data);
                        let start = self.start_of(begin, now)?;
                        let has_value = kind.is_range_with_value();
                        let mut region = Raw {
                            start,
                            end: now,
                            site,
                            track: if has_value { 0 } else { field },
                            end_unit: number,
                            value: NONE,
                            lane,
                            ..Raw::default()
                        };
                        (owner_site, owner) = (site, recorded.regions.len() as u32);
                        if kind == RecordKind::Open {
                            region.open(number);
                            owner_site = NONE;
                            counted.open += 1;
                        }
                        if has_value {
                            region.size = sizes.next(&recorded.regions, start, now);
                            region.value = recorded.values.len() as u32;
                            region.record = RegionRecord::WithValue;
                            recorded.values.push(super::units::value(kind, data)?);
                            owner_site = NONE;
                        } else {
                            sizes.is_plain = false;
                        }
                        note_track(region.track, self.place_of(number), notes);
                        recorded.regions.push(region);
                    }
                    RecordKind::Begin if is_region => {
                        let track = data as u32;
                        note_track(track, self.place_of(number), notes);
                        let latest = open.latest(track, site);
                        let before = *latest;
                        *latest = recorded.regions.len() as u32;
                        owner_site = NONE;
                        counted.open += 1;
                        sizes.is_plain = false;
                        recorded.regions.push(Raw {
                            start: now,
                            end: u64::MAX,
                            site,
                            track,
                            end_unit: NONE,
                            value: before,
                            size: number,
                            lane,
                            ..Raw::default()
                        });
                    }
                    RecordKind::RangeWatched if is_region => {
                        let (track, begin) = record::unpack(data);
                        let latest = open.latest(track, site);
                        (owner_site, owner) = (site, *latest);
                        match recorded.regions.get_mut(*latest as usize) {
                            Some(region) => {
                                region.start = start_behind(region.start, begin, now)?;
                                *latest = std::mem::replace(&mut region.value, NONE);
                                (region.end, region.end_unit) = (now, number);
                                counted.open -= 1;
                            }
                            None => {
                                owner = recorded.regions.len() as u32;
                                recorded.regions.push(Raw {
                                    start: self.start_of(begin, now)?,
                                    end: now,
                                    site,
                                    track,
                                    end_unit: number,
                                    value: NONE,
                                    lane,
                                    ..Raw::default()
                                });
                                sizes.is_plain = false;
                                note_track(track, self.place_of(number), notes);
                            }
                        }
                    }
                    RecordKind::End if is_region => {
                        let latest = open.latest(data as u32, site);
                        (owner_site, owner) = (site, *latest);
                        match recorded.regions.get_mut(*latest as usize) {
                            None => notes.note(Kind::UnmatchedEnd, self.place_of(number)),
                            Some(region) => {
                                *latest = std::mem::replace(&mut region.value, NONE);
                                (region.end, region.end_unit) = (now, number);
                                counted.open -= 1;
                            }
                        }
                    }
                    RecordKind::ValueUnsigned
                    | RecordKind::ValueSigned
                    | RecordKind::ValueFloat => {
                        let value = super::units::value(kind, data)?;
                        if is_region {
                            counted.attachments += 1;
                            let region = recorded.regions.get_mut(owner as usize);
                            match region.filter(|region| owner_site == site && region.end == now) {
                                Some(region) => {
                                    region.value = recorded.values.len() as u32;
                                    recorded.values.push(value);
                                }
                                None => notes.note(Kind::OrphanedValue, self.place_of(number)),
                            }
                        } else {
                            recorded.marks.push(RawMark::own(lane, site, now, 0, Some(value)));
                        }
                        owner_site = NONE;
                    }
                    _ => return None,
                }
                number += 1;
            }
        }
        if number > 0 && exit.is_some() && limit.saturating_sub(last) > TICK_MASK {
            return None;
        }
        if counted.open > 0 {
            for site in &open.used {
                close_chain(recorded, open.of_warp[*site as usize]);
            }
            for latest in open.of_tracks.values() {
                close_chain(recorded, *latest);
            }
        }
        let newest = (number > 0).then_some(last);
        Some(Counted { units: number.into(), is_plain: sizes.is_plain, newest, ..counted })
    }

    /// When a region began whose record, written at `end`, has 40 bits of it; `None` if that is odd.
    fn start_of(&self, begin: u64, end: u64) -> Option<u64> {
        let (start, is_ambiguous) = self.bounds.start_before(end, begin).ok()?;
        (!is_ambiguous).then_some(start)
    }

    /// Where the unit of this number lies.
    fn place_of(&self, number: u32) -> Option<Place> {
        Some(Place { unit: Some(self.survivors.index(number)), ..self.place })
    }
}

/// Takes away the links between regions that stayed open.
fn close_chain(recorded: &mut Recorded, mut latest: u32) {
    while let Some(region) = recorded.regions.get_mut(latest as usize) {
        latest = std::mem::replace(&mut region.value, NONE);
    }
}

#[cfg(test)]
mod tests {
    use profiler_wire::site::ID_OFFSET;
    use profiler_wire::{SiteKind, record::SITE_MAX};

    use super::*;
    use crate::synthetic::{Keep, SyntheticModule};

    #[test]
    fn a_table_of_kinds_is_not_larger_than_what_it_is_for() {
        let mut module = SyntheticModule::new(Keep::First, 0);
        module.site(SiteKind::Region, "region");
        let mut entry = module.entries()[0].clone();
        entry[ID_OFFSET..ID_OFFSET + 4].copy_from_slice(&SITE_MAX.to_le_bytes());
        let table = SiteTable::from_entries([entry.as_slice()]).expect("a whole entry");
        assert!(SiteKinds::new(&table, 1 << 20).0.is_empty());
        assert_eq!(SiteKinds::new(&table, 4 << 20).region_at(SITE_MAX), Some(0));
        let dense = module.sites().expect("a whole entry");
        assert_eq!(SiteKinds::new(&dense, 0).region_at(1), Some(0));
    }
}
