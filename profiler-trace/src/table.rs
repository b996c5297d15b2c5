//! Tables for terminals and in Markdown; rows of named cells as CSV and JSON.

pub(crate) mod cells;
mod fit;

use std::fmt;

use comfy_table::{CellAlignment, ColumnConstraint, LineStyle, Table, TableStyle, presets};
use unicode_width::UnicodeWidthStr;

use crate::display::markdown;
use fit::Fit;

/// A sentence about the tables: a line, or a paragraph of Markdown.
pub(crate) fn sentence(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    if f.alternate() { writeln!(f, "{}\n", markdown(text)) } else { writeln!(f, "{text}") }
}

/// The style of tables on a terminal.
const TERMINAL: TableStyle = presets::UTF8_HORIZONTAL_ONLY;

/// Columns that a table may leave out, by their places, under a common name.
pub(crate) type Spare<'s> = (&'s str, &'s [usize]);

/// A table: names to the left, figures to the right.
pub(crate) struct Sheet<'s> {
    pub(crate) header: &'s [&'s str],
    /// Rows of a heading have one cell.
    pub(crate) rows: Vec<Vec<String>>,
    /// The columns that are left out if there is no room, the first first.
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
    fn width_of(&self, column: usize) -> usize {
        let cells =
            self.rows.iter().filter_map(|row| row.get(column)).flat_map(|cell| cell.lines());
        cells.chain([self.header[column]]).map(UnicodeWidthStr::width).max().unwrap_or(0)
    }

    /// The text with what fits.
    fn drawn(&self, fit: &Fit<'_>, style: TableStyle) -> String {
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

    use super::{Sheet, Spare, markdown_cell};

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
