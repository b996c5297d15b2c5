//! What filled each cell of a row.

use std::cmp::Ordering;
use std::collections::HashMap;

use profiler_trace::{Region, SiteIndex, Trace, Warp, WarpSource};

/// What of a launch is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// On the trace's axis.
    pub(super) start_ns: f64,
    /// On the trace's axis; later than the start.
    pub(super) end_ns: f64,
    pub(super) columns: usize,
    /// Regions that so many others enclose, or more, are drawn as what encloses them.
    pub(super) depth: u16,
}

/// What one cell shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// For most of it, not as much as one warp was in the kernel.
    Outside,
    /// Warps were in the kernel, and mostly in no region.
    NoRegion,
    /// The region that filled most of it.
    Region(SiteIndex),
}

/// What the warps of a row did within the window.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) cells: Vec<Cell>,
    /// Time in the kernel for each cell, summed over the warps, in nanoseconds.
    pub(super) kernel_ns: Vec<f64>,
    /// Time in the kernel and in no region, in nanoseconds.
    pub(super) no_region_ns: f64,
    /// Time for which each region was the innermost, in nanoseconds; where lanes of a warp were in regions
    /// at the same time, each has its part of it, so that no time of a warp is counted twice.
    pub(super) regions_ns: HashMap<SiteIndex, f64>,
}

impl View {
    /// What the warps did, all together.
    pub(super) fn fill(&self, source: &impl WarpSource, warps: &[usize]) -> Filled {
        let mut kernel = vec![0.0; self.columns];
        let mut in_region = vec![0.0; self.columns];
        let mut by_site: HashMap<SiteIndex, Vec<f64>> = HashMap::new();
        for &index in warps {
            let warp = &*source.warp(index);
            let last_ns = last_ns(source.outline(), warp);
            self.add(&mut kernel, warp.entry.ns, last_ns);
            self.add_regions(warp, last_ns, &mut in_region, &mut by_site);
        }
        let width = (self.end_ns - self.start_ns) / self.columns as f64;
        let cells = (0..self.columns).map(|column| {
            if kernel[column] < width / 2.0 {
                return Cell::Outside;
            }
            // Of equals the first in the order of sites, so that the same is drawn every time.
            let most = by_site
                .iter()
                .map(|(site, ns)| (ns[column], *site))
                .max_by(|left, right| left.0.total_cmp(&right.0).then(right.1.cmp(&left.1)));
            let none = (kernel[column] - in_region[column]).max(0.0);
            match most {
                Some((ns, site)) if ns > 0.0 && ns >= none => Cell::Region(site),
                _ => Cell::NoRegion,
            }
        });
        let none = kernel.iter().zip(&in_region).map(|(kernel, inside)| (kernel - inside).max(0.0));
        Filled {
            cells: cells.collect(),
            no_region_ns: none.sum(),
            kernel_ns: kernel,
            regions_ns: by_site.iter().map(|(site, ns)| (*site, ns.iter().sum())).collect(),
        }
    }

    /// Adds the stretches in which each region of a warp is the innermost of its lane and track, divided
    /// among those that are so at the same time, and the stretches in which any lane is in any region.
    fn add_regions(
        &self,
        warp: &Warp,
        last_ns: f64,
        in_region: &mut [f64],
        by_site: &mut HashMap<SiteIndex, Vec<f64>>,
    ) {
        let mut stacks: HashMap<(u8, Option<u32>), Stack<SiteIndex>> = HashMap::new();
        let mut pieces = Vec::new();
        // Regions are in order of their start: those that touch make one stretch.
        let mut stretch: Option<(f64, f64)> = None;
        for region in warp.regions.iter().filter(|region| region.depth < self.depth) {
            let (start, end) = (region.start.ns, end_ns(region, last_ns));
            stretch = match stretch {
                Some((from, to)) if start <= to => Some((from, to.max(end))),
                done => {
                    if let Some((from, to)) = done {
                        self.add(in_region, from, to);
                    }
                    Some((start, end))
                }
            };
            let stack = stacks.entry((region.lane, region.track)).or_default();
            stack.begin(region.site, start, end, &mut |site, from, to| {
                pieces.push((site, from, to));
            });
            // Those of one lane do not overlap, and need not be kept.
            if stacks.len() == 1 {
                for (site, from, to) in pieces.drain(..) {
                    self.add_to_site(by_site, site, (from, to), 1.0);
                }
            }
        }
        if let Some((from, to)) = stretch {
            self.add(in_region, from, to);
        }
        for stack in stacks.values_mut() {
            stack.leave_until(f64::INFINITY, &mut |site, from, to| pieces.push((site, from, to)));
        }
        self.divide(pieces, by_site);
    }

