//! What each command prints, and how it ends.

use crate::support;

use expect_test::expect;
use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{FormCosts, HostCost, KernelResources, RecordCost, ResourceEffect};
use profiler_wire::SiteKind;
use profiler_wire::site::SiteEntry;
use support::{Folder, check, diagnostic};

#[test]
fn info_shows_what_a_capture_holds() {
    check(
        "info gemm.capture",
        expect![[r#"
            file      gemm.capture, (its size)
            device    synthetic, 132 SMs
            clock     SM clock 2000 MHz, resolution 0.5 ns, SMs aligned within 20 ns where their clocks were read
            cost      not subtracted
            cost      one lane: a region takes 24 ticks, 10 of them in its own time; a mark 24
            cost      elected lane: a region takes 24 ticks, 10 of them in its own time; a mark 24
            records   224 (208 regions, 16 marks), none lost; 16 warps, 0 edges
            module    0: wire version 1, 1 kernel, 5 other sites, 16 slots, 18.43 kB
            kernel    gemm (src/kernel.rs:1:5)
            launch    0: gemm, grid 4, block 64, at 10 ns, 10.7 µs, 8 warps, 112 records
            launch    1: gemm, grid 4, block 64, at 20.01 µs, 10.7 µs, 8 warps, 112 records
            --- exit code 0
        "#]],
    );
}

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
fn info_of_a_capture_with_losses_says_so() {
    check(
        "info lossy.capture",
        expect![[r#"
            file      lossy.capture, (its size)
            device    synthetic, 132 SMs
            clock     SM clock 2000 MHz, resolution 0.5 ns, SMs aligned within 1 ns where their clocks were read
            cost      not measured: times hold what recording cost
            records   17 (17 regions, 0 marks), 14 LOST; 3 warps, 0 edges
            module    0: wire version 1, 1 kernel, 1 other site, 3 slots, 768 B
            kernel    lossy (src/kernel.rs:1:5)
            launch    0: lossy, grid 1, block 128, at 0.5 ns, 149.5 µs, 3 warps, 17 records, 4 LOST
            warning[no-slot]: 1 warp found no slot (first: module 0). Build the profiler with .max_warps(4) or more, or select fewer blocks or warps.
            warning[records-without-buffer]: 10 records were lost because a warp had no slot or a lane had no buffer (first: module 0). Build the profiler with more slots (.max_warps).
            warning[buffer-too-small]: 4 records did not fit the buffer of their warps (first: module 0, slot 0, lane 0). Build the profiler with .records_per_warp(10) or more.
            warning[warp-never-left]: 1 warp entered the kernel and never left it; its losses are not known (first: module 0, slot 1). The kernel hung, trapped or was still running: synchronize before reading, or look at the open regions.
            warning[open-region]: 1 region has no end (first: module 0, slot 1, lane 0). End every region_start! on every path. If records were lost, build the profiler with more records per warp. If warps never left the kernel, they were in these regions.
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
        assert_eq!(info["record_cost"][election]["region_begin"]["after"], 10.0, "{election}");
    }
}

#[test]
fn info_says_what_a_record_to_the_host_costs_where_that_was_measured() {
    let folder = Folder::with_captures();
    assert_eq!(
        folder.run("info gemm.capture --format json").json()["record_cost"].get("host"),
        None
    );
    let costs = |inside, total| FormCosts::uniform(inside, total);
    let [one_lane, elected] = [costs(12.0, 34.0), costs(15.0, 40.0)];
    let host = Some(HostCost { one_lane, elected });
    let mut capture = support::gemm(2);
    capture.record_cost = capture.record_cost.map(|cost| RecordCost { host, ..cost });
    folder.save("both.capture", &capture);
    let text = folder.run("info both.capture").text();
    for line in [
        "one lane, to the host: a region takes 34 ticks, 12 of them in its own time; a mark 34",
        "elected lane, to the host: a region takes 40 ticks, 15 of them in its own time; a mark 40",
    ] {
        assert!(text.contains(&format!("cost      {line}\n")), "{text}");
    }
    let host = &folder.run("info both.capture --format json").json()["record_cost"]["host"];
    assert_eq!(host["elected"]["region_end"]["after"], 25.0);
}

#[test]
fn stats_are_a_table() {
    check(
        "stats gemm.capture",
        expect![[r#"
            synthetic, 132 SMs
            224 records, none lost
            clock: resolution 0.5 ns, SMs aligned within 20 ns where their clocks were read, SM clock 2000 MHz
            cost of a record: a region takes 24 ticks, 10 of them in its own time (24 and 10 back to back); not subtracted
            ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
             region         count      total       mean    std dev       p50      p95      p99      max   per warp     share   throughput
            ══════════════════════════════════════════════════════════════════════════════════════════════════════════════════════════════
             gemm              16   74.48 µs   4.655 µs   32.25 ns   4.66 µs   4.7 µs   4.7 µs   4.7 µs   4.655 µs     100 %
                in cycles             148960       9310       64.5      9320     9400     9400     9400       9310
               tile            64   53.68 µs   838.8 ns   32.64 ns    840 ns   880 ns   880 ns   880 ns   3.355 µs   72.07 %
                in cycles             107360       1678      65.27      1680     1760     1760     1760       6710
               mma             64   37.12 µs     580 ns       0 ns    580 ns   580 ns   580 ns   580 ns    2.32 µs   49.84 %
                in cycles              74240       1160          0      1160     1160     1160     1160       4640
               load            64   15.28 µs   238.8 ns   32.64 ns    240 ns   280 ns   280 ns   280 ns     955 ns   20.52 %   17.16 GB/s
                in cycles              30560      477.5      65.27       480      560      560      560       1910
               epilogue        16    14.4 µs     900 ns       0 ns    900 ns   900 ns   900 ns   900 ns     900 ns   19.33 %
                in cycles              28800       1800          0      1800     1800     1800     1800       1800
            ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
            ────────────────
             mark     count
            ════════════════
             gemm
               half      16
            ────────────────
            --- exit code 0
        "#]],
    );
}

#[test]
fn stats_are_grouped_and_filtered() {
    check(
        "stats gemm.capture --by path --launch 1 --block 0-1 --sm 0",
        expect![[r#"
            synthetic, 132 SMs
            224 records, none lost
            clock: resolution 0.5 ns, SMs aligned within 20 ns where their clocks were read, SM clock 2000 MHz
            cost of a record: a region takes 24 ticks, 10 of them in its own time (24 and 10 back to back); not subtracted
            the figures below are only of: launch 1; block 0-1; SM 0
            ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
             region         count     total      mean    std dev       p50       p95       p99       max   per warp     share   throughput
            ═══════════════════════════════════════════════════════════════════════════════════════════════════════════════════════════════
             gemm               2   9.28 µs   4.64 µs   28.28 ns   4.62 µs   4.66 µs   4.66 µs   4.66 µs    4.64 µs     100 %
                in cycles             18560      9280      56.57      9240      9320      9320      9320       9280
             ╰─ tile            8   6.68 µs    835 ns   33.38 ns    840 ns    880 ns    880 ns    880 ns    3.34 µs   71.98 %
                in cycles             13360      1670      66.76      1680      1760      1760      1760       6680
                ╰─ mma          8   4.64 µs    580 ns       0 ns    580 ns    580 ns    580 ns    580 ns    2.32 µs      50 %
                in cycles              9280      1160          0      1160      1160      1160      1160       4640
                ╰─ load         8   1.88 µs    235 ns   33.38 ns    240 ns    280 ns    280 ns    280 ns     940 ns   20.26 %   17.43 GB/s
                in cycles              3760       470      66.76       480       560       560       560       1880
             ╰─ epilogue        2    1.8 µs    900 ns       0 ns    900 ns    900 ns    900 ns    900 ns     900 ns    19.4 %
                in cycles              3600      1800          0      1800      1800      1800      1800       1800
            ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
            ────────────────
             mark     count
            ════════════════
             gemm
               half       2
            ────────────────
            --- exit code 0
        "#]],
    );
}

#[test]
fn balance_waits_and_critical_path_are_shown_by_launch() {
    check(
        "stats gemm.capture --show balance,waits,critical-path --launch 1",
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
            ─────────────────────────────────────────────────────────────────────
             in the end   peak   on average   below half   below a tenth   alone
            ═════════════════════════════════════════════════════════════════════
             warps           4         3.48        40 ns            0 ns   40 ns
             blocks          2         1.75         0 ns            0 ns   40 ns
             SMs             2         1.75         0 ns            0 ns   40 ns
            ─────────────────────────────────────────────────────────────────────
            done last: block 2 on SM 0 after 10.7 µs; block 3 on SM 1 after 10.66 µs; block 1 on SM 1 after 4.7 µs; block 0 on SM 0 after 4.66 µs

            gemm, launch 1: who waits for whom
            no wait has a signal

            gemm, launch 1: critical path of 10.7 µs, through 0 signals and 1 following block
            ──────────────────────────────────────────────────
             on the path                       time     share
            ══════════════════════════════════════════════════
             mma                            4.64 µs   43.36 %
             load                           1.96 µs   18.32 %
             epilogue                        1.8 µs   16.82 %
             (no region)                     800 ns   7.477 %
             tile                            160 ns   1.495 %
             (from one block to the next)   1.34 µs   12.52 %
            ──────────────────────────────────────────────────
            --- exit code 0
        "#]],
    );
}

#[test]
fn several_launches_are_shown_one_by_one() {
    let text = Folder::with_captures().run("stats gemm.capture --show waits --launch 0-1").text();
    assert!(text.contains("launch 0") && text.contains("launch 1"), "{text}");
}

#[test]
fn what_would_do_nothing_is_refused() {
    let folder = Folder::with_captures();
    let refused = |words: &str, text: &str| {
        let ran = folder.run(words);
        assert_eq!(ran.code, Some(2), "{words}");
        assert!(ran.stderr.contains(text), "{words}: {}", ran.stderr);
    };
    refused("stats gemm.capture --show balance --by sm", "leave --by out");
    refused("stats gemm.capture --show waits,balance --format csv", "show them one by one");
    refused("export gemm.capture --to csv", "events-csv");
    refused("export gemm.capture --to folded --raw-times", "leave --raw-times out");
    refused("export gemm.capture --to chrome --group-by warp", "--group-by block");
}

#[test]
fn a_window_is_counted_from_the_begin_of_the_launch() {
    check(
        "stats gemm.capture --launch 1 --window 0ns..500ns --name l*",
        expect![[r#"
            synthetic, 132 SMs
            224 records, none lost
            clock: resolution 0.5 ns, SMs aligned within 20 ns where their clocks were read, SM clock 2000 MHz
            cost of a record: a region takes 24 ticks, 10 of them in its own time (24 and 10 back to back); not subtracted
            the figures below are only of: names l*; launch 1; what begins from 20010 ns to before 20510 ns on the trace's axis
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
fn what_was_not_recorded_is_refused() {
    check(
        "stats gemm.capture --block 9",
        expect![[r#"
        --- stderr
        error: nothing was recorded in such a block
          help: choose others by --sm, --block and --warp; `profiler timeline` shows which
        --- exit code 2
    "#]],
    );
    check(
        "stats gemm.capture --launch 2",
        expect![[r#"
        --- stderr
        error: there is no such launch
          help: the launches are 0 to 1; `profiler info` lists them
        --- exit code 2
    "#]],
    );
}

#[test]
fn a_sound_capture_passes_every_check() {
    check(
        "check gemm.capture --deny warnings,losses,notes",
        expect![[r#"
        gemm.capture: passed: nothing was odd; 224 records, 0 lost
        --- exit code 0
    "#]],
    );
}

#[test]
fn a_check_passes_where_what_was_found_is_not_denied() {
    check(
        "check lossy.capture",
        expect![[r#"
            lossy.capture: passed: 5 warnings; 17 records, 14 lost
              warning[no-slot]: 1 warp found no slot (first: module 0). Build the profiler with .max_warps(4) or more, or select fewer blocks or warps.
              warning[records-without-buffer]: 10 records were lost because a warp had no slot or a lane had no buffer (first: module 0). Build the profiler with more slots (.max_warps).
              warning[buffer-too-small]: 4 records did not fit the buffer of their warps (first: module 0, slot 0, lane 0). Build the profiler with .records_per_warp(10) or more.
              warning[warp-never-left]: 1 warp entered the kernel and never left it; its losses are not known (first: module 0, slot 1). The kernel hung, trapped or was still running: synchronize before reading, or look at the open regions.
              warning[open-region]: 1 region has no end (first: module 0, slot 1, lane 0). End every region_start! on every path. If records were lost, build the profiler with more records per warp. If warps never left the kernel, they were in these regions.
            --- exit code 0
        "#]],
    );
}

#[test]
fn a_check_fails_by_class_or_by_name() {
    let folder = Folder::with_captures();
    let code = |words: &str| folder.run(words).code;
    assert_eq!(code("check lossy.capture --deny warnings"), Some(1));
    assert_eq!(code("check lossy.capture --deny notes"), Some(1));
    assert_eq!(code("check lossy.capture --deny losses"), Some(1));
    assert_eq!(code("check lossy.capture --deny open-region"), Some(1));
    assert_eq!(code("check lossy.capture --deny orphaned-value"), Some(0));
    assert_eq!(code("check lossy.capture --deny open-region --allow open-region"), Some(0));
    assert_eq!(code("check gemm.capture lossy.capture --deny losses"), Some(1));
    assert_eq!(code("check gemm.capture none.capture"), Some(2));
    assert_eq!(code("check gemm.capture --deny bad-luck"), Some(2));
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

#[test]
fn an_export_says_where_it_is() {
    let ran = Folder::with_captures().run("export gemm.capture -o gemm.pftrace");
    assert!(ran.stderr.starts_with("wrote gemm.pftrace, "), "{}", ran.stderr);
    assert_eq!((ran.text().as_str(), ran.code), ("", Some(0)));
}

#[cfg(feature = "parquet")]
#[test]
fn the_name_of_the_output_must_say_a_format() {
    check(
        "export gemm.capture -o gemm.txt",
        expect![[r#"
            --- stderr
            error: the name gemm.txt does not say which format is meant
              help: give --to FORMAT, or one of the endings .pftrace, .perfetto-trace, .json, .hatchet, .folded, .csv, .jsonl, .parquet, .arrow, .feather, .svg
            --- exit code 2
        "#]],
    );
    check(
        "export gemm.capture -o -",
        expect![[r#"
            --- stderr
            error: neither a format nor an output file was given
              help: name the file to write, such as -o gemm.pftrace or -o gemm.json, whose ending says which format is meant; or give --to FORMAT to write to standard output
            --- exit code 2
        "#]],
    );
}

#[test]
fn a_report_is_one_page() {
    let folder = Folder::with_captures();
    let ran = folder.run("report gemm.capture -o gemm.html --title tour --window 10%..20%");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let page = String::from_utf8(folder.bytes("gemm.html")).expect("text");
    assert!(page.contains("<title>tour") && page.contains("epilogue"));
    let piped = folder.run("report gemm.capture -o - --title tour --window 10%..20%");
    assert!(piped.text() == page);
    assert_eq!(folder.run("report gemm.capture").code, Some(2));
}

#[test]
fn a_command_without_arguments_says_what_there_is() {
    let ran = Folder::new().run("");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("timeline") && ran.stderr.contains("Examples:"), "{}", ran.stderr);
}

#[test]
fn help_names_the_exit_codes() {
    let ran = Folder::new().run("--help");
    assert_eq!(ran.code, Some(0));
    for needed in ["Exit codes:", "Environment:", "Examples:", "NO_COLOR"] {
        assert!(ran.text().contains(needed), "{needed}");
    }
}

#[test]
fn what_scripts_ask_has_exit_codes_in_help_and_manual() {
    let folder = Folder::new();
    let every = ["  0 ", "  1 ", "  2 ", "  3 ", "  128+N ", "129 by a closed terminal"];
    for (command, lacks) in [("", None), ("check", Some("  3 ")), ("diff", None)] {
        let help = folder.run(&format!("{command} --help")).text();
        let codes = help.split("Exit codes:\n").nth(1).expect("exit codes");
        let codes = codes.split("\n\n").next().expect("a section");
        for code in every {
            assert_eq!(codes.contains(code), lacks != Some(code), "{command}: {code}: {codes}");
        }
        let page = folder.run(&format!("man {command}")).text();
        let section = page.split(".SH \"EXIT STATUS\"").nth(1).expect("a section");
        assert!(section.split(".SH").next().is_some_and(|it| it.contains("128+N")), "{section}");
    }
    // Where nothing is looked for, the codes are those of any program.
    assert!(!folder.run("man stats").text().contains("EXIT STATUS"));
}

/// What is refused, with code 2: the error and its remedy.
fn refused(folder: &Folder, words: &str) -> String {
    let ran = folder.run(words);
    assert_eq!(ran.code, Some(2), "{words}: {}", ran.stderr);
    assert!(ran.stderr.contains("\n  help: "), "{words}: {}", ran.stderr);
    ran.stderr
}

#[test]
fn an_export_to_nowhere_names_what_is_missing() {
    let error = refused(&Folder::with_captures(), "export gemm.capture");
    assert!(error.contains("-o gemm.pftrace") && error.contains("--to FORMAT"), "{error}");
}

#[test]
fn a_report_is_not_written_under_the_name_of_another_format() {
    let folder = Folder::with_captures();
    let error = refused(&folder, "report gemm.capture -o gemm.pdf");
    assert!(error.contains("write -o gemm.html"), "{error}");
    assert!(!folder.path("gemm.pdf").exists());
    for name in ["a.html", "a.HTM", "page", "/dev/null"] {
        let ran = folder.run(&format!("report gemm.capture -o {name}"));
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr);
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
        for window in ["10s..", "10s..20s"] {
            let error = refused(&folder, &format!("{command} --window {window}"));
            let expected = format!("the window begins at 10 s, when {whole} was over");
            assert!(error.contains(&expected), "{command}: {error}");
        }
    }
    assert!(!folder.path("page.html").exists());
}

#[test]
fn statistics_are_in_the_format_that_the_output_names() {
    let folder = Folder::with_captures();
    for format in ["json", "csv"] {
        let named = folder.run(&format!("stats gemm.capture -o stats.{format}"));
        assert_eq!(named.code, Some(0), "{}", named.stderr);
        let printed = folder.run(&format!("stats gemm.capture --format {format}"));
        assert!(folder.bytes(&format!("stats.{format}")) == printed.stdout, "{format}");
    }
    folder.run("stats gemm.capture --format table -o table");
    assert!(folder.bytes("table") == folder.run("stats gemm.capture").stdout);
    for show in ["regions", "balance"] {
        let ran = folder.run(&format!("stats gemm.capture --show {show} -o b.csv --format json"));
        let said = "error: b.csv would hold JSON under the name of another format\n  \
                    help: write -o b.json, or leave --format out\n";
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), said));
        assert!(!folder.path("b.csv").exists());
    }
}

#[test]
fn how_much_a_file_is_compressed_is_said_of_whole_files_alone() {
    let folder = Folder::with_captures();
    assert!(folder.run("info gemm.capture").text().contains(" times as much)"));
    let whole = folder.bytes("gemm.capture");
    folder.write("cut.capture", &whole[..whole.len() * 9 / 10]);
    let text = folder.run("info cut.capture").text();
    assert!(text.contains("damage ") && !text.contains("times as much"), "{text}");
    // Names of sites take more room than what little was recorded.
    let text = folder.run("info lossy.capture").text();
    assert!(text.contains(" uncompressed\n"), "{text}");
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
