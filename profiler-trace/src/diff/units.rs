//! From durations to units, and from units to batches.

use std::collections::BTreeMap;

use super::options::Unit;
use super::permutation::UnitSums;
use super::side::{Durations, Place};
use super::{ENOUGH_UNITS, MOST_UNITS};

/// The figures under test: the sum of all durations, and how many lie above each quantile (those on
/// it count half).
pub(super) const FIGURES: usize = 4;

/// Units of a side that can be put together two by two with enough of them left for a test.
pub(super) const FEWEST_TO_BATCH: usize = 2 * ENOUGH_UNITS;

/// The units of a side, in order of time.
pub(super) type Units = Vec<UnitSums<FIGURES>>;

/// The number of a warp's unit on its side, below the unit's place in time.
fn key(unit: Unit, warp: u32, place: &Place) -> u32 {
    match unit {
        Unit::Capture => place.capture,
        Unit::Launch => place.launch,
        Unit::Sm => place.sm,
        Unit::Block => place.block,
        Unit::Warp => warp,
    }
}

/// How many units of a kind durations come from.
pub(super) fn count(durations: &Durations, places: &[Place], unit: Unit) -> usize {
    let key = |(warp, _): &(u32, u32)| key(unit, *warp, &places[*warp as usize]);
    let mut keys: Vec<u32> = durations.runs.iter().map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.len()
}

/// The units of durations; `above` are the quantiles above which they are counted.
pub(super) fn gather(
    durations: &Durations,
    places: &[Place],
    unit: Unit,
    above: [f64; FIGURES - 1],
) -> Units {
    // Captures and launches are numbered in their order; blocks and warps are told apart by the time
    // at which the first of each was seen to enter.
    let mut units: BTreeMap<u32, (f64, UnitSums<FIGURES>)> = BTreeMap::new();
    let mut from = 0;
    for &(warp, count) in &durations.runs {
        let place = &places[warp as usize];
        let (entry, unit) = units
            .entry(key(unit, warp, place))
            .or_insert_with(|| (place.entry_ns, UnitSums::default()));
        *entry = entry.min(place.entry_ns);
        let values = &durations.values[from..from + count as usize];
        from += count as usize;
        unit.count += f64::from(count);
        for value in values {
            unit.sums[0] += value;
            for (sum, above) in unit.sums[1..].iter_mut().zip(above) {
                // Half of what lies on it, as clocks have steps and much may.
                *sum += 0.5 * f64::from(u8::from(*value > above) + u8::from(*value >= above));
            }
        }
    }
    let mut units: Vec<_> =
        units.into_iter().map(|(key, (entry, sums))| (key, entry, sums)).collect();
    if matches!(unit, Unit::Block | Unit::Warp) {
        let launch = |key: u32| match unit {
            Unit::Warp => places[key as usize].launch,
            _ => places[places.partition_point(|place| place.block < key)].launch,
        };
        units.sort_by(|left, right| {
            launch(left.0).cmp(&launch(right.0)).then(left.1.total_cmp(&right.1))
        });
    }
    units.into_iter().map(|(_, _, sums)| sums).collect()
}

/// Captures or launches as units of which the mean is a count per launch: of each the launches of a
/// kernel, those without any of these durations too, and how many durations there are.
pub(super) fn counts(
    durations: &Durations,
    places: &[Place],
    launches: &[(u32, u32)],
    unit: Unit,
) -> Units {
    let key = |launch: u32, capture: u32| if unit == Unit::Capture { capture } else { launch };
    let mut units: BTreeMap<u32, UnitSums<FIGURES>> = BTreeMap::new();
    for &(launch, capture) in launches {
        units.entry(key(launch, capture)).or_default().count += 1.0;
    }
    for &(warp, count) in &durations.runs {
        let place = &places[warp as usize];
        let unit = units.entry(key(place.launch, place.capture)).or_default();
        unit.sums = unit.sums.map(|sum| sum + f64::from(count));
    }
    units.into_values().collect()
}

/// What became of units that follow each other in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// How many neighbours were put together.
    pub(super) size: usize,
    /// Whether neighbours may still be alike, and are too few to be put together.
    pub(super) is_alike: bool,
}

/// Puts neighbours in time together, on both sides alike, until they are few enough and no longer
/// depend on each other as far as can be seen, or half of them would be too few for a test. Never
/// more on one side than on the other: units of which one side has larger ones than the other cannot be
/// dealt to both (8 launches beside 75 batches of four found noise in 28 and 37 of 200 pairs, where 10
/// are right).
pub(super) fn batch(a: &mut Units, b: &mut Units, unit: Unit) -> Batch {
    // Neither captures nor SMs follow each other in time.
    if matches!(unit, Unit::Capture | Unit::Sm) {
        return Batch { size: 1, is_alike: false };
    }
    let is_alike = |a: &Units, b: &Units, quantile| {
        is_autocorrelated(a, quantile) || is_autocorrelated(b, quantile)
    };
    let mut size = 1;
    while a.len().min(b.len()) >= FEWEST_TO_BATCH
        && (a.len().max(b.len()) > MOST_UNITS || is_alike(a, b, ONCE_IN_FOUR))
    {
        halve(a);
        halve(b);
        size *= 2;
    }
    Batch { size, is_alike: is_alike(a, b, ONCE_IN_TWENTY) }
}

/// Puts neighbours of one side together until there are at most [`MOST_UNITS`], for what holds no unit
/// of one side against one of the other.
pub(super) fn bound(units: &mut Units) {
    while units.len() > MOST_UNITS {
        halve(units);
    }
}

/// Puts neighbours together two by two.
fn halve(units: &mut Units) {
    *units = units.chunks(2).map(join).collect();
}

