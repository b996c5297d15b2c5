//! The permutation test.

use super::random::Random;

/// What one unit gives: how many regions, and for each figure under test their sum (of durations, or
/// of those above a quantile).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct UnitSums<const M: usize> {
    pub(super) count: f64,
    pub(super) sums: [f64; M],
}

impl<const M: usize> Default for UnitSums<M> {
    fn default() -> Self {
        Self { count: 0.0, sums: [0.0; M] }
    }
}

/// Sums over the units of a side, about a common mean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments<const M: usize> {
    units: f64,
    count: f64,
    count_squared: f64,
    sum: [f64; M],
    sum_squared: [f64; M],
    sum_by_count: [f64; M],
}

impl<const M: usize> Moments<M> {
    pub(super) fn of<'u>(units: impl IntoIterator<Item = &'u UnitSums<M>>) -> Self {
        let mut moments = Self {
            units: 0.0,
            count: 0.0,
            count_squared: 0.0,
            sum: [0.0; M],
            sum_squared: [0.0; M],
            sum_by_count: [0.0; M],
        };
        for unit in units {
            moments.units += 1.0;
            moments.count += unit.count;
            moments.count_squared += unit.count * unit.count;
            for figure in 0..M {
                let sum = unit.sums[figure];
                moments.sum[figure] += sum;
                moments.sum_squared[figure] += sum * sum;
                moments.sum_by_count[figure] += sum * unit.count;
            }
        }
        moments
    }

    /// What the rest of all units has.
    fn rest(&self, all: &Self) -> Self {
        let less = |all: [f64; M], own: [f64; M]| std::array::from_fn(|at| all[at] - own[at]);
        Self {
            units: all.units - self.units,
            count: all.count - self.count,
            count_squared: all.count_squared - self.count_squared,
            sum: less(all.sum, self.sum),
            sum_squared: less(all.sum_squared, self.sum_squared),
            sum_by_count: less(all.sum_by_count, self.sum_by_count),
        }
    }

    /// The mean of a figure: the ratio of sum and count.
    pub(super) fn mean(&self, figure: usize) -> f64 {
        self.sum[figure] / self.count
    }

    /// The variance of that mean, by the deviations of the units from it (the ratio estimator's,
    /// linearised).
    pub(super) fn variance(&self, figure: usize) -> f64 {
        let mean = self.mean(figure);
        let squares = self.sum_squared[figure] - 2.0 * mean * self.sum_by_count[figure]
            + mean * mean * self.count_squared;
        let bessel = self.units / (self.units - 1.0);
        (bessel * squares / (self.count * self.count)).max(0.0)
    }
}

/// Takes the common mean out of the units, so that sums of squares do not cancel; gives it, and how
/// large a difference of means is rounding at most.
pub(super) fn centre<const M: usize>(units: &mut [UnitSums<M>]) -> ([f64; M], [f64; M]) {
    let all = Moments::of(units.iter());
    let means = std::array::from_fn(|figure| all.mean(figure));
    for unit in units {
        for (sum, mean) in unit.sums.iter_mut().zip(means) {
            *sum -= mean * unit.count;
        }
    }
    (means, means.map(|mean| mean.abs() * 1e-12))
}

/// The difference of the two sides' means by its standard error, without its sign.
fn statistic<const M: usize>(a: &Moments<M>, b: &Moments<M>, nothing: &[f64; M]) -> [f64; M] {
    std::array::from_fn(|figure| {
        let difference = (b.mean(figure) - a.mean(figure)).abs();
        let variance = a.variance(figure) + b.variance(figure);
        if difference <= nothing[figure] {
            0.0
        } else if variance <= difference * difference * 1e-12 {
            // No spread but for rounding.
            f64::INFINITY
        } else {
            difference / variance.sqrt()
        }
    })
}

/// Dealing at random ends for a figure when this many hands were as extreme as what was seen: then
/// its p-value is known to a tenth.
const EXTREME_HANDS: u32 = 100;

