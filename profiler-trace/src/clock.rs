//! Maps the cycle counters of the SMs to one axis of nanoseconds.
//!
//! A warp reads its SM's `%clock64` together with `%globaltimer` at entry, at exit, and wherever the
//! kernel asks for it: an *anchor*. Counters of different SMs are offset by tens of millions of
//! cycles. `%globaltimer` is common to all SMs but advances in steps (32 ns on an H200, 1 µs on some
//! cards), so that an anchor `(c, g)` says only that the true time at `c` lies in `g .. g + step`.
//!
//! # A steady clock
//!
//! At constant frequency, time is `offset[sm] + p * c`, with one `p` (nanoseconds per cycle) for all
//! SMs. For a given `p`, the residuals `g - p * c` of an SM all lie within one step below its
//! offset; their *spread* (largest less smallest) is therefore less than a step for the true `p`. The
//! pooled `p` minimizes the sum of the SMs' spreads, a convex function whose minimum is found exactly
//! on the convex hulls of the anchors, and each offset lies in the middle of what its residuals
//! allow. Least squares would take the steps for noise with a mean and be pulled by anchors that were
//! taken late; the sum of spreads is bounded by the quantization and hardly moved by a few bad SMs.
//! Pooling all SMs makes the slope of a kernel of a few microseconds usable, whose own two anchors
//! would give it with an error of a step over its length. An SM whose anchors contradict the pooled
//! slope takes the nearest one that they allow.
//!
//! Error: where the spread is `s`, the offset is within `max(step - s, s) / 2` of the truth at the
//! anchors, hence two SMs agree there within a step or the largest spread, whichever is more; the
//! trace states it.
//!
//! # A clock that wanders
//!
//! The SMs of one GPU differ in frequency, and each one's wanders
//! (`lab/measurements/clocks.md`). Where no line comes near enough to all anchors of an SM, its map
//! is bent, in two steps:
//!
//! * A string is pulled taut through the gates that the anchors are, each widened by half a late
//!   read. Of all lines through the gates its slopes depart least from a constant one, so that it
//!   bends only where the clock did: the quantization of two anchors close to each other does not
//!   show in the duration of a region between them.
//! * The string touches the ends of gates. So it is moved by the middle of what the residuals of
//!   each tenth of a millisecond allow, and by lines in between, which changes slopes by some 10^-4.
//!   Over a whole millisecond a clock goes elsewhere: the middle of what it did there left marks up
//!   to 54 ns off, which are within 38 ns of their readings this way (five runs of `truth mapping` on
//!   an H200).
//!
//! Error: within a step at the anchors, plus what the clock wandered from a straight line between
//! two of them. Each map is continuous and never decreases, which keeps nesting.

mod hull;
mod string;

use std::collections::BTreeMap;

use crate::diagnostic::{DiagnosticKind, Diagnostics};
use hull::Hull;
use string::{Gate, Place};

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
/// The step of the timer where it was not seen to move: that of an H200.
const STEP_USUAL: f64 = 32.0;
/// From so many anchors on, their differences tell the timer's step.
const MANY_ANCHORS: usize = 16;
/// By how much the two reads of an anchor may lie apart, at least.
const LATE_READ_NS: f64 = 32.0;
/// Nanoseconds per cycle where nothing is known (2 GHz).
const NOMINAL: f64 = 0.5;
/// Over how long the middle of the residuals is taken: short for the clocks' wandering, and long
/// enough that half a step at its ends tilts no duration.
const WINDOW_NS: f64 = 1e5;

