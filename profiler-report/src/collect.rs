//! One pass over the trace: everything of a page but the statistics and the single regions.

use profiler_trace::{Launch, Progress, SiteStats, Trace, Warp, WarpSource};

use crate::detail::Candidates;
use crate::nesting::{finite, gaps, nest, strips};
use crate::overview::{Axis, Overview};
use crate::rows::Rows;

/// More SMs than any GPU has: beyond them, maps and overview stop, and the page says so.
pub(crate) const MAX_SMS: usize = 1024;
/// The number of rows of the statistics that have maps.
const MAX_MAPPED_ROWS: usize = 32;
/// Warps of a block.
const MAX_WARPS: usize = 32;
/// The largest number of block groups; blocks of a larger grid are grouped with their neighbours.
const MAX_BLOCK_GROUPS: u64 = 64;

/// The results of the pass.
pub(crate) struct Collected {
    pub(crate) axis: Axis,
    /// One for each row of the statistics.
    pub(crate) histograms: Vec<Histogram>,
    pub(crate) tree: Tree,
    /// The SMs that warps ran on, ascending.
    pub(crate) sms: Vec<u32>,
    /// For the rows with the most time.
    pub(crate) maps: Vec<RowMaps>,
    pub(crate) overview: Overview,
    /// The warps of the timeline.
    pub(crate) candidates: Candidates,
}

/// Counts of durations.
pub(crate) struct Histogram {
    /// Bins in each doubling.
    pub(crate) per_doubling: u32,
    /// Bin 0 begins at 2^(first / `per_doubling`) nanoseconds.
    pub(crate) first: i32,
    pub(crate) counts: Vec<u64>,
    /// Durations of 0.
    pub(crate) zeros: u64,
}

/// Bins of a histogram: 64 bits of nanoseconds are 64 doublings.
const MAX_BINS: usize = 128;

impl Histogram {
    /// With bins that suit the row's range: at most about fifty, and none narrower than the clock's
    /// step.
    fn new(row: &SiteStats, resolution_ns: f64) -> Self {
        let step = if resolution_ns > 0.0 { resolution_ns } else { 1e-3 };
        let low = row.ns.min.max(step).min(row.ns.max.max(step));
        let high = row.ns.max.max(low);
        let mut per_doubling = 1 << 16;
        let is_too_fine = |bins: u32| {
            let bins = f64::from(bins);
            (high / low).log2() * bins > 48.0 || low * (2f64.powf(1.0 / bins) - 1.0) < step
        };
        while per_doubling > 1 && is_too_fine(per_doubling) {
            per_doubling /= 2;
        }
        let bin = |ns: f64| (ns.log2() * f64::from(per_doubling)).floor() as i32;
        let (first, last) = (bin(low), bin(high));
        // 64 bits of nanoseconds are 64 doublings; figures beyond them share the last bin.
        let bins = (i64::from(last) - i64::from(first)).clamp(0, MAX_BINS as i64) as usize + 1;
        Self { per_doubling, first, counts: vec![0; bins], zeros: 0 }
    }

    fn add(&mut self, ns: f64) {
        if ns <= 0.0 {
            self.zeros += 1;
            return;
        }
        let bin = (ns.log2() * f64::from(self.per_doubling)).floor() as i64;
        // Subtracting the cost of recording can make a duration shorter than the clock's step.
        let missing = (i64::from(self.first) - bin).clamp(0, MAX_BINS as i64) as usize;
        if missing > 0 && self.counts.len() + missing <= 2 * MAX_BINS {
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first -= missing as i32;
        }
        let last = self.counts.len() - 1;
        self.counts[(bin - i64::from(self.first)).clamp(0, last as i64) as usize] += 1;
    }
}

/// Regions by the names of all that they lie in.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// Those without a parent, sorted by their row.
    roots: Vec<(usize, usize)>,
}

/// The regions of one name within the same others.
pub(crate) struct Node {
    pub(crate) parent: Option<usize>,
    /// The row of the statistics.
    pub(crate) row: usize,
    pub(crate) count: u64,
    pub(crate) total_ns: f64,
    pub(crate) own_ns: f64,
    /// Rows and nodes below it, sorted by the row.
    below: Vec<(usize, usize)>,
}

