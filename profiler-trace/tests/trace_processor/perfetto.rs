//! The native format.

use libtest_mimic::Failed;
use profiler_trace::{ExportOptions, Trace, Value};
use profiler_wire::{SiteKind, Strategy};

use crate::support::{
    edge, gpu, hand_over, last, launch, launched, lone_warp, mark, region, site, warp,
};
use crate::{Context, Format, Test, with_diagnostics};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("perfetto::nesting_times_and_source", nesting_times_and_source),
    ("perfetto::rounding_keeps_nesting", rounding_keeps_nesting),
    ("perfetto::crossing_regions_both_survive", crossing_regions_both_survive),
    ("perfetto::arrows_join_signals_and_waits", arrows_join_signals_and_waits),
    ("perfetto::losses_are_seen", losses_are_seen),
    ("perfetto::diagnostics_are_beside_the_facts", diagnostics_are_beside_the_facts),
    ("perfetto::open_regions_are_marked", open_regions_are_marked),
    ("perfetto::launches_are_processes", launches_are_processes),
    ("perfetto::tracks_are_in_numeric_order", tracks_are_in_numeric_order),
    ("perfetto::tracks_by_sm", tracks_by_sm),
    ("perfetto::user_tracks_keep_warps_apart", user_tracks_keep_warps_apart),
    ("perfetto::lanes_have_tracks", lanes_have_tracks),
    ("perfetto::facts_of_a_warp_are_on_its_track", facts_of_a_warp_are_on_its_track),
    ("perfetto::values", values),
    ("perfetto::weird_names", weird_names),
    ("perfetto::no_launch", no_launch),
    ("perfetto::odd_times_load", odd_times_load),
];

/// Slices of tracks other than the one about the trace: name, time, duration, depth.
const SLICES: &str = "SELECT s.name, s.ts, s.dur, s.depth FROM slice s JOIN track t \
    ON t.id = s.track_id WHERE t.name != 'about this trace' ORDER BY s.ts, s.dur DESC, s.id";

pub(crate) fn ask(
    context: &Context,
    trace: &Trace,
    sql: &[&str],
) -> Result<Vec<Vec<String>>, Failed> {
    ask_with(context, trace, &ExportOptions::default(), sql)
}

/// Rows as text, cells parted by `|`.
pub(crate) fn ask_with(
    context: &Context,
    trace: &Trace,
    options: &ExportOptions,
    sql: &[&str],
) -> Result<Vec<Vec<String>>, Failed> {
    let answers = context.ask(trace, options, Format::Perfetto, sql)?;
    let answers = answers.iter().map(|answer| {
        let rows = answer.rows.iter().map(|row| {
            let cells = row.iter().map(|cell| match cell.as_str() {
                Some(text) => text.to_owned(),
                None => cell.to_string(),
            });
            cells.collect::<Vec<_>>().join("|")
        });
        rows.collect()
    });
    Ok(answers.collect())
}

/// One launch of one warp from 100 ns to 1100 ns, and sites for a kernel and two regions.
pub(crate) fn one_warp() -> (Trace, [profiler_trace::SiteIndex; 3], usize) {
    let mut trace = gpu();
    let kernel = site(&mut trace, SiteKind::Kernel, "gemm");
    let load = site(&mut trace, SiteKind::Region, "load");
    let math = site(&mut trace, SiteKind::Region, "mma");
    launch(&mut trace, kernel, [4, 1, 1], 100.0, 1100.0);
    let warp = warp(&mut trace, [0, 0, 0], 0, 100.0, 1100.0);
    (trace, [kernel, load, math], warp)
}

fn nesting_times_and_source(context: &Context) -> Result<(), Failed> {
    let (mut trace, [_, load, math], warp) = one_warp();
    region(&mut trace, warp, load, 0, 200.0, 500.0);
    region(&mut trace, warp, math, 1, 200.0, 300.0);
    region(&mut trace, warp, math, 2, 250.0, 250.0);
    region(&mut trace, warp, load, 0, 500.0, 900.5);
    mark(&mut trace, warp, math, 700.0, 7);
    let answers = ask(
        context,
        &trace,
        &[
            SLICES,
            "SELECT DISTINCT key, display_value FROM args JOIN slice USING (arg_set_id) \
             WHERE slice.name = 'load' AND key GLOB 'source.*' ORDER BY key",
            "SELECT t.name FROM track t JOIN slice s ON s.track_id = t.id WHERE s.name = 'load'",
        ],
    )?;
    assert_eq!(
        answers[0],
        [
            "gemm|100|1000|0",
            "load|200|300|1",
            "mma|200|100|2",
            "mma|250|0|3",
            "load|500|401|1",
            "mma|700|0|2",
        ]
    );
    let place =
        ["source.file_name|src/kernel.rs", "source.function_name|kernels", "source.line_number|11"];
    assert_eq!(answers[1], place);
    assert_eq!(answers[2][0], "block 0, warp 0 · SM 0");
    Ok(())
}

