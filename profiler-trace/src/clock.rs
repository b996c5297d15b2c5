//! Maps the cycle counters of the SMs to one axis of nanoseconds.
//!
//! Each warp reads its SM's `%clock64` together with `%globaltimer` at entry and at exit: an
//! *anchor*. Counters of different SMs are offset by tens of millions of cycles. `%globaltimer` is
//! common to all SMs but advances in steps (32 ns on an H200, 1 µs on some cards), so that an
//! anchor `(c, g)` says only that the true time at `c` lies in `g .. g + step`.
//!
//! # The fit
//!
//! Within a stretch of constant frequency, time is `offset[sm] + p * c`, with one `p` (nanoseconds
//! per cycle) for all SMs. For a given `p`, the residuals `g - p * c` of an SM all lie within one
//! step below its offset; their *spread* (largest less smallest) is therefore less than a step for
//! the true `p`. The fit takes the `p` that minimizes the sum of the SMs' spreads, a convex function
//! whose minimum is found exactly on the convex hulls of the anchors, and puts each offset into the
//! middle of what its residuals allow. Least squares would take the steps for noise with a mean and
//! be pulled by anchors that were taken late; the sum of spreads is bounded by the quantization and
//! hardly moved by a few bad SMs. Pooling all SMs makes the slope of a kernel of a few microseconds
//! usable, whose own two anchors would give it with an error of a step over its length.
//!
//! Error: where the spread is `s`, the offset is within `max(step - s, s) / 2` of the truth at the
//! anchors, hence two SMs agree there within a step or the largest spread, whichever is more; the
//! trace states it. Between anchors an SM whose frequency wanders is off by more
//! (`docs/measurements/clocks.md`).
//!
//! # Changes of frequency
//!
//! Where some SM's spread exceeds a step by more than the tolerance (another step, at least 32 ns,
//! for late reads), the anchors are halved by time until each part fits, and neighbours that fit
//! together are joined again. Each SM's map is then a chain of lines: inside a stretch along its
//! fit, between stretches from the last anchor of one to the first of the next. So a change is
//! followed as closely as there are anchors, and SMs whose frequencies differ get maps of their own.
//! Each map is continuous and never decreases, which keeps nesting.

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, DiagnosticKind, Diagnostics};

/// A pair of readings of one SM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor {
    pub sm: u32,
    /// `%clock64`.
    pub clock: u64,
    /// `%globaltimer`, in nanoseconds.
    pub globaltimer: u64,
}

/// Frequencies that are believed, in nanoseconds per cycle: 50 MHz to 20 GHz.
const SLOPES: std::ops::RangeInclusive<f64> = 0.05..=20.0;
/// The largest step of `%globaltimer` that is believed.
const STEP_MAX: u64 = 1024;
/// From so many anchors on, their differences tell the timer's step.
const MANY_ANCHORS: usize = 16;
/// By how much reads of an anchor may lie apart, at least, before a fit is called bad.
const LATE_READ_NS: f64 = 32.0;
/// Nanoseconds per cycle where nothing is known (2 GHz).
const NOMINAL: f64 = 0.5;

/// The map of all SMs.
#[derive(Debug)]
pub(crate) struct ClockMap {
    origin: u64,
    /// Step of `%globaltimer` in nanoseconds.
    pub step: f64,
    /// Nanoseconds within which two SMs agree at their anchors.
    pub alignment: f64,
    /// Nanoseconds per cycle over the whole session.
    pub slope: f64,
    sms: BTreeMap<u32, SmMap>,
}

