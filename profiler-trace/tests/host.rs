//! What the host did: on the axis of the device, in a capture and in timelines.

#[path = "support/captures.rs"]
mod captures;

use profiler_trace::{
    Capture, Decoder, ExportOptions, HostCapture, HostSpan, HostSpanKind, Trace, decode,
};
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

#[test]
fn a_file_without_the_host_is_read_and_one_with_nonsense_refused() {
    let without = Capture { host: HostCapture::default(), ..capture() };
    let (read, damage) =
        Capture::read_from(captures::file(&without).as_slice()).expect("a whole file");
    assert_eq!((&read, damage.len()), (&without, 0));
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
    let (decoder, options) = (Decoder::new(&capture), ExportOptions::default());
    let trace = decoder.trace();
    let (mut held, mut streamed) = (Vec::new(), Vec::new());
    trace.write_perfetto_to(&mut held, &options).expect("memory takes everything");
    decoder.write_perfetto_to(&mut streamed, &options).expect("memory takes everything");
    assert!(held == streamed);
    let mut json = Vec::new();
    decoder.write_chrome_to(&mut json, &options).expect("memory takes everything");
    let json: Value = serde_json::from_slice(&json).expect("it is JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let named = |name: &str, phase: &str| {
        events.iter().find(|it| it["name"] == name && it["ph"] == phase).expect(name)
    };
    let number = |value: &Value| value.as_f64().expect("a number");
    // The earliest, `read`, is at 0: 4 500 ns before the kernel.
    let (copy, call) = (named("copy", "X"), named("kernel", "X"));
    assert_eq!((number(&copy["ts"]), number(&copy["dur"])), (1.5, 1.0));
    assert_eq!((number(&call["ts"]), &call["args"]["launch"]), (4.0, &Value::from(0)));
    let process = events.iter().find(|it| it["ph"] == "M" && it["args"]["name"] == "host");
    assert_eq!(process.expect("a process")["pid"], copy["pid"]);
    let ends = |phase: &str| -> Vec<&Value> {
        events.iter().filter(|it| it["ph"] == phase).map(|it| &it["id"]).collect()
    };
    let arrow = Value::from(trace.edges.len() + 1);
    for phase in ["s", "f"] {
        assert_eq!(ends(phase).iter().filter(|id| ***id == arrow).count(), 1, "{phase}");
    }
    let tail = events.iter().find(|it| it["ph"] == "s" && it["id"] == arrow).expect("a tail");
    let head = events.iter().find(|it| it["ph"] == "f" && it["id"] == arrow).expect("a head");
    let entries = trace.warps.iter().map(|warp| warp.entry.ns);
    let entry = (4_500.0 + entries.fold(f64::INFINITY, f64::min)).round() / 1_000.0;
    assert_eq!((number(&tail["ts"]), number(&head["ts"])), (4.0, entry));
}

#[test]
fn merged_traces_keep_their_hosts() {
    let early = capture();
    let mut late = capture();
    for pair in &mut late.host.clock {
        pair.device_ns -= 1_000;
    }
    let merged = Trace::merge([decode(&early), decode(&late)]);
    assert_eq!((merged.host.threads.len(), merged.host.spans().count()), (2, 8));
    let launches: Vec<HostSpanKind> =
        merged.host.spans().filter(|it| it.name == "kernel").map(|it| it.kind).collect();
    assert_eq!(launches.len(), 2);
    assert_ne!(launches[0], launches[1], "{launches:?}");
}