fn rounding_keeps_nesting(context: &Context) -> Result<(), Failed> {
    let (mut trace, [_, load, math], warp) = one_warp();
    // All of it within one nanosecond, and siblings that touch.
    region(&mut trace, warp, load, 0, 200.6, 201.4);
    region(&mut trace, warp, math, 1, 200.7, 201.3);
    region(&mut trace, warp, math, 2, 200.8, 201.1);
    region(&mut trace, warp, load, 0, 201.4, 201.4);
    region(&mut trace, warp, load, 0, 201.4, 202.6);
    region(&mut trace, warp, math, 1, 201.4, 202.6);
    let answers = ask(context, &trace, &[SLICES])?;
    let mut slices = answers[0].clone();
    slices.sort();
    assert_eq!(
        slices,
        [
            "gemm|100|1000|0",
            "load|201|0|1",
            "load|201|0|1",
            "load|201|2|1",
            "mma|201|0|2",
            "mma|201|0|3",
            "mma|201|2|2",
        ]
    );
    Ok(())
}

fn crossing_regions_both_survive(context: &Context) -> Result<(), Failed> {
    let (mut trace, [_, load, math], warp) = one_warp();
    region(&mut trace, warp, load, 0, 200.0, 400.0);
    region(&mut trace, warp, math, 0, 300.0, 500.0);
    region(&mut trace, warp, load, 0, 350.0, 600.0);
    region(&mut trace, warp, math, 0, 450.0, 700.0);
    let by_track = "SELECT t.name, s.name, s.ts, s.dur FROM slice s JOIN track t \
        ON t.id = s.track_id WHERE t.name != 'about this trace' ORDER BY s.ts, s.dur DESC";
    let answers = ask(context, &trace, &[by_track])?;
    assert_eq!(
        answers[0],
        [
            "block 0, warp 0 · SM 0|gemm|100|1000",
            "block 0, warp 0 · SM 0|load|200|200",
            "overlapping 1|mma|300|200",
            "overlapping 2|load|350|250",
            "block 0, warp 0 · SM 0|mma|450|250",
        ]
    );
    Ok(())
}

fn arrows_join_signals_and_waits(context: &Context) -> Result<(), Failed> {
    // The consumer stands before the producer, in the file too.
    let (mut trace, consumer) = lone_warp("pipeline", 1000.0);
    let full = site(&mut trace, SiteKind::Signal, "full");
    let wait = site(&mut trace, SiteKind::Wait, "wait full");
    let producer = warp(&mut trace, [0, 0, 0], 1, 0.0, 1000.0);
    hand_over(&mut trace, (producer, full, 100.0), (consumer, wait, 150.0), 1);
    // At the same nanosecond.
    hand_over(&mut trace, (producer, full, 300.0), (consumer, wait, 300.0), 2);
    // One signal that releases two waits, one of them in its own warp.
    let from = mark(&mut trace, producer, full, 400.0, 3);
    for (warp, at) in [(consumer, 450.0), (producer, 460.0)] {
        let to = mark(&mut trace, warp, wait, at, 3);
        edge(&mut trace, from, to);
    }
    let sql = "SELECT a.name, a.ts, b.name, b.ts FROM flow JOIN slice a ON a.id = slice_out \
        JOIN slice b ON b.id = slice_in ORDER BY a.ts, b.ts";
    let answers = ask(context, &trace, &[sql])?;
    assert_eq!(
        answers[0],
        [
            "full|100|wait full|150",
            "full|300|wait full|300",
            "full|400|wait full|450",
            "full|400|wait full|460",
        ]
    );
    Ok(())
}

