//! What is said of what went wrong, and of what recording costs: each kind by itself.

use crate::support::{json, said, written};

use std::collections::BTreeSet;

use expect_test::expect;
use profiler_trace::{
    CaptureError, DiagnosticKind, Export, ExportOptions, FormCosts, RecordCost, StampCost,
    StampWait, StampWaits, Trace,
};

#[test]
fn every_diagnostic_has_a_sentence_of_its_own() {
    let mut sentences = BTreeSet::new();
    let mut names = BTreeSet::new();
    for &kind in DiagnosticKind::ALL {
        let sentence = said(kind, 4711, 7).to_string();
        // Of what is of one version or frequency there is no count, nor of the moment at which records
        // were read.
        let is_counted = sentence.contains("4711") || kind == DiagnosticKind::KernelRunning;
        let is_numbered = sentence.contains('7');
        assert!(is_counted || is_numbered, "{kind:?}: {sentence}");
        assert!(sentence.len() > 20 && !sentence.contains("  "), "{kind:?}: {sentence}");
        assert!(kind.name().bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase()));
        assert!(sentences.insert(sentence) && names.insert(kind.name()), "{kind:?}");
    }
}

#[test]
fn a_failed_kernel_says_what_the_driver_called_it() {
    let said = |number| said(DiagnosticKind::KernelFailed, 1, number).to_string();
    // As cuda.h has them.
    for (number, name) in [
        (700, "ILLEGAL_ADDRESS"),
        (702, "LAUNCH_TIMEOUT"),
        (710, "ASSERT"),
        (714, "HARDWARE_STACK_ERROR"),
        (715, "ILLEGAL_INSTRUCTION"),
        (716, "MISALIGNED_ADDRESS"),
        (717, "INVALID_ADDRESS_SPACE"),
        (718, "INVALID_PC"),
        (719, "LAUNCH_FAILED"),
    ] {
        let text = said(number);
        assert!(text.contains(&format!("(CUDA error {number}, CUDA_ERROR_{name})")), "{text}");
    }
    assert!(said(701).contains("(CUDA error 701)."), "{}", said(701));
    assert!(said(0).contains("(the error of its launch has the cause)"), "{}", said(0));
}

#[test]
fn a_capture_that_cannot_be_read_says_why_and_what_to_do() {
    let of_file =
        |path: &str, error| CaptureError::OfFile { path: path.into(), error: Box::new(error) };
    let errors = [
        of_file("", CaptureError::Io(std::io::ErrorKind::NotFound.into())),
        of_file("a.capture", CaptureError::NotACapture),
        CaptureError::Io(std::io::Error::other("no disk")),
        CaptureError::Empty,
        CaptureError::FormatVersion { found: 9 },
        CaptureError::WireVersion { found: 9 },
        CaptureError::Truncated { bytes: 4711 },
        CaptureError::Damaged { at: 56, error: "another block belongs there" },
        CaptureError::Metadata { error: "no modules".to_owned() },
    ];
    let has_source = |error: &CaptureError| std::error::Error::source(error).is_some();
    // The first, of a file, has that of its error.
    let of_io = |error: &CaptureError| matches!(error, CaptureError::Io(_));
    assert!(errors[1..].iter().all(|error| has_source(error) == of_io(error)));
    let said = errors.map(|error| format!("{error}\n")).concat();
    expect![[r#"
        the path of the capture is empty; name a file
        a.capture: this is no capture; give a file that `profiler record` or a session wrote, such as profile.capture (a .pftrace or .json is made from a capture, and cannot be read back; what gzip packed, gunzip unpacks; `profiler sites` reads PTX)
        the capture cannot be read: no disk
        the file is empty: the program that writes or copies the capture has not begun, or failed; check whether the disk is full, then copy the file again, or record it again
        the capture has format version 9, this library reads version 1; read it with the version of the profiler that wrote it, or a later one
        the capture's records have wire version 9, this library reads version 1; read it with the version of the profiler that wrote it, or record it again
        the capture is truncated: the file ends after 4711 bytes, without an end mark; copy the file again, or record it again, on a disk with room for it
        the capture is damaged at byte 56 of the file: another block belongs there; copy the file again, or record it again
        the capture's metadata cannot be understood: no modules; read it with the version of the profiler that wrote it
    "#]].assert_eq(&said);
}

/// Costs in which every figure differs.
fn costs() -> FormCosts {
    let stamp = |before_ticks, after_ticks| StampCost { before_ticks, after_ticks };
    let wait = |mean_ticks| StampWait { mean_ticks, most_ticks: 2.0 * mean_ticks };
    FormCosts {
        region_begin: stamp(1.0, 2.0),
        region_end: stamp(4.0, 8.0),
        mark: stamp(256.0, 512.0),
        value: stamp(1024.0, 2048.0),
        anchor: stamp(4096.0, 8192.0),
        waits: StampWaits {
            nested: wait(0.125),
            begin: wait(0.25),
            end: wait(0.75),
            record: wait(0.375),
        },
    }
}

#[test]
fn regions_back_to_back_wait_for_each_others_records() {
    let costs = costs();
    // Inside: after the begin's stamp, before the end's.
    assert_eq!((costs.inside_ticks(), costs.total_ticks()), (6.0, 15.0));
    assert_eq!((costs.adjacent_inside_ticks(), costs.adjacent_total_ticks()), (6.5, 15.75));
    // An end that waits less than the begin waits for nothing.
    let mut waits = costs;
    waits.waits.begin.mean_ticks = 5.0;
    assert_eq!(waits.adjacent_inside_ticks(), 6.0);
}

#[test]
fn timelines_say_what_recording_costs() {
    let trace = Trace {
        record_cost: Some(RecordCost { one_lane: costs(), ..RecordCost::uniform(0.5, 0.75) }),
        ..Trace::default()
    };
    let json = json(|bytes| trace.write_chrome_to(bytes, &ExportOptions::default()));
    let data = &json["otherData"];
    assert_eq!(data["record_cost_inside_ticks"], 6.0);
    assert_eq!(data["record_cost_total_ticks"], 15.0);
    let one_lane = &data["record_cost"]["one_lane"];
    assert_eq!(one_lane["region_end"]["after_ticks"], 8.0);
    assert_eq!(one_lane["waits"]["record"]["most_ticks"], 0.75);
    assert_eq!(data["record_cost"]["elected"]["region_begin"]["after_ticks"], 0.5);

    let perfetto = written(|bytes| trace.write_perfetto_to(bytes, &ExportOptions::default()));
    let text = String::from_utf8_lossy(&perfetto);
    let part = "a region takes 15 ticks, 6 of them in its own time (15.75 and 6.5 back to back); not \
                subtracted";
    assert!(text.contains(part), "{text}");
}
