//! Records of all lanes of a warp, which lie in lane 0's room alone: every lane has their regions.

use std::cmp::Reverse;

use profiler_wire::SlotHeader;

use super::lane::Decoder;
use super::regions::Raw;
use crate::diagnostic::{Diagnostic, DiagnosticKind as Kind, Place};

/// How many lanes the warp of a slot has: all 32, but for the last one of a block whose size is no
/// multiple of 32. A damaged header may say that there are none.
pub(super) fn lane_count(header: &SlotHeader) -> u32 {
    let threads = header.block_dim.into_iter().fold(1, u32::saturating_mul);
    threads.saturating_sub(32 * header.warp).min(32)
}

impl Decoder<'_> {
    /// Keeps the regions that lane 0, the only one decoded so far, recorded for all lanes. `counted` is
    /// how many it says there were, if it does, and `lanes` how many lanes have them: what was not kept
    /// of them is lost for each. (Lane 0's own losses are those of its room.)
    pub(super) fn keep_shared(&mut self, counted: Option<u32>, lanes: u32, place: Place) {
        let shared = &mut self.scratch.shared;
        shared.clear();
        if self.shared > 0 {
            let regions = &self.scratch.recorded.regions;
            shared.extend(regions.iter().filter(|region| region.is_shared()));
        }
        self.leader_has_own = shared.len() < self.scratch.recorded.regions.len();
        let Some(counted) = counted.map(u64::from) else { return };
        if self.shared > counted && !self.stopped {
            self.diagnostics.note(Kind::CountMismatch, Some(place));
        }
        let of_others = counted.saturating_sub(self.shared) * u64::from(lanes.saturating_sub(1));
        self.lost += of_others;
        self.diagnostics.add(Diagnostic {
            kind: Kind::SharedLost,
            count: of_others,
            number: 0,
            place: Some(place),
        });
    }

    /// Gives a lane, whose own regions stand from `first` on, those that it shares.
    pub(super) fn share(&mut self, lane: u8, first: usize) {
        let super::lane::Scratch { recorded, sorter, shared, .. } = &mut *self.scratch;
        if shared.is_empty() {
            return;
        }
        let has_own = recorded.regions.len() > first;
        recorded.regions.extend(shared.iter().map(|region| Raw { lane, ..*region }));
        self.recorded += shared.len() as u64;
        self.lanes += u32::from(!has_own);
        if !has_own && !self.leader_has_own {
            // They stand as they do in lane 0.
            return;
        }
        let regions = &mut recorded.regions[first..];
        merge(regions);
        for (unit, region) in (0..).zip(regions.iter_mut().filter(|region| !region.is_open())) {
            region.end_unit = unit;
        }
        sorter.sort(regions, false, false);
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
