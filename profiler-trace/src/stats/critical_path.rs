//! Critical paths: the work that the end of a launch waited for.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

use super::query::last_ns;
use super::waits::Wait;
use crate::display::{counted, one_line};
use crate::model::{SiteIndex, Trace, Warp};
use crate::progress::Progress;
use crate::table::{Sheet, sentence};
use crate::units::{digits, duration};

/// The kind of a stretch of a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathPart {
    /// From the start of the launch to the entry of the first warp of the path.
    BeforeEntry,
    /// A warp runs: index into [`Trace::warps`].
    Run(usize),
    /// From a signal to the end of the wait that it released: index into [`Trace::edges`].
    HandOff(usize),
    /// From the exit of this warp to the entry of the next warp of the path, on the same SM, which
    /// presumably had no room before.
    NextBlock(usize),
}

/// A stretch of a critical path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PathStep {
    /// Its begin, in nanoseconds on the trace's axis.
    pub(super) start_ns: f64,
    /// Its end: the next step's begin.
    pub(super) end_ns: f64,
    /// Its kind.
    pub(super) part: PathPart,
}

impl PathStep {
    /// Its length in nanoseconds.
    pub(super) fn ns(&self) -> f64 {
        self.end_ns - self.start_ns
    }
}

/// The share of a region in a critical path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PathShare {
    /// The region; `None` for time outside regions.
    pub(super) site: Option<SiteIndex>,
    /// Its name.
    pub(super) name: String,
    /// Time on the path with it as the innermost region of the warp, in nanoseconds. The innermost
    /// region is the one that began last, over all lanes and tracks.
    pub(super) ns: f64,
}

/// The chain of work that the end of a launch waited for, from its start to its end without a gap:
/// whatever is shortened elsewhere, the launch is not sooner done.
///
/// It is found backwards from the warp that was done last (as in C.-Q. Yang and B. P. Miller,
/// *Critical Path Analysis for the Execution of Parallel and Distributed Programs*, 1988, and D.
/// Böhme and others, *Scalable Critical-Path Based Performance Analysis*, 2012). At the last wait
/// of a warp that came before its signal, the path goes on with the signaller; at a warp's entry, with the warp that left the same SM last
/// before that. Only waits with a signal are known: through a barrier without marks the path stays
/// in its warp and shows the waiting there.
#[derive(Clone, Debug, PartialEq)]
pub struct CriticalPath {
    /// Index into [`Trace::launches`].
    pub launch: usize,
    /// The kernel's name.
    pub kernel: String,
    /// Its length: from the start of the launch to its end, in nanoseconds.
    pub span_ns: f64,
    /// Its stretches, in order of time; none has length 0.
    pub(super) steps: Vec<PathStep>,
    /// Regions of the running warps, the longest first.
    pub(super) regions: Vec<PathShare>,
    /// Time before the first entry.
    pub before_entry_ns: f64,
    /// Time between signals and the ends of their waits.
    pub hand_off_ns: f64,
    /// Time between the exit of a warp and the entry of the next on the same SM.
    pub next_block_ns: f64,
}

impl Trace {
    /// The critical path of a launch; `None` if there is no such launch or it has no warps.
    ///
    /// It holds times of several warps against each other, which are not on one axis any more once the
    /// cost of recording was subtracted ([`Trace::subtract_record_cost`]): ask the trace as it was
    /// recorded.
    #[must_use]
    pub fn critical_path(&self, launch: usize) -> Option<CriticalPath> {
        let of = self.launches.get(launch)?;
        let warps = self.warps.get(of.warps.clone())?;
        let last = (of.warps.clone().zip(warps))
            .max_by(|(_, left), (_, right)| last_ns(self, left).total_cmp(&last_ns(self, right)));
        let steps = Walk::new(self, launch).back_from(last?.0);
        let time = |is: fn(PathPart) -> bool| {
            // A sum of nothing would be -0.
            let of_kind = steps.iter().filter(|step| is(step.part));
            of_kind.map(PathStep::ns).fold(0.0, |all, ns| all + ns)
        };
        Some(CriticalPath {
            launch,
            kernel: self.name_of(of.kernel).to_owned(),
            span_ns: of.end_ns - of.start_ns,
            regions: shares(self, &steps),
            before_entry_ns: time(|part| part == PathPart::BeforeEntry),
            hand_off_ns: time(|part| matches!(part, PathPart::HandOff(_))),
            next_block_ns: time(|part| matches!(part, PathPart::NextBlock(_))),
            steps,
        })
    }
}