impl Tree {
    fn node(&mut self, parent: Option<usize>, row: usize) -> usize {
        let new = self.nodes.len();
        let below = match parent {
            Some(parent) => &mut self.nodes[parent].below,
            None => &mut self.roots,
        };
        match below.binary_search_by_key(&row, |(row, _)| *row) {
            Ok(at) => below[at].1,
            Err(at) => {
                below.insert(at, (row, new));
                let (count, total_ns, own_ns) = (0, 0.0, 0.0);
                self.nodes.push(Node { parent, row, count, total_ns, own_ns, below: Vec::new() });
                new
            }
        }
    }

    /// The nodes of each node (the last entry: those without a parent), the longest first.
    pub(crate) fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.nodes.len() + 1];
        for (at, node) in self.nodes.iter().enumerate() {
            children[node.parent.unwrap_or(self.nodes.len())].push(at);
        }
        for list in &mut children {
            list.sort_by(|&left, &right| {
                self.nodes[right].total_ns.total_cmp(&self.nodes[left].total_ns)
            });
        }
        children
    }

    /// Counts the regions of a warp. Calls `stretch` with the row of the innermost region (or of the
    /// kernel) in each stretch of time, and `region` with each region's row and duration.
    pub(crate) fn add(
        &mut self,
        (launch, warp): (&Launch, &Warp),
        rows: &Rows,
        mut stretch: impl FnMut(usize, f64, f64),
        mut region: impl FnMut(usize, f64),
    ) {
        let Some(kernel) = rows.of(launch.kernel, launch.kernel) else { return };
        let root = self.node(None, kernel);
        let mut outermost = Vec::new();
        for strip in strips(warp) {
            let row = |site| rows.of(launch.kernel, site).unwrap_or(kernel);
            // The nodes are known only in order, and stretches come before all of them are.
            let known: Vec<usize> = (strip.iter().filter(|region| region.end.is_some()))
                .map(|region| row(region.site))
                .collect();
            let nested = nest(&strip, |at, from, to| stretch(known[at], from, to));
            let mut nodes = Vec::with_capacity(nested.len());
            for (one, &row) in nested.iter().zip(&known) {
                let parent = one.parent.map_or(root, |at| nodes[at]);
                if one.parent.is_none() {
                    outermost.push((one.start, one.end));
                }
                let at = self.node(Some(parent), row);
                nodes.push(at);
                let (node, ns) = (&mut self.nodes[at], one.end - one.start);
                node.count += 1;
                node.total_ns += ns;
                node.own_ns += one.own_ns();
                region(row, ns);
            }
        }
        // If a warp never left, the time outside its regions is not known.
        let Some(exit) = warp.exit else { return };
        let entry = finite(warp.entry.ns);
        let span = (entry, finite(exit.ns).max(entry));
        let node = &mut self.nodes[root];
        node.count += 1;
        node.total_ns += span.1 - span.0;
        gaps(&mut outermost, span, |from, to| {
            node.own_ns += to - from;
            stretch(kernel, from, to);
        });
        region(kernel, span.1 - span.0);
    }
}

/// Count and total time of each cell.
pub(crate) struct Map {
    pub(crate) counts: Vec<u32>,
    pub(crate) totals: Vec<f64>,
}

impl Map {
    fn new(cells: usize) -> Self {
        Self { counts: vec![0; cells], totals: vec![0.0; cells] }
    }

    fn add(&mut self, cell: usize, ns: f64) {
        self.counts[cell] = self.counts[cell].saturating_add(1);
        self.totals[cell] += ns;
    }
}

/// The maps of a row.
pub(crate) struct RowMaps {
    pub(crate) row: usize,
    /// The number of warps in a block of the kernel.
    pub(crate) warps: usize,
    /// The number of blocks in the largest grid of the kernel.
    pub(crate) blocks: u64,
    /// The number of groups of blocks.
    pub(crate) groups: u64,
    /// A cell for each SM.
    pub(crate) by_sm: Map,
    /// A cell for each warp of each group of blocks, group by group.
    pub(crate) by_warp: Map,
}

/// The blocks of a grid.
pub(crate) fn block_count(grid: [u32; 3]) -> u64 {
    grid.into_iter().map(|blocks| u64::from(blocks.max(1))).fold(1, u64::saturating_mul)
}

