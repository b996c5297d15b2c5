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

/// What is left of what a lane emitted.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// By start; of those that start together the longest first.
    pub regions: Vec<Item>,
    pub marks: Vec<Item>,
    pub anchors: Vec<Item>,
    /// Of regions and of marks, whether it was left to an election who recorded it.
    pub elected: [Vec<bool>; 2],
    /// Units, and the attachments among them.
    pub emitted: [u64; 2],
    pub survived: [u64; 2],
    pub open: u64,
    /// Ends whose begin is lost.
    pub unmatched: u64,
    /// Values whose region is lost.
    pub orphaned: u64,
}

impl Kept {
    /// Records that were kept.
    pub(crate) fn recorded(&self) -> u64 {
        self.survived[0] - self.survived[1]
    }

    /// Records that were emitted.
    pub(crate) fn records(&self) -> u64 {
        self.emitted[0] - self.emitted[1]
    }
}

/// Which of so many units a room of this capacity keeps.
pub(crate) fn survivors(count: usize, capacity: usize, keep: Keep) -> Range<usize> {
    match keep {
        Keep::First => 0..count.min(capacity),
        Keep::Last => count.saturating_sub(capacity)..count,
    }
}

fn count(units: &[Unit]) -> [u64; 2] {
    let attachments = units.iter().filter(|unit| unit.is_attachment()).count();
    [units.len() as u64, attachments as u64]
}

/// A region that a lane's survivors tell of.
struct Region {
    item: Item,
    instance: usize,
    /// The number of the unit that ended it.
    ended_by: usize,
}

impl Region {
    /// Its end; of two that end together, the one that ended later is the longer one.
    fn ending(&self) -> (u64, usize) {
        self.item.end.map_or((u64::MAX, usize::MAX), |end| (end, self.ended_by))
    }
}

impl LaneRun {
    /// What is left of the `survivors` of its units; `ticks` turns a time into what records say.
    pub(crate) fn kept(&self, survivors: Range<usize>, ticks: impl Fn(u64) -> u64) -> Kept {
        let units = &self.units[survivors.clone()];
        let mut kept =
            Kept { emitted: count(&self.units), survived: count(units), ..Kept::default() };
        let mut regions: Vec<Region> = Vec::new();
        // Where the region of an instance stands.
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut marks = Vec::new();
        for (number, unit) in survivors.zip(units) {
            let instance = &self.script.instances[unit.instance];
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
            match unit.what {
                What::Range(begin) => {
                    places.insert(unit.instance, regions.len());
                    let item = item(Kind::Region, None, ticks(begin), Some(now));
                    regions.push(Region { item, instance: unit.instance, ended_by: number });
                }
                What::Begin => {
                    places.insert(unit.instance, regions.len());
                    let item = item(Kind::Region, None, now, None);
                    regions.push(Region { item, instance: unit.instance, ended_by: number });
                }
                What::End => match places.get(&unit.instance) {
                    None => kept.unmatched += 1,
                    Some(&at) => {
                        let region = &mut regions[at];
                        (region.item.end, region.ended_by) = (Some(now), number);
                    }
                },
                What::Open(begin) => {
                    let item = item(Kind::Region, None, ticks(begin), None);
                    regions.push(Region { item, instance: unit.instance, ended_by: number });
                }
                What::Attached(value) => match places.get(&unit.instance) {
                    None => kept.orphaned += 1,
                    Some(&at) => regions[at].item.value = Some(bits(value)),
                },
                What::Mark => {
                    let kind = Kind::of_mark(instance.kind);
                    marks.push((item(kind, instance.value, now, Some(now)), unit.instance));
                }
                What::Anchor => kept.anchors.push(item(Kind::Anchor, None, now, Some(now))),
            }
        }
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
        let is_elected = |instance: usize| self.script.instances[instance].lead == Lead::Elected;
        kept.elected = [
            regions.iter().map(|region| is_elected(region.instance)).collect(),
            marks.iter().map(|&(_, instance)| is_elected(instance)).collect(),
        ];
        kept.regions = regions.into_iter().map(|region| region.item).collect();
        kept.marks = marks.into_iter().map(|(mark, _)| mark).collect();
        kept
    }
}