impl ClockMap {
    /// Fits the anchors; `origin` is the `%globaltimer` reading that becomes 0. Where the device
    /// says its frequency (`exact_mhz`), only the offsets are fitted.
    pub(crate) fn fit(
        anchors: &[Anchor],
        origin: u64,
        exact_mhz: Option<f64>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let step = timer_step(anchors);
        let mut points: Vec<Point> = anchors
            .iter()
            .map(|anchor| Point {
                sm: anchor.sm,
                clock: anchor.clock,
                ns: difference(anchor.globaltimer, origin),
            })
            .collect();
        points
            .sort_by(|left, right| left.ns.total_cmp(&right.ns).then(left.clock.cmp(&right.clock)));
        let whole = Stretch::fit(&points);
        let exact = exact_mhz.map(|mhz| 1000.0 / mhz).filter(|slope| SLOPES.contains(slope));
        let (slope, known) = match exact {
            Some(slope) => (slope, true),
            None => pooled_slope(&points, &whole, step),
        };
        if !known && !points.is_empty() {
            diagnostics.note_number(
                DiagnosticKind::ClockUncertain,
                (1000.0 / slope).round() as u64,
                None,
            );
        }
        let tolerance = step + step.max(LATE_READ_NS);
        let mut stretches = Vec::new();
        split(&points, 0, whole, tolerance, &mut stretches);
        if stretches.len() > 1 {
            diagnostics.add(Diagnostic {
                kind: DiagnosticKind::ClockChanged,
                count: stretches.len() as u64,
                number: 0,
                place: None,
            });
        }
        let mut sms: BTreeMap<u32, SmMap> = BTreeMap::new();
        let mut alignment = step;
        for stretch in &stretches {
            // What the stretch leaves open is settled by the whole.
            let fitted = known && exact.is_none();
            let p = if fitted { slope.clamp(stretch.slopes.0, stretch.slopes.1) } else { slope };
            for hull in &stretch.hulls {
                let map = sms.entry(hull.sm).or_default();
                let offset = hull.offset(p, step);
                alignment = alignment.max(hull.spread(p));
                for clock in [hull.first, hull.last] {
                    let ns = offset + p * difference(clock, hull.first);
                    map.knots.push(Knot { clock, ns });
                }
                map.slopes.get_or_insert((p, p)).1 = p;
            }
        }
        for map in sms.values_mut() {
            if map.straighten() > tolerance {
                diagnostics.note(DiagnosticKind::ClockContradiction, None);
            }
            if map.knots.len() == 1 && known {
                diagnostics.note(DiagnosticKind::ClockPooled, None);
            }
        }
        Self { origin, step, alignment, slope, sms }
    }

    /// A reading of an SM's cycle counter in nanoseconds since the origin.
    pub(crate) fn cycles_to_ns(&self, sm: u32, clock: u64) -> f64 {
        self.sms.get(&sm).map_or(0.0, |map| map.at(clock)).max(0.0)
    }

    /// A reading of `%globaltimer` in nanoseconds since the origin.
    pub(crate) fn timer_to_ns(&self, globaltimer: u64) -> f64 {
        difference(globaltimer, self.origin).max(0.0)
    }
}

/// `left - right`, exact where it matters: up to 2^53.
fn difference(left: u64, right: u64) -> f64 {
    if left >= right { (left - right) as f64 } else { -((right - left) as f64) }
}

/// The step of `%globaltimer`: the greatest common divisor of all differences. Few readings may
/// have a large one by chance, so the largest known step is the limit.
fn timer_step(anchors: &[Anchor]) -> f64 {
    let Some(first) = anchors.first() else { return 1.0 };
    let mut divisor = 0;
    for anchor in anchors {
        let (mut left, mut right) = (divisor, anchor.globaltimer.abs_diff(first.globaltimer));
        while right != 0 {
            (left, right) = (right, left % right);
        }
        divisor = left;
    }
    if divisor <= STEP_MAX {
        return divisor.max(1) as f64;
    }
    // Many readings with so large a divisor are those of a coarse timer; a few are more likely a
    // chance of a fine one.
    let known = if anchors.len() >= MANY_ANCHORS { [1024, 1000, 32] } else { [32, 1000, 1024] };
    known.into_iter().find(|step| divisor.is_multiple_of(*step)).unwrap_or(1) as f64
}

