//! The anchors of an SM as far as they bound straight lines, and the slopes that fit them best.

use super::{NOMINAL, Point, SLOPES, difference};

/// The anchors of one SM: all that matters to a line is their convex hull.
#[derive(Debug)]
pub(super) struct Hull {
    /// From the earliest to the latest anchor, by the timer.
    range_ns: f64,
    /// `(cycles since first, ns)` of the upper and of the lower chain.
    upper: Vec<(f64, f64)>,
    lower: Vec<(f64, f64)>,
}

impl Hull {
    /// Of points of one SM in order of their clock, of which there is at least one.
    pub(super) fn new(points: &[Point]) -> Self {
        let first = points[0];
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        let (mut earliest, mut latest) = (f64::INFINITY, f64::NEG_INFINITY);
        for point in points {
            let at = (difference(point.clock, first.clock), point.ns);
            earliest = earliest.min(point.ns);
            latest = latest.max(point.ns);
            extend_chain(&mut upper, at, 1.0);
            extend_chain(&mut lower, at, -1.0);
        }
        Self { range_ns: latest - earliest, upper, lower }
    }

    /// The points with the largest and with the smallest residual.
    fn extremes(&self, p: f64) -> [(f64, f64); 2] {
        let residual = |point: &&(f64, f64)| point.1 - p * point.0;
        let by =
            |left: &&(f64, f64), right: &&(f64, f64)| residual(left).total_cmp(&residual(right));
        let highest = self.upper.iter().max_by(by).copied().unwrap_or_default();
        let lowest = self.lower.iter().min_by(by).copied().unwrap_or_default();
        [highest, lowest]
    }

    /// The largest residual less the smallest one.
    pub(super) fn spread(&self, p: f64) -> f64 {
        let [highest, lowest] = self.extremes(p);
        (highest.1 - p * highest.0) - (lowest.1 - p * lowest.0)
    }

    /// The time at the first anchor: the middle of `highest residual .. lowest residual + step`.
    pub(super) fn offset(&self, p: f64, step: f64) -> f64 {
        let [highest, lowest] = self.extremes(p);
        f64::midpoint(highest.1 - p * highest.0, lowest.1 - p * lowest.0 + step)
    }
}

/// Adds a point to a convex chain: the upper one for `sign` 1, the lower one for -1.
fn extend_chain(chain: &mut Vec<(f64, f64)>, point: (f64, f64), sign: f64) {
    while let [.., before, last] = chain[..] {
        let turn =
            (last.0 - before.0) * (point.1 - before.1) - (last.1 - before.1) * (point.0 - before.0);
        if turn * sign < 0.0 {
            break;
        }
        chain.pop();
    }
    chain.push(point);
}

