//! Notes about a whole trace: device, losses, clock, cost of a record.

use super::WarpSource;
use crate::display::counted;
use crate::model::{DeviceInfo, SiteIndex, Trace};
use crate::record_cost::RecordCost;
use crate::units::digits;

/// The device in a few words.
pub(crate) fn device(device: &DeviceInfo) -> String {
    let name = if device.name.is_empty() { "unknown GPU" } else { &device.name };
    match (device.emulated, name) {
        (true, "emulator" | "unknown GPU") => "emulator: these are not GPU times".to_owned(),
        (true, name) => format!("emulator ({name}): these are not GPU times"),
        (false, name) => name.to_owned(),
    }
}

/// Notes and diagnostics of a trace, one line each.
pub(crate) fn summary(source: &impl WarpSource) -> Vec<String> {
    let mut lines = facts(source);
    lines.extend(source.outline().diagnostics.to_string().lines().map(str::to_owned));
    lines
}

/// Notes about a trace, one line each.
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
        Some(RecordCost { one_lane: costs, .. }) => {
            let total = digits(costs.total_ticks());
            let inside = digits(costs.inside_ticks());
            let adjacent_total = digits(costs.adjacent_total_ticks());
            let adjacent_inside = digits(costs.adjacent_inside_ticks());
            let subtracted = if trace.cost_subtracted {
                "subtracted from the times of each warp separately; times of different warps are not on \
                 one axis any more"
            } else {
                "not subtracted"
            };
            format!(
                "cost of a record: a region takes {total} ticks, {inside} of them in its own time \
                 ({adjacent_total} and {adjacent_inside} back to back); {subtracted}"
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
        if site.file.is_empty() {
            return format!("{name} in {}", kernel.name);
        }
        format!("{name} ({}:{}) in {}", site.file, site.line, kernel.name)
    };
    let mut names: Vec<String> = all.iter().take(MOST).map(named).collect();
    if all.len() > MOST {
        names.push(format!("{} more", all.len() - MOST));
    }
    let lost = if trace.lost() > 0 { ", or their records were lost" } else { "" };
    (!all.is_empty()).then(|| {
        format!(
            "never recorded: {}: no lane that records came there{lost} (by default lane 0 records, by = elected \
             whichever does; by = warp(n) needs a block with such a warp; a session may leave out blocks and warps)",
            names.join(", ")
        )
    })
}
