//! What is left where a replay of a CUDA graph fails, in a session of several modules: the replays
//! before it, the other module with `buffer = host`, of the one without its sites alone, and what the
//! host did. It takes the process's context with it; see `failed.rs`.

use crate::support::flag;
use crate::support::graph;
use crate::support::modules;

use std::collections::BTreeSet;

use flag::Flag;
use graph::Graph;
use modules::State::Left;
use modules::{Gpu, WARPS, builder, launches};
use profiler_emulator::{Emulator, LaunchConfig};
use profiler_host::trace::{CaptureEnd, DiagnosticKind as Kind, HostSpanKind, decode};
use profiler_host::{Backend, BackendChoice, Capture, Error, HostRecorder, launch};

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_gpu_keeps_what_a_graph_recorded_before_a_replay_failed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("failed.capture");
    let gpu = Gpu::new();
    let ([first, second], stream) = (&gpu.watched, &gpu.stream);
    let flag = Flag::new(BackendChoice::Gpu);
    let host = HostRecorder::new();
    let options = builder().records_per_warp(32).max_warps(6 * WARPS).host(&host);
    let mut session = gpu.attach(options);
    session.export_on_drop(&path).expect("a format");
    let watch = session.watch().expect("the kernels can be watched");
    let graph = Graph::of(stream, || {
        gpu.steps(first, stream);
        gpu.gives_up(first, stream, &flag);
    });
    gpu.by_warp(stream);
    gpu.steps(second, stream);
    flag.raise();
    for _ in 0..2 {
        graph.launch(stream);
    }
    stream.synchronize().expect("two replays end");
    flag.lower();
    graph.launch(stream);
    host.in_span("wait", || stream.synchronize()).expect_err("the third one fails");

    // Whatever the session is asked for next, it says so, and has the records.
    let error = session.reset().expect_err("the kernel failed");
    assert!(error.salvaged().is_some(), "{error}");
    let error = session.finish().expect_err("the kernel failed");
    let Error::KernelFailed { code, .. } = &error else { panic!("{error}") };
    let said = error.to_string();
    assert!(said.contains("Error::salvaged has them (of 1 module, "), "{said}");
    let capture = error.salvaged().expect("records in the memory of the host");
    assert_eq!(capture.end, CaptureEnd::Failed { code: *code });
    // The first module's records were in device memory.
    let there: Vec<bool> = capture.modules.iter().map(|it| !it.headers.is_empty()).collect();
    assert_eq!(there, [false, true, true]);
    assert!(capture.modules.iter().all(|module| !module.sites.is_empty()));
    let trace = decode(capture);
    let spans: Vec<&str> = trace.host.spans().map(|span| span.name.as_str()).collect();
    assert_eq!(spans, ["wait"]);
    assert_eq!(trace.diagnostics.count(Kind::RecordsGone), 1, "{}", trace.diagnostics);
    let mut found = launches(&trace);
    // How far the other warps came when the first gave up is not known.
    found.retain(|launch| launch.2 == Left || launch.1 != 2);
    assert_eq!(trace.launches.len() - found.len(), 1, "{}", trace.diagnostics);
    let open: BTreeSet<&str> = (trace.warps.iter().flat_map(|warp| &warp.regions))
        .filter(|region| region.end.is_none())
        .map(|region| trace.site(region.site).name.as_str())
        .collect();
    assert_eq!(open, BTreeSet::from(["wait with a limit"]), "{}", trace.diagnostics);
    // Those of the graph, and that of the other module.
    let steps = [0, 0, 1, 2].map(|replay| ("steps", replay, Left));
    let ended = [("gives_up", 0, Left), ("gives_up", 1, Left)];
    assert_eq!(found, [&ended[..], &steps].concat(), "{}", trace.diagnostics);
    assert_eq!(trace.diagnostics.count(Kind::KernelFailed), 1, "{}", trace.diagnostics);
    // The export, and whoever watched, show the same.
    let exported = Capture::read(&path).expect("the capture was written");
    assert_eq!(decode(&exported).warps, trace.warps);
    assert_eq!(decode(&exported).host, trace.host);
    let seen = watch.snapshot().expect("a snapshot");
    assert_eq!((seen.warps, seen.host), (trace.warps, trace.host));
}

/// On the emulator a session has the kernels of all crates, and goes on after a failure.
#[test]
fn the_emulator_keeps_the_launches_before_one_that_fails() {
    let mut template = LaunchConfig::new([1; 3], [1; 3]);
    template.yield_limit = u64::MAX;
    let backend = Backend::emulator(Emulator::default(), template);
    let mut output = backend.zeroed::<u32>((32 * WARPS) as usize).expect("memory");
    let flag = Flag::new(BackendChoice::Emulator);
    flag.raise();
    let host = HostRecorder::new();
    let profiler = builder().max_warps(4 * WARPS).host(&host).build().expect("the options");
    let mut session = backend.session(&profiler).expect("a session");
    let pointer = output.as_mut_ptr();
    let (blocks, threads) = (modules::BLOCKS, modules::THREADS);
    // SAFETY: one number a thread.
    unsafe { launch!(session, test_kernels::strategies::by_warp<<<blocks, threads>>>(pointer, 3)) }
        .expect("the launch");
    // SAFETY: one number a thread.
    unsafe { launch!(session, test_kernels::watched::steps<<<blocks, threads>>>(pointer, 3)) }
        .expect("the launch");
    for is_raised in [true, false] {
        if !is_raised {
            flag.lower();
        }
        // SAFETY: the flag lives until the launch has ended.
        let launched = unsafe {
            launch!(
                session,
                test_kernels::watched::gives_up<<<blocks, threads>>>(flag.as_ptr(), 100_000)
            )
        };
        assert_eq!(launched.is_ok(), is_raised, "{launched:?}");
    }
    let trace = session.finish().expect("a trace");
    let mut found = launches(&trace);
    assert_eq!(found.len(), 4, "{found:?}");
    found.retain(|launch| launch.2 == Left);
    let expected = [("by_warp", 0, Left), ("gives_up", 0, Left), ("steps", 0, Left)];
    assert_eq!(found, expected, "{}", trace.diagnostics);
    let open = trace.warps.iter().flat_map(|warp| &warp.regions);
    assert!(open.filter(|region| region.end.is_none()).count() > 0, "{}", trace.diagnostics);
    assert_eq!(trace.diagnostics.count(Kind::KernelFailed), 1, "{}", trace.diagnostics);
    // What failed had been launched.
    let calls: Vec<_> = trace.host.spans().map(|span| span.kind).collect();
    assert_eq!(calls, [0, 1, 2, 3].map(|launch| HostSpanKind::Launch(Some(launch))));
}
