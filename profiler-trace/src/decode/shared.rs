//! Records of all lanes of a warp, which lie in lane 0's room alone: every lane has their regions and marks. Where begins
//! are records of their own, a region of all lanes may have ended in some of them alone, or be open there.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use profiler_wire::SlotHeader;

use super::lane::{Decoder, Scratch};
use super::recorded::{RawMark, Recorded};
use super::regions::{NONE, Raw};
use super::ticks::SLACK;
use crate::diagnostic::{Diagnostic, DiagnosticKind as Kind, Place};
use crate::model::RegionRecord;

/// How many lanes the warp of a slot has: all 32, but for the last one of a block whose size is no
/// multiple of 32. A damaged header may say that there are none.
pub(super) fn lane_count(header: &SlotHeader) -> u32 {
    let threads = header.block_dim.into_iter().fold(1, u32::saturating_mul);
    threads.saturating_sub(32 * header.warp).min(32)
}

/// Where and when a region began. Lists of them have the latest of each site first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    /// Index into the module's sites.
    pub site: u32,
    pub ticks: u64,
    /// Which of lane 0's units its record is; [`NONE`], so behind them all, of another lane's.
    pub unit: u32,
    /// Of a begin of all lanes, until when each lane has read the clock again behind it: no later than by the next
    /// record of all, nor long after it.
    pub until: u64,
}

impl Moment {
    /// Of a begin by its end's record.
    pub(super) fn of_end(site: u32, ticks: u64, lane: u8, unit: u32) -> Self {
        Self { site, ticks, unit: if lane == 0 { unit } else { NONE }, until: ticks }
    }
}

/// Begins of all lanes that found no room, or were overwritten.
#[derive(Clone, Debug)]
pub(super) struct LostBegins {
    /// How many they are at most.
    pub most: u64,
    /// When the clock was read behind them.
    pub read: RangeInclusive<u64>,
}

/// Notes that all lanes begin a region, behind those that they began before.
pub(super) fn begin_of_all(begun: &mut Vec<Moment>, site: u32, ticks: u64, unit: u32) {
    written_by_all(begun, ticks);
    begun.push(Moment { site, ticks, unit, until: ticks.saturating_add(SLACK - 1) });
}

/// Notes a mark of all lanes.
pub(super) fn mark_of_all(recorded: &mut Recorded, site: u32, ticks: u64) {
    written_by_all(&mut recorded.begun, ticks);
    let mark = RawMark { ticks, site, track: 0, lane: 0, value: None, is_shared: true };
    recorded.marks.push(mark);
}

/// Notes that all lanes wrote a record at once, whichever that is. What lane 0 alone wrote says nothing of others: on
/// the emulator they run one after the other, and by the host's clock another may read it for the begin after that.
/// (Where it seems to be earlier than the begin before it, one of the two is odd.)
pub(super) fn written_by_all(begun: &mut [Moment], ticks: u64) {
    if let Some(last) = begun.last_mut().filter(|last| last.ticks <= ticks) {
        last.until = last.until.min(ticks);
    }
}

/// Those of the `begun` regions that nobody `ended`, of which the latter is when they began by their ends'
/// records. The record of a begin is written just before that: it is the latest one of the site that is not
/// later, nor recorded behind the end, as several may be in one step of the timer. Both are sorted.
fn unended<'m>(
    begun: &'m [Moment],
    ended: impl IntoIterator<Item = &'m Moment>,
) -> impl Iterator<Item = &'m Moment> {
    let mut ended = ended.into_iter().peekable();
    begun.iter().filter(move |begin| {
        // Of other sites, and of begins that are lost.
        let is_of_none = |end: &&Moment| {
            end.site > begin.site || end.site == begin.site && end.ticks > begin.until
        };
        while ended.next_if(is_of_none).is_some() {}
        let is_of_it = |end: &&Moment| {
            end.site == begin.site && end.ticks >= begin.ticks && end.unit > begin.unit
        };
        ended.next_if(is_of_it).is_none()
    })
}

