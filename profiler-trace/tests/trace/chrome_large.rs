//! Chrome's JSON where it is large, and where its times are: a reader that takes numbers for doubles
//! gets every nanosecond.

use crate::support;

use std::collections::HashMap;
use std::fmt;
use std::io::{BufReader, Read};

use profiler_test_tools::synthetic::{Content, sized};
use profiler_trace::{Decoder, ExportOptions, Trace, Value as RegionValue};
use profiler_wire::SiteKind;
use serde_core::Deserializer as _;
use serde_core::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, Value};

/// Goes through a file while it is written, event by event, and returns the names of its members. What
/// is no JSON fails.
fn read(reader: impl Read, mut each: impl FnMut(&Value)) -> Vec<String> {
    let mut deserializer = Deserializer::from_reader(BufReader::new(reader));
    let file = File { each: &mut each };
    let members = deserializer.deserialize_map(file).expect("an object");
    deserializer.end().expect("nothing after it");
    members
}

/// The whole file.
struct File<'e, E> {
    each: &'e mut E,
}

impl<'de, E: FnMut(&Value)> Visitor<'de> for File<'_, E> {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file of events")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_key::<String>()? {
            if member == "traceEvents" {
                map.next_value_seed(Events { each: &mut *self.each })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            members.push(member);
        }
        Ok(members)
    }
}

/// Its events, of which one is held at a time.
struct Events<'e, E> {
    each: &'e mut E,
}

impl<'de, E: FnMut(&Value)> DeserializeSeed<'de> for Events<'_, E> {
    type Value = ();

    fn deserialize<D: serde_core::Deserializer<'de>>(self, events: D) -> Result<(), D::Error> {
        events.deserialize_seq(self)
    }
}

impl<'de, E: FnMut(&Value)> Visitor<'de> for Events<'_, E> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        while let Some(event) = events.next_element::<Value>()? {
            (self.each)(&event);
        }
        Ok(())
    }
}

/// A member in microseconds, as whole nanoseconds.
fn ns(event: &Value, member: &str) -> u64 {
    let microseconds = event[member].as_f64().unwrap_or_else(|| panic!("no {member}: {event}"));
    (microseconds * 1000.0).round() as u64
}

/// How many slices there are of a name, and how long they last together, in nanoseconds.
type Slices = HashMap<String, (u64, u64)>;

fn add(slices: &mut Slices, name: &str, ns: u64) {
    let (count, total) = slices.entry(name.to_owned()).or_default();
    *count += 1;
    *total += ns;
}

#[test]
fn a_million_slices_are_valid_json_and_all_there() {
    are_valid_json_and_all_there(1_000_000);
}

mod large {
    #[test]
    #[ignore = "takes minutes; run it with `-- --ignored large`"]
    fn ten_million_slices_are_valid_json_and_all_there() {
        super::are_valid_json_and_all_there(10_000_000);
    }
}

/// So many regions and their kernels, read while they are written, so that only the capture is held.
fn are_valid_json_and_all_there(regions: u64) {
    let capture = sized(regions, Content::Regions).expect("the sites are whole");
    let decoder = Decoder::new(&capture);
    let mut expected = Slices::new();
    let names: Vec<String> = decoder.outline().sites.into_iter().map(|site| site.name).collect();
    let length = |start: f64, end: f64| end.round() as u64 - start.round() as u64;
    decoder.each_warp(|records| {
        let exit = records.warp.exit.expect("every warp left");
        add(&mut expected, "kernel", length(records.warp.entry.ns, exit.ns));
        for region in records.regions() {
            let end = region.end.expect("every region has an end");
            let name = &names[region.site.0 as usize];
            add(&mut expected, name, length(region.start.ns, end.ns));
        }
    });
    assert!(expected.values().map(|(count, _)| count).sum::<u64>() > regions);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let (members, slices) = std::thread::scope(|scope| {
        let options = ExportOptions::default();
        let written = scope.spawn(move || decoder.write_chrome_to(writer, &options));
        let (mut slices, mut last) = (Slices::new(), HashMap::new());
        let members = read(reader, |event| {
            if event["ph"] == "X" && event["args"].get("source").is_some() {
                add(&mut slices, event["name"].as_str().expect("a name"), ns(event, "dur"));
                // On a track they are in order.
                let start = ns(event, "ts");
                assert!(last.insert(event["tid"].as_u64(), start) <= Some(start), "{event}");
            }
        });
        let diagnostics = written.join().expect("it ends").expect("the pipe takes everything");
        assert!(diagnostics.is_empty(), "{diagnostics}");
        (members, slices)
    });
    assert_eq!(slices, expected);
    assert_eq!(members, ["displayTimeUnit", "traceEvents", "otherData"]);
}

/// A kernel that begins so many nanoseconds after the trace's origin, with regions that take 1, 10, 100
/// .. ns, and a value and ticks of 64 bits.
fn late(begin: f64) -> (Trace, Vec<(u64, u64)>) {
    let mut trace = support::gpu();
    let kernel = support::site(&mut trace, SiteKind::Kernel, "kernel");
    let step = support::site(&mut trace, SiteKind::Region, "step");
    support::launch(&mut trace, kernel, [1, 1, 1], begin, begin + 20_000_000.0);
    let warp = support::warp(&mut trace, [0; 3], 0, begin, begin + 20_000_000.0);
    let mut regions = Vec::new();
    let mut start = begin + 7.0;
    for length in (0..7).map(|power| 10_f64.powi(power)) {
        support::region(&mut trace, warp, step, 0, start, start + length);
        let region = support::last(&mut trace, warp);
        region.value = Some(RegionValue::Unsigned(u64::MAX - start as u64));
        region.start.ticks = u64::MAX - 2;
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
        let mut bytes = Vec::new();
        let options = ExportOptions { raw_times: true, ..ExportOptions::default() };
        trace.write_chrome_to(&mut bytes, &options).expect("memory takes everything");
        let mut read_regions = Vec::new();
        read(bytes.as_slice(), |event| {
            if event["name"] == "step" && event["ph"] == "X" {
                let (start, length) = (ns(event, "ts"), ns(event, "dur"));
                read_regions.push((start, length));
                let arguments = &event["args"];
                // Whole numbers of 64 bits, and doubles with all their digits.
                assert_eq!(arguments["value"].as_u64(), Some(u64::MAX - start));
                assert_eq!(arguments["ticks"].as_u64(), Some(u64::MAX - 2));
                assert_eq!(arguments["ns"].as_f64(), Some(start as f64));
                assert_eq!(arguments["end_ns"].as_f64(), Some((start + length) as f64));
            }
        });
        assert_eq!(read_regions, regions);
        // As text, for readers with exact decimals.
        let text = String::from_utf8(bytes).expect("JSON is UTF-8");
        for (start, length) in regions {
            let [start, length] =
                [start, length].map(|ns| format!("{}.{:03}", ns / 1000, ns % 1000));
            assert!(text.contains(&format!("\"ts\":{start},\"dur\":{length},")), "{start}");
        }
    }
}
