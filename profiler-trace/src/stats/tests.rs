//! Balance, waits and critical paths against values computed by hand.

mod critical_path;

use profiler_wire::{SiteKind, Strategy};

use super::StatsQuery;
use super::critical_path::PathPart;
use crate::model::{SiteIndex, Trace};
use crate::support::{hand_over, launch, launched, mark, region, site, warp, whole};

/// A producer and a consumer in block 0, and block 4, which follows them on SM 0.
fn pipeline() -> Trace {
    let mut trace = launched("pipeline", [5, 1, 1], 0.0, 1000.0);
    let [copy, wait, compute, tail] = ["copy", "wait full", "compute", "tail"]
        .map(|name| site(&mut trace, SiteKind::Region, name));
    let signal = site(&mut trace, SiteKind::Signal, "full");
    let waited = site(&mut trace, SiteKind::Wait, "full");
    let producer = warp(&mut trace, [0, 0, 0], 0, 0.0, 600.0);
    let consumer = warp(&mut trace, [0, 0, 0], 1, 0.0, 900.0);
    let next = warp(&mut trace, [4, 0, 0], 0, 950.0, 1000.0);
    region(&mut trace, producer, copy, 0, 10.0, 300.0);
    region(&mut trace, consumer, wait, 0, 50.0, 310.0);
    region(&mut trace, consumer, compute, 0, 320.0, 880.0);
    region(&mut trace, next, tail, 0, 960.0, 990.0);
    hand_over(&mut trace, (producer, signal, 300.0), (consumer, waited, 312.0), 1);
    // Its signal came while the consumer worked: it was not blocked.
    hand_over(&mut trace, (producer, signal, 500.0), (consumer, waited, 884.0), 2);
    trace
}

#[test]
fn the_end_waited_for_the_copy() {
    let trace = pipeline();
    let path = trace.critical_path(0).expect("a launch");
    let steps: Vec<_> =
        path.steps.iter().map(|step| (step.start_ns, step.end_ns, step.part)).collect();
    let wanted = [
        (0.0, 300.0, PathPart::Run(0)),
        (300.0, 312.0, PathPart::HandOff(0)),
        (312.0, 900.0, PathPart::Run(1)),
        (900.0, 950.0, PathPart::NextBlock(1)),
        (950.0, 1000.0, PathPart::Run(2)),
    ];
    assert_eq!(steps, wanted);
    // Nothing is 0, and not -0, which files would have as such.
    assert!(path.before_entry_ns.is_sign_positive());
    let text = whole(&path);
    assert!(
        text.contains("critical path of 1 µs, through 1 signal and 1 following block"),
        "{text}"
    );
    assert!(text.contains("56 %"), "{text}");
    // Of what takes no time nothing is said.
    assert!(text.contains("(from signal to waiter)") && !text.contains("(before the first entry)"));
}

#[test]
fn the_consumer_waits_for_the_producer() {
    let trace = pipeline();
    let waits = trace.waits(0).expect("a launch");
    assert_eq!((waits.rows.len(), waits.without_signal), (2, 0));
    let row = &waits.rows[0];
    let names = (row.name.as_str(), row.waiter.as_deref(), row.signaller.as_deref());
    assert_eq!(names, ("full", Some("wait full"), Some("copy")));
    assert_eq!((row.count, row.blocked, row.from_other_blocks), (1, 1, 0));
    assert_eq!((row.blocked_ns.total, row.hand_off_ns.total), (250.0, 12.0));
    let row = &waits.rows[1];
    assert_eq!((row.waiter.as_deref(), row.signaller.as_deref()), (Some("compute"), Some("copy")));
    assert_eq!((row.count, row.blocked, row.hand_off_ns.max), (1, 0, 4.0));
    let text = whole(&waits);
    assert!(text.contains("wait full") && !text.contains("no signal"), "{text}");
}

