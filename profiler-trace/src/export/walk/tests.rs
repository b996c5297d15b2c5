//! Tracks that kernels chose by number, and what is counted over time.

use std::collections::BTreeMap;

use profiler_wire::SiteKind;
use serde_json::Value;

use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use crate::{Capture, Decoder, Export, ExportOptions};

/// A warp with so many regions and as many marks, each on a track of its own.
fn tracks(count: u32, leaves: bool) -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 2 * count);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let [region, mark] =
        [SiteKind::Region, SiteKind::Mark].map(|kind| module.site(kind, "something"));
    let mut warp = SyntheticWarp::new(kernel, 0, 1_000_000);
    for number in 0..count {
        let at = u64::from(number);
        warp.range(region, Some(number), at, at + 1_000);
        warp.mark(mark, Some(count + number), at + 1_000);
    }
    if leaves {
        warp.leave(2_000_000, 2_000_000);
    }
    module.warps.push(warp);
    module.into_capture().expect("the sites are whole")
}

/// With a pass over all that the warp recorded for each of its tracks, this would take hours.
#[test]
fn a_warp_may_write_to_as_many_tracks_as_it_has_records() {
    const RECORDS: u32 = 15_000;
    let options = ExportOptions { counters: false, ..ExportOptions::default() };
    for leaves in [true, false] {
        let capture = tracks(RECORDS, leaves);
        let mut text = Vec::new();
        let written = Decoder::new(&capture).streamed().write_chrome_to(&mut text, &options);
        written.expect("memory can be written");
        let text = String::from_utf8(text).expect("JSON");
        assert_eq!(text.matches("\"name\":\"something\"").count(), 2 * RECORDS as usize);
        assert!(text.contains(&format!("track {}\"", 2 * RECORDS - 1)));
    }
}

#[test]
fn regions_of_one_name_are_counted_together() {
    let mut module = SyntheticModule::new(Keep::First, 8);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let [one, other, third] =
        ["same", "other", "same"].map(|name| module.site(SiteKind::Region, name));
    let mut warp = SyntheticWarp::new(kernel, 0, 1_000);
    warp.range(one, Some(1), 1_024, 3_072);
    warp.range(other, Some(2), 1_024, 3_072);
    warp.range(third, Some(3), 2_048, 4_096);
    warp.leave(8_192, 9_192);
    module.warps.push(warp);
    let capture = module.into_capture().expect("the sites are whole");
    let mut text = Vec::new();
    let written =
        Decoder::new(&capture).streamed().write_chrome_to(&mut text, &ExportOptions::default());
    written.expect("memory can be written");
    let file: Value = serde_json::from_slice(&text).expect("JSON");
    let events = file["traceEvents"].as_array().expect("a list");
    let mut counters: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "C") {
        let [at, value] = [&event["ts"], &event["args"]["value"]].map(|it| it.as_f64());
        let name = event["name"].as_str().expect("a name").to_owned();
        counters.entry(name).or_default().push((at.expect("a time"), value.expect("a number")));
    }
    let names: Vec<&str> = counters.keys().map(String::as_str).collect();
    assert_eq!(names, ["active regions / other", "active regions / same", "active warps / SM 0"]);
    let values = |name: &str| counters[name].iter().map(|step| step.1).collect::<Vec<f64>>();
    assert_eq!(values("active regions / other"), [0.0, 1.0, 0.0]);
    assert_eq!(values("active regions / same"), [0.0, 1.0, 2.0, 1.0, 0.0]);
    assert!(counters.values().all(|steps| steps.is_sorted_by(|left, right| left.0 < right.0)));
}