fn join(units: &[UnitSums<FIGURES>]) -> UnitSums<FIGURES> {
    units.iter().fold(UnitSums::default(), |joined, unit| UnitSums {
        count: joined.count + unit.count,
        sums: std::array::from_fn(|at| joined.sums[at] + unit.sums[at]),
    })
}

/// What white noise exceeds once in four times, in standard deviations: neighbours above it are put
/// together. To put together what need not be costs little; to leave what should be makes noise a
/// discovery.
const ONCE_IN_FOUR: f64 = 0.674;
/// The same of once in twenty times: neighbours above it that are too few to be put together are told of.
const ONCE_IN_TWENTY: f64 = 1.645;

/// Whether neighbours may be alike: the autocorrelation of lag one of the units' means, or of their
/// shares above the median, lies above this quantile of white noise's.
fn is_autocorrelated(units: &Units, quantile: f64) -> bool {
    let of = |figure: usize| {
        let mean = |unit: &UnitSums<FIGURES>| unit.sums[figure] / unit.count;
        let count = units.len() as f64;
        let common = units.iter().map(mean).sum::<f64>() / count;
        let deviations: Vec<f64> = units.iter().map(|unit| mean(unit) - common).collect();
        let squares: f64 = deviations.iter().map(|deviation| deviation * deviation).sum();
        let products: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
        // Its expectation without any correlation is a little below 0.
        let expected = -1.0 / count;
        squares > 0.0 && products / squares - expected > quantile / count.sqrt()
    };
    of(0) || of(1)
}

#[cfg(test)]
mod tests {
    use super::{
        Batch, FIGURES, MOST_UNITS, ONCE_IN_FOUR, Unit, UnitSums, Units, batch, bound,
        is_autocorrelated,
    };

    fn units(values: impl IntoIterator<Item = f64>) -> Units {
        let unit = |value| UnitSums { count: 1.0, sums: [value; FIGURES] };
        values.into_iter().map(unit).collect()
    }

    #[test]
    fn what_drifts_is_put_together() {
        // Long waves: 64 values of each of two heights in turn.
        let wave = |at: usize| if (at / 16).is_multiple_of(2) { 1.0 } else { 2.0 };
        let mut a = units((0..128).map(wave));
        assert!(is_autocorrelated(&a, ONCE_IN_FOUR));
        let mut b = a.clone();
        let batched = |size| Batch { size, is_alike: false };
        assert_eq!(batch(&mut a, &mut b, Unit::Launch), batched(8));
        assert_eq!((a.len(), a[0].count), (16, 8.0));
        // SMs have no order.
        let mut c = units((0..128).map(wave));
        assert_eq!(batch(&mut c.clone(), &mut c, Unit::Sm), batched(1));
    }

    #[test]
    fn what_jumps_is_left_and_what_is_much_is_put_together() {
        let jump = |at: usize| f64::from(u8::from(at.is_multiple_of(2)));
        let (mut a, mut b) = (units((0..64).map(jump)), units((0..64).map(jump)));
        assert_eq!(batch(&mut a, &mut b, Unit::Block), Batch { size: 1, is_alike: false });
        let (mut a, mut b) = (units((0..1001).map(jump)), units((0..300).map(jump)));
        assert_eq!(batch(&mut a, &mut b, Unit::Block), Batch { size: 8, is_alike: false });
        assert_eq!((a.len(), b.len()), (126, 38));
        assert_eq!(a.iter().map(|unit| unit.count).sum::<f64>(), 1001.0);
    }

    /// More on one side once left too few on the other.
    #[test]
    fn what_is_much_beside_little_leaves_enough_of_both() {
        let jump = |at: usize| f64::from(u8::from(at.is_multiple_of(2)));
        for (of_a, of_b, left, size) in [
            (8, 1001, (8, 1001), 1),
            (1001, 8, (1001, 8), 1),
            (20, 1001, (10, 501), 2),
            (6, 128, (6, 128), 1),
            (3, 129, (3, 129), 1),
        ] {
            let (mut a, mut b) = (units((0..of_a).map(jump)), units((0..of_b).map(jump)));
            assert_eq!(batch(&mut a, &mut b, Unit::Block).size, size, "{of_a} and {of_b}");
            assert_eq!((a.len(), b.len()), left);
            bound(&mut b);
            assert!(b.len() <= MOST_UNITS, "{}", b.len());
            assert_eq!(b.iter().map(|unit| unit.count).sum::<f64>(), of_b as f64);
        }
    }

    #[test]
    fn what_drifts_and_is_little_is_left_and_told() {
        let drift = |count: usize| units((0..count).map(|at| at as f64));
        for (of_a, of_b) in [(11, 11), (40, 6), (6, 40)] {
            let (mut a, mut b) = (drift(of_a), drift(of_b));
            assert_eq!(batch(&mut a, &mut b, Unit::Launch), Batch { size: 1, is_alike: true });
            assert_eq!((a.len(), b.len()), (of_a, of_b));
        }
        // What is enough to begin with may be too little later.
        let (mut a, mut b) = (drift(20), drift(20));
        assert_eq!(batch(&mut a, &mut b, Unit::Launch), Batch { size: 2, is_alike: true });
        assert_eq!(a.len(), 10);
        let jump = |at: usize| f64::from(u8::from(at.is_multiple_of(2)));
        let (mut a, mut b) = (units((0..8).map(jump)), units((0..8).map(jump)));
        let apart = Batch { size: 1, is_alike: false };
        assert_eq!(batch(&mut a, &mut b, Unit::Launch), apart);
        assert_eq!(batch(&mut drift(8), &mut drift(8), Unit::Sm), apart);
    }
}
