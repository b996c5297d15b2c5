//! From the regions of a trace to rows.
//!
//! The regions are gone through twice: to count and to gather nanoseconds, and to gather cycles in the
//! same memory. So 8 bytes a region, or up to 16 where rows have few, are all that is held beside the
//! trace, and all quantiles are exact; and the trace may be one whose warps are decoded when they are
//! asked for.

use std::collections::HashMap;

use profiler_wire::header::Clock;
use profiler_wire::{SiteKind, Strategy};

use super::marks::Marks;
use super::paths::{DEEPER, PATH_LEVELS, Paths};
use super::query::last_ns;
use super::summary::{Sum, summarize};
use super::{GroupBy, SiteStats, Stats, StatsPlace, StatsQuery, Summary, Throughput};
use crate::model::{Region, SiteIndex, Time, Trace, Warp};
use crate::nesting::Nesting;
use crate::progress::Progress;
use crate::source::WarpSource;
use crate::source::notes;

/// The key of a row: the kernel's place in the order of launches, the place, and the node (a site's
/// index, or a node of the tree of paths).
type Key = (usize, StatsPlace, u32);

/// The counts of a row.
#[derive(Default)]
pub(crate) struct Counted {
    key: Key,
    count: u64,
    open: u64,
    /// Durations in cycles among `count`.
    in_cycles: u64,
    /// Durations in the unit at hand.
    durations: Vec<f64>,
    /// Time of warps in what is counted, in the unit at hand.
    spent: WarpTime,
    /// The same in nanoseconds, of all that reaches into the window.
    inside_ns: WarpTime,
    /// The sites whose regions it has: several where they share a name.
    sites: Vec<SiteIndex>,
    valued: u64,
    value: Sum,
    valued_ns: Sum,
}

/// Time that warps spend in something. What a warp is in several times at once (in several lanes, or
/// in itself by recursion) counts once.
#[derive(Clone, Copy, Default)]
pub(super) struct WarpTime {
    pub(super) sum: Sum,
    /// The last warp, and up to when its time was counted.
    last: Option<(usize, f64)>,
}

impl WarpTime {
    /// Adds a span of a warp. The spans of one warp come together, in order of their starts.
    pub(super) fn add(&mut self, warp: usize, start: f64, end: f64) {
        let counted = match self.last {
            Some((last, until)) if last == warp => until,
            _ => f64::NEG_INFINITY,
        };
        let from = start.max(counted);
        if end > from {
            self.sum.add(end - from);
        }
        self.last = Some((warp, end.max(counted)));
    }
}

/// Warps that strategies let record in a place, and their kernel time.
#[derive(Clone, Copy, Default)]
struct Recorders {
    warps: u64,
    kernel_ns: Sum,
}

/// A region of a warp, or the warp's time in its kernel.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'t> {
    pub(crate) warp: &'t Warp,
    /// The place of the warp in [`Trace::warps`].
    pub(crate) index: usize,
    pub(crate) region: Option<&'t Region>,
}

impl Seen<'_> {
    pub(crate) fn start(&self) -> Time {
        self.region.map_or(self.warp.entry, |region| region.start)
    }

    fn end(&self) -> Option<Time> {
        self.region.map_or(self.warp.exit, |region| region.end)
    }

    /// Its duration in nanoseconds, if it has an end.
    pub(crate) fn ns(&self) -> Option<f64> {
        let ns = self.end()?.ns - self.start().ns;
        Some(if self.region.is_none() { ns.max(0.0) } else { ns })
    }

    /// Its duration in cycles, if it has an end and was recorded in cycles.
    pub(crate) fn cycles(&self) -> Option<f64> {
        self.ticks().map(|(start, end)| (end - start) as f64)
    }

    /// From which cycle to which it lasted, if it has an end and was recorded by them.
    fn ticks(&self) -> Option<(u64, u64)> {
        let (start, end) = (self.start().ticks, self.end()?.ticks);
        (self.warp.clock == Clock::Cycles).then_some((start, end.max(start)))
    }
}

/// Finds the rows of what is in a query.
pub(crate) struct Walk<'t, S> {
    source: &'t S,
    trace: &'t Trace,
    query: &'t StatsQuery,
    /// Kernels in order of their first launch.
    kernels: Vec<SiteIndex>,
    kernel_place: HashMap<SiteIndex, usize>,
    /// Whether a site's name is in.
    is_in: Vec<bool>,
    /// By site, the first one whose rows it shares.
    merged: Vec<SiteIndex>,
    index: HashMap<Key, u32>,
    rows: Vec<Counted>,
    paths: Paths,
    nesting: Nesting<u32>,
    /// The marks, while they are gathered.
    marks: Option<Marks>,
    /// The rows of nodes in the place that was looked at last.
    near: Vec<u32>,
    near_nodes: Vec<u32>,
    near_place: Option<(usize, StatsPlace)>,
}

