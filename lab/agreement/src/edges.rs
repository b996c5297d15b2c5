//! Which signal released a wait, by the rule alone: the latest one of its launch, name and key at or
//! before it, of its own block, or where that has none, of any block.

use profiler_trace::{Mark, Trace, Warp};
use profiler_wire::SiteKind;
use profiler_wire::header::Clock;

/// A mark, with the warp that it is of.
struct Found<'t> {
    place: (usize, usize),
    warp: &'t Warp,
    mark: &'t Mark,
}

fn marks(trace: &Trace, kind: SiteKind) -> Vec<Found<'_>> {
    let warps = trace.warps.iter().enumerate();
    warps
        .flat_map(|(at, warp)| {
            let marks = warp.marks.iter().enumerate();
            marks.map(move |(index, mark)| Found { place: (at, index), warp, mark })
        })
        .filter(|found| trace.site(found.mark.site).kind == kind)
        .collect()
}

/// Looks for the signals of all waits, and compares.
pub(crate) fn check(trace: &Trace) -> Result<(), String> {
    let signals = marks(trace, SiteKind::Signal);
    for wait in marks(trace, SiteKind::Wait) {
        let fits = |signal: &&Found<'_>| {
            let is_before = signal.mark.time.ns <= wait.mark.time.ns;
            // Times of two SMs agree to this much.
            let tolerance = match wait.warp.clock {
                Clock::Cycles => trace.alignment_ns,
                Clock::GlobalTimer => trace.timer_step_ns,
            };
            let is_near = signal.warp.sm != wait.warp.sm
                && signal.mark.time.ns <= wait.mark.time.ns + tolerance;
            signal.warp.launch == wait.warp.launch
                && trace.site(signal.mark.site).name == trace.site(wait.mark.site).name
                && signal.mark.value == wait.mark.value
                && (is_before || is_near)
        };
        let latest = |own: bool| {
            let fitting = signals.iter().filter(fits);
            let of_block = fitting.filter(|signal| !own || signal.warp.block == wait.warp.block);
            of_block.map(|signal| signal.mark.time.ns).max_by(f64::total_cmp)
        };
        let expected = latest(true).or_else(|| latest(false));
        let edges = trace.edges.iter().filter(|edge| (edge.to.warp, edge.to.mark) == wait.place);
        let from: Vec<&Found<'_>> = edges
            .flat_map(|edge| {
                let place = (edge.from.warp, edge.from.mark);
                signals.iter().filter(move |signal| signal.place == place)
            })
            .collect();
        let is_right = match (expected, from.as_slice()) {
            (None, []) => true,
            (Some(ns), [signal]) => fits(signal) && signal.mark.time.ns == ns,
            _ => false,
        };
        if !is_right {
            let from: Vec<&Mark> = from.iter().map(|signal| signal.mark).collect();
            return Err(format!("{:?} is released by {from:?}, not at {expected:?}", wait.mark));
        }
    }
    Ok(())
}
