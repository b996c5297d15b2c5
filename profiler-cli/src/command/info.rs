//! `profiler info`: the contents of a capture.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use profiler_trace::{
    Capture, Diagnostic, FormCosts, HostSpanKind, HostThread, Launch, ModuleCapture, RecordCost,
    Severity, Site, Trace, printable,
};
use profiler_wire::SiteKind;
use profiler_wire::header::Dim3;
use profiler_wire::symbol::CALIBRATION;
use serde_json::{Value, json};

use crate::arguments::CaptureArguments;
use crate::console::{Console, heading};
use crate::exit::{Error, Verdict};
use crate::load::Outline;
use crate::units::{bytes, counted, digits, duration};
use crate::{load, output};

const EXAMPLES: &str = "\
Examples:
  profiler info gemm.capture
  profiler info gemm.capture --all
  profiler info gemm.capture --format json | jq .device";

/// The number of launches that are shown without `--all`.
const LAUNCHES: usize = 16;

/// Show the contents of a capture: device, kernels, launches, losses, clock
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: CaptureArguments,
    /// Show every launch and every site
    #[arg(long)]
    all: bool,
    /// The output format
    #[arg(long, default_value = "text")]
    format: Format,
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON object, with every launch and every site
    Json,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> Result<Verdict, Error> {
    let input = &arguments.input;
    let loaded = load::capture(&input.capture, input.reading, console)?;
    let file = FileFacts {
        name: input.capture.input_name().to_string(),
        bytes: loaded.file_bytes,
        raw_bytes: loaded.capture.modules.iter().map(raw_bytes).sum(),
        clock_readings: loaded.capture.modules.iter().map(ModuleCapture::clock_readings).sum(),
    };
    let modules = module_facts(&loaded.capture);
    let mut outline = load::outlined(loaded.capture, input.reading, console);
    match arguments.format {
        Format::Text => {
            outline.trace.diagnostics.list.retain(|diagnostic| console.shows(diagnostic));
            output::print_lines(&text(&file, &modules, &outline, arguments.all))?;
        }
        Format::Json => {
            output::print_json(&format!("{:#}\n", to_json(&file, &modules, &outline)))?;
        }
    }
    Ok(Verdict::Clean)
}

/// Facts about the file.
struct FileFacts {
    name: String,
    bytes: u64,
    /// The size of the device's buffers, uncompressed.
    raw_bytes: u64,
    /// The number of clock readings beside the kernels.
    clock_readings: usize,
}

/// Facts about a module.
struct ModuleFacts {
    wire_version: u32,
    sites: Vec<Site>,
    /// The profiler's own, which measure the cost of a record.
    calibration: Vec<Site>,
    slots: u32,
    raw_bytes: u64,
}

fn raw_bytes(module: &ModuleCapture) -> u64 {
    [&module.headers, &module.records, &module.lanes, &module.lane_counts]
        .into_iter()
        .map(|array| array.len() as u64)
        .sum()
}

fn module_facts(capture: &Capture) -> Vec<ModuleFacts> {
    let facts = |module: &ModuleCapture| {
        let all = module.sites.sites();
        let own = all.iter().find(|site| site.symbol.as_deref() == Some(CALIBRATION));
        let is_own = |site: &Site| own.is_some_and(|own| own.module == site.module);
        let (calibration, sites) = all.iter().cloned().partition(is_own);
        ModuleFacts {
            wire_version: module.descriptor.version,
            sites,
            calibration,
            slots: module.descriptor.slot_count,
            raw_bytes: raw_bytes(module),
        }
    };
    capture.modules.iter().filter(|module| !module.is_of_clocks()).map(facts).collect()
}

/// Lines with a label.
struct Lines(String);

impl Lines {
    fn add(&mut self, label: &str, text: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{label:<10}{}", printable(text));
    }
}