/// The slope of the whole, and whether it is known at all: some SM must have been observed over
/// several steps of the timer. The more SMs, the less each must tell.
fn pooled_slope(points: &[Point], whole: &Stretch, step: f64) -> (f64, bool) {
    let range = |hull: &Hull| hull.range_ns;
    let longest = whole.hulls.iter().map(range).fold(0.0, f64::max);
    let observed = whole.hulls.iter().filter(|hull| range(hull) > longest / 2.0).count();
    let (low, high) = whole.slopes;
    if points.is_empty() || longest <= 0.0 || low <= *SLOPES.start() && high >= *SLOPES.end() {
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

#[derive(Clone, Copy, Debug)]
struct Point {
    sm: u32,
    clock: u64,
    ns: f64,
}

/// The anchors of one SM in a stretch: all that matters of them is their convex hull.
#[derive(Debug)]
struct Hull {
    sm: u32,
    first: u64,
    last: u64,
    /// From the earliest to the latest anchor, by the timer.
    range_ns: f64,
    /// `(cycles since first, ns)` of the upper and of the lower chain.
    upper: Vec<(f64, f64)>,
    lower: Vec<(f64, f64)>,
}

impl Hull {
    /// Of points of one SM in order of their clock, of which there is at least one.
    fn new(points: &[Point]) -> Self {
        let (first, last) = (points[0], points[points.len() - 1]);
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        let (mut earliest, mut latest) = (f64::INFINITY, f64::NEG_INFINITY);
        for point in points {
            let at = (difference(point.clock, first.clock), point.ns);
            earliest = earliest.min(point.ns);
            latest = latest.max(point.ns);
            extend_chain(&mut upper, at, 1.0);
            extend_chain(&mut lower, at, -1.0);
        }
        Self {
            sm: first.sm,
            first: first.clock,
            last: last.clock,
            range_ns: latest - earliest,
            upper,
            lower,
        }
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

    fn spread(&self, p: f64) -> f64 {
        let [highest, lowest] = self.extremes(p);
        (highest.1 - p * highest.0) - (lowest.1 - p * lowest.0)
    }

    /// The time at `first`: the middle of `highest residual .. lowest residual + step`.
    fn offset(&self, p: f64, step: f64) -> f64 {
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

/// Anchors that are taken for one frequency.
#[derive(Debug)]
struct Stretch {
    /// Where its points begin among all.
    start: usize,
    length: usize,
    hulls: Vec<Hull>,
    /// All slopes that minimize the sum of spreads.
    slopes: (f64, f64),
}

impl Stretch {
    fn fit(points: &[Point]) -> Self {
        let mut sorted = points.to_vec();
        sorted.sort_unstable_by_key(|point| (point.sm, point.clock));
        let hulls: Vec<Hull> =
            sorted.chunk_by(|left, right| left.sm == right.sm).map(Hull::new).collect();
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
        Self { start: 0, length: points.len(), hulls, slopes: (low.min(high), high.max(low)) }
    }

    fn worst_spread(&self) -> f64 {
        let p = f64::midpoint(self.slopes.0, self.slopes.1);
        self.hulls.iter().map(|hull| hull.spread(p)).fold(0.0, f64::max)
    }
}

/// Halves the points until each part fits, and joins what fits together over a cut.
fn split(
    points: &[Point],
    start: usize,
    whole: Stretch,
    tolerance: f64,
    stretches: &mut Vec<Stretch>,
) {
    if points.len() < 2 || whole.worst_spread() <= tolerance {
        stretches.push(Stretch { start, ..whole });
        return;
    }
    drop(whole);
    let middle = points.len() / 2;
    let (left, right) = points.split_at(middle);
    split(left, start, Stretch::fit(left), tolerance, stretches);
    let cut = stretches.len();
    split(right, start + middle, Stretch::fit(right), tolerance, stretches);
    if cut > 0 && cut < stretches.len() {
        let (before, behind) = (&stretches[cut - 1], &stretches[cut]);
        // The stretch before may reach back beyond these points, but only through its own join.
        if before.start < start {
            return;
        }
        let joint = before.start - start..behind.start - start + behind.length;
        let joined = Stretch::fit(&points[joint]);
        if joined.worst_spread() <= tolerance {
            stretches[cut - 1] = Stretch { start: stretches[cut - 1].start, ..joined };
            stretches.remove(cut);
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Knot {
    clock: u64,
    ns: f64,
}

/// The map of one SM: a chain of lines through its knots, and on along the outer slopes.
#[derive(Debug, Default)]
struct SmMap {
    knots: Vec<Knot>,
    slopes: Option<(f64, f64)>,
}

impl SmMap {
    /// Puts the knots in order and lifts those that would let time run back; returns by how much at
    /// most.
    fn straighten(&mut self) -> f64 {
        self.knots
            .sort_by(|left, right| left.clock.cmp(&right.clock).then(left.ns.total_cmp(&right.ns)));
        let (mut worst, mut before) = (0.0_f64, f64::NEG_INFINITY);
        self.knots.dedup_by(|later, kept| {
            let same = later.clock == kept.clock;
            if same {
                worst = worst.max(later.ns - kept.ns);
            }
            same
        });
        for knot in &mut self.knots {
            worst = worst.max(before - knot.ns);
            knot.ns = knot.ns.max(before);
            before = knot.ns;
        }
        worst
    }

    fn at(&self, clock: u64) -> f64 {
        let ([first, ..], [.., last], Some(slopes)) =
            (&self.knots[..], &self.knots[..], self.slopes)
        else {
            return 0.0;
        };
        if clock <= first.clock {
            return first.ns - slopes.0 * difference(first.clock, clock);
        }
        if clock >= last.clock {
            return last.ns + slopes.1 * difference(clock, last.clock);
        }
        let behind = self.knots.partition_point(|knot| knot.clock <= clock);
        let (from, to) = (self.knots[behind - 1], self.knots[behind]);
        let part = difference(clock, from.clock) / difference(to.clock, from.clock);
        // Rounding must not carry a time beyond the next knot.
        (from.ns + (to.ns - from.ns) * part).min(to.ns)
    }
}

#[cfg(test)]
mod tests;
