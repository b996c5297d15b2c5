//! Every table fits the terminal, whatever names and figures are in it, and is whole elsewhere.

use crate::support;

use std::fmt::Display;
use std::slice::from_ref;

use profiler_trace::diff::{DiffOptions, diff};
use profiler_trace::{GroupBy, StatsQuery, Trace, Value};
use profiler_wire::SiteKind;
use unicode_width::UnicodeWidthStr;

use support::{hand_over, last, launched, lone_warp, mark, region, site, warp, whole};

/// Four names that differ at their ends alone, and places that do.
fn trace(name: &str, long: f64) -> Trace {
    let mut trace = launched(&format!("{name}_kernel"), [9, 9, 9], 0.0, long);
    let sites: Vec<_> = (0..4)
        .map(|number| site(&mut trace, SiteKind::Region, &format!("{name}_{number}")))
        .collect();
    let again = site(&mut trace, SiteKind::Region, &format!("{name}_0"));
    trace.sites[again.0 as usize].file = format!("src/{name}/{name}/deep.rs");
    trace.sites[sites[0].0 as usize].unit = Some(name.to_owned());
    let signal = site(&mut trace, SiteKind::Signal, &format!("{name}_full"));
    let waited = site(&mut trace, SiteKind::Wait, &format!("{name}_full"));
    let producer = warp(&mut trace, [0, 0, 0], 0, 0.0, long);
    let consumer = warp(&mut trace, [8, 8, 8], 31, 0.0, long);
    for of in [producer, consumer] {
        for (depth, site) in sites.iter().chain([&again]).enumerate() {
            let edge = depth as f64 * long / 20.0;
            region(&mut trace, of, *site, depth as u16, edge, long - edge);
            last(&mut trace, of).value = Some(Value::Unsigned(u64::MAX));
        }
    }
    hand_over(&mut trace, (producer, signal, long / 2.0), (consumer, waited, long / 1.9), 1);
    let counted = site(&mut trace, SiteKind::Mark, &format!("{name}_counted"));
    trace.sites[counted.0 as usize].unit = Some("bytes".to_owned());
    for value in [1, u64::MAX] {
        mark(&mut trace, producer, counted, long / 3.0, value);
    }
    trace
}

/// Every table that there is of a trace, under its name.
fn tables(trace: &Trace) -> Vec<(&'static str, Box<dyn Display>)> {
    let by = |group| trace.stats_of(&StatsQuery::new().by(group));
    let other = trace.clone();
    let compared =
        diff(from_ref(trace), &[other], &DiffOptions::default()).expect("usable options");
    vec![
        ("sites", Box::new(trace.stats())),
        ("paths", Box::new(by(GroupBy::Path))),
        ("warps", Box::new(by(GroupBy::Warp))),
        ("balance", Box::new(trace.balance(0).expect("a launch"))),
        ("waits", Box::new(trace.waits(0).expect("a launch"))),
        ("critical path", Box::new(trace.critical_path(0).expect("a launch"))),
        ("diff", Box::new(compared)),
    ]
}

/// The lines of a text that are those of tables.
fn rows(text: &str) -> Vec<&str> {
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with([' ', '─', '═'])).collect();
    assert!(rows.len() > 4, "{text}");
    rows
}

#[test]
fn every_table_fits_its_terminal() {
    let names = ["load".to_owned(), "a_very_long_name".repeat(20), "載入資料".repeat(30)];
    for (name, long) in names.iter().flat_map(|name| [(name, 1234.5), (name, 1e18)]) {
        let trace = trace(name, long);
        for (table, shown) in tables(&trace) {
            for columns in [40, 60, 80, 120] {
                let text = format!("{shown:columns$}");
                for line in rows(&text) {
                    assert!(
                        line.width() <= columns,
                        "{table}, {columns}: {}\n{text}",
                        line.width()
                    );
                }
            }
            assert_eq!(whole(&*shown), format!("{shown:5000}"), "{table}");
        }
    }
}

#[test]
fn names_stay_apart_and_figures_go_by_rank() {
    let trace = trace(&"a_very_long_name".repeat(2), 1234.5);
    for columns in [40, 60, 80] {
        let text = format!("{:columns$}", trace.stats());
        let names: Vec<&str> = rows(&text).into_iter().filter(|row| row.contains('…')).collect();
        for number in 1..4 {
            let end = format!("ame_{number}");
            assert_eq!(names.iter().filter(|row| row.contains(&end)).count(), 1, "{end}:\n{text}");
        }
        // What a region is called, and how long it lasts, is never left out.
        let header = rows(&text)[1];
        assert!(header.contains("region") && header.contains("mean"), "{text}");
        let left_out = text.lines().find_map(|line| line.strip_prefix("no room for: "));
        let (left_out, _) = left_out.and_then(|line| line.split_once(';')).expect("not all fits");
        let left_out: Vec<&str> = left_out.split(", ").collect();
        let ranks =
            ["std dev", "per warp", "p95", "total", "throughput", "p99", "p50", "max", "count"];
        assert_eq!(left_out, ranks[..left_out.len()]);
        // No more than has to be: with the last one the name would be cut too short.
        assert!(left_out.len() < ranks.len() || columns == 40, "{columns}:\n{text}");
    }
}

#[test]
fn regions_deep_in_others_keep_their_names() {
    let (mut trace, of) = lone_warp("kernel", 1e6);
    for depth in 0..40_u16 {
        let of_depth = site(&mut trace, SiteKind::Region, &format!("deep{depth}"));
        let edge = f64::from(depth) * 100.0;
        region(&mut trace, of, of_depth, depth, edge, 1e6 - edge);
    }
    let stats = trace.stats_of(&StatsQuery::new().by(GroupBy::Path));
    let text = format!("{stats:60}");
    assert!(rows(&text).iter().all(|line| line.width() <= 60), "{text}");
    assert!((0..40).all(|depth| text.contains(&format!("╰─ deep{depth} "))), "{text}");
}
