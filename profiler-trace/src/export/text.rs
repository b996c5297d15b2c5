//! The words that stand in a timeline, the same in every format.

use profiler_wire::Strategy;
use profiler_wire::header::{Clock, Dim3};

use crate::model::{DeviceInfo, Launch, SiteIndex, Trace, Warp};
use crate::record_cost::FormCosts;
use crate::source::WarpSource;
use crate::units::digits;

/// An extent as people write it: `4`, `4x2`, `4x2x3`.
pub(crate) fn extent(dim: Dim3) -> String {
    match dim {
        [x, 1, 1] => format!("{x}"),
        [x, y, 1] => format!("{x}x{y}"),
        [x, y, z] => format!("{x}x{y}x{z}"),
    }
}

/// The device in a few words.
pub(crate) fn device(device: &DeviceInfo) -> String {
    let name = if device.name.is_empty() { "unknown GPU" } else { &device.name };
    match (device.emulated, name) {
        (true, "emulator" | "unknown GPU") => "emulator: these are not GPU times".to_owned(),
        (true, name) => format!("emulator ({name}): these are not GPU times"),
        (false, name) => name.to_owned(),
    }
}

/// The name of a launch's process: its kernel and its index, by which statistics and commands know it.
/// Viewers have no room for more.
pub(super) fn process(trace: &Trace, index: usize) -> String {
    let kernel = trace.launches.get(index).map_or("", |launch| &trace.site(launch.kernel).name);
    format!("{kernel}, launch {index}")
}

/// What else is to be known of a launch.
pub(super) fn launch_facts(launch: &Launch) -> String {
    let (grid, block) = (extent(launch.grid_dim), extent(launch.block_dim));
    let replay = match launch.replay {
        0 => String::new(),
        replay => format!(", replay {replay}"),
    };
    format!("grid {grid}, block {block}{replay}")
}

/// The name of a block: as many coordinates as the grid has dimensions.
pub(crate) fn block(block: Dim3, grid: Dim3) -> String {
    let [x, y, z] = block;
    match grid {
        [_, 1, 1] if y == 0 && z == 0 => format!("block {x}"),
        [_, _, 1] if z == 0 => format!("block {x},{y}"),
        _ => format!("block {x},{y},{z}"),
    }
}

/// Who records, in the words of the macros.
pub(crate) fn strategy(strategy: Strategy) -> String {
    match strategy {
        Strategy::Warp => "warp".to_owned(),
        Strategy::Block => "block".to_owned(),
        Strategy::WarpIndex(index) => format!("warp({index})"),
        Strategy::WarpGroup => "warp_group".to_owned(),
        Strategy::Elected => "elected".to_owned(),
        Strategy::Thread => "thread".to_owned(),
        Strategy::When => "when".to_owned(),
    }
}

/// The clock of a warp's records.
pub(super) fn clock(clock: Clock) -> &'static str {
    match clock {
        Clock::Cycles => "cycles of the SM",
        Clock::GlobalTimer => "globaltimer",
    }
}

/// The clock of a warp's records, for programs.
pub(super) fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Cycles => "cycles",
        Clock::GlobalTimer => "globaltimer",
    }
}

/// What is to be known of a whole warp.
pub(super) fn warp_facts(warp: &Warp, block: &str) -> String {
    let mut facts = format!("{block}, warp {}, SM {}", warp.warp, warp.sm);
    if let Some(rank) = warp.cluster_rank {
        facts += &format!(", rank {rank} in its cluster");
    }
    facts += &format!(", recorded by {}", strategy(warp.strategy));
    facts += &format!(", {}", counted(warp.recorded, "record"));
    if warp.lost > 0 {
        facts += &format!(", {} LOST", warp.lost);
    }
    facts
}

/// What a reader of the trace must know before all else, and what was odd: one line each.
pub(super) fn summary(source: &impl WarpSource) -> Vec<String> {
    let mut lines = facts(source);
    lines.extend(source.outline().diagnostics.to_string().lines().map(str::to_owned));
    lines
}

