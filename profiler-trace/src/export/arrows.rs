//! The arrows from signals to waits, and the axis on which their order is seen.

use std::collections::{HashMap, HashSet};

use crate::model::{MarkIndex, Trace};

/// Nanoseconds of the trace as whole numbers from 0.
pub(super) struct Axis {
    /// Added to every time.
    shift: f64,
}

impl Axis {
    pub(super) fn new(trace: &Trace) -> Self {
        let warps = trace.warps.iter().flat_map(|warp| {
            let records = warp.regions.iter().map(|region| region.start.ns);
            let marks = warp.marks.iter().map(|mark| mark.time.ns);
            records.chain(marks).chain([warp.entry.ns])
        });
        let launches = trace.launches.iter().map(|launch| launch.start_ns);
        let host = trace.host.spans().map(|span| span.start_ns);
        let first =
            warps.chain(launches).chain(host).filter(|ns| ns.is_finite()).fold(0.0, f64::min);
        Self { shift: -first.floor() }
    }

    /// Rounds to nearest. Monotonic, so that what nests stays nested; far beyond any trace
    /// (2^62 ns), it stops.
    pub(super) fn round(&self, ns: f64) -> u64 {
        const MOST: f64 = (1u64 << 62) as f64;
        // A cast from floating point saturates, and makes 0 of what is not a number.
        (ns + self.shift).round().min(MOST) as u64
    }
}

/// Which end of an arrow a mark is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    From,
    To,
}

/// The arrows of a trace, by the marks at their ends.
pub(super) struct Arrows {
    pub(super) ends: HashMap<MarkIndex, Vec<(u64, End)>>,
    /// Waits at the very nanosecond of their signal. Viewers take what comes first in the file for
    /// the tail of the arrow, so these marks are put in behind all else.
    late: HashSet<MarkIndex>,
}

impl Arrows {
    pub(super) fn new(trace: &Trace, axis: &Axis) -> Self {
        let mut arrows = Self { ends: HashMap::new(), late: HashSet::new() };
        let time = |index: MarkIndex| {
            let mark = trace.warps.get(index.warp)?.marks.get(index.mark)?;
            Some(axis.round(mark.time.ns))
        };
        for (edge, flow) in trace.edges.iter().zip(1..) {
            let (Some(from), Some(to)) = (time(edge.from), time(edge.to)) else { continue };
            arrows.ends.entry(edge.from).or_default().push((flow, End::From));
            // Where clocks are so uncertain that a wait seems to precede its signal, no viewer can
            // draw that; the two are still joined.
            let end = if to < from { End::From } else { End::To };
            arrows.ends.entry(edge.to).or_default().push((flow, end));
            if from == to {
                arrows.late.insert(edge.to);
            }
        }
        arrows
    }

    /// Whether a mark is to be put in at the end.
    pub(super) fn is_late(&self, index: MarkIndex) -> bool {
        self.late.contains(&index)
    }
}
