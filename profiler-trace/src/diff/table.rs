//! A comparison as a table for a terminal.

use std::fmt;

use super::threshold::percent;
use super::{Diff, DiffRow, Figures, Part, Verdict};
use crate::display::{counted, one_line, printable};
use crate::table::{Sheet, Spare};
use crate::units::{digits, duration};

const HEADER: [&str; 8] =
    ["region", "a launch, A", "B", "mean, A", "B", "change", "compared", "verdict"];
/// Columns that may be left out where they do not fit.
const SPARE: &[Spare<'_>] = &[("a launch", &[1, 2]), ("compared", &[6]), ("mean", &[3, 4])];
/// The region and the verdict.
const TEXTS: &[usize] = &[0, HEADER.len() - 1];

/// Notes, then one row a region: what A and B have, how the mean changed, what was compared. A width,
/// as in `{:80}`, is how many columns of a terminal there are, as for [`Stats`](crate::Stats).
impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            writeln!(f, "{}", printable(note))?;
        }
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = self.rows.iter().map(cells).collect();
        Sheet { spare: SPARE, texts: TEXTS, ends_in_words: true, ..Sheet::new(&HEADER, rows) }
            .write(f)?;
        write!(
            f,
            "{} of {} changed by {} or more, at a false discovery rate of {}",
            self.rows.iter().filter(|row| row.is_change).count(),
            counted(self.rows.len() as u64, "row"),
            percent(Some(self.options.min_effect)),
            percent(Some(self.options.false_discovery_rate))
        )?;
        match self.rows.iter().filter(|row| row.p.is_none()).count() {
            0 => writeln!(f),
            untested => writeln!(f, "; {untested} could not be tested"),
        }
    }
}

fn cells(row: &DiffRow) -> Vec<String> {
    let kernel = one_line(&row.subject.kernel);
    let name = match &row.subject.part {
        Part::Launches => format!("{kernel}, launches"),
        Part::Warps => format!("{kernel}, warps"),
        Part::Region(path) => {
            let path: Vec<String> = path.iter().map(|name| one_line(name)).collect();
            format!("  {}", path.join(" › "))
        }
    };
    let has = |of: &Option<Figures>, figure: &dyn Fn(&Figures) -> String| {
        of.as_ref().map_or_else(|| "-".to_owned(), figure)
    };
    let per_launch = |of: &Figures| digits(of.count_per_launch);
    let mean = |of: &Figures| match row.in_cycles {
        _ if of.count == 0 => "-".to_owned(),
        true => format!("{} cy", digits(of.mean)),
        false => duration(of.mean),
    };
    let change = match (row.relative, row.absolute) {
        (Some(relative), _) => signed(relative),
        (None, 0.0) => "-".to_owned(),
        (None, _) => "from 0".to_owned(),
    };
    let compared = row.units.map_or_else(String::new, |unit| {
        let (a, b) = row.unit_counts;
        let each = if row.group > 1 { format!(" × {}", row.group) } else { String::new() };
        format!("{a} + {b}{each} {}", unit.plural())
    });
    let verdict = match row.verdict {
        Verdict::NoChange => "no change",
        Verdict::OnlyA => "only in A",
        Verdict::OnlyB => "only in B",
        Verdict::TooFew => "too few units",
        Verdict::OtherClock => "other clock",
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
    };
    vec![
        name,
        has(&row.a, &per_launch),
        has(&row.b, &per_launch),
        has(&row.a, &mean),
        has(&row.b, &mean),
        change,
        compared,
        verdict.to_owned(),
    ]
}

/// `+1.2 %`, with three digits: more are more than such a figure is good for.
fn signed(relative: f64) -> String {
    let percent = relative * 100.0;
    let decimals = match percent.abs() {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{percent:+.decimals$} %")
}
