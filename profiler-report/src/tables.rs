//! The tables of a page, which stand in it without any script.

use std::io::{self, Write};

use profiler_trace::units::prefixed;
use profiler_trace::{MarkStats, Site, SiteIndex, SiteStats, Summary, Trace};

use crate::collect::Tree;
use crate::launches::LaunchFacts;
use crate::rows::Rows;
use crate::text::{count, digits, duration, escape, extent, percent, things};

/// The largest number of rows in the table of nested regions.
const MAX_NESTED: usize = 500;

/// The place of a site in the source.
pub(crate) fn place(site: Option<&Site>) -> String {
    site.filter(|site| !site.file.is_empty())
        .map_or_else(String::new, |site| format!("{}:{}:{}", site.file, site.line, site.column))
}

/// A cell that sorts and reads back by its exact value.
fn cell(writer: &mut impl Write, value: f64, text: &str) -> io::Result<()> {
    write!(writer, "<td class=\"n\" data-value=\"{value}\">{}</td>", escape(text))
}

fn times(row: &SiteStats) -> [f64; 7] {
    let Summary { total, mean, p50, p95, p99, max, standard_deviation, .. } = row.ns;
    [total, mean, standard_deviation, p50, p95, p99, max]
}

/// Begins a table. Columns of numbers have a `#` before their titles.
fn open(writer: &mut impl Write, id: &str, label: &str, columns: &[&str]) -> io::Result<()> {
    write!(
        writer,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">\
         <table id=\"{id}\"><thead><tr>"
    )?;
    for column in columns {
        match column.strip_prefix('#') {
            Some(title) => write!(writer, "<th scope=\"col\" class=\"n\">{title}</th>")?,
            None => write!(writer, "<th scope=\"col\">{column}</th>")?,
        }
    }
    writer.write_all(b"</tr></thead><tbody>")
}

/// The end of a table.
const CLOSE: &[u8] = b"</tbody></table></div>\n";

/// One row for each kernel and each region in it.
pub(crate) fn regions(writer: &mut impl Write, trace: &Trace, rows: &Rows) -> io::Result<()> {
    let has_values = rows.list().iter().any(|row| row.throughput.is_some());
    let mut columns = vec!["region", "distribution", "#count"];
    columns.extend(["#total", "#mean", "#std dev", "#p50", "#p95", "#p99", "#max", "#share"]);
    columns.extend(has_values.then_some("#throughput"));
    open(writer, "regions", "Statistics of regions", &columns)?;
    for (at, row) in rows.list().iter().enumerate() {
        let is_kernel = row.site == row.kernel;
        let class = if is_kernel { "kernel" } else { "region" };
        let site = trace.sites.get(row.site.0 as usize);
        write!(
            writer,
            "<tr class=\"{class}\" data-row=\"{at}\"><th scope=\"row\" title=\"{}\">\
             <button type=\"button\" class=\"pick\"><i class=\"key\" data-label=\"{at}\"></i>{}</button>",
            escape(&place(site)),
            escape(&row.name),
        )?;
        if row.open > 0 {
            write!(writer, " <span class=\"open\">+ {} open</span>", count(row.open))?;
        }
        write!(writer, "</th><td class=\"spark\" data-row=\"{at}\"></td>")?;
        cell(writer, row.count as f64, &count(row.count))?;
        for ns in times(row) {
            let text = if row.count == 0 { "–".to_owned() } else { duration(ns) };
            cell(writer, ns, &text)?;
        }
        write!(
            writer,
            "<td class=\"n share\" data-value=\"{}\" style=\"--share:{:.4}\">{}</td>",
            row.share,
            row.share.clamp(0.0, 1.0),
            if row.count == 0 { "–".to_owned() } else { percent(row.share) },
        )?;
        if has_values {
            match &row.throughput {
                Some(throughput) => {
                    let rate = prefixed(throughput.per_second, &throughput.unit) + "/s";
                    cell(writer, throughput.per_second, &rate)?;
                }
                None => writer.write_all(b"<td class=\"n\" data-value=\"0\"></td>")?,
            }
        }
        writer.write_all(b"</tr>")?;
    }
    writer.write_all(CLOSE)
}

/// One row for each mark of each kernel.
pub(crate) fn marks(writer: &mut impl Write, trace: &Trace, marks: &[MarkStats]) -> io::Result<()> {
    let figures: [fn(&Summary) -> f64; 8] = [
        |of| of.total,
        |of| of.mean,
        |of| of.standard_deviation,
        |of| of.min,
        |of| of.p50,
        |of| of.p95,
        |of| of.p99,
        |of| of.max,
    ];
    let mut columns = vec!["mark", "kernel", "#count"];
    columns.extend(["#sum", "#mean", "#std dev", "#min", "#p50", "#p95", "#p99", "#max", "unit"]);
    open(writer, "marks", "Statistics of marks", &columns)?;
    for mark in marks {
        let site = |site: SiteIndex| trace.sites.get(site.0 as usize);
        let kernel = site(mark.kernel).map_or("unknown", |site| &site.name);
        write!(
            writer,
            "<tr><th scope=\"row\" title=\"{}\">{}</th><td>{}</td>",
            escape(&place(site(mark.site))),
            escape(&mark.name),
            escape(kernel),
        )?;
        cell(writer, mark.count as f64, &count(mark.count))?;
        for figure in figures {
            match &mark.values {
                Some(values) => cell(writer, figure(values), &digits(figure(values)))?,
                None => writer.write_all(b"<td class=\"n\"></td>")?,
            }
        }
        write!(writer, "<td>{}</td></tr>", escape(mark.unit.as_deref().unwrap_or_default()))?;
    }
    writer.write_all(CLOSE)
}