fn text(file: &FileFacts, modules: &[ModuleFacts], outline: &Outline, all: bool) -> String {
    let Outline { trace, regions } = outline;
    let mut lines = Lines(String::new());
    lines.add("file", &file_line(file));
    lines.add("device", &device(trace));
    if let Some(line) = clock(trace) {
        lines.add("clock", &line);
    }
    if file.clock_readings > 0 {
        let readings = counted(file.clock_readings, "reading");
        lines.add("clock", &format!("kept beside the kernels, {readings} on all SMs together"));
    }
    for line in record_cost(trace) {
        lines.add("cost", &line);
    }
    for kernel in &trace.resources {
        lines.add("resources", &kernel.to_string());
    }
    let (recorded, lost) = (trace.recorded(), trace.lost());
    lines.add(
        "records",
        &format!(
            "{recorded} ({}, {}), {}; {}, {}",
            counted(*regions, "region"),
            counted(marks(trace), "mark"),
            if lost == 0 { "none lost".to_owned() } else { format!("{lost} LOST") },
            counted(trace.warps.len(), "warp"),
            counted(trace.edges.len(), "edge"),
        ),
    );
    if !trace.host.is_empty() {
        lines.add("host", &trace.host.to_string());
    }
    for (index, module) in modules.iter().enumerate() {
        lines.add("module", &module_line(index, module));
        for site in &module.sites {
            if site.kind == SiteKind::Kernel {
                lines.add("kernel", &site_line(site));
            } else if all {
                lines.add("", &site_line(site));
            }
        }
        if all && !module.calibration.is_empty() {
            let sites = counted(module.calibration.len(), "site");
            lines
                .add("", &format!("and {sites} of the profiler's own, to measure a record's cost"));
        }
    }
    let shown = if all { trace.launches.len() } else { LAUNCHES };
    for (index, launch) in trace.launches.iter().enumerate().take(shown) {
        lines.add("launch", &launch_line(trace, index, launch));
    }
    if trace.launches.len() > shown {
        let more = trace.launches.len() - shown;
        lines.add("", &format!("and {more} more; --all shows them"));
    }
    let mut text = lines.0;
    for diagnostic in &trace.diagnostics.list {
        let _ = writeln!(text, "{}: {diagnostic}", heading(diagnostic, ""));
    }
    text
}

fn marks(trace: &Trace) -> usize {
    trace.warps.iter().map(|warp| warp.marks.len()).sum()
}

fn file_line(file: &FileFacts) -> String {
    let mut line = format!("{}, {}", file.name, bytes(file.bytes));
    if file.raw_bytes > 0 {
        line += &format!(", {} uncompressed", bytes(file.raw_bytes));
    }
    // The ratio means nothing for a small file, which is mostly names.
    if file.bytes > 0 && file.raw_bytes >= file.bytes {
        let times = digits(file.raw_bytes as f64 / file.bytes as f64);
        line += &format!(" ({times} times as much)");
    }
    line
}

fn device(trace: &Trace) -> String {
    let device = &trace.device;
    let mut line = match (device.name.as_str(), device.emulated) {
        ("", false) => "unknown GPU".to_owned(),
        ("" | "emulator", true) => "emulator: these are not GPU times".to_owned(),
        (name, false) => name.to_owned(),
        (name, true) => format!("emulator ({name}): these are not GPU times"),
    };
    if let Some((major, minor)) = device.compute_capability {
        line += &format!(", compute capability {major}.{minor}");
    }
    if device.sm_count > 0 {
        line += &format!(", {}", counted(device.sm_count as usize, "SM"));
    }
    if !device.driver.is_empty() {
        line += &format!(", driver {}", device.driver);
    }
    line
}

fn clock(trace: &Trace) -> Option<String> {
    let mut facts = Vec::new();
    if let Some(mhz) = trace.clock_mhz {
        facts.push(format!("SM clock {} MHz", digits(mhz)));
    }
    if trace.resolution_ns > 0.0 {
        facts.push(format!("resolution {}", duration(trace.resolution_ns)));
    }
    if trace.alignment_ns > 0.0 {
        facts.push(format!(
            "SMs aligned within {} where their clocks were read",
            duration(trace.alignment_ns)
        ));
    }
    (!facts.is_empty()).then(|| facts.join(", "))
}

fn record_cost(trace: &Trace) -> Vec<String> {
    let Some(cost) = &trace.record_cost else {
        return vec!["not measured: times hold what recording cost".to_owned()];
    };
    let mut lines = vec![
        if trace.cost_subtracted { "subtracted from all times" } else { "not subtracted" }
            .to_owned(),
    ];
    for (who, costs) in forms(cost) {
        let [total, inside, mark] =
            [costs.total_ticks(), costs.inside_ticks(), costs.mark.total_ticks()].map(digits);
        lines.push(format!(
            "{who}: a region takes {total} ticks, {inside} of them in its own time; a mark {mark}",
        ));
    }
    lines
}