/// The number of a block, x running fastest.
pub(crate) fn block_number([x, y, z]: [u32; 3], grid: [u32; 3]) -> u64 {
    let [width, height, _] = grid.map(|blocks| u64::from(blocks.max(1)));
    let row = u64::from(z).saturating_mul(height).saturating_add(y.into());
    row.saturating_mul(width).saturating_add(x.into())
}

fn row_maps(trace: &Trace, rows: &Rows, sms: usize) -> Vec<RowMaps> {
    let mapped = rows.by_time().into_iter().take(MAX_MAPPED_ROWS);
    let maps = mapped.map(|row| {
        let kernel = rows.list()[row].kernel;
        let launches = trace.launches.iter().filter(|launch| launch.kernel == kernel);
        let (mut blocks, mut warps) = (1, 1);
        for launch in launches {
            blocks = blocks.max(block_count(launch.grid_dim));
            let threads = block_count(launch.block_dim);
            warps = warps.max(threads.div_ceil(32).min(MAX_WARPS as u64) as usize);
        }
        let groups = blocks.min(MAX_BLOCK_GROUPS);
        let (by_sm, by_warp) = (Map::new(sms), Map::new(groups as usize * warps));
        RowMaps { row, warps, blocks, groups, by_sm, by_warp }
    });
    maps.collect()
}

pub(crate) fn collect(source: &impl WarpSource, rows: &Rows, axis: Axis) -> Collected {
    let trace = source.outline();
    let mut sms: Vec<u32> = trace.warps.iter().map(|warp| warp.sm).collect();
    sms.sort_unstable();
    sms.dedup();
    let shown_sms = sms.len().min(MAX_SMS);
    let mut histograms: Vec<Histogram> =
        rows.list().iter().map(|row| Histogram::new(row, trace.resolution_ns)).collect();
    let mut maps = row_maps(trace, rows, shown_sms);
    let mut map_of = vec![None; rows.list().len()];
    for (at, map) in maps.iter().enumerate() {
        map_of[map.row] = Some(at);
    }
    let mut overview = Overview::new(axis, rows);
    let mut tree = Tree::default();
    let mut candidates = Candidates::new(sms.len());
    let mut order: Vec<usize> = (0..trace.warps.len()).collect();
    order.sort_by_key(|&warp| trace.warps[warp].sm);
    Progress::expect("warps gathered", order.len());
    for of_sm in order.chunk_by(|&left, &right| trace.warps[left].sm == trace.warps[right].sm) {
        let sm = sms.binary_search(&trace.warps[of_sm[0]].sm).unwrap_or(0);
        for &at in Progress::each(of_sm) {
            let warp = &*source.warp(at);
            candidates.add(trace, (at, warp), sm, axis);
            let Some(launch) = trace.launches.get(warp.launch) else { continue };
            let block = block_number(warp.block, launch.grid_dim);
            tree.add(
                (launch, warp),
                rows,
                |row, from, to| overview.add(row, from, to),
                |row, ns| {
                    histograms[row].add(ns);
                    let Some(map) = map_of[row].map(|map: usize| &mut maps[map]) else { return };
                    if sm < shown_sms {
                        map.by_sm.add(sm, ns);
                    }
                    let warp = (warp.warp as usize).min(map.warps - 1);
                    let group = (block.min(map.blocks - 1) as u128 * u128::from(map.groups))
                        / u128::from(map.blocks);
                    map.by_warp.add(group as usize * map.warps + warp, ns);
                },
            );
        }
        if sm < shown_sms {
            overview.finish_sm();
        } else {
            overview.discard_sm();
        }
    }
    Collected { axis, histograms, tree, sms, maps, overview, candidates }
}

#[cfg(test)]
mod tests {
    use super::Map;

    #[test]
    fn a_cell_is_the_sum_of_very_many_times() {
        let mut map = Map::new(2);
        map.add(1, 1e9);
        for _ in 0..1_000_000 {
            map.add(1, 30.0);
        }
        assert_eq!((map.counts, map.totals), (vec![0, 1_000_001], vec![0.0, 1.03e9]));
    }
}
