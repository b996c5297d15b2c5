//! Joins signals and waits by arrows.

use std::cell::LazyCell;
use std::ops::Range;

use profiler_wire::SiteKind;
use profiler_wire::header::{Clock, Dim3};

use crate::diagnostic::{Diagnostic, DiagnosticKind, Location};
use crate::model::{Edge, Mark, MarkIndex, Trace, Value, Warp};

/// The channel of a signal and its wait: the name, by its number in [`names`], and the key.
type Channel = (usize, Option<Key>);

/// A key by what it means, so that an unsigned 5 signals a signed 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// An integer from 0 on.
    Integer(u64),
    Negative(i64),
    Float(u64),
}

fn key(value: Value) -> Key {
    match value {
        Value::Unsigned(value) => Key::Integer(value),
        Value::Signed(value) => u64::try_from(value).map_or(Key::Negative(value), Key::Integer),
        Value::Float(value) => Key::Float(value.to_bits()),
    }
}

/// The key of a list of signals: the block, unless they are of all blocks, and the channel. In this
/// order, so that the lists of a block lie beside each other.
type List = (Option<Dim3>, Channel);

/// A signal, in a list with those that may have released the same wait.
struct Signal {
    list: List,
    ns: f64,
    sm: u32,
    mark: MarkIndex,
    /// How many signals of its list, in order of time and up to this one, follow each other on its SM.
    in_row: usize,
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
    let names = names(trace);
    let channel = |mark: &Mark| (names[mark.site.0 as usize], mark.value.map(key));
    for launch in &trace.launches {
        // Of one kernel, and so by one clock.
        let clock = trace.warps[launch.warps.clone()].first().map(|warp| warp.clock);
        let tolerance = match clock {
            Some(Clock::GlobalTimer) => trace.timer_step_ns,
            _ => trace.alignment_ns,
        };
        let signals = || marks(trace, launch.warps.clone(), SiteKind::Signal);
        // Those of each block, and those of all, which few launches need.
        let lists = |by_block: bool| {
            let mut lists = Vec::with_capacity(signals().count());
            lists.extend(signals().map(|mark| {
                let (of, at) = get(trace, mark);
                let list = (by_block.then_some(of.block), channel(at));
                Signal { list, ns: at.time.ns, sm: of.sm, mark, in_row: 1 }
            }));
            arrange(&mut lists);
            lists
        };
        let (of_blocks, of_all) = (lists(true), LazyCell::new(|| lists(false)));
        for wait in marks(trace, launch.warps.clone(), SiteKind::Wait) {
            let (of, at) = get(trace, wait);
            let latest = |signals: &[Signal], block: Option<Dim3>| {
                latest(of_list(signals, (block, channel(at))), at.time.ns, of.sm, tolerance)
            };
            match latest(&of_blocks, Some(of.block)).or_else(|| latest(&of_all, None)) {
                Some(from) => edges.push(Edge { from, to: wait }),
                None => {
                    unmatched.count += 1;
                    unmatched.place.get_or_insert(Location {
                        slot: Some(of.slot),
                        lane: Some(at.lane),
                        ..Location::default()
                    });
                }
            }
        }
    }
    (edges, unmatched)
}

/// Of each site of a signal or a wait a number that it shares with those of its name, so that names are
/// compared once for a site and not for each mark.
fn names(trace: &Trace) -> Vec<usize> {
    let name = |site: usize| &trace.sites[site].name;
    let is_joined = |kind| matches!(kind, SiteKind::Signal | SiteKind::Wait);
    let mut sites: Vec<usize> =
        (0..trace.sites.len()).filter(|&site| is_joined(trace.sites[site].kind)).collect();
    sites.sort_unstable_by(|&left, &right| name(left).cmp(name(right)));
    let mut names = vec![0; trace.sites.len()];
    for of_name in sites.chunk_by(|&left, &right| name(left) == name(right)) {
        of_name.iter().for_each(|&site| names[site] = of_name[0]);
    }
    names
}

/// The warps' marks of a kind.
fn marks(trace: &Trace, warps: Range<usize>, kind: SiteKind) -> impl Iterator<Item = MarkIndex> {
    warps.flat_map(move |warp| {
        let marks = trace.warps[warp].marks.iter().enumerate();
        marks
            .filter(move |(_, mark)| trace.site(mark.site).kind == kind)
            .map(move |(mark, _)| MarkIndex { warp, mark })
    })
}

