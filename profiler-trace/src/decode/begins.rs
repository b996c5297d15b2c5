//! When a `Range` began: its unit holds no more of that than the low 40 bits.

use profiler_wire::record::{TICK_BITS, TICK_MASK};

/// How far before the latest possible begin others are looked for, in steps of 2^40 ticks: almost
/// ten hours at 2 GHz.
const READINGS: u64 = 64;

/// The begin of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// The one time that fits.
    Certain(u64),
    /// The likeliest of several times that fit, 2^40 ticks apart.
    Likely(u64),
    /// Every time that fits is before the entry.
    BeforeEntry,
}

/// The ranges that a lane has ended so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    /// When at least one of them ran: begin and end of stretches that do not overlap, in order.
    covered: Vec<(u64, u64)>,
}

impl Ranges {
    /// The begin of the next range that the lane ended, from its low 40 bits.
    ///
    /// The regions that become ranges are bound to scopes, so that one that began within another
    /// ended within it too. Of several times that fit, the latest one that is within no earlier
    /// range is taken. It is still not certain: the region may be longer.
    pub(super) fn begin(&mut self, entry: u64, low: u64, end: u64) -> Begin {
        let length = end.wrapping_sub(low) & TICK_MASK;
        let Some(latest) = end.checked_sub(length).filter(|begin| *begin >= entry) else {
            return Begin::BeforeEntry;
        };
        let further = (latest - entry) >> TICK_BITS;
        let begin = (0..=further.min(READINGS))
            .map(|reading| latest - (reading << TICK_BITS))
            .find(|begin| further == 0 || !self.covers(*begin))
            .unwrap_or(latest);
        self.add(begin, end);
        if further == 0 { Begin::Certain(begin) } else { Begin::Likely(begin) }
    }

    /// Whether a time lies within a range, and not at its very begin or end.
    fn covers(&self, time: u64) -> bool {
        let before = self.covered.partition_point(|stretch| stretch.0 < time);
        before.checked_sub(1).is_some_and(|last| self.covered[last].1 > time)
    }

    fn add(&mut self, mut begin: u64, mut end: u64) {
        while let Some(last) = self.covered.pop_if(|last| last.1 > begin) {
            begin = begin.min(last.0);
            end = end.max(last.1);
        }
        if begin < end {
            self.covered.push((begin, end));
        }
    }
}

#[cfg(test)]
mod tests;