/// The map of all SMs.
#[derive(Debug)]
pub(crate) struct ClockMap {
    origin: u64,
    /// Step of `%globaltimer` in nanoseconds.
    pub step: f64,
    /// The same, or the longest that is known where all readings are one.
    pub step_at_most: f64,
    /// Nanoseconds within which two SMs agree at their anchors.
    pub alignment: f64,
    /// Nanoseconds per cycle over the whole session.
    pub slope: f64,
    /// Whether the anchors tell that well.
    pub known: bool,
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
        // A device that says its frequency is the emulator, whose step is known: its warps may move alike, so
        // that the readings have a larger divisor.
        let seen_step = timer_step(anchors).map(|step| match exact_mhz {
            Some(_) if step % STEP_USUAL == 0.0 => STEP_USUAL,
            _ => step,
        });
        let step = seen_step.unwrap_or(STEP_USUAL);
        let mut points: Vec<Point> = anchors
            .iter()
            .map(|anchor| Point {
                sm: anchor.sm,
                clock: anchor.clock,
                ns: difference(anchor.globaltimer, origin),
            })
            .collect();
        points.sort_unstable_by(|left, right| {
            (left.sm, left.clock).cmp(&(right.sm, right.clock)).then(left.ns.total_cmp(&right.ns))
        });
        let of_sms: Vec<&[Point]> = points.chunk_by(|left, right| left.sm == right.sm).collect();
        let hulls: Vec<Hull> = of_sms.iter().map(|points| Hull::new(points)).collect();
        let exact = exact_mhz.map(|mhz| 1000.0 / mhz).filter(|slope| SLOPES.contains(slope));
        let (slope, known) = match exact {
            Some(slope) => (slope, true),
            None => hull::pooled_slope(&hulls, step),
        };
        if !known && !points.is_empty() {
            let mhz = (1000.0 / slope).round() as u64;
            diagnostics.note_number(DiagnosticKind::ClockUncertain, mhz, None);
        }
        let tolerance = step + step.max(LATE_READ_NS);
        let fitted = known && exact.is_none();
        let mut sms = BTreeMap::new();
        // Of a timer that was not seen to move the step may be any.
        let step_at_most = seen_step.unwrap_or(STEP_MAX as f64);
        let mut alignment = step_at_most;
        // Lines of the most bent map, where not all are one line of the pooled slope.
        let mut lines = 0;
        for (points, hull) in of_sms.into_iter().zip(&hulls) {
            let p = if fitted { hull::own_slope(hull, slope, step) } else { slope };
            let line = Line { p, step, first: points[0].clock };
            let spread = hull.spread(p);
            let (mut map, apart, bends) = if spread <= step + step.max(LATE_READ_NS) / 2.0 {
                (line.straight(points, hull), spread, 1)
            } else {
                line.bent(points)
            };
            alignment = alignment.max(apart);
            if hull.spread(slope) > tolerance {
                lines = lines.max(bends);
            }
            // All gates are passed within the tolerance, unless some exclude others.
            if map.straighten().max(apart) > tolerance + 1.0 {
                diagnostics.note(DiagnosticKind::ClockContradiction, None);
            }
            if map.knots.len() == 1 && known {
                diagnostics.note(DiagnosticKind::ClockPooled, None);
            }
            sms.insert(points[0].sm, map);
        }
        diagnostics.note_count(DiagnosticKind::ClockChanged, lines, None);
        Self { origin, step, step_at_most, alignment, slope, known, sms }
    }

    /// A reading of an SM's cycle counter in nanoseconds since the origin.
    #[cfg(test)]
    fn cycles_to_ns(&self, sm: u32, clock: u64) -> f64 {
        self.of_cycles(sm).ns(clock)
    }

    /// Converts readings of an SM's cycle counter.
    pub(crate) fn of_cycles(&self, sm: u32) -> ToNs<'_> {
        ToNs { axis: Axis::Map(self.sms.get(&sm)), line: SegmentLine::default() }
    }

    /// Converts readings of `%globaltimer`.
    pub(crate) fn of_timer(&self) -> ToNs<'_> {
        ToNs { axis: Axis::Timer(self.origin), line: SegmentLine::default() }
    }
}

/// Converts readings of one clock to nanoseconds since the origin. It remembers the line on which the
/// last one lay, as the next one mostly lies there too.
#[derive(Clone, Debug)]
pub(crate) struct ToNs<'m> {
    axis: Axis<'m>,
    line: SegmentLine,
}

#[derive(Clone, Copy, Debug)]
enum Axis<'m> {
    /// Cycles of an SM that has a map, or not.
    Map(Option<&'m SmMap>),
    /// Nanoseconds of the timer, and the reading that is 0.
    Timer(u64),
}

/// A line between two knots.
#[derive(Clone, Copy, Debug, Default)]
struct SegmentLine {
    clock: u64,
    /// Cycles to the next knot, less than 2^63.
    cycles: u64,
    length: f64,
    ns: f64,
    /// The distance of the next knot.
    rise: f64,
    /// Of the next knot.
    last_ns: f64,
}

