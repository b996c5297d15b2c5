//! Whatever a trace holds, also what no decoder would put there, exports are whole.

use profiler_trace::{Launch, Mark, Region, Site, SiteIndex, StackGroup, Time, Trace, Value, Warp};
use profiler_wire::header::Clock;
use profiler_wire::{SiteKind, Strategy as Recorder};
use proptest::prelude::*;
use serde_json::Value as Json;

fn time() -> impl Strategy<Value = Time> {
    let ns = prop_oneof![
        8 => -50.0f64..1000.0,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -0.0]),
    ];
    let ticks = prop_oneof![8 => 0u64..2000, 1 => any::<u64>()];
    (ticks, ns).prop_map(|(ticks, ns)| Time { ticks, ns })
}

fn value() -> impl Strategy<Value = Option<Value>> {
    prop::option::of(prop_oneof![
        any::<u64>().prop_map(Value::Unsigned),
        any::<i64>().prop_map(Value::Signed),
        any::<f64>().prop_map(Value::Float),
    ])
}

/// Of four sites, and two that there are not.
fn site() -> impl Strategy<Value = SiteIndex> {
    (0u32..6).prop_map(SiteIndex)
}

fn region() -> impl Strategy<Value = Region> {
    (site(), any::<bool>(), 0u8..3, 0u16..4, time(), prop::option::of(time()), value()).prop_map(
        |(site, is_tracked, lane, depth, start, end, value)| Region {
            site,
            track: is_tracked.then_some(lane.into()),
            lane,
            value_in_record: false,
            depth,
            start,
            end,
            value,
        },
    )
}

fn warp() -> impl Strategy<Value = Warp> {
    let mark = (site(), time(), value()).prop_map(|(site, time, value)| Mark {
        site,
        track: None,
        lane: 1,
        time,
        value,
    });
    let regions = prop::collection::vec(region(), 0..20);
    let marks = prop::collection::vec(mark, 0..4);
    (0usize..3, any::<[u32; 4]>(), time(), prop::option::of(time()), regions, marks, 0u64..2)
        .prop_map(|(launch, [x, y, warp, sm], entry, exit, regions, marks, lost)| Warp {
            launch,
            slot: 0,
            block: [x, y, 0],
            warp,
            sm,
            cluster_rank: None,
            strategy: Recorder::Warp,
            track: None,
            clock: if x % 4 == 0 { Clock::GlobalTimer } else { Clock::Cycles },
            entry,
            exit,
            regions,
            marks,
            anchors: Vec::new(),
            recorded: 0,
            lost,
        })
}

/// Names of any text, launches of kernels that are not known, warps of launches that are not.
fn trace() -> impl Strategy<Value = Trace> {
    let names = prop::collection::vec(any::<String>(), 4);
    (names, prop::collection::vec(warp(), 0..6), site()).prop_map(|(names, warps, kernel)| Trace {
        sites: names
            .into_iter()
            .map(|name| Site {
                id: 1,
                kind: SiteKind::Region,
                name,
                list: None,
                file: "k.rs".to_owned(),
                module: String::new(),
                line: 1,
                column: 1,
                unit: None,
                strategy: None,
                symbol: None,
                buffer: profiler_trace::Buffer::Global,
            })
            .collect(),
        launches: vec![
            Launch {
                kernel,
                grid_id: 1,
                replay: 0,
                grid_dim: [1, 1, 1],
                block_dim: [32, 1, 1],
                warps: 0..warps.len(),
                start_ns: 0.0,
                end_ns: 1000.0,
            };
            2
        ],
        warps,
        ..Trace::default()
    })
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("a vector takes all");
    String::from_utf8(bytes).expect("UTF-8")
}

proptest! {
    #[test]
    fn folded_lines_have_frames_and_a_value(trace in trace()) {
        for group in [StackGroup::Kernel, StackGroup::Warp] {
            let text = written(|bytes| trace.write_folded_to(bytes, group));
            for line in text.lines() {
                let (stack, value) = line.rsplit_once(' ').expect("a value");
                prop_assert!(value.parse::<u64>().is_ok(), "{}", line);
                prop_assert!(stack.split(';').all(|frame| !frame.is_empty()), "{}", line);
                prop_assert_eq!(stack.trim(), stack);
            }
        }
    }

    #[test]
    fn profiles_are_json(trace in trace()) {
        let text = written(|bytes| trace.write_hatchet_to(bytes));
        let hatchet: Json = serde_json::from_str(&text).expect("JSON");
        prop_assert_eq!(hatchet.as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn tables_have_every_record(trace in trace()) {
        let of_launches = trace.warps.iter().filter(|warp| warp.launch < trace.launches.len());
        let records: usize = of_launches.map(|warp| 1 + warp.regions.len() + warp.marks.len()).sum();
        let text = written(|bytes| trace.write_events_json_to(bytes));
        let rows: Vec<Json> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        prop_assert_eq!(rows.len(), records);
        let csv = written(|bytes| trace.write_events_csv_to(bytes));
        let columns = csv.lines().next().map(|line| line.split(',').count());
        prop_assert!(rows.iter().all(|row| row.as_object().map(serde_json::Map::len) == columns));
    }
}
