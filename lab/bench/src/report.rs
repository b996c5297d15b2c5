//! Files of results, and the table on standard output.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Error;
use crate::point::{Header, Point};

/// A file with one JSON object a line.
#[derive(Debug)]
pub struct JsonLines {
    path: PathBuf,
    file: BufWriter<File>,
}

impl JsonLines {
    /// Makes the file anew, with this header.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn create(path: PathBuf, header: &Header) -> Result<Self, Error> {
        let file = File::create(&path).map_err(|source| file_error(&path, source))?;
        let mut lines = Self { path, file: BufWriter::new(file) };
        lines.push(header)?;
        Ok(lines)
    }

    /// Appends a line, which is in the file when this returns: what was measured stays, whatever
    /// comes after.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn push(&mut self, line: &impl Serialize) -> Result<(), Error> {
        let text = serde_json::to_string(line).map_err(|error| Error::Results {
            place: self.path.display().to_string(),
            reason: error.to_string(),
        })?;
        writeln!(self.file, "{text}")
            .and_then(|()| self.file.flush())
            .map_err(|source| file_error(&self.path, source))
    }
}

/// An error of a file.
pub(crate) fn file_error(path: &Path, source: std::io::Error) -> Error {
    Error::File { path: path.display().to_string(), source }
}

/// A line of the table on standard output.
#[must_use]
pub fn row(point: &Point) -> String {
    let number = |value: Option<f64>, digits: usize| match value {
        Some(value) => format!("{value:.digits$}"),
        None => "-".to_owned(),
    };
    let mut row = format!(
        "{:<36} {:>5} {:>6} {:>4} {:>9} {:>9} {:>6} {:>6} {:>4} {:>9} {:>7}",
        point.scheme,
        point.warps,
        point.blocks_per_sm,
        point.body,
        number(point.cycles_per_region, 1),
        number(point.cycles_per_region_longest, 1),
        number(point.r2, 3),
        number(point.bytes_per_region, 1),
        point.registers.map_or_else(|| "-".to_owned(), |registers| registers.to_string()),
        number(point.baseline_cycles, 1),
        number(point.spread, 2),
    );
    if let Some(failed) = &point.failed {
        row += "  FAILED: ";
        row += failed;
    }
    row
}

/// The heads of the table's columns.
#[must_use]
pub fn head() -> String {
    format!(
        "{:<36} {:>5} {:>6} {:>4} {:>9} {:>9} {:>6} {:>6} {:>4} {:>9} {:>7}",
        "scheme",
        "warps",
        "blocks",
        "body",
        "cyc/reg",
        "longest",
        "R2",
        "bytes",
        "regs",
        "baseline",
        "spread"
    )
}

#[cfg(test)]
mod tests {
    use super::{head, row};
    use crate::point::Point;

    #[test]
    fn a_failure_is_seen() {
        let point = Point {
            scheme: "default".to_owned(),
            cycles_per_region: Some(28.04),
            failed: Some("3 lost".to_owned()),
            ..Point::default()
        };
        let row = row(&point);
        assert!(row.starts_with("default ") && row.contains(" 28.0 "), "{row}");
        assert!(row.ends_with("FAILED: 3 lost"), "{row}");
        let end = head().len();
        assert_eq!(row.find("  FAILED"), Some(end), "the columns are as wide as their heads");
    }
}
