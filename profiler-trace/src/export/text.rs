//! The words that stand in a timeline, the same in every format.

use crate::display::{counted, extent, strategy};
use crate::model::{Launch, Trace, Warp};

/// The name of a launch's process: its kernel and its index, by which statistics and commands know it.
/// Viewers have no room for more.
pub(super) fn process(trace: &Trace, index: usize) -> String {
    let kernel = trace.launches.get(index).map_or("", |launch| &trace.site(launch.kernel).name);
    format!("{kernel}, launch {index}")
}

/// Further facts about a launch.
pub(super) fn launch_facts(launch: &Launch) -> String {
    let (grid, block) = (extent(launch.grid_dim), extent(launch.block_dim));
    let replay = match launch.replay {
        0 => String::new(),
        replay => format!(", replay {replay}"),
    };
    format!("grid {grid}, block {block}{replay}")
}

/// Facts about a warp.
pub(super) fn warp_facts(warp: &Warp, block: &str) -> String {
    let mut facts = format!("{block}, warp {}, SM {}", warp.warp, warp.sm);
    if let Some(rank) = warp.cluster_rank {
        facts += &format!(", rank {rank} in its cluster");
    }
    facts += &format!(", recorded by {}", strategy(warp.strategy));
    facts += &format!(", {}", counted(warp.recorded, "record"));
    if warp.lost > 0 {
        facts += &format!(", {} LOST", warp.lost);
    }
    facts
}
