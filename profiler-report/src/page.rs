//! The page, section by section.

use std::collections::HashSet;
use std::io::{self, BufWriter, Write};

use profiler_trace::{Severity, SiteIndex, Trace, WarpSource};
use serde_json::{Value, json};

use crate::collect::{Collected, MAX_SMS, collect};
use crate::detail::{self, Detail, Label, MAX_LAYERS};
use crate::host::Host;
use crate::launches::{self, LaunchFacts};
use crate::overview::{Axis, Extent, FINE_BINS, FINE_PER_COARSE, MAX_CODES};
use crate::rows::Rows;
use crate::text::{count, duration, escape, percent, script_json, things};
use crate::{ReportOptions, blob, tables};

const STYLE: &str = include_str!("../assets/report.css");
/// In the order in which they run.
const SCRIPTS: [&str; 8] = [
    include_str!("../assets/core.js"),
    include_str!("../assets/distribution.js"),
    include_str!("../assets/maps.js"),
    include_str!("../assets/balance.js"),
    include_str!("../assets/detail.js"),
    include_str!("../assets/host.js"),
    include_str!("../assets/timeline.js"),
    include_str!("../assets/main.js"),
];

const ABOUT_BALANCE: &str = "Imbalance: the share of the busiest SM's time in which the others had no warp, on \
    average; 0 % if all SMs that had warps are even, 100 % if one did everything. Tail: from the moment when \
    the first SM had no warp left to the end. SM idle: the share of these SMs' time after their last warp \
    had left. If only some of a launch's warps were recorded, as the table says, the figures are of these. \
    Choose a launch to see it.";
const BALANCE_NOT_KNOWN: &str = "The cost of recording was subtracted from the times of each warp by \
    itself, so that times of several warps are not on one axis any more. Imbalance, tail and idle time \
    compare such times and are left out: write the page without subtracting the cost to see them. Kernel \
    times are as they were recorded. Choose a launch to see it in the timeline.";

/// The names of the kernels that recorded.
pub(crate) fn kernels(trace: &Trace) -> String {
    let mut kernels: Vec<SiteIndex> = Vec::new();
    let mut known: HashSet<SiteIndex> = HashSet::new();
    for launch in &trace.launches {
        let has_warps = !launch.warps.is_empty() && launch.warps.start < trace.warps.len();
        if has_warps && known.insert(launch.kernel) {
            kernels.push(launch.kernel);
        }
    }
    let name = |kernel: &SiteIndex| {
        let site = trace.sites.get(kernel.0 as usize);
        site.map_or("unknown site", |site| site.name.as_str())
    };
    let names: Vec<&str> = kernels.iter().map(name).collect();
    match names[..] {
        [] => "No kernel was recorded".to_owned(),
        [one] => one.to_owned(),
        [one, two] => format!("{one} and {two}"),
        [one, ref others @ ..] => format!("{one} and {} more kernels", others.len()),
    }
}

