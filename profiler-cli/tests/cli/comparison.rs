//! The output and the exit code of `diff`.

use crate::support;

use support::{Folder, diagnostic};

/// Runs the program beside `a.capture` and `b.capture`, which is slower.
#[track_caller]
fn compare(words: &str) -> support::Ran {
    let folder = Folder::new();
    folder.save("a.capture", &support::gemm(4));
    folder.save("b.capture", &support::gemm(5));
    folder.run(words)
}

#[test]
fn a_comparison_with_itself_finds_nothing() {
    let ran = compare("diff a.capture a.capture --fail-above 1% --format json");
    let json = ran.json();
    assert_eq!(ran.code, Some(0), "{json:#}");
    assert_eq!(json["threshold"]["outcome"], "pass");
    for row in json["rows"].as_array().expect("rows") {
        assert_ne!(row["verdict"], "slower", "{row:#}");
        assert_ne!(row["verdict"], "faster", "{row:#}");
    }
}

#[test]
fn a_comparison_fails_beyond_its_threshold_only() {
    let code = |words: &str| compare(words).code;
    assert_eq!(code("diff a.capture b.capture"), Some(0));
    assert_eq!(code("diff a.capture b.capture --fail-above 10%"), Some(1));
    assert_eq!(code("diff a.capture b.capture --fail-above 30%"), Some(0));
    assert_eq!(code("diff b.capture a.capture --fail-above 1%"), Some(0));
    assert_eq!(code("diff a.capture b.capture --fail-above 10% --name none"), Some(3));
    assert_eq!(code("diff a.capture"), Some(2));
    assert_eq!(code("diff a.capture none.capture"), Some(2));
    assert_eq!(code("diff a.capture b.capture --false-discovery-rate 0"), Some(2));
}

#[test]
fn a_comparison_with_a_kernel_that_hung_cannot_tell() {
    let folder = Folder::new();
    folder.save("a.capture", &support::gemm(4));
    let mut hung = support::gemm(4);
    hung.end = profiler_trace::CaptureEnd::Failed { code: 702 };
    folder.save("b.capture", &hung);
    let ran = folder.run("diff a.capture b.capture --fail-above 10%");
    assert_eq!(ran.code, Some(3), "{}", ran.text());
    let reason = "inconclusive: a kernel of side B failed or was still running";
    assert!(ran.text().contains(reason), "{}", ran.text());
    assert_eq!(
        folder.run("diff a.capture b.capture --fail-above 10% --allow-damage").code,
        Some(0)
    );
}

#[test]
fn a_side_may_be_several_captures() {
    let ran = compare(
        "diff --before a.capture a.capture --after b.capture b.capture b.capture --format json",
    )
    .done();
    let json = ran.json();
    assert_eq!((&json["a"]["captures"], &json["b"]["captures"]), (&2.into(), &3.into()));
    assert_eq!(compare("diff a.capture b.capture --before a.capture").code, Some(2));
    assert_eq!(compare("diff --before a.capture").code, Some(2));
}

#[test]
fn a_comparison_shows_what_was_odd_in_each_capture() {
    let folder = Folder::with_captures();
    let mut hung = support::gemm(2);
    hung.end = profiler_trace::CaptureEnd::Failed { code: 702 };
    folder.save("hung.capture", &hung);
    let words = "diff --before gemm.capture lossy.capture --after gemm.capture hung.capture";
    let ran = folder.run(words).done();
    for begin in [
        "warning[buffer-too-small]: side A, lossy.capture: 4 records did not fit",
        "warning[open-region]: side A, lossy.capture: 1 region has no end",
        "warning[kernel-failed]: side B, hung.capture: a kernel failed",
    ] {
        let is_said = ran.stderr.lines().any(|line| line.starts_with(begin));
        assert!(is_said, "{begin}\n{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("gemm.capture"), "{}", ran.stderr);
    let json = folder.run(&format!("{words} --format json"));
    assert_eq!(json.stderr, ran.stderr);
    let diagnostics = &json.json()["diagnostics"];
    let open = diagnostic(diagnostics, "open-region");
    assert_eq!((&open["side"], &open["capture"]), (&"a".into(), &"lossy.capture".into()));
    let failed = diagnostic(diagnostics, "kernel-failed");
    assert_eq!((&failed["side"], &failed["capture"]), (&"b".into(), &"hung.capture".into()));
    // As `check` knows them.
    let check = folder.run("check hung.capture --format json").json();
    let known = diagnostic(&check["captures"][0]["diagnostics"], "kernel-failed");
    assert_eq!(known["number"], failed["number"]);
    // Quiet leaves what says that numbers may be wrong.
    let quiet = folder.run(&format!("{words} --quiet"));
    assert!(quiet.stderr.lines().all(|line| line.starts_with("error[")), "{}", quiet.stderr);
    let sound = folder.run("diff gemm.capture gemm.capture --format json");
    assert_eq!((sound.stderr.as_str(), &sound.json()["diagnostics"]), ("", &serde_json::json!([])));
}
