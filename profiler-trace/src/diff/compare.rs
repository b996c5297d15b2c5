//! The comparison itself.

use std::collections::HashMap;

use super::options::{DiffError, DiffOptions, Unit};
use super::permutation::{self, Moments, UnitSums};
use super::random::Random;
use super::side::{DiffSide, Durations};
use super::units::{self, FIGURES, Units};
use super::{Change, Diff, DiffRow, ENOUGH_UNITS, Figures, Subject, TimeUnit, Verdict};
use super::{discovery, interval};
use crate::progress::Progress;
use crate::stats::summary::{Sum, percentiles};

/// Permutations at most, however many rows there are.
const MOST_PERMUTATIONS: u32 = 1_000_000;

pub(super) fn compare(a: &DiffSide, b: &DiffSide) -> Result<Diff, DiffError> {
    if a.options != b.options {
        return Err(DiffError::OptionsDiffer);
    }
    let options = &a.options;
    let only_b = b.subjects.iter().filter(|subject| !a.durations.contains_key(*subject));
    let mut subjects: Vec<&Subject> = a.subjects.iter().chain(only_b).collect();
    // Rows of a kernel together: kernels as they came, in each the launches, the kernel, regions.
    let mut kernels: HashMap<&str, usize> = HashMap::new();
    for subject in &subjects {
        let next = kernels.len();
        kernels.entry(subject.kernel()).or_insert(next);
    }
    let rank = |of: &Subject| match of {
        Subject::Launch { .. } => 0,
        Subject::Kernel { .. } => 1,
        Subject::Region { .. } => 2,
    };
    subjects.sort_by_cached_key(|subject| (kernels[subject.kernel()], rank(subject)));
    let both = subjects.iter().filter(|subject| b.durations.contains_key(**subject)).count();
    // Beside the figures of time the count is tested.
    let tests = both * (FIGURES + 1);
    let comparison = Comparison { a, b, permutations: permutations(options, tests) };
    let mut rows: Vec<Tested> = Vec::with_capacity(subjects.len());
    Progress::expect(subjects.len());
    for (stream, subject) in Progress::each(subjects).enumerate() {
        let random = Random::new(options.seed, stream as u64);
        rows.push(comparison.row(subject, random));
    }
    discover(&mut rows, a, b);
    let devices_differ = a.facts.emulated != b.facts.emulated
        || (a.facts.captures > 0 && b.facts.captures > 0 && {
            let mut names = [a.facts.devices.clone(), b.facts.devices.clone()];
            names.iter_mut().for_each(|names| names.sort_unstable());
            names[0] != names[1] || names[0].len() > 1
        });
    let is_damaged = [a, b].iter().any(|side| side.facts.lost > 0 || !side.facts.errors.is_empty());
    let rows: Vec<DiffRow> = rows.into_iter().map(|tested| tested.row).collect();
    let notes = super::notes::notes(a, b, &rows, devices_differ);
    Ok(Diff {
        rows,
        a: a.facts.clone(),
        b: b.facts.clone(),
        notes,
        devices_differ,
        is_damaged,
        options: options.clone(),
    })
}

/// As many as it takes for one test among so many to be a discovery, with a margin.
fn permutations(options: &DiffOptions, tests: usize) -> u32 {
    let needed = 10.0 * tests as f64 / options.false_discovery_rate;
    options.permutations.max((needed as u32).min(MOST_PERMUTATIONS))
}

/// A row before all p-values are known.
struct Tested {
    row: DiffRow,
    /// Whether coarser units, which are too few for a test, contradict a change of times.
    is_contradicted: bool,
    /// The same of the count.
    is_count_contradicted: bool,
}

struct Comparison<'s> {
    a: &'s DiffSide,
    b: &'s DiffSide,
    permutations: u32,
}