pub(crate) fn write(
    source: &impl WarpSource,
    writer: impl Write,
    options: &ReportOptions,
) -> io::Result<()> {
    let trace = source.outline();
    let Extent { axis: whole, regions } = Extent::of(source);
    let axis = whole.within(options.window.as_ref()).ok_or_else(|| {
        let window = options.window.clone().unwrap_or_default();
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "the window from {} to {} ns holds no moment of the trace, which lasts from {} to {} \
                 ns; choose one within it",
                window.start, window.end, whole.start, whole.end
            ),
        )
    })?;
    let rows = Rows::new(source);
    let mut collected = collect(source, &rows, axis);
    let candidates = std::mem::take(&mut collected.candidates);
    let detail = detail::pack(source, &rows, axis, candidates, options.detail_bytes);
    let host = Host::new(trace, whole, axis, options.window.as_ref());
    let facts = launches::facts(trace);
    let title = options.title.clone().unwrap_or_else(|| kernels(trace));
    let mut writer = BufWriter::with_capacity(1 << 16, writer);
    let out = &mut writer;

    // The policy lets the page load nothing, from nowhere.
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(&title)
    )?;
    header(out, trace, &title)?;
    losses(out, trace)?;
    summary(out, trace, (whole, regions), &rows.stats.notes)?;
    section(
        out,
        "regions-section",
        "Regions",
        "Durations of all regions that have an end. Share is the part of their time in the kernel \
        that warps spend in the region; warps that could not record it do not count. Choose a region to \
        see its distribution.",
    )?;
    tables::regions(out, trace, &rows)?;
    out.write_all(b"<figure id=\"distribution\"></figure>\n</section>\n")?;
    if !rows.stats.marks.is_empty() {
        section(out, "marks-section", "Marks", "How often marks were set, and their values.")?;
        tables::marks(out, trace, &rows.stats.marks)?;
        out.write_all(b"</section>\n")?;
    }
    timeline(out, trace, options, &collected, (&detail, &host))?;
    section(
        out,
        "maps-section",
        "Where the time went",
        "Brighter cells took longer. A region with \
        even cells behaves the same everywhere; stripes show an SM or warp that differs.",
    )?;
    if rows.list().len() > collected.maps.len() {
        write!(
            out,
            "<p class=\"note\">Of {}, the {} with the most time.</p>",
            things(rows.list().len() as u64, "kernel and region", "kernels and regions"),
            collected.maps.len()
        )?;
    }
    out.write_all(b"<div id=\"maps\"></div>\n</section>\n")?;
    let about_balance = if trace.cost_subtracted { BALANCE_NOT_KNOWN } else { ABOUT_BALANCE };
    section(out, "balance-section", "Balance and tail", about_balance)?;
    tables::launches(out, trace, &facts)?;
    out.write_all(b"<div id=\"balance\"></div>\n</section>\n")?;
    section(
        out,
        "nesting-section",
        "Nesting",
        "Regions within regions, over all warps and launches. \
        Own time is the time that no inner region on the same lane and track covers; if several lanes \
        or tracks of a warp record at once, or regions cross, each counts. (The self time of flame \
        graphs and folded stacks counts each moment of a lane once.)",
    )?;
    tables::nesting(out, &collected.tree, &rows)?;
    out.write_all(b"</section>\n")?;
    out.write_all(
        b"<footer>Written by profiler-report. The page holds all its data and loads nothing.</footer>\n\
          <div id=\"tip\" role=\"status\" hidden></div>\n",
    )?;

    let data = data(trace, &rows, &collected, (&detail, &host), &facts);
    writeln!(out, "<script type=\"application/json\" id=\"data\">{}</script>", script_json(&data))?;
    blobs(out, &collected, &detail)?;
    for script in SCRIPTS {
        write!(out, "<script>\n{script}</script>\n")?;
    }
    out.write_all(b"</body>\n</html>\n")?;
    writer.flush()
}

fn section(out: &mut impl Write, id: &str, title: &str, about: &str) -> io::Result<()> {
    writeln!(out, "<section id=\"{id}\"><h2>{title}</h2><p class=\"about\">{about}</p>")
}

fn header(out: &mut impl Write, trace: &Trace, title: &str) -> io::Result<()> {
    let device = &trace.device;
    let name = if device.name.is_empty() { "unknown GPU" } else { &device.name };
    write!(
        out,
        "<header><div><h1>{}</h1><p class=\"device\">{}{}</p></div>\
         <button type=\"button\" id=\"theme\" hidden>Theme: system</button></header>\n\
         <noscript><p class=\"banner warning\">Without JavaScript this page shows its tables only.</p>\
         </noscript>\n",
        escape(title),
        escape(name),
        if device.emulated { "; <strong>these are not GPU times</strong>" } else { "" },
    )
}

/// Losses and diagnostics, which come before all figures.
fn losses(out: &mut impl Write, trace: &Trace) -> io::Result<()> {
    let (recorded, lost) = (trace.recorded(), trace.lost());
    let diagnostics = &trace.diagnostics;
    let class = match (diagnostics.worst(), lost) {
        (Some(Severity::Error), _) => "error",
        (Some(Severity::Warning), _) | (_, 1..) => "warning",
        _ => "good",
    };
    let emitted = recorded.saturating_add(lost);
    let headline = if lost > 0 {
        let share = lost as f64 / emitted as f64;
        format!("LOST {} of {} records ({})", count(lost), count(emitted), percent(share))
    } else if class == "good" {
        format!("{}, none lost", things(recorded, "record", "records"))
    } else {
        format!("{}, none known to be lost; but see below", things(recorded, "record", "records"))
    };
    write!(
        out,
        "<section id=\"losses\" class=\"banner {class}\" aria-label=\"Losses and diagnostics\" \
         data-recorded=\"{recorded}\" data-lost=\"{lost}\"><h2>{headline}</h2>"
    )?;
    if !diagnostics.is_empty() {
        let mut list: Vec<_> = diagnostics.notable().collect();
        list.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.severity()));
        out.write_all(b"<ul>")?;
        for diagnostic in list {
            let severity = diagnostic.severity().name();
            write!(
                out,
                "<li class=\"{severity}\" data-kind=\"{}\"><b>{severity}</b> {}</li>",
                diagnostic.kind.name(),
                escape(&diagnostic.to_string())
            )?;
        }
        out.write_all(b"</ul>")?;
    }
    out.write_all(b"</section>\n")
}

