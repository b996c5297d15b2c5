//! The statistics as a table for a terminal, or in Markdown where `{:#}` asks for that.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::paths::DEEPER;
use super::{GroupBy, SiteStats, Stats, StatsPlace};
use crate::display::{self, named_at, one_line, printable};
use crate::model::SiteIndex;
use crate::table::{Sheet, Spare, sentence};
use crate::units::{digits, duration, prefixed};

/// Kernels, and sites of theirs that their names do not tell.
type Ambiguous = HashSet<(SiteIndex, SiteIndex)>;

/// Columns of the statistics that may be left out where they do not fit.
const SPARE: &[Spare<'_>] = &[
    ("std dev", &[4]),
    ("per warp", &[9]),
    ("p95", &[6]),
    ("total", &[2]),
    ("throughput", &[11]),
    ("p99", &[7]),
    ("p50", &[5]),
    ("max", &[8]),
    ("count", &[1]),
];

/// One row a region. A width, as in `{:80}`, is how many columns of a terminal there are: names are cut then,
/// and figures for which there is no room are left out and named below. Without a width it is that of the
/// terminal that standard output is, if it is one; otherwise, and with the width 0 (`format!("{:1$}", stats, 0)`),
/// all is written.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            sentence(f, &printable(note))?;
        }
        for diagnostic in self.diagnostics.to_string().lines() {
            sentence(f, diagnostic)?;
        }
        if self.rows.is_empty() {
            let is_of_names = self.is_filtered_by_name && !self.grids.is_empty();
            return sentence(
                f,
                if is_of_names {
                    "no region of this name was recorded"
                } else {
                    "no kernel was recorded, or none that was asked for"
                },
            );
        }
        let has_throughput = self.rows.iter().any(|row| row.throughput.is_some());
        let mut header = vec![
            "region", "count", "total", "mean", "std dev", "p50", "p95", "p99", "max", "per warp",
            "share",
        ];
        if has_throughput {
            header.push("throughput");
        }
        let ambiguous = self.ambiguous();
        let mut rows = Vec::new();
        let mut last_place = None;
        for row in &self.rows {
            let place = (row.kernel, row.place);
            if last_place != Some(place) {
                // A kernel whose own row is filtered out is named all the same.
                if row.site != row.kernel || row.place != StatsPlace::default() {
                    rows.push(vec![self.place(row.kernel, row.place)]);
                }
            }
            last_place = Some(place);
            let mut cells = self.cells(row, &ambiguous);
            if has_throughput {
                cells.push(row.throughput.as_ref().map_or_else(String::new, |throughput| {
                    let unit = one_line(&throughput.unit);
                    format!("{}/s", prefixed(throughput.per_second, &unit))
                }));
            }
            rows.push(cells);
        }
        Sheet { spare: SPARE, ..Sheet::new(&header, rows) }.write(f)?;
        self.write_marks(f)
    }
}

/// Columns of the marks that may be left out where they do not fit.
const SPARE_OF_MARKS: &[Spare<'_>] = &[
    ("std dev", &[4]),
    ("p95", &[7]),
    ("p99", &[8]),
    ("p50", &[6]),
    ("min", &[5]),
    ("max", &[9]),
    ("mean", &[3]),
    ("unit", &[10]),
];

/// The index of the minimum among a summary's figures. It has no column.
const LEAST: usize = 3;

/// A mark's value. Values may be addresses or hashes, whose digits would fill a terminal.
fn mark_digits(value: f64) -> String {
    if value.abs() < 1e10 { digits(value) } else { format!("{value:.3e}") }
}

