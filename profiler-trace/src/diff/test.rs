//! The permutation test, and which of many tests are discoveries.

/// The number of regions of a unit and the sum of their durations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) count: f64,
    pub(super) sum: f64,
}

/// Groups that the smaller side keeps at least, if it has that many units.
const GROUPS: usize = 16;

/// Puts so many neighbours of both sides together that the smaller side keeps [`GROUPS`] or more;
/// gives how many. Never more on one side than on the other, as groups are dealt to both.
pub(super) fn group(a: &mut Vec<Sums>, b: &mut Vec<Sums>) -> usize {
    let size = (a.len().min(b.len()) / GROUPS).max(1);
    for side in [a, b] {
        let join = |units: &[Sums]| {
            units.iter().fold(Sums::default(), |all, unit| Sums {
                count: all.count + unit.count,
                sum: all.sum + unit.sum,
            })
        };
        *side = side.chunks(size).map(join).collect();
    }
    size
}

/// Sums over the units of a side.
#[derive(Clone, Copy, Default)]
struct Moments {
    units: f64,
    count: f64,
    count_squared: f64,
    sum: f64,
    sum_squared: f64,
    sum_by_count: f64,
}

impl Moments {
    fn of(units: &[Sums]) -> Self {
        units.iter().fold(Self::default(), |all, unit| Self {
            units: all.units + 1.0,
            count: all.count + unit.count,
            count_squared: all.count_squared + unit.count * unit.count,
            sum: all.sum + unit.sum,
            sum_squared: all.sum_squared + unit.sum * unit.sum,
            sum_by_count: all.sum_by_count + unit.sum * unit.count,
        })
    }

    /// The moments of the rest of all units.
    fn rest(&self, all: &Self) -> Self {
        Self {
            units: all.units - self.units,
            count: all.count - self.count,
            count_squared: all.count_squared - self.count_squared,
            sum: all.sum - self.sum,
            sum_squared: all.sum_squared - self.sum_squared,
            sum_by_count: all.sum_by_count - self.sum_by_count,
        }
    }

    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// The variance of the mean, by the deviations of the units from it (the ratio estimator's,
    /// linearised).
    fn variance(&self) -> f64 {
        let mean = self.mean();
        let squares =
            self.sum_squared - 2.0 * mean * self.sum_by_count + mean * mean * self.count_squared;
        let bessel = self.units / (self.units - 1.0);
        (bessel * squares / (self.count * self.count)).max(0.0)
    }
}

/// Hands that show as large a difference as was seen: after so many the p-value is known to a tenth.
const EXTREME_HANDS: u32 = 100;

/// The probability of so large a difference of means if the units are dealt to the sides at random,
/// with at most `most` hands. Each side has two units or more.
pub(super) fn p_value(a: &[Sums], b: &[Sums], most: u32, seed: u64) -> f64 {
    // The statistic has no sign, so the smaller side can be the one that is dealt.
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut units = [few, many].concat();
    // Without the common mean sums of squares do not cancel; the means' difference is rounded by it.
    let common = Moments::of(&units).mean();
    units.iter_mut().for_each(|unit| unit.sum -= common * unit.count);
    let all = Moments::of(&units);
    let difference_by_error = |hand: &[Sums]| {
        let hand = Moments::of(hand);
        let rest = hand.rest(&all);
        let difference = (hand.mean() - rest.mean()).abs();
        let variance = hand.variance() + rest.variance();
        if difference <= common.abs() * 1e-12 {
            0.0
        } else if variance <= difference * difference * 1e-12 {
            // No spread but for rounding.
            f64::INFINITY
        } else {
            difference / variance.sqrt()
        }
    };
    let seen = difference_by_error(&units[..few.len()]) * (1.0 - 1e-9);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut extreme = 0;
    for hand in 1..=most {
        for at in 0..few.len() {
            let other = random.usize(at..units.len());
            units.swap(at, other);
        }
        if difference_by_error(&units[..few.len()]) >= seen {
            extreme += 1;
            if extreme == EXTREME_HANDS {
                return f64::from(extreme) / f64::from(hand);
            }
        }
    }
    // What was seen is one of the hands.
    f64::from(extreme + 1) / (f64::from(most) + 1.0)
}

/// The smallest false discovery rate at which each test is a discovery, by Benjamini and Hochberg:
/// the i-th smallest of n p-values times n / i, and never more than that of a larger p-value.
pub(super) fn discovery_rates(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&left, &right| p[left].total_cmp(&p[right]));
    let mut rates = vec![0.0; p.len()];
    let mut least = 1.0f64;
    for (rank, &index) in order.iter().enumerate().rev() {
        least = least.min(p[index] * p.len() as f64 / (rank + 1) as f64);
        rates[index] = least;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::{Sums, discovery_rates, group, p_value};

    fn units(sums: &[f64]) -> Vec<Sums> {
        sums.iter().map(|&sum| Sums { count: 1.0, sum }).collect()
    }

    #[test]
    fn sides_that_lie_apart_have_the_smallest_p() {
        let (a, b) = (units(&[1.0, 2.0, 3.0, 4.0]), units(&[11.0, 12.0, 13.5, 14.0]));
        // Two of the 70 ways to deal four of eight.
        let p = p_value(&a, &b, 10_000, 0);
        assert!((p * 35.0 - 1.0).abs() < 0.4, "{p}");
        assert!(p_value(&a, &a, 10_000, 0) > 0.9);
        // On an emulator each duration may be the same: a difference is then beyond doubt.
        let p = p_value(&units(&[0.1; 6]), &units(&[0.2; 6]), 10_000, 0);
        assert!(p < 0.005, "{p}");
        assert_eq!(p_value(&units(&[0.1; 6]), &units(&[0.1; 6]), 10_000, 0), 1.0);
    }

    /// The mean is that of all regions, not that of the units' means.
    #[test]
    fn units_count_by_their_regions() {
        let many = |count: f64| Sums { count, sum: count * 10.0 };
        let a: Vec<_> = (0..8).map(|at| many(1.0 + f64::from(at))).collect();
        let b: Vec<_> = (0..8).map(|at| many(9.0 - f64::from(at))).collect();
        assert_eq!(p_value(&a, &b, 1000, 0), 1.0);
    }

    #[test]
    fn groups_are_as_large_on_both_sides_and_leave_enough() {
        for (of_a, of_b, size, left) in [
            (8, 1001, 1, (8, 1001)),
            (31, 31, 1, (31, 31)),
            (96, 96, 6, (16, 16)),
            (1001, 300, 18, (56, 17)),
        ] {
            let (mut a, mut b) = (units(&vec![1.0; of_a]), units(&vec![1.0; of_b]));
            assert_eq!(group(&mut a, &mut b), size);
            assert_eq!((a.len(), b.len()), left);
            assert_eq!(a.iter().map(|unit| unit.count).sum::<f64>(), of_a as f64);
        }
    }

    /// The 15 p-values of the example in Benjamini and Hochberg's paper, of which 4 are discoveries
    /// at 5 %.
    #[test]
    fn the_example_of_the_paper() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0000,
        ];
        let rates = discovery_rates(&p);
        assert_eq!(rates.iter().filter(|rate| **rate <= 0.05).count(), 4);
        assert!((rates[3] - 0.0095 * 15.0 / 4.0).abs() < 1e-12);
        assert_eq!(discovery_rates(&[0.5, 0.01]), [0.5, 0.02]);
    }
}
