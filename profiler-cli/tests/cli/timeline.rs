//! What the timeline draws.

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

#[test]
fn the_most_warps_at_a_time_are_those_of_a_moment() {
    let mut module = SyntheticModule::new(Keep::First, 16);
    let kernel = module.site(SiteKind::Kernel, "short");
    // Each is in the kernel for a part of a column, all of them only in the middle of it.
    for index in 0..4 {
        let entry = 50_000 + 1_000 * u64::from(index);
        let mut warp = SyntheticWarp::new(kernel, entry, 1_000_000 + entry);
        warp.header.block_dim = [160, 1, 1];
        warp.header.warp = index;
        warp.leave(entry + 4_000, 1_000_000 + entry + 4_000);
        module.warps.push(warp);
    }
    // One that was there before and behind.
    let mut warp = SyntheticWarp::new(kernel, 0, 1_000_000);
    warp.header.block_dim = [160, 1, 1];
    warp.header.warp = 4;
    warp.leave(600_000, 1_600_000);
    module.warps.push(warp);
    let folder = Folder::new();
    folder.save("short.capture", &module.into_capture().expect("the sites are in order"));
    let most = |words: &str| {
        let text = folder.run(&format!("timeline short.capture --width 75 {words}")).text();
        let line = text.lines().find(|line| line.starts_with("active: ")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{text}"))
    };
    assert_eq!(most(""), "active: at most 5 warps in the kernel at a time");
    assert_eq!(most("--warp 0-1"), "active: at most 2 warps in the kernel at a time");
    assert_eq!(most("--window 0..51.5us"), "active: at most 3 warps in the kernel at a time");
    assert_eq!(most("--window 100us.."), "active: at most 1 warp in the kernel at a time");
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

/// One for each record that the capture of some megabytes holds.
#[test]
fn lanes_in_very_many_regions_at_once_are_drawn() {
    const COUNT: u32 = 100_000;
    let mut module = SyntheticModule::new(Keep::First, COUNT);
    let kernel = module.site(SiteKind::Kernel, "many");
    let region = module.site(SiteKind::Region, "region");
    let mut warp = SyntheticWarp::new(kernel, 0, 1_000_000);
    for track in 0..COUNT {
        warp.range(region, Some(track), u64::from(track), 1_000_000 + u64::from(track));
    }
    warp.leave(2_000_000, 3_000_000);
    module.warps.push(warp);
    let folder = Folder::new();
    folder.save("many.capture", &module.into_capture().expect("the sites are in order"));
    let text = folder.run("timeline many.capture --width 75").text();
    assert!(text.contains("region       55.0 % "), "{text}");
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
fn the_timeline_of_a_launch() {
    check(
        "timeline gemm.capture --width 80",
        expect![[r#"
            launch 0 (of 0 to 1; --launch chooses): gemm, 10.7 µs, 8 warps
            a column is 178.3 ns; cells show shares of the warps' time
                                |0 ns                       |5 µs
            tile         72.1 % ▄████▆████▆████▆████▂             ▆███▇▇███▇▇███▇▇███▆▁
            mma          49.8 %  ▁▇██▂▁▇██▃ ███▂▁███▂              ▃██▇▁▃██▇▁▃██▇ ▃██▆▁
            load         20.5 % ▄▇▁  ▄▇▁  ▃▇   ▄▇▁                ▆▄  ▁▇▄  ▁▇▄   ▇▄
            epilogue     19.3 %                     ▄████▅                           ▁▇████▂
            (no region)   8.6 % ▄    ▂    ▂    ▂    ▂    ▃█      █▂   ▁▁   ▁▁   ▁▁   ▁▁   ▁▆
            active              ██████████████████████████▁      ▃█████████████████████████▆
            active: at most 4 warps in the kernel at a time
            for single regions: --block 0 --warp 0
            --- exit code 0
        "#]],
    );
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
fn what_the_host_did_stands_above_the_warps() {
    check(
        "timeline hosted.capture --width 60 --window -12us..100%",
        expect![[r#"
            launch 0 (of 0 to 1; --launch chooses): gemm, 10.7 µs, 8
              warps
            a column is 732.3 ns; cells show shares of the warps' time
                                           |-10 µs       |0 ns
            host main: step       86.8 %     ▇██████████████████████████
            host loader: …d file  79.3 % ████████████████████████▅
            host main: sy…ronize  35.3 %                     ███████████
            host main: ge…aunch)  22.0 %             ▆██▃███▆
            host main: upload     19.8 %     ▂█████▇
            tile                  72.1 %                 ▆▇▇█▇▃  ▅▇█▇▇▄
            mma                   49.8 %                 ▂▅▆▆▅▃   ▆▆▅▅▄
            load                  20.5 %                 ▄▂▁▂▃   ▅▁▂▃▃
            epilogue              19.3 %                      ▅▇      ▃▇
            (no region)            8.6 %                 ▂▁▁▁▁▁▁ ▃▁ ▁▁▁▁
            active                                       ▅█████▆ ▃█████▇
            active: at most 4 warps in the kernel at a time
            for single regions: --block 0 --warp 0 --window 0%..83.91%
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
    check(
        "timeline lossy.capture --width 60",
        expect![[r#"
            launch 0: lossy, 149.5 µs, 3 warps
            LOST 4 records of these warps: what is blank may be missing
            a column is 3.737 µs; cells show shares of the warps' time
                                |0 ns        |50 µs       |100 µs
            step         33.8 %  ▅▅▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃
            (no region)  66.2 % █▃▃▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅
            active              ████████████████████████████████████████
            active: at most 3 warps in the kernel at a time
            for single regions: --block 0 --warp 0
            --- stderr
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
            let ran = folder.run(words);
            assert_eq!(ran.code, Some(0), "{words}: {}", ran.stderr);
            String::from_utf8_lossy(&ran.stdout).contains(said)
        };
        assert!(says(&format!("{words} --subtract-cost")) && !says(words), "{words}");
    }
}

#[test]
fn a_timeline_outside_of_the_launch_is_empty() {
    check(
        "timeline gemm.capture --width 60 --window 1ms..2ms --rows 2",
        expect![[r#"
            --- stderr
            error: the window begins at 1 ms, when the launch of 10.7 µs was over
              help: times are counted from the begin of the launch, which lasted 10.7 µs; write some within, or parts of it such as 25%..50%
            --- exit code 2
        "#]],
    );
}

#[test]
fn a_launch_that_is_not_there_is_refused() {
    check(
        "timeline gemm.capture --launch 2",
        expect![[r#"
        --- stderr
        error: there is no launch 2
          help: the launches are 0 to 1; `profiler info` lists them
        --- exit code 2
    "#]],
    );
    check(
        "timeline gemm.capture --warp 7",
        expect![[r#"
        --- stderr
        error: launch 0 has no such warp
          help: choose others by --sm, --block and --warp
        --- exit code 2
    "#]],
    );
    check(
        "timeline gemm.capture --window 5us..2us",
        expect![[r#"
            --- stderr
            error: the window begins at 5 µs and ends at 2 µs, which is not later
              help: times are counted from the begin of the launch, which lasted 10.7 µs; write some within, or parts of it such as 25%..50%
            --- exit code 2
        "#]],
    );
}
