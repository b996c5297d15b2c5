//! Waits: who waits for whom.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use profiler_wire::SiteKind;

use super::Summary;
use super::summary::summarize;
use crate::display::one_line;
use crate::model::{Mark, MarkIndex, SiteIndex, Trace, Warp};
use crate::progress::Progress;
use crate::table::{Sheet, Spare, sentence};
use crate::units::duration;

/// One wait and the signal that released it.
///
/// The mark of a wait stands at the end of the waiting. The lane's last record before it tells the
/// begin. If that is the begin of a region or another mark, the waiting began there. If it is the
/// end of a region whose name contains `wait` (in any case of letters), the waiting began with that
/// region. If it is the end of another region, the waiting began at that end. So put the waiting
/// into a region called `wait ..`, or put the mark into the region, with nothing but the waiting
/// between the two.
///
/// At one step of a coarse clock a region may end, the mark stand and another region begin. The mark
/// then belongs to the region that ends if its name contains `wait`, and otherwise to the one that
/// begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wait {
    /// Index into [`Trace::edges`].
    pub(super) edge: usize,
    /// The signal.
    pub(super) from: MarkIndex,
    /// The wait.
    pub(super) to: MarkIndex,
    /// The begin of the waiting, in nanoseconds on the trace's axis.
    pub(super) ready_ns: f64,
    /// The time of the signal.
    pub(super) signal_ns: f64,
    /// The end of the wait.
    pub(super) released_ns: f64,
    /// The region that the signalling lane was in, or had been in last.
    pub(super) signaller: Option<SiteIndex>,
    /// The region that the waiting lane was in, or had been in last.
    pub(super) waiter: Option<SiteIndex>,
}

impl Wait {
    /// The time that the waiter was blocked before the signal; 0 if the signal was there already.
    pub(super) fn blocked_ns(&self) -> f64 {
        (self.signal_ns - self.ready_ns).max(0.0)
    }

    /// The time from the moment that signal and waiter were both there until the waiter went on.
    pub(super) fn hand_off_ns(&self) -> f64 {
        (self.released_ns - self.signal_ns.max(self.ready_ns)).max(0.0)
    }
}

/// All waits of one name, between the same two regions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WaitStats {
    /// The name of signal and wait.
    pub(super) name: String,
    /// The region that the signals were given in or after; `None` if nothing was recorded before.
    pub(super) signaller: Option<String>,
    /// The region that the waiters waited in, likewise.
    pub(super) waiter: Option<String>,
    /// Waits that a signal released.
    pub(super) count: u64,
    /// Those that came before their signal.
    pub(super) blocked: u64,
    /// Those whose signal came from another block.
    pub(super) from_other_blocks: u64,
    /// [`Wait::blocked_ns`] of all of them.
    pub(super) blocked_ns: Summary,
    /// [`Wait::hand_off_ns`] of all of them.
    pub(super) hand_off_ns: Summary,
}

/// All waits of a launch: who waits for whom. `Display` makes a table, `{:#}` one in Markdown.
#[derive(Clone, Debug, PartialEq)]
pub struct Waits {
    /// Index into [`Trace::launches`].
    pub launch: usize,
    /// The kernel's name.
    pub kernel: String,
    /// Rows, the one with the most blocked time first.
    pub(super) rows: Vec<WaitStats>,
    /// Waits that no signal is known for; they are in no row.
    pub without_signal: u64,
}

impl Trace {
    /// The waits of a launch that a signal is known for, in order of the waiting warp and its marks.
    pub(super) fn released_waits(&self, launch: usize) -> Vec<Wait> {
        let Some(of) = self.launches.get(launch) else { return Vec::new() };
        let mark = |at: MarkIndex| Some((self.warps.get(at.warp)?, at));
        // Not by going through all of them: whoever asks for each launch would do that as often.
        let after = |warp: usize| self.edges.partition_point(|edge| edge.to.warp < warp);
        let edges = after(of.warps.start)..after(of.warps.end);
        let mut stamps = Stamps::new(self);
        let mut waits = Vec::with_capacity(edges.len());
        Progress::expect("waits", edges.len());
        for index in Progress::each(edges) {
            let edge = self.edges[index];
            let (Some(from), Some(to)) = (mark(edge.from), mark(edge.to)) else { continue };
            let (Some(signal), Some(wait)) =
                (from.0.marks.get(edge.from.mark), to.0.marks.get(edge.to.mark))
            else {
                continue;
            };
            let before = stamps.before(edge.to, wait);
            let signaller = stamps.before(edge.from, signal);
            waits.push(Wait {
                edge: index,
                from: edge.from,
                to: edge.to,
                ready_ns: before.map_or(to.0.entry.ns, |stamp| stamp.ready_ns),
                signal_ns: signal.time.ns,
                released_ns: wait.time.ns,
                signaller: signaller.and_then(|stamp| stamp.site),
                waiter: before.and_then(|stamp| stamp.site),
            });
        }
        waits
    }

