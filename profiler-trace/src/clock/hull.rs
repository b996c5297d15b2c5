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
    let (low, high) = least_spread(hulls);
    if hulls.is_empty() || longest <= 0.0 || low <= *SLOPES.start() && high >= *SLOPES.end() {
        return (NOMINAL, false);
    }
    let slope = f64::midpoint(low, high);
    // Relative error of the slope, as if the SMs' quantization errors were independent.
    let error = step / longest / (observed as f64).sqrt();
    if error > 0.25 || slope <= *SLOPES.start() || slope >= *SLOPES.end() {
        return (NOMINAL, false);
    }
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
