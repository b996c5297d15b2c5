//! What a trace must hold of a lane: the survivors of the units that the reference emitted, and of those
//! that lane 0 wrote for all lanes.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use profiler_host::Keep;
use profiler_trace::Value;
use profiler_wire::SiteKind;
use profiler_wire::header::Clock;

use crate::reference::{LaneRun, Unit, What};
use crate::script::Lead;

/// A region, mark or reading of both clocks, as expected or as a trace has it. The order is that of
/// the fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item {
    pub kind: Kind,
    pub name: String,
    pub track: Option<u32>,
    /// Which kind of value, and its bits.
    pub value: Option<(u8, u64)>,
    pub depth: u16,
    pub start: u64,
    /// `None` for an open region.
    pub end: Option<u64>,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Region,
    Mark,
    Signal,
    Wait,
    Anchor,
}

impl Kind {
    pub(crate) fn of_mark(kind: SiteKind) -> Self {
        match kind {
            SiteKind::Signal => Self::Signal,
            SiteKind::Wait => Self::Wait,
            _ => Self::Mark,
        }
    }
}

pub(crate) fn bits(value: Value) -> (u8, u64) {
    match value {
        Value::Unsigned(value) => (0, value),
        Value::Signed(value) => (1, value.cast_unsigned()),
        Value::Float(value) => (2, value.to_bits()),
    }
}

/// An item that a lane has.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub item: Item,
    /// Whether it was left to an election who recorded it.
    pub is_elected: bool,
    /// Whether lane 0 may have recorded it for all lanes.
    pub may_be_shared: bool,
    /// Whether it is known in how many others it lies.
    pub is_depth_known: bool,
}

/// How many units, and how many of them are attachments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub units: u64,
    pub attachments: u64,
}

impl Count {
    pub(crate) fn add(&mut self, unit: &Unit) {
        self.units += 1;
        self.attachments += u64::from(unit.is_attachment());
    }

    pub(crate) fn records(self) -> u64 {
        self.units - self.attachments
    }
}

/// What is left of what a lane emitted.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// By start; of those that start together the longest first.
    pub regions: Vec<Expected>,
    pub marks: Vec<Expected>,
    pub anchors: Vec<Expected>,
    /// Of its own units.
    pub emitted: Count,
    pub survived: Count,
    /// Of its records that lie in lane 0's room: how many there are, and how many are left.
    pub elsewhere: [u64; 2],
    pub open: u64,
    /// Values whose region is lost.
    pub orphaned: u64,
    /// Records that lane 0 may have written for all lanes.
    pub shareable: u64,
    /// Begins that are records of their own.
    pub begins: u64,
    /// Regions that it may be in, as far as its records tell, and that are not shown.
    pub untold: u64,
}

impl Kept {
    /// All records of the lane, kept or not, wherever they lie.
    pub(crate) fn records(&self) -> u64 {
        self.emitted.records() + self.elsewhere[0]
    }

    /// Those that were kept.
    pub(crate) fn recorded(&self) -> u64 {
        self.survived.records() + self.elsewhere[1]
    }

    /// Without what only a room of the lane's own can hold. (Whether it ended what all lanes began is then not
    /// known.)
    pub(crate) fn without_room(&self) -> Self {
        let is_elsewhere = |region: &&Expected| region.may_be_shared && region.item.end.is_some();
        let regions = self.regions.iter().filter(is_elsewhere).cloned().collect();
        let marks = self.marks.iter().filter(|mark| mark.may_be_shared).cloned().collect();
        Self { regions, marks, ..Self::default() }
    }
}

/// Where what a lane emits lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room<'a> {
    /// Units that are kept; `None` where the lane has no room. Whether it ended what all lanes began by one record
    /// is then not known.
    pub capacity: Option<usize>,
    pub keep: Keep,
    /// What lane 0's room keeps of what it wrote for all lanes.
    pub for_all: &'a ForAll,
    /// Whether this is that room.
    pub is_leaders: bool,
}

impl Room<'_> {
    /// One that keeps all of what a lane emits that shares nothing.
    pub(crate) const ENDLESS: Self = Self {
        capacity: Some(usize::MAX),
        keep: Keep::First,
        for_all: &ForAll::NOTHING,
        is_leaders: true,
    };

    /// Whether a unit of this lane lies in lane 0's room, and this is another.
    fn is_elsewhere(&self, unit: &Unit) -> bool {
        unit.is_shared && !self.is_leaders
    }
}

/// What lane 0's room keeps of what it writes for all lanes.
#[derive(Debug)]
pub(crate) struct ForAll {
    /// Unit by unit, whether it is left.
    is_kept: Vec<bool>,
    /// How many records of them are not.
    lost: u64,
    /// When the unit was written that lies next to what the room lost, if it lost anything.
    next_to_lost: Option<u64>,
}

