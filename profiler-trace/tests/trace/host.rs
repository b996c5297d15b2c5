//! What the host did: on the axis of the device, in a capture and in timelines.

use crate::captures;
use crate::support::json;

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{
    Capture, ClockPair, Export, ExportOptions, HostCapture, HostRecord, HostSpan, HostSpanKind,
    Trace, decode,
};
use profiler_wire::SiteKind;
use profiler_wire::site::SiteEntry;
use serde_json::Value;

/// Kernels enter at 64 000 ns of the timer, which is nanosecond 0 and 5 000 of the host's clock.
fn capture() -> Capture {
    let mut capture = captures::small();
    // One module, and so one launch.
    capture.modules.truncate(1);
    capture
}

fn span<'t>(trace: &'t Trace, name: &str) -> &'t HostSpan {
    trace.host.spans().find(|span| span.name == name).expect("it was recorded")
}

#[test]
fn spans_lie_on_the_axis_of_the_device() {
    let trace = decode(&capture());
    let names: Vec<&str> = trace.host.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(names, ["main", "a \"loader\""]);
    let main: Vec<&str> = trace.host.threads[0].spans.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(main, ["all", "copy", "kernel"]);
    let copy = span(&trace, "copy");
    assert_eq!((copy.start_ns, copy.end_ns), (-3_000.0, -2_000.0));
    assert_eq!(span(&trace, "read").end_ns, 15_000.0);
    assert_eq!(span(&trace, "kernel").kind, HostSpanKind::Launch(Some(0)));
    assert_eq!(copy.kind, HostSpanKind::Span);
    assert_eq!(trace.host.uncertainty_ns, 0.1 + 0.2);
}

#[test]
fn calls_that_are_not_as_many_as_launches_are_not_matched() {
    let mut capture = capture();
    let call = capture.host.spans[2].clone();
    capture.host.spans.push(call);
    let trace = decode(&capture);
    assert_eq!(span(&trace, "kernel").kind, HostSpanKind::Launch(None));
}

/// A capture of calls, in order, of the kernels of these names, and of launches of one warp, in the
/// order in which they begin, each by its kernel and its number.
fn called(calls: &[&str], launches: &[(&str, u64)]) -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 4);
    let kernels = ["f", "g"].map(|name| (name, module.site(SiteKind::Kernel, name)));
    let mut entry = SiteEntry::new(SiteKind::Kernel, "shown", "k.rs", "k", 1, 1);
    entry.symbol = "known";
    let known = ("known", module.site_entry(&entry, &[]));
    for (&(name, grid_id), ns) in launches.iter().zip((64_000..).step_by(1_000)) {
        let kernel = kernels.into_iter().chain([known]).find(|kernel| kernel.0 == name);
        // A tick a nanosecond.
        let mut warp = SyntheticWarp::new(kernel.expect("a kernel").1, ns, ns);
        warp.header.grid_id = grid_id;
        warp.leave(ns + 500, ns + 500);
        module.warps.push(warp);
    }
    let spans = calls.iter().zip((1_000..).step_by(100)).map(|(name, start_ns)| HostRecord {
        thread: 0,
        name: (*name).to_owned(),
        is_launch: true,
        start_ns,
        end_ns: start_ns + 90,
    });
    Capture {
        host: HostCapture {
            clock: vec![ClockPair { host_ns: 0, device_ns: 60_000, uncertainty_ns: 1.0 }],
            threads: vec!["main".to_owned()],
            spans: spans.collect(),
        },
        ..module.into_capture().expect("the sites are whole")
    }
}

/// Which launch each call made, in order of the calls.
fn matched(capture: &Capture) -> Vec<Option<usize>> {
    let launch = |span: &HostSpan| match span.kind {
        HostSpanKind::Launch(launch) => launch,
        HostSpanKind::Span => panic!("all are calls"),
    };
    decode(capture).host.spans().map(launch).collect()
}

