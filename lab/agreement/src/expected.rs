//! What a trace must hold of a lane: the survivors of the units that the reference emitted.

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
    pub emitted: Count,
    pub survived: Count,
    pub open: u64,
    /// Values whose region is lost.
    pub orphaned: u64,
    /// Begins that are records of their own.
    pub begins: u64,
}

/// A lane's buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneBuffer {
    /// Units that are kept.
    pub capacity: usize,
    pub keep: Keep,
}

impl LaneBuffer {
    /// One that keeps all of what a lane emits.
    pub(crate) const ENDLESS: Self = Self { capacity: usize::MAX, keep: Keep::First };
}

/// Which of so many units a buffer of this capacity keeps.
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
}

impl Region {
    /// Its end; of two that end together, the one that ended later is the longer one.
    fn ending(&self) -> (u64, usize) {
        self.item.end.map_or((u64::MAX, usize::MAX), |end| (end, self.ended_by))
    }
}

impl LaneRun {
    /// What a buffer keeps of it; `ticks` turns a time into what records say.
    pub(crate) fn kept(&self, buffer: LaneBuffer, ticks: impl Fn(u64) -> u64) -> Kept {
        let mut kept = Kept::default();
        let mut regions: Vec<Region> = Vec::new();
        // Where the region of an instance stands.
        let mut places: HashMap<usize, usize> = HashMap::new();
        let left = survivors(self.units.len(), buffer.capacity, buffer.keep);
        for (number, unit) in self.units.iter().enumerate() {
            kept.emitted.add(unit);
            if !left.contains(&number) {
                continue;
            }
            kept.survived.add(unit);
            let instance = &self.script.instances[unit.instance];
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
            let region = |start, end| Region {
                item: item(Kind::Region, None, start, end),
                instance: unit.instance,
                ended_by: number,
            };
            let moment = |kind| Expected {
                item: item(kind, instance.value, now, Some(now)),
                is_elected: instance.lead == Lead::Elected,
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
                What::Attached(value) => match places.get(&unit.instance) {
                    Some(&at) if regions[at].item.end.is_some() => {
                        regions[at].item.value = Some(bits(value));
                    }
                    _ => kept.orphaned += 1,
                },
                What::Mark => kept.marks.push(moment(Kind::of_mark(instance.kind))),
                What::Anchor => kept.anchors.push(moment(Kind::Anchor)),
            }
        }
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
            Expected { item: region.item.clone(), is_elected: instance.lead == Lead::Elected }
        };
        kept.regions = regions.iter().map(expected).collect();
        kept
    }
}
