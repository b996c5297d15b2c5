//! Pages and flame graphs, without a browser.

mod support;

use std::collections::BTreeSet;
use std::io::{self, Write};

use profiler_report::{ReportOptions, write_flamegraph, write_html};
use profiler_test_tools::quick_or_all;
use profiler_test_tools::synthetic::{Content, Keep, SyntheticModule, SyntheticWarp, sized};
use profiler_trace::{
    Decoder, Export, HostSpan, HostSpanKind, Progress, RecordCost, StackGroup, Trace, WarpSource,
    decode,
};
use profiler_wire::SiteKind;

fn page(trace: &impl WarpSource, options: &ReportOptions) -> String {
    let mut bytes = Vec::new();
    write_html(trace, &mut bytes, options).expect("memory can be written");
    String::from_utf8(bytes).expect("a page is UTF-8")
}

fn flamegraph(trace: &Trace) -> String {
    let mut bytes = Vec::new();
    write_flamegraph(trace, &mut bytes).expect("memory is written");
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
    for sign in ["@import", "src=", "href=", "eval(", "innerHTML"] {
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

/// Each was once held against all others: a page took minutes here.
#[test]
fn regions_that_all_cross_take_no_time_out_of_proportion() {
    let regions: u64 = quick_or_all(30_000, 150_000);
    let mut module = SyntheticModule::new(Keep::First, regions as u32);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "crossing");
    let mut warp = SyntheticWarp::new(kernel, 1000, 64_000);
    for number in 0..regions {
        warp.range(region, None, 1010 + number, 1010 + regions + number);
    }
    warp.leave(1010 + 2 * regions, 64_000 + regions);
    module.warps.push(warp);
    let trace = decode(&module.into_capture().expect("the sites are whole"));
    assert!(page(&trace, &ReportOptions::default()).contains("crossing"));
    assert!(flamegraph(&trace).contains("crossing"));
}

/// The lane and track of each mark was once looked for among all others.
#[test]
fn marks_on_many_tracks_take_no_time_out_of_proportion() {
    const MARKS: u32 = 100_000;
    let mut module = SyntheticModule::new(Keep::First, MARKS);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let mark = module.site(SiteKind::Mark, "mark");
    let mut warp = SyntheticWarp::new(kernel, 1000, 64_000);
    for number in 0..MARKS {
        warp.mark(mark, Some(number), 1010 + u64::from(number));
    }
    warp.leave(1020 + u64::from(MARKS), 64_000 + u64::from(MARKS));
    module.warps.push(warp);
    let trace = decode(&module.into_capture().expect("the sites are whole"));
    assert_eq!(trace.warps[0].marks.len(), MARKS as usize);
    let detail = &data(&page(&trace, &ReportOptions::default()))["detail"];
    assert_eq!((&detail["strips"], &detail["items"]), (&MARKS.into(), &MARKS.into()));
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
        let buffer = bytes.len().min(self.0);
        self.0 -= buffer;
        if buffer == 0 { Err(io::Error::other("full")) } else { Ok(buffer) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_error_of_the_writer_is_returned_wherever_it_comes() {
    let trace = support::large(2000);
    let length = page(&trace, &ReportOptions::default()).len();
    for buffer in (0..length).step_by(length / 50) {
        let error = write_html(&trace, Full(buffer), &ReportOptions::default()).expect_err("full");
        assert_eq!(error.to_string(), "full");
    }
    write_html(&trace, Full(length), &ReportOptions::default()).expect("all of it fits");

    let error = write_flamegraph(&trace, Full(100));
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
    assert!(flamegraph(&trace).ends_with("</svg>"));
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

/// Requires that a page that is written while a capture is decoded is that of its trace, and that it
/// takes as many steps as it said.
fn require_equal_pages(decoder: &Decoder<'_>, trace: &Trace) {
    let all = ReportOptions::default();
    let launch = &trace.launches[0];
    let half = launch.start_ns..f64::midpoint(launch.start_ns, launch.end_ns);
    for options in [
        all.clone(),
        ReportOptions { window: Some(half), ..all.clone() },
        ReportOptions { detail_bytes: 300, ..all },
    ] {
        let (streamed, progress) = (decoder.streamed(), Progress::default());
        let streamed = progress.watch(|| page(&streamed, &options));
        assert!(streamed == page(trace, &options));
        assert_eq!(progress.pass(), "blocks of 64 KiB compressed");
        assert_eq!(progress.done(), progress.expected());
    }
}

/// With what recording cost and without.
#[test]
fn a_page_and_a_flame_graph_of_a_capture_are_those_of_its_trace() {
    let mut module = SyntheticModule::new(Keep::First, 8);
    let [one, other] = ["one", "other"].map(|name| module.site(SiteKind::Kernel, name));
    let region = module.site(SiteKind::Region, "region");
    for (at, kernel) in [other, one, other, one].into_iter().enumerate() {
        let mut warp = SyntheticWarp::new(kernel, 5_000, 64_000);
        warp.header.grid_id = 1 + at as u64;
        // The last one has no end.
        warp.range(region, None, 5_100, 5_900).begin(region, None, 6_000);
        if at < 3 {
            warp.leave(25_000, 74_000);
        }
        module.warps.push(warp);
    }
    let open = module.into_capture().expect("the sites are whole");
    let sized = sized(5_000, Content::Mixed).expect("the sites are whole");
    for mut capture in [open, sized] {
        capture.record_cost = Some(RecordCost::uniform(5.0, 20.0));
        for subtracts in [false, true] {
            let decoder = Decoder::new(&capture);
            let decoder = if subtracts { decoder.subtract_record_cost() } else { decoder };
            let trace = decoder.trace();
            let mut bytes = Vec::new();
            let streamed = decoder.streamed();
            write_flamegraph(&streamed, &mut bytes).expect("memory is written");
            assert_eq!(streamed.into_outline().diagnostics, trace.diagnostics);
            assert!(String::from_utf8(bytes).expect("UTF-8") == flamegraph(&trace));
            require_equal_pages(&decoder, &trace);
        }
    }
}

/// The times of its warps are then not on one axis, and the launch is as long as it was.
#[test]
fn a_page_without_the_cost_of_recording_has_no_balance() {
    let mut capture = sized(5_000, Content::Regions).expect("the sites are whole");
    capture.record_cost = Some(RecordCost::uniform(5.0, 20.0));
    let all = ReportOptions::default();
    let recorded = page(&Decoder::new(&capture).trace(), &all);
    let without = page(&Decoder::new(&capture).subtract_record_cost().trace(), &all);
    let section = |page: &str| -> String {
        let section = page.split("id=\"balance-section\"").nth(1).expect("a section");
        section.split("</section>").next().expect("its end").to_owned()
    };
    let (recorded_section, without_section) = (section(&recorded), section(&without));
    for title in ["imbalance", "tail", "SM idle"] {
        let column = format!("<th scope=\"col\" class=\"n\">{title}</th>");
        assert!(recorded_section.contains(&column), "{recorded_section}");
        assert!(!without_section.contains(&column), "{without_section}");
    }
    assert!(recorded.contains("\"tail\":") && !without.contains("\"tail\":"));
    assert!(recorded.contains("\"curves\":[{") && without.contains("\"curves\":[]"));
    let said = "subtracted from the times of each warp by itself";
    assert!(without_section.contains(said) && !recorded.contains(said));
    let fact = "times of different warps are not on one axis any more";
    assert!(without.contains(fact) && !recorded.contains(fact));
}

#[test]
fn a_flame_graph_of_nothing_is_an_error_with_help() {
    let result = write_flamegraph(&Trace::default(), io::sink());
    let error = result.expect_err("nothing to draw");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("record at least one launch"));
}

/// Names of rows or stacks, and nanoseconds.
type Times = Vec<(String, f64)>;

/// Names and own times of the page's nesting, and folded stacks with their self times.
fn times(trace: &Trace) -> (Times, Times) {
    let text = page(trace, &ReportOptions::default());
    let table = text.split("<table id=\"nesting\">").nth(1).expect("a nesting");
    let rows = table.split("</table>").next().expect("its end").split("<tr>").skip(2);
    let own = rows.map(|row| {
        let name = row.split("</i>").nth(1).and_then(|rest| rest.split('<').next());
        let value = row.split("data-value=\"").nth(3).and_then(|rest| rest.split('"').next());
        (name.expect("a name").to_owned(), value.and_then(|value| value.parse().ok()).expect("ns"))
    });
    let mut folded = Vec::new();
    trace.write_folded_to(&mut folded, StackGroup::Kernel).expect("memory can be written");
    let folded = String::from_utf8(folded).expect("stacks are UTF-8");
    let stacks = folded.lines().map(|line| {
        let (stack, ns) = line.rsplit_once(' ').expect("a stack and its time");
        (stack.to_owned(), ns.parse().expect("ns"))
    });
    (own.collect(), stacks.collect())
}

fn kernel_with(regions: &[(&str, f64, f64, u16)]) -> Trace {
    let mut trace = support::gpu();
    let kernel = support::site(&mut trace, SiteKind::Kernel, "gemm");
    support::launch(&mut trace, kernel, [1, 1, 1], 0.0);
    support::warp(&mut trace, 0, 0, 0, 0.0, 100.0);
    for &(name, start, end, depth) in regions {
        let known = trace.sites.iter().position(|site| site.name == name);
        let site = match known {
            Some(at) => profiler_trace::SiteIndex(at as u32),
            None => support::site(&mut trace, SiteKind::Region, name),
        };
        support::region(&mut trace, site, (start, end), depth);
    }
    trace
}

#[test]
fn own_time_is_self_time_but_where_regions_cross() {
    let named = |names: &[(&str, f64)]| {
        names.iter().map(|&(name, ns)| (name.to_owned(), ns)).collect::<Times>()
    };
    let (own, stacks) = times(&kernel_with(&[
        ("tile", 10.0, 60.0, 0),
        ("load", 20.0, 25.0, 1),
        ("mma", 30.0, 50.0, 1),
        ("store", 70.0, 80.0, 0),
    ]));
    assert_eq!(
        stacks,
        named(&[
            ("gemm", 40.0),
            ("gemm;tile", 25.0),
            ("gemm;tile;load", 5.0),
            ("gemm;tile;mma", 20.0),
            ("gemm;store", 10.0),
        ])
    );
    let mut by_stack: Times = stacks
        .into_iter()
        .map(|(stack, ns)| (stack.rsplit(';').next().unwrap_or_default().to_owned(), ns))
        .collect();
    by_stack.sort_by(|left, right| left.0.cmp(&right.0));
    let mut by_row = own;
    by_row.sort_by(|left, right| left.0.cmp(&right.0));
    assert_eq!(by_row, by_stack);

    // They share 20 ns: own time of both, and self time of the one that began last.
    let (own, stacks) = times(&kernel_with(&[("a", 10.0, 50.0, 0), ("b", 30.0, 70.0, 0)]));
    let mut own = own;
    own.sort_by(|left, right| left.0.cmp(&right.0));
    assert_eq!(own, named(&[("a", 40.0), ("b", 40.0), ("gemm", 40.0)]));
    let expected = [("gemm", 40.0), ("gemm;a", 20.0), ("gemm;a;b", 20.0), ("gemm;b", 20.0)];
    assert_eq!(stacks, named(&expected));
}

/// While both last the time is in both frames, one above the other, and each is as wide in sum as its region
/// lasted.
#[test]
fn crossing_regions_are_both_in_the_flame_graph() {
    let svg = flamegraph(&kernel_with(&[("a", 10.0, 40.0, 0), ("b", 30.0, 80.0, 0)]));
    let frames = svg.split("<g><title>").skip(1).map(|frame| {
        let value = frame.split("fg:x=\"").nth(1).and_then(|rest| rest.split('"').next());
        (frame.split("</title>").next().expect("a title"), value.expect("where it begins"))
    });
    let frames: BTreeSet<_> = frames.collect();
    // In sum 30 ns of the one and 50 of the other.
    let wanted = [
        ("all (100 ns, 100%)", "0"),
        ("gemm (100 ns, 100.00%)", "0"),
        ("a (30 ns, 30.00%)", "30"),
        ("b (10 ns, 10.00%)", "50"),
        ("b (40 ns, 40.00%)", "60"),
    ];
    assert_eq!(frames, BTreeSet::from(wanted));
}

/// The data of a page's scripts.
fn data(page: &str) -> serde_json::Value {
    let data = page.split("id=\"data\">").nth(1).expect("data").split("</script>").next();
    serde_json::from_str(data.expect("an end")).expect("JSON")
}

/// The spans of the host that a page holds, and what it says of them.
fn host_spans(trace: &Trace) -> (Vec<serde_json::Value>, String) {
    let text = page(trace, &ReportOptions::default());
    let data = data(&text);
    let threads = data["host"]["threads"].as_array().expect("threads");
    let spans = threads.iter().flat_map(|thread| thread["spans"].as_array().expect("spans"));
    let notes = text.split("id=\"timeline-notes\">").nth(1).expect("notes").split("</ul>").next();
    (spans.cloned().collect(), notes.expect("an end").to_owned())
}

#[test]
fn of_very_many_spans_of_the_host_the_longest_are_here_and_the_others_counted() {
    let mut trace = support::large(500);
    support::host(&mut trace, 1000.0);
    let (spans, notes) = host_spans(&trace);
    assert_eq!((spans.len(), notes.contains("Left out")), (5, false), "{notes}");

    // A thousand are shorter than the others, which are more than fit.
    let span = |at: u32| HostSpan {
        name: "call".to_owned(),
        start_ns: f64::from(at),
        end_ns: f64::from(at) + if at < 1000 { 0.5 } else { 1.0 },
        kind: HostSpanKind::Span,
    };
    trace.host.threads[1].spans = (0..22_000).map(span).collect();
    let (spans, notes) = host_spans(&trace);
    assert_eq!(spans.len(), 20_000);
    assert!(notes.contains("Left out of this page: 2\u{202f}004 spans, the shortest."), "{notes}");
    assert!(spans.iter().all(|span| span[1].as_f64() >= Some(1.0)));
}
