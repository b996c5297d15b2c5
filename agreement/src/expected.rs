//! What a trace must hold of a lane: the survivors of the units that the reference emitted, and of those
//! that lane 0 wrote for all lanes.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use profiler_host::Keep;
use profiler_trace::Value;
use profiler_wire::SiteKind;

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
        let regions = self.regions.iter().filter(is_elsewhere);
        Self { regions: regions.cloned().collect(), ..Self::default() }
    }
}

/// Where what a lane emits lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room<'a> {
    /// Units that are kept; `None` where the lane has no room. Whether it ended what all lanes began by one record
    /// is then not known.
    pub capacity: Option<usize>,
    pub keep: Keep,
    /// Of what lane 0 wrote for all lanes, unit by unit, whether it is left; `None` for lane 0, in
    /// whose room it lies.
    pub elsewhere: Option<&'a [bool]>,
}

impl Room<'_> {
    /// One that keeps all of what a lane emits that shares nothing.
    pub(crate) const ENDLESS: Self =
        Self { capacity: Some(usize::MAX), keep: Keep::First, elsewhere: None };
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
    /// The number of the unit that ended it.
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
    /// Of what this lane, lane 0, writes for all lanes, unit by unit, whether its room keeps it.
    pub(crate) fn kept_for_all(&self, capacity: usize, keep: Keep) -> Vec<bool> {
        let survivors = survivors(self.units.len(), capacity, keep);
        let shared = self.units.iter().enumerate().filter(|(_, unit)| unit.is_shared);
        shared.map(|(number, _)| survivors.contains(&number)).collect()
    }

    /// When the oldest of its own units was written that are left in a ring that has turned. What lane 0 began for
    /// it up to then it may have ended in what the ring has overwritten.
    fn oldest_of_turned(&self, room: Room<'_>) -> Option<u64> {
        let capacity = room.capacity.filter(|capacity| *capacity > 0 && room.keep == Keep::Last)?;
        let is_own = |unit: &&Unit| !unit.is_shared || room.elsewhere.is_none();
        let own: Vec<&Unit> = self.units.iter().filter(is_own).collect();
        let lost = own.len().checked_sub(capacity).filter(|lost| *lost > 0)?;
        Some(own[lost].time)
    }

    /// What lane 0 began for it, unit by unit: the instance, when, and whether lane 0's room keeps the begin.
    fn begun_elsewhere(&self, room: Room<'_>) -> Vec<(usize, u64, bool)> {
        let Some(of_all) = room.elsewhere else { return Vec::new() };
        let shared = self.units.iter().filter(|unit| unit.is_shared).zip(of_all);
        let begins = shared.filter(|(unit, _)| matches!(unit.what, What::Begin));
        begins.map(|(unit, is_kept)| (unit.instance, unit.time, *is_kept)).collect()
    }

    /// The survivors among its units, each with its number; counts them.
    fn survivors(&self, room: Room<'_>, kept: &mut Kept) -> Vec<(usize, &Unit)> {
        let is_elsewhere = |unit: &Unit| unit.is_shared && room.elsewhere.is_some();
        let own = self.units.iter().filter(|unit| !is_elsewhere(unit)).count();
        let in_room = survivors(own, room.capacity.unwrap_or(0), room.keep);
        let (mut number_in_room, mut of_all) = (0, room.elsewhere.unwrap_or_default().iter());
        let mut left = Vec::new();
        for (number, unit) in self.units.iter().enumerate() {
            let survives = if is_elsewhere(unit) {
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
        for (number, unit) in self.survivors(room, &mut kept) {
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
            let is_elsewhere = unit.is_shared && room.elsewhere.is_some();
            let region = |start, end| Region {
                item: item(Kind::Region, None, start, end),
                instance: unit.instance,
                ended_by: number,
                is_elsewhere,
            };
            let moment = |kind| Expected {
                item: item(kind, instance.value, now, Some(now)),
                is_elected: instance.lead == Lead::Elected,
                may_be_shared: false,
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
        // An end whose begin found no room is taken for that of the last begin of its site ahead of it, where no
        // begin that was kept lies in between: nothing tells when the clock was read behind that one.
        let begun = self.begun_elsewhere(room);
        let is_taken = |region: &Region| {
            let mut behind = begun.iter().skip_while(|(of, ..)| *of != region.instance).skip(1);
            let next =
                behind.find(|(.., is_kept)| *is_kept).map_or(u64::MAX, |begin| ticks(begin.1));
            let is_lost = |of| begun.iter().any(|begin| begin.0 == of && !begin.2);
            regions.iter().any(|ended| {
                ended.item.end.is_some()
                    && ended.item.name == region.item.name
                    && is_lost(ended.instance)
                    && (region.item.start..=next).contains(&ended.item.start)
            })
        };
        let taken: Vec<usize> = regions
            .iter()
            .filter(|region| region.is_elsewhere && region.item.end.is_none() && is_taken(region))
            .map(|region| region.instance)
            .collect();
        let oldest = self.oldest_of_turned(room).map(&ticks);
        let is_known = |region: &Region| {
            let may_have_ended = |oldest| region.is_elsewhere && region.item.start <= oldest;
            room.capacity.is_some() && !oldest.is_some_and(may_have_ended)
        };
        regions.retain(|region| {
            region.item.end.is_some() || is_known(region) && !taken.contains(&region.instance)
        });
        regions.sort_by_key(|region| (region.item.start, Reverse(region.ending())));
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
}