impl ForAll {
    const NOTHING: Self = Self { is_kept: Vec::new(), lost: 0, next_to_lost: None };
}

/// Which of so many units a room of this capacity keeps.
fn survivors(count: usize, capacity: usize, keep: Keep) -> Range<usize> {
    match keep {
        Keep::First => 0..count.min(capacity),
        Keep::Last => count.saturating_sub(capacity)..count,
    }
}

/// A region that a lane's survivors tell of.
struct Region {
    item: Item,
    instance: usize,
    /// The number of the unit that ended it, or that told of it while it is open.
    ended_by: usize,
    /// Whether lane 0 recorded it for all lanes, and this is another lane.
    is_elsewhere: bool,
}

impl Region {
    /// Its end; of two that end together, the one that ended later is the longer one.
    fn ending(&self) -> (u64, usize) {
        self.item.end.map_or((u64::MAX, usize::MAX), |end| (end, self.ended_by))
    }

    /// Whether nothing says which of the two encloses the other: they end in one step of the timer, and
    /// were written by two lanes, of which neither says where the other's unit stands among its own. Where
    /// their begins differ, the one that began later lies within the other, unless it began in that very
    /// step, perhaps behind the other, or a token ends there too, which may cross others. So it is of two that
    /// are open and began in one step.
    fn is_vague_with(&self, other: &Self, all: &[Self]) -> bool {
        let end = |region: &Self| (region.item.track, region.item.end);
        let is_crossed = || {
            let is_token = |region: &&Self| region.item.name.starts_with("token");
            let is_open = self.item.end.is_none();
            !is_open && all.iter().filter(is_token).any(|token| token.item.end == self.item.end)
        };
        let has_no_length =
            || [self, other].iter().any(|region| Some(region.item.start) == region.item.end);
        self.is_elsewhere != other.is_elsewhere
            && end(self) == end(other)
            && (self.item.start == other.item.start || has_no_length() || is_crossed())
    }
}

impl LaneRun {
    /// What is left of what this lane, lane 0, writes for all lanes.
    pub(crate) fn kept_for_all(&self, capacity: usize, keep: Keep) -> ForAll {
        let left = survivors(self.units.len(), capacity, keep);
        let shared = || self.units.iter().enumerate().filter(|(_, unit)| unit.is_shared);
        let is_lost = |number: &usize| !left.contains(number);
        let records = shared().filter(|(_, unit)| !unit.is_attachment());
        let next_to_lost = match keep {
            Keep::First => self.units[..left.end].last(),
            Keep::Last => self.units.get(left.start),
        };
        ForAll {
            is_kept: shared().map(|(number, _)| left.contains(&number)).collect(),
            lost: records.filter(|(number, _)| is_lost(number)).count() as u64,
            next_to_lost: next_to_lost
                .filter(|_| left.len() < self.units.len())
                .map(|unit| unit.time),
        }
    }

    /// When the oldest of its own units was written that are left in a ring that has turned. What lane 0 began for
    /// it up to then it may have ended in what the ring has overwritten.
    fn oldest_of_turned(&self, room: Room<'_>) -> Option<u64> {
        let capacity = room.capacity.filter(|capacity| *capacity > 0 && room.keep == Keep::Last)?;
        let is_own = |unit: &&Unit| !room.is_elsewhere(unit);
        let own: Vec<&Unit> = self.units.iter().filter(is_own).collect();
        let lost = own.len().checked_sub(capacity).filter(|lost| *lost > 0)?;
        Some(own[lost].time)
    }

    /// What is left of what all lanes began, this one among them, in that order; `left` are the units that are left,
    /// and `ticks` turns a time into what records say.
    fn begun(
        &self,
        room: Room<'_>,
        left: &[(usize, &Unit)],
        ticks: impl Fn(u64) -> u64,
    ) -> Vec<Begun> {
        let of_all = left.iter().filter(|(_, unit)| unit.is_shared);
        let begins = of_all.clone().filter(|(_, unit)| matches!(unit.what, What::Begin));
        let mut begun: Vec<Begun> = begins
            .map(|&(number, unit)| {
                let next = of_all.clone().find(|(other, _)| *other > number);
                Begun {
                    instance: unit.instance,
                    name: self.script.instances[unit.instance].name,
                    number,
                    ticks: ticks(unit.time),
                    until: next.map_or(u64::MAX, |(_, next)| ticks(next.time)),
                }
            })
            .collect();
        if let Some(last) = begun.last_mut().filter(|_| !room.is_leaders) {
            let own = left.iter().filter(|(_, unit)| !unit.is_shared);
            let behind = own.map(|(_, unit)| ticks(unit.time)).find(|ticks| *ticks > last.ticks);
            last.until = last.until.min(behind.unwrap_or(u64::MAX));
        }
        begun
    }