    /// Adds pieces of time of which several may be at the same time: each moment is divided evenly.
    fn divide(
        &self,
        mut pieces: Vec<(SiteIndex, f64, f64)>,
        by_site: &mut HashMap<SiteIndex, Vec<f64>>,
    ) {
        pieces.sort_by(|(_, left, _), (_, right, _)| left.total_cmp(right));
        let mut edges: Vec<f64> = pieces.iter().flat_map(|&(_, from, to)| [from, to]).collect();
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        let mut coming = pieces.into_iter().peekable();
        let mut now: Vec<(SiteIndex, f64)> = Vec::new();
        for pair in edges.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            now.retain(|&(_, end)| end > from);
            while let Some((site, _, end)) = coming.next_if(|&(_, start, _)| start <= from) {
                if end > from {
                    now.push((site, end));
                }
            }
            for &(site, _) in &now {
                self.add_to_site(by_site, site, (from, to), 1.0 / now.len() as f64);
            }
        }
    }

    /// Adds a part of a stretch of time.
    fn add_to_site(
        &self,
        by_site: &mut HashMap<SiteIndex, Vec<f64>>,
        site: SiteIndex,
        (from, to): (f64, f64),
        part: f64,
    ) {
        if from < self.end_ns && to > self.start_ns {
            let columns = by_site.entry(site).or_insert_with(|| vec![0.0; self.columns]);
            self.each_column(from, to, |column, ns| columns[column] += ns * part);
        }
    }

    /// Adds a stretch of time to the columns that it touches.
    fn add(&self, columns: &mut [f64], from: f64, to: f64) {
        self.each_column(from, to, |column, ns| columns[column] += ns);
    }

    /// Tells how much of a stretch of time lies in each column that it touches, in nanoseconds.
    pub(super) fn each_column(&self, from: f64, to: f64, mut tell: impl FnMut(usize, f64)) {
        let (from, to) = (from.max(self.start_ns), to.min(self.end_ns));
        // Not where one is no number, either.
        if from.partial_cmp(&to) != Some(Ordering::Less) {
            return;
        }
        let width = (self.end_ns - self.start_ns) / self.columns as f64;
        let edge = |column: usize| self.start_ns + width * column as f64;
        let first = (((from - self.start_ns) / width) as usize).min(self.columns - 1);
        for column in first..self.columns {
            tell(column, (to.min(edge(column + 1)) - from.max(edge(column))).max(0.0));
            if edge(column + 1) >= to {
                break;
            }
        }
    }
}

/// When the warp left the kernel; one that never did was in it as long as its launch lasted.
fn last_ns(trace: &Trace, warp: &Warp) -> f64 {
    match (warp.exit, trace.launches.get(warp.launch)) {
        (Some(exit), _) => exit.ns,
        (None, Some(launch)) => warp.last_ns().max(launch.end_ns),
        (None, None) => warp.last_ns(),
    }
}

/// A region without an end lasts as long as its warp.
fn end_ns(region: &Region, last_ns: f64) -> f64 {
    region.end.map_or(last_ns, |end| end.ns).max(region.start.ns)
}

/// The regions that a lane is in on one track, or what a thread of the host is in.
pub(super) struct Stack<T> {
    /// Those that were begun and not left yet, with their ends.
    open: Vec<(T, f64)>,
    /// Up to where all was told.
    at: f64,
}

impl<T> Default for Stack<T> {
    fn default() -> Self {
        Self { open: Vec::new(), at: 0.0 }
    }
}

impl<T: Copy> Stack<T> {
    /// A region begins; `tell` hears which regions were the innermost up to then.
    pub(super) fn begin(
        &mut self,
        site: T,
        start: f64,
        end: f64,
        tell: &mut impl FnMut(T, f64, f64),
    ) {
        self.leave_until(start, tell);
        if let Some((around, _)) = self.open.last() {
            tell(*around, self.at, start);
        }
        self.at = start;
        self.open.push((site, end));
    }

    /// Leaves the regions that end by this time.
    pub(super) fn leave_until(&mut self, time: f64, tell: &mut impl FnMut(T, f64, f64)) {
        while let Some(&(site, end)) = self.open.last().filter(|(_, end)| *end <= time) {
            // One that crosses the region behind it may have ended while that was innermost.
            if end > self.at {
                tell(site, self.at, end);
                self.at = end;
            }
            self.open.pop();
        }
    }
}
