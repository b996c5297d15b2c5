//! Where findings go: lines of JSON in a file, tables and broken limits on standard output.
#![allow(clippy::print_stdout, reason = "this is the output of the program")]

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use profiler_host::Trace;
use profiler_host::trace::Severity;
use serde_json::{Value, json};

use crate::Failure;

/// The file that all tests append to.
pub const LINES: &str = "truth.jsonl";
/// Of broken limits, so many are printed; all are in the file.
const PRINTED_MAX: usize = 20;

/// The findings of one test.
#[derive(Debug)]
pub struct Report {
    test: &'static str,
    lines: BufWriter<File>,
    broken: Vec<String>,
}

impl Report {
    /// Appends to the file in `folder`, which is made if it is missing.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written.
    pub fn append(folder: &Path, test: &'static str) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("the folder {} cannot be made: {error}", folder.display()))?;
        let path = folder.join(LINES);
        let file = File::options()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        Ok(Self { test, lines: BufWriter::new(file), broken: Vec::new() })
    }

    /// Writes a line: the name of the test, what kind of line it is, and the members of `finding`,
    /// an object.
    pub(crate) fn line(&mut self, kind: &str, finding: Value) -> Result<(), Failure> {
        let mut line = json!({"test": self.test, "kind": kind});
        if let (Value::Object(line), Value::Object(finding)) = (&mut line, finding) {
            line.extend(finding);
        }
        writeln!(self.lines, "{line}")
            .map_err(|error| format!("{LINES} cannot be written: {error}").into())
    }

    /// Notes a limit that does not hold.
    pub fn broken(&mut self, what: String) {
        self.broken.push(what);
    }

    /// Notes a limit that does not hold, unless it does.
    pub(crate) fn require(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.broken.push(what());
        }
    }

    /// Writes what the decoder says of a trace; what is more than a note is a limit that does not
    /// hold.
    pub(crate) fn diagnostics(&mut self, what: &str, trace: &Trace) -> Result<(), Failure> {
        for diagnostic in &trace.diagnostics.list {
            let text = diagnostic.to_string();
            self.line(
                "diagnostic",
                json!({"of": what, "name": diagnostic.kind.name(), "text": text}),
            )?;
            self.require(diagnostic.severity() == Severity::Info, || format!("{what}: {text}"));
        }
        Ok(())
    }

    /// What did not hold so far.
    #[must_use]
    pub fn broken_limits(&self) -> &[String] {
        &self.broken
    }

    /// Says something.
    pub(crate) fn say(&self, text: &str) {
        println!("{text}");
    }

    /// Prints columns, the first to the left, the others to the right.
    pub(crate) fn table(&self, head: &[&str], rows: &[Vec<String>]) {
        print!("{}", layout(head, rows));
    }

    /// Prints what did not hold, and gives whether everything did.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written.
    pub fn finish(mut self) -> Result<bool, Failure> {
        let broken = std::mem::take(&mut self.broken);
        for limit in broken.iter().take(PRINTED_MAX) {
            println!("FAILED {}: {limit}", self.test);
        }
        if broken.len() > PRINTED_MAX {
            println!("FAILED {}: and {} more", self.test, broken.len() - PRINTED_MAX);
        }
        if broken.is_empty() {
            println!("passed {}", self.test);
        }
        let holds = broken.is_empty();
        self.line("result", json!({"holds": holds, "broken": broken}))?;
        self.lines.flush().map_err(|error| format!("{LINES} cannot be written: {error}"))?;
        Ok(holds)
    }
}

/// The lines in a folder.
///
/// # Errors
///
/// Where there are none, or a line is damaged.
pub(crate) fn lines(folder: &Path) -> Result<Vec<Value>, Failure> {
    let path = folder.join(LINES);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        format!("{} cannot be read: {error}; `truth run --out DIR` writes it", path.display())
    })?;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line: Value = serde_json::from_str(line)
            .map_err(|error| format!("{}, line {}: {error}", path.display(), index + 1))?;
        lines.push(line);
    }
    Ok(lines)
}

/// The text of a table.
fn layout(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let all = || std::iter::once(&head).chain(rows);
    let width = |column: usize| {
        all().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for row in all() {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            line += &match column {
                0 => format!("{cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "23".to_owned()]];
        assert_eq!(layout(&["name", "n"], &rows), "name   n\na      1\nlong  23\n");
    }

    #[test]
    fn lines_are_appended_and_broken_limits_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        for round in 0..2 {
            let mut report = Report::append(folder.path(), "mapping").expect("a file");
            report.line("release", json!({"round": round})).expect("written");
            report.require(round == 0, || "too far".to_owned());
            assert_eq!(report.broken_limits().len(), round);
            assert_eq!(report.finish().expect("written"), round == 0);
        }
        let text = std::fs::read_to_string(folder.path().join(LINES)).expect("written");
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[2], json!({"test": "mapping", "kind": "release", "round": 1}));
        assert_eq!(lines[3]["broken"][0], "too far");
    }
}