impl Stats {
    /// Statistics of marks and their values.
    fn write_marks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.marks.is_empty() {
            return Ok(());
        }
        let header =
            ["mark", "count", "sum", "mean", "std dev", "min", "p50", "p95", "p99", "max", "unit"];
        let has_values = self.marks.iter().any(|mark| mark.values.is_some());
        let header = if has_values { &header[..] } else { &header[..2] };
        let mut rows = Vec::new();
        let mut last = None;
        for mark in &self.marks {
            if last != Some((mark.kernel, mark.place)) {
                last = Some((mark.kernel, mark.place));
                rows.push(vec![self.place(mark.kernel, mark.place)]);
            }
            let mut cells = vec![format!("  {}", one_line(&mark.name)), mark.count.to_string()];
            let figures = mark.values.map(|values| values.figures());
            cells.extend(match figures {
                Some([figures @ .., _]) => figures.map(mark_digits),
                None => [const { String::new() }; 8],
            });
            cells.push(mark.unit.as_deref().map_or_else(String::new, one_line));
            cells.truncate(header.len());
            rows.push(cells);
        }
        Sheet { spare: SPARE_OF_MARKS, ends_in_words: has_values, ..Sheet::new(header, rows) }
            .write(f)
    }

    /// The heading of the rows of a place.
    fn place(&self, kernel: SiteIndex, place: StatsPlace) -> String {
        let mut text = one_line(self.name_of(kernel).unwrap_or("unknown kernel"));
        let StatsPlace { launch, sm, block, warp } = place;
        if let Some(index) = launch {
            text += &format!(", launch {index}");
        }
        if let Some(sm) = sm {
            text += &format!(", SM {sm}");
        }
        if let Some(block) = block {
            let grid = launch.and_then(|launch| self.grids.get(launch)).copied();
            text += &format!(", {}", display::block(block, grid.unwrap_or([0, 0, 0])));
        }
        if let Some(warp) = warp {
            text += &format!(", warp {warp}");
        }
        text
    }

    /// The sites that share their name with another one of their kernel, each after its kernel, where
    /// rows are about sites; kernels, with another kernel.
    fn ambiguous(&self) -> Ambiguous {
        let mut seen: HashMap<(Option<SiteIndex>, &str), SiteIndex> = HashMap::new();
        let mut ambiguous = Ambiguous::new();
        for row in &self.rows {
            let kernel = (row.site != row.kernel).then_some(row.kernel);
            if kernel.is_some() && self.by != GroupBy::Site {
                continue;
            }
            let first = *seen.entry((kernel, &row.name)).or_insert(row.site);
            if first != row.site {
                ambiguous.extend([first, row.site].map(|site| (kernel.unwrap_or(site), site)));
            }
        }
        ambiguous
    }

    /// A site's name, and its place in the source where the name does not tell which site it is.
    fn shown(&self, kernel: SiteIndex, site: SiteIndex, ambiguous: &Ambiguous) -> String {
        match self.sites.get(site.0 as usize) {
            Some(site_of) if ambiguous.contains(&(kernel, site)) => {
                named_at(&site_of.name, &site_of.file, site_of.line, site_of.column)
            }
            Some(site_of) => one_line(&site_of.name),
            None => "unknown site".to_owned(),
        }
    }

    /// A row's name. By path it stands after what encloses it: in a tree if all of that has rows of its
    /// own, in words if names are filtered.
    fn tree(&self, row: &SiteStats, ambiguous: &Ambiguous) -> String {
        let name = self.shown(row.kernel, row.site, ambiguous);
        if row.site == row.kernel && row.path.is_empty() {
            return name;
        }
        if self.by != GroupBy::Path {
            return format!("  {name}");
        }
        let deeper = if row.is_deeper() { format!("{DEEPER} › ") } else { String::new() };
        if !self.is_filtered_by_name {
            let indent = "   ".repeat(row.path.len());
            return format!("{indent}╰─ {deeper}{name}");
        }
        let mut text = "╰─ ".to_owned();
        for site in &row.path {
            text += &format!("{} › ", self.shown(row.kernel, *site, ambiguous));
        }
        text + &deeper + &name
    }

    /// The cells of a row, without that for throughput. Two lines each: time, and cycles.
    fn cells(&self, row: &SiteStats, ambiguous: &Ambiguous) -> Vec<String> {
        let mut name = self.tree(row, ambiguous);
        if row.cycles.is_some() {
            name += "\n   in cycles";
        }
        if row.open > 0 {
            name += &format!("\n   + {} open", row.open);
        }
        let mut cells = vec![name, row.count.to_string()];
        let figures = row.ns.figures().into_iter().enumerate();
        cells.extend(figures.filter(|(at, _)| *at != LEAST).map(|(at, ns)| match &row.cycles {
            _ if row.count == 0 => "-".to_owned(),
            Some(cycles) => format!("{}\n{}", duration(ns), digits(cycles.figures()[at])),
            None => duration(ns),
        }));
        // A region that only reaches into a window has a share of it.
        cells.push(match row.count {
            0 if row.share == 0.0 => "-".to_owned(),
            _ => format!("{} %", digits(row.share * 100.0)),
        });
        cells
    }
}
