//! From durations to rows.

use std::collections::{BTreeMap, HashMap};

use super::options::Unit;
use super::side::{DiffSide, Durations, Place};
use super::test::{self, Sums};
use super::{DiffRow, ENOUGH_UNITS, Figures, Part, Subject, Verdict};
use crate::progress::Progress;

/// Permutations for each row: more if there are so many rows that a single change among them could
/// not be found otherwise.
const PERMUTATIONS: u32 = 10_000;
const MOST_PERMUTATIONS: u32 = 1_000_000;

pub(super) fn rows(a: &DiffSide, b: &DiffSide) -> Vec<DiffRow> {
    let only_b = b.subjects.iter().filter(|subject| !a.durations.contains_key(*subject));
    let mut subjects: Vec<&Subject> = a.subjects.iter().chain(only_b).collect();
    // Rows of a kernel together: kernels as they came, in each the launches, the kernel, regions.
    let mut kernels: HashMap<&str, usize> = HashMap::new();
    for subject in &subjects {
        let next = kernels.len();
        kernels.entry(&subject.kernel).or_insert(next);
    }
    let rank = |part: &Part| match part {
        Part::Launches => 0,
        Part::Warps => 1,
        Part::Region(_) => 2,
    };
    subjects.sort_by_key(|subject| (kernels[&*subject.kernel], rank(&subject.part)));
    let needed = 10.0 * subjects.len() as f64 / a.options.false_discovery_rate;
    let permutations = PERMUTATIONS.max((needed as u32).min(MOST_PERMUTATIONS));
    Progress::expect("rows compared", subjects.len());
    let mut rows: Vec<DiffRow> = Progress::each(subjects)
        .enumerate()
        .map(|(seed, subject)| row((a, b), subject, permutations, seed as u64))
        .collect();
    let p: Vec<f64> = rows.iter().filter_map(|row| row.p).collect();
    let tested = rows.iter_mut().filter(|row| row.p.is_some());
    for (row, rate) in tested.zip(test::discovery_rates(&p)) {
        row.q = Some(rate);
        row.is_change =
            rate <= a.options.false_discovery_rate && row.is_large(a.options.min_effect);
        row.verdict = match row.is_change {
            false => Verdict::NoChange,
            true if row.absolute > 0.0 => Verdict::Slower,
            true => Verdict::Faster,
        };
    }
    rows
}

fn row(sides: (&DiffSide, &DiffSide), subject: &Subject, permutations: u32, seed: u64) -> DiffRow {
    let (a, b) = (sides.0.durations.get(subject), sides.1.durations.get(subject));
    let mut row = DiffRow {
        subject: subject.clone(),
        in_cycles: a.or(b).is_some_and(|of| of.in_cycles),
        a: a.map(|of| figures(sides.0, subject, of)),
        b: b.map(|of| figures(sides.1, subject, of)),
        absolute: 0.0,
        relative: None,
        p: None,
        q: None,
        is_change: false,
        units: None,
        unit_counts: (0, 0),
        group: 1,
        verdict: Verdict::TooFew,
    };
    let (Some(a), Some(b), Some(of_a), Some(of_b)) = (a, b, row.a, row.b) else {
        row.verdict = if a.is_some() { Verdict::OnlyA } else { Verdict::OnlyB };
        return row;
    };
    if a.is_mixed || b.is_mixed || a.in_cycles != b.in_cycles {
        row.verdict = Verdict::OtherClock;
    } else if of_a.count > 0 && of_b.count > 0 {
        row.absolute = of_b.mean - of_a.mean;
        row.relative = match (of_a.mean, of_b.mean) {
            (0.0, 0.0) => Some(0.0),
            (0.0, _) => None,
            (of_a, of_b) => Some(of_b / of_a - 1.0),
        };
        let kinds: &[Unit] = match subject.part {
            Part::Launches => &[Unit::Capture, Unit::Launch],
            _ => &Unit::ALL,
        };
        for &unit in kinds {
            let mut of_a = units(a, &sides.0.warps, unit);
            let mut of_b = units(b, &sides.1.warps, unit);
            if of_a.len().min(of_b.len()) < ENOUGH_UNITS {
                continue;
            }
            // Neither captures nor SMs follow each other in time.
            if !matches!(unit, Unit::Capture | Unit::Sm) {
                row.group = test::group(&mut of_a, &mut of_b);
            }
            row.units = Some(unit);
            row.unit_counts = (of_a.len(), of_b.len());
            row.p = Some(test::p_value(&of_a, &of_b, permutations, seed));
            break;
        }
    }
    row
}

/// The units of durations, in order of time.
fn units(durations: &Durations, places: &[Place], unit: Unit) -> Vec<Sums> {
    let mut units: BTreeMap<u32, (u32, f64, Sums)> = BTreeMap::new();
    for run in &durations.runs {
        let place = &places[run.warp as usize];
        let key = match unit {
            Unit::Capture => place.capture,
            Unit::Launch => place.launch,
            Unit::Sm => place.sm,
            Unit::Block => place.block,
            Unit::Warp => run.warp,
        };
        let (_, entry, sums) =
            units.entry(key).or_insert((place.launch, place.entry_ns, Sums::default()));
        *entry = entry.min(place.entry_ns);
        sums.count += f64::from(run.count);
        sums.sum += run.sum;
    }
    let mut units: Vec<_> = units.into_values().collect();
    units.sort_by(|left, right| left.0.cmp(&right.0).then(left.1.total_cmp(&right.1)));
    units.into_iter().map(|(_, _, sums)| sums).collect()
}

fn figures(side: &DiffSide, subject: &Subject, of: &Durations) -> Figures {
    let count: u64 = of.runs.iter().map(|run| u64::from(run.count)).sum();
    let sum: f64 = of.runs.iter().map(|run| run.sum).sum();
    let launches = side.launches.get(&subject.kernel).copied().unwrap_or_default();
    Figures {
        count,
        open: of.open,
        count_per_launch: if launches > 0 { count as f64 / launches as f64 } else { 0.0 },
        // Cycles and nanoseconds together have no mean.
        mean: if count > 0 && !of.is_mixed { sum / count as f64 } else { 0.0 },
    }
}
