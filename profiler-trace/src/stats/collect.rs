//! From the regions of a trace to rows.

use std::collections::HashMap;

use profiler_wire::Strategy;
use profiler_wire::header::Clock;

use super::{GroupBy, SiteStats, Stats, StatsPlace, Summary, Throughput};
use crate::export::text;
use crate::model::{SiteIndex, Trace, Warp};

/// A row: the kernel's place in the order of launches, the place, the site.
type Key = (usize, StatsPlace, SiteIndex);

/// What is gathered for a row.
#[derive(Default)]
struct Gathered {
    ns: Vec<f64>,
    cycles: Vec<f64>,
    open: u64,
    /// Kernel time of lanes beyond the first of each warp.
    extra_lanes_ns: f64,
    valued: u64,
    value: f64,
    valued_ns: f64,
}

/// Warps that a strategy lets record in a place, and their kernel time.
#[derive(Clone, Copy, Default)]
struct Recorders {
    warps: u64,
    kernel_ns: f64,
}

pub(super) fn collect(trace: &Trace, by: GroupBy) -> Stats {
    let mut kernels: Vec<SiteIndex> = Vec::new();
    let mut gathered: HashMap<Key, Gathered> = HashMap::new();
    // Which strategies the rows of each kernel have.
    let mut recorders: HashMap<(usize, StatsPlace, u16), Recorders> = HashMap::new();
    let order =
        |kernels: &mut Vec<SiteIndex>, kernel| match kernels.iter().position(|&k| k == kernel) {
            Some(at) => at,
            None => {
                kernels.push(kernel);
                kernels.len() - 1
            }
        };
    for warp in &trace.warps {
        let Some(launch) = trace.launches.get(warp.launch) else { continue };
        let kernel = order(&mut kernels, launch.kernel);
        let place = place(by, warp);
        let kernel_ns = kernel_ns(trace, warp);
        let whole = gathered.entry((kernel, place, launch.kernel)).or_default();
        match warp.exit {
            Some(exit) => {
                whole.ns.push(kernel_ns);
                if warp.clock == Clock::Cycles {
                    whole.cycles.push(exit.ticks.saturating_sub(warp.entry.ticks) as f64);
                }
            }
            None => whole.open += 1,
        }
        let mut lanes: HashMap<SiteIndex, u32> = HashMap::new();
        for region in &warp.regions {
            *lanes.entry(region.site).or_default() |= 1u32.wrapping_shl(region.lane.into());
            let row = gathered.entry((kernel, place, region.site)).or_default();
            let Some(end) = region.end else {
                row.open += 1;
                continue;
            };
            let ns = end.ns - region.start.ns;
            row.ns.push(ns);
            if warp.clock == Clock::Cycles {
                row.cycles.push(end.ticks.saturating_sub(region.start.ticks) as f64);
            }
            if let Some(value) = region.value {
                row.valued += 1;
                row.value += value.as_f64();
                row.valued_ns += ns;
            }
        }
        for (site, lanes) in lanes {
            if let Some(row) = gathered.get_mut(&(kernel, place, site)) {
                row.extra_lanes_ns += f64::from(lanes.count_ones().saturating_sub(1)) * kernel_ns;
            }
        }
    }
    // Warps that recorded nothing could have, so the strategies must be known before they count.
    let mut strategies: Vec<Vec<Option<Strategy>>> = vec![Vec::new(); kernels.len()];
    for &(kernel, _, site) in gathered.keys() {
        let strategy = site_strategy(trace, site);
        if !strategies[kernel].contains(&strategy) {
            strategies[kernel].push(strategy);
        }
    }
    for warp in &trace.warps {
        let Some(launch) = trace.launches.get(warp.launch) else { continue };
        let kernel = order(&mut kernels, launch.kernel);
        for &strategy in &strategies[kernel] {
            if may_record(strategy.unwrap_or(warp.strategy), warp.warp) {
                let key = (kernel, place(by, warp), code(strategy));
                let entry = recorders.entry(key).or_default();
                entry.warps += 1;
                entry.kernel_ns += kernel_ns(trace, warp);
            }
        }
    }
    let mut rows: Vec<(Key, SiteStats)> = Vec::with_capacity(gathered.len());
    for (key, gathered) in gathered {
        let (kernel, place, site) = key;
        let strategy = code(site_strategy(trace, site));
        let recorders = recorders.get(&(kernel, place, strategy)).copied().unwrap_or_default();
        let known = trace.sites.get(site.0 as usize);
        rows.push((key, row(kernels[kernel], site, place, known, gathered, recorders)));
    }
    rows.sort_by(|(left_key, left), (right_key, right)| {
        let order = |key: &Key, row: &SiteStats| {
            let (kernel, place, _) = *key;
            let block = place.block.map(|[x, y, z]| [z, y, x]);
            (kernel, place.launch, block, place.warp, row.site != row.kernel)
        };
        (order(left_key, left).cmp(&order(right_key, right)))
            .then(right.ns.total.total_cmp(&left.ns.total))
            .then(left_key.2.cmp(&right_key.2))
    });
    let launches = trace.launches.iter().map(|launch| {
        let kernel = trace.sites.get(launch.kernel.0 as usize);
        (kernel.map_or_else(String::new, |site| site.name.clone()), launch.grid_dim)
    });
    Stats {
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        by,
        notes: text::facts(trace),
        diagnostics: trace.diagnostics.clone(),
        launches: launches.collect(),
    }
}