/// A mark within the region of its waiting, one without any region, one without a signal.
#[test]
fn where_waiting_began() {
    let mut trace = pipeline();
    let signal = trace.sites.iter().position(|site| site.kind == SiteKind::Signal).expect("one");
    let [signal, waited] = [signal, signal + 1].map(|at| SiteIndex(at as u32));
    let sync = site(&mut trace, SiteKind::Region, "sync");
    let kernel = trace.launches[0].kernel;
    launch(&mut trace, kernel, [1, 1, 1], 2000.0, 2400.0);
    let from = warp(&mut trace, [0, 0, 0], 0, 2000.0, 2300.0);
    let to = warp(&mut trace, [0, 0, 0], 1, 2000.0, 2400.0);
    region(&mut trace, to, sync, 0, 2200.0, 2290.0);
    for (given, taken) in [(2100.0, 2110.0), (2250.0, 2260.0)] {
        hand_over(&mut trace, (from, signal, given), (to, waited, taken), 3);
    }
    mark(&mut trace, to, waited, 2280.0, 9);
    let waits = trace.released_waits(1);
    let blocked: Vec<f64> = waits.iter().map(|wait| wait.blocked_ns()).collect();
    // From the warp's entry, and from the begin of the region.
    assert_eq!(blocked, [100.0, 50.0]);
    let waits = trace.waits(1).expect("a launch");
    assert_eq!(waits.without_signal, 1);
    assert!(whole(&waits).contains("1 wait has no signal"), "{waits}");
    let path = trace.critical_path(1).expect("a launch");
    assert_eq!((path.span_ns, path.before_entry_ns), (400.0, 0.0));
    // Other launches are not touched.
    assert_eq!(trace.released_waits(0).len(), 2);
    assert!(trace.waits(2).is_none() && trace.critical_path(2).is_none());
    assert!(trace.balance(2).is_none() && trace.released_waits(2).is_empty());
}

/// Where a clock has coarse steps, a region may end, a mark stand and the next region begin at once.
#[test]
fn where_waiting_began_by_a_coarse_clock() {
    let mut trace = launched("kernel", [1, 1, 1], 0.0, 1000.0);
    let [work, wait, sync] =
        ["work", "Wait full", "sync"].map(|name| site(&mut trace, SiteKind::Region, name));
    let signal = site(&mut trace, SiteKind::Signal, "full");
    let waited = site(&mut trace, SiteKind::Wait, "full");
    let from = warp(&mut trace, [0, 0, 0], 0, 0.0, 900.0);
    let to = warp(&mut trace, [0, 0, 0], 1, 0.0, 1000.0);
    region(&mut trace, to, wait, 0, 32.0, 320.0);
    region(&mut trace, to, sync, 1, 64.0, 320.0);
    region(&mut trace, to, work, 0, 320.0, 480.0);
    region(&mut trace, to, sync, 0, 480.0, 640.0);
    region(&mut trace, to, wait, 0, 672.0, 800.0);
    region(&mut trace, to, sync, 1, 704.0, 800.0);
    for (given, taken) in [(288.0, 320.0), (64.0, 320.0), (448.0, 480.0), (736.0, 832.0)] {
        hand_over(&mut trace, (from, signal, given), (to, waited, taken), 1);
    }
    let waits = trace.released_waits(0);
    let seen: Vec<_> =
        waits.iter().map(|wait| (wait.ready_ns, wait.blocked_ns(), wait.waiter)).collect();
    let wanted = [
        // The region of waiting that ended, not the work that began.
        (32.0, 256.0, Some(wait)),
        // From the mark before it, which was after the waiting.
        (320.0, 0.0, Some(wait)),
        // Not in the work that ended, but in the region that began.
        (480.0, 0.0, Some(sync)),
        // The region around another one ends after it.
        (672.0, 64.0, Some(wait)),
    ];
    assert_eq!(seen, wanted);
}

/// Whatever the times are, a path has no gaps, never turns and ends.
#[test]
fn a_path_is_whole_whatever_the_marks_say() {
    let mut trace = pipeline();
    let moments = [0.0, 5.0, 300.0, 300.0, 312.0, 700.0, 950.0, 1000.0, 2000.0];
    let waits = trace.sites.len() as u32 - 1;
    let [signal, waited] = [waits - 1, waits].map(SiteIndex);
    // Each warp waits for each other at many moments, also in circles and backwards in time.
    for (number, given) in moments.iter().enumerate() {
        for (other, taken) in moments.iter().enumerate() {
            let from = ((number + other) % 3, signal, *given);
            hand_over(&mut trace, from, ((number * 2 + other + 1) % 3, waited, *taken), 7);
        }
    }
    let path = trace.critical_path(0).expect("a launch");
    let mut at = 0.0;
    for step in &path.steps {
        assert_eq!(step.start_ns, at);
        assert!(step.ns() > 0.0);
        at = step.end_ns;
    }
    assert_eq!(at, 1000.0);
    let parts: f64 = path.regions.iter().map(|of| of.ns).sum();
    let parts = parts + path.hand_off_ns + path.next_block_ns + path.before_entry_ns;
    assert!((parts - 1000.0).abs() < 1e-9, "{parts}");
}

