//! Runs a launch that fails, and takes what it leaves.

use profiler_host::trace::{CaptureEnd, DiagnosticKind as Kind, decode};
use profiler_host::{Backend, BackendChoice, Capture, Error, Profiler, Session, Trace};

const PTX: Option<&str> = profiler_host::include_ptx!("watched");

/// Launches in a session, with a number that stays 0, and checks that the failure is told where it belongs.
pub(crate) fn run(
    choice: BackendChoice,
    launch: impl FnOnce(&mut Session<'_>, *const u32) -> Result<(), Error>,
) -> Trace {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("failed.capture");
    let backend = Backend::choose(choice, PTX).expect("the back end");
    let never = backend.zeroed::<u32>(1).expect("memory");
    let profiler = Profiler::builder().max_warps(64).build().expect("the options");
    let mut session = backend.session(&profiler).expect("a session");
    let watch = session.watch().expect("the kernels can be watched");
    session.export_on_drop(&path).expect("a format");
    let launched = launch(&mut session, never.as_ptr());
    let trace = match choice {
        BackendChoice::Gpu => {
            launched.expect("a launch does not wait");
            let error = session.finish().expect_err("the kernel failed");
            let Error::KernelFailed { code, .. } = &error else { panic!("{error}") };
            assert_ne!(*code, 0);
            assert!(error.to_string().contains("Error::salvaged"), "{error}");
            let capture = error.salvaged().expect("records in the memory of the host");
            assert_eq!(capture.end, CaptureEnd::Failed { code: *code });
            decode(capture)
        }
        _ => {
            let error = launched.expect_err("the kernel failed");
            assert!(matches!(error, Error::Emulator(_)), "{error}");
            session.finish().expect("a trace")
        }
    };
    assert_eq!(trace.diagnostics.count(Kind::KernelFailed), 1, "{}", trace.diagnostics);
    assert!(trace.diagnostics.count(Kind::OpenRegion) > 0, "{}", trace.diagnostics);
    // The export, and whoever watched, show the same.
    let capture = Capture::read(&path).expect("the capture was written");
    assert_eq!(decode(&capture).warps, trace.warps);
    assert_eq!(watch.snapshot().expect("a snapshot").warps, trace.warps);
    trace
}