/// A kernel that was called later, in another stream, may begin first.
#[test]
fn calls_lead_to_what_they_launched_whatever_begins_first() {
    let two_kernels = called(&["f", "g"], &[("g", 2), ("f", 1)]);
    assert_eq!(matched(&two_kernels), [Some(1), Some(0)]);
    let one_kernel = called(&["f", "f", "f"], &[("f", 3), ("f", 9), ("f", 5)]);
    assert_eq!(matched(&one_kernel), [Some(0), Some(2), Some(1)]);
    let by_symbol = called(&["known", "f"], &[("f", 2), ("known", 1)]);
    assert_eq!(matched(&by_symbol), [Some(1), Some(0)]);
}

#[test]
fn a_call_leads_to_no_launch_of_another_kernel() {
    assert_eq!(matched(&called(&["f"], &[("g", 1)])), [None]);
    // The name in the source is not that in the module.
    assert_eq!(matched(&called(&["shown"], &[("known", 1)])), [None]);
    // What the session did not launch takes no arrow away from what it did.
    let beside = called(&["f", "f"], &[("f", 1), ("g", 2), ("f", 3)]);
    assert_eq!(matched(&beside), [Some(0), Some(2)]);
}

#[test]
fn where_the_order_is_not_certain_no_call_leads_anywhere() {
    // One more launch, past the session; one that recorded nothing; a graph that repeats a number.
    let beside = called(&["f", "g"], &[("f", 1), ("f", 2), ("g", 3)]);
    assert_eq!(matched(&beside), [None, Some(2)]);
    assert_eq!(matched(&called(&["f", "f"], &[("f", 1)])), [None, None]);
    let replayed = called(&["f", "f"], &[("f", 1), ("f", 1)]);
    assert_eq!(decode(&replayed).launches.len(), 2);
    assert_eq!(matched(&replayed), [None, None]);
    let said = decode(&beside).host.to_string();
    assert!(said.contains("2 launch calls (1 not matched with a launch), within"), "{said}");
    // Calls at the same time.
    let mut at_once = called(&["f", "f"], &[("f", 1), ("f", 2)]);
    assert_eq!(matched(&at_once), [Some(0), Some(1)]);
    at_once.host.spans[0].end_ns += 20;
    assert_eq!(matched(&at_once), [None, None]);
}

#[test]
fn a_file_with_a_host_of_nonsense_is_refused() {
    let mut wrong = capture();
    wrong.host.clock.reverse();
    let error =
        Capture::read_from(captures::file(&wrong).as_slice()).expect_err("a clock that runs back");
    let cause = std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string);
    assert!(format!("{error} {cause}").contains("host.clock"), "{error:?}");
    let mut wrong = capture();
    wrong.host.spans[0].thread = 2;
    let error = Capture::read_from(captures::file(&wrong).as_slice()).expect_err("no such thread");
    assert!(format!("{error} {error:?}").contains("host.spans[0].thread"), "{error:?}");
}

#[test]
fn a_timeline_has_the_threads_and_an_arrow_to_the_kernel() {
    let capture = capture();
    let trace = decode(&capture);
    let json = json(|bytes| trace.write_chrome_to(bytes, &ExportOptions::default()));
    let events = json["traceEvents"].as_array().expect("events");
    let find = |phase: &str, name: &str, value: &Value| {
        let found = events.iter().find(|it| it["ph"] == phase && it[name] == *value);
        found.unwrap_or_else(|| panic!("no {phase} {value}"))
    };
    // The earliest, `read`, is at 0: 4 500 ns before the kernel.
    let [copy, call] = ["copy", "kernel"].map(|name| find("X", "name", &name.into()));
    assert_eq!((&copy["ts"], &copy["dur"]), (&1.5.into(), &1.0.into()));
    assert_eq!((&call["ts"], &call["args"]["launch"]), (&4.0.into(), &0.into()));
    let process = find("M", "args", &serde_json::json!({ "name": "host" }));
    assert_eq!(process["pid"], copy["pid"]);
    let [tail, head] = ["s", "f"].map(|phase| find(phase, "id", &(trace.edges.len() + 1).into()));
    let entries = trace.warps.iter().map(|warp| warp.entry.ns);
    let entry = (4_500.0 + entries.fold(f64::INFINITY, f64::min)).round() / 1_000.0;
    assert_eq!((&tail["ts"], &head["ts"]), (&4.0.into(), &entry.into()));
}