impl SegmentLine {
    /// So many cycles after its begin.
    fn at(&self, cycles: f64) -> f64 {
        let part = cycles / self.length;
        // Rounding must not carry a time beyond the next knot.
        (self.ns + self.rise * part).min(self.last_ns)
    }

    /// A time on the line that rounding carried nowhere else, and not before the origin.
    fn bounded(&self, ns: f64) -> f64 {
        // Neither is NaN, for which `min` and `max` would look.
        let ns = if ns < self.last_ns { ns } else { self.last_ns };
        if ns > 0.0 { ns } else { 0.0 }
    }
}

impl ToNs<'_> {
    /// Nanoseconds since the origin.
    #[inline]
    pub(crate) fn ns(&mut self, clock: u64) -> f64 {
        let cycles = clock.wrapping_sub(self.line.clock);
        if cycles < self.line.cycles {
            // The conversion of a signed number is the faster one.
            let part = cycles.cast_signed() as f64 / self.line.length;
            return self.line.bounded(self.line.ns + self.line.rise * part);
        }
        let ns;
        (self.line, ns) = self.axis.elsewhere(self.line, clock);
        ns
    }

    /// Two readings, which mostly lie on the same line. Processors divide two numbers in the time of
    /// one if they are told to at once.
    #[inline]
    pub(crate) fn ns_of_two(&mut self, clocks: [u64; 2]) -> [f64; 2] {
        let line = self.line;
        let cycles = clocks.map(|clock| clock.wrapping_sub(line.clock));
        if cycles[0] < line.cycles && cycles[1] < line.cycles {
            let cycles = cycles.map(|cycles| cycles.cast_signed() as f64);
            let parts = [cycles[0] / line.length, cycles[1] / line.length];
            let rises = [line.rise * parts[0], line.rise * parts[1]];
            let ns = [line.ns + rises[0], line.ns + rises[1]];
            return ns.map(|ns| line.bounded(ns));
        }
        clocks.map(|clock| self.ns(clock))
    }
}

impl Axis<'_> {
    /// A reading that is not on `line`, and the line on which it is, if it is on one. Lines are handed
    /// over as values, so that a loop over readings holds its own in registers.
    #[cold]
    #[inline(never)]
    fn elsewhere(self, mut line: SegmentLine, clock: u64) -> (SegmentLine, f64) {
        let ns = match self {
            Self::Timer(origin) => difference(clock, origin),
            Self::Map(None) => 0.0,
            Self::Map(Some(map)) => {
                line = map.line(clock).unwrap_or(line);
                map.at(clock)
            }
        };
        (line, ns.max(0.0))
    }
}

/// `left - right`, exact where it matters: up to 2^53.
fn difference(left: u64, right: u64) -> f64 {
    if left >= right { (left - right) as f64 } else { -((right - left) as f64) }
}

/// The step of `%globaltimer`: the greatest common divisor of all differences, `None` where all
/// readings are the same. Few readings may have a large one by chance, so the largest known step is
/// the limit.
fn timer_step(anchors: &[Anchor]) -> Option<f64> {
    let first = anchors.first()?;
    let mut divisor = 0;
    for anchor in anchors {
        let (mut left, mut right) = (divisor, anchor.globaltimer.abs_diff(first.globaltimer));
        while right != 0 {
            (left, right) = (right, left % right);
        }
        divisor = left;
    }
    if divisor <= STEP_MAX {
        return (divisor > 0).then_some(divisor as f64);
    }
    // Many readings with so large a divisor are those of a coarse timer; a few are more likely a
    // chance of a fine one.
    let known = if anchors.len() >= MANY_ANCHORS { [1024, 1000, 32] } else { [32, 1000, 1024] };
    Some(known.into_iter().find(|step| divisor.is_multiple_of(*step)).unwrap_or(1) as f64)
}

#[derive(Clone, Copy, Debug)]
struct Point {
    sm: u32,
    clock: u64,
    ns: f64,
}

/// The line that the map of an SM is fitted around.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Nanoseconds per cycle.
    p: f64,
    /// Of the timer.
    step: f64,
    /// The SM's first reading of its counter.
    first: u64,
}

impl Line {
    /// Cycles since the first anchor, and the residual there.
    fn residual(&self, point: &Point) -> Place {
        let cycles = difference(point.clock, self.first);
        (cycles, point.ns - self.p * cycles)
    }

