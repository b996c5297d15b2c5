//! More events than there is room for, and more warps than slots.

use std::collections::BTreeSet;

use profiler_host::{Backend, Keep, Slots, launch};
use test_kernels::watched;

use crate::kernels::{HOSTED_KERNELS, KERNELS, Kernel, Rounds, Shape, Values, kernel};
use crate::setting::{Setting, builder, output, overwrite_guards, record};

/// Units of a buffer: nothing, less than a record with a value, odd numbers, and rings of no power of
/// two.
const CAPACITIES: [u32; 6] = [0, 1, 2, 3, 5, 8];

/// Ten times more records than fit, in device memory.
pub(crate) fn too_many_events(setting: Setting) {
    too_many(setting, &setting.backend(), &KERNELS);
}

/// Likewise in memory of the host, and then more warps than slots.
pub(crate) fn in_memory_of_the_host(setting: Setting) {
    let backend = setting.hosted_backend();
    too_many(setting, &backend, &HOSTED_KERNELS);
    too_few_slots(setting, &backend, kernel("hosted_warp_cycles"));
}

/// Ten times more records than fit, by every strategy and clock, the first and the last kept, in slots of both kinds;
/// with lanes that leave early, lane 0 among them, and a warp of 16 lanes.
fn too_many(setting: Setting, backend: &Backend, kernels: &[Kernel]) {
    let shape = Shape::new([setting.either(2, 5), 1, 1], [144, 1, 1]);
    for (index, kernel) in kernels.iter().enumerate() {
        for (number, units) in CAPACITIES.into_iter().enumerate() {
            for (turn, (keep, slots, leaving)) in [
                (Keep::First, Slots::Linear, false),
                (Keep::First, Slots::Claimed, true),
                (Keep::Last, Slots::Claimed, false),
                (Keep::Last, Slots::Linear, true),
            ]
            .into_iter()
            .enumerate()
            {
                // A third of all combinations: those without values, with short and with long ones by turns.
                let turn = index + index / 2 + number + turn;
                let values = [Values::None, Values::Short, Values::Long][turn % 3];
                let ring = if units == 0 { 0 } else { units.next_power_of_two() };
                let rounds = Rounds {
                    rounds: 10 * units.max(1) / kernel.records,
                    values,
                    leaving,
                    capacity: if keep == Keep::Last { ring } else { units },
                    keep,
                };
                let builder = builder()
                    .records_per_warp(units)
                    .records_per_lane(units)
                    .keep(keep)
                    .slots(slots)
                    .max_warps(shape.warps());
                let trace = record(backend, builder, kernel, shape, rounds);
                kernel.check(&trace, shape, rounds);
            }
        }
    }
}

/// More warps than slots.
pub(crate) fn too_many_warps(setting: Setting) {
    too_few_slots(setting, &setting.backend(), kernel("warp_cycles"));
}

/// Warps without a slot are counted, and the others are whole.
fn too_few_slots(setting: Setting, backend: &Backend, kernel: &Kernel) {
    let shape = Shape::new([setting.either(7, 700), 1, 1], [96, 1, 1]);
    let rounds = Rounds { values: Values::Long, ..Rounds::all(3) };
    for slots in [Slots::Linear, Slots::Claimed] {
        for max_warps in [1, 2, 11] {
            let builder = builder().slots(slots).records_per_warp(16).max_warps(max_warps);
            let trace = record(backend, builder, kernel, shape, rounds);
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
            let unplaced = (shape.warps() - found) * kernel.records * rounds.rounds;
            assert_eq!(trace.lost_unplaced, u64::from(unplaced), "{}", trace.diagnostics);
        }
    }
}

/// A kernel that writes one word before, within, between or after the arrays of a session: in memory of the
/// host, too, it is seen.
pub(crate) fn guards_in_memory_of_the_host(setting: Setting) {
    let backend = setting.hosted_backend();
    let shape = Shape::new([3, 2, 1], [50, 1, 1]);
    let mut output = output(&backend, shape);
    let pointer = output.as_mut_ptr();
    overwrite_guards(
        &backend,
        |session| kernel("hosted_block_cycles").launch(session, shape, pointer, Rounds::all(3)),
        // SAFETY: a guard word of the session, which only the session's next reading looks at.
        |session, word| unsafe { launch!(session, watched::hosted_write_to<<<1, 1>>>(word)) },
    );
}
