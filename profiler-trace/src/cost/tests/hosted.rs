//! Warps whose records went to memory of the host, or hold the timer: what these cost is not known.

use super::*;

/// Subtracts the cost from a warp with one region of 100 ticks: how long it is then, and of which warp the
/// cost is not known.
fn subtracted(buffer: Buffer, clock: Clock, emulated: bool) -> (u64, Option<u32>) {
    let mut trace = trace(0.0, 0.0, |warp, region, _| {
        warp.range(region, None, 2_000, 2_100);
    });
    let kernel = trace.launches[0].kernel;
    trace.sites[kernel.0 as usize].buffer = buffer;
    (trace.warps[0].slot, trace.warps[0].clock, trace.device.emulated) = (7, clock, emulated);
    trace.record_cost = Some(RecordCost::uniform(10.0, 30.0));
    trace.cost_subtracted = false;
    trace.subtract_record_cost();
    let said = trace.diagnostics.get(DiagnosticKind::CostUnknown).and_then(|said| said.place);
    (length(&trace.warps[0].regions[0]), said.and_then(|place| place.slot))
}

#[test]
fn nothing_is_subtracted_where_the_cost_is_not_known() {
    for (buffer, clock, emulated, expected) in [
        (Buffer::Global, Clock::Cycles, false, (90, None)),
        (Buffer::Host, Clock::Cycles, false, (100, Some(7))),
        // The emulator has no bus.
        (Buffer::Host, Clock::Cycles, true, (90, None)),
        (Buffer::Global, Clock::GlobalTimer, false, (100, Some(7))),
        (Buffer::Global, Clock::GlobalTimer, true, (100, Some(7))),
    ] {
        assert_eq!(subtracted(buffer, clock, emulated), expected, "{buffer:?}, {clock:?}");
    }
}