/// No row yet.
const NONE: u32 = u32::MAX;

impl<'t, S: WarpSource> Walk<'t, S> {
    pub(crate) fn new(source: &'t S, query: &'t StatsQuery) -> Self {
        let trace = source.outline();
        Self {
            source,
            trace,
            query,
            kernels: Vec::new(),
            kernel_place: HashMap::new(),
            is_in: trace.sites.iter().map(|site| query.takes_name(&site.name)).collect(),
            merged: merged(trace, query.group_by()),
            index: HashMap::new(),
            rows: Vec::new(),
            paths: Paths::default(),
            nesting: Nesting::default(),
            marks: None,
            near: Vec::new(),
            near_nodes: Vec::new(),
            near_place: None,
        }
    }

    fn is_in(&self, site: SiteIndex) -> bool {
        // A site that the trace does not have has no name to go by.
        self.is_in.get(site.0 as usize).copied().unwrap_or(!self.query.has_names())
    }

    /// The number of warps of the launches in the query.
    fn warp_count(&self) -> usize {
        let launches = self.trace.launches.iter().enumerate();
        let launches = launches.filter(|(number, _)| self.query.takes_launch(self.trace, *number));
        // A range of warps may be any, and go beyond those that are there.
        let most = self.trace.warps.len();
        launches.map(|(_, launch)| launch.warps.len().min(most)).fold(0, usize::saturating_add)
    }

    /// Indices of the warps that are in, each with the place of its kernel and its own.
    fn warps(&mut self, mut each: impl FnMut(&mut Self, usize, usize, StatsPlace)) {
        Progress::expect("warps gathered", self.warp_count());
        for (number, launch) in self.trace.launches.iter().enumerate() {
            if !self.query.takes_launch(self.trace, number) {
                continue;
            }
            let kernel = *self.kernel_place.entry(launch.kernel).or_insert_with(|| {
                self.kernels.push(launch.kernel);
                self.kernels.len() - 1
            });
            for index in Progress::each(launch.warps.clone()) {
                let Some(warp) = self.trace.warps.get(index) else { break };
                if self.query.takes_warp(self.source, index) {
                    let place = place(self.query.group_by(), number, warp);
                    each(self, index, kernel, place);
                }
            }
        }
    }

