//! Joins signals and waits by arrows.

use std::collections::HashMap;

use profiler_wire::SiteKind;
use profiler_wire::header::{Clock, Dim3};

use crate::diagnostic::{Diagnostic, DiagnosticKind, Place};
use crate::model::{Edge, Mark, MarkIndex, Trace, Value};

/// What a signal and its wait have in common: the name and the key.
type Channel<'a> = (&'a str, Option<Key>);

/// A key by what it means, so that an unsigned 5 signals a signed 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Integer(i128),
    Float(u64),
}

fn key(value: Value) -> Key {
    match value {
        Value::Unsigned(value) => Key::Integer(value.into()),
        Value::Signed(value) => Key::Integer(value.into()),
        Value::Float(value) => Key::Float(value.to_bits()),
    }
}

struct Signal {
    ns: f64,
    sm: u32,
    mark: MarkIndex,
}

/// The signals of one launch on one channel, in order of time.
#[derive(Default)]
struct Signals {
    of_block: HashMap<Dim3, Vec<Signal>>,
    of_all: Vec<Signal>,
}

/// Arrows to the waits of all launches, and a count of the waits that none leads to.
///
/// A wait is released by the latest signal of its name, key and launch at or before it: of its own
/// block, or where that has none, of any block. Times of two SMs are known to [`Trace::alignment_ns`], or
/// to a step of the timer where they are its readings, so a signal of another SM may seem later by that
/// much.
pub(crate) fn join(trace: &Trace) -> (Vec<Edge>, Diagnostic) {
    let mut edges = Vec::new();
    let mut unmatched =
        Diagnostic { kind: DiagnosticKind::WaitWithoutSignal, count: 0, number: 0, place: None };
    for launch in &trace.launches {
        // Of one kernel, and so by one clock.
        let clock = trace.warps[launch.warps.clone()].first().map(|warp| warp.clock);
        let tolerance = match clock {
            Some(Clock::GlobalTimer) => trace.timer_step_ns,
            _ => trace.alignment_ns,
        };
        let mut channels: HashMap<Channel<'_>, Signals> = HashMap::new();
        for (warp, mark) in marks(trace, launch.warps.clone(), SiteKind::Signal) {
            let of = &trace.warps[warp];
            let at = &of.marks[mark];
            let signals = channels.entry(channel(trace, at)).or_default();
            let mark = MarkIndex { warp, mark };
            let signal = || Signal { ns: at.time.ns, sm: of.sm, mark };
            signals.of_block.entry(of.block).or_default().push(signal());
            signals.of_all.push(signal());
        }
        for signals in channels.values_mut() {
            for list in signals.of_block.values_mut().chain([&mut signals.of_all]) {
                list.sort_by(|left, right| left.ns.total_cmp(&right.ns));
            }
        }
        for (warp, mark) in marks(trace, launch.warps.clone(), SiteKind::Wait) {
            let of = &trace.warps[warp];
            let at = &of.marks[mark];
            let released = channels.get(&channel(trace, at)).and_then(|signals| {
                let own = signals.of_block.get(&of.block);
                own.and_then(|list| latest(list, at.time.ns, of.sm, tolerance))
                    .or_else(|| latest(&signals.of_all, at.time.ns, of.sm, tolerance))
            });
            match released {
                Some(from) => edges.push(Edge { from, to: MarkIndex { warp, mark } }),
                None => {
                    unmatched.count += 1;
                    unmatched.place.get_or_insert(Place {
                        slot: Some(of.slot),
                        lane: Some(at.lane),
                        ..Place::default()
                    });
                }
            }
        }
    }
    (edges, unmatched)
}

/// Indices of the warps' marks of a kind.
fn marks(
    trace: &Trace,
    warps: std::ops::Range<usize>,
    kind: SiteKind,
) -> impl Iterator<Item = (usize, usize)> {
    warps.flat_map(move |warp| {
        let marks = trace.warps[warp].marks.iter().enumerate();
        marks
            .filter(move |(_, mark)| trace.site(mark.site).kind == kind)
            .map(move |(index, _)| (warp, index))
    })
}

fn channel<'a>(trace: &'a Trace, mark: &Mark) -> Channel<'a> {
    (&trace.site(mark.site).name, mark.value.map(key))
}

/// The latest signal at or before a wait on an SM.
fn latest(signals: &[Signal], ns: f64, sm: u32, tolerance: f64) -> Option<MarkIndex> {
    let possible = signals.partition_point(|signal| signal.ns <= ns + tolerance);
    let mut possible = signals[..possible].iter().rev();
    // On the same SM both times are of one clock and need no tolerance.
    possible.find(|signal| signal.ns <= ns || signal.sm != sm).map(|signal| signal.mark)
}

#[cfg(test)]
mod tests;
