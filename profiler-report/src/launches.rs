//! The balance of each launch: the finish of its SMs and warps, and the spread of its work.

use profiler_trace::{Load, Trace, Warp};

use crate::collect::MAX_SMS;
use crate::nesting::finite;

/// The number of launches, the longest, that are listed.
pub(crate) const MAX_LISTED: usize = 100;
/// The number of launches, the longest, that have curves.
const MAX_CURVES: usize = 16;
/// Points of a curve.
const POINTS: usize = 256;

/// Facts about a launch.
pub(crate) struct LaunchFacts {
    /// Index into [`Trace::launches`].
    pub(crate) launch: usize,
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) warps: usize,
    /// Warps that never left; they count as if they had left when the launch ended.
    pub(crate) never_left: usize,
    pub(crate) sms: usize,
    /// `None` if the cost of recording was subtracted from each warp by itself: times of several warps are
    /// then not on one axis.
    pub(crate) balance: Option<Balance>,
}

/// The spread of a launch over its SMs, and its end.
pub(crate) struct Balance {
    /// From the moment when the first SM had no warp left to the end of the launch.
    pub(crate) tail_ns: f64,
    /// Share of the time of all its SMs, from start to end, that passed after their last warp had left.
    pub(crate) idle: f64,
    /// [`Load::imbalance`] of the time that its SMs had a warp.
    pub(crate) imbalance: f64,
    pub(crate) curves: Option<Curves>,
}

/// A launch in detail.
pub(crate) struct Curves {
    /// SM, its last warp's exit in nanoseconds since the launch's start, and the time that its warps
    /// spent on it; the first to finish first.
    pub(crate) finish: Vec<(u32, f64, f64)>,
    /// The mean number of warps in the kernel, in equal stretches of the launch.
    pub(crate) active: Vec<f32>,
}

/// The longest launches in order of their start.
pub(crate) fn facts(trace: &Trace) -> Vec<LaunchFacts> {
    let length = |at: usize| trace.launches[at].end_ns - trace.launches[at].start_ns;
    let mut order: Vec<usize> = trace.shown_launches().collect();
    order.sort_by(|&left, &right| length(right).total_cmp(&length(left)));
    order.truncate(MAX_LISTED);
    let facts = order.into_iter().enumerate();
    let mut facts: Vec<LaunchFacts> =
        facts.map(|(rank, at)| of(trace, at, rank < MAX_CURVES)).collect();
    facts.sort_by_key(|facts| facts.launch);
    facts
}

fn of(trace: &Trace, index: usize, with_curves: bool) -> LaunchFacts {
    let launch = &trace.launches[index];
    let start = finite(launch.start_ns);
    let end = finite(launch.end_ns).max(start);
    let warps = trace.warps.get(launch.warps.clone()).unwrap_or_default();
    let mut sms: Vec<u32> = warps.iter().map(|warp| warp.sm).collect();
    sms.sort_unstable();
    sms.dedup();
    LaunchFacts {
        launch: index,
        start,
        end,
        warps: warps.len(),
        never_left: warps.iter().filter(|warp| warp.exit.is_none()).count(),
        sms: sms.len(),
        balance: (!trace.cost_subtracted).then(|| balance(warps, (start, end), with_curves)),
    }
}

fn balance(warps: &[Warp], (start, end): (f64, f64), with_curves: bool) -> Balance {
    let length = end - start;
    // SM, entry and exit since the start.
    let mut stays: Vec<(u32, f64, f64)> = Vec::with_capacity(warps.len());
    for warp in warps {
        let entry = (finite(warp.entry.ns) - start).clamp(0.0, length);
        let exit = warp.exit.map_or(length, |exit| finite(exit.ns) - start);
        stays.push((warp.sm, entry, exit.clamp(entry, length)));
    }
    stays.sort_by(|left, right| left.0.cmp(&right.0).then(left.1.total_cmp(&right.1)));
    let mut finish: Vec<(u32, f64, f64)> = Vec::new();
    // The time that each SM had a warp.
    let mut busy: Vec<f64> = Vec::new();
    for of_sm in stays.chunk_by(|left, right| left.0 == right.0) {
        let (mut last, mut had_any) = (0.0_f64, 0.0);
        for &(_, entry, exit) in of_sm {
            had_any += (exit - entry.max(last)).max(0.0);
            last = last.max(exit);
        }
        busy.push(had_any);
        finish.push((of_sm[0].0, last, of_sm.iter().map(|stay| stay.2 - stay.1).sum()));
    }
    let sms = finish.len();
    let idle: f64 = finish.iter().map(|sm| length - sm.1).sum();
    let first = finish.iter().map(|sm| sm.1).fold(length, f64::min);
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let curves = with_curves.then(|| {
        finish.sort_by(|left, right| left.1.total_cmp(&right.1));
        // Of more SMs than a GPU has, those that were last.
        let finish = finish.split_off(sms.saturating_sub(MAX_SMS));
        Curves { finish, active: active(&stays, length) }
    });
    Balance {
        tail_ns: length - first,
        idle: ratio(idle, length * sms as f64),
        imbalance: load(&busy).imbalance(),
        curves,
    }
}

/// The spread of these times.
fn load(times: &[f64]) -> Load {
    let count = times.len() as u64;
    Load {
        count,
        mean_ns: if count > 0 { times.iter().sum::<f64>() / count as f64 } else { 0.0 },
        min_ns: times.iter().copied().reduce(f64::min).unwrap_or_default(),
        max_ns: times.iter().copied().fold(0.0, f64::max),
    }
}

/// The mean number of stays that hold in each of [`POINTS`] stretches.
fn active(stays: &[(u32, f64, f64)], length: f64) -> Vec<f32> {
    // Differences from point to point: a stay adds what it has of its first and last stretch, and 1
    // to those between.
    let mut change = vec![0.0_f64; POINTS + 2];
    if length > 0.0 {
        for &(_, entry, exit) in stays {
            for (at, sign) in [(entry, 1.0), (exit, -1.0)] {
                let place = at / length * POINTS as f64;
                let point = (place as usize).min(POINTS);
                let part = 1.0 - (place - point as f64);
                change[point] += sign * part;
                change[point + 1] += sign * (1.0 - part);
            }
        }
    }
    let mut level = 0.0;
    let levels = change.iter().take(POINTS).map(|change| {
        level += change;
        level.max(0.0) as f32
    });
    levels.collect()
}

#[cfg(test)]
mod tests {
    use super::active;

    #[test]
    fn active_warps_add_up_to_the_time_of_all_stays() {
        let stays = [(0, 0.0, 100.0), (0, 10.3, 55.7), (1, 99.0, 100.0), (1, 20.0, 20.0)];
        let sum: f32 = active(&stays, 100.0).iter().sum();
        let expected = (100.0 + 45.4 + 1.0) / 100.0 * 256.0;
        assert!((sum - expected).abs() < 1e-3, "{sum} {expected}");
        assert!((active(&stays, 100.0)[60] - 2.0).abs() < 1e-6);
    }
}
