//! The output and the exit code of each command.

use crate::support;

use expect_test::expect;
use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{KernelResources, ResourceEffect};
use profiler_wire::SiteKind;
use profiler_wire::site::SiteEntry;
use support::{Folder, check, diagnostic};

#[test]
fn info_shows_every_site_if_asked() {
    check(
        "info gemm.capture --all --subtract-cost",
        expect![[r#"
            file      gemm.capture, (its size)
            device    synthetic, 132 SMs
            clock     SM clock 2000 MHz, resolution 0.5 ns, SMs aligned within 20 ns where their clocks were read
            cost      subtracted from all times
            cost      one lane: a region takes 24 ticks, 10 of them in its own time; a mark 24
            cost      elected lane: a region takes 24 ticks, 10 of them in its own time; a mark 24
            records   224 (208 regions, 16 marks), none lost; 16 warps, 0 edges
            module    0: wire version 1, 1 kernel, 5 other sites, 16 slots, 18.43 kB
            kernel    gemm (src/kernel.rs:1:5)
                      tile (src/kernel.rs:2:5)
                      load (src/kernel.rs:3:5, in bytes)
                      mma (src/kernel.rs:4:5)
                      epilogue (src/kernel.rs:5:5)
                      half (src/kernel.rs:6:5)
            launch    0: gemm, grid 4, block 64, at 10 ns, 10.7 µs, 8 warps, 112 records
            launch    1: gemm, grid 4, block 64, at 20.01 µs, 10.7 µs, 8 warps, 112 records
            warning[cost-exceeds-duration]: 144 times were closer to the time before than recording costs, and moved onto it. Measure regions this short in a loop.
            --- exit code 0
        "#]],
    );
}

#[test]
fn a_diagnostic_has_the_same_members_wherever_it_is_json() {
    let folder = Folder::with_captures();
    let check = folder.run("check lossy.capture --format json").json();
    let info = folder.run("info lossy.capture --format json").json();
    let stats = folder.run("stats lossy.capture --format json").json();
    let diff = folder.run("diff gemm.capture lossy.capture --format json").json();
    let buffer = "buffer-too-small";
    let of_info = diagnostic(&info["diagnostics"], buffer).as_object().expect("an object");
    assert_eq!(of_info["severity"], "warning");
    assert_eq!((&of_info["count"], &of_info["number"]), (&4.into(), &10.into()));
    let first = serde_json::json!({ "module": 0, "slot": 0, "lane": 0, "unit": null });
    assert_eq!(of_info["first"], first);
    assert!(of_info["text"].as_str().is_some_and(|text| text.starts_with("4 records did not fit")));
    let others = [&check["captures"][0], &stats, &diff];
    for other in others {
        let other = diagnostic(&other["diagnostics"], buffer);
        assert!(of_info.iter().all(|(name, value)| other[name] == *value), "{other:#}");
    }
}

#[test]
fn info_is_json_if_asked() {
    let info = Folder::with_captures().run("info gemm.capture --format json").json();
    assert_eq!(info["schema"], 1);
    assert_eq!(info["recorded"], 224);
    assert_eq!(info["lost"], 0);
    assert_eq!(info["is_sound"], true);
    assert_eq!(info["launches"][1]["grid"], serde_json::json!([4, 1, 1]));
    assert_eq!(info["modules"][0]["sites"][2]["unit"], "bytes");
    assert_eq!(info["modules"][0]["sites"][5]["kind"], "mark");
    for election in ["one_lane", "elected"] {
        assert_eq!(
            info["record_cost"][election]["region_begin"]["after_ticks"], 10.0,
            "{election}"
        );
    }
}

#[test]
fn balance_is_shown_by_launch() {
    check(
        "stats gemm.capture --show balance --launch 1",
        expect![[r#"
            synthetic, 132 SMs
            gemm, launch 1: 10.7 µs
            ──────────────────────────────────────────────────────────────────────────────────────────
             time of                 count       mean      least       most   most / mean   imbalance
            ══════════════════════════════════════════════════════════════════════════════════════════
             warps, in the kernel        8   4.655 µs    4.62 µs     4.7 µs          1.01     1.094 %
             blocks, in the kernel       4    4.68 µs    4.66 µs     4.7 µs         1.004     0.567 %
             SMs, busy                   2    9.36 µs    9.36 µs    9.36 µs             1         0 %
             SMs, done after             2   10.68 µs   10.66 µs    10.7 µs         1.002     0.374 %
             tile, by warp               8   3.355 µs    3.32 µs     3.4 µs         1.013     1.513 %
             tile, by SM                 2   13.42 µs    13.4 µs   13.44 µs         1.001     0.298 %
             load, by warp               8     955 ns     920 ns       1 µs         1.047     5.143 %
             load, by SM                 2    3.82 µs     3.8 µs    3.84 µs         1.005     1.042 %
             mma, by warp                8    2.32 µs    2.32 µs    2.32 µs             1         0 %
             mma, by SM                  2    9.28 µs    9.28 µs    9.28 µs             1         0 %
             epilogue, by warp           8     900 ns     900 ns     900 ns             1         0 %
             epilogue, by SM             2     3.6 µs     3.6 µs     3.6 µs             1         0 %
            ──────────────────────────────────────────────────────────────────────────────────────────
            done last: block 2 on SM 0 after 10.7 µs; block 3 on SM 1 after 10.66 µs; block 1 on SM 1 after 4.7 µs; block 0 on SM 0 after 4.66 µs
            --- exit code 0
        "#]],
    );
}

#[test]
fn what_would_do_nothing_is_refused() {
    let folder = Folder::with_captures();
    for (words, said) in [
        ("stats gemm.capture --show balance --by sm", "leave --by out"),
        ("stats gemm.capture --show waits --format csv", "write the others with --format json"),
        ("export gemm.capture --to csv", "events-csv"),
        ("export gemm.capture --to folded --no-counters", "leave --no-counters out"),
        ("export gemm.capture --to chrome --group-by warp", "--group-by block"),
    ] {
        folder.run(words).refused(said);
    }
}

#[test]
fn a_window_is_counted_from_the_begin_of_the_launch() {
    check(
        "stats gemm.capture --launch 1 --window 0ns..500ns --name l*",
        expect![[r#"
            synthetic, 132 SMs
            112 records, none lost
            SHOWS 8 of 16 warps: records, losses and open regions are counted of those
            clock: resolution 0.5 ns, SMs aligned within 20 ns where their clocks were read, SM clock 2000 MHz
            cost of a record: a region takes 24 ticks, 10 of them in its own time (24 and 10 back to back); not subtracted
            the figures below are only of: names l*; what begins from 20010 ns to before 20510 ns on the trace's axis
            ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
             region         count    total     mean    std dev      p50      p95      p99      max   per warp   share   throughput
            ═══════════════════════════════════════════════════════════════════════════════════════════════════════════════════════
             gemm
               load             4   960 ns   240 ns   32.66 ns   240 ns   280 ns   280 ns   280 ns     240 ns    48 %   17.07 GB/s
                in cycles             1920      480      65.32      480      560      560      560        480
            ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
            --- exit code 0
        "#]],
    );
}

#[test]
fn a_check_fails_by_class_or_by_name() {
    let folder = Folder::with_captures();
    for (words, code) in [
        ("lossy.capture", 0),
        ("lossy.capture --deny warnings", 1),
        ("lossy.capture --deny notes", 1),
        ("lossy.capture --deny losses", 1),
        ("lossy.capture --deny open-region", 1),
        ("lossy.capture --deny orphaned-value", 0),
        ("lossy.capture --deny open-region --allow open-region", 0),
        ("gemm.capture --deny warnings,losses,notes", 0),
        ("gemm.capture lossy.capture --deny losses", 1),
        ("gemm.capture none.capture", 2),
        ("gemm.capture --deny bad-luck", 2),
    ] {
        assert_eq!(folder.run(&format!("check {words}")).code, Some(code), "{words}");
    }
}

#[test]
fn a_check_is_json_if_asked() {
    let ran = Folder::with_captures().run("check lossy.capture --deny losses --format json");
    let check = ran.json();
    assert_eq!(ran.code, Some(1));
    assert_eq!(check["denied"], true);
    let diagnostics = check["captures"][0]["diagnostics"].as_array().expect("a list");
    let kinds: Vec<(&str, bool)> = diagnostics
        .iter()
        .map(|it| (it["kind"].as_str().unwrap_or(""), it["denied"] == true))
        .collect();
    assert!(kinds.contains(&("buffer-too-small", true)), "{kinds:?}");
    assert!(kinds.contains(&("warp-never-left", false)), "{kinds:?}");
}

#[cfg(feature = "parquet")]
#[test]
fn the_name_of_the_output_must_say_a_format() {
    check(
        "export gemm.capture -o gemm.txt",
        expect![[r#"
            --- stderr
            error: the ending of gemm.txt names no format
              help: give --to FORMAT, or one of the endings .pftrace, .perfetto-trace, .json, .hatchet, .folded, .csv, .jsonl, .parquet, .arrow, .feather, .svg
            --- exit code 2
        "#]],
    );
    check(
        "export gemm.capture -o -",
        expect![[r#"
            --- stderr
            error: neither a format nor an output file was given
              help: name the file to write, such as -o gemm.pftrace or -o gemm.json, whose ending names the format; or give --to FORMAT to write to standard output
            --- exit code 2
        "#]],
    );
}

#[test]
fn a_report_is_one_page() {
    let folder = Folder::with_captures();
    folder.run("report gemm.capture -o gemm.html --title tour --window 10%..20%").done();
    let page = String::from_utf8(folder.bytes("gemm.html")).expect("text");
    assert!(page.contains("<title>tour") && page.contains("epilogue"));
    let piped = folder.run("report gemm.capture -o - --title tour --window 10%..20%");
    assert!(piped.text() == page);
    assert_eq!(folder.run("report gemm.capture").code, Some(2));
}

#[test]
fn help_has_examples_and_exit_codes() {
    let folder = Folder::new();
    let bare = folder.run("");
    assert_eq!(bare.code, Some(2));
    assert!(
        bare.stderr.contains("timeline") && bare.stderr.contains("Examples:"),
        "{}",
        bare.stderr
    );
    assert!(folder.run("--help").text().contains("NO_COLOR"));
    for command in ["", "check", "diff"] {
        let help = folder.run(&format!("{command} --help")).text();
        assert!(help.contains("Exit codes:\n  0 ") && help.contains("\n  128+N "), "{help}");
    }
}

#[test]
fn a_window_outside_is_refused_in_the_units_that_it_was_given_in() {
    let folder = Folder::with_captures();
    for (command, whole) in [
        ("stats gemm.capture --launch 1", "the launch of 10.7 µs"),
        ("stats gemm.capture", "all launches of 30.7 µs"),
        ("timeline gemm.capture", "the launch of 10.7 µs"),
        ("report gemm.capture -o page.html", "all launches of 30.7 µs"),
    ] {
        let said = format!("the window begins at 10 s, when {whole} was over\n  help: ");
        folder.run(&format!("{command} --window 10s..")).refused(&said);
    }
    assert!(!folder.path("page.html").exists());
}

#[test]
fn how_much_a_file_is_compressed_is_said() {
    let folder = Folder::with_captures();
    assert!(folder.run("info gemm.capture").text().contains(" times as much)"));
    // Names of sites take more room than the few records.
    let text = folder.run("info lossy.capture").text();
    assert!(text.contains(" uncompressed\n") && text.contains("14 LOST"), "{text}");
}

#[test]
fn info_keeps_the_profilers_own_sites_apart_and_says_what_kernels_take() {
    let mut module = SyntheticModule::new(Keep::First, 8);
    let kernel = module.site(SiteKind::Kernel, "gemm");
    module.site(SiteKind::Region, "load");
    let file = "calibration.rs";
    let own = |kind, name| SiteEntry::new(kind, name, file, "profiler_device::calibration", 1, 1);
    let mut calibration = own(SiteKind::Kernel, "profiler calibration");
    calibration.strategy = profiler_wire::Strategy::Warp.code();
    calibration.symbol = profiler_wire::symbol::CALIBRATION;
    module.site_entry(&calibration, &[]);
    module.site_entry(&own(SiteKind::Region, "one-lane apart"), &[]);
    let mut warp = SyntheticWarp::new(kernel, 0, 1_000_000);
    warp.leave(2000, 1_001_000);
    module.warps.push(warp);
    let mut capture = module.into_capture().expect("the sites are in order");
    let resources = |registers, blocks_per_sm| KernelResources {
        registers,
        blocks_per_sm,
        ..KernelResources::default()
    };
    capture.resources = vec![ResourceEffect {
        kernel: "gemm".to_owned(),
        block: [256, 1, 1],
        dynamic_shared_bytes: 0,
        without: resources(38, 6),
        with: resources(48, 5),
    }];
    let folder = Folder::new();
    folder.save("own.capture", &capture);
    let text = folder.run("info own.capture").text();
    assert!(text.contains(": wire version 1, 1 kernel, 1 other site, "), "{text}");
    for line in [
        "resources `gemm`, block 256: 48 registers and 5 blocks an SM with annotations, 38 and 6 without\n",
        "warning[occupancy-drop]: fewer blocks of 1 kernel fit an SM with annotations",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(!text.contains("calibration"), "{text}");
    let all = folder.run("info own.capture --all").text();
    assert!(all.contains("          and 2 sites of the profiler's own, to measure a"), "{all}");
    let json = folder.run("info own.capture --format json").json();
    assert_eq!(json["modules"][0]["sites"].as_array().map(Vec::len), Some(4));
    assert_eq!(json["resources"][0]["with"]["blocks_per_sm"], 5);
    assert_eq!(json["diagnostics"][0]["kind"], "occupancy-drop");
    let check = folder.run("check own.capture --deny occupancy-drop");
    assert_eq!(check.code, Some(1));
    let text = check.text();
    assert!(text.contains("warning[occupancy-drop, denied]: fewer blocks of 1 kernel"), "{text}");
}