/// The warp of a mark, and the mark.
fn get(trace: &Trace, MarkIndex { warp, mark }: MarkIndex) -> (&Warp, &Mark) {
    let warp = &trace.warps[warp];
    (warp, &warp.marks[mark])
}

/// Puts signals list after list: a table of lists would take memory for each key, and there may be as
/// many keys as signals. In a list they are in order of time, and at one time as they were recorded.
fn arrange(signals: &mut [Signal]) {
    let recorded = |signal: &Signal| (signal.mark.warp, signal.mark.mark);
    // A stable sort would take a buffer beside them.
    signals.sort_unstable_by(|left, right| {
        (left.list.cmp(&right.list))
            .then(left.ns.total_cmp(&right.ns))
            .then(recorded(left).cmp(&recorded(right)))
    });
    let follow = |left: &Signal, right: &Signal| left.list == right.list && left.sm == right.sm;
    for row in signals.chunk_by_mut(follow) {
        (1..).zip(row).for_each(|(in_row, signal)| signal.in_row = in_row);
    }
}

/// The signals of a list.
fn of_list(signals: &[Signal], list: List) -> &[Signal] {
    let signals = &signals[signals.partition_point(|signal| signal.list < list)..];
    &signals[..signals.partition_point(|signal| signal.list == list)]
}