impl Comparison<'_> {
    fn row(&self, subject: &Subject, mut random: Random) -> Tested {
        let (a, b) = (self.a.durations.get(subject), self.b.durations.get(subject));
        // The array of each side and of both is needed once, for quantiles, which lose the order.
        let mut scratch = Vec::new();
        let figures = |side: &DiffSide, of: Option<&Durations>, scratch: &mut Vec<f64>| {
            of.map(|of| figures(side, subject, of, scratch))
        };
        let unit = a.or(b).map_or(TimeUnit::Nanoseconds, |of| of.unit);
        let mut row = DiffRow {
            subject: subject.clone(),
            unit,
            a: figures(self.a, a, &mut scratch),
            b: figures(self.b, b, &mut scratch),
            count: Change::default(),
            mean: Change::default(),
            p50: Change::default(),
            p95: Change::default(),
            p99: Change::default(),
            interval: None,
            units: None,
            unit_counts: (0, 0),
            batch: 1,
            is_alike: false,
            verdict: Verdict::TooFew,
        };
        let mut is_contradicted = false;
        let mut is_count_contradicted = false;
        row.verdict = match (a, b) {
            (Some(_), None) => Verdict::OnlyA,
            (None, Some(_)) => Verdict::OnlyB,
            (Some(a), Some(b)) if a.is_mixed || b.is_mixed || a.unit != b.unit => {
                Verdict::OtherClock
            }
            (Some(a), Some(b)) if !a.values.is_empty() && !b.values.is_empty() => {
                is_contradicted = self.test(&mut row, a, b, &mut scratch, &mut random);
                is_count_contradicted = self.test_count(&mut row, a, b, &mut random);
                if row.mean.p.is_some() { Verdict::NoChange } else { Verdict::TooFew }
            }
            _ => Verdict::TooFew,
        };
        Tested { row, is_contradicted, is_count_contradicted }
    }

    /// Sets the changes and their p-values; gives whether coarser units contradict them.
    fn test(
        &self,
        row: &mut DiffRow,
        a: &Durations,
        b: &Durations,
        scratch: &mut Vec<f64>,
        random: &mut Random,
    ) -> bool {
        if let (Some(of_a), Some(of_b)) = (&row.a, &row.b) {
            row.count = change(of_a.count_per_launch, of_b.count_per_launch);
            row.mean = change(of_a.mean, of_b.mean);
            row.p50 = change(of_a.p50, of_b.p50);
            row.p95 = change(of_a.p95, of_b.p95);
            row.p99 = change(of_a.p99, of_b.p99);
        }
        let kinds: &[Unit] = match row.subject {
            Subject::Launch { .. } => &[Unit::Capture, Unit::Launch],
            _ => &Unit::ALL,
        };
        let counts = |unit: Unit| {
            let (a, b) =
                (units::count(a, &self.a.warps, unit), units::count(b, &self.b.warps, unit));
            a.min(b)
        };
        let unit = match self.a.options.unit {
            Some(unit) => kinds.contains(&unit).then_some(unit).filter(|unit| counts(*unit) >= 2),
            None => kinds.iter().copied().find(|unit| counts(*unit) >= ENOUGH_UNITS),
        };
        let Some(unit) = unit else { return false };
        scratch.clear();
        scratch.extend(a.values.iter().chain(&b.values));
        let [p99, p95, p50] = percentiles(scratch, [99, 95, 50]);
        let gather = |side: &DiffSide, of: &Durations, unit: Unit| {
            units::gather(of, &side.warps, unit, [p50, p95, p99])
        };
        let (mut of_a, mut of_b) = (gather(self.a, a, unit), gather(self.b, b, unit));
        let batch = units::batch(&mut of_a, &mut of_b, unit);
        row.batch = batch.size;
        row.is_alike |= batch.is_alike;
        row.units = Some(unit);
        row.unit_counts = (of_a.len(), of_b.len());
        let p = permutation::test(&of_a, &of_b, self.permutations, random);
        let changes = [&mut row.mean, &mut row.p50, &mut row.p95, &mut row.p99];
        for (change, p) in changes.into_iter().zip(p) {
            change.p = Some(p);
        }
        units::bound(&mut of_a);
        units::bound(&mut of_b);
        row.interval = interval::interval(&of_a, &of_b, random);
        kinds.iter().take_while(|coarser| **coarser < unit).any(|&coarser| {
            // An SM is no coarser kind of noise than its blocks: all SMs are there on both sides.
            coarser != Unit::Sm
                && counts(coarser) >= 2
                && overlap(&gather(self.a, a, coarser), &gather(self.b, b, coarser))
        })
    }

    /// Sets the p-value of the change of the count; gives whether captures, where launches were
    /// tested, contradict it. Only whole launches and captures hold all regions of theirs.
    fn test_count(
        &self,
        row: &mut DiffRow,
        a: &Durations,
        b: &Durations,
        random: &mut Random,
    ) -> bool {
        let kernel = row.subject.kernel();
        // A launch is there once, and what was lost cannot be counted.
        let lost = self.a.facts.lost > 0 || self.b.facts.lost > 0;
        if lost || matches!(row.subject, Subject::Launch { .. }) {
            return false;
        }
        let gather = |side: &DiffSide, of: &Durations, unit: Unit| {
            let launches = side.launches.get(kernel).map(Vec::as_slice).unwrap_or_default();
            units::counts(of, &side.warps, launches, unit)
        };
        let both = |unit: Unit| (gather(self.a, a, unit), gather(self.b, b, unit));
        let fewest = |(a, b): &(Units, Units)| a.len().min(b.len());
        let kinds = [Unit::Capture, Unit::Launch];
        let tested = match self.a.options.unit {
            Some(unit) if !kinds.contains(&unit) => None,
            Some(unit) => Some((unit, both(unit))).filter(|(_, units)| fewest(units) >= 2),
            None => kinds
                .map(|unit| (unit, both(unit)))
                .into_iter()
                .find(|(_, units)| fewest(units) >= ENOUGH_UNITS),
        };
        let Some((unit, (mut of_a, mut of_b))) = tested else { return false };
        let mean = |units: &UnitSums<FIGURES>| units.sums[0] / units.count;
        let first = mean(&of_a[0]);
        // What the program alone decides is no question for a test.
        if of_a.iter().chain(&of_b).all(|units| mean(units) == first) {
            return false;
        }
        row.is_alike |= units::batch(&mut of_a, &mut of_b, unit).is_alike;
        let [p, ..] = permutation::test(&of_a, &of_b, self.permutations, random);
        row.count.p = Some(p);
        let captures = both(Unit::Capture);
        unit == Unit::Launch && fewest(&captures) >= 2 && overlap(&captures.0, &captures.1)
    }
}