    /// The map that this line is.
    fn straight(&self, points: &[Point], hull: &Hull) -> SmMap {
        let offset = hull.offset(self.p, self.step);
        let knot = |point: &Point| Knot {
            clock: point.clock,
            ns: offset + self.p * difference(point.clock, self.first),
        };
        SmMap { knots: vec![knot(&points[0]), knot(&points[points.len() - 1])], slope: self.p }
    }

    /// A map that bends where the anchors ask for it, how far the anchors of a window lie apart at
    /// most, and how many lines it took to follow them.
    fn bent(&self, points: &[Point]) -> (SmMap, f64, u64) {
        let late = self.step.max(LATE_READ_NS) / 2.0;
        let mut gates: Vec<Gate> = Vec::with_capacity(points.len());
        for point in points {
            let (cycles, residual) = self.residual(point);
            let (low, high) = (residual - late, residual + self.step + late);
            match gates.last_mut().filter(|gate| gate.cycles == cycles) {
                Some(gate) => {
                    (gate.low, gate.high) = (gate.low.max(low), gate.high.min(high));
                    if gate.low > gate.high {
                        // Readings that exclude each other.
                        gate.low = f64::midpoint(gate.low, gate.high);
                        gate.high = gate.low;
                    }
                }
                None => gates.push(Gate { cycles, low, high }),
            }
        }
        let string = string::taut(&gates);
        let (centres, apart) = self.centres(points, &string);
        let mut cycles: Vec<f64> = string.iter().chain(&centres).map(|place| place.0).collect();
        cycles.sort_unstable_by(f64::total_cmp);
        cycles.dedup();
        let knots = cycles.into_iter().map(|cycles| Knot {
            clock: self.first.saturating_add(cycles.round() as u64),
            ns: string::at(&string, cycles) + string::at(&centres, cycles) + self.p * cycles,
        });
        let lines = string.len().saturating_sub(1).max(1) as u64;
        (SmMap { knots: knots.collect(), slope: self.p }, apart, lines)
    }

    /// By how much the string has to move to be in the middle of what the anchors of each window
    /// allow, and how far these lie apart at most.
    fn centres(&self, points: &[Point], string: &[Place]) -> (Vec<Place>, f64) {
        let mut centres = Vec::new();
        let mut worst = 0.0_f64;
        let mut rest = points;
        while let Some(begin) = rest.first() {
            let length =
                rest.iter().take_while(|point| point.ns - begin.ns <= WINDOW_NS).count().max(1);
            let (window, after) = rest.split_at(length);
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for point in window {
                let (cycles, residual) = self.residual(point);
                let above = residual - string::at(string, cycles);
                (low, high) = (low.min(above), high.max(above));
            }
            let end = difference(window[length - 1].clock, self.first);
            let centre = f64::midpoint(difference(begin.clock, self.first), end);
            centres.push((centre, f64::midpoint(high, low + self.step)));
            worst = worst.max(high - low);
            rest = after;
        }
        (centres, worst)
    }
}

#[derive(Clone, Copy, Debug)]
struct Knot {
    clock: u64,
    ns: f64,
}

/// The map of one SM: a chain of lines through its knots, and on along its slope.
#[derive(Debug)]
struct SmMap {
    knots: Vec<Knot>,
    slope: f64,
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
        let ([first, ..], [.., last]) = (&self.knots[..], &self.knots[..]) else {
            return 0.0;
        };
        if clock <= first.clock {
            return first.ns - self.slope * difference(first.clock, clock);
        }
        if clock >= last.clock {
            return last.ns + self.slope * difference(clock, last.clock);
        }
        self.line(clock).map_or(last.ns, |line| line.at(difference(clock, line.clock)))
    }

    /// The line between the knots around a reading.
    fn line(&self, clock: u64) -> Option<SegmentLine> {
        let after = self.knots.partition_point(|knot| knot.clock <= clock);
        let (from, to) = (self.knots.get(after.checked_sub(1)?)?, self.knots.get(after)?);
        // No clock runs for so long, but a damaged header may say so.
        let cycles = (to.clock - from.clock).min(i64::MAX as u64);
        Some(SegmentLine {
            clock: from.clock,
            cycles,
            length: difference(to.clock, from.clock),
            ns: from.ns,
            rise: to.ns - from.ns,
            last_ns: to.ns,
        })
    }
}

#[cfg(test)]
mod tests;