fn forms(cost: &RecordCost) -> [(&'static str, &FormCosts); 2] {
    [("one lane", &cost.one_lane), ("elected lane", &cost.elected)]
}

fn module_line(index: usize, module: &ModuleFacts) -> String {
    let kernels = module.sites.iter().filter(|site| site.kind == SiteKind::Kernel).count();
    format!(
        "{index}: wire version {}, {}, {}, {}, {}",
        module.wire_version,
        counted(kernels, "kernel"),
        counted(module.sites.len() - kernels, "other site"),
        counted(module.slots as usize, "slot"),
        bytes(module.raw_bytes),
    )
}

fn site_line(site: &Site) -> String {
    let unit = site.unit.as_ref().map(|unit| format!("in {unit}"));
    // A kernel that nobody annotated has no place.
    let place = Some(format!("{}:{}:{}", site.file, site.line, site.column));
    let place = place.filter(|_| !site.file.is_empty());
    let known: Vec<String> = place.into_iter().chain(unit).collect();
    if known.is_empty() {
        site.name.clone()
    } else {
        format!("{} ({})", site.name, known.join(", "))
    }
}

fn launch_line(trace: &Trace, index: usize, launch: &Launch) -> String {
    let warps = trace.warps.get(launch.warps.clone()).unwrap_or_default();
    let recorded: u64 = warps.iter().map(|warp| warp.recorded).sum();
    let lost: u64 = warps.iter().map(|warp| warp.lost).sum();
    let mut line = format!(
        "{index}: {}, grid {}, block {}, at {}, {}, {}, {}",
        trace.site(launch.kernel).name,
        extent(launch.grid_dim),
        extent(launch.block_dim),
        duration(launch.start_ns),
        duration(launch.end_ns - launch.start_ns),
        counted(warps.len(), "warp"),
        counted(recorded as usize, "record"),
    );
    if launch.replay > 0 {
        line += &format!(", replay {}", launch.replay);
    }
    if lost > 0 {
        line += &format!(", {lost} LOST");
    }
    line
}

/// An extent as people write it: `4`, `4x2`, `4x2x3`.
fn extent(dim: Dim3) -> String {
    match dim {
        [x, 1, 1] => format!("{x}"),
        [x, y, 1] => format!("{x}x{y}"),
        [x, y, z] => format!("{x}x{y}x{z}"),
    }
}

fn host_thread(thread: &HostThread) -> Value {
    let spans = thread.spans.iter().map(|span| {
        let (is_launch, launch) = match span.kind {
            HostSpanKind::Span => (false, None),
            HostSpanKind::Launch(launch) => (true, launch),
        };
        json!({
            "name": span.name,
            "start_ns": span.start_ns,
            "end_ns": span.end_ns,
            "is_launch": is_launch,
            "launch": launch,
        })
    });
    json!({ "name": thread.name, "spans": spans.collect::<Vec<_>>() })
}

fn to_json(file: &FileFacts, modules: &[ModuleFacts], outline: &Outline) -> Value {
    let Outline { trace, regions } = outline;
    let module = |module: &ModuleFacts| {
        json!({
            "wire_version": module.wire_version,
            "slots": module.slots,
            "raw_bytes": module.raw_bytes,
            "sites": module.sites.iter().chain(&module.calibration).collect::<Vec<_>>(),
        })
    };
    let launch = |launch: &Launch| {
        let warps = trace.warps.get(launch.warps.clone()).unwrap_or_default();
        json!({
            "kernel": trace.site(launch.kernel).name,
            "grid_id": launch.grid_id,
            "replay": launch.replay,
            "grid": launch.grid_dim,
            "block": launch.block_dim,
            "start_ns": launch.start_ns,
            "end_ns": launch.end_ns,
            "warps": warps.len(),
            "recorded": warps.iter().map(|warp| warp.recorded).sum::<u64>(),
            "lost": warps.iter().map(|warp| warp.lost).sum::<u64>(),
        })
    };
    let diagnostics = trace.diagnostics.list.iter().map(Diagnostic::to_json);
    json!({
        "schema": 1,
        "file": {
            "name": file.name,
            "bytes": file.bytes,
            "raw_bytes": file.raw_bytes,
        },
        "device": trace.device,
        "clock": {
            "mhz": trace.clock_mhz,
            "resolution_ns": trace.resolution_ns,
            "alignment_ns": trace.alignment_ns,
            "origin_ns": trace.origin_ns,
            "kept_readings": file.clock_readings,
        },
        "record_cost": trace.record_cost,
        "resources": trace.resources,
        "cost_subtracted": trace.cost_subtracted,
        "host": {
            "uncertainty_ns": trace.host.uncertainty_ns,
            "threads": trace.host.threads.iter().map(host_thread).collect::<Vec<_>>(),
        },
        "recorded": trace.recorded(),
        "lost": trace.lost(),
        "regions": regions,
        "marks": marks(trace),
        "warps": trace.warps.len(),
        "edges": trace.edges.len(),
        "modules": modules.iter().map(module).collect::<Vec<_>>(),
        "launches": trace.launches.iter().map(launch).collect::<Vec<_>>(),
        "is_sound": trace.diagnostics.worst() < Some(Severity::Error),
        "diagnostics": diagnostics.collect::<Vec<_>>(),
    })
}