/// All slopes that minimize the sum of the SMs' spreads.
pub(super) fn least_spread(hulls: &[Hull]) -> (f64, f64) {
    // The sum's derivative by the slope never decreases. Its zero is an interval, found from
    // both sides.
    let derivative = |p: f64| -> f64 {
        hulls
            .iter()
            .map(|hull| {
                let [highest, lowest] = hull.extremes(p);
                lowest.0 - highest.0
            })
            .sum()
    };
    let bisect = |is_left: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (*SLOPES.start(), *SLOPES.end());
        if !is_left(derivative(low)) {
            return low;
        }
        if is_left(derivative(high)) {
            return high;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if is_left(derivative(middle)) { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    };
    let low = bisect(&|derivative| derivative < 0.0);
    let high = bisect(&|derivative| derivative <= 0.0);
    (low.min(high), high.max(low))
}

/// The slope for all SMs, and whether it is known at all: some SM must have been observed over
/// several steps of the timer. The more SMs, the less each must tell.
pub(super) fn pooled_slope(hulls: &[Hull], step: f64) -> (f64, bool) {
    let longest = hulls.iter().map(|hull| hull.range_ns).fold(0.0, f64::max);
    let observed = hulls.iter().filter(|hull| hull.range_ns > longest / 2.0).count();
    // Relative error of the slope, as if the SMs' quantization errors were independent; infinite
    // where nothing was observed.
    let error = step / longest / (observed as f64).sqrt();
    let (low, high) = least_spread(hulls);
    // Where the limit of what is believed fits as well as any other slope, none is known.
    let is_within = low > *SLOPES.start() && high < *SLOPES.end();
    if !is_within || error > 0.25 {
        return (NOMINAL, false);
    }
    let slope = f64::midpoint(low, high);
    (slope, error <= 0.05)
}

/// The slope nearest to `pooled` by which an SM's spread is a step of the timer, or hardly more than
/// by the slope that fits the SM best.
pub(super) fn own_slope(hull: &Hull, pooled: f64, step: f64) -> f64 {
    let (low, high) = least_spread(std::slice::from_ref(hull));
    let best = pooled.clamp(low, high);
    let bound = step.max(hull.spread(best) + step / 4.0);
    if hull.spread(pooled) <= bound {
        return pooled;
    }
    // The spread never decreases on the way from the best slope to the pooled one.
    let (mut within, mut beyond) = (best, pooled);
    for _ in 0..60 {
        let middle = f64::midpoint(within, beyond);
        if hull.spread(middle) <= bound { within = middle } else { beyond = middle }
    }
    within
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: f64 = 32.0;

    /// Of readings of one SM: cycles, and nanoseconds.
    fn hull(readings: &[(u64, f64)]) -> Hull {
        let points: Vec<Point> =
            readings.iter().map(|&(clock, ns)| Point { sm: 0, clock, ns }).collect();
        Hull::new(&points)
    }

    /// A line of two readings.
    fn line(cycles: u64, ns: f64) -> Hull {
        hull(&[(7, 100.0), (7 + cycles, 100.0 + ns)])
    }

    fn assert_near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} and not {expected}");
    }

    #[test]
    fn all_slopes_between_two_sms_fit_them_alike() {
        let (low, high) = least_spread(&[line(1_000, 500.0), line(1_000, 600.0)]);
        assert_near(low, 0.5);
        assert_near(high, 0.6);
        let (slope, known) = pooled_slope(&[line(10_000, 5e3), line(10_000, 6e3)], STEP);
        assert!(known);
        assert_near(slope, 0.55);
        // The longer one decides.
        let (low, high) = least_spread(&[line(1_001, 500.5), line(1_000, 600.0)]);
        assert_near(low, 0.5);
        assert_near(high, 0.5);
    }

    #[test]
    fn a_slope_is_known_from_how_long_how_many_sms_were_observed() {
        let of = |lines: &[(usize, f64)]| {
            let hulls: Vec<Hull> = lines
                .iter()
                .flat_map(|&(sms, ns)| (0..sms).map(move |_| line(2 * ns as u64, ns)))
                .collect();
            pooled_slope(&hulls, STEP)
        };
        let nothing = (NOMINAL, false);
        let expected = |slope: f64, is_known: bool, lines: &[(usize, f64)]| {
            let (found, known) = of(lines);
            assert_near(found, slope);
            assert_eq!(known, is_known, "{lines:?}");
        };
        assert_eq!(of(&[]), nothing);
        // A step in 20 is known well, one in 4 to go on with.
        expected(0.5, true, &[(1, 640.0)]);
        expected(0.5, false, &[(1, 638.0)]);
        let quarter = pooled_slope(&[line(100, 128.0)], STEP);
        assert_near(quarter.0, 1.28);
        assert!(!quarter.1);
        assert_eq!(pooled_slope(&[line(100, 127.0)], STEP), nothing);
        // Many SMs tell what one does not; those that were observed for half as long tell nothing.
        expected(0.5, true, &[(16, 160.0)]);
        expected(0.5, true, &[(2, 500.0)]);
        expected(0.5, false, &[(1, 500.0), (1, 250.0)]);
        expected(0.5, true, &[(1, 500.0), (1, 252.0)]);
        expected(0.5, false, &[(1, 500.0), (16, 100.0)]);
    }

    #[test]
    fn a_slope_that_is_not_believed_is_not_known() {
        let nothing = (NOMINAL, false);
        // A timer that stood still, one that ran on while the clock stood still, and what is slower
        // or faster than any clock.
        for readings in [(10_000, 0.0), (0, 1e6), (1_000_000, 1e3), (100, 1e6)] {
            assert_eq!(pooled_slope(&[line(readings.0, readings.1)], STEP), nothing);
        }
        // Two that contradict each other, of which one is not believed.
        for (cycles, ns, other) in [(100_000, 1e3, 5e4), (1_000, 5e2, 1e6)] {
            assert_eq!(pooled_slope(&[line(cycles, ns), line(cycles, other)], STEP), nothing);
        }
    }

    #[test]
    fn an_sm_keeps_as_near_to_the_pooled_slope_as_its_readings_allow() {
        let steady = line(10_000, 5e3);
        assert_near(own_slope(&steady, 0.5, STEP), 0.5);
        // By a slope that is off by 0.002, the two readings lie apart by 20 ns.
        assert_near(own_slope(&steady, 0.502, STEP), 0.502);
        assert_near(own_slope(&steady, 0.51, STEP), 0.5032);
        assert_near(own_slope(&steady, 0.49, STEP), 0.4968);
        // One reading was late by 40 ns, so that no line passes all within a step: a quarter of a step
        // more is allowed.
        let late = hull(&[(7, 100.0), (5_007, 2_640.0), (5_007, 2_600.0), (10_007, 5_100.0)]);
        assert_near(late.spread(0.5), 40.0);
        for pooled in [0.49, 0.51] {
            let own = own_slope(&late, pooled, STEP);
            assert_near(late.spread(own), 48.0);
            assert_near((own - pooled).abs(), 0.01 - 48.0 / 5e3 + 40.0 / 5e3);
        }
    }
}