fn summary(
    out: &mut impl Write,
    trace: &Trace,
    (whole, regions): (Axis, usize),
    notes: &[String],
) -> io::Result<()> {
    let launches = || trace.shown_launches().map(|launch| &trace.launches[launch]);
    let kernel_ns: f64 = launches().map(|launch| (launch.end_ns - launch.start_ns).max(0.0)).sum();
    let marks: usize = trace.warps.iter().map(|warp| warp.marks.len()).sum();
    let mut tiles = vec![
        ("Launches", count(launches().count() as u64)),
        ("Kernel time, all launches", duration(kernel_ns)),
        ("First entry to last exit", duration(whole.length())),
        ("Warps", count(trace.warps.len() as u64)),
        ("Regions", count(regions as u64)),
    ];
    if marks > 0 {
        tiles.push(("Marks", count(marks as u64)));
    }
    if let Some(mhz) = trace.clock_mhz {
        tiles.push(("SM clock", format!("{} MHz", crate::text::digits(mhz))));
    }
    if trace.resolution_ns > 0.0 {
        tiles.push(("Clock resolution", duration(trace.resolution_ns)));
    }
    out.write_all(b"<section id=\"summary\" aria-label=\"Summary\"><dl class=\"tiles\">")?;
    for (title, figure) in tiles {
        write!(out, "<div><dt>{title}</dt><dd>{}</dd></div>", escape(&figure))?;
    }
    out.write_all(b"</dl><ul class=\"facts\">")?;
    for note in notes {
        write!(out, "<li>{}</li>", escape(note))?;
    }
    out.write_all(b"</ul></section>\n")
}