    /// All that has a row: its row, its warp, and what it is.
    pub(crate) fn seen(&mut self, mut each: impl FnMut(&mut Counted, u32, Seen<'_>)) {
        let by_path = self.query.group_by() == GroupBy::Path;
        self.warps(|walk, index, kernel, place| {
            let source = walk.source;
            let warp = &*source.warp(index);
            let seen = |region| Seen { warp, index, region };
            if let Some(marks) = &mut walk.marks {
                marks.add((walk.trace, walk.query), kernel, place, warp);
            }
            let site = walk.kernels[kernel];
            let root = if by_path { walk.paths.root(site) } else { site.0 };
            if walk.is_in(site) {
                let row = walk.row(kernel, place, root, site);
                each(&mut walk.rows[row as usize], row, seen(None));
            }
            walk.nesting.clear();
            for region in &warp.regions {
                let merged = walk.merged.get(region.site.0 as usize).copied();
                let merged = merged.unwrap_or(region.site);
                let node = if by_path {
                    walk.nesting
                        .region(region, |parent| walk.paths.below(parent.unwrap_or(root), merged))
                } else {
                    merged.0
                };
                if walk.is_in(region.site) {
                    let row = walk.row(kernel, place, node, region.site);
                    each(&mut walk.rows[row as usize], row, seen(Some(region)));
                }
            }
        });
    }

    /// The row of a node in a place, which has regions of a site.
    fn row(&mut self, kernel: usize, place: StatsPlace, node: u32, site: SiteIndex) -> u32 {
        let row = self.row_of(kernel, place, node);
        let sites = &mut self.rows[row as usize].sites;
        if !sites.contains(&site) {
            sites.push(site);
        }
        row
    }

    fn row_of(&mut self, kernel: usize, place: StatsPlace, node: u32) -> u32 {
        if self.near_place != Some((kernel, place)) {
            self.near_place = Some((kernel, place));
            for node in self.near_nodes.drain(..) {
                self.near[node as usize] = NONE;
            }
        }
        if let Some(row) = self.near.get(node as usize).filter(|row| **row != NONE) {
            return *row;
        }
        let key = (kernel, place, node);
        let row = *self.index.entry(key).or_insert_with(|| {
            self.rows.push(Counted { key, ..Counted::default() });
            (self.rows.len() - 1) as u32
        });
        // Numbers of sites that the trace does not have may be any.
        let known = self.trace.sites.len().max(self.paths.len());
        if (node as usize) < known {
            if self.near.len() < known {
                self.near.resize(known, NONE);
            }
            self.near[node as usize] = row;
            self.near_nodes.push(node);
        }
        row
    }

    /// The names of a row: its kernel's, those of what encloses it (by path), its own.
    pub(crate) fn names(&self, row: u32) -> (String, Vec<String>, String) {
        let key = &self.rows[row as usize].key;
        let name = |site: SiteIndex| self.trace.name_of(site).to_owned();
        let path = match self.query.group_by() {
            GroupBy::Path => self.paths.enclosing(key.2),
            _ => Vec::new(),
        };
        let mut path: Vec<String> = path.into_iter().map(name).collect();
        if path.len() == PATH_LEVELS {
            path.push(DEEPER.to_owned());
        }
        (name(self.kernels[key.0]), path, name(self.site(key)))
    }

    /// The site of a key; of several that share a row, the first.
    fn site(&self, key: &Key) -> SiteIndex {
        match self.query.group_by() {
            GroupBy::Path => self.paths.site(key.2),
            _ => SiteIndex(key.2),
        }
    }
}

/// For each site the first one that shares its rows: regions of one name and unit do, unless rows are
/// about sites.
pub(super) fn merged(trace: &Trace, by: GroupBy) -> Vec<SiteIndex> {
    let mut first = HashMap::new();
    let sites = trace.sites.iter().zip(0..);
    let merged = sites.map(|(site, index)| match (by, site.kind) {
        (GroupBy::Site, _) | (_, SiteKind::Kernel) => SiteIndex(index),
        _ => *first.entry((&site.name, &site.unit)).or_insert(SiteIndex(index)),
    });
    merged.collect()
}

pub(crate) fn collect(source: &impl WarpSource, query: &StatsQuery) -> Stats {
    let mut walk = Walk::new(source, query);
    let trace = walk.trace;
    walk.marks = Some(Marks::new(trace, query.group_by()));
    count(&mut walk);
    let marks = walk.marks.take().map(|marks| marks.rows(trace, &walk.kernels));
    let recorders = recorders(&mut walk);
    let summaries = |walk: &mut Walk<'_, _>| {
        let rows = walk.rows.len();
        Progress::expect("rows summarized", rows);
        let summary = |row: usize| {
            let counted = &mut walk.rows[row];
            let mut durations = std::mem::take(&mut counted.durations);
            let summary = summarize(&mut durations, std::mem::take(&mut counted.spent).sum.value());
            // With its memory, for the next unit.
            durations.clear();
            counted.durations = durations;
            summary
        };
        Progress::each(0..rows).map(summary).collect::<Vec<Summary>>()
    };
    let ns = summaries(&mut walk);
    walk.seen(|counted, _, seen| {
        if let Some((start, end)) = seen.ticks()
            && query.takes_begin(seen.start().ns)
        {
            counted.durations.push((end - start) as f64);
            // As above.
            let Warp { entry, exit, .. } = seen.warp;
            let last = exit.map_or(u64::MAX, |exit| exit.ticks);
            let since_entry = |ticks: u64| ticks.min(last).saturating_sub(entry.ticks) as f64;
            counted.spent.add(seen.index, since_entry(start), since_entry(end));
        }
    });
    let cycles = summaries(&mut walk);
    let mut rows: Vec<(Key, SiteStats)> = Vec::with_capacity(walk.rows.len());
    for ((index, counted), (ns, cycles)) in
        walk.rows.iter().enumerate().zip(ns.into_iter().zip(cycles))
    {
        // Not in the window at all.
        if counted.count == 0 && counted.open == 0 && counted.inside_ns.sum.value() == 0.0 {
            continue;
        }
        rows.push((
            counted.key,
            row(&walk, counted, ns, cycles, recorders.of_row(index, &counted.key)),
        ));
    }
    sort(&mut rows, &walk);
    let mut notes = notes::facts(source);
    if query.is_filtered() {
        notes.push(format!("the figures below are only of: {query}"));
    }
    let unmet = query.unmet(trace);
    notes.extend_from_slice(&unmet);
    if rows.iter().any(|(_, row)| row.is_deeper()) {
        notes.push(format!(
            "regions in {PATH_LEVELS} others or more have one row for each name, after `{DEEPER}`: \
             what else encloses them is not told apart"
        ));
    }
    Stats {
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        marks: marks.unwrap_or_default(),
        by: query.group_by(),
        notes,
        unmet,
        diagnostics: trace.diagnostics.clone(),
        sites: trace.sites.clone(),
        grids: trace.launches.iter().map(|launch| launch.grid_dim).collect(),
        is_filtered_by_name: query.has_names(),
    }
}

