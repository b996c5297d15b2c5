//! The statistics as a table for a terminal, or in Markdown where `{:#}` asks for that.

use std::collections::{HashMap, HashSet};
use std::fmt;

use comfy_table::{CellAlignment, ColumnConstraint, LineStyle, Table, TableStyle, presets};
use unicode_width::UnicodeWidthStr;

use super::fit::{self, Fit};
use super::paths::DEEPER;
use super::{GroupBy, SiteStats, Stats, StatsPlace, Summary};
use crate::export::text;
use crate::model::SiteIndex;
use crate::printable::{markdown, printable, shortened, shortened_to_end};
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
/// and figures for which there is no buffer are left out and named below. Without a width it is that of the
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

/// A mark's value. Values may be addresses or hashes, whose digits would fill a terminal.
fn mark_digits(value: f64) -> String {
    if value.abs() < 1e10 { digits(value) } else { format!("{value:.3e}") }
}

impl Stats {
    /// How often marks were set, and with which values.
    fn write_marks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.marks.is_empty() {
            return Ok(());
        }
        let header =
            ["mark", "count", "sum", "mean", "std dev", "min", "p50", "p95", "p99", "max", "unit"];
        let has_values = self.marks.iter().any(|mark| mark.values.is_some());
        let header = if has_values { &header[..] } else { &header[..2] };
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
        let mut rows = Vec::new();
        let mut last = None;
        for mark in &self.marks {
            if last != Some((mark.kernel, mark.place)) {
                last = Some((mark.kernel, mark.place));
                rows.push(vec![self.place(mark.kernel, mark.place)]);
            }
            let mut cells = vec![format!("  {}", one_line(&mark.name)), mark.count.to_string()];
            let values = mark.values.as_ref();
            cells.extend(figures.iter().map(|figure| {
                values.map_or_else(String::new, |values| mark_digits(figure(values)))
            }));
            cells.push(mark.unit.as_deref().map_or_else(String::new, one_line));
            cells.truncate(header.len());
            rows.push(cells);
        }
        Sheet { spare: SPARE_OF_MARKS, ends_in_words: has_values, ..Sheet::new(header, rows) }
            .write(f)
    }

    /// What stands above the rows of a place.
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
            text += &format!(", {}", text::block(block, grid.unwrap_or([0, 0, 0])));
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
                Some(cycles) => format!("{time}\n{}", digits(figure(cycles))),
                None => time,
            }
        }));
        // A region that only reaches into a window has a share of it.
        cells.push(match row.count {
            0 if row.share == 0.0 => "-".to_owned(),
            _ => format!("{} %", digits(row.share * 100.0)),
        });
        cells
    }
}

/// A name in a table stands on one line, and is cut where it would push all else away.
pub(crate) fn one_line(name: &str) -> String {
    shortened(name, 48)
}

/// A name with its place in the source. Of a long path the end is left, which tells files apart.
fn named_at(name: &str, file: &str, line: u32, column: u32) -> String {
    format!("{} ({}:{line}:{column})", one_line(name), shortened_to_end(file, 40))
}

/// A sentence about the tables: a line, or a paragraph of Markdown.
pub(crate) fn sentence(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    if f.alternate() { writeln!(f, "{}\n", markdown(text)) } else { writeln!(f, "{text}") }
}

/// How tables look on a terminal.
pub(super) const TERMINAL: TableStyle = presets::UTF8_HORIZONTAL_ONLY;

/// Columns that a table may leave out, by their places, under a common name.
pub(crate) type Spare<'s> = (&'s str, &'s [usize]);

/// A table: names to the left, figures to the right.
pub(crate) struct Sheet<'s> {
    pub(crate) header: &'s [&'s str],
    /// Rows of a heading have one cell.
    pub(crate) rows: Vec<Vec<String>>,
    /// What is left out where there is no room for all, the first first.
    pub(crate) spare: &'s [Spare<'s>],
    /// Columns of names and words, which may be cut.
    pub(crate) texts: &'s [usize],
    /// Whether the last column has words, which stand to the left.
    pub(crate) ends_in_words: bool,
}