fn losses_are_seen(context: &Context) -> Result<(), Failed> {
    let (mut trace, [_, load, _], first) = one_warp();
    region(&mut trace, first, load, 0, 150.0, 200.0);
    trace.warps[first].lost = 30;
    let second = warp(&mut trace, [1, 0, 0], 0, 100.0, 1100.0);
    region(&mut trace, second, load, 0, 1000.0, 1050.0);
    trace.warps[second].lost = 1;
    let about = "SELECT s.name, s.depth FROM slice s JOIN track t ON t.id = s.track_id \
        WHERE t.name = 'about this trace' ORDER BY s.depth";
    let lost = "SELECT s.name, s.ts, t.name FROM slice s JOIN track t ON t.id = s.track_id \
        WHERE s.name GLOB 'LOST * record*' AND s.dur = 0 ORDER BY s.ts DESC";
    let answers = ask(context, &trace, &[about, lost])?;
    assert_eq!(
        answers[0],
        [
            "NVIDIA H200, compute capability 9.0, 132 SMs|0",
            "grid 4, block 64|1",
            "LOST 31 of 33 records|2",
            "clock: resolution 0.5 ns|3",
            "cost of a record: not measured|4",
        ]
    );
    assert_eq!(
        answers[1],
        [
            "LOST 30 records|1100|block 0, warp 0 · SM 0 · lost 30",
            "LOST 1 record|100|block 1, warp 0 · SM 1 · lost 1",
        ]
    );
    Ok(())
}

fn diagnostics_are_beside_the_facts(context: &Context) -> Result<(), Failed> {
    let (trace, [too_small, unmatched]) = with_diagnostics();
    let lines = [
        format!("warning[buffer-too-small]: {too_small}"),
        format!("note[wait-without-signal]: {unmatched}"),
    ];
    // Slices after the last fact, on the first track of each launch.
    let slices = "SELECT s.name, count(*) FROM slice s JOIN track t ON t.id = s.track_id \
        WHERE t.name = 'about this trace' AND s.depth > (SELECT f.depth FROM slice f \
        WHERE f.track_id = s.track_id AND f.name GLOB 'cost of a record*') \
        GROUP BY s.name ORDER BY s.depth";
    let descriptions = "SELECT a.string_value FROM track t \
        JOIN args a ON a.arg_set_id = t.source_arg_set_id \
        WHERE a.key = 'description' AND t.name = 'about this trace'";
    let answers = ask(context, &trace, &[slices, descriptions])?;
    assert_eq!(trace.launches.len(), 3);
    assert_eq!(answers[0], lines.each_ref().map(|line| format!("{line}|3")));
    assert_eq!(answers[1].len(), 3);
    let end = format!("\n{}", lines.join("\n"));
    assert!(answers[1].iter().all(|description| description.ends_with(&end)), "{:?}", answers[1]);
    Ok(())
}

fn open_regions_are_marked(context: &Context) -> Result<(), Failed> {
    let (mut trace, [_, load, math], first) = one_warp();
    region(&mut trace, first, load, 0, 200.0, 0.0);
    last(&mut trace, first).end = None;
    region(&mut trace, first, math, 1, 300.0, 400.0);
    let second = warp(&mut trace, [1, 0, 0], 0, 150.0, 0.0);
    trace.warps[second].exit = None;
    let answers = ask(
        context,
        &trace,
        &[
            SLICES,
            "SELECT name FROM slice JOIN args USING (arg_set_id) \
             WHERE key = 'debug.open' AND int_value = 1 ORDER BY name",
        ],
    )?;
    assert_eq!(
        answers[0],
        [
            "gemm|100|1000|0",
            "gemm (never left)|150|950|0",
            "load (open)|200|900|1",
            "mma|300|100|2"
        ]
    );
    assert_eq!(answers[1], ["gemm (never left)", "load (open)"]);
    Ok(())
}

