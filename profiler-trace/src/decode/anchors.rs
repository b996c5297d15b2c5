//! Gathers what warps read from both clocks between their entry and their exit.

use profiler_wire::Stamp;
use profiler_wire::header::Clock;
use profiler_wire::record::RecordKind;

use super::ticks::{self, SLACK};
use super::{LaneRoom, OTHER_LANES, Slot, rooms, units};
use crate::capture::ModuleCapture;
use crate::clock::Anchor;
use crate::diagnostic::{DiagnosticKind as Kind, Diagnostics, Place};

/// Appends the anchors of a slot, where it is stamped by cycles. A time that is not the warp's is
/// left out and noted; all else that is odd is noted when the lane is decoded.
pub(super) fn gather(
    slot: &Slot,
    module: &ModuleCapture,
    anchors: &mut Vec<Anchor>,
    diagnostics: &mut Diagnostics,
) {
    if slot.header.record_clock != Clock::Cycles {
        return;
    }
    let times = slot.header.globaltimer
        ..=slot.exit.map_or(u64::MAX, |exit| exit.globaltimer.saturating_add(SLACK));
    for lane in 0..=OTHER_LANES {
        let Some(LaneRoom { room, counts, is_lost, .. }) = slot.room(module, lane) else { return };
        if is_lost {
            continue;
        }
        let survivors = room.survivors_of(counts);
        let is_anchor = |unit: [u64; 2]| {
            Stamp::unpack(unit[1]).is_some_and(|stamp| stamp.kind == RecordKind::Anchor)
        };
        let has_anchors = match room.parts(survivors) {
            // To look at all of them takes less time than to stop at the first.
            Some(parts) => {
                let units = parts.into_iter().flatten().map(rooms::words);
                units.fold(false, |found, unit| found | is_anchor(unit))
            }
            None => survivors.indices().any(|index| is_anchor(room.unit(index))),
        };
        if !has_anchors {
            continue;
        }
        let place = Place {
            module: slot.module,
            slot: Some(slot.slot),
            lane: Some(lane as u8),
            unit: None,
        };
        let bounds = slot.bounds(lane);
        let mut noted_later = Diagnostics::default();
        let (units, mut written) = units::read(
            &room,
            survivors,
            &module.sites,
            &bounds,
            Clock::Cycles,
            place,
            &mut noted_later,
        );
        ticks::widen(&mut written, bounds, survivors.oldest_lost);
        for (unit, written) in units.iter().zip(&written) {
            if unit.kind != RecordKind::Anchor {
                continue;
            }
            if !times.contains(&unit.data) {
                let place = Place { unit: Some(unit.index), ..place };
                diagnostics.note(Kind::DamagedUnit, Some(place));
                continue;
            }
            anchors.push(Anchor {
                sm: slot.header.sm,
                clock: written.time,
                globaltimer: unit.data,
            });
        }
    }
}