    /// All waits of a launch; `None` if there is no such launch.
    ///
    /// It holds times of several warps against each other, which are not on one axis any more once the
    /// cost of recording was subtracted ([`Trace::subtract_record_cost`]): ask the trace as it was
    /// recorded.
    #[must_use]
    pub fn waits(&self, launch: usize) -> Option<Waits> {
        let of = self.launches.get(launch)?;
        let name = |site: SiteIndex| self.name_of(site).to_owned();
        let waits = self.released_waits(launch);
        type Key = (String, Option<SiteIndex>, Option<SiteIndex>);
        let mut groups: BTreeMap<Key, Vec<&Wait>> = BTreeMap::new();
        let merged = self.sites_by_name();
        let first = |site: Option<SiteIndex>| {
            site.map(|site| merged.get(site.0 as usize).copied().unwrap_or(site))
        };
        for wait in &waits {
            let mark = &self.warps[wait.to.warp].marks[wait.to.mark];
            let key = (name(mark.site), first(wait.signaller), first(wait.waiter));
            groups.entry(key).or_default().push(wait);
        }
        let summary = |waits: &[&Wait], of: fn(&Wait) -> f64| {
            let mut values: Vec<f64> = waits.iter().map(|wait| of(wait)).collect();
            summarize(&mut values, 0.0)
        };
        let block = |at: MarkIndex| self.warps[at.warp].block;
        let row = |((channel, signaller, waiter), waits): (Key, Vec<&Wait>)| WaitStats {
            name: channel,
            signaller: signaller.map(name),
            waiter: waiter.map(name),
            count: waits.len() as u64,
            blocked: waits.iter().filter(|wait| wait.blocked_ns() > 0.0).count() as u64,
            from_other_blocks: (waits.iter())
                .filter(|wait| block(wait.from) != block(wait.to))
                .count() as u64,
            blocked_ns: summary(&waits, Wait::blocked_ns),
            hand_off_ns: summary(&waits, Wait::hand_off_ns),
        };
        let mut rows: Vec<WaitStats> = groups.into_iter().map(row).collect();
        rows.sort_by(|left, right| right.blocked_ns.total.total_cmp(&left.blocked_ns.total));
        let is_wait = |mark: &&Mark| {
            self.sites.get(mark.site.0 as usize).is_some_and(|site| site.kind == SiteKind::Wait)
        };
        let marks = self.warps.get(of.warps.clone()).unwrap_or_default();
        let marks = marks.iter().flat_map(|warp| &warp.marks).filter(is_wait).count();
        Some(Waits {
            launch,
            kernel: name(of.kernel),
            without_signal: marks.saturating_sub(waits.len()) as u64,
            rows,
        })
    }
}

/// A moment at which a lane recorded something.
#[derive(Clone, Copy)]
struct Stamp {
    ticks: u64,
    /// Begins at the tick of a mark stand before it, ends after it, apart from the rules of
    /// [`Stamps::before`].
    is_after: bool,
    what: What,
    /// The begin of the waiting, if this is the last stamp before a wait.
    ready_ns: f64,
    site: Option<SiteIndex>,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Region,
    /// The end of a region of waiting.
    WaitingEnd,
    /// Index into the warp's marks.
    Mark(usize),
}

/// Whether sites are ones of waiting, by their names, of those that were asked for.
type IsWaiting = HashMap<SiteIndex, bool>;

/// The stamps of lanes, in order of time, made when they are first asked for.
struct Stamps<'t> {
    trace: &'t Trace,
    is_waiting: IsWaiting,
    of_lanes: HashMap<(usize, u8), Vec<Stamp>>,
    /// The stamps before marks that were looked up: one signal may release many waits.
    found: HashMap<MarkIndex, Option<Stamp>>,
}

impl<'t> Stamps<'t> {
    fn new(trace: &'t Trace) -> Self {
        let is_waiting = IsWaiting::new();
        Self { trace, is_waiting, of_lanes: HashMap::new(), found: HashMap::new() }
    }

    /// The last stamp of a mark's lane before it. Of stamps with the same tick that is an earlier
    /// mark, otherwise the end of a region of waiting, otherwise the begin of a region.
    fn before(&mut self, at: MarkIndex, mark: &Mark) -> Option<Stamp> {
        if let Some(found) = self.found.get(&at) {
            return *found;
        }
        let found = self.find(at, mark);
        self.found.insert(at, found);
        found
    }

