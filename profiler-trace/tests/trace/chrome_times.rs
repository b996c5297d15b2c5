//! A reader that takes the numbers of Chrome's JSON for doubles gets every nanosecond.

use profiler_trace::{Export, ExportOptions, Trace, Value as RegionValue};
use profiler_wire::SiteKind;
use serde_json::Value;

use crate::support;

/// A member in microseconds, as whole nanoseconds.
fn ns(event: &Value, member: &str) -> u64 {
    let microseconds = event[member].as_f64().unwrap_or_else(|| panic!("no {member}: {event}"));
    (microseconds * 1000.0).round() as u64
}

/// A kernel that begins so many nanoseconds after the trace's origin, with regions that take 1, 10, 100
/// .. ns, and a value of 64 bits.
fn late(begin: f64) -> (Trace, Vec<(u64, u64)>) {
    let mut trace = support::launched("kernel", [1, 1, 1], begin, begin + 20_000_000.0);
    let step = support::site(&mut trace, SiteKind::Region, "step");
    let warp = support::warp(&mut trace, [0; 3], 0, begin, begin + 20_000_000.0);
    let mut regions = Vec::new();
    let mut start = begin + 7.0;
    for length in (0..7).map(|power| 10_f64.powi(power)) {
        support::region(&mut trace, warp, step, 0, start, start + length);
        support::last(&mut trace, warp).value =
            Some(RegionValue::Unsigned(u64::MAX - start as u64));
        regions.push((start as u64, length as u64));
        start += length + 1.0;
    }
    (trace, regions)
}

#[test]
fn every_nanosecond_is_there_hours_and_days_after_the_begin() {
    const HOUR: f64 = 3.6e12;
    for begin in [0.0, HOUR, 12.0 * HOUR + 1.0, 7.0 * 24.0 * HOUR + 123.0, 90.0 * 24.0 * HOUR] {
        let (trace, regions) = late(begin);
        let text = support::text(|bytes| trace.write_chrome_to(bytes, &ExportOptions::default()));
        let file: Value = serde_json::from_str(&text).expect("JSON");
        let events = file["traceEvents"].as_array().expect("a list").iter();
        let steps = events.filter(|event| event["name"] == "step" && event["ph"] == "X");
        let read_regions = steps.map(|event| {
            let (start, length) = (ns(event, "ts"), ns(event, "dur"));
            // Whole numbers of 64 bits.
            assert_eq!(event["args"]["value"].as_u64(), Some(u64::MAX - start));
            (start, length)
        });
        assert_eq!(read_regions.collect::<Vec<_>>(), regions);
        // As text, for readers with exact decimals.
        for (start, length) in regions {
            let [start, length] =
                [start, length].map(|ns| format!("{}.{:03}", ns / 1000, ns % 1000));
            assert!(text.contains(&format!("\"ts\":{start},\"dur\":{length},")), "{start}");
        }
    }
}