/// The p-values of all figures: how likely it is that so large a difference comes from dealing the
/// units to the sides at random. Each side has two units at least.
pub(super) fn test<const M: usize>(
    a: &[UnitSums<M>],
    b: &[UnitSums<M>],
    most: u32,
    random: &mut Random,
) -> [f64; M] {
    // The statistic has no sign, so the smaller side can be the one that is dealt: of many units beside
    // few that costs as much as of few.
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let few_count = few.len();
    let mut units: Vec<UnitSums<M>> = few.iter().chain(many).copied().collect();
    let (_, nothing) = centre(&mut units);
    let all = Moments::of(units.iter());
    let of = |hand: Moments<M>| statistic(&hand, &hand.rest(&all), &nothing);
    // The same way of adding up as in the hands, so that a hand that is the same is as extreme.
    let seen = of(Moments::of(&units[..few_count])).map(|seen| seen * (1.0 - 1e-9));
    match ways(units.len(), few_count, u64::from(most)) {
        Some(ways) => {
            let mut extreme = [0u64; M];
            each_hand(units.len(), few_count, |hand| {
                let found = of(Moments::of(hand.iter().map(|&unit| &units[unit])));
                for figure in 0..M {
                    extreme[figure] += u64::from(found[figure] >= seen[figure]);
                }
            });
            extreme.map(|extreme| extreme as f64 / ways as f64)
        }
        None => {
            let mut extreme = [0; M];
            let mut p = [None; M];
            for hand in 1..=most {
                random.deal(&mut units, few_count);
                let found = of(Moments::of(&units[..few_count]));
                for figure in 0..M {
                    if p[figure].is_none() && found[figure] >= seen[figure] {
                        extreme[figure] += 1;
                        if extreme[figure] == EXTREME_HANDS {
                            p[figure] = Some(f64::from(EXTREME_HANDS) / f64::from(hand));
                        }
                    }
                }
                if p.iter().all(Option::is_some) {
                    break;
                }
            }
            // What was seen is one of the hands.
            let rest = |figure: usize| f64::from(extreme[figure] + 1) / (f64::from(most) + 1.0);
            std::array::from_fn(|figure| p[figure].unwrap_or_else(|| rest(figure)))
        }
    }
}

/// In how many ways `count` of `all` can be chosen, if not more than `most`.
pub(super) fn ways(all: usize, count: usize, most: u64) -> Option<u64> {
    let mut ways = 1u64;
    for chosen in 0..count.min(all - count) {
        // Each step is a number of ways itself, hence whole.
        ways = ways * (all - chosen) as u64 / (chosen as u64 + 1);
        if ways > most {
            return None;
        }
    }
    Some(ways)
}

/// Every choice of `count` of `all`, in order.
fn each_hand(all: usize, count: usize, mut each: impl FnMut(&[usize])) {
    let mut hand: Vec<usize> = (0..count).collect();
    loop {
        each(&hand);
        let Some(at) = (0..count).rev().find(|&at| hand[at] < all - count + at) else { return };
        hand[at] += 1;
        for behind in at + 1..count {
            hand[behind] = hand[behind - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Random, UnitSums, each_hand, test, ways};

    fn units(sums: &[f64]) -> Vec<UnitSums<1>> {
        sums.iter().map(|&sum| UnitSums { count: 1.0, sums: [sum] }).collect()
    }

    #[test]
    fn all_hands_once() {
        assert_eq!(ways(12, 6, 1000), Some(924));
        assert_eq!(ways(12, 6, 923), None);
        assert_eq!(ways(300, 150, u64::from(u32::MAX)), None);
        let mut hands = Vec::new();
        each_hand(5, 3, |hand| hands.push(hand.to_vec()));
        assert_eq!(hands.len(), 10);
        assert!(hands.is_sorted() && hands.iter().all(|hand| hand.is_sorted()));
    }

    #[test]
    fn sides_that_lie_apart_have_the_smallest_p() {
        let mut random = Random::new(0, 0);
        let (a, b) = (units(&[1.0, 2.0, 3.0, 4.0]), units(&[11.0, 12.0, 13.5, 14.0]));
        assert_eq!(test(&a, &b, 1000, &mut random), [2.0 / 70.0]);
        // Dealt at random, the same within the error of 100 hands (a tenth, times 4).
        let mut twelve = |most| {
            let side = |from: f64| units(&[0.0, 1.0, 0.5, 2.0, 1.5, 0.1].map(|at| at + from));
            test(&side(0.0), &side(0.9), most, &mut random)[0]
        };
        let (exact, dealt) = (twelve(1000), twelve(900_000 / 1000));
        assert!((dealt / exact - 1.0).abs() < 0.4, "{exact} {dealt}");
    }

    #[test]
    fn no_spread_at_all() {
        let mut random = Random::new(0, 0);
        let same = units(&[0.1; 6]);
        assert_eq!(test(&same, &same, 1000, &mut random), [1.0]);
        // On an emulator each duration may be the same: a difference is then beyond doubt.
        let p = test(&same, &units(&[0.2; 6]), 1000, &mut random);
        assert_eq!(p, [2.0 / 924.0]);
    }

    /// The mean is that of all regions, not that of the units' means.
    #[test]
    fn units_count_by_their_regions() {
        let mut random = Random::new(0, 0);
        let many = |count: f64, each: f64| UnitSums { count, sums: [count * each] };
        let a: Vec<_> = (0..8).map(|at| many(1.0 + f64::from(at), 10.0)).collect();
        let b: Vec<_> = (0..8).map(|at| many(9.0 - f64::from(at), 10.0)).collect();
        assert_eq!(test(&a, &b, 1000, &mut random), [1.0]);
    }
}