impl Decoder<'_> {
    /// Keeps what lane 0, the only one decoded so far, recorded for all lanes. `counted` is
    /// how many records it says there were, if it does, and `lanes` how many lanes have them: what was not kept
    /// of them is lost for each. (Lane 0's own losses are those of its room.)
    pub(super) fn keep_shared(&mut self, counted: Option<u32>, lanes: u32, place: Place) {
        let Scratch { recorded, shared, shared_marks, unended, .. } = &mut *self.scratch;
        shared.clear();
        shared_marks.clear();
        if self.shared > 0 {
            shared.extend(recorded.regions.iter().filter(|region| region.is_shared()));
            shared_marks.extend(recorded.marks.iter().filter(|mark| mark.is_shared));
        }
        unended.clear();
        if !recorded.begun.is_empty() {
            recorded.begun.sort_unstable_by_key(|moment| Reverse(*moment));
            recorded.ended.sort_unstable_by_key(|moment| Reverse(*moment));
            unended.extend(self::unended(&recorded.begun, &recorded.ended));
        }
        self.last_begin =
            recorded.begun.iter().max_by_key(|begin| begin.unit).map(|begin| begin.ticks);
        let was_empty = recorded.regions.is_empty();
        // Its begins and ends are in one room: where an end was overwritten, its begin was before.
        if self.leave_open(0, place) {
            let Scratch { recorded, sorter, .. } = &mut *self.scratch;
            sorter.sort(&mut recorded.regions, false, false);
            self.lanes += u32::from(was_empty);
        }
        let Scratch { recorded, shared, .. } = &*self.scratch;
        self.leader_has_own = shared.len() < recorded.regions.len();
        let Some(counted) = counted.map(u64::from) else { return };
        if self.shared > counted && !self.stopped {
            self.diagnostics.note(Kind::CountMismatch, Some(place));
        }
        let lost = counted.saturating_sub(self.shared);
        if let Some(begins) = &mut self.lost_begins {
            begins.most = lost;
        }
        let of_others = lost * u64::from(lanes.saturating_sub(1));
        self.lost += of_others;
        self.diagnostics.add(Diagnostic {
            kind: Kind::SharedLost,
            count: of_others,
            number: 0,
            place: Some(place),
        });
    }

    /// Gives a lane, whose own regions stand from `first` on, those that it shares. Which of what all
    /// lanes began it has not ended can be told only where its own records `are_known`.
    pub(super) fn share(&mut self, first: usize, are_known: bool, place: Place) {
        let Scratch { recorded, shared, shared_marks, unended, .. } = &mut *self.scratch;
        // What each lane emitted, as it were.
        self.recorded += self.shared;
        let lane = place.lane.unwrap_or_default();
        // Of two marks in one step of the timer, of which one is shared and one is not, no record says which was
        // first.
        recorded.marks.extend(shared_marks.iter().map(|mark| RawMark { lane, ..*mark }));
        if shared.is_empty() && unended.is_empty() {
            return;
        }
        let has_own = recorded.regions.len() > first;
        recorded.regions.extend(shared.iter().map(|region| Raw { lane, ..*region }));
        if let Some(from) = self.known_from.filter(|_| are_known) {
            self.leave_open(from, place);
        }
        let Scratch { recorded, sorter, .. } = &mut *self.scratch;
        let regions = &mut recorded.regions[first..];
        self.lanes += u32::from(!has_own && !regions.is_empty());
        if !has_own && !self.leader_has_own {
            // They stand as they do in lane 0. It left nothing open, and so neither did this lane: what lane 0
            // ended of it all others ended by the same record, or it has an own one.
            return;
        }
        merge(regions);
        for (unit, region) in (0..).zip(regions.iter_mut().filter(|region| !region.is_open())) {
            region.end_unit = unit;
        }
        sorter.sort(regions, false, false);
    }

    /// Gives the last lane those regions that all lanes began at some tick or later and it did not end, if there
    /// are any.
    fn leave_open(&mut self, from: u64, place: Place) -> bool {
        let Scratch { recorded, unended, left_open, .. } = &mut *self.scratch;
        left_open.clear();
        if !unended.is_empty() {
            let lost = self.lost_begins.as_ref();
            let may_be_of_lost = |end: &&Moment| {
                end.unit == NONE && lost.is_some_and(|lost| lost.read.contains(&end.ticks))
            };
            let ends_of_lost = recorded.parted.iter().filter(may_be_of_lost).count() as u64;
            // What this lane wrote behind the last begin, it wrote behind reading the clock there: what began later
            // is of none that is there.
            recorded.parted.retain(|end| end.ticks <= self.read_by);
            // By all ends at once: which of two begins in one step of the timer an end of all lanes is of, those
            // of this lane alone may tell.
            recorded.parted.extend_from_slice(&recorded.ended);
            recorded.parted.sort_unstable_by_key(|moment| Reverse(*moment));
            let is_known = |begin: &&Moment| begin.ticks >= from;
            left_open
                .extend(self::unended(&recorded.begun, &recorded.parted).filter(is_known).copied());
            if let Some(lost) = lost {
                // What would be open as well, were all those ends of lost begins that may be; but each of these has
                // one at most.
                let certain = recorded.parted.iter().filter(|end| !may_be_of_lost(end));
                let open = self::unended(&recorded.begun, certain).filter(is_known).count();
                let untold = open.saturating_sub(left_open.len()) as u64;
                let untold = untold.saturating_sub(ends_of_lost.saturating_sub(lost.most));
                self.diagnostics.add_number(Kind::SharedLost, untold);
            }
        }
        left_open.sort_unstable_by_key(|begin| begin.unit);
        let lane = place.lane.unwrap_or_default();
        recorded.regions.extend(left_open.iter().map(|&Moment { site, ticks, unit, .. }| {
            // Where its record stands among those of another lane nothing tells.
            let unit = if lane == 0 { unit } else { 0 };
            let record = RegionRecord::Shared;
            let mut region =
                Raw { start: ticks, site, lane, value: NONE, record, ..Raw::default() };
            region.open(unit);
            region
        }));
        let count = left_open.len() as u64;
        self.note_open(count, place);
        count > 0
    }
}

/// Puts a lane's own regions and those that it shares in the order of their ends. Of two that end in one step
/// of the timer, of which one is shared and one is not, no record says which ended first: the one that began
/// later is taken to, as one within the other does (one of no length may as well have come behind the other),
/// and of two that began at once the shared one.
fn merge(regions: &mut [Raw]) {
    regions.sort_by_key(|region| (region.is_shared(), region.end, region.end_unit));
    let own_count = regions.partition_point(|region| !region.is_shared());
    let (own, shared) = regions.split_at(own_count);
    let (mut own, mut shared) = (own.iter().peekable(), shared.iter().peekable());
    let mut merged = Vec::with_capacity(regions.len());
    // Each list stays in its order, whatever begins in between.
    loop {
        let is_own_first = match (own.peek(), shared.peek()) {
            (Some(own), Some(shared)) => {
                (own.end, Reverse(own.start)) < (shared.end, Reverse(shared.start))
            }
            (own, _) => own.is_some(),
        };
        let next = if is_own_first { own.next() } else { shared.next() };
        let Some(next) = next else { break };
        merged.push(*next);
    }
    regions.copy_from_slice(&merged);
}
