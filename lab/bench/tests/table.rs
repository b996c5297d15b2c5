//! The table and the picture of results that a GPU gave.

use std::path::Path;

use profiler_bench::plot;
use profiler_bench::point::Point;
use profiler_bench::results::Results;
use profiler_bench::table::{
    COMBINATIONS_TEXT, Extent, PICTURE, RESULTS, TEXTS, insert, picture, table, texts,
};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A few lines of a run on an H200.
fn sample() -> Results {
    let text = include_str!("../testdata/record-cost.jsonl");
    Results::parse(text, "testdata/record-cost.jsonl").expect("results")
}

#[test]
fn the_summary_has_short_bodies_and_one_block() {
    let expected = "\
| cycles a region, 1 block an SM | 1 warp, 8 FMAs | 8 warps, 8 FMAs | 32 warps, 8 FMAs | bytes | registers |
|---|---:|---:|---:|---:|---:|
| this profiler | 29 | 42 | 140 | 16 | 30 |
| this profiler, `by = elected` | 85 | 107 | - | 16 | 30 |
| two clock reads and nothing else | 0 | 2 | 28 | - | 25 |
| Proton, shared buffer, `clock32` | 11 | 16 | 61 | 16 | 27 to 36 |
| transformer_nuggets, CuTe DSL | 484 | 495 | 528 | 32 | 23 |

NVIDIA H200, driver 580.159.04, 2026-11-21T07:07:39Z, sources cab234a8e61a2841415079b0dc7791589160c6db (with changes).
";
    assert_eq!(table(&sample(), Extent::Summary), expected);
}

#[test]
fn the_whole_table_says_what_failed_and_what_is_doubtful() {
    let mut results = sample();
    results.header.clock_mhz = Some(2000);
    for point in results.points.iter_mut().filter(|point| point.scheme == "default") {
        point.kernel_ns_per_region = point.cycles_per_region;
        if point.warps == 32 {
            point.r2 = Some(0.5);
        }
    }
    let text = table(&results, Extent::All);
    let lines = |begin: &str| -> Vec<&str> {
        text.lines().filter(|line| line.starts_with(begin)).collect()
    };
    assert_eq!(
        lines("| cycles a region"),
        [
            "| cycles a region, 1 block an SM | 1 warp, 8 FMAs | 8 warps, 8 FMAs | 32 warps, 8 FMAs | \
             8 warps, 128 FMAs | bytes | registers |",
            "| cycles a region by the time of whole kernels, 4 blocks an SM | 4 warps, 8 FMAs | \
             8 warps, 128 FMAs | bytes | registers |",
        ]
    );
    let globaltimer = lines("| `globaltimer`");
    assert_eq!(globaltimer[0], "| `globaltimer` | failed | failed | 140 | 43 | 16 | 30 |");
    let default = lines("| `default`");
    assert_eq!(default[0], "| `default` | 29 | 42 | 140\\* | 43 | 16 | 30 |");
    assert_eq!(default[1], "| `default` | 139 | 337 | 16 | 30 |");
    assert_eq!(lines("\\* The points do not lie on a line: R² below 0.92.").len(), 1);
}

#[test]
fn each_number_of_blocks_has_a_table_of_its_own() {
    let mut results = sample();
    results.header.clock_mhz = Some(2000);
    let drawn = plot::svg(&results);
    for (body, cycles) in [(8, 201.4), (128, 198.6)] {
        let of_two = |scheme: &str, cycles: f64| Point {
            scheme: scheme.to_owned(),
            warps: 32,
            body,
            blocks_per_sm: 2,
            cycles_per_region: Some(150.0),
            cycles_per_region_longest: Some(170.0),
            kernel_ns_per_region: Some(cycles / 2.0),
            bytes_per_region: Some(16.0),
            registers: Some(32),
            ..Point::default()
        };
        results.points.push(of_two("default", cycles));
        results.points.push(of_two("flashinfer", cycles - 10.0));
    }
    let text = table(&results, Extent::All);
    let tables: Vec<&str> = text.split("\n\n").collect();
    assert_eq!(tables.len(), 4, "three tables and what they are of: {text}");
    let expected = "\
| cycles a region by the time of whole kernels, 2 blocks an SM | 32 warps, 8 FMAs | 32 warps, 128 FMAs | bytes | registers |
|---|---:|---:|---:|---:|
| `default` | 201 | 199 | 16 | 32 |
| `flashinfer` | 191 | 189 | 16 | 32 |";
    assert_eq!(tables[1], expected);
    assert!(tables[0].starts_with("| cycles a region, 1 block an SM"), "{text}");
    assert!(tables[2].contains("whole kernels, 4 blocks an SM"), "{text}");
    assert_eq!(table(&results, Extent::Summary), table(&sample(), Extent::Summary));
    assert_eq!(plot::svg(&results), drawn, "the picture is of one block an SM");
}

#[test]
fn tables_stand_between_their_marks() {
    let text = "before\n<!-- record-cost table: summary -->\nold\n<!-- record-cost table: end -->\n\
        between\n<!-- record-cost table: all -->\n<!-- record-cost table: end -->\nbehind\n";
    let results = sample();
    let once = insert(text, &results).expect("there are marks");
    assert!(!once.contains("old"));
    assert!(once.starts_with("before\n") && once.contains("\nbetween\n"), "{once}");
    assert!(once.ends_with("\n<!-- record-cost table: end -->\nbehind\n"), "{once}");
    let [summary, all] =
        [Extent::Summary, Extent::All].map(|extent| once.find(&table(&results, extent)));
    assert!(summary.expect("the summary") < all.expect("the whole table"));
    assert_eq!(
        insert(&once, &results).expect("marks are kept"),
        once,
        "a second time changes nothing"
    );
}

