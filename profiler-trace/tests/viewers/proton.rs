//! proton-viewer, and Hatchet below it.

use std::process::Command;

use libtest_mimic::Failed;
use profiler_test_tools::Tool;
use profiler_trace::{GroupBy, Stats, Summary, Trace};
use profiler_wire::SiteKind;
use profiler_wire::header::Clock;

use crate::Test;
use crate::support::{gpu, launch, region, site, warp};
use crate::tools;
use crate::zoo::{COMPUTE, KERNEL, STORE, zoo};

const NEEDS: &[Tool] = &[Tool::ProtonViewer];

pub(crate) const TESTS: &[Test] = &[
    Test { name: "proton::figures_are_those_of_the_statistics", needs: NEEDS, run: figures },
    Test { name: "proton::one_launch", needs: NEEDS, run: one_launch },
    Test { name: "proton::lists_metrics", needs: NEEDS, run: lists_metrics },
    Test { name: "proton::without_cycles", needs: NEEDS, run: without_cycles },
    Test { name: "proton::an_empty_trace", needs: NEEDS, run: an_empty_trace },
];

fn view(trace: &Trace, file: &str, arguments: &[&str]) -> Result<String, Failed> {
    let mut bytes = Vec::new();
    trace.write_hatchet_to(&mut bytes)?;
    let path = tools::file(file, &bytes)?;
    let mut command = Command::new(Tool::ProtonViewer.find()?);
    // Whatever the machine's language is, names are UTF-8.
    Ok(tools::output(command.args(arguments).arg(&path).env("PYTHONUTF8", "1"))?)
}

/// What a viewer's tree says of frames of this name, in order.
fn shown(tree: &str, name: &str) -> Vec<f64> {
    let tree = without_colors(tree);
    let lines = tree.lines().filter_map(|line| {
        let line = line.trim_start_matches(['│', '├', '└', '─', ' ', '|', '`', '-']);
        let (figure, frame) = line.split_once(' ')?;
        (frame.trim_end() == name).then(|| figure.parse().ok())?
    });
    lines.collect()
}

/// Leaves out the escapes by which terminals are told colours.
fn without_colors(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain += part.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain
}

#[track_caller]
fn assert_sum(found: &[f64], wanted: f64, what: &str) {
    let sum: f64 = found.iter().sum();
    // The viewer prints three decimals.
    let most = 0.0005 * found.len() as f64 + 1e-9 * wanted.abs();
    assert!(!found.is_empty() && (sum - wanted).abs() <= most, "{what}: {found:?} is not {wanted}");
}

fn sum(stats: &Stats, name: &str, figure: fn(&Summary) -> f64) -> f64 {
    let rows = stats.rows.iter().filter(|row| row.name == name && row.count > 0);
    rows.map(|row| figure(row.cycles.as_ref().expect("all clocks count cycles"))).sum()
}

fn figures() -> Result<(), Failed> {
    let (trace, _) = zoo();
    let by_launch = trace.stats_by(GroupBy::Launch);
    let cycles = view(&trace, "figures-cycles.hatchet", &["-m", "cycles"])?;
    let normalized = view(&trace, "figures-normalized.hatchet", &["-m", "normalized_cycles"])?;
    let time = view(&trace, "figures-time.hatchet", &["-m", "time/ns"])?;
    for name in [KERNEL, "axpy", "load", STORE, COMPUTE, "leader"] {
        // The viewer prints a name as it is, over two lines where it has two.
        let printed = name.lines().next().unwrap_or_default();
        assert_sum(&shown(&cycles, printed), sum(&by_launch, name, |of| of.total), name);
        let wanted = sum(&by_launch, name, |of| of.mean_per_warp);
        assert_sum(&shown(&normalized, printed), wanted, name);
        let rows = by_launch.rows.iter().filter(|row| row.name == name);
        assert_sum(&shown(&time, printed), rows.map(|row| row.ns.total).sum(), name);
    }
    Ok(())
}

fn one_launch() -> Result<(), Failed> {
    let mut trace = gpu();
    let kernel = site(&mut trace, SiteKind::Kernel, "gemm");
    let load = site(&mut trace, SiteKind::Region, "load");
    let wait = site(&mut trace, SiteKind::Region, "wait");
    launch(&mut trace, kernel, [1, 1, 1], 0.0, 1000.0);
    for index in 0..3 {
        let warp = warp(&mut trace, [0, 0, 0], index, 0.0, 900.0 + f64::from(index));
        region(&mut trace, warp, load, 0, 10.0, 110.0);
        region(&mut trace, warp, wait, 1, 20.0, 50.5);
    }
    let stats = trace.stats();
    let tree = view(&trace, "one-launch.hatchet", &["-m", "normalized_cycles"])?;
    for name in ["gemm", "load", "wait"] {
        let cycles = stats.get(name).and_then(|row| row.cycles).expect("cycles");
        assert_sum(&shown(&tree, name), cycles.mean_per_warp, name);
    }
    // Two ticks a nanosecond: nothing is added to a region for what lies in it.
    assert_eq!(shown(&tree, "load"), [200.0]);
    assert_eq!(shown(&tree, "ROOT"), shown(&tree, "gemm"));
    Ok(())
}

fn lists_metrics() -> Result<(), Failed> {
    let text = view(&zoo().0, "lists-metrics.hatchet", &["--list"])?;
    for metric in ["- cycles", "- normalized_cycles", "- time"] {
        assert!(text.lines().any(|line| line == metric), "{text}");
    }
    Ok(())
}

fn without_cycles() -> Result<(), Failed> {
    let (mut trace, _) = zoo();
    trace.warps[0].clock = Clock::GlobalTimer;
    let wanted: f64 = trace.stats().get("axpy").map_or(0.0, |row| row.ns.total);
    let tree = view(&trace, "without-cycles.hatchet", &["-m", "time/us"])?;
    assert_sum(&shown(&tree, "axpy"), wanted / 1000.0, "axpy");
    let refused = view(&trace, "without-cycles-refused.hatchet", &["-m", "cycles"]);
    let message = refused.err().and_then(|failed| failed.message().map(str::to_owned));
    assert!(message.is_some_and(|message| message.contains("Metric cycles is not found")));
    Ok(())
}

fn an_empty_trace() -> Result<(), Failed> {
    let mut trace = gpu();
    trace.device.emulated = true;
    let tree = view(&trace, "empty.hatchet", &["-m", "cycles"])?;
    assert_eq!(shown(&tree, "ROOT"), [0.0]);
    Ok(())
}
