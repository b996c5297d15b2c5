//! What holds of the profiles and tables of any trace. The fuzz targets check it too.

use profiler_trace::{Export, StackGroup, Trace};
use serde_json::Value;

pub(crate) fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("a vector takes all");
    bytes
}

pub(crate) fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

/// Every stack has names and a value.
pub(crate) fn profiles(trace: &Trace) {
    for group in [StackGroup::Kernel, StackGroup::Warp] {
        let text = written(|bytes| trace.write_folded_to(bytes, group));
        for line in std::str::from_utf8(&text).expect("UTF-8").lines() {
            let (stack, value) = line.rsplit_once(' ').expect("a value");
            assert!(value.parse::<u64>().is_ok(), "{line}");
            assert!(stack.split(';').all(|frame| !frame.is_empty()), "{line}");
            assert_eq!(stack.trim(), stack);
        }
    }
    let hatchet = json(&written(|bytes| trace.write_hatchet_to(bytes)));
    assert_eq!(hatchet.as_array().map(Vec::len), Some(2));
}

/// Every record of a launch that is there has a row.
pub(crate) fn events(trace: &Trace) {
    let of_launches = trace.warps.iter().filter(|warp| warp.launch < trace.launches.len());
    let records = of_launches.map(|warp| 1 + warp.regions.len() + warp.marks.len());
    let text = written(|bytes| trace.write_events_json_to(bytes));
    let text = String::from_utf8(text).expect("UTF-8");
    let rows: Vec<Value> = text.lines().map(|line| json(line.as_bytes())).collect();
    assert_eq!(rows.len(), records.sum::<usize>() + trace.host.spans().count());
    let csv = String::from_utf8(written(|bytes| trace.write_events_csv_to(bytes))).expect("UTF-8");
    let columns = csv.lines().next().map(|line| line.split(',').count());
    assert!(rows.iter().all(|row| row.as_object().map(serde_json::Map::len) == columns));
}
