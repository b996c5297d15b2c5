//! Sorts warps into launches.

use std::collections::HashSet;

use super::Slot;
use crate::model::{Launch, SiteIndex};
use profiler_wire::header::Dim3;

/// The identity of a launch, apart from replays: module, `%gridid`, kernel, grid and block shape.
type Key = (usize, u64, SiteIndex, Dim3, Dim3);

fn key(slot: &Slot) -> Key {
    let header = &slot.header;
    (slot.module, header.grid_id, slot.kernel, header.grid_dim, header.block_dim)
}

/// The number of the replay to which each slot belongs.
///
/// A replayed CUDA graph repeats the grid ids of its kernels. A warp of a block enters a launch
/// once, and a replay begins when the one before has ended. So a replay begins where a warp of a
/// block comes again, and more exactly at the last moment before at which no warp was in the kernel:
/// of the others that entered since, some may have found no slot the time before.
fn replays(slots: &[Slot]) -> Vec<u32> {
    let entry = |index: usize| slots[index].header.globaltimer;
    let exit = |index: usize| {
        let exit = slots[index].exit.map_or(0, |exit| exit.globaltimer);
        exit.max(entry(index))
    };
    let name = |index: usize| (slots[index].header.block, slots[index].header.warp);
    let mut order: Vec<usize> = (0..slots.len()).collect();
    // Of those that entered in the same step of the timer, the first to leave is of the older replay.
    order.sort_by_cached_key(|&index| (key(&slots[index]), entry(index), exit(index)));
    let mut replays = vec![0; slots.len()];
    for entries in order.chunk_by(|&left, &right| key(&slots[left]) == key(&slots[right])) {
        let mut replay = 0;
        let mut seen = HashSet::new();
        let mut left_at = 0;
        let stretches = entries.chunk_by(|&before, &this| {
            left_at = exit(before).max(left_at);
            entry(this) < left_at
        });
        for stretch in stretches {
            if stretch.iter().any(|&index| seen.contains(&name(index))) {
                replay += 1;
                seen.clear();
            }
            for &index in stretch {
                // Within one stretch only where times are damaged.
                if !seen.insert(name(index)) {
                    replay += 1;
                    seen = HashSet::from([name(index)]);
                }
                replays[index] = replay;
            }
        }
    }
    replays
}

/// Groups slots by launch: the launches in order of their start (where a warp never left its kernel, the
/// end may lie later), and the indices of the slots in the order of [`crate::Trace::warps`]. `times` are
/// each slot's entry and, if its warp left, exit.
pub(super) fn arrange(slots: &[Slot], times: &[(f64, Option<f64>)]) -> (Vec<Launch>, Vec<usize>) {
    let replays = replays(slots);
    let mut order: Vec<usize> = (0..slots.len()).collect();
    order.sort_by_cached_key(|&index| {
        let [x, y, z] = slots[index].header.block;
        (key(&slots[index]), replays[index], [z, y, x], slots[index].header.warp)
    });
    let mut groups: Vec<(Launch, &[usize])> = order
        .chunk_by(|&left, &right| {
            key(&slots[left]) == key(&slots[right]) && replays[left] == replays[right]
        })
        .map(|members| {
            let first = &slots[members[0]];
            let entries = members.iter().map(|&member| times[member].0);
            let exits = members.iter().filter_map(|&member| times[member].1);
            let launch = Launch {
                kernel: first.kernel,
                grid_id: first.header.grid_id,
                replay: replays[members[0]],
                grid_dim: first.header.grid_dim,
                block_dim: first.header.block_dim,
                warps: 0..members.len(),
                start_ns: entries.fold(f64::INFINITY, f64::min),
                end_ns: exits.fold(f64::NEG_INFINITY, f64::max),
            };
            (launch, members)
        })
        .collect();
    groups.sort_by(|left, right| left.0.start_ns.total_cmp(&right.0.start_ns));
    let (mut launches, mut warps) = (Vec::with_capacity(groups.len()), Vec::new());
    for (mut launch, members) in groups {
        let first = warps.len();
        warps.extend_from_slice(members);
        launch.warps = first..warps.len();
        launches.push(launch);
    }
    (launches, warps)
}