/// The way back through a launch.
struct Walk<'t> {
    trace: &'t Trace,
    start_ns: f64,
    end_ns: f64,
    /// Waits of each warp that came before their signal, in order of time; those that the path has
    /// passed are taken off.
    waits: HashMap<usize, Vec<Wait>>,
    /// Exits of each SM's warps, in order of time.
    exits: HashMap<u32, Vec<(f64, usize)>>,
    /// Backwards.
    steps: Vec<PathStep>,
}

impl<'t> Walk<'t> {
    fn new(trace: &'t Trace, launch: usize) -> Self {
        let of = &trace.launches[launch];
        let mut waits: HashMap<usize, Vec<Wait>> = HashMap::new();
        for wait in trace.released_waits(launch) {
            if wait.blocked_ns() > 0.0 && of.warps.contains(&wait.from.warp) {
                waits.entry(wait.to.warp).or_default().push(wait);
            }
        }
        let mut exits: HashMap<u32, Vec<(f64, usize)>> = HashMap::new();
        for (index, warp) in of.warps.clone().zip(&trace.warps[of.warps.clone()]) {
            if let Some(exit) = warp.exit {
                exits.entry(warp.sm).or_default().push((exit.ns, index));
            }
        }
        for exits in exits.values_mut() {
            exits.sort_by(|left, right| left.0.total_cmp(&right.0));
        }
        let (start_ns, end_ns) = (of.start_ns, of.end_ns);
        Self { trace, start_ns, end_ns, waits, exits, steps: Vec::new() }
    }

    /// Goes back from the end of a warp; gives the steps in order of time.
    fn back_from(mut self, last: usize) -> Vec<PathStep> {
        let (mut at, mut now) = (last, self.end_ns);
        // Each wait and each warp's exit are passed once at most, so this ends.
        let mut left: HashSet<usize> = HashSet::from([last]);
        loop {
            if let Some(wait) = self.last_wait(at, now) {
                now = self.step(wait.released_ns, now, PathPart::Run(at));
                now = self.step(wait.signal_ns, now, PathPart::HandOff(wait.edge));
                at = wait.from.warp;
                continue;
            }
            let entry = self.trace.warps[at].entry.ns;
            now = self.step(entry, now, PathPart::Run(at));
            match self.left_before(at, entry).filter(|(_, before)| left.insert(*before)) {
                Some((exit, before)) => {
                    now = self.step(exit, now, PathPart::NextBlock(before));
                    at = before;
                }
                None => {
                    self.step(self.start_ns, now, PathPart::BeforeEntry);
                    break;
                }
            }
        }
        self.steps.reverse();
        debug_assert!(self.is_whole(), "{:?}", self.steps);
        self.steps
    }

    /// Whether the steps go on from one another, from the launch's start to its end.
    fn is_whole(&self) -> bool {
        let mut at = self.start_ns;
        let mut goes_on = |step: &PathStep| {
            let goes_on = step.start_ns == at && step.end_ns > at;
            at = step.end_ns;
            goes_on
        };
        self.steps.iter().all(&mut goes_on) && (self.steps.is_empty() || at == self.end_ns)
    }

    /// A step that ends now; gives its begin, which is never later.
    fn step(&mut self, start_ns: f64, now: f64, part: PathPart) -> f64 {
        let start_ns = start_ns.min(now).max(self.start_ns);
        if start_ns < now {
            self.steps.push(PathStep { start_ns, end_ns: now, part });
        }
        start_ns
    }

    /// The last wait of a warp that was over by now and came before its signal.
    fn last_wait(&mut self, warp: usize, now: f64) -> Option<Wait> {
        let waits = self.waits.get_mut(&warp)?;
        while let Some(wait) = waits.pop() {
            if wait.released_ns <= now {
                return Some(wait);
            }
        }
        None
    }

    /// The warp of another block that left an SM last before one entered, and when.
    fn left_before(&self, warp: usize, entry_ns: f64) -> Option<(f64, usize)> {
        let warps = &self.trace.warps;
        let exits = self.exits.get(&warps[warp].sm)?;
        let before = exits.partition_point(|(exit, _)| *exit <= entry_ns);
        let mut before = exits[..before].iter().rev();
        before.find(|(_, other)| warps[*other].block != warps[warp].block).copied()
    }
}