fn launches_are_processes(context: &Context) -> Result<(), Failed> {
    let mut trace = gpu();
    let gemm = site(&mut trace, SiteKind::Kernel, "gemm");
    let sum = site(&mut trace, SiteKind::Kernel, "sum");
    for (at, (kernel, grid)) in
        [(gemm, [4, 2, 1]), (sum, [8, 1, 1]), (gemm, [1, 1, 3])].iter().enumerate()
    {
        let start = at as f64 * 1000.0;
        launch(&mut trace, *kernel, *grid, start, start + 900.0);
        warp(&mut trace, [0, 0, 0], 0, start, start + 900.0);
    }
    trace.launches[2].replay = 2;
    trace.device.emulated = true;
    trace.device.name = "emulator".to_owned();
    let sql = "SELECT pid, name FROM process WHERE pid > 0 ORDER BY pid";
    let slices = "SELECT p.pid, s.name, s.ts FROM slice s JOIN process_track t ON t.id = s.track_id \
        JOIN process p USING (upid) WHERE t.name != 'about this trace' ORDER BY s.ts";
    let about = "SELECT p.pid, s.name FROM slice s JOIN process_track t ON t.id = s.track_id \
        JOIN process p USING (upid) WHERE t.name = 'about this trace'";
    let answers = ask(context, &trace, &[sql, slices, about])?;
    assert_eq!(answers[0], ["1|gemm, launch 0", "2|sum, launch 1", "3|gemm, launch 2",]);
    // What else is to be known stands above the tracks of each.
    for (pid, line) in
        [(1, "grid 4x2, block 64"), (2, "grid 8, block 64"), (3, "grid 1x1x3, block 64, replay 2")]
    {
        let device = "emulator: these are not GPU times, compute capability 9.0, 132 SMs";
        for line in [line, device] {
            assert!(answers[2].contains(&format!("{pid}|{line}")), "{line}: {:?}", answers[2]);
        }
    }
    assert_eq!(answers[1], ["1|gemm|0", "2|sum|1000", "3|gemm|2000"]);
    Ok(())
}

/// Tracks with slices, below their parents, in the order in which the viewer shows them.
const ORDER: [&str; 2] = [
    "INCLUDE PERFETTO MODULE viz.summary.track_event",
    "WITH RECURSIVE \
     shown AS (SELECT CAST(track_ids AS INT) AS id, parent_id, name, order_id, has_data \
     FROM _track_event_tracks_ordered_groups), \
     tree(id, path, place) AS (SELECT id, name, printf('%06d', order_id) FROM shown \
     WHERE parent_id IS NULL UNION ALL \
     SELECT s.id, t.path || ' > ' || s.name, t.place || printf('%06d', s.order_id) \
     FROM shown s JOIN tree t ON s.parent_id = t.id) \
     SELECT path FROM tree JOIN shown USING (id) WHERE has_data ORDER BY place",
];

fn tracks_are_in_numeric_order(context: &Context) -> Result<(), Failed> {
    let mut trace = launched("gemm", [1000, 1, 1], 0.0, 10_000.0);
    for block in 0..500 {
        for index in 0..2 {
            warp(&mut trace, [block, 0, 0], index, f64::from(block), 10_000.0);
        }
    }
    let answers = ask(context, &trace, &ORDER)?;
    let wanted: Vec<String> = (0..500)
        .flat_map(|block| {
            (0..2).map(move |warp| {
                format!("by block > block {block} > warp {warp} · SM {}", block % 4)
            })
        })
        .collect();
    assert_eq!(answers[1][0], "about this trace");
    let counters: Vec<String> = (0..4).map(|sm| format!("active warps > SM {sm}")).collect();
    assert_eq!(answers[1][1..5], counters);
    assert_eq!(answers[1][5..], wanted);
    Ok(())
}

fn tracks_by_sm(context: &Context) -> Result<(), Failed> {
    let mut trace = launched("gemm", [8, 2, 1], 0.0, 100.0);
    for block in [0, 1, 4, 5] {
        warp(&mut trace, [block, 1, 0], 0, 0.0, 100.0);
    }
    let options = ExportOptions { by_sm: true, ..ExportOptions::default() };
    let answers = ask_with(context, &trace, &options, &ORDER)?;
    assert_eq!(
        answers[1],
        [
            "about this trace",
            "active warps > SM 0",
            "active warps > SM 1",
            "by SM > SM 0 > block 0,1, warp 0 · SM 0",
            "by SM > SM 0 > block 4,1, warp 0 · SM 0",
            "by SM > SM 1 > block 1,1, warp 0 · SM 1",
            "by SM > SM 1 > block 5,1, warp 0 · SM 1",
        ]
    );
    Ok(())
}

