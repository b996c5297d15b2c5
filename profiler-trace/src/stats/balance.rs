//! The balance of a launch: how evenly its work is spread, and how it ends.

use std::collections::BTreeMap;
use std::fmt;

use profiler_wire::header::Dim3;

use super::collect::WarpTime;
use super::query::last_ns;
use super::summary::Sum;
use crate::display::{self, one_line};
use crate::model::{SiteIndex, Trace, Warp};
use crate::progress::Progress;
use crate::table::{Sheet, Spare, sentence};
use crate::units::{digits, duration};

/// The distribution of time over warps, blocks or SMs.
///
/// The figures are those of L. DeRose, B. Homer and D. Johnson, *Detecting Application Load Imbalance
/// on High End Massively Parallel Systems*, 2007.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Their number.
    pub count: u64,
    /// Their mean time, in nanoseconds.
    pub mean_ns: f64,
    /// The shortest time.
    pub min_ns: f64,
    /// The longest time.
    pub max_ns: f64,
}

impl Load {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut load, mut sum) =
            (Self { min_ns: f64::INFINITY, ..Self::default() }, Sum::default());
        for value in values {
            load.count += 1;
            load.min_ns = load.min_ns.min(value);
            load.max_ns = load.max_ns.max(value);
            sum.add(value);
        }
        if load.count == 0 {
            return Self::default();
        }
        load.mean_ns = sum.value() / load.count as f64;
        load
    }

    /// The longest time divided by the mean: 1 if all are even, or if there is no time at all.
    #[must_use]
    pub fn max_by_mean(&self) -> f64 {
        if self.mean_ns > 0.0 { self.max_ns / self.mean_ns } else { 1.0 }
    }

    /// The time that would be saved if all were even, in nanoseconds.
    #[must_use]
    pub fn imbalance_ns(&self) -> f64 {
        // A sum that was rounded up may make the mean of equal times the longer.
        (self.max_ns - self.mean_ns).max(0.0)
    }

    /// The share of the longest time that the others have nothing to do, from 0 (all are even) to 1
    /// (one does everything).
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        if self.count < 2 || self.max_ns <= 0.0 {
            return 0.0;
        }
        let count = self.count as f64;
        self.imbalance_ns() / self.max_ns * count / (count - 1.0)
    }
}

/// The distribution of the time in a region.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RegionBalance {
    /// The region; of several of one name and unit, which count together, the first of the trace.
    pub(super) site: SiteIndex,
    /// Its name.
    pub(super) name: String,
    /// Source file; empty where it is not known.
    pub(super) file: String,
    /// Line in it, from 1; 0 where it is not known.
    pub(super) line: u32,
    /// Module path; empty where it is not known.
    pub(super) module: String,
    /// Over the warps that ran it: the time that a warp spent in it, in whatever lanes, counted once where
    /// several were in it. Open regions are left out, and so are warps that have no others of it.
    pub(super) warps: Load,
    /// The same, summed up over the warps of an SM, for SMs with such a warp.
    pub(super) sms: Load,
}

/// The balance of a launch over warps, blocks and SMs, and its end. `Display` makes tables
/// of it.
///
/// All is about the warps that were recorded. A warp that never left counts to the end of the launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Balance {
    /// Index into [`Trace::launches`].
    pub launch: usize,
    /// The kernel's name.
    pub kernel: String,
    /// From the first entry of a warp to the last exit, in nanoseconds.
    pub span_ns: f64,
    /// Time of warps in the kernel, from entry to exit.
    pub warps: Load,
    /// Time of blocks, from the first entry of a warp to the last exit.
    pub blocks: Load,
    /// Time of SMs with at least one warp on them.
    pub sms: Load,
    /// The times at which SMs were done, from the launch's start.
    pub sms_done: Load,
    /// Blocks and SMs that were done last: block, SM, and nanoseconds from the launch's start; at
    /// most eight, the last first.
    pub last_blocks: Vec<(Dim3, u32, f64)>,
    /// Regions, the one whose imbalance over warps costs most time first.
    pub(super) regions: Vec<RegionBalance>,
    /// Warps that never left the kernel.
    pub never_left: u64,
    /// [Warps without any record](crate::Launch::unrecorded_warps), which are in no figure.
    pub unrecorded: u64,
    grid: Dim3,
}

/// A block's or an SM's time, as it is put together.
#[derive(Clone, Copy)]
struct Span {
    start: f64,
    end: f64,
}