    /// The survivors among its units, each with its number; counts them.
    fn survivors(&self, room: Room<'_>, kept: &mut Kept) -> Vec<(usize, &Unit)> {
        let own = self.units.iter().filter(|unit| !room.is_elsewhere(unit)).count();
        let in_room = survivors(own, room.capacity.unwrap_or(0), room.keep);
        let (mut number_in_room, mut of_all) = (0, room.for_all.is_kept.iter());
        let mut left = Vec::new();
        for (number, unit) in self.units.iter().enumerate() {
            let survives = if room.is_elsewhere(unit) {
                let survives = of_all.next().copied().unwrap_or(false);
                if !unit.is_attachment() {
                    kept.elsewhere[0] += 1;
                    kept.elsewhere[1] += u64::from(survives);
                }
                survives
            } else {
                let survives = in_room.contains(&number_in_room);
                number_in_room += 1;
                kept.emitted.add(unit);
                if survives {
                    kept.survived.add(unit);
                }
                survives
            };
            if survives {
                left.push((number, unit));
            }
        }
        left
    }

    /// What is left of it, by where it lies; `ticks` turns a time into what records say.
    pub(crate) fn kept(&self, room: Room<'_>, ticks: impl Fn(u64) -> u64) -> Kept {
        let mut kept = Kept::default();
        let mut regions: Vec<Region> = Vec::new();
        // Where the region of an instance stands.
        let mut places: HashMap<usize, usize> = HashMap::new();
        let left = self.survivors(room, &mut kept);
        for &(number, unit) in &left {
            let instance = &self.script.instances[unit.instance];
            kept.shareable += u64::from(instance.may_share && !unit.is_attachment());
            kept.begins += u64::from(matches!(unit.what, What::Begin));
            let now = ticks(unit.time);
            let item = |kind, value: Option<Value>, start, end| Item {
                kind,
                name: instance.name.to_owned(),
                track: instance.track,
                value: value.map(bits),
                depth: 0,
                start,
                end,
            };
            let is_elsewhere = room.is_elsewhere(unit);
            let region = |start, end| Region {
                item: item(Kind::Region, None, start, end),
                instance: unit.instance,
                ended_by: number,
                is_elsewhere,
            };
            let moment = |kind| Expected {
                item: item(kind, instance.value, now, Some(now)),
                is_elected: instance.lead == Lead::Elected,
                may_be_shared: instance.may_share,
                is_depth_known: true,
            };
            match unit.what {
                What::Range(begin) => {
                    places.insert(unit.instance, regions.len());
                    regions.push(region(ticks(begin), Some(now)));
                }
                What::RangeWith(begin, value) => {
                    let mut region = region(ticks(begin), Some(now));
                    region.item.value = Some(bits(value));
                    regions.push(region);
                }
                What::Begin => {
                    places.insert(unit.instance, regions.len());
                    regions.push(region(now, None));
                }
                What::Watched(begin) => {
                    // Its record is enough, where that of its begin is gone.
                    let ended = region(ticks(begin), Some(now));
                    match places.get(&unit.instance) {
                        Some(&at) => regions[at] = ended,
                        None => {
                            places.insert(unit.instance, regions.len());
                            regions.push(ended);
                        }
                    }
                }
                What::Open(begin) => regions.push(region(ticks(begin), None)),
                // It stands behind the record of an end, which may be lost where lane 0 began the region.
                What::Attached(value) => match places.get(&unit.instance) {
                    Some(&at) if regions[at].item.end.is_some() => {
                        regions[at].item.value = Some(bits(value));
                    }
                    _ => kept.orphaned += u64::from(!is_elsewhere),
                },
                What::Mark => kept.marks.push(moment(Kind::of_mark(instance.kind))),
                What::Anchor => kept.anchors.push(moment(Kind::Anchor)),
            }
        }
        kept.untold = self.tell_open(room, &left, &mut regions, &ticks);
        regions
            .sort_by_key(|region| (region.item.start, Reverse(region.ending()), region.ended_by));
        kept.open = regions.iter().filter(|region| region.item.end.is_none()).count() as u64;
        for at in 0..regions.len() {
            let (before, rest) = regions.split_at_mut(at);
            let region = &mut rest[0];
            let encloses = |other: &&Region| {
                other.item.track == region.item.track && other.ending() >= region.ending()
            };
            region.item.depth = before.iter().filter(encloses).count() as u16;
        }
        let expected = |region: &Region| {
            let instance = &self.script.instances[region.instance];
            Expected {
                item: region.item.clone(),
                is_elected: instance.lead == Lead::Elected,
                may_be_shared: instance.may_share,
                is_depth_known: !regions.iter().any(|other| region.is_vague_with(other, &regions)),
            }
        };
        kept.regions = regions.iter().map(expected).collect();
        kept
    }

