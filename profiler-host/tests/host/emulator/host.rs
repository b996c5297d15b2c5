//! What sessions on the emulator record of the host.

use profiler_host::trace::HostSpanKind;
use profiler_host::{HostRecorder, Profiler, launch};

use super::{add_one, emulator, kernels};

#[test]
fn a_launch_that_is_refused_is_no_call() {
    let host = HostRecorder::new();
    let backend = emulator();
    let profiler = Profiler::builder().max_warps(8).host(&host).build().expect("options");
    let mut session = backend.session(&profiler).expect("a session");
    add_one(&mut session, 2, 1);
    // SAFETY: no thread of it runs.
    unsafe { launch!(session, kernels::add_one<<<4, 2048>>>(std::ptr::null_mut(), 1)) }
        .expect_err("no block is that large");
    add_one(&mut session, 2, 1);
    let trace = session.finish().expect("a trace");
    let calls: Vec<_> = trace.host.spans().map(|span| (span.name.as_str(), span.kind)).collect();
    let expected = [0, 1].map(|launch| ("add_one", HostSpanKind::Launch(Some(launch))));
    assert_eq!(calls, expected);
}

#[test]
fn a_view_of_a_session_has_what_the_host_does() {
    let host = HostRecorder::new();
    let backend = emulator();
    let profiler = Profiler::builder().max_warps(8).host(&host).build().expect("options");
    let mut session = backend.session(&profiler).expect("a session");
    host.in_span("before", || ());
    let watch = session.watch().expect("a view");
    let capture = watch.capture().expect("a capture");
    assert_eq!(capture.host.spans.len(), 1);
    // A file must have a reading of both clocks.
    let mut file = Vec::new();
    capture.write_to(&mut file).expect("memory takes everything");
    let read = profiler_host::Capture::read_from(file.as_slice()).expect("a whole file");
    assert_eq!(read.host, capture.host);
    add_one(&mut session, 2, 1);
    let seen = watch.snapshot().expect("a snapshot").host;
    let kinds: Vec<_> = seen.spans().map(|span| (span.name.as_str(), span.kind)).collect();
    let launch = HostSpanKind::Launch(Some(0));
    assert_eq!(kinds, [("before", HostSpanKind::Span), ("add_one", launch)]);
    assert_eq!(session.finish().expect("a trace").host, seen);
}
