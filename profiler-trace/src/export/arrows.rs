//! The arrows from signals to waits, and the axis on which their order is seen.

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

/// The end of an arrow that a mark is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    From,
    To,
}

/// An end of an arrow.
struct Tied {
    mark: MarkIndex,
    /// The number of the arrow.
    flow: u64,
    end: End,
    /// Whether it is a wait at the very nanosecond of its signal; see [`Arrows::is_late`].
    is_late: bool,
}

/// The arrows of a trace.
pub(super) struct Arrows {
    /// Their ends, in the order of the marks that they are tied to.
    ends: Vec<Tied>,
}

impl Arrows {
    pub(super) fn new(trace: &Trace, axis: &Axis) -> Self {
        let mut ends = Vec::with_capacity(2 * trace.edges.len());
        let time = |index: MarkIndex| {
            let mark = trace.warps.get(index.warp)?.marks.get(index.mark)?;
            Some(axis.round(mark.time.ns))
        };
        for (edge, flow) in trace.edges.iter().zip(1..) {
            let (Some(from), Some(to)) = (time(edge.from), time(edge.to)) else { continue };
            ends.push(Tied { mark: edge.from, flow, end: End::From, is_late: false });
            // Where clocks are so uncertain that a wait seems to precede its signal, no viewer can
            // draw that; the two are still joined.
            let end = if to < from { End::From } else { End::To };
            ends.push(Tied { mark: edge.to, flow, end, is_late: from == to });
        }
        ends.sort_unstable_by_key(|tied| (place(tied.mark), tied.flow, tied.is_late));
        Self { ends }
    }

    /// The arrows that a mark is an end of.
    pub(super) fn of(&self, mark: MarkIndex) -> impl Iterator<Item = (u64, End)> {
        self.tied(mark).iter().map(|tied| (tied.flow, tied.end))
    }

    /// Whether a mark is to be put in after all else: viewers take what comes first in the file for the
    /// tail of an arrow, also where both ends are at one nanosecond.
    pub(super) fn is_late(&self, mark: MarkIndex) -> bool {
        self.tied(mark).iter().any(|tied| tied.is_late)
    }

    fn tied(&self, mark: MarkIndex) -> &[Tied] {
        let first = self.ends.partition_point(|tied| place(tied.mark) < place(mark));
        let ends = &self.ends[first..];
        &ends[..ends.partition_point(|tied| tied.mark == mark)]
    }
}

/// The order of marks.
fn place(mark: MarkIndex) -> (usize, usize) {
    (mark.warp, mark.mark)
}