/// Whether the means of the units of the two sides lie among each other.
fn overlap(a: &Units, b: &Units) -> bool {
    let bounds = |units: &Units| {
        let means = units.iter().map(|unit| Moments::of([unit]).mean(0));
        means.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| {
            (low.min(mean), high.max(mean))
        })
    };
    let ((low_a, high_a), (low_b, high_b)) = (bounds(a), bounds(b));
    low_a <= high_b && low_b <= high_a
}

fn figures(side: &DiffSide, subject: &Subject, of: &Durations, scratch: &mut Vec<f64>) -> Figures {
    let count = of.values.len() as u64;
    let launches = side.launches.get(subject.kernel()).map_or(0, Vec::len);
    let mut figures = Figures {
        count,
        open: of.open,
        count_per_launch: if launches > 0 { count as f64 / launches as f64 } else { 0.0 },
        ..Figures::default()
    };
    // Cycles and nanoseconds together have no mean.
    if count > 0 && !of.is_mixed {
        figures.mean = of.values.iter().copied().collect::<Sum>().value() / count as f64;
        scratch.clear();
        scratch.extend_from_slice(&of.values);
        [figures.p99, figures.p95, figures.p50] = percentiles(scratch, [99, 95, 50]);
    }
    figures
}

fn change(a: f64, b: f64) -> Change {
    let relative = match (a, b) {
        (0.0, 0.0) => Some(0.0),
        (0.0, _) => None,
        _ => Some(b / a - 1.0),
    };
    Change { absolute: b - a, relative, ..Change::default() }
}

/// Says which changes are discoveries and large enough, and what becomes of the rows.
fn discover(rows: &mut [Tested], a: &DiffSide, b: &DiffSide) {
    let options = &a.options;
    let p: Vec<f64> = (rows.iter())
        .flat_map(|Tested { row, .. }| {
            std::iter::once(row.count.p).chain(row.tested().map(|(_, change)| change.p))
        })
        .flatten()
        .collect();
    let mut rates = discovery::rates(&p).into_iter();
    for Tested { row, is_contradicted, is_count_contradicted } in rows {
        // A quantile is a duration that was measured, so it moves by steps of the clock.
        let step = match row.unit {
            TimeUnit::Cycles => 1.0,
            TimeUnit::Nanoseconds => a.resolution_ns.max(b.resolution_ns),
        };
        let mut judge = |change: &mut Change, step: f64, is_contradicted: bool| {
            change.q = change.p.and_then(|_| rates.next());
            let is_found = change.q.is_some_and(|rate| rate <= options.false_discovery_rate);
            change.is_large = change.absolute.abs() > step
                && change.relative.is_none_or(|relative| relative.abs() >= options.min_effect);
            change.is_change = is_found && change.is_large && !is_contradicted;
        };
        judge(&mut row.count, 0.0, *is_count_contradicted);
        let mut grew = false;
        let mut fell = false;
        let changes = [
            (&mut row.mean, 0.0),
            (&mut row.p50, step),
            (&mut row.p95, step),
            (&mut row.p99, step),
        ];
        for (change, step) in changes {
            judge(change, step, *is_contradicted);
            grew |= change.is_change && change.absolute > 0.0;
            fell |= change.is_change && change.absolute < 0.0;
        }
        if row.verdict == Verdict::NoChange {
            row.verdict = match (grew, fell) {
                (false, false) => Verdict::NoChange,
                (true, false) => Verdict::Slower,
                (false, true) => Verdict::Faster,
                (true, true) => Verdict::Mixed,
            };
        }
    }
}
