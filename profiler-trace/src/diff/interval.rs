//! A confidence interval of the ratio of two means.

use super::permutation::{Moments, UnitSums};
use super::random::Random;

/// How often units are drawn anew.
const DRAWS: usize = 2000;

/// Units a side that an interval needs.
const FEWEST: usize = 4;

/// A 95 % interval of the ratio of figure 0's means, less 1, by the bootstrap-t method on the
/// logarithm of the ratio: units are drawn with replacement, and each draw's deviation is divided by
/// its own standard error. `None` where there are too few units or no logarithm.
pub(super) fn interval<const M: usize>(
    a: &[UnitSums<M>],
    b: &[UnitSums<M>],
    random: &mut Random,
) -> Option<(f64, f64)> {
    if a.len().min(b.len()) < FEWEST {
        return None;
    }
    let first = |units: &[UnitSums<M>]| -> Vec<UnitSums<1>> {
        let first = |unit: &UnitSums<M>| UnitSums { count: unit.count, sums: [unit.sums[0]] };
        units.iter().map(first).collect()
    };
    let (a, b) = (&first(a), &first(b));
    let (ratio, error) = log_ratio(&Moments::of(a), &Moments::of(b))?;
    // Draws among units without any spread have none either; the interval is then a point.
    if error <= 1e-12 {
        return Some((ratio.exp_m1(), ratio.exp_m1()));
    }
    let mut drawn = (Vec::with_capacity(a.len()), Vec::with_capacity(b.len()));
    let mut deviations = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        draw(a, &mut drawn.0, random);
        draw(b, &mut drawn.1, random);
        if let Some((drawn, own)) = log_ratio(&Moments::of(&drawn.0), &Moments::of(&drawn.1))
            && own > 1e-12
        {
            deviations.push((drawn - ratio) / own);
        }
    }
    // Few units have many draws of one unit alone, which have no error to divide by.
    if deviations.len() < DRAWS / 2 {
        return None;
    }
    deviations.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| deviations[((deviations.len() - 1) as f64 * share) as usize];
    let (low, high) = (quantile(0.025), quantile(0.975));
    Some(((ratio - high * error).exp_m1(), (ratio - low * error).exp_m1()))
}

/// The logarithm of the ratio of the means of B and A, and its standard error.
fn log_ratio(a: &Moments<1>, b: &Moments<1>) -> Option<(f64, f64)> {
    let (mean_a, mean_b) = (a.mean(0), b.mean(0));
    let ratio = (mean_b / mean_a).ln();
    let variance = a.variance(0) / (mean_a * mean_a) + b.variance(0) / (mean_b * mean_b);
    (ratio.is_finite() && variance.is_finite()).then(|| (ratio, variance.sqrt()))
}

fn draw<T: Copy>(units: &[T], drawn: &mut Vec<T>, random: &mut Random) {
    drawn.clear();
    drawn.extend((0..units.len()).map(|_| units[random.below(units.len())]));
}
