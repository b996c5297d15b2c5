//! Whatever a trace holds, also what no decoder would put there, exports are whole.

use profiler_trace::{Export, SiteIndex, StackGroup, Time, Trace, Value};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value as Json;

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

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("a vector takes all");
    String::from_utf8(bytes).expect("UTF-8")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn exports_of_any_trace_are_whole(trace in trace()) {
        for group in [StackGroup::Kernel, StackGroup::Warp] {
            let text = written(|bytes| trace.write_folded_to(bytes, group));
            for line in text.lines() {
                let (stack, value) = line.rsplit_once(' ').expect("a value");
                prop_assert!(value.parse::<u64>().is_ok(), "{}", line);
                prop_assert!(stack.split(';').all(|frame| !frame.is_empty()), "{}", line);
                prop_assert_eq!(stack.trim(), stack);
            }
        }
        let text = written(|bytes| trace.write_hatchet_to(bytes));
        let hatchet: Json = serde_json::from_str(&text).expect("JSON");
        prop_assert_eq!(hatchet.as_array().map(Vec::len), Some(2));
        // Tables have every record.
        let of_launches = trace.warps.iter().filter(|warp| warp.launch < trace.launches.len());
        let records = of_launches.map(|warp| 1 + warp.regions.len() + warp.marks.len());
        let text = written(|bytes| trace.write_events_json_to(bytes));
        let rows: Vec<Json> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        prop_assert_eq!(rows.len(), records.sum::<usize>());
        let csv = written(|bytes| trace.write_events_csv_to(bytes));
        let columns = csv.lines().next().map(|line| line.split(',').count());
        prop_assert!(rows.iter().all(|row| row.as_object().map(serde_json::Map::len) == columns));
    }
}
