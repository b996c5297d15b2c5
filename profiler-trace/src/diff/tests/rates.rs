//! How often the comparison is wrong: many pairs of sides from one distribution, and from two.
//! All is seeded, so each run has the same counts. The bounds are where a test at 5 % lies with
//! 200 pairs: 10 are expected, and more than 20 or fewer than 2 have a chance of 1 in 500 each.

use super::noise::{MODEL, Model, Noise};
use crate::diff::{Diff, DiffOptions, diff};
use crate::stats::StatsQuery;

const PAIRS: usize = 200;

fn options() -> DiffOptions {
    DiffOptions {
        query: StatsQuery::new().name("work*"),
        min_effect: 0.0,
        ..DiffOptions::default()
    }
}

/// Compares so many pairs of sides, each by a model; gives of how many a result `is_found`.
fn count(a: Model, b: Model, pairs: usize, mut is_found: impl FnMut(&Diff) -> bool) -> usize {
    let is_pair_found = |pair: &usize| {
        let mut noise = Noise::new(*pair as u64 + 1);
        let (a, b) = (a.side(&mut noise), b.side(&mut noise));
        is_found(&diff(&a, &b, &options()).expect("usable options"))
    };
    (0..pairs).filter(is_pair_found).count()
}

/// Whether the mean of the first row has a p-value of 5 % or less.
fn is_significant(result: &Diff) -> bool {
    result.rows[0].p.expect("enough units") <= 0.05
}

#[track_caller]
fn assert_nominal(found: usize) {
    assert!((2..=20).contains(&found), "{found} of {PAIRS}");
}

/// Sides of one distribution, by what differs in it by itself.
#[test]
fn sides_of_one_distribution() {
    let one_launch = Model { launches: 1, of_launch: 0.0, ..MODEL };
    for (model, units) in [
        (MODEL, "launches"),
        (Model { captures: 8, launches: 3, of_capture: 0.05, ..MODEL }, "captures"),
        (Model { blocks: 48, regions: 20, ..one_launch }, "blocks"),
        // Blocks of an SM are alike, and SMs are not.
        (Model { blocks: 64, sms: 16, regions: 10, of_sm: 0.1, ..one_launch }, "SMs"),
        // Launches that are like those before them.
        (
            Model {
                launches: 96,
                blocks: 1,
                regions: 4,
                launch_memory: 0.6,
                of_launch: 0.1,
                ..MODEL
            },
            "launches",
        ),
    ] {
        assert_nominal(count(model, model, PAIRS, |result| {
            assert_eq!(result.rows[0].units(), Some(units));
            is_significant(result)
        }));
    }
}

/// A side of a few launches beside one of many, with more regions each.
#[test]
fn sides_of_different_sizes() {
    let large = Model { launches: 20, regions: 60, ..MODEL };
    assert_nominal(count(MODEL, large, PAIRS, is_significant));
}

/// A few launches beside so many that they would be put together if those were not so few.
#[test]
fn few_launches_beside_many() {
    let few = Model { blocks: 1, regions: 4, ..MODEL };
    assert_nominal(count(few, Model { launches: 300, ..few }, PAIRS, |result| {
        assert_eq!((result.rows[0].unit_counts, result.rows[0].group), ((8, 300), 1));
        is_significant(result)
    }));
}

/// Of 12 regions that are all the same, hardly ever is one reported.
#[test]
fn many_regions_without_a_change() {
    let model = Model { names: 12, regions: 6, blocks: 4, ..MODEL };
    let found = count(model, model, 60, |result| {
        assert_eq!(result.rows.len(), 12);
        result.rows.iter().any(|row| row.is_change)
    });
    // 3 are expected at most; more than 8 have a chance of 1 in 200.
    assert!(found <= 8, "{found} of 60");
}

/// 5 % more, in launches that differ by 3 % and regions that differ by 10 % by themselves.
#[test]
fn five_percent_are_found() {
    let model = Model { launches: 40, ..MODEL };
    let slower = Model { scale: 1.05, ..model };
    let found = count(model, slower, 100, |result| {
        let row = &result.rows[0];
        row.is_change && row.is_large(0.01) && row.absolute > 0.0
    });
    assert!(found >= 95, "{found} of 100");
}
