//! What filled each cell of a row.

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
    /// From when to when each warp was in the kernel within the window; those that were.
    pub(super) stays: Vec<(f64, f64)>,
    /// Time in the kernel for each cell, summed over the warps, in nanoseconds.
    pub(super) kernel_ns: Vec<f64>,
    /// Time in the kernel and in no region, in nanoseconds.
    pub(super) no_region_ns: f64,
    /// Time for which each region was the innermost, in nanoseconds; where lanes of a warp were in regions
    /// at the same time, each has its part of it, so that no time of a warp is counted twice.
    pub(super) regions_ns: HashMap<SiteIndex, f64>,
}

impl View {
    /// What the warps did, all together; `names` is [`Trace::sites_by_name`].
    pub(super) fn fill(
        &self,
        source: &impl WarpSource,
        warps: &[usize],
        names: &[SiteIndex],
    ) -> Filled {
        let mut kernel = vec![0.0; self.columns];
        let mut stays = Vec::new();
        let mut in_region = vec![0.0; self.columns];
        let mut by_site: HashMap<SiteIndex, Vec<f64>> = HashMap::new();
        for &index in warps {
            let warp = &*source.warp(index);
            let last_ns = last_ns(source.outline(), warp);
            self.add(&mut kernel, warp.entry.ns, last_ns);
            stays.extend(self.clip(warp.entry.ns, last_ns));
            self.add_regions(warp, last_ns, &mut in_region, &mut by_site);
        }
        let mut by_name: HashMap<SiteIndex, Vec<f64>> = HashMap::new();
        for (site, ns) in by_site {
            let first = names.get(site.0 as usize).copied().unwrap_or(site);
            let columns = by_name.entry(first).or_insert_with(|| vec![0.0; self.columns]);
            columns.iter_mut().zip(ns).for_each(|(sum, ns)| *sum += ns);
        }
        let width = (self.end_ns - self.start_ns) / self.columns as f64;
        let cells = (0..self.columns).map(|column| {
            if kernel[column] < width / 2.0 {
                return Cell::Outside;
            }
            // Of equals the first in the order of sites, so that the same is drawn every time.
            let most = by_name
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
            stays,
            no_region_ns: none.sum(),
            kernel_ns: kernel,
            regions_ns: by_name.iter().map(|(site, ns)| (*site, ns.iter().sum())).collect(),
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
                    self.add_to_site(by_site, site, (from, to));
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
        pieces: impl IntoIterator<Item = (SiteIndex, f64, f64)>,
        by_site: &mut HashMap<SiteIndex, Vec<f64>>,
    ) {
        let clip = |(site, from, to)| self.clip(from, to).map(|(from, to)| (from, to, site));
        let mut pieces: Vec<(f64, f64, SiteIndex)> = pieces.into_iter().filter_map(clip).collect();
        // Whatever order they came in, sums are rounded alike.
        pieces.sort_by(|left, right| {
            left.0.total_cmp(&right.0).then(left.1.total_cmp(&right.1)).then(left.2.cmp(&right.2))
        });
        let parts = Parts::new(pieces.iter().map(|&(from, to, _)| (from, to)));
        let ends: Vec<f64> = (1..=self.columns).map(|edge| parts.until(self.edge(edge))).collect();
        for (from, to, site) in pieces {
            let columns = by_site.entry(site).or_insert_with(|| vec![0.0; self.columns]);
            let (mut told, end) = (parts.until(from), parts.until(to));
            self.each_column(from, to, |column, _| {
                let until = ends[column].min(end).max(told);
                columns[column] += until - told;
                told = until;
            });
        }
    }

    /// Adds a stretch of time.
    fn add_to_site(
        &self,
        by_site: &mut HashMap<SiteIndex, Vec<f64>>,
        site: SiteIndex,
        (from, to): (f64, f64),
    ) {
        if from < self.end_ns && to > self.start_ns {
            let columns = by_site.entry(site).or_insert_with(|| vec![0.0; self.columns]);
            self.add(columns, from, to);
        }
    }

    /// Adds a stretch of time to the columns that it touches.
    fn add(&self, columns: &mut [f64], from: f64, to: f64) {
        self.each_column(from, to, |column, ns| columns[column] += ns);
    }

    /// Tells how much of a stretch of time lies in each column that it touches, in nanoseconds.
    pub(super) fn each_column(&self, from: f64, to: f64, mut tell: impl FnMut(usize, f64)) {
        let Some((from, to)) = self.clip(from, to) else { return };
        let width = (self.end_ns - self.start_ns) / self.columns as f64;
        let first = (((from - self.start_ns) / width) as usize).min(self.columns - 1);
        for column in first..self.columns {
            let end = self.edge(column + 1);
            tell(column, (to.min(end) - from.max(self.edge(column))).max(0.0));
            if end >= to {
                break;
            }
        }
    }

    /// Where a column begins, and the one before it ends.
    fn edge(&self, column: usize) -> f64 {
        self.start_ns + (self.end_ns - self.start_ns) / self.columns as f64 * column as f64
    }

    /// What of a stretch of time lies in the window, if any does.
    fn clip(&self, from: f64, to: f64) -> Option<(f64, f64)> {
        let (from, to) = (from.max(self.start_ns), to.min(self.end_ns));
        // Not where one is no number, either.
        (from < to).then_some((from, to))
    }
}

/// The time up to each moment, of which as many parts are made as there are pieces at that moment.
struct Parts {
    /// Where a piece begins or ends, in order; what one part comes to up to there; and how many pieces
    /// there are from there on.
    edges: Vec<(f64, f64, i64)>,
}

impl Parts {
    fn new(pieces: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut edges: Vec<(f64, f64, i64)> =
            pieces.flat_map(|(from, to)| [(from, 0.0, 1), (to, 0.0, -1)]).collect();
        edges.sort_by(|left, right| left.0.total_cmp(&right.0));
        let (mut before, mut part, mut count) = (f64::NEG_INFINITY, 0.0, 0);
        for (at, until, change) in &mut edges {
            if count > 0 {
                part += (*at - before) / count as f64;
            }
            count += *change;
            before = *at;
            (*until, *change) = (part, count);
        }
        // Of edges at one time the last knows how many there are.
        edges.dedup_by(|later, earlier| {
            let is_one = later.0 == earlier.0;
            if is_one {
                *earlier = *later;
            }
            is_one
        });
        Self { edges }
    }

    /// What one part comes to up to a moment that lies in a piece.
    fn until(&self, time: f64) -> f64 {
        let behind = self.edges.partition_point(|(at, ..)| *at <= time);
        let Some(&(at, until, count)) = behind.checked_sub(1).and_then(|at| self.edges.get(at))
        else {
            return 0.0;
        };
        if count > 0 { until + (time - at) / count as f64 } else { until }
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use profiler_trace::SiteIndex;
    use proptest::prelude::*;

    use super::View;

    fn divided(view: &View, pieces: &[(SiteIndex, f64, f64)]) -> HashMap<SiteIndex, Vec<f64>> {
        let mut by_site = HashMap::new();
        view.divide(pieces.iter().copied(), &mut by_site);
        by_site
    }

    /// With all that is open gone through wherever something begins or ends, this would take hours.
    #[test]
    fn of_very_many_pieces_at_once_each_has_its_part() {
        const COUNT: u32 = 200_000;
        let view = View { start_ns: 0.0, end_ns: 1e6, columns: 10, depth: u16::MAX };
        let piece = |at: u32| (SiteIndex(at % 1000), f64::from(at), 2e6 + f64::from(at));
        let by_site = divided(&view, &(0..COUNT).map(piece).collect::<Vec<_>>());
        assert_eq!(by_site.len(), 1000);
        let sum: f64 = by_site.values().flatten().sum();
        assert!((sum - 1e6).abs() < 1e-3, "{sum}");
        // Behind the last begin each site has as many of them open.
        for columns in by_site.values() {
            assert!(columns[2..].iter().all(|ns| (ns - 100.0).abs() < 1e-6), "{columns:?}");
        }
    }

    proptest! {
        #[test]
        fn each_moment_is_divided_evenly(
            spans in prop::collection::vec((0u32..4, 0u32..60, 0u32..40), 0..20),
        ) {
            let view = View { start_ns: 10.0, end_ns: 70.0, columns: 6, depth: u16::MAX };
            let pieces: Vec<_> = (spans.into_iter())
                .map(|(site, from, length)| {
                    (SiteIndex(site), f64::from(from), f64::from(from + length))
                })
                .collect();
            // Nothing begins or ends within a unit of time.
            let mut expected: HashMap<SiteIndex, Vec<f64>> = HashMap::new();
            for at in 10..70 {
                let is_open = |from: f64, to: f64| from <= f64::from(at) && f64::from(at) < to;
                let open: Vec<_> = pieces.iter().filter(|it| is_open(it.1, it.2)).collect();
                for (site, ..) in &open {
                    let columns = expected.entry(*site).or_insert_with(|| vec![0.0; 6]);
                    columns[(at as usize - 10) / 10] += 1.0 / open.len() as f64;
                }
            }
            let by_site = divided(&view, &pieces);
            prop_assert_eq!(by_site.len(), expected.len());
            for (site, columns) in &by_site {
                for (left, right) in columns.iter().zip(&expected[site]) {
                    prop_assert!((left - right).abs() < 1e-9, "{site:?}: {columns:?} {expected:?}");
                }
            }
        }
    }
}
