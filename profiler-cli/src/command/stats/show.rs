//! Writes the output of `profiler stats`: tables for people, or one document for programs.

use std::fmt;
use std::io::{self, Write};

use profiler_trace::{Balance, CriticalPath, Diagnostic, Stats, Trace, Waits, markdown, printable};
use serde_json::Value;

use super::{Format, Show};
use crate::terminal::{fitted, lines};

/// The version of the JSON document that holds more than regions. It is raised if a member changes its
/// meaning or goes. Nested documents have versions of their own.
const SCHEMA: u64 = 1;

type Writer<'w> = dyn Write + Send + 'w;

/// Writes the statistics of regions, if there are any, and the tables of these launches; for a terminal, within
/// its width.
pub(super) fn write(
    shown: &[Show],
    format: Format,
    (stats, trace): (Option<&Stats>, &Trace),
    launches: &[usize],
    width: Option<usize>,
    writer: &mut Writer<'_>,
) -> io::Result<()> {
    let of = Launches { trace, launches };
    match (format, stats) {
        (Format::Json, Some(stats)) if shown.iter().all(|show| *show == Show::Regions) => {
            stats.write_json_to(writer)
        }
        (Format::Json, _) => json(shown, stats, &of, writer),
        (Format::Csv, _) => stats.map_or(Ok(()), |stats| stats.write_csv_to(writer)),
        (Format::Table | Format::Markdown, _) => {
            let text = tables(shown, format == Format::Markdown, width, stats, &of);
            writer.write_all(text.as_bytes())
        }
    }
}

/// Tables for people, with an empty line between them.
fn tables(
    shown: &[Show],
    in_markdown: bool,
    width: Option<usize>,
    stats: Option<&Stats>,
    of: &Launches<'_>,
) -> String {
    let text = |table: &dyn fmt::Display| {
        let text = if in_markdown { format!("{table:#}") } else { fitted(table, width) };
        text.trim_end().to_owned()
    };
    let mut tables = Vec::new();
    for show in shown {
        match show {
            Show::Regions => tables.extend(stats.map(|stats| text(stats))),
            Show::Balance => tables.extend(of.tables(Trace::balance, &text)),
            Show::Waits => tables.extend(of.tables(Trace::waits, &text)),
            Show::CriticalPath => tables.extend(of.tables(Trace::critical_path, &text)),
        }
    }
    let tables = tables.join("\n\n") + "\n";
    // The table of regions begins with the same line.
    let notes = of.trace.notes();
    let device = notes.first().filter(|_| shown.first() != Some(&Show::Regions));
    let device = device.map_or_else(String::new, |device| match printable(device) {
        device if in_markdown => format!("{}\n\n", markdown(&device)),
        device => format!("{}\n", lines(&device, width)),
    });
    device + &tables
}

/// Writes an object with the notes, the diagnostics and a member for each shown table.
fn json(
    shown: &[Show],
    stats: Option<&Stats>,
    of: &Launches<'_>,
    writer: &mut Writer<'_>,
) -> io::Result<()> {
    let diagnostics = of.trace.diagnostics.list.iter();
    let diagnostics: Value = diagnostics.map(Diagnostic::to_json).collect();
    let notes = Value::from(of.trace.notes());
    write!(writer, "{{\"schema\":{SCHEMA},\n\"notes\":{notes},\n\"diagnostics\":{diagnostics}")?;
    if let Some(stats) = stats {
        writer.write_all(b",\n\"regions\":")?;
        stats.write_json_to(&mut *writer)?;
    }
    // A table that was named twice is written once.
    if shown.contains(&Show::Balance) {
        write!(writer, ",\n\"balance\":{}", of.json(Trace::balance, Balance::to_json))?;
    }
    if shown.contains(&Show::Waits) {
        write!(writer, ",\n\"waits\":{}", of.json(Trace::waits, Waits::to_json))?;
    }
    if shown.contains(&Show::CriticalPath) {
        let paths = of.json(Trace::critical_path, CriticalPath::to_json);
        write!(writer, ",\n\"critical_path\":{paths}")?;
    }
    writer.write_all(b"}\n")
}

/// Launches of a trace.
struct Launches<'t> {
    trace: &'t Trace,
    launches: &'t [usize],
}

impl Launches<'_> {
    /// The table of each launch that has one, as JSON.
    fn json<T>(&self, of: fn(&Trace, usize) -> Option<T>, json: fn(&T) -> Value) -> Value {
        self.launches
            .iter()
            .filter_map(|&launch| of(self.trace, launch))
            .map(|it| json(&it))
            .collect()
    }

    /// The tables of all launches, made text by `text`.
    fn tables<T: fmt::Display>(
        &self,
        of: fn(&Trace, usize) -> Option<T>,
        text: &impl Fn(&dyn fmt::Display) -> String,
    ) -> Vec<String> {
        if self.launches.is_empty() {
            return vec!["no kernel was recorded".to_owned()];
        }
        let table = |&launch: &usize| match of(self.trace, launch) {
            Some(table) => text(&table),
            None => format!("launch {launch}: nothing was recorded"),
        };
        self.launches.iter().map(table).collect()
    }
}
