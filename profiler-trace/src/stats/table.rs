//! The statistics as a table for a terminal.

use std::fmt;

use comfy_table::{CellAlignment, ColumnConstraint, LineStyle, Table, presets};

use super::{GroupBy, SiteStats, Stats, StatsPlace, Summary};
use crate::export::text;

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        write!(f, "{}", self.diagnostics)?;
        if self.rows.is_empty() {
            return writeln!(f, "no kernel was recorded");
        }
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
        let has_throughput = self.rows.iter().any(|row| row.throughput.is_some());
        let mut header = vec![
            "region", "count", "total", "mean", "std dev", "p50", "p95", "p99", "max", "per warp",
            "share",
        ];
        if has_throughput {
            header.push("throughput");
        }
        table.set_header(header);
        let mut last_place = None;
        for row in &self.rows {
            let place = (row.kernel, row.place);
            if self.by != GroupBy::Site && last_place != Some(place) {
                table.add_row([self.place(&row.place)]);
            }
            last_place = Some(place);
            let mut cells = cells(row);
            if has_throughput {
                cells.push(row.throughput.as_ref().map_or_else(String::new, |throughput| {
                    rate(throughput.per_second, &throughput.unit)
                }));
            }
            table.add_row(cells);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        writeln!(f, "{}", table.trim_fmt())
    }
}

impl Stats {
    fn place(&self, place: &StatsPlace) -> String {
        let Some(index) = place.launch else { return String::new() };
        let (kernel, grid) = self.launches.get(index).cloned().unwrap_or_default();
        let mut text = format!("{}, launch {index}", one_line(&kernel));
        if let Some(block) = place.block {
            text += &format!(", {}", text::block(block, grid));
        }
        if let Some(warp) = place.warp {
            text += &format!(", warp {warp}");
        }
        text
    }
}

/// The cells of a row, without that for throughput. Two lines each: time, and cycles.
fn cells(row: &SiteStats) -> Vec<String> {
    let branch = if row.site == row.kernel { "" } else { "╰─ " };
    let mut name = format!("{branch}{}", one_line(&row.name));
    if row.cycles.is_some() {
        name += "\n   in cycles";
    }
    if row.open > 0 {
        name += &format!("\n   + {} open", row.open);
    }
    let figures: [fn(&Summary) -> f64; 8] = [
        |of| of.total,
        |of| of.mean,
        |of| of.standard_deviation,
        |of| of.p50,
        |of| of.p95,
        |of| of.p99,
        |of| of.max,
        |of| of.mean_per_warp,
    ];
    let mut cells = vec![name, row.count.to_string()];
    cells.extend(figures.iter().map(|figure| {
        if row.count == 0 {
            return "-".to_owned();
        }
        let time = duration(figure(&row.ns));
        match &row.cycles {
            Some(cycles) => format!("{time}\n{}", text::digits(figure(cycles))),
            None => time,
        }
    }));
    cells.push(match row.count {
        0 => "-".to_owned(),
        _ => format!("{} %", text::digits(row.share * 100.0)),
    });
    cells
}

/// A name in a table stands on one line, and is cut where it would push all else away.
fn one_line(name: &str) -> String {
    const LONGEST: usize = 48;
    let visible = |character: char| if character.is_control() { ' ' } else { character };
    let mut text: String = name.chars().take(LONGEST).map(visible).collect();
    if name.chars().nth(LONGEST).is_some() {
        text.push('…');
    }
    text
}

/// A time in the unit that suits it, with four significant digits.
fn duration(ns: f64) -> String {
    let (scale, unit) = match ns.abs() {
        ns if ns >= 1e9 => (1e9, "s"),
        ns if ns >= 1e6 => (1e6, "ms"),
        ns if ns >= 1e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    format!("{} {unit}", text::digits(ns / scale))
}

/// A rate with a decimal prefix: `12.34 Gbytes/s`.
fn rate(per_second: f64, unit: &str) -> String {
    let (scale, prefix) = match per_second.abs() {
        rate if rate >= 1e12 => (1e12, "T"),
        rate if rate >= 1e9 => (1e9, "G"),
        rate if rate >= 1e6 => (1e6, "M"),
        rate if rate >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let unit = if matches!(unit, "bytes" | "byte") { "B" } else { unit };
    format!("{} {prefix}{}/s", text::digits(per_second / scale), one_line(unit))
}
