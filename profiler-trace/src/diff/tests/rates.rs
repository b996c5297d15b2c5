//! How often the comparison is wrong: many pairs of sides from one distribution, and from two.
//! All is seeded, so each run has the same counts. The bounds are where a test at 5 % lies with
//! 200 pairs: 10 are expected, and more than 20 or fewer than 2 have a chance of 1 in 500 each.

use super::noise::{MODEL, Model, Noise};
use crate::diff::{DiffOptions, diff};
use crate::model::Trace;
use crate::stats::StatsQuery;

const PAIRS: usize = 200;

fn options() -> DiffOptions {
    DiffOptions {
        query: StatsQuery::new().name("work*"),
        min_effect: 0.0,
        ..DiffOptions::default()
    }
}

fn pairs(model: Model, count: usize, mut each: impl FnMut(&[Trace], &[Trace])) {
    for pair in 0..count {
        let mut noise = Noise::new(pair as u64 + 1);
        each(&model.side(&mut noise), &model.side(&mut noise));
    }
}

/// In how many pairs of sides from one distribution the mean has a p-value of 5 % or less.
fn false_positives(model: Model, options: &DiffOptions, unit: &str) -> usize {
    let mut found = 0;
    pairs(model, PAIRS, |a, b| {
        let result = diff(a, b, options).expect("usable options");
        let row = &result.rows[0];
        assert_eq!(row.units(), Some(unit));
        found += usize::from(row.p.expect("enough units") <= 0.05);
    });
    found
}

#[track_caller]
fn assert_nominal(found: usize) {
    assert!((2..=20).contains(&found), "{found} of {PAIRS}");
}

#[test]
fn launches_that_differ_by_themselves() {
    assert_nominal(false_positives(MODEL, &options(), "launches"));
}

/// What a test does that takes each region for a sample of its own: the reason for units.
#[test]
fn regions_as_samples_would_be_wrong_most_of_the_time() {
    let mut found = 0;
    pairs(MODEL, PAIRS, |a, b| {
        let durations = |traces: &[Trace]| -> Vec<f64> {
            let warps = traces.iter().flat_map(|trace| &trace.warps);
            let regions = warps.flat_map(|warp| &warp.regions);
            regions.filter_map(|region| Some(region.end?.ns - region.start.ns)).collect()
        };
        let moments = |values: &[f64]| {
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            (mean, squares / (count - 1.0) / count)
        };
        let ((mean_a, of_a), (mean_b, of_b)) = (moments(&durations(a)), moments(&durations(b)));
        found += usize::from((mean_a - mean_b).abs() / (of_a + of_b).sqrt() > 1.96);
    });
    assert!(found > PAIRS / 4, "{found}");
}

#[test]
fn captures_that_differ_by_themselves() {
    let model = Model { captures: 8, launches: 3, of_capture: 0.05, ..MODEL };
    assert_nominal(false_positives(model, &options(), "captures"));
}

#[test]
fn blocks_of_one_launch_that_differ() {
    let model = Model { launches: 1, blocks: 48, regions: 20, ..MODEL };
    let model = Model { of_launch: 0.0, ..model };
    assert_nominal(false_positives(model, &options(), "blocks"));
}

/// Blocks of an SM are alike, and SMs are not.
#[test]
fn sms_of_one_launch_that_differ() {
    let model = Model { launches: 1, blocks: 64, sms: 16, regions: 10, ..MODEL };
    let model = Model { of_launch: 0.0, of_sm: 0.1, ..model };
    assert_nominal(false_positives(model, &options(), "SMs"));
}

/// Launches that are like those before them.
#[test]
fn launches_that_drift() {
    let model = Model { launches: 96, blocks: 1, regions: 4, launch_memory: 0.6, ..MODEL };
    let model = Model { of_launch: 0.1, ..model };
    assert_nominal(false_positives(model, &options(), "launches"));
}

/// A side of a few launches beside one of many, with more regions each.
#[test]
fn sides_of_different_sizes() {
    let large = Model { launches: 20, regions: 60, ..MODEL };
    let mut found = 0;
    for pair in 0..PAIRS {
        let mut noise = Noise::new(pair as u64 + 1);
        let (a, b) = (MODEL.side(&mut noise), large.side(&mut noise));
        let result = diff(&a, &b, &options()).expect("usable options");
        found += usize::from(result.rows[0].p.expect("enough units") <= 0.05);
    }
    assert!((2..=20).contains(&found), "{found} of {PAIRS}");
}

/// A few launches beside so many that they would be put together if those were not so few.
#[test]
fn few_launches_beside_many() {
    let few = Model { blocks: 1, regions: 4, ..MODEL };
    let many = Model { launches: 300, ..few };
    let mut found = 0;
    for pair in 0..PAIRS {
        let mut noise = Noise::new(pair as u64 + 1);
        let (a, b) = (few.side(&mut noise), many.side(&mut noise));
        let result = diff(&a, &b, &options()).expect("usable options");
        let row = &result.rows[0];
        assert_eq!((row.unit_counts, row.group), ((8, 300), 1));
        found += usize::from(row.p.expect("enough units") <= 0.05);
    }
    assert_nominal(found);
}

/// Of 12 regions that are all the same, hardly ever is one reported.
#[test]
fn many_regions_without_a_change() {
    let model = Model { names: 12, regions: 6, blocks: 4, ..MODEL };
    let mut found = 0;
    pairs(model, 60, |a, b| {
        let result = diff(a, b, &options()).expect("usable options");
        assert_eq!(result.rows.len(), 12);
        found += usize::from(result.rows.iter().any(|row| row.is_change));
    });
    // 3 are expected at most; more than 8 have a chance of 1 in 200.
    assert!(found <= 8, "{found} of 60");
}

/// 5 % more, in launches that differ by 3 % and regions that differ by 10 % by themselves.
#[test]
fn five_percent_are_found() {
    let model = Model { launches: 40, ..MODEL };
    let slower = Model { scale: 1.05, ..model };
    let mut found = 0;
    const COUNT: usize = 100;
    for pair in 0..COUNT {
        let mut noise = Noise::new(pair as u64 + 1);
        let (a, b) = (model.side(&mut noise), slower.side(&mut noise));
        let options = DiffOptions { min_effect: 0.01, ..options() };
        let result = diff(&a, &b, &options).expect("usable options");
        let row = &result.rows[0];
        found += usize::from(row.is_change && row.absolute > 0.0);
    }
    assert!(found >= 95, "{found} of {COUNT}");
}
