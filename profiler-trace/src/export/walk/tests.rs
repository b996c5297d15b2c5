//! What is held for tracks that kernels chose by number, and what is counted over time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use profiler_wire::SiteKind;
use serde_json::Value;

use super::tracks::{Held, User, batches};
use super::walk;
use crate::export::sink::{Event, Sink, Track};
use crate::model::Warp;
use crate::source::notes;
use crate::synthetic::{Content, Keep, SyntheticModule, SyntheticWarp, sized};
use crate::{Capture, Decoder, ExportOptions, Region, Trace};

#[test]
fn what_is_not_on_a_track_is_not_held_for_it() {
    let capture = sized(5_000, Content::Mixed).expect("the sites are whole");
    let trace = Decoder::new(&capture).trace();
    let warp = &trace.warps[0];
    let on = |numbers: std::ops::RangeInclusive<u32>| -> Vec<Region> {
        let is_on = |track: Option<u32>| track.is_some_and(|track| numbers.contains(&track));
        warp.regions.iter().filter(|region| is_on(region.track)).cloned().collect()
    };
    let hold = |warp: Cow<'static, Warp>, numbers| Held::new(&trace, 0, warp).on(&numbers);
    assert!(!on(2..=2).is_empty() && on(2..=2).len() < on(1..=2).len());
    for numbers in [2..=2, 1..=2] {
        let held = hold(Cow::Owned(warp.clone()), numbers.clone());
        // The place of a mark is how arrows find it.
        assert_eq!((&held.warp.regions, &held.warp.marks), (&on(numbers), &warp.marks));
        assert!(held.warp.into_owned().regions.capacity() < warp.regions.len());
    }
    // What is on no track of its own is on that of the kernel.
    let on_two = Warp { track: Some(2), ..warp.clone() };
    let without = warp.regions.iter().filter(|region| region.track.is_none()).count();
    let held = hold(Cow::Owned(on_two), 2..=2);
    assert_eq!(held.warp.regions.len(), on(2..=2).len() + without);
    // What all regions tell of the warp stays known.
    let open = Warp { exit: None, lost: 3, ..warp.clone() };
    let (all, held) =
        (Held::new(&trace, 0, Cow::Borrowed(&open)), hold(Cow::Owned(open.clone()), 2..=2));
    assert_eq!((held.end, held.lost_at), (all.end, all.lost_at));
    assert_eq!(all.on(&(2..=2)).warp.regions, open.regions);
}

#[test]
fn tracks_are_written_together_as_far_as_a_part_of_all_goes() {
    let of = |items: &[usize]| -> Vec<usize> {
        let users = items.iter().map(|&items| User { warps: Vec::new(), items });
        let tracks: Vec<(u32, User)> = (0..).zip(users).collect();
        let batches = batches(&tracks);
        assert_eq!(batches.concat(), tracks);
        batches.iter().map(|batch| batch.len()).collect()
    };
    assert_eq!(of(&[]), [0; 0]);
    assert_eq!(of(&[10, 20, 30]), [3]);
    assert_eq!(of(&[1 << 20, 1, 1 << 15, 1 << 17, 1 << 20]), [1, 2, 1, 1]);
    // However many tracks there are, warps are decoded a limited number of times for them.
    assert_eq!(of(&vec![1; 1 << 18]), [1 << 16; 4]);
    assert_eq!(of(&vec![1 << 20; 1 << 10]), [1 << 6; 16]);
}

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

/// Chrome's events of a capture, the same whether or not its trace is in memory.
fn events(capture: &Capture) -> Vec<Value> {
    let options = ExportOptions::default();
    let (mut streamed, mut whole) = (Vec::new(), Vec::new());
    let decoder = Decoder::new(capture);
    decoder.write_chrome_to(&mut streamed, &options).expect("memory can be written");
    let trace: Trace = decoder.trace();
    trace.write_chrome_to(&mut whole, &options).expect("memory can be written");
    assert!(streamed == whole);
    let mut file: Value = serde_json::from_slice(&whole).expect("JSON");
    serde_json::from_value(file["traceEvents"].take()).expect("a list")
}

/// Counts what a timeline is made of.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    tracks: u32,
    slices: u32,
    instants: u32,
}

impl Sink for Counts {
    fn process(&mut self, _: u32, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn track(&mut self, _: &Track<'_>) -> io::Result<()> {
        self.tracks += 1;
        Ok(())
    }

    fn select(&mut self, _: u32, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn begin(&mut self, _: u64, _: u64, _: &Event<'_>) -> io::Result<()> {
        self.slices += 1;
        Ok(())
    }

    fn end(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn instant(&mut self, _: u64, _: &Event<'_>) -> io::Result<()> {
        self.instants += 1;
        Ok(())
    }

    fn counter(&mut self, _: u64, _: &str, _: f64) -> io::Result<()> {
        Ok(())
    }
}

/// With a pass over all that the warp recorded for each of its tracks, this would take hours.
#[test]
fn a_warp_may_write_to_as_many_tracks_as_it_has_records() {
    const RECORDS: u32 = 60_000;
    let options = ExportOptions { counters: false, ..ExportOptions::default() };
    for leaves in [true, false] {
        let capture = tracks(RECORDS, leaves);
        let decoder = Decoder::new(&capture);
        let [mut streamed, mut whole] = [(); 2].map(|()| Counts::default());
        walk(&decoder.streamed(), &options, &mut streamed).expect("all is counted");
        walk(&decoder.trace(), &options, &mut whole).expect("all is counted");
        assert_eq!(streamed, whole);
        // What is said of the trace, and of the launch.
        let summary = notes::summary(&decoder.trace()).len() as u32 + 1;
        // The summary's track, the groups of blocks and of tracks, the warp's, on which the kernel is.
        let tracks = 4 + 2 * RECORDS;
        assert_eq!(whole, Counts { tracks, slices: summary + 1 + RECORDS, instants: RECORDS });
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
    let mut counters: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for event in events(&capture).iter().filter(|event| event["ph"] == "C") {
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
