//! proton-viewer, and Hatchet below it.

use std::collections::BTreeMap;
use std::process::Command;

use libtest_mimic::Failed;
use profiler_test_tools::Tool;
use profiler_trace::{Export, GroupBy, Stats, Summary, Trace};
use profiler_wire::SiteKind;
use profiler_wire::header::Clock;

use crate::Test;
use crate::support::{gpu, lone_warp, region, site, time};
use crate::tools;
use crate::zoo::{COMPUTE, KERNEL, STORE, zoo};

const NEEDS: &[Tool] = &[Tool::ProtonViewer];
/// The package llnl-hatchet, which proton-viewer needs too.
const HATCHET: Tool = Tool::Python(&["hatchet"]);

pub(crate) const TESTS: &[Test] = &[
    Test { name: "proton::figures_are_those_of_the_statistics", needs: NEEDS, run: figures },
    Test { name: "proton::crossing_regions_both_survive", needs: NEEDS, run: crossing_regions },
    Test { name: "proton::without_cycles", needs: NEEDS, run: without_cycles },
    Test { name: "proton::an_empty_trace", needs: NEEDS, run: an_empty_trace },
    Test { name: "proton::hatchet_adds_up", needs: &[HATCHET], run: hatchet_adds_up },
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

/// Name and time of each frame of a file by itself, and those that it lies in.
fn own_times(frame: &serde_json::Value, outer: &str, found: &mut Vec<(String, f64)>) {
    let name = frame["frame"]["name"].as_str().expect("a frame has a name");
    let stack = format!("{outer}/{name}");
    if let Some(time) = frame["metrics"]["time (ns)"].as_f64() {
        found.push((stack.clone(), time));
    }
    for inner in frame["children"].as_array().into_iter().flatten() {
        own_times(inner, &stack, found);
    }
}

/// While both last the time is in both, one above the other, and each has its own time in sum.
fn crossing_regions() -> Result<(), Failed> {
    let (mut trace, warp) = lone_warp("gemm", 100.0);
    let [first, second] = ["first", "second"].map(|name| site(&mut trace, SiteKind::Region, name));
    region(&mut trace, warp, first, 0, 10.0, 40.0);
    region(&mut trace, warp, second, 0, 30.0, 80.0);
    let mut bytes = Vec::new();
    trace.write_hatchet_to(&mut bytes)?;
    let mut found = Vec::new();
    own_times(&serde_json::from_slice::<serde_json::Value>(&bytes)?[0], "", &mut found);
    let wanted = [
        ("/ROOT", 0.0),
        ("/ROOT/gemm", 30.0),
        ("/ROOT/gemm/first", 20.0),
        ("/ROOT/gemm/first/second", 10.0),
        ("/ROOT/gemm/second", 40.0),
    ];
    let found: Vec<(&str, f64)> = found.iter().map(|(stack, time)| (&**stack, *time)).collect();
    assert_eq!(found, wanted);
    for (metric, scale) in [("time/ns", 1.0), ("cycles", 2.0)] {
        let tree = view(&trace, "crossing.hatchet", &["-m", metric])?;
        for (name, ns) in [("gemm", 100.0), ("first", 30.0), ("second", 50.0)] {
            assert_sum(&shown(&tree, name), scale * ns, name);
        }
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

/// All frames in sum, as Hatchet itself reads them, are the kernels: no time is in two frames, also
/// where regions cross, and none is left out.
fn hatchet_adds_up() -> Result<(), Failed> {
    // The second of the two that the file holds is the device, which is no frame: it is taken out of
    // proton's own files, too.
    const PROGRAM: &str = "import hatchet, json, sys\n\
        frames, device = json.load(open(sys.argv[1], encoding='utf-8'))\n\
        graph = hatchet.GraphFrame.from_literal([frames])\n\
        print(json.dumps({name: float(graph.dataframe[name].sum()) for name in graph.exc_metrics}))";
    let (mut trace, _) = zoo();
    // The statistics do not count the kernel of a warp that never left.
    trace.warps[7].exit = Some(time(72_104.25));
    let mut bytes = Vec::new();
    trace.write_hatchet_to(&mut bytes)?;
    let path = tools::file("adds-up.hatchet", &bytes)?;
    let mut command = Command::new(HATCHET.find()?);
    let sums = tools::output(command.args(["-c", PROGRAM]).arg(&path).env("PYTHONUTF8", "1"))?;
    let sums: BTreeMap<String, f64> = serde_json::from_str(&sums)?;
    // What other lanes than the first recorded lies beside the kernel, and does not overlap here.
    let regions = trace.warps.iter().flat_map(|warp| &warp.regions);
    let of_lanes = regions.filter(|region| region.lane != 0);
    let mut wanted = [0.0; 3];
    for (region, end) in of_lanes.filter_map(|region| Some((region, region.end?))) {
        let cycles = (end.ticks - region.start.ticks) as f64;
        // Each launch has four warps, all of which could record it.
        let added = [cycles, cycles / 4.0, end.ns - region.start.ns];
        wanted = std::array::from_fn(|at| wanted[at] + added[at]);
    }
    assert!(wanted[0] > 0.0, "no other lane recorded anything");
    let stats = trace.stats_by(GroupBy::Launch);
    for row in stats.rows.iter().filter(|row| row.site == row.kernel) {
        let cycles = row.cycles.as_ref().ok_or("a kernel without cycles")?;
        let added = [cycles.total, cycles.mean_per_warp, row.ns.total];
        wanted = std::array::from_fn(|at| wanted[at] + added[at]);
    }
    let metrics: Vec<&String> = sums.keys().collect();
    assert_eq!(metrics, ["cycles", "normalized_cycles", "time (ns)"]);
    for ((metric, sum), wanted) in sums.iter().zip(wanted) {
        // A moment is rounded to a 65536th of a nanosecond, of which there are 48.
        assert!((sum - wanted).abs() < 1e-3, "{metric}: {sum} is not {wanted}");
    }
    Ok(())
}
