//! What `diff` prints, and how it ends.

use crate::support;

use expect_test::expect;
use profiler_trace::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_wire::SiteKind;
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
fn a_comparison_is_a_table() {
    let ran = compare("diff a.capture b.capture --by path");
    expect![[r#"
        side A: 1 capture, 2 launches, 224 records, synthetic
        side B: 1 capture, 2 launches, 224 records, synthetic
        where blocks are compared (of 2 and 2 launches), a change is one between these launches, and what differs from launch to launch by itself is not in the numbers; give each side 6 captures or more, taken in turns (or launches in one capture, which tell less)
        ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
         region           a launch, A    B    mean, A          B        mean        95 % interval         p50         p95         p99   verdict
        ══════════════════════════════════════════════════════════════════════════════════════════════════════════════════════════════════════════════════════
         gemm, launches             1    1    21.4 µs   26.75 µs     +25.0 %                    -     +25.0 %     +25.0 %     +25.0 %   too few units
         gemm, warps                8    8   18620 cy   23275 cy   +25.0 % *   +24.5 % to +25.5 %   +25.0 % *     +25.0 %     +25.0 %   slower (8 + 8 blocks)
         ╰─ tile                   32   32    3355 cy    4194 cy   +25.0 % *   +24.2 % to +25.7 %   +25.0 % *   +25.0 % *   +25.0 % *   slower (8 + 8 blocks)
         ╰─ tile › load            32   32     955 cy    1194 cy   +25.0 % *   +22.5 % to +27.5 %   +25.0 % *   +25.0 % *   +25.0 % *   slower (8 + 8 blocks)
         ╰─ tile › mma             32   32    2320 cy    2900 cy   +25.0 % *   +25.0 % to +25.0 %   +25.0 % *   +25.0 % *   +25.0 % *   slower (8 + 8 blocks)
         ╰─ epilogue                8    8    3600 cy    4500 cy   +25.0 % *   +25.0 % to +25.0 %   +25.0 % *   +25.0 % *   +25.0 % *   slower (8 + 8 blocks)
        ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
        5 of 5 rows changed (*): by 1 % or more, false discovery rate 5 %
        --- exit code 0
    "#]].assert_eq(&ran.transcript());
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
    assert_eq!(code("diff a.capture b.capture --quantiles"), Some(2));
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
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let json = ran.json();
    assert_eq!((&json["a"]["captures"], &json["b"]["captures"]), (&2.into(), &3.into()));
    assert_eq!(compare("diff a.capture b.capture --before a.capture").code, Some(2));
    assert_eq!(compare("diff --before a.capture").code, Some(2));
}

#[test]
fn a_comparison_shows_what_was_odd_in_each_capture() {
    let folder = Folder::with_captures();
    let whole = folder.bytes("gemm.capture");
    folder.write("cut.capture", &whole[..whole.len() * 9 / 10]);
    let words = "diff --before gemm.capture lossy.capture --after gemm.capture cut.capture";
    let ran = folder.run(words);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for begin in [
        "warning[room-too-small]: side A, lossy.capture: 4 records did not fit",
        "warning[open-region]: side A, lossy.capture: 1 region has no end",
        "warning[damaged-capture]: side B, cut.capture: the capture's file is damaged or truncated",
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
    let damaged = diagnostic(diagnostics, "damaged-capture");
    assert_eq!((&damaged["side"], &damaged["capture"]), (&"b".into(), &"cut.capture".into()));
    // As `check` knows them.
    let check = folder.run("check cut.capture --format json").json();
    let known = diagnostic(&check["captures"][0]["diagnostics"], "damaged-capture");
    assert_eq!(known["count"], damaged["count"]);
    // Quiet leaves what says that numbers may be wrong.
    let quiet = folder.run(&format!("{words} --quiet"));
    assert!(quiet.stderr.lines().all(|line| line.starts_with("error[")), "{}", quiet.stderr);
    let sound = folder.run("diff gemm.capture gemm.capture --format json");
    assert_eq!((sound.stderr.as_str(), &sound.json()["diagnostics"]), ("", &serde_json::json!([])));
}

/// Launches of a warp of which each lasts longer than the one before.
fn warming(launches: u64) -> profiler_trace::Capture {
    let mut module = SyntheticModule::new(Keep::First, 8);
    let kernel = module.site(SiteKind::Kernel, "gemm");
    let region = module.site(SiteKind::Region, "load");
    for launch in 0..launches {
        let begin = 1000 + launch * 100_000;
        let mut warp = SyntheticWarp::new(kernel, begin, 5_000_000 + begin / 2);
        warp.header.grid_id = launch + 1;
        let end = begin + 10_000 + 100 * launch;
        warp.range(region, None, begin + 100, end);
        warp.leave(end + 100, 5_000_000 + (end + 100) / 2);
        module.warps.push(warp);
    }
    module.into_capture().expect("the sites are in order")
}

#[test]
fn a_comparison_says_where_too_few_units_look_alike() {
    let folder = Folder::new();
    folder.save("few.capture", &warming(8));
    let few = folder.run("diff few.capture few.capture").text();
    let note = "`alike?` in 3 rows: units that follow each other in time look alike";
    assert!(few.lines().any(|line| line.starts_with(note)), "{few}");
    assert!(few.contains("no change (8 + 8 launches, alike?)"), "{few}");
    let json = folder.run("diff few.capture few.capture --format json").json();
    assert_eq!(json["rows"][2]["neighbours_alike"], true);
    let notes = json["notes"].as_array().expect("notes");
    assert!(notes.iter().filter_map(|it| it.as_str()).any(|it| it.starts_with(note)), "{notes:?}");
}
