//! Sorts warps into launches.

use super::Slot;
use crate::model::{Launch, SiteIndex, Trace, Warp};
use profiler_wire::header::Dim3;

/// What tells launches apart, but for replays: module, `%gridid`, kernel, grid and block shape.
type Key = (usize, u64, SiteIndex, Dim3, Dim3);

fn key(slot: &Slot) -> Key {
    let header = &slot.header;
    (slot.module, header.grid_id, slot.kernel, header.grid_dim, header.block_dim)
}

/// Moves the warps into the trace, grouped by launch.
///
/// A replayed CUDA graph repeats the grid ids of its kernels. A warp of a block enters a launch
/// once, so the k-th entry of the same warp of the same block is of replay k: replays of one graph
/// do not overlap, which puts their entries in order.
pub(super) fn group(slots: &[Slot], warps: Vec<Warp>, trace: &mut Trace) {
    let mut order: Vec<usize> = (0..slots.len()).collect();
    order.sort_by_cached_key(|&index| {
        let header = &slots[index].header;
        (key(&slots[index]), header.block, header.warp, header.globaltimer)
    });
    let mut replays = vec![0; slots.len()];
    for pair in order.windows(2) {
        let (before, this) = (&slots[pair[0]], &slots[pair[1]]);
        let same = key(before) == key(this)
            && before.header.block == this.header.block
            && before.header.warp == this.header.warp;
        if same {
            replays[pair[1]] = replays[pair[0]] + 1;
        }
    }
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
            let (start_ns, end_ns) = extent(members, &warps);
            let launch = Launch {
                kernel: first.kernel,
                grid_id: first.header.grid_id,
                replay: replays[members[0]],
                grid_dim: first.header.grid_dim,
                block_dim: first.header.block_dim,
                warps: 0..members.len(),
                start_ns,
                end_ns,
            };
            (launch, members)
        })
        .collect();
    groups.sort_by(|left, right| left.0.start_ns.total_cmp(&right.0.start_ns));
    let mut warps: Vec<Option<Warp>> = warps.into_iter().map(Some).collect();
    for (number, (mut launch, members)) in groups.into_iter().enumerate() {
        let first = trace.warps.len();
        for &member in members {
            if let Some(mut warp) = warps[member].take() {
                warp.launch = number;
                trace.warps.push(warp);
            }
        }
        launch.warps = first..trace.warps.len();
        trace.launches.push(launch);
    }
}

/// From the first entry to the last exit; of a warp that never left, to its last record.
fn extent(members: &[usize], warps: &[Warp]) -> (f64, f64) {
    let (mut start, mut end) = (f64::INFINITY, f64::NEG_INFINITY);
    for &member in members {
        let warp = &warps[member];
        start = start.min(warp.entry.ns);
        end = end.max(match warp.exit {
            Some(exit) => exit.ns,
            None => warp.last_ns(),
        });
    }
    (start, end)
}