#[test]
fn balance_of_warps_blocks_and_sms() {
    let mut trace = pipeline();
    let copy = StatsQuery::new().name("copy");
    let copy = trace.stats_of(&copy).rows[0].site;
    // Warp 0 of each block may copy: block 4's did not.
    trace.sites[copy.0 as usize].strategy = Some(Strategy::WarpIndex(0));
    let balance = trace.balance(0).expect("a launch");
    let load = balance.warps;
    assert_eq!((load.count, load.min_ns, load.max_ns), (3, 50.0, 900.0));
    assert_eq!(load.mean_ns, 1550.0 / 3.0);
    assert!((load.max_by_mean() - 2700.0 / 1550.0).abs() < 1e-12);
    assert!((load.imbalance() - (900.0 - 1550.0 / 3.0) / 900.0 * 1.5).abs() < 1e-12);
    assert_eq!((balance.blocks.count, balance.blocks.max_ns), (2, 900.0));
    // Both blocks on one SM, which is idle for 50.
    assert_eq!((balance.sms.count, balance.sms.mean_ns), (1, 950.0));
    assert_eq!(balance.sms.imbalance(), 0.0);
    let of = |name: &str| balance.regions.iter().find(|of| of.name == name).expect("a region");
    // Warps that never ran a region are not in its balance.
    assert_eq!((of("copy").warps.count, of("copy").warps.mean_ns), (1, 290.0));
    assert_eq!((of("compute").warps.count, of("compute").sms.max_ns), (1, 560.0));
    assert_eq!(balance.last_blocks[0], ([4, 0, 0], 0, 1000.0));
    let text = whole(&balance);
    assert!(text.contains("done last: block 4 on SM 0 after 1 µs"), "{text}");
}

#[test]
fn warps_that_never_left_are_counted_apart() {
    let mut trace = pipeline();
    trace.warps[0].exit = None;
    let balance = trace.balance(0).expect("a launch");
    assert_eq!(balance.never_left, 1);
    assert!(whole(&balance).contains("1 warp never left"), "{balance}");
}

#[test]
fn that_only_some_warps_recorded_is_said() {
    let mut trace = launched("in part", [8, 1, 1], 0.0, 100.0);
    // The last of a block's warps has one thread.
    trace.launches[0].block_dim = [33, 1, 1];
    for block in [0, 4] {
        warp(&mut trace, [block, 0, 0], 0, 0.0, 100.0);
    }
    let balance = trace.balance(0).expect("a launch");
    assert_eq!((balance.warps.count, balance.unrecorded), (2, 14));
    assert!(whole(&balance).contains("only of 2 of its 16 warps; the others"), "{balance}");
    trace.launches[0].grid_dim = [1, 1, 1];
    let balance = trace.balance(0).expect("a launch");
    assert_eq!(balance.unrecorded, 0);
    assert!(!whole(&balance).contains("only of"), "{balance}");
}

#[test]
fn what_sums_are_rounded_by_is_no_imbalance() {
    let mut trace = launched("even", [3, 1, 1], 0.0, 10.0);
    let part = site(&mut trace, SiteKind::Region, "part");
    for block in 0..3 {
        let warp = warp(&mut trace, [block, 0, 0], 0, 0.0, 10.0);
        // Differences of such numbers are not quite 0.3, and not quite equal.
        let start = f64::from(block) * 1.1;
        region(&mut trace, warp, part, 0, start, start + 0.3);
    }
    let balance = trace.balance(0).expect("a launch");
    let load = balance.regions[0].warps;
    assert!(load.max_ns != load.min_ns && load.imbalance_ns() >= 0.0, "{load:?}");
    let text = whole(&balance);
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("part, by")).collect();
    assert!(rows.len() == 2 && rows.iter().all(|row| row.trim_end().ends_with(" 0 %")), "{text}");
}