#[test]
fn the_table_of_a_buffer_is_left_where_it_was_not_measured() {
    let text = "<!-- record-cost table: buffer = global -->\nold\n<!-- record-cost table: end -->\n\
        <!-- record-cost table: buffer = host -->\nold\n<!-- record-cost table: end -->\n";
    let mut results = sample();
    results.points.retain(|point| point.scheme == "default");
    for point in &mut results.points {
        point.scheme = "thread-cycles-mark-host".to_owned();
    }
    let of_host = insert(text, &results).expect("there is a mark");
    let (global, host) = of_host.split_once("<!-- record-cost table: end -->").expect("an end");
    assert_eq!(global, "<!-- record-cost table: buffer = global -->\nold\n");
    assert!(host.contains(&table(&results, Extent::Host)) && !host.contains("old"), "{host}");
    let error = insert(global, &results).expect_err("no end");
    assert!(error.contains("`<!-- record-cost table: end -->` is missing"), "{error}");
    let only_global = format!("{global}<!-- record-cost table: end -->");
    let error = insert(&only_global, &results).expect_err("no table of these results");
    assert!(error.contains("all -->` or `<!-- record-cost table: buffer = host -->`,"), "{error}");
}

#[test]
fn a_text_without_marks_is_refused() {
    let error = insert("nothing", &sample()).expect_err("no marks");
    assert!(
        error.contains("put a line of `<!-- record-cost table: summary -->` or `<!-- "),
        "{error}"
    );
    let error = insert("<!-- record-cost table: all -->", &sample()).expect_err("no end");
    assert!(error.contains("`<!-- record-cost table: end -->` is missing"), "{error}");
}

#[test]
fn the_picture_has_a_line_for_each_scheme() {
    let svg = plot::svg(&sample()).expect("a picture");
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    for label in ["two clock reads", "this profiler", "Proton, shared buffer, clock32", "CuTe DSL"]
    {
        assert!(svg.contains(label), "{label} is in the legend");
    }
    assert!(!svg.contains("globaltimer"), "only the summary is drawn");
    assert_eq!(plot::svg(&sample()), Ok(svg), "the picture of the same results is the same");
    let none = Results { points: Vec::new(), ..sample() };
    assert_eq!(plot::svg(&none), Err("there is no point to draw".to_owned()));
}

#[test]
fn each_measurement_has_texts_of_its_own() {
    assert_eq!((texts(&sample()), picture(&sample())), (&TEXTS[..], Some(PICTURE)));
    let line = r#"{"measurement":"record-combinations","date":"","gpu":"","sm_count":1,"driver":"","commit":""}"#;
    let combinations = Results::parse(line, "combinations.jsonl").expect("a file without points");
    assert_eq!((texts(&combinations), picture(&combinations)), (&[COMBINATIONS_TEXT][..], None));
    let error = Results::parse(&line.replace("record-combinations", "launch"), "launch.jsonl");
    let error = error.expect_err("no costs of regions").to_string();
    assert!(error.contains("it holds `launch`, neither `record-cost` nor"), "{error}");
}

/// Where one block is on an SM the whole kernel takes what its longest warp takes. Where blocks share an SM
/// only the kernel's time can be compared, and this is why it can be believed.
fn events_say_what_loops_say(results: &Results) {
    let mut compared = 0;
    for point in results.points.iter().filter(|point| point.blocks_per_sm == 1) {
        let (Some(kernel), Some(longest)) =
            (results.kernel_cycles(point), point.cycles_per_region_longest)
        else {
            panic!("{} lacks a time: {point:?}", point.scheme);
        };
        // Over the bus a launch has fewer iterations, and a region takes thousands of cycles.
        let allowed = if point.scheme.contains("host") { 20.0 + 0.02 * longest } else { 5.0 };
        assert!(
            (kernel - longest).abs() <= allowed,
            "{} of {} warps, {} FMAs: {kernel:.1} cycles by events, {longest:.1} of its longest warp",
            point.scheme,
            point.warps,
            point.body
        );
        compared += 1;
    }
    assert!(compared > 0, "nothing was compared");
}

/// Committed tables and picture are those of the committed results. While there are none, there must
/// be no table either.
#[test]
fn what_is_committed_is_of_the_committed_results() {
    let path = root().join(RESULTS);
    if !path.is_file() {
        assert!(!root().join(PICTURE).is_file(), "{PICTURE} is there without {RESULTS}");
        return;
    }
    let results = Results::read(&path).expect("results");
    let help = "run `cargo lab cost-table lab/measurements/record-cost.jsonl`";
    for text in TEXTS {
        let committed = std::fs::read_to_string(root().join(text)).expect(text);
        let made = insert(&committed, &results).expect(text);
        assert!(made == committed, "{text} is not of {RESULTS}: {help}");
    }
    events_say_what_loops_say(&results);
    let picture = std::fs::read_to_string(root().join(PICTURE)).expect(PICTURE);
    assert!(picture == plot::svg(&results).expect("a picture"), "{PICTURE} is not: {help}");
}
