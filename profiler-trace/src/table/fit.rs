//! Tables within the columns of a terminal: names are cut as far as they stay telling, then columns are left
//! out, the least important first.

use std::fmt;
use std::io;

use terminal_size::{Width, terminal_size_of};
use unicode_width::UnicodeWidthStr;

use super::Sheet;
use crate::display::{shortened, shortened_within};

/// Columns of a terminal that a name keeps as long as something may be left out for it.
const TELLING: usize = 20;
/// Those that it keeps in any case.
const LEAST: usize = 8;

/// How many columns of a terminal there are: those that the formatter is told, 0 for any number; and if it is
/// told none, those of the terminal that standard output is.
pub(super) fn width(f: &fmt::Formatter<'_>) -> Option<usize> {
    match f.width() {
        Some(width) => (width > 0).then_some(width),
        None => terminal_size_of(io::stdout()).map(|(Width(columns), _)| columns.into()),
    }
}

/// The shown columns of a sheet, and the widths of cut columns.
pub(super) struct Fit<'s> {
    /// Places of the columns.
    pub(super) shown: Vec<usize>,
    /// Names of those that are left out.
    pub(super) left_out: Vec<&'s str>,
    cuts: Vec<(usize, usize)>,
}

impl<'s> Fit<'s> {
    /// All of it.
    pub(super) fn whole(sheet: &Sheet<'s>) -> Self {
        Self { shown: (0..sheet.header.len()).collect(), left_out: Vec::new(), cuts: Vec::new() }
    }

    /// The part of a sheet that fits a number of terminal columns.
    pub(super) fn within(sheet: &Sheet<'s>, most: usize) -> Self {
        let mut fit = Self::whole(sheet);
        let mut spare = sheet.spare.iter().filter(|(_, columns)| columns[0] < sheet.header.len());
        loop {
            let drawn = sheet.drawn(&fit, super::TERMINAL);
            let width = drawn.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
            let over = width.saturating_sub(most);
            if over == 0 {
                return fit;
            }
            let next = spare.next();
            let keep = if next.is_some() { TELLING } else { LEAST };
            let (cuts, is_enough) = fit.cuts(sheet, over, keep);
            match next {
                Some((name, columns)) if !is_enough => {
                    fit.shown.retain(|column| !columns.contains(column));
                    fit.left_out.push(*name);
                }
                _ => return Self { cuts, ..fit },
            }
        }
    }

    /// Widths of the columns of text by which the table is so much narrower, the widest being cut first, and
    /// whether it is.
    fn cuts(&self, sheet: &Sheet<'_>, mut over: usize, keep: usize) -> (Vec<(usize, usize)>, bool) {
        let is_text = |column: &&usize| sheet.texts.contains(column);
        let natural = |&column: &usize| (column, sheet.width_of(column));
        let mut widths: Vec<(usize, usize)> =
            self.shown.iter().filter(is_text).map(natural).collect();
        while over > 0 {
            let widest = widths.iter_mut().max_by_key(|(_, width)| *width);
            let Some((_, width)) = widest.filter(|(_, width)| *width > keep) else { break };
            *width -= 1;
            over -= 1;
        }
        (widths, over == 0)
    }

    /// A cell of a column as it is shown.
    pub(super) fn cell(
        &self,
        column: usize,
        cell: &str,
        is_heading: bool,
        is_words: bool,
    ) -> String {
        let Some((_, room)) = self.cuts.iter().find(|(cut, _)| *cut == column) else {
            return cell.to_owned();
        };
        let line = |line: &str| {
            if line.width() <= *room {
                return line.to_owned();
            }
            if is_heading {
                return wrapped(line, *room);
            }
            if is_words {
                // They begin with what matters.
                return shortened(line, room - 1);
            }
            let text = line.trim_start_matches(' ');
            let indent = (line.len() - text.len()).min(room / 2);
            " ".repeat(indent) + &shortened_within(text, room - indent)
        };
        cell.lines().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// A text on several lines, between whose words it is parted.
fn wrapped(text: &str, room: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let word = shortened_within(word, room);
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines.join("\n")
}