    fn find(&mut self, at: MarkIndex, mark: &Mark) -> Option<Stamp> {
        let stamps = self.of_lanes.entry((at.warp, mark.lane)).or_insert_with(|| {
            let warp = &self.trace.warps[at.warp];
            of_lane(self.trace, warp, mark.lane, &mut self.is_waiting)
        });
        let ticks = mark.time.ticks;
        let count = stamps.partition_point(|stamp| {
            stamp.ticks < ticks || (stamp.ticks == ticks && !stamp.is_after)
        });
        let (before, after) = stamps.split_at(count);
        let at_once = &after[..after.partition_point(|stamp| stamp.ticks == ticks)];
        // Ends come first, then marks in their order. So only the first mark of a tick looks at the
        // ends, however many of both there are, and that once.
        let is_earlier = |stamp: &Stamp| !matches!(stamp.what, What::Mark(mark) if mark >= at.mark);
        let (earlier, _) = at_once.split_at(at_once.partition_point(is_earlier));
        let mark_before = earlier.last().filter(|stamp| matches!(stamp.what, What::Mark(_)));
        let waited = earlier.iter().filter(|stamp| stamp.what == What::WaitingEnd);
        let waited = || waited.min_by(|left, right| left.ready_ns.total_cmp(&right.ready_ns));
        mark_before.or_else(waited).or(before.last()).copied()
    }
}

fn of_lane(trace: &Trace, warp: &Warp, lane: u8, is_waiting: &mut IsWaiting) -> Vec<Stamp> {
    let mut stamps = Vec::new();
    let regions = warp.regions.iter().filter(|region| region.lane == lane);
    for region in regions.clone() {
        let (ready_ns, site) = (region.start.ns, Some(region.site));
        let what = What::Region;
        stamps.push(Stamp { ticks: region.start.ticks, is_after: false, what, ready_ns, site });
    }
    // Of those that end at one tick, the outermost ends last.
    for region in regions.rev() {
        let Some(end) = region.end else { continue };
        let is_waiting = *is_waiting.entry(region.site).or_insert_with(|| {
            let site = trace.sites.get(region.site.0 as usize);
            site.is_some_and(|site| site.name.to_lowercase().contains("wait"))
        });
        let (ready_ns, what) =
            if is_waiting { (region.start.ns, What::WaitingEnd) } else { (end.ns, What::Region) };
        let site = Some(region.site);
        stamps.push(Stamp { ticks: end.ticks, is_after: true, what, ready_ns, site });
    }
    for (index, mark) in warp.marks.iter().enumerate().filter(|(_, mark)| mark.lane == lane) {
        let (ready_ns, what) = (mark.time.ns, What::Mark(index));
        stamps.push(Stamp { ticks: mark.time.ticks, is_after: true, what, ready_ns, site: None });
    }
    stamps.sort_by_key(|stamp| (stamp.ticks, stamp.is_after));
    // A mark is after the region that the stamp before it is of.
    let mut last = None;
    for stamp in &mut stamps {
        stamp.site = stamp.site.or(last);
        last = stamp.site;
    }
    stamps
}

/// Columns that may be left out where they do not fit.
const SPARE: &[Spare<'_>] = &[
    ("other block", &[5]),
    ("hand-off", &[9, 10]),
    ("quantiles of what was blocked", &[7, 8]),
    ("for", &[2]),
    ("waits", &[3]),
    ("blocked", &[4]),
];

/// As wide as [`Stats`](crate::Stats) are.
impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = one_line(&self.kernel);
        sentence(f, &format!("{name}, launch {}: who waits for whom", self.launch))?;
        match self.without_signal {
            0 => {}
            1 => sentence(f, "1 wait has no signal and is left out")?,
            several => sentence(f, &format!("{several} waits have no signal and are left out"))?,
        }
        if self.rows.is_empty() {
            return sentence(f, "no wait has a signal");
        }
        let region =
            |name: &Option<String>| name.as_deref().map_or_else(|| "(kernel)".to_owned(), one_line);
        let row = |row: &WaitStats| {
            vec![
                one_line(&row.name),
                region(&row.waiter),
                region(&row.signaller),
                row.count.to_string(),
                row.blocked.to_string(),
                row.from_other_blocks.to_string(),
                duration(row.blocked_ns.total),
                duration(row.blocked_ns.p50),
                duration(row.blocked_ns.p99),
                duration(row.hand_off_ns.p50),
                duration(row.hand_off_ns.p99),
            ]
        };
        let header = [
            "signal",
            "waits in",
            "for",
            "waits",
            "blocked",
            "other block",
            "blocked for",
            "p50",
            "p99",
            "hand-off p50",
            "p99",
        ];
        let rows = self.rows.iter().map(row).collect();
        Sheet { spare: SPARE, texts: &[0, 1, 2], ..Sheet::new(&header, rows) }.write(f)
    }
}
