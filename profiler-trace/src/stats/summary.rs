//! Summaries of sets of durations.

use super::Summary;

/// A sum whose error does not grow with the number of terms: the rounding error of each addition is
/// kept and added in the end (A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation
/// endlicher Summen", 1974).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost += if self.sum.abs() >= value.abs() {
            (self.sum - sum) + value
        } else {
            (value - sum) + self.sum
        };
        self.sum = sum;
    }

    pub(crate) fn value(self) -> f64 {
        // What an infinite sum lost is infinity less infinity, which is no number.
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sum = Self::default();
        values.into_iter().for_each(|value| sum.add(value));
        sum
    }
}

/// The index of a percentile among sorted values, by nearest rank. There must be a value.
pub(crate) fn rank(count: usize, percent: usize) -> usize {
    // In whole numbers, as 0.95 of 20 must be 19 and not a little more.
    let rank = (count as u128 * percent as u128).div_ceil(100);
    (rank.max(1) - 1) as usize
}

/// Percentiles of values, of which there must be one at least, without sorting them: the values left
/// of one that was found are the smaller ones, and hold the next. The percentages must fall.
pub(crate) fn percentiles<const N: usize>(values: &mut [f64], percents: [usize; N]) -> [f64; N] {
    let count = values.len();
    let mut end = count;
    let mut last = None;
    percents.map(|percent| {
        let rank = rank(count, percent);
        match last {
            // The values left of the last one are all smaller or equal; it itself is in place.
            Some((at, found)) if at == rank => found,
            _ => {
                let (_, found, _) = values[..end].select_nth_unstable_by(rank, f64::total_cmp);
                (end, last) = (rank, Some((rank, *found)));
                *found
            }
        }
    })
}

/// Summarizes durations, whose order is lost, and the time that all warps spent: the mean of it is that of
/// one warp.
pub(super) fn summarize(values: &mut [f64], spent: f64) -> Summary {
    if values.is_empty() {
        return Summary::default();
    }
    let count = values.len() as f64;
    let total = values.iter().copied().collect::<Sum>().value();
    let mean = total / count;
    let squares: Sum = values.iter().map(|value| (value - mean).powi(2)).collect();
    let smallest =
        |left: f64, right: f64| if right.total_cmp(&left).is_lt() { right } else { left };
    let largest = |left: f64, right: f64| if right.total_cmp(&left).is_gt() { right } else { left };
    let min = values.iter().copied().fold(values[0], smallest);
    let max = values.iter().copied().fold(values[0], largest);
    let standard_deviation =
        if values.len() > 1 { (squares.value() / (count - 1.0)).sqrt() } else { 0.0 };
    let [p99, p95, p50] = percentiles(values, [99, 95, 50]);
    Summary { total, mean, standard_deviation, min, p50, p95, p99, max, mean_per_warp: spent }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Sum, percentiles, rank};

    #[test]
    fn a_sum_keeps_what_each_addition_rounds_away() {
        let values = [1e16, 1.0, 1.0, -1e16];
        assert_eq!(values.iter().sum::<f64>(), 0.0);
        assert_eq!(values.into_iter().collect::<Sum>().value(), 2.0);
        assert_eq!(std::iter::repeat_n(0.1, 10_000_000).collect::<Sum>().value(), 1e6);
    }

    #[test]
    fn a_sum_that_is_not_finite_is_the_plain_one() {
        let sum = |values: [f64; 3]| values.into_iter().collect::<Sum>().value();
        assert_eq!(sum([1.0, f64::INFINITY, 2.0]), f64::INFINITY);
        assert_eq!(sum([f64::NEG_INFINITY, 1.0, 2.0]), f64::NEG_INFINITY);
        assert_eq!(sum([f64::MAX, f64::MAX, -1.0]), f64::INFINITY);
        assert!(sum([f64::INFINITY, 1.0, f64::NEG_INFINITY]).is_nan());
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_values(
            mut values in proptest::collection::vec(-1e9f64..1e9, 1..300),
        ) {
            let mut sorted = values.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let percents = [100, 99, 95, 95, 50, 1, 0];
            let found = percentiles(&mut values, percents);
            for (percent, found) in percents.into_iter().zip(found) {
                prop_assert_eq!(found, sorted[rank(sorted.len(), percent)]);
                let not_above = sorted.iter().filter(|value| **value <= found).count();
                prop_assert!(not_above * 100 >= percent * sorted.len());
            }
        }
    }
}