/// Launches and how they ended.
pub(crate) fn launches(
    writer: &mut impl Write,
    trace: &Trace,
    facts: &[LaunchFacts],
) -> io::Result<()> {
    let shown = trace.shown_launches().count();
    if shown > facts.len() {
        write!(
            writer,
            "<p class=\"note\">The {} longest of {} launches.</p>",
            facts.len(),
            count(shown as u64)
        )?;
    }
    let mut columns =
        vec!["launch", "grid", "block", "#starts at", "#kernel time", "#warps", "#SMs"];
    if !trace.cost_subtracted {
        columns.extend(["#imbalance", "#tail", "#SM idle"]);
    }
    open(writer, "launches", "Launches", &columns)?;
    for facts in facts {
        let launch = &trace.launches[facts.launch];
        let name = trace.sites.get(launch.kernel.0 as usize).map_or("unknown", |site| &site.name);
        write!(
            writer,
            "<tr data-launch=\"{}\" data-start=\"{}\" data-end=\"{}\"><th scope=\"row\">\
             <button type=\"button\" class=\"pick\">{} #{}</button>",
            facts.launch,
            facts.start,
            facts.end,
            escape(name),
            facts.launch,
        )?;
        if launch.replay > 0 {
            write!(writer, " <span class=\"muted\">replay {}</span>", launch.replay)?;
        }
        if facts.never_left > 0 {
            let warps = things(facts.never_left as u64, "warp", "warps");
            write!(writer, " <span class=\"open\">{warps} never left</span>")?;
        }
        let (grid, block) = (extent(launch.grid_dim), extent(launch.block_dim));
        write!(writer, "</th><td>{grid}</td><td>{block}</td>")?;
        let length = facts.end - facts.start;
        cell(writer, facts.start, &duration(facts.start))?;
        cell(writer, length, &duration(length))?;
        let warps = match launch.unrecorded_warps() {
            0 => count(facts.warps as u64),
            // Balance and tail are about these alone.
            others => format!(
                "{} of {}",
                count(facts.warps as u64),
                count(others.saturating_add(facts.warps as u64))
            ),
        };
        cell(writer, facts.warps as f64, &warps)?;
        cell(writer, facts.sms as f64, &count(facts.sms as u64))?;
        if let Some(balance) = &facts.balance {
            cell(writer, balance.imbalance, &percent(balance.imbalance))?;
            cell(writer, balance.tail_ns, &duration(balance.tail_ns))?;
            cell(writer, balance.idle, &percent(balance.idle))?;
        }
        writer.write_all(b"</tr>")?;
    }
    writer.write_all(CLOSE)
}

/// Regions within regions.
pub(crate) fn nesting(writer: &mut impl Write, tree: &Tree, rows: &Rows) -> io::Result<()> {
    let children = tree.children();
    let total = |list: &[usize]| list.iter().map(|&at| tree.nodes[at].total_ns).sum::<f64>();
    let whole = total(&children[tree.nodes.len()]);
    let columns = ["region", "#count", "#total", "#own", "total, and own within it"];
    open(writer, "nesting", "Nesting of regions", &columns)?;
    // Depth first, without recursion: a kernel may nest thousands deep.
    let mut rest: Vec<(usize, usize)> =
        children[tree.nodes.len()].iter().rev().map(|&at| (at, 0)).collect();
    let mut shown = 0;
    while let Some((at, depth)) = rest.pop() {
        if shown == MAX_NESTED {
            break;
        }
        shown += 1;
        rest.extend(children[at].iter().rev().map(|&child| (child, depth + 1)));
        let node = &tree.nodes[at];
        let share = |ns: f64| if whole > 0.0 { (ns / whole).clamp(0.0, 1.0) } else { 0.0 };
        write!(
            writer,
            "<tr><th scope=\"row\" style=\"--depth:{}\"><i class=\"key\" data-label=\"{}\"></i>{}</th>",
            depth.min(40),
            node.row,
            escape(&rows.list()[node.row].name),
        )?;
        cell(writer, node.count as f64, &count(node.count))?;
        cell(writer, node.total_ns, &duration(node.total_ns))?;
        cell(writer, node.own_ns, &duration(node.own_ns))?;
        write!(
            writer,
            "<td class=\"bar\"><span class=\"track\" data-label=\"{}\" style=\"--total:{:.4};--own:{:.4}\">\
             <span></span></span></td></tr>",
            node.row,
            share(node.total_ns),
            share(node.own_ns),
        )?;
    }
    writer.write_all(CLOSE)?;
    if tree.nodes.len() > shown {
        let left = things((tree.nodes.len() - shown) as u64, "row", "rows");
        write!(writer, "<p class=\"note\">{left} left out.</p>")?;
    }
    Ok(())
}
