//! Gathers what warps read from both clocks between their entry and their exit, and says where they
//! did not for long.

use profiler_wire::Stamp;
use profiler_wire::header::Clock;
use profiler_wire::record::RecordKind;

use super::ticks::SLACK;
use super::units::{LaneUnits, SiteKinds};
use super::{LaneBuffer, OTHER_LANES, Slot, buffers};
use crate::capture::ModuleCapture;
use crate::clock::Anchor;
use crate::diagnostic::{Diagnostic, DiagnosticKind as Kind, Diagnostics};

/// For how long a clock may go on unread without a word: more than most kernels last. An H200 was seen
/// to lower its frequency by 15 % from one millisecond to the next when a load began
/// (lab/measurements/truth.md).
const UNREAD_NS_MAX: u64 = 10_000_000;

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
        let Some(LaneBuffer { buffer, counts, .. }) = slot.buffer(module, lane) else {
            return;
        };
        let survivors = buffer.survivors_of(counts);
        let is_anchor = |unit: [u64; 2]| {
            Stamp::unpack(unit[1]).is_some_and(|stamp| stamp.kind == RecordKind::Anchor)
        };
        let has_anchors = match buffer.parts(survivors) {
            // To look at all of them takes less time than to stop at the first.
            Some(parts) => {
                let units = parts.into_iter().flatten().map(buffers::words);
                units.fold(false, |found, unit| found | is_anchor(unit))
            }
            None => survivors.indices().any(|index| is_anchor(buffer.unit(index))),
        };
        if !has_anchors {
            continue;
        }
        let lane = LaneUnits {
            buffer: &buffer,
            survivors,
            bounds: slot.bounds(lane),
            clock: Clock::Cycles,
            sites: &module.sites,
            kinds: &SiteKinds::default(),
            place: slot.place(Some(lane as u8)),
        };
        let mut oldest = Vec::new();
        let mut widening = lane.widening(&mut oldest);
        for (number, index) in (0..).zip(survivors.indices()) {
            let Ok(unit) = lane.read(buffer.unit(index)) else { continue };
            let clock = widening.next(number, unit.written);
            if unit.kind != RecordKind::Anchor {
                continue;
            }
            if !times.contains(&unit.data) {
                diagnostics.note(Kind::DamagedUnit, lane.place_of(number));
                continue;
            }
            anchors.push(Anchor { sm: slot.header.sm, clock, globaltimer: unit.data });
        }
    }
}

/// Notes the SMs on which a warp stayed between two readings that lie far apart. The anchors may
/// stand in any order.
pub(super) fn note_unread(slots: &[Slot], anchors: &[Anchor], diagnostics: &mut Diagnostics) {
    let by_cycles = slots.iter().filter(|slot| slot.header.record_clock == Clock::Cycles);
    let mut stays: Vec<(u32, u64, u64)> = by_cycles
        .filter_map(|slot| Some((slot.header.sm, slot.header.globaltimer, slot.exit?.globaltimer)))
        .collect();
    if !stays.iter().any(|(_, entry, exit)| exit.saturating_sub(*entry) > UNREAD_NS_MAX) {
        return;
    }
    stays.sort_unstable();
    let mut readings: Vec<(u32, u64)> =
        anchors.iter().map(|anchor| (anchor.sm, anchor.globaltimer)).collect();
    readings.sort_unstable();
    let (mut sms, mut longest) = (0, 0);
    for stays in stays.chunk_by_mut(|left, right| left.0 == right.0) {
        let sm = stays[0].0;
        // The latest exit of those that entered so far.
        let mut latest = 0;
        for (_, _, exit) in &mut *stays {
            latest = latest.max(*exit);
            *exit = latest;
        }
        let first = readings.partition_point(|reading| reading.0 < sm);
        let of_sm = readings[first..].iter().take_while(|reading| reading.0 == sm);
        let unread = of_sm.clone().zip(of_sm.skip(1)).filter_map(|(from, to)| {
            let length = to.1 - from.1;
            let inside = stays.partition_point(|stay| stay.1 <= from.1).checked_sub(1)?;
            (length > UNREAD_NS_MAX && stays[inside].2 >= to.1).then_some(length)
        });
        if let Some(length) = unread.max() {
            sms += 1;
            longest = longest.max(length);
        }
    }
    diagnostics.add(Diagnostic {
        kind: Kind::ClockUnread,
        count: sms,
        number: longest / 1_000_000,
        place: None,
    });
}