fn user_tracks_keep_warps_apart(context: &Context) -> Result<(), Failed> {
    let (mut trace, [_, load, math], first) = one_warp();
    let second = warp(&mut trace, [1, 0, 0], 0, 100.0, 1100.0);
    // The second warp's slices would nest in the first's if they shared a row.
    for (warp, start, end) in [(first, 200.0, 600.0), (first, 700.0, 800.0)] {
        region(&mut trace, warp, load, 0, start, end);
        last(&mut trace, warp).track = Some(7);
    }
    for (start, end) in [(300.0, 400.0), (600.0, 650.0)] {
        region(&mut trace, second, math, 0, start, end);
        last(&mut trace, second).track = Some(7);
    }
    let third = warp(&mut trace, [2, 0, 0], 0, 100.0, 1100.0);
    trace.warps[third].track = Some(9);
    region(&mut trace, third, math, 0, 300.0, 400.0);
    let sql = "SELECT t.name, s.name, s.ts, s.depth FROM slice s JOIN track t ON t.id = s.track_id \
        WHERE t.name IN ('track 7', 'track 9', 'overlapping 1') ORDER BY t.name, s.ts";
    let answers = ask(context, &trace, &[sql])?;
    assert_eq!(
        answers[0],
        [
            "overlapping 1|mma|300|0",
            "overlapping 1|mma|600|0",
            "track 7|load|200|0",
            "track 7|load|700|0",
            "track 9|gemm|100|0",
            "track 9|mma|300|1",
        ]
    );
    Ok(())
}

fn lanes_have_tracks(context: &Context) -> Result<(), Failed> {
    let (mut trace, [_, load, math], warp) = one_warp();
    trace.warps[warp].strategy = Strategy::Thread;
    for lane in [0, 2, 10] {
        region(&mut trace, warp, load, 0, 200.0 + f64::from(lane), 500.0);
        last(&mut trace, warp).lane = lane;
        region(&mut trace, warp, math, 1, 300.0, 400.0);
        last(&mut trace, warp).lane = lane;
    }
    let sql = "SELECT t.name, s.name, s.ts, s.depth FROM slice s JOIN track t ON t.id = s.track_id \
        WHERE t.name GLOB 'lane*' ORDER BY \
        extract_arg(t.source_arg_set_id, 'sibling_order_rank'), s.ts";
    let answers = ask(context, &trace, &[sql, SLICES])?;
    assert_eq!(
        answers[0],
        ["lane 2|load|202|0", "lane 2|mma|300|1", "lane 10|load|210|0", "lane 10|mma|300|1"]
    );
    assert_eq!(answers[1].len(), 7);
    Ok(())
}

fn facts_of_a_warp_are_on_its_track(context: &Context) -> Result<(), Failed> {
    let (mut trace, [_, load, math], first) = one_warp();
    for start in [200.0, 300.0] {
        region(&mut trace, first, load, 0, start, start + 50.0);
    }
    region(&mut trace, first, math, 0, 250.0, 400.0);
    last(&mut trace, first).lane = 9;
    let second = warp(&mut trace, [3, 0, 0], 1, 100.0, 1100.0);
    region(&mut trace, second, load, 0, 200.0, 300.0);
    trace.warps[second].cluster_rank = Some(2);
    trace.warps[second].strategy = Strategy::Block;
    trace.warps[second].lost = 5;
    // Of tracks that group others there is none.
    let sql = "SELECT t.name, a.string_value FROM track t \
        JOIN args a ON a.arg_set_id = t.source_arg_set_id \
        WHERE a.key = 'description' AND t.name != 'about this trace' ORDER BY a.string_value";
    let answers = ask(context, &trace, &[sql])?;
    assert_eq!(
        answers[0],
        [
            "block 0, warp 0 · SM 0|block 0, warp 0, SM 0, recorded by warp, 3 records",
            "block 3, warp 1 · SM 3 · lost 5|block 3, warp 1, SM 3, rank 2 in its cluster, \
             recorded by block, 1 record, 5 LOST",
            "lane 9|lane 9 of block 0, warp 0, SM 0, recorded by warp, 3 records",
        ]
    );
    Ok(())
}

