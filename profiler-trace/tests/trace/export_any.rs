//! Whatever a trace holds, also what no decoder would put there, exports are whole.

use profiler_trace::{SiteIndex, Time, Trace, Value};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::exports;
use crate::zoo::zoo;

/// What is changed in a trace: which kind of thing, which of them, and what it becomes.
type Change = (u8, Index, Index, Time, Option<Value>, String);

fn change() -> impl Strategy<Value = Change> {
    let ns = prop_oneof![
        8 => -50.0..1000.0,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -0.0]),
    ];
    let ticks = prop_oneof![8 => 0_u64..2000, 1 => any::<u64>()];
    let time = (ticks, ns).prop_map(|(ticks, ns)| Time { ticks, ns });
    let value = prop::option::of(prop_oneof![
        any::<u64>().prop_map(Value::Unsigned),
        any::<i64>().prop_map(Value::Signed),
        any::<f64>().prop_map(Value::Float),
    ]);
    (0_u8..9, any::<Index>(), any::<Index>(), time, value, any::<String>())
}

fn changed(trace: &mut Trace, (kind, warp, index, time, value, text): Change) {
    let warp_index = warp.index(trace.warps.len());
    let warp = &mut trace.warps[warp_index];
    let region_index = index.index(warp.regions.len());
    let region = &mut warp.regions[region_index];
    match kind {
        0 => region.start = time,
        1 => region.end = value.map(|_| time),
        2 => region.value = value,
        // Sites and launches that there are not, too.
        3 => region.site = SiteIndex(index.index(9) as u32),
        4 => (region.depth, region.lane) = (index.index(4) as u16, index.index(3) as u8),
        5 => (warp.entry, warp.exit) = (time, value.map(|_| time)),
        6 => (warp.marks[0].time, warp.marks[0].value) = (time, value),
        7 => warp.launch = index.index(5),
        _ => {
            let site = index.index(trace.sites.len());
            trace.sites[site].name = text;
        }
    }
}

fn trace() -> impl Strategy<Value = Trace> {
    prop::collection::vec(change(), 0..60).prop_map(|changes| {
        let mut trace = zoo().0;
        changes.into_iter().for_each(|change| changed(&mut trace, change));
        trace
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn exports_of_any_trace_are_whole(trace in trace()) {
        exports::profiles(&trace);
        exports::events(&trace);
    }
}
