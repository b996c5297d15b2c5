//! Parts of a trace, against values computed by hand.

use crate::part::part_of;
use crate::support;

use profiler_trace::{GroupBy, SiteIndex, Stats, StatsQuery, Trace};
use profiler_wire::SiteKind;

use support::{gpu, last, launch, lone_warp, region, site, warp, whole};

/// Two launches of `gemm` and one of `copy`; each warp has `tile` regions of 100 ns with `load` (30)
/// and `mma` (50) inside, and a `load` of 5 outside.
fn nested() -> Trace {
    let mut trace = gpu();
    let gemm = site(&mut trace, SiteKind::Kernel, "gemm");
    let copy = site(&mut trace, SiteKind::Kernel, "copy");
    let tile = site(&mut trace, SiteKind::Region, "tile");
    let load = site(&mut trace, SiteKind::Region, "load");
    let mma = site(&mut trace, SiteKind::Region, "mma");
    for (number, kernel) in [gemm, gemm, copy].into_iter().enumerate() {
        let start = number as f64 * 1000.0;
        launch(&mut trace, kernel, [2, 1, 1], start, start + 400.0);
        for block in 0..2 {
            for index in 0..2 {
                let of = warp(&mut trace, [block, 0, 0], index, start, start + 400.0);
                for tiles in 0..3 {
                    let at = start + 10.0 + 110.0 * f64::from(tiles);
                    region(&mut trace, of, tile, 0, at, at + 100.0);
                    region(&mut trace, of, load, 1, at, at + 30.0);
                    region(&mut trace, of, mma, 1, at + 40.0, at + 90.0);
                }
                region(&mut trace, of, load, 0, start + 350.0, start + 355.0);
            }
        }
    }
    trace
}

fn rows(stats: &Stats) -> Vec<(&str, usize, u64, f64)> {
    let row = |row: &profiler_trace::SiteStats| row.path.len();
    stats.rows.iter().map(|of| (of.name.as_str(), row(of), of.count, of.ns.total)).collect()
}

#[test]
fn paths_tell_apart_what_encloses() {
    let trace = nested();
    let stats = trace.stats_of(&StatsQuery::new().by(GroupBy::Path).kernel("gemm"));
    let wanted = [
        ("gemm", 0, 8, 3200.0),
        ("tile", 0, 24, 2400.0),
        ("mma", 1, 24, 1200.0),
        ("load", 1, 24, 720.0),
        ("load", 0, 8, 40.0),
    ];
    assert_eq!(rows(&stats), wanted);
    assert_eq!(stats.rows[2].path, [SiteIndex(2)]);
    let text = whole(&stats);
    assert!(text.contains("\n ╰─ tile") && text.contains("\n    ╰─ mma"), "{text}");
    // Filtered by name, the path stands in words, and the kernel above it.
    let stats = trace.stats_of(&StatsQuery::new().by(GroupBy::Path).name("lo*"));
    assert_eq!(rows(&stats).len(), 4);
    let text = whole(&stats);
    assert!(text.contains("╰─ tile › load") && text.contains("\n gemm"), "{text}");
}

/// Two regions of one name in a kernel once had rows that nobody could tell apart.
#[test]
fn regions_of_one_name_are_told_apart_by_their_place() {
    let mut trace = nested();
    let own = site(&mut trace, SiteKind::Region, "load");
    trace.sites[own.0 as usize].file = format!("{}/deep/kernel.rs", "a".repeat(60));
    region(&mut trace, 0, own, 0, 360.0, 390.0);
    let text = whole(&trace.stats_by(GroupBy::Site));
    let cut = format!("…{}/deep/kernel.rs:15:5", "a".repeat(25));
    for row in [" load (src/kernel.rs:13:5) ".to_owned(), format!(" load ({cut}) ")] {
        assert_eq!(text.matches(&row).count(), 1, "{row}\n{text}");
    }
    // The other kernel has one of them.
    let by_site = StatsQuery::new().by(GroupBy::Site);
    let copy = whole(&trace.stats_of(&by_site.clone().kernel("copy")));
    assert!(copy.contains("  load ") && !copy.contains("kernel.rs"), "{copy}");
    assert!(text.contains("  mma ") && !text.contains("mma ("), "{text}");
    let csv = support::text(|bytes| trace.stats_of(&by_site).write_csv_to(bytes));
    assert!(csv.lines().next().is_some_and(|line| line.ends_with(",file,line,module")), "{csv}");
    let ends = |end: &str| csv.lines().filter(|line| line.ends_with(end)).count();
    assert_eq!([ends("/kernel.rs,15,kernels"), ends("src/kernel.rs,13,kernels")], [1, 2]);
    let merged = whole(&trace.stats());
    assert_eq!(merged.matches("  load ").count(), 2, "one in each kernel: {merged}");
    // Kernels of one name, each as a whole.
    trace.sites[1].name = "gemm".to_owned();
    let kernels = whole(&trace.stats());
    assert!(kernels.contains("\n gemm (src/kernel.rs:11:5) "), "{kernels}");
}