impl<'s> Sheet<'s> {
    pub(crate) fn new(header: &'s [&'s str], rows: Vec<Vec<String>>) -> Self {
        Self { header, rows, spare: &[], texts: &[0], ends_in_words: false }
    }

    /// Writes the table, within the columns of a terminal if [`fit::width`] knows of any.
    pub(crate) fn write(mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return self.write_markdown(f);
        }
        let fit = match fit::width(f) {
            Some(most) => Fit::within(&self, most),
            None => Fit::whole(&self),
        };
        writeln!(f, "{}", self.drawn(&fit, TERMINAL))?;
        match fit.left_out.as_slice() {
            [] => Ok(()),
            names => {
                let names = names.join(", ");
                sentence(f, &format!("no room for: {names}; a wider terminal or JSON has them"))
            }
        }
    }

    fn write_markdown(&mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.iter_mut().flatten().for_each(|cell| *cell = markdown_cell(cell));
        for (number, line) in
            self.drawn(&Fit::whole(self), presets::ASCII_MARKDOWN).lines().enumerate()
        {
            match number {
                // In the line after the header a colon says that a column of figures is aligned to the right.
                1 => writeln!(f, "{}", line.replace("-|", ":|").replacen(":|", "-|", 1))?,
                _ => writeln!(f, "{line}")?,
            }
        }
        writeln!(f)
    }

    /// Columns of a terminal that a column takes.
    pub(super) fn width_of(&self, column: usize) -> usize {
        let cells =
            self.rows.iter().filter_map(|row| row.get(column)).flat_map(|cell| cell.lines());
        cells.chain([self.header[column]]).map(UnicodeWidthStr::width).max().unwrap_or(0)
    }

    /// The text with what fits.
    pub(super) fn drawn(&self, fit: &Fit<'_>, style: TableStyle) -> String {
        let shown = &fit.shown;
        let words = self.ends_in_words.then(|| self.header.len() - 1);
        let mut table = Table::new();
        table.load_style(style.row_separator(LineStyle::none()));
        let cell = |column: usize, cell: &str, is_heading| {
            fit.cell(column, cell, is_heading, Some(column) == words)
        };
        table.set_header(shown.iter().map(|&column| cell(column, self.header[column], false)));
        for row in &self.rows {
            let cells = shown.iter().filter_map(|&column| Some((column, row.get(column)?)));
            table.add_row(cells.map(|(column, text)| cell(column, text, row.len() == 1)));
        }
        for (column, place) in table.column_iter_mut().zip(shown).skip(1) {
            if Some(*place) != words {
                column.set_cell_alignment(CellAlignment::Right);
            }
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        table.trim_fmt()
    }
}

/// A cell in Markdown, where its lines and its indentation would be lost.
fn markdown_cell(cell: &str) -> String {
    let line = |line: &str| {
        let text = line.trim_start_matches(' ');
        "&nbsp;".repeat(line.len() - text.len()) + &markdown(text)
    };
    cell.lines().map(line).collect::<Vec<_>>().join("<br>")
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::{Sheet, Spare, markdown_cell, named_at, one_line};

    struct Shown(bool);

    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            const SPARE: &[Spare<'_>] =
                &[("two", &[1]), ("three and four", &[2, 3]), ("none", &[9])];
            let row = ["größe", "22", "333", "4444", "words"].map(str::to_owned).to_vec();
            let rows = vec![vec!["of one".to_owned()], row];
            let header = ["name", "two", "three", "four", "verdict"];
            Sheet { spare: SPARE, ends_in_words: self.0, ..Sheet::new(&header, rows) }.write(f)
        }
    }

    #[test]
    fn names_are_cut_by_the_columns_that_they_take() {
        let (name, file) = ("載".repeat(30), "檔".repeat(30));
        assert_eq!(one_line(&name), "載".repeat(24) + "…");
        let place = named_at("load", &format!("src/{file}.rs"), 7, 5);
        assert_eq!(place, format!("load (…{}.rs:7:5)", "檔".repeat(18)));
        // Accents of their own take none, of which there may be any number.
        assert_eq!(one_line(&"\u{301}".repeat(50)), "\u{301}".repeat(48) + "…");
    }

    #[test]
    fn columns_are_left_out_as_far_as_there_is_no_room() {
        let all = Shown(true).to_string();
        let widest = all.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert_eq!(format!("{:widest$}", Shown(true)), all);
        let narrower = format!("{:1$}", Shown(true), widest - 1);
        assert!(
            narrower.ends_with("\nno room for: two; a wider terminal or JSON has them\n"),
            "{narrower}"
        );
        assert!(!narrower.contains("22") && narrower.contains("333"), "{narrower}");
        let least = format!("{:1}", Shown(true));
        assert!(
            least.ends_with(
                "\nno room for: two, three and four; a wider terminal or JSON has them\n"
            ),
            "{least}"
        );
        let lines: Vec<&str> = least.lines().map(str::trim_end).collect();
        assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["name", "verdict"]);
        assert_eq!(lines[4], " größe    words");
        // Figures stand to the right, also in the last column.
        assert_eq!(format!("{:1}", Shown(false)).lines().nth(4), Some(" größe      words"));
        assert_eq!(format!("{:#1}", Shown(true)), format!("{:#}", Shown(true)));
    }

    #[test]
    fn a_cell_of_markdown_is_shown_as_it_is() {
        let cell = "   ╰─ a|b<T>_c\n   in cycles";
        let indent = "&nbsp;".repeat(3);
        let wanted = format!(r"{indent}╰─ a\|b\<T\>\_c<br>{indent}in cycles");
        assert_eq!(markdown_cell(cell), wanted);
    }
}
