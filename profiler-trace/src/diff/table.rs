//! A comparison as a table for a terminal.

use std::fmt;

use super::{Change, Diff, DiffRow, Figures, Subject, TimeUnit, Verdict};
use crate::printable::printable;
use crate::stats::table::{Sheet, Spare, one_line};
use crate::units::{digits, duration};

const HEADER: [&str; 11] = [
    "region",
    "a launch, A",
    "B",
    "mean, A",
    "B",
    "mean",
    "95 % interval",
    "p50",
    "p95",
    "p99",
    "verdict",
];
/// Columns that may be left out where they do not fit.
const SPARE: &[Spare<'_>] = &[
    ("p50", &[7]),
    ("p95", &[8]),
    ("p99", &[9]),
    ("a launch", &[1, 2]),
    ("means of A and B", &[3, 4]),
    ("95 % interval", &[6]),
];
/// The region and the verdict.
const TEXTS: &[usize] = &[0, HEADER.len() - 1];

/// Notes, then one row a region: what A and B have, how it changed. A star stands behind what is
/// reported as a change. A width, as in `{:80}`, is how many columns of a terminal there are, as for
/// [`Stats`](crate::Stats).
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
        let changed = self.changed().count();
        let compared = self.rows.iter().filter(|row| row.mean.p.is_some()).count();
        writeln!(
            f,
            "{changed} of {compared} rows changed (*): by {} or more, false discovery rate {}",
            super::threshold::percent(Some(self.options.min_effect)),
            super::threshold::percent(Some(self.options.false_discovery_rate))
        )
    }
}

fn cells(row: &DiffRow) -> Vec<String> {
    let name = match &row.subject {
        Subject::Launch { kernel } => format!("{}, launches", one_line(kernel)),
        Subject::Kernel { kernel } => format!("{}, warps", one_line(kernel)),
        Subject::Region { path, .. } => {
            let path: Vec<String> = path.iter().map(|name| one_line(name)).collect();
            format!("╰─ {}", path.join(" › "))
        }
    };
    let has = |of: &Option<Figures>, figure: &dyn Fn(&Figures) -> String| {
        of.as_ref().map_or_else(|| "-".to_owned(), figure)
    };
    let star = |change: &Change| if change.is_change { " *" } else { "" };
    let per_launch = |of: &Figures| digits(of.count_per_launch);
    let per_launch_after = |of: &Figures| per_launch(of) + star(&row.count);
    let mean = |of: &Figures| match row.unit {
        _ if of.count == 0 => "-".to_owned(),
        TimeUnit::Cycles => format!("{} cy", digits(of.mean)),
        TimeUnit::Nanoseconds => duration(of.mean),
    };
    let is_compared = row.mean.relative.is_some_and(|_| {
        !matches!(row.verdict, Verdict::OnlyA | Verdict::OnlyB | Verdict::OtherClock)
    });
    let changed = |change: &Change| {
        if is_compared { signed(change.relative) + star(change) } else { "-".to_owned() }
    };
    let interval = row.interval.map_or_else(
        || "-".to_owned(),
        |(low, high)| format!("{} to {}", signed(Some(low)), signed(Some(high))),
    );
    vec![
        name,
        has(&row.a, &per_launch),
        has(&row.b, &per_launch_after),
        has(&row.a, &mean),
        has(&row.b, &mean),
        changed(&row.mean),
        interval,
        changed(&row.p50),
        changed(&row.p95),
        changed(&row.p99),
        verdict(row),
    ]
}

fn verdict(row: &DiffRow) -> String {
    let often = match row.count.is_change.then_some(row.count.absolute > 0.0) {
        Some(true) => ", more often",
        Some(false) => ", less often",
        None => "",
    };
    match row.verdict {
        Verdict::OnlyA => "only in A".to_owned(),
        Verdict::OnlyB => "only in B".to_owned(),
        // Units of its times: where it ran in few launches, these may be, and how often it ran is known.
        Verdict::TooFew => format!("too few units{often}"),
        Verdict::OtherClock => "other clock".to_owned(),
        Verdict::NoChange | Verdict::Slower | Verdict::Faster | Verdict::Mixed => {
            let word = match row.verdict {
                Verdict::NoChange => "no change",
                other => other.name(),
            };
            let (a, b) = row.unit_counts;
            let units = row.units.map_or("units", |unit| unit.plural());
            let batch = if row.batch > 1 { format!(", {} each", row.batch) } else { String::new() };
            let alike = if row.is_alike { ", alike?" } else { "" };
            format!("{word}{often} ({a} + {b} {units}{batch}{alike})")
        }
    }
}

/// `+1.2 %`.
fn signed(relative: Option<f64>) -> String {
    let Some(relative) = relative else { return "from 0".to_owned() };
    // Three digits are more than such a figure is good for.
    let percent = relative * 100.0;
    let decimals = if percent.abs() >= 100.0 {
        0
    } else if percent.abs() >= 10.0 {
        1
    } else {
        2
    };
    format!("{percent:+.decimals$} %")
}
