//! Takes the units of one lane's buffer apart.

use profiler_wire::Stamp;
use profiler_wire::header::Clock;
use profiler_wire::record::{self, RecordKind, TRACK_FIELD_MAX};

use super::buffers::{Buffer, Survivors};
use super::regions::NONE;
use super::ticks::{Bounds, Widening, Written};
use crate::diagnostic::{DiagnosticKind as Kind, Location};
use crate::model::Value;
use crate::site_table::SiteTable;

/// The sites of a module by their ids: each site's index, with [`SiteKinds::NO_REGION`] if it is no
/// region; [`NONE`] if there is no site.
#[derive(Debug, Default)]
pub(super) struct SiteKinds(Vec<u32>);

/// Ids that are taken for dense, however little was recorded.
const IDS_DENSE: usize = 1024;

impl SiteKinds {
    /// Above all indices, as ids are below it.
    const NO_REGION: u32 = 1 << 31;

    /// `bytes` are those of the records that it is to be used for. If the ids are so sparse that
    /// it would be larger, it holds no site, and each is looked up in the table.
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

    /// The index of the site with some id, if it is a region.
    pub(super) fn region_at(&self, id: u32) -> Option<u32> {
        self.0.get(id as usize).copied().filter(|code| *code < Self::NO_REGION)
    }

    /// The index of the site with some id, and whether it is a region.
    fn at(&self, id: u32) -> Option<(u32, bool)> {
        let code = self.0.get(id as usize).copied().filter(|code| *code != NONE)?;
        Some((code & !Self::NO_REGION, code < Self::NO_REGION))
    }
}

/// A unit that is a record or an attachment of a known site, or an anchor.
pub(super) struct Unit {
    pub kind: RecordKind,
    /// Index into the module's sites; of an anchor [`NONE`].
    pub site: u32,
    pub is_of_region: bool,
    /// Word 0.
    pub data: u64,
    /// The time at which it was written, as far as the unit itself has it.
    pub written: Written,
}

/// The value of a unit of a kind that has one.
pub(super) fn value(kind: RecordKind, data: u64) -> Option<Value> {
    Some(match kind {
        RecordKind::ValueUnsigned => Value::Unsigned(data),
        RecordKind::ValueSigned => Value::Signed(data.cast_signed()),
        RecordKind::ValueFloat => Value::Float(f64::from_bits(data)),
        RecordKind::RangeUnsigned => Value::Unsigned(record::unpack(data).0.into()),
        RecordKind::RangeSigned => {
            Value::Signed(record::signed_field(record::unpack(data).0).into())
        }
        _ => return None,
    })
}

/// The surviving units of one lane.
pub(super) struct LaneUnits<'a> {
    pub buffer: &'a Buffer<'a>,
    pub survivors: Survivors,
    pub bounds: Bounds,
    /// The clock of the records.
    pub clock: Clock,
    pub sites: &'a SiteTable,
    pub kinds: &'a SiteKinds,
    pub place: Location,
}

impl LaneUnits<'_> {
    /// Takes a unit apart. If it is none, the diagnostic that says so, and its number.
    pub(super) fn read(&self, words: [u64; 2]) -> Result<Unit, (Kind, u64)> {
        let [data, stamp] = words;
        let Some(Stamp { kind, site: id, ticks }) = Stamp::unpack(stamp) else {
            let kind = match words {
                [_, 0] if !self.survivors.counted => Kind::UnitInFlight,
                [0, 0] => Kind::UnwrittenUnit,
                _ => Kind::DamagedUnit,
            };
            return Err((kind, 0));
        };
        let is_whole = match kind {
            RecordKind::Begin | RecordKind::Mark => data <= u64::from(TRACK_FIELD_MAX),
            RecordKind::Anchor => id == 0,
            _ => true,
        };
        if !is_whole {
            return Err((Kind::DamagedUnit, 0));
        }
        let (site, is_of_region) = match kind {
            RecordKind::Anchor => (NONE, false),
            _ => self.site(id).ok_or((Kind::UnknownSite, u64::from(id)))?,
        };
        let fits = match kind {
            RecordKind::Mark => !is_of_region,
            kind => kind == RecordKind::Anchor || kind.is_value() || is_of_region,
        };
        if !fits {
            return Err((Kind::KindMismatch, 0));
        }
        let whole = match kind {
            RecordKind::Range => self.bounds.end_of_range(data, ticks).ok(),
            // Its stamp is of the cycle counter, also if all others are of the timer.
            RecordKind::Anchor if self.clock == Clock::GlobalTimer => {
                let time = self.bounds.end_of_range(data, data);
                Some(time.map_err(|_| (Kind::DamagedUnit, 0))?)
            }
            _ => None,
        };
        let written = Written { time: whole.unwrap_or(ticks), whole: whole.is_some() };
        Ok(Unit { kind, site, is_of_region, data, written })
    }

    /// The index of the site with some id, and whether it is a region.
    fn site(&self, id: u32) -> Option<(u32, bool)> {
        self.kinds.at(id).or_else(|| {
            let index = self.sites.index_of(id)?;
            Some((index as u32, self.sites.sites()[index].kind.is_region()))
        })
    }

    /// Begins to widen the times of the units. `oldest` is memory to be used again.
    pub(super) fn widening<'m>(&self, oldest: &'m mut Vec<(u32, u64)>) -> Widening<'m> {
        oldest.clear();
        if !self.survivors.oldest_lost {
            return Widening::new(self.bounds, oldest, None);
        }
        for (number, index) in (0..).zip(self.survivors.indices()) {
            match self.read(self.buffer.unit(index)) {
                Ok(Unit { written: Written { time, whole: true }, .. }) => {
                    return Widening::new(self.bounds, oldest, Some(time));
                }
                Ok(unit) => oldest.push((number, unit.written.time)),
                Err(_) => {}
            }
        }
        Widening::new(self.bounds, oldest, None)
    }

    /// The place of a survivor by its number.
    pub(super) fn place_of(&self, number: u32) -> Option<Location> {
        Some(Location { unit: Some(self.survivors.index(number)), ..self.place })
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