fn timeline(
    out: &mut impl Write,
    trace: &Trace,
    options: &ReportOptions,
    collected: &Collected,
    (detail, host): (&Detail, &Host<'_>),
) -> io::Result<()> {
    let kernels = if trace.host.is_empty() { "" } else { ", k the kernels" };
    let about = format!(
        "Each SM's row shows the region in which its warps spent most time; open it to see them. Drag or the \
         arrow keys move, + and \u{2212} (or the wheel with Ctrl) zoom, 0 shows all{kernels}, Enter \
         opens an SM."
    );
    section(out, "timeline-section", "Timeline", &about)?;
    let mut notes = Vec::new();
    if let Some(window) = &options.window {
        notes.push(format!(
            "The timeline shows the window from {} to {} of the trace only; all other figures are about \
             the whole trace.",
            duration(window.start),
            duration(window.end)
        ));
    }
    let (warps, items) = (detail.warp_total as u64, detail.item_total as u64);
    if detail.item_count < detail.item_total || detail.warp_count < detail.warp_total {
        let here = detail.of_sm.iter().filter(|of| of.1 > 0).count() as u64;
        let budget = detail.bytes() as f64 / f64::from(1 << 20);
        notes.push(format!(
            "Left out of this page: {} of {} and {} of {}. The page has {}, beginning with the last and the \
             first to finish, in its {budget:.1} MiB for regions. All warps are in the SMs' rows and in all \
             other figures.{}",
            count(items - detail.item_count as u64),
            things(items, "region or mark", "regions and marks"),
            count(warps - detail.warp_count as u64),
            things(warps, "warp", "warps"),
            things(here, "SM", "SMs"),
            if detail.is_cut { " Of the last warp only its first regions are here." } else { "" },
        ));
    } else {
        notes.push(format!(
            "All {} of {} are in this page, in steps of {} ns.",
            things(items, "region and mark", "regions and marks"),
            things(warps, "warp", "warps"),
            crate::text::digits(detail.unit_ns),
        ));
    }
    notes.push(format!(
        "SMs' rows are aggregated into {FINE_BINS} bins of {}: the colour is the region with most time, \
         its strength the number of lanes at work.",
        duration(collected.axis.length() / FINE_BINS as f64)
    ));
    notes.extend(host.note(trace, collected.axis));
    if collected.sms.len() > MAX_SMS {
        notes.push(format!("Only the first {MAX_SMS} of {} SMs have a row.", collected.sms.len()));
    }
    if collected.overview.codes().len() > MAX_CODES {
        notes.push(format!(
            "Rows of SMs have colours for the {MAX_CODES} regions with the most time; others share one."
        ));
    }
    if !trace.edges.is_empty() {
        notes.push(format!(
            "{} from signals to waits are not drawn; the Perfetto export shows them.",
            things(trace.edges.len() as u64, "arrow", "arrows")
        ));
    }
    out.write_all(b"<div id=\"timeline\"></div>\n<ul class=\"note\" id=\"timeline-notes\">")?;
    for note in notes {
        write!(out, "<li>{note}</li>")?;
    }
    out.write_all(b"</ul></section>\n")
}

fn data(
    trace: &Trace,
    rows: &Rows,
    collected: &Collected,
    (detail, host): (&Detail, &Host<'_>),
    facts: &[LaunchFacts],
) -> Value {
    let mut rank = vec![0; rows.list().len()];
    let regions = rows.by_time().into_iter().filter(|&row| {
        let row = &rows.list()[row];
        row.site != row.kernel
    });
    for (at, row) in regions.enumerate() {
        rank[row] = at;
    }
    let site = |index: usize| trace.sites.get(index);
    let labels = detail.labels.iter().map(|label| match *label {
        Label::Row(row) => {
            let stats = &rows.list()[row];
            let kind = if stats.site == stats.kernel { "kernel" } else { "region" };
            let place = tables::place(site(stats.site.0 as usize));
            json!({ "name": stats.name, "kind": kind, "rank": rank[row], "place": place })
        }
        Label::Mark(index) => {
            let site = site(index.0 as usize);
            let name = site.map_or("unknown mark", |site| &site.name);
            json!({ "name": name, "kind": "mark", "rank": 0, "place": tables::place(site) })
        }
        Label::Unknown => {
            json!({ "name": "unknown site", "kind": "region", "rank": 0, "place": "" })
        }
    });
    let stats = rows.list().iter().zip(&collected.histograms).map(|(row, histogram)| {
        json!({
            "count": row.count, "mean": row.ns.mean, "min": row.ns.min, "p50": row.ns.p50,
            "p95": row.ns.p95, "p99": row.ns.p99, "max": row.ns.max,
            "histogram": {
                "perDoubling": histogram.per_doubling, "first": histogram.first,
                "zeros": histogram.zeros, "counts": histogram.counts,
            },
        })
    });
    let maps = collected.maps.iter().map(|map| {
        json!({ "row": map.row, "warps": map.warps, "blocks": map.blocks, "groups": map.groups })
    });
    let curves = facts.iter().filter_map(|facts| {
        let balance = facts.balance.as_ref()?;
        let curves = balance.curves.as_ref()?;
        let finish: Vec<Value> = (curves.finish.iter())
            .map(|&(sm, finish, stay)| json!([sm, finish.round(), stay.round()]))
            .collect();
        Some(json!({
            "launch": facts.launch, "length": facts.end - facts.start, "tail": balance.tail_ns,
            "finish": finish, "active": curves.active,
        }))
    });
    let columns = [&detail.launches, &detail.warps, &detail.strips, &detail.items];
    json!({
        "axis": { "start": collected.axis.start, "end": collected.axis.end },
        "labels": labels.collect::<Vec<_>>(),
        "rows": stats.collect::<Vec<_>>(),
        "sms": collected.sms.iter().take(MAX_SMS).collect::<Vec<_>>(),
        "maps": maps.collect::<Vec<_>>(),
        "curves": curves.collect::<Vec<_>>(),
        "overview": {
            "bins": FINE_BINS, "perCoarse": FINE_PER_COARSE, "codes": collected.overview.codes(),
        },
        "host": host.data(trace, collected.axis),
        "detail": {
            "unit": detail.unit_ns, "layers": MAX_LAYERS, "launches": detail.launch_count,
            "warps": detail.warp_count, "strips": detail.strip_count, "items": detail.item_count,
            "columns": columns.map(Vec::len), "ofSm": detail.of_sm,
        },
    })
}

/// Writes the compressed parts.
fn blobs(out: &mut impl Write, collected: &Collected, detail: &Detail) -> io::Result<()> {
    let overview = &collected.overview;
    let (coarse, fine) = (overview.coarse.shades(), overview.fine.shades());
    let codes = [&overview.coarse.codes, &overview.fine.codes];
    blob::write(out, "overview", &[codes[0], &coarse, codes[1], &fine])?;
    let mut cells = Vec::new();
    for map in &collected.maps {
        for map in [&map.by_sm, &map.by_warp] {
            cells.extend(map.counts.iter().flat_map(|count| count.to_le_bytes()));
            // Of their digits a page shows four.
            cells.extend(map.totals.iter().flat_map(|total| (*total as f32).to_le_bytes()));
        }
    }
    blob::write(out, "cells", &[&cells])?;
    let parts = [&detail.launches, &detail.warps, &detail.strips, &detail.items];
    blob::write(out, "detail", &parts.map(Vec::as_slice))
}