    /// Of what all lanes began, has those regions open that the records say are so; gives how many others may be.
    ///
    /// The record of an end says when its region began, and not which begin's it is. That one was recorded no later, and
    /// the lane wrote nothing between the two, for itself or with all. Where several may be it, by a clock that comes in
    /// steps, the last ones have their ends; and where it may be one that is lost, one that is left has it.
    fn tell_open(
        &self,
        room: Room<'_>,
        left: &[(usize, &Unit)],
        regions: &mut Vec<Region>,
        ticks: impl Fn(u64) -> u64,
    ) -> u64 {
        let begun = self.begun(room, left, &ticks);
        let began_together = |region: &Region| {
            let is_its_begin = |unit: &Unit| {
                unit.is_shared && unit.instance == region.instance && unit.what == What::Begin
            };
            self.units.iter().any(is_its_begin)
        };
        let is_open = |region: &Region| region.item.end.is_none();
        let (open, ended): (Vec<_>, Vec<_>) =
            regions.extract_if(.., |region| began_together(region)).partition(is_open);
        let next_to_lost = room.for_all.next_to_lost.map(&ticks);
        let is_own = |end: &&Region| !room.is_leaders && !end.is_elsewhere;
        let is_beyond = |start: u64| match room.keep {
            Keep::First => next_to_lost.is_some_and(|newest| start >= newest),
            Keep::Last => next_to_lost.is_some_and(|oldest| start <= oldest),
        };
        let may_be_of_lost = |end: &&Region| is_own(end) && is_beyond(end.item.start);
        let oldest = self.oldest_of_turned(room).map(&ticks);
        let is_known = |began: u64| {
            let is_past = oldest.is_some_and(|oldest| began <= oldest);
            room.capacity.is_some() && (room.is_leaders || !is_past)
        };
        let is_shown = |begin: &&Begun| is_known(begin.ticks);
        let told = left_open(&begun, ended.iter(), is_own).into_iter().filter(is_shown);
        let told: Vec<&Begun> = told.collect();
        let certain = ended.iter().filter(|end| !may_be_of_lost(end));
        let may_be = left_open(&begun, certain, is_own).into_iter().filter(is_shown).count();
        // Each lost begin has one end at most.
        let ends = ended.iter().filter(may_be_of_lost).count() as u64;
        let untold = may_be.saturating_sub(told.len()) as u64;
        let untold = untold.saturating_sub(ends.saturating_sub(room.for_all.lost));
        if self.how.clock == Clock::Cycles {
            // No two readings are alike: what is told is so, and what is not is counted.
            let is_true = |begin: &&Begun| open.iter().any(|open| open.instance == begin.instance);
            let known = open.iter().filter(|region| is_known(region.item.start)).count();
            let is_right = told.iter().all(is_true) && known as u64 <= told.len() as u64 + untold;
            assert!(is_right, "{told:?} of {begun:?}");
        }
        let told: Vec<Region> = told
            .iter()
            .map(|begin| Region {
                item: Item {
                    kind: Kind::Region,
                    name: begin.name.to_owned(),
                    track: None,
                    value: None,
                    depth: 0,
                    start: begin.ticks,
                    end: None,
                },
                instance: begin.instance,
                ended_by: begin.number,
                is_elsewhere: !room.is_leaders,
            })
            .collect();
        regions.extend(ended.into_iter().chain(told));
        untold
    }
}

/// A begin of all lanes that is left.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Begun {
    instance: usize,
    name: &'static str,
    /// Its place among the units.
    number: usize,
    ticks: u64,
    /// When the lane wrote the next unit with all others; of the last begin also, if earlier, the next for itself.
    until: u64,
}

/// The `begun` regions that none of the ends is taken for. An end that does not lie in the lane's own room lies behind
/// its begin in lane 0's.
fn left_open<'a>(
    begun: &'a [Begun],
    ends: impl Iterator<Item = &'a Region>,
    is_own: impl Fn(&&Region) -> bool,
) -> Vec<&'a Begun> {
    let mut ends: Vec<&Region> = ends.collect();
    let mut open: Vec<&Begun> = Vec::new();
    for begin in begun.iter().rev() {
        let may_be_its = |end: &&Region| {
            end.item.name == begin.name
                && (begin.ticks..=begin.until).contains(&end.item.start)
                && (is_own(end) || end.ended_by > begin.number)
        };
        let order = |end: &&Region| (end.item.start, is_own(end), end.ended_by);
        let its =
            (0..ends.len()).filter(|at| may_be_its(&ends[*at])).max_by_key(|at| order(&ends[*at]));
        match its {
            Some(at) => drop(ends.swap_remove(at)),
            None => open.push(begin),
        }
    }
    open
}
