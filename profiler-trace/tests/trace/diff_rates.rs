//! How often the comparison is wrong: many pairs of sides from one distribution, and from two.
//! All is seeded, so each run has the same counts. The bounds are where a test at 5 % lies with
//! 100 pairs: 5 are expected, and more than 12 or none have a chance of less than 1 in 100 each.

use crate::noise;

use noise::{MODEL, Model, Noise};
use profiler_trace::StatsQuery;
use profiler_trace::diff::{Diff, DiffOptions, Unit, diff};

const PAIRS: usize = 100;

fn options() -> DiffOptions {
    DiffOptions {
        query: StatsQuery::new().name("work*"),
        min_effect: 0.0,
        ..DiffOptions::default()
    }
}

/// What is said of one pair of sides after the other.
fn rows(a: Model, b: Model, count: usize, options: DiffOptions) -> impl Iterator<Item = Diff> {
    (1..=count as u64).map(move |pair| {
        let mut noise = Noise::new(pair);
        diff(&a.side(&mut noise), &b.side(&mut noise), &options).expect("usable options")
    })
}

/// In about 5 % of the pairs of sides from one distribution the mean has a p-value of 5 % or less.
#[test]
fn a_difference_that_is_none_is_rare() {
    let blocks = Model { launches: 1, of_launch: 0.0, ..MODEL };
    let drifting = Model { launches: 96, blocks: 1, regions: 4, launch_memory: 0.6, ..MODEL };
    let few = Model { blocks: 1, regions: 4, ..MODEL };
    for (a, b, unit, groups) in [
        // Launches that differ by themselves, and captures, and blocks.
        (MODEL, None, Unit::Launch, None),
        (Model { captures: 8, launches: 3, of_capture: 0.05, ..MODEL }, None, Unit::Capture, None),
        (Model { blocks: 48, regions: 20, ..blocks }, None, Unit::Block, None),
        // Blocks of an SM are alike, and SMs are not.
        (Model { blocks: 64, sms: 16, regions: 10, of_sm: 0.1, ..blocks }, None, Unit::Sm, None),
        // Launches that are like those before them.
        (Model { of_launch: 0.1, ..drifting }, None, Unit::Launch, None),
        // A side of a few launches beside one of many, with more regions each.
        (MODEL, Some(Model { launches: 20, regions: 60, ..MODEL }), Unit::Launch, None),
        // A few launches beside so many that they would be put together if those were not so few.
        (few, Some(Model { launches: 300, ..few }), Unit::Launch, Some(((8, 300), 1))),
    ] {
        let found = rows(a, b.unwrap_or(a), PAIRS, options()).filter(|result| {
            let row = &result.rows[0];
            assert_eq!(row.units, Some(unit));
            assert!(groups.is_none_or(|groups| groups == (row.unit_counts, row.group)));
            row.mean.p.expect("enough units") <= 0.05
        });
        let found = found.count();
        assert!((1..=12).contains(&found), "{unit:?}: {found} of {PAIRS}");
    }
}

/// Of 12 regions that are all the same, hardly ever is one reported.
#[test]
fn many_regions_without_a_change() {
    let model = Model { names: 12, regions: 6, blocks: 4, ..MODEL };
    let found = rows(model, model, 60, options()).filter(|result| {
        assert_eq!(result.rows.len(), 12);
        result.changed().next().is_some()
    });
    // 3 are expected at most; more than 8 have a chance of 1 in 200.
    let found = found.count();
    assert!(found <= 8, "{found} of 60");
}

/// 5 % more, in launches that differ by 3 % and regions that differ by 10 % by themselves.
#[test]
fn five_percent_are_found() {
    let model = Model { launches: 40, ..MODEL };
    let options = DiffOptions { min_effect: 0.01, ..options() };
    let slower = Model { scale: 1.05, ..model };
    let is_found = |result: &Diff| {
        let mean = &result.rows[0].mean;
        mean.is_change && mean.absolute > 0.0
    };
    let found = rows(model, slower, 60, options).filter(is_found).count();
    assert!(found >= 56, "{found} of 60");
}
