//! The drawing of `timeline`.

use crate::support;

use expect_test::expect;
use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_wire::SiteKind;
use support::{Folder, check};

#[test]
fn regions_that_cross_have_rows_of_their_own() {
    let mut module = SyntheticModule::new(Keep::First, 16);
    module.lane_capacity = Some(16);
    let kernel = module.site(SiteKind::Kernel, "crossing");
    let [ahead, behind, lane] =
        ["ahead", "behind", "lane"].map(|name| module.site(SiteKind::Region, name));
    let mut warp = SyntheticWarp::new(kernel, 0, 1_000_000);
    warp.begin(ahead, None, 200_000).begin(behind, None, 400_000);
    warp.end(ahead, None, 600_000).end(behind, None, 800_000);
    warp.lane(3).range(lane, None, 790_000, 1_000_000);
    warp.leave(1_200_000, 1_600_000);
    module.warps.push(warp);
    let folder = Folder::new();
    folder.save("crossing.capture", &module.into_capture().expect("the sites are in order"));
    expect![[r#"
        launch 0: crossing, 600 µs, 1 warp
        a column is 10.91 µs; cells show shares of the warps' time
                            |0 ns             |200 µs           |400 µs
        ahead        33.3 %          ▇█████████████████▄
        behind       33.3 %                   ▅█████████████████▅
        lane         17.5 %                                     ▆████████▇
        (no region)  33.3 % █████████▁                                   ▁█████████
        active              ███████████████████████████████████████████████████████
        active: at most 1 warp in the kernel at a time
        --- exit code 0
    "#]]
    .assert_eq(&folder.run("timeline crossing.capture --width 75 --window 0..600us").transcript());
}

/// A terminal gives them two columns each. What they are cut at is counted in columns as well.
#[test]
fn labels_and_names_may_be_of_wide_characters() {
    let mut capture = support::hosted();
    capture.host.threads[1] = "載入".to_owned();
    capture.host.spans[5].name = "讀檔案".repeat(8);
    let folder = Folder::new();
    folder.save("wide.capture", &capture);
    let words = "timeline wide.capture --width 70 --window -12us..100%";
    expect![[r#"
        launch 0 (of 0 to 1; --launch chooses): gemm, 10.7 µs, 8 warps
        a column is 597.4 ns; cells show shares of the warps' time
                                           |-10 µs          |0 ns
        host main: step          86.8 %      █████████████████████████████████
        host 載入: 讀檔…讀檔案   79.3 % ██████████████████████████████▁
        host main: synchronize   35.3 %                         ▃█████████████
        host main: gemm…launch)  22.0 %                ███▃▆████▂
        host main: upload        19.8 %      ▁███████▃
        tile                     72.1 %                     ▇▇█▇▇█▁   ▆▇█▇▇█▁
        mma                      49.8 %                     ▃▅▆▄▅▇▁   ▃▆▆▄▅▆▁
        load                     20.5 %                     ▄▂▁▃▂▁    ▄▂▁▃▂▁
        epilogue                 19.3 %                           ▆▆        ▆▇
        (no region)               8.6 %                     ▁▁ ▁▁ ▁▂  ▂▁ ▁▁ ▁▁
        active                                              ▇██████▇  ▇██████▇
        active: at most 4 warps in the kernel at a time
        for single regions: --block 0 --warp 0
        --- exit code 0
    "#]]
    .assert_eq(&folder.run(words).transcript());
}

#[test]
fn regions_that_found_no_row_are_counted() {
    let mut module = SyntheticModule::new(Keep::First, 128);
    let kernel = module.site(SiteKind::Kernel, "many");
    let sites: Vec<u32> =
        (0..70).map(|at| module.site(SiteKind::Region, &format!("part {at}"))).collect();
    let mut warp = SyntheticWarp::new(kernel, 0, 1_000_000);
    for (at, &site) in (0u64..).zip(&sites) {
        warp.range(site, None, at * 10_000, at * 10_000 + 10_000);
    }
    warp.leave(700_000, 1_350_000);
    module.warps.push(warp);
    let folder = Folder::new();
    folder.save("many.capture", &module.into_capture().expect("the sites are in order"));
    let rows = |words: &str| {
        let text = folder.run(&format!("timeline many.capture --width 85 {words}")).text();
        (text.lines().filter(|line| line.starts_with("part ")).count(), text)
    };
    let (shown, text) = rows("");
    assert!(shown == 24 && text.contains("\n46 rows left out; --rows shows more\n"), "{text}");
    let (shown, text) = rows("--rows 70");
    assert!(shown == 70 && !text.contains("left out"), "{text}");
}

#[test]
fn the_timeline_of_a_window_of_another_launch() {
    check(
        "timeline gemm.capture --width 60 --launch 1 --window 10%..30% --block 0-1 --warp 0",
        expect![[r#"
            launch 1 (of 0 to 1; --launch chooses): gemm, 10.7 µs, 2 of
              8 warps
            a column is 53.5 ns; cells show shares of the warps' time
                                                 |2 µs
            tile         95.3 % █████████████▆▆▄██████████████▇▂████████
            mma          63.6 %   ▂▄█████████▆▄     ██████████▇    ▁▅███
            load         29.0 % ██▅▃          ▂▄███▅           ▂███▆▁
            (no region)   4.7 %              ▂▂▄              ▁▆
            active              ████████████████████████████████████████
            active: at most 2 warps in the kernel at a time
            for single regions: --block 0 --warp 0 --window 10%..30%
            --- exit code 0
        "#]],
    );
}

#[test]
fn a_window_without_the_host_says_where_it_was() {
    let mut capture = support::hosted();
    capture.host.spans.retain(|span| span.name == "upload" || span.is_launch);
    let folder = Folder::new();
    folder.save("early.capture", &capture);
    let text = folder.run("timeline early.capture --launch 1 --width 200").text();
    let said = "\nthe host did nothing in this window; its 3 spans lie between -28.51 µs and \
                -17.51 µs\n";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_timeline_with_losses_says_so() {
    let ran = Folder::with_captures().run("timeline lossy.capture");
    assert!(ran.text().contains("\nLOST 4 records of these warps: "), "{}", ran.text());
    assert!(ran.stderr.contains("warning[buffer-too-small]: 4 records"), "{}", ran.stderr);
}

#[test]
fn timelines_say_where_times_of_several_warps_are_on_no_common_axis() {
    let folder = Folder::with_captures();
    for (words, said) in [
        (
            "timeline gemm.capture --width 200",
            "the cost of recording is subtracted from each warp by itself: ",
        ),
        (
            "export gemm.capture --to perfetto",
            "times of different warps are not on one axis any more",
        ),
        (
            "export gemm.capture --to chrome",
            "times of different warps are not on one axis any more",
        ),
    ] {
        let says = |words: &str| {
            let ran = folder.run(words).done();
            String::from_utf8_lossy(&ran.stdout).contains(said)
        };
        assert!(says(&format!("{words} --subtract-cost")) && !says(words), "{words}");
    }
}
