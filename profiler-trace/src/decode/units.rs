//! Takes the units of one lane's room apart.

use profiler_wire::Stamp;
use profiler_wire::header::Clock;
use profiler_wire::record::{self, RecordKind, TRACK_FIELD_MAX};

use super::rooms::{Room, Survivors};
use super::ticks::{Bounds, Written};
use crate::diagnostic::{DiagnosticKind as Kind, Diagnostics, Place};
use crate::model::Value;
use crate::site_table::SiteTable;

/// A unit that is a record or an attachment of a known site, or an anchor.
pub(super) struct Unit {
    /// Its place in the room.
    pub index: u32,
    pub kind: RecordKind,
    /// Index into the module's sites; `None` for an anchor.
    pub site: Option<usize>,
    /// Word 0.
    pub data: u64,
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

/// The whole units among the survivors, and when each was written by the record `clock`, as far as
/// it says that itself; what is no unit is noted.
pub(super) fn read(
    room: &Room<'_>,
    survivors: Survivors,
    sites: &SiteTable,
    bounds: &Bounds,
    clock: Clock,
    place: Place,
    diagnostics: &mut Diagnostics,
) -> (Vec<Unit>, Vec<Written>) {
    let mut units = Vec::new();
    let mut times = Vec::new();
    for index in survivors.indices() {
        let place = Some(Place { unit: Some(index), ..place });
        let words @ [data, stamp] = room.unit(index);
        let Some(Stamp { kind, site: id, ticks }) = room.stamp(stamp) else {
            let kind = match words {
                [_, 0] if !survivors.counted => Kind::UnitInFlight,
                [0, 0] => Kind::UnwrittenUnit,
                _ => Kind::DamagedUnit,
            };
            diagnostics.note(kind, place);
            continue;
        };
        // Lane 0 writes what all lanes share.
        let says_so = room.is_of_all(kind, data);
        let is_of_all = kind == RecordKind::RangeShared || says_so;
        let is_astray = is_of_all && !bounds.leader;
        if is_astray || !says_so && !is_whole(kind, id, data) {
            diagnostics.note(Kind::DamagedUnit, place);
            continue;
        }
        let site = if kind == RecordKind::Anchor {
            None
        } else {
            let Some(site) = sites.index_of(id) else {
                diagnostics.note_number(Kind::UnknownSite, u64::from(id), place);
                continue;
            };
            let is_region = sites.sites()[site].kind.is_region();
            let fits = match kind {
                RecordKind::Mark => !is_region,
                kind => kind.is_value() || is_region,
            };
            if !fits {
                diagnostics.note(Kind::KindMismatch, place);
                continue;
            }
            Some(site)
        };
        let whole = match kind {
            kind if kind.has_whole_begin() => bounds.end_of_range(data, ticks).ok(),
            // Its stamp is of the cycle counter, also where all others are of the timer.
            RecordKind::Anchor if clock == Clock::GlobalTimer => {
                let Ok(time) = bounds.end_of_range(data, data) else {
                    diagnostics.note(Kind::DamagedUnit, place);
                    continue;
                };
                Some(time)
            }
            _ => None,
        };
        units.push(Unit { index, kind, site, data });
        times.push(Written { time: whole.unwrap_or(ticks), whole: whole.is_some() });
    }
    (units, times)
}

/// Whether a unit is as its kind asks for.
fn is_whole(kind: RecordKind, site: u32, data: u64) -> bool {
    match kind {
        RecordKind::Begin | RecordKind::End | RecordKind::Mark => {
            data <= u64::from(TRACK_FIELD_MAX)
        }
        RecordKind::Anchor => site == 0,
        _ => true,
    }
}