fn row(
    kernel: SiteIndex,
    site: SiteIndex,
    place: StatsPlace,
    known: Option<&crate::model::Site>,
    mut gathered: Gathered,
    recorders: Recorders,
) -> SiteStats {
    let cycles = gathered.cycles.len() == gathered.ns.len() && !gathered.ns.is_empty();
    let cycles = cycles.then(|| summarize(&mut gathered.cycles, recorders.warps));
    let ns = summarize(&mut gathered.ns, recorders.warps);
    let available = recorders.kernel_ns + gathered.extra_lanes_ns;
    let unit = known.and_then(|site| site.unit.clone()).filter(|_| gathered.valued > 0);
    SiteStats {
        kernel,
        site,
        name: known.map_or_else(|| "unknown site".to_owned(), |site| site.name.clone()),
        place,
        count: gathered.ns.len() as u64,
        open: gathered.open,
        ns,
        cycles,
        warps: recorders.warps,
        share: if available > 0.0 { ns.total / available } else { 0.0 },
        throughput: unit.map(|unit| Throughput {
            unit,
            total: gathered.value,
            per_second: if gathered.valued_ns > 0.0 {
                gathered.value / (gathered.valued_ns * 1e-9)
            } else {
                0.0
            },
        }),
    }
}

fn summarize(values: &mut [f64], warps: u64) -> Summary {
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len() as f64;
    let (Some(&min), Some(&max)) = (values.first(), values.last()) else {
        return Summary::default();
    };
    let total: f64 = values.iter().sum();
    let mean = total / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let standard_deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    // In whole numbers, as 0.95 of 20 must be 19 and not a little more.
    let quantile = |percent: usize| values[(values.len() * percent).div_ceil(100).max(1) - 1];
    Summary {
        total,
        mean,
        standard_deviation,
        min,
        p50: quantile(50),
        p95: quantile(95),
        p99: quantile(99),
        max,
        mean_per_warp: if warps > 0 { total / warps as f64 } else { 0.0 },
    }
}

fn place(by: GroupBy, warp: &Warp) -> StatsPlace {
    let launch = Some(warp.launch);
    match by {
        GroupBy::Site => StatsPlace::default(),
        GroupBy::Launch => StatsPlace { launch, ..StatsPlace::default() },
        GroupBy::Block => StatsPlace { launch, block: Some(warp.block), warp: None },
        GroupBy::Warp => StatsPlace { launch, block: Some(warp.block), warp: Some(warp.warp) },
    }
}

fn site_strategy(trace: &Trace, site: SiteIndex) -> Option<Strategy> {
    trace.sites.get(site.0 as usize).and_then(|site| site.strategy)
}

/// A number for a strategy; for "as the kernel", the one that site entries use for that.
fn code(strategy: Option<Strategy>) -> u16 {
    strategy.map_or(profiler_wire::site::STRATEGY_OF_KERNEL, Strategy::code)
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

/// From entry to exit; for a warp that never left, to the end of its launch.
fn kernel_ns(trace: &Trace, warp: &Warp) -> f64 {
    let end = match warp.exit {
        Some(exit) => exit.ns,
        None => trace.launches.get(warp.launch).map_or(warp.entry.ns, |launch| launch.end_ns),
    };
    (end - warp.entry.ns).max(0.0)
}