/// The first time through the trace: counts, and gathers nanoseconds.
fn count(walk: &mut Walk<'_, impl WarpSource>) {
    let (trace, query) = (walk.trace, walk.query);
    walk.seen(|counted, _, seen| {
        let Seen { warp, index, region } = seen;
        let start = seen.start().ns;
        let duration = seen.ns();
        let end = match region {
            None => Some(last_ns(trace, warp)),
            Some(_) => duration.map(|duration| start + duration),
        };
        // What lies outside of the warp's stay in the kernel is no part of that.
        let stay = (warp.entry.ns, last_ns(trace, warp));
        let within = |(from, to): (f64, f64)| (from.max(stay.0), to.min(stay.1));
        if let Some(end) = end.filter(|_| duration.is_some()) {
            let (from, to) = within(query.inside_ns(start, end));
            counted.inside_ns.add(index, from, to);
        }
        if !query.takes_begin(start) {
            return;
        }
        let Some(duration) = duration else {
            counted.open += 1;
            return;
        };
        counted.count += 1;
        counted.durations.push(duration);
        let (from, to) = within((start, start + duration));
        counted.spent.add(index, from, to);
        counted.in_cycles += u64::from(warp.clock == Clock::Cycles);
        if let Some(Region { value: Some(value), .. }) = region {
            counted.valued += 1;
            counted.value.add(value.as_f64());
            counted.valued_ns.add(duration);
        }
    });
}

/// The warps that could have recorded each row.
struct RecordersOfRows {
    /// By row, the strategies of its sites: a place in the lists of its kernel.
    strategies: Vec<usize>,
    of: HashMap<(usize, StatsPlace, usize), Recorders>,
}

impl RecordersOfRows {
    fn of_row(&self, row: usize, &(kernel, place, _): &Key) -> Recorders {
        self.of.get(&(kernel, place, self.strategies[row])).copied().unwrap_or_default()
    }
}

/// Warps that recorded nothing could have, so the strategies must be known before they count.
fn recorders(walk: &mut Walk<'_, impl WarpSource>) -> RecordersOfRows {
    let (trace, query) = (walk.trace, walk.query);
    let mut lists: Vec<Vec<Vec<Option<Strategy>>>> = vec![Vec::new(); walk.kernels.len()];
    let strategies = walk.rows.iter().map(|counted| {
        let mut of_row: Vec<Option<Strategy>> = Vec::new();
        for site in &counted.sites {
            let strategy = site_strategy(trace, *site);
            if !of_row.contains(&strategy) {
                of_row.push(strategy);
            }
        }
        let of_kernel = &mut lists[counted.key.0];
        of_kernel.iter().position(|list| *list == of_row).unwrap_or_else(|| {
            of_kernel.push(of_row);
            of_kernel.len() - 1
        })
    });
    let strategies = strategies.collect();
    let mut of: HashMap<_, Recorders> = HashMap::new();
    walk.warps(|_, index, kernel, place| {
        let warp = &trace.warps[index];
        for (number, list) in lists[kernel].iter().enumerate() {
            let could = |of: &Option<Strategy>| may_record(of.unwrap_or(warp.strategy), warp.warp);
            if list.iter().any(could) {
                let entry = of.entry((kernel, place, number)).or_default();
                entry.warps += 1;
                entry.kernel_ns.add(kernel_ns(trace, query, warp));
            }
        }
    });
    RecordersOfRows { strategies, of }
}