impl Trace {
    /// The balance of a launch over warps, blocks and SMs; `None` if there is no such launch or
    /// it has no warps.
    ///
    /// It holds times of several warps against each other, which are not on one axis any more once the
    /// cost of recording was subtracted ([`Trace::subtract_record_cost`]): ask the trace as it was
    /// recorded.
    #[must_use]
    pub fn balance(&self, launch: usize) -> Option<Balance> {
        let of = self.launches.get(launch)?;
        let warps = self.warps.get(of.warps.clone()).filter(|warps| !warps.is_empty())?;
        let span = |warp: &Warp| Span {
            start: warp.entry.ns,
            end: last_ns(self, warp).max(warp.entry.ns),
        };
        let mut blocks: BTreeMap<Dim3, (u32, Span)> = BTreeMap::new();
        let mut on_sm: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
        for warp in warps {
            let Span { start, end } = span(warp);
            let (_, block) = blocks.entry(warp.block).or_insert((warp.sm, Span { start, end }));
            (block.start, block.end) = (block.start.min(start), block.end.max(end));
            on_sm.entry(warp.sm).or_default().push(Span { start, end });
        }
        let busy: BTreeMap<u32, Vec<Span>> =
            on_sm.into_iter().map(|(sm, spans)| (sm, union(spans))).collect();
        let length = |span: &Span| span.end - span.start;
        let done = |spans: &Vec<Span>| spans.last().map_or(0.0, |span| span.end - of.start_ns);
        let mut last_blocks: Vec<(Dim3, u32, f64)> = (blocks.iter())
            .map(|(block, (sm, span))| (*block, *sm, span.end - of.start_ns))
            .collect();
        last_blocks.sort_by(|left, right| right.2.total_cmp(&left.2));
        last_blocks.truncate(8);
        Some(Balance {
            launch,
            kernel: self.name_of(of.kernel).to_owned(),
            span_ns: of.end_ns - of.start_ns,
            warps: Load::of(warps.iter().map(|warp| length(&span(warp)))),
            blocks: Load::of(blocks.values().map(|(_, span)| length(span))),
            sms: Load::of(busy.values().map(|spans| spans.iter().map(length).sum())),
            sms_done: Load::of(busy.values().map(done)),
            last_blocks,
            regions: regions(self, warps),
            never_left: warps.iter().filter(|warp| warp.exit.is_none()).count() as u64,
            unrecorded: of.unrecorded_warps(),
            grid: of.grid_dim,
        })
    }
}

/// A part of 1 in per cent. What is below a thousandth of one is what sums are rounded by.
fn percent(part: f64) -> String {
    format!("{} %", digits((part * 1e5).round() / 1e3))
}

/// Spans put together where they overlap, in order.
fn union(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by(|left, right| left.start.total_cmp(&right.start));
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined
}

fn regions(trace: &Trace, warps: &[Warp]) -> Vec<RegionBalance> {
    let merged = trace.sites_by_name();
    // Time of each name in each warp that has any.
    let mut times: BTreeMap<SiteIndex, BTreeMap<usize, WarpTime>> = BTreeMap::new();
    Progress::expect("warps gathered", warps.len());
    for (index, warp) in Progress::each(warps.iter().enumerate()) {
        for region in &warp.regions {
            if let Some(end) = region.end {
                let site = merged.get(region.site.0 as usize).copied().unwrap_or(region.site);
                let of_warp = times.entry(site).or_default().entry(index).or_default();
                of_warp.add(index, region.start.ns, end.ns);
            }
        }
    }
    let mut regions: Vec<RegionBalance> = Vec::with_capacity(times.len());
    for (site, of_warps) in times {
        let known = trace.sites.get(site.0 as usize);
        let mut of_sms: BTreeMap<u32, f64> = BTreeMap::new();
        for (index, time) in &of_warps {
            *of_sms.entry(warps[*index].sm).or_default() += time.sum.value();
        }
        regions.push(RegionBalance {
            site,
            name: trace.name_of(site).to_owned(),
            file: known.map(|site| site.file.clone()).unwrap_or_default(),
            line: known.map_or(0, |site| site.line),
            module: known.map(|site| site.module.clone()).unwrap_or_default(),
            warps: Load::of(of_warps.into_values().map(|time| time.sum.value())),
            sms: Load::of(of_sms.into_values()),
        });
    }
    regions.sort_by(|left, right| right.warps.imbalance_ns().total_cmp(&left.warps.imbalance_ns()));
    regions
}

/// Columns that may be left out where they do not fit.
const SPARE: &[Spare<'_>] =
    &[("least", &[3]), ("most / mean", &[5]), ("mean", &[2]), ("count", &[1])];

/// As wide as [`Stats`](crate::Stats) are.
impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = one_line(&self.kernel);
        sentence(f, &format!("{name}, launch {}: {}", self.launch, duration(self.span_ns)))?;
        if self.unrecorded > 0 {
            let recorded = self.warps.count;
            let warps = display::counted(recorded.saturating_add(self.unrecorded), "warp");
            let others = "the others are in none of these figures";
            sentence(f, &format!("only of {recorded} of its {warps}; {others}"))?;
        }
        if self.never_left > 0 {
            let warps = display::counted(self.never_left, "warp");
            sentence(f, &format!("{warps} never left; they count to the end of the launch"))?;
        }
        let mut rows = Vec::new();
        let mut row = |name: String, load: &Load| {
            rows.push(vec![
                name,
                load.count.to_string(),
                duration(load.mean_ns),
                duration(load.min_ns),
                duration(load.max_ns),
                digits(load.max_by_mean()),
                percent(load.imbalance()),
            ]);
        };
        row("warps, in the kernel".to_owned(), &self.warps);
        row("blocks, in the kernel".to_owned(), &self.blocks);
        row("SMs, busy".to_owned(), &self.sms);
        row("SMs, done after".to_owned(), &self.sms_done);
        for region in &self.regions {
            let name = one_line(&region.name);
            row(format!("{name}, by warp"), &region.warps);
            row(format!("{name}, by SM"), &region.sms);
        }
        let header = ["time of", "count", "mean", "least", "most", "most / mean", "imbalance"];
        Sheet { spare: SPARE, ..Sheet::new(&header, rows) }.write(f)?;
        let last = self.last_blocks.iter().map(|(block, sm, ns)| {
            format!("{} on SM {sm} after {}", display::block(*block, self.grid), duration(*ns))
        });
        sentence(f, &format!("done last: {}", last.collect::<Vec<_>>().join("; ")))
    }
}