fn values(context: &Context) -> Result<(), Failed> {
    let (mut trace, [_, load, math], warp) = one_warp();
    trace.sites[load.0 as usize].unit = Some("bytes".to_owned());
    region(&mut trace, warp, load, 0, 200.0, 500.0);
    last(&mut trace, warp).value = Some(Value::Unsigned(1 << 63));
    region(&mut trace, warp, math, 0, 600.0, 700.0);
    last(&mut trace, warp).value = Some(Value::Float(2.5));
    region(&mut trace, warp, math, 0, 800.0, 900.0);
    last(&mut trace, warp).value = Some(Value::Signed(-3));
    let sql = "SELECT s.name, a.key, a.display_value FROM slice s JOIN args a USING (arg_set_id) \
        WHERE a.key GLOB 'debug.*' AND s.name != 'gemm' ORDER BY s.ts, a.key";
    let facts = "SELECT a.key, a.display_value FROM slice s JOIN args a USING (arg_set_id) \
        WHERE a.key GLOB 'debug.*' AND s.name = 'gemm' ORDER BY a.key";
    let answers = ask(context, &trace, &[sql, facts])?;
    let bits = (1u64 << 63) as i64;
    let has = |answer: &[String], line: &str| answer.iter().any(|found| found == line);
    let largest = [(1_u64 << 63).to_string(), bits.to_string()];
    assert!(largest.iter().any(|it| has(&answers[0], &format!("load|debug.value|{it}"))));
    for line in ["load|debug.unit|bytes", "mma|debug.value|2.5", "mma|debug.value|-3"] {
        assert!(has(&answers[0], line), "{line} in {:?}", answers[0]);
    }
    for line in ["debug.sm|0", "debug.recorded_by|warp", "debug.clock|cycles of the SM"] {
        assert!(has(&answers[1], line), "{line} in {:?}", answers[1]);
    }
    Ok(())
}

fn weird_names(context: &Context) -> Result<(), Failed> {
    let long = "x".repeat(65_535);
    let names = [
        "a \"quoted\" 'name'",
        "two\nlines\ttab",
        "Größe 尺寸 🚀",
        "",
        "<b>%s</b> \\",
        long.as_str(),
    ];
    let (mut trace, warp) = lone_warp("kernel \"k\"\n🚀", 1000.0);
    for (at, name) in names.iter().enumerate() {
        let region_site = site(&mut trace, SiteKind::Region, name);
        let start = 10.0 * (at + 1) as f64;
        region(&mut trace, warp, region_site, 0, start, start + 5.0);
    }
    let nul = site(&mut trace, SiteKind::Region, "a\0b");
    region(&mut trace, warp, nul, 0, 500.0, 510.0);
    let sql = "SELECT coalesce(s.name, '') FROM slice s JOIN track t ON t.id = s.track_id \
        WHERE t.name != 'about this trace' AND s.depth = 1 ORDER BY s.ts";
    let answers = ask(context, &trace, &[sql, "SELECT name FROM process WHERE pid = 1"])?;
    assert_eq!(answers[0][..6], names);
    assert_eq!(answers[0][6], "a\u{2400}b");
    assert_eq!(answers[1], ["kernel \"k\"\n🚀, launch 0"]);
    Ok(())
}

fn no_launch(context: &Context) -> Result<(), Failed> {
    let answers = ask(
        context,
        &gpu(),
        &["SELECT name FROM process WHERE pid = 1", "SELECT count(*) FROM slice"],
    )?;
    assert_eq!(answers[0], ["no launch was recorded, NVIDIA H200"]);
    assert_eq!(answers[1], ["4"]);
    Ok(())
}

fn odd_times_load(context: &Context) -> Result<(), Failed> {
    let (mut trace, [_, load, math], warp) = one_warp();
    // Before the origin, without a number, beyond all measure, and ending before it begins.
    region(&mut trace, warp, load, 0, -50.5, 20.0);
    region(&mut trace, warp, math, 0, 300.0, 200.0);
    for (start, end) in [(400.0, f64::NAN), (500.0, f64::INFINITY), (600.0, 1e30)] {
        region(&mut trace, warp, load, 0, start, 0.0);
        last(&mut trace, warp).end = Some(profiler_trace::Time { ticks: 0, ns: end });
    }
    let answers = ask(
        context,
        &trace,
        &["SELECT count(*), min(ts) FROM slice WHERE name IN ('load', 'mma')"],
    )?;
    assert_eq!(answers[0], ["5|1"]);
    Ok(())
}
