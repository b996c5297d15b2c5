//! What a page and a flame graph are made of, without a browser.

mod support;

use std::io::{self, Write};

use profiler_report::{FlamegraphOptions, ReportOptions, write_flamegraph, write_html};
use profiler_trace::Trace;
use profiler_wire::SiteKind;

fn page(trace: &Trace, options: &ReportOptions) -> String {
    let mut bytes = Vec::new();
    write_html(trace, &mut bytes, options).expect("memory can be written");
    String::from_utf8(bytes).expect("a page is UTF-8")
}

fn flamegraph(trace: &Trace) -> String {
    let mut bytes = Vec::new();
    write_flamegraph(trace, &mut bytes, &FlamegraphOptions::default()).expect("memory is written");
    String::from_utf8(bytes).expect("an SVG is UTF-8")
}

#[test]
fn the_same_trace_makes_the_same_bytes() {
    let trace = support::large(2000);
    let options = ReportOptions::default();
    assert_eq!(page(&trace, &options), page(&trace, &options));
    assert_eq!(flamegraph(&trace), flamegraph(&trace));
}

#[test]
fn a_page_names_no_address_and_forbids_to_load_any() {
    let text = page(&support::large(500), &ReportOptions::default());
    // The name of SVG's namespace is no address that is loaded.
    let text = text.replace("http://www.w3.org/2000/svg", "");
    for sign in
        ["http:", "https:", "//cdn", "@import", "url(", "src=", "href=", "eval(", "innerHTML"]
    {
        assert!(!text.contains(sign), "{sign}");
    }
    assert!(text.contains("default-src 'none'"));

    let svg = flamegraph(&support::large(500));
    // Names of namespaces are no addresses that are loaded.
    let svg = svg.replace("http://www.w3.org/", "");
    for sign in ["http:", "https:", "@import", "url(", "src=", "href=", "eval(", "innerHTML"] {
        assert!(!svg.contains(sign), "{sign}");
    }
}

#[test]
fn regions_take_what_they_may_and_no_more() {
    let trace = support::large(200_000);
    let of = |detail_bytes| {
        let options = ReportOptions { detail_bytes, ..ReportOptions::default() };
        page(&trace, &options).len()
    };
    let (none, some, all) = (of(0), of(100_000), of(8 << 20));
    // Base64 is a third longer than the bytes, which are compressed.
    assert!(some > none && some < none + 100_000 * 4 / 3, "{none} {some}");
    assert!(all > some, "{some} {all}");
}

#[test]
fn a_window_shows_its_part_and_one_beside_the_trace_is_an_error() {
    let trace = support::large(20_000);
    let of = |window| {
        let options = ReportOptions { window: Some(window), ..ReportOptions::default() };
        let mut bytes = Vec::new();
        write_html(&trace, &mut bytes, &options).map(|()| bytes.len())
    };
    let whole = page(&trace, &ReportOptions::default()).len();
    assert!(of(0.0..1000.0).expect("a part") < whole * 3 / 4);
    for window in [-9.0..-1.0, 1e12..2e12, 5.0..5.0, f64::NAN..f64::NAN] {
        let error = of(window.clone()).expect_err("nothing there");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains("choose one within it"), "{window:?}: {error}");
    }
}

/// Fails after so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = bytes.len().min(self.0);
        self.0 -= room;
        if room == 0 { Err(io::Error::other("full")) } else { Ok(room) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_error_of_the_writer_is_returned_wherever_it_comes() {
    let trace = support::large(2000);
    let length = page(&trace, &ReportOptions::default()).len();
    for room in (0..length).step_by(length / 50) {
        let error = write_html(&trace, Full(room), &ReportOptions::default()).expect_err("full");
        assert_eq!(error.to_string(), "full");
    }
    write_html(&trace, Full(length), &ReportOptions::default()).expect("all of it fits");

    let error = write_flamegraph(&trace, Full(100), &FlamegraphOptions::default());
    assert_eq!(error.expect_err("full").to_string(), "full");
}

/// Times that no clock shows, sites that the trace does not have, SMs beyond any GPU.
#[test]
fn no_trace_makes_it_panic() {
    let mut trace = support::large(1000);
    let strange = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e300, 1e300, 0.0];
    for (at, &ns) in strange.iter().enumerate() {
        let warp = &mut trace.warps[at];
        warp.entry.ns = ns;
        warp.regions[0].start.ns = ns;
        warp.regions[1].end = Some(support::time(ns));
        warp.marks[0].time.ns = ns;
        warp.sm = u32::MAX - at as u32;
        warp.warp = u32::MAX;
        warp.block = [u32::MAX; 3];
        warp.regions[2].site = profiler_trace::SiteIndex(1000 + at as u32);
        warp.regions[3].depth = u16::MAX;
        warp.marks[1].site = profiler_trace::SiteIndex(u32::MAX);
    }
    trace.launches[0].grid_dim = [u32::MAX; 3];
    trace.launches[0].block_dim = [0; 3];
    trace.launches[1].end_ns = f64::NAN;
    trace.launches[1].warps = 5..usize::MAX;
    trace.warps[7].launch = usize::MAX;
    let text = page(&trace, &ReportOptions::default());
    assert!(text.ends_with("</html>\n"));
    assert!(flamegraph(&trace).ends_with("</svg>\n"));
}

#[test]
fn more_sms_and_launches_than_a_page_shows_are_counted() {
    let mut trace = support::gpu();
    let kernel = support::site(&mut trace, SiteKind::Kernel, "kernel");
    for launch in 0..1500_u32 {
        let start = f64::from(launch) * 100.0;
        support::launch(&mut trace, kernel, [1, 1, 1], start);
        support::warp(&mut trace, 0, 0, launch, start, start + 50.0);
    }
    let text = page(&trace, &ReportOptions::default());
    assert!(text.contains("Only the first 1024 of 1500 SMs have a row."));
    assert!(text.contains("The 100 longest of 1\u{202f}500 launches."));
}

#[test]
fn a_flame_graph_of_nothing_is_an_error_with_its_cure() {
    let result = write_flamegraph(&Trace::default(), io::sink(), &FlamegraphOptions::default());
    let error = result.expect_err("nothing to draw");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("record at least one launch"));
}