/// The regions of the warps while the path ran through them.
fn shares(trace: &Trace, steps: &[PathStep]) -> Vec<PathShare> {
    let mut runs: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
    for step in steps {
        if let PathPart::Run(warp) = step.part {
            runs.entry(warp).or_default().push((step.start_ns, step.end_ns));
        }
    }
    let mut of_sites: BTreeMap<Option<SiteIndex>, f64> = BTreeMap::new();
    Progress::expect("warps on the path", runs.len());
    for (warp, runs) in Progress::each(runs) {
        sweep(&trace.warps[warp], &runs, &mut of_sites);
    }
    let merged = trace.sites_by_name();
    let mut times: BTreeMap<Option<SiteIndex>, f64> = BTreeMap::new();
    for (site, ns) in of_sites {
        let first = site.map(|site| merged.get(site.0 as usize).copied().unwrap_or(site));
        *times.entry(first).or_default() += ns;
    }
    let share = |(site, ns): (Option<SiteIndex>, f64)| {
        let name = site.map_or("(no region)", |site| trace.name_of(site)).to_owned();
        PathShare { site, name, ns }
    };
    let mut shares: Vec<PathShare> = times.into_iter().map(share).collect();
    shares.sort_by(|left, right| right.ns.total_cmp(&left.ns));
    shares
}

/// Adds the time of a warp's runs to what is innermost at each moment.
fn sweep(warp: &Warp, runs: &[(f64, f64)], times: &mut BTreeMap<Option<SiteIndex>, f64>) {
    enum What {
        End(usize),
        Run(bool),
        Start(usize),
    }
    let mut events: Vec<(f64, What)> = Vec::new();
    for (index, region) in warp.regions.iter().enumerate() {
        events.push((region.start.ns, What::Start(index)));
        events.extend(region.end.map(|end| (end.ns, What::End(index))));
    }
    for (start, end) in runs {
        events.extend([(*start, What::Run(true)), (*end, What::Run(false))]);
    }
    // A region without length starts before it ends; other ties span no time.
    events.sort_by(|left, right| left.0.total_cmp(&right.0));
    // Regions are in order of their start, so the last of those that run is the innermost.
    let mut running: BTreeSet<usize> = BTreeSet::new();
    let (mut is_on_path, mut since) = (false, f64::NEG_INFINITY);
    for (at, what) in events {
        if is_on_path && at > since {
            let site = running.last().map(|index| warp.regions[*index].site);
            *times.entry(site).or_default() += at - since;
        }
        since = at;
        match what {
            What::Start(index) => _ = running.insert(index),
            What::End(index) => _ = running.remove(&index),
            What::Run(begins) => is_on_path = begins,
        }
    }
}

/// As wide as [`Stats`](crate::Stats) are.
impl fmt::Display for CriticalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signals = self.steps.iter().filter(|step| matches!(step.part, PathPart::HandOff(_)));
        let blocks = self.steps.iter().filter(|step| matches!(step.part, PathPart::NextBlock(_)));
        let about = format!(
            "{}, launch {}: critical path of {}, through {} and {}",
            one_line(&self.kernel),
            self.launch,
            duration(self.span_ns),
            counted(signals.count() as u64, "signal"),
            counted(blocks.count() as u64, "following block")
        );
        sentence(f, &about)?;
        let share = |ns: f64| {
            let share = if self.span_ns > 0.0 { ns / self.span_ns } else { 0.0 };
            format!("{} %", digits(share * 100.0))
        };
        let row = |name: &str, ns: f64| vec![one_line(name), duration(ns), share(ns)];
        let mut rows: Vec<_> = self.regions.iter().map(|of| row(&of.name, of.ns)).collect();
        for (name, ns) in [
            ("(from signal to waiter)", self.hand_off_ns),
            ("(from one block to the next)", self.next_block_ns),
            ("(before the first entry)", self.before_entry_ns),
        ] {
            if ns > 0.0 {
                rows.push(row(name, ns));
            }
        }
        Sheet::new(&["on the path", "time", "share"], rows).write(f)
    }
}