#[test]
fn crossing_regions_enclose_neither() {
    let (mut trace, of) = lone_warp("k", 100.0);
    let [a, b, c] = ["a", "b", "c"].map(|name| site(&mut trace, SiteKind::Region, name));
    // a crosses b; c lies in both, in a after b has ended; another lane's c lies in nothing.
    region(&mut trace, of, a, 0, 0.0, 50.0);
    region(&mut trace, of, b, 0, 10.0, 60.0);
    region(&mut trace, of, c, 2, 20.0, 30.0);
    region(&mut trace, of, c, 0, 25.0, 28.0);
    last(&mut trace, of).lane = 3;
    region(&mut trace, of, c, 1, 52.0, 55.0);
    let stats = trace.stats_by(GroupBy::Path);
    let paths: Vec<_> =
        stats.rows.iter().filter(|row| row.name == "c").map(|row| row.path.clone()).collect();
    // Of two that cross, the one that ends first encloses more closely.
    assert_eq!(paths.len(), 3);
    assert!(paths.contains(&vec![a]) && paths.contains(&vec![b]) && paths.contains(&vec![]));
}

#[test]
fn filters_of_one_kind_add_and_of_two_must_all_hold() {
    let trace = nested();
    let count = |trace: &Trace, query: StatsQuery| {
        trace.stats_of(&query).rows.iter().map(|row| row.count).sum::<u64>()
    };
    let tile = || StatsQuery::new().name("tile");
    assert_eq!(count(&trace, tile()), 36);
    assert_eq!(count(&trace, tile().name("load")), 36 + 48);
    assert_eq!(count(&trace, tile().kernel("copy")), 12);
    assert_eq!(count(&trace, tile().kernel("copy").kernel("g*")), 36);
    // Of a part of the trace.
    let part = part_of(&trace, |warp| warp.launch != 1 && warp.block == [1, 0, 0]);
    assert_eq!(count(&part, tile()), 12);
    assert_eq!(count(&part, tile().kernel("gemm")), 6);
}

#[test]
fn a_window_is_named_in_figures_that_can_be_read() {
    let trace = nested();
    for (window, wanted) in [
        (60.0..170.0 + 1.0 / 3.0, "what begins from 60 ns to before 170.3 ns on the trace's axis"),
        (60.04..f64::INFINITY, "what begins from 60 ns on, on the trace's axis"),
        (f64::NEG_INFINITY..170.0, "what begins before 170 ns on the trace's axis"),
    ] {
        let stats = trace.stats_of(&StatsQuery::new().window_ns(window));
        let note = format!("the figures below are only of: {wanted}");
        assert!(stats.notes.contains(&note), "{:?}", stats.notes);
    }
    // It once was one of "what begins at any time".
    let all = StatsQuery::new().window_ns(f64::NEG_INFINITY..f64::INFINITY);
    assert_eq!(trace.stats_of(&all), trace.stats());
}

#[test]
fn a_window_cuts_shares_and_nothing_else() {
    let trace = nested();
    // In the middle of the first mma (50 to 100) of launch 0, to the middle of the second tile.
    let query = StatsQuery::new().window_ns(60.0..170.0);
    let stats = trace.stats_of(&query);
    let get = |name: &str| stats.get(name).expect("a row");
    assert_eq!((get("mma").count, get("mma").ns.total, get("mma").ns.p50), (4, 200.0, 50.0));
    // 40 ns of the first and 10 of the second.
    assert_eq!(get("mma").share, 50.0 / 110.0);
    assert_eq!(get("tile").share, (50.0 + 50.0) / 110.0);
    // The kernels began before and fill all of it.
    assert_eq!((get("gemm").count, get("gemm").share, get("gemm").warps), (0, 1.0, 4));
    assert!(stats.notes.iter().any(|note| note.contains("from 60 ns to before 170 ns")));
    assert!(whole(&stats).contains("100 %"), "{stats}");
    // Between two launches there is nothing.
    assert_eq!(trace.stats_of(&StatsQuery::new().window_ns(500.0..900.0)).rows, []);
}

#[test]
fn filters_that_nothing_meets_say_what_there_is() {
    let mut trace = nested();
    // What the profiler measures a record's cost by is not the user's.
    for (kind, name) in [(SiteKind::Kernel, "calibration"), (SiteKind::Region, "apart")] {
        let own = site(&mut trace, kind, name);
        trace.sites[own.0 as usize].module = "profiler_device::calibration".to_owned();
        if kind == SiteKind::Kernel {
            let symbol = profiler_wire::symbol::CALIBRATION.to_owned();
            trace.sites[own.0 as usize].symbol = Some(symbol);
        }
    }
    let query = StatsQuery::new().name("stroe").kernel("gem").window_ns(5.0..5.0);
    let notes = trace.stats_of(&query).notes.join("\n");
    for wanted in [
        "no region is called stroe: there is copy, gemm, load, mma, tile",
        "no kernel is called gem: there is copy, gemm",
        "the window from 5 to 5 ns holds nothing",
        "only of: names stroe; kernels gem; what begins",
    ] {
        assert!(notes.contains(wanted), "{wanted}\n{notes}");
    }
    // Of a region that the program has, and that no lane came to, nothing is wrong with the name.
    site(&mut trace, SiteKind::Region, "tail");
    let text = whole(&trace.stats_of(&StatsQuery::new().name("tail")));
    assert!(text.ends_with("no region of this name was recorded\n"), "{text}");
}