/// The latest signal of a list at or before a wait on an SM.
fn latest(signals: &[Signal], ns: f64, sm: u32, tolerance: f64) -> Option<MarkIndex> {
    let until = |ns: f64| signals.partition_point(|signal| signal.ns <= ns);
    let possible = &signals[..until(ns + tolerance)];
    let last = possible.last()?;
    // On the same SM both times are of one clock and need no tolerance. What it recorded in a row is
    // passed over at once: there may be as many waits as signals that are too late for them.
    let of_other = possible.len() - if last.sm == sm { last.in_row } else { 0 };
    let count = of_other.max(until(ns).min(possible.len()));
    possible[..count].last().map(|signal| signal.mark)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};

    #[test]
    fn between_readings_of_the_timer_the_tolerance_is_its_step() {
        let mut module = SyntheticModule::new(Keep::First, 64);
        let kernel = module.site(SiteKind::Kernel, "k");
        for (sm, kind, ticks) in [(0, SiteKind::Signal, 400), (1, SiteKind::Wait, 300)] {
            let site = module.site(kind, "full");
            let mut warp = SyntheticWarp::new(kernel, 0, 3200);
            (warp.header.block, warp.header.sm) = ([sm, 0, 0], sm);
            warp.mark(site, None, ticks).leave(1_000_000, 1_003_200);
            module.warps.push(warp);
        }
        let mut trace = crate::decode(&module.into_capture().expect("the sites are whole"));
        (trace.alignment_ns, trace.timer_step_ns) = (200.0, 32.0);
        assert_eq!(join(&trace).0.len(), 1);
        for warp in &mut trace.warps {
            warp.clock = Clock::GlobalTimer;
        }
        assert_eq!(join(&trace).0, []);
        trace.timer_step_ns = 100.0;
        assert_eq!(join(&trace).0.len(), 1);
    }

    /// Signals that follow the waits for them on their own SM, at times that would do on another: each wait
    /// once went through all of them.
    #[test]
    fn waits_before_many_signals_of_their_sm_take_no_time_out_of_proportion() {
        const COUNT: u64 = 50_000;
        let mut module = SyntheticModule::new(Keep::First, 4 * COUNT as u32);
        let kernel = module.site(SiteKind::Kernel, "k");
        let signal = module.site(SiteKind::Signal, "full");
        let wait = module.site(SiteKind::Wait, "full");
        let mut warp = SyntheticWarp::new(kernel, 0, 3200);
        warp.mark(signal, None, 1);
        for ticks in 2..COUNT {
            warp.mark(wait, None, ticks);
        }
        for ticks in COUNT..2 * COUNT {
            warp.mark(signal, None, ticks);
        }
        warp.leave(1_000_000, 1_003_200);
        module.warps.push(warp);
        let mut trace = crate::decode(&module.into_capture().expect("the sites are whole"));
        trace.alignment_ns = 1e9;
        let (edges, unmatched) = join(&trace);
        assert_eq!((edges.len() as u64, unmatched.count), (COUNT - 2, 0));
        assert!(edges.iter().all(|edge| edge.from == MarkIndex { warp: 0, mark: 0 }));
    }

    #[test]
    fn integers_of_either_sign_are_one_key() {
        assert_eq!(key(Value::Unsigned(5)), key(Value::Signed(5)));
        assert_ne!(key(Value::Unsigned(u64::MAX)), key(Value::Signed(-1)));
        assert_ne!(key(Value::Float(5.0)), key(Value::Signed(5)));
    }

    /// What [`join`] says that it does, done for each wait by looking at every signal.
    fn joined_one_by_one(trace: &Trace) -> (Vec<Edge>, u64) {
        let (mut edges, mut unmatched) = (Vec::new(), 0);
        let means = |mark: &Mark| (trace.site(mark.site).name.clone(), mark.value.map(key));
        for (launch, of) in trace.launches.iter().enumerate() {
            for to in marks(trace, of.warps.clone(), SiteKind::Wait) {
                let (of, wait) = get(trace, to);
                let mut latest: Option<(bool, f64, MarkIndex)> = None;
                for from in marks(trace, 0..trace.warps.len(), SiteKind::Signal) {
                    let (by, signal) = get(trace, from);
                    let tolerance = if by.sm == of.sm { 0.0 } else { trace.alignment_ns };
                    let is_possible = by.launch == launch
                        && means(signal) == means(wait)
                        && signal.time.ns <= wait.time.ns + tolerance;
                    let found = (by.block == of.block, signal.time.ns, from);
                    // Of two at one time, the one that stands later.
                    let is_later = |(own, ns, _)| (found.0, found.1) >= (own, ns);
                    if is_possible && latest.is_none_or(is_later) {
                        latest = Some(found);
                    }
                }
                match latest {
                    Some((_, _, from)) => edges.push(Edge { from, to }),
                    None => unmatched += 1,
                }
            }
        }
        (edges, unmatched)
    }

    prop_compose! {
        /// Marks at few times, so that many are at the same ones.
        fn a_mark()(site in 0..4_usize, number in 0..3_u8, ticks in 1..30_u64) -> (usize, u8, u64) {
            (site, number, ticks)
        }
    }

    proptest! {
        #[test]
        fn each_wait_has_the_signal_that_is_found_one_by_one(
            warps in prop::collection::vec(
                (0..2_u64, 0..3_u32, 0..3_u32, prop::collection::vec(a_mark(), 0..12)),
                1..8,
            ),
            tolerance in 0..10_u32,
        ) {
            let mut module = SyntheticModule::new(Keep::First, 64);
            let kernel = module.site(SiteKind::Kernel, "k");
            // Two channels, each with a signal and a wait.
            let sites = [
                module.site(SiteKind::Signal, "full"),
                module.site(SiteKind::Wait, "full"),
                module.site(SiteKind::Wait, "empty"),
                module.site(SiteKind::Signal, "empty"),
            ];
            for (index, (launch, block, sm, marks)) in warps.into_iter().enumerate() {
                let mut warp = SyntheticWarp::new(kernel, 0, 3200);
                warp.header.grid_id = 1 + launch;
                warp.header.block = [block, 0, 0];
                warp.header.grid_dim = [3, 1, 1];
                warp.header.warp = index as u32;
                warp.header.sm = sm;
                for (site, number, ticks) in marks {
                    match number {
                        0 => warp.mark(sites[site], None, ticks),
                        1 => warp.value(sites[site], ticks, Value::Unsigned(1)),
                        _ => warp.value(sites[site], ticks, Value::Signed(1)),
                    };
                }
                warp.leave(1_000_000, 1_003_200);
                module.warps.push(warp);
            }
            let mut trace = crate::decode(&module.into_capture().expect("the sites are whole"));
            trace.alignment_ns = f64::from(tolerance);
            let (edges, unmatched) = join(&trace);
            prop_assert!(edges.is_sorted_by_key(|edge| edge.to));
            prop_assert_eq!((edges, unmatched.count), joined_one_by_one(&trace));
        }
    }
}