fn row(
    walk: &Walk<'_, impl WarpSource>,
    counted: &Counted,
    ns: Summary,
    cycles: Summary,
    recorders: Recorders,
) -> SiteStats {
    let (kernel, place, node) = counted.key;
    let mut sites = counted.sites.clone();
    sites.sort_unstable();
    let site = sites[0];
    let known = walk.trace.sites.get(site.0 as usize);
    let available = recorders.kernel_ns.value();
    let per_warp = |summary: Summary| Summary {
        mean_per_warp: if recorders.warps > 0 {
            summary.mean_per_warp / recorders.warps as f64
        } else {
            0.0
        },
        ..summary
    };
    let (ns, cycles) = (per_warp(ns), per_warp(cycles));
    let unit = known.and_then(|site| site.unit.clone()).filter(|_| counted.valued > 0);
    let by_path = walk.query.group_by() == GroupBy::Path;
    let (value, valued_ns) = (counted.value.value(), counted.valued_ns.value());
    SiteStats {
        kernel: walk.kernels[kernel],
        site,
        sites,
        path: if by_path { walk.paths.enclosing(node) } else { Vec::new() },
        name: walk.trace.name_of(site).to_owned(),
        place,
        count: counted.count,
        open: counted.open,
        ns,
        cycles: (counted.in_cycles == counted.count && counted.count > 0).then_some(cycles),
        warps: recorders.warps,
        share: if available > 0.0 { counted.inside_ns.sum.value() / available } else { 0.0 },
        throughput: unit.map(|unit| Throughput {
            unit,
            total: value,
            per_second: if valued_ns > 0.0 { value / (valued_ns * 1e-9) } else { 0.0 },
        }),
    }
}

/// Kernels and places in order; in each the kernel as a whole, then the regions, the largest total
/// first, and what they enclose right after them.
fn sort(rows: &mut [(Key, SiteStats)], walk: &Walk<'_, impl WarpSource>) {
    let by_path = walk.query.group_by() == GroupBy::Path;
    let totals: HashMap<Key, f64> = rows.iter().map(|(key, row)| (*key, row.ns.total)).collect();
    rows.sort_by_cached_key(|((kernel, place, node), row)| {
        // By the totals of what encloses it, so that it finds its place after that.
        let order = |node: u32| {
            let key = (*kernel, *place, node);
            let total = totals.get(&key).copied().unwrap_or_default();
            // The bits of a number from 0 on are in its order.
            (std::cmp::Reverse(total.max(0.0).to_bits()), walk.site(&key))
        };
        let mut path: Vec<_> = if by_path {
            walk.paths.lineage(*node).map(order).collect()
        } else {
            vec![order(*node)]
        };
        path.reverse();
        let is_region = !row.path.is_empty() || row.site != row.kernel;
        (*kernel, place.order(), is_region, path)
    });
}

fn place(by: GroupBy, launch: usize, warp: &Warp) -> StatsPlace {
    let whole = StatsPlace::default();
    let in_launch = StatsPlace { launch: Some(launch), ..whole };
    match by {
        GroupBy::Name | GroupBy::Site | GroupBy::Path => whole,
        GroupBy::Launch => in_launch,
        GroupBy::Sm => StatsPlace { sm: Some(warp.sm), ..whole },
        GroupBy::Block => StatsPlace { block: Some(warp.block), ..in_launch },
        GroupBy::Warp => StatsPlace { block: Some(warp.block), warp: Some(warp.warp), ..in_launch },
    }
}

/// The strategy of a site. All warps are in their kernel, with any strategy of its regions.
pub(crate) fn site_strategy(trace: &Trace, site: SiteIndex) -> Option<Strategy> {
    let site = trace.sites.get(site.0 as usize)?;
    if site.kind == SiteKind::Kernel { Some(Strategy::Warp) } else { site.strategy }
}

/// Whether a strategy lets this warp of a block record.
pub(crate) fn may_record(strategy: Strategy, warp: u32) -> bool {
    match strategy {
        Strategy::Warp | Strategy::Elected | Strategy::Thread | Strategy::When => true,
        Strategy::Block => warp == 0,
        Strategy::WarpIndex(index) => warp == u32::from(index),
        Strategy::WarpGroup => warp.is_multiple_of(4),
    }
}

/// From entry to exit, as far as it lies in the window; for a warp that never left, to the end of its
/// launch.
fn kernel_ns(trace: &Trace, query: &StatsQuery, warp: &Warp) -> f64 {
    let (from, to) = query.inside_ns(warp.entry.ns, last_ns(trace, warp));
    (to - from).max(0.0)
}
