//! More events than there is room for, and more warps than slots.

use std::collections::BTreeSet;

use profiler_host::{Keep, Slots};

use crate::kernels::{KERNELS, Rounds, Shape, Values, kernel};
use crate::setting::{Setting, builder, record};

/// Units of a buffer: nothing, less than a record with a value, odd numbers, and rings of no power of
/// two.
const CAPACITIES: [u32; 6] = [0, 1, 2, 3, 5, 8];

/// Ten times more records than fit, by every strategy and clock, the first and the last kept, in
/// slots of both kinds.
pub(crate) fn too_many_events(setting: Setting) {
    let backend = setting.backend();
    // The last warp has 16 lanes.
    let shape = Shape::new([setting.either(2, 5), 1, 1], [144, 1, 1]);
    for (index, kernel) in KERNELS.iter().enumerate() {
        for (number, units) in CAPACITIES.into_iter().enumerate() {
            for (keep, slots) in [
                (Keep::First, Slots::Linear),
                (Keep::Last, Slots::Claimed),
                (Keep::First, Slots::Claimed),
                (Keep::Last, Slots::Linear),
            ] {
                // A third of all combinations: those without values, with short and with long ones by turns.
                let turn = index + number + 2 * usize::from(slots == Slots::Linear);
                let values = [Values::None, Values::Short, Values::Long][turn % 3];
                let ring = if units == 0 { 0 } else { units.next_power_of_two() };
                let rounds = Rounds {
                    rounds: 10 * units.max(1),
                    values,
                    capacity: if keep == Keep::Last { ring } else { units },
                    last: keep == Keep::Last,
                };
                let builder = builder()
                    .records_per_warp(units)
                    .records_per_lane(units)
                    .keep(keep)
                    .slots(slots)
                    .max_warps(shape.warps());
                let trace = record(&backend, builder, kernel, shape, rounds);
                kernel.check(&trace, shape, rounds);
            }
        }
    }
}

/// More warps than slots: those without one are counted, and the others are whole.
pub(crate) fn too_many_warps(setting: Setting) {
    let backend = setting.backend();
    let shape = Shape::new([setting.either(7, 700), 1, 1], [96, 1, 1]);
    let rounds = Rounds::all(3);
    for slots in [Slots::Linear, Slots::Claimed] {
        for max_warps in [1, 2, 11] {
            let kernel = kernel("warp_cycles");
            let builder = builder().slots(slots).records_per_warp(4).max_warps(max_warps);
            let trace = record(&backend, builder, kernel, shape, rounds);
            let found = trace.warps.len() as u32;
            match slots {
                Slots::Linear => assert_eq!(found, max_warps),
                // More than were asked for may find one.
                _ => assert!((max_warps..=shape.warps()).contains(&found), "{found}"),
            }
            for warp in &trace.warps {
                kernel.check_warp(&trace, warp, shape, rounds);
            }
            let places: BTreeSet<_> =
                trace.warps.iter().map(|warp| (warp.block, warp.warp)).collect();
            assert_eq!(places.len(), found as usize, "a warp twice");
            assert_eq!(trace.lost_unplaced, u64::from((shape.warps() - found) * rounds.rounds));
        }
    }
}