/// What a reader of the trace must know before all else: one line each.
pub(crate) fn facts(source: &(impl WarpSource + ?Sized)) -> Vec<String> {
    let (trace, open) = (source.outline(), source.open_regions());
    let mut lines = Vec::new();
    let info = &trace.device;
    let mut device = device(info);
    if let Some((major, minor)) = info.compute_capability {
        device += &format!(", compute capability {major}.{minor}");
    }
    if info.sm_count > 0 {
        device += &format!(", {}", counted(info.sm_count.into(), "SM"));
    }
    if !info.driver.is_empty() {
        device += &format!(", driver {}", info.driver);
    }
    lines.push(device);
    let (recorded, lost) = (trace.recorded(), trace.lost());
    lines.push(if lost > 0 {
        format!("LOST {lost} of {}", counted(recorded.saturating_add(lost), "record"))
    } else {
        format!("{}, none lost", counted(recorded, "record"))
    });
    if trace.left_out_warps > 0 {
        let shown = trace.warps.len() as u64;
        lines.push(format!(
            "SHOWS {shown} of {}: records, losses and open regions are counted of those",
            counted(shown.saturating_add(trace.left_out_warps), "warp")
        ));
    }
    if open > 0 {
        lines.push(match open {
            1 => "1 open region: it has no end".to_owned(),
            _ => format!("{open} open regions: they have no end"),
        });
    }
    lines.extend(never_recorded(trace));
    if !trace.host.is_empty() {
        lines.push(format!("host: {}", trace.host));
    }
    let mut clock = Vec::new();
    if trace.resolution_ns > 0.0 {
        clock.push(format!("resolution {} ns", digits(trace.resolution_ns)));
    }
    if trace.alignment_ns > 0.0 {
        clock.push(format!(
            "SMs aligned within {} ns where their clocks were read",
            digits(trace.alignment_ns)
        ));
    }
    if let Some(mhz) = trace.clock_mhz {
        clock.push(format!("SM clock {} MHz", digits(mhz)));
    }
    if !clock.is_empty() {
        lines.push(format!("clock: {}", clock.join(", ")));
    }
    lines.push(match trace.record_cost {
        Some(cost) => {
            let of = |costs: &FormCosts| {
                let [total, inside, adjacent_total, adjacent_inside] = [
                    costs.total_ticks(),
                    costs.inside_ticks(),
                    costs.adjacent_total_ticks(),
                    costs.adjacent_inside_ticks(),
                ]
                .map(digits);
                format!(
                    "{total} ticks, {inside} of them in its own time ({adjacent_total} and \
                     {adjacent_inside} back to back)"
                )
            };
            let host = cost.host.map_or_else(String::new, |host| {
                format!(", in memory of the host {}", of(&host.one_lane))
            });
            format!(
                "cost of a record: a region takes {}{host}; {}",
                of(&cost.one_lane),
                if trace.cost_subtracted {
                    "subtracted from all times, of each warp by itself: times of several warps are \
                     not on one axis any more, but apart by what each recorded"
                } else {
                    "not subtracted"
                }
            )
        }
        None => "cost of a record: not measured".to_owned(),
    });
    lines
}

/// The sites of launched kernels that are in no record, in a sentence.
pub(crate) fn never_recorded(trace: &Trace) -> Option<String> {
    const MOST: usize = 8;
    let all = &trace.never_recorded;
    let named = |(site, kernel): &(SiteIndex, SiteIndex)| {
        let (site, kernel) = (trace.site(*site), trace.site(*kernel));
        let name = site.list.as_ref().unwrap_or(&site.name);
        format!("{name} ({}:{}) in {}", site.file, site.line, kernel.name)
    };
    let mut names: Vec<String> = all.iter().take(MOST).map(named).collect();
    if all.len() > MOST {
        names.push(format!("{} more", all.len() - MOST));
    }
    let lost = if trace.lost() > 0 { ", or what they recorded was lost" } else { "" };
    (!all.is_empty()).then(|| {
        format!(
            "never recorded: {}: no lane that records came there{lost} (by default lane 0 records, by = elected \
             whichever does; by = warp(n) needs a block with such a warp)",
            names.join(", ")
        )
    })
}

/// So many things, which are called this if there is one.
pub(crate) fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}
