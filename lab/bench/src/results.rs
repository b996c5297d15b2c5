//! Reading files of what regions cost back.

use std::path::Path;

use crate::Error;
use crate::point::{COMBINATIONS, Header, Point, RECORD_COST};
use crate::report::file_error;

/// All that a file of results says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Its first line.
    pub header: Header,
    /// The others, each scheme's together, in the order in which schemes first appear.
    pub points: Vec<Point>,
}

/// A launch by which points are compared: blocks of an SM, FMAs of a body, warps of a block.
pub type Column = (u32, u32, u32);

impl Results {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that is not there, or not what `record-cost` writes.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| file_error(path, source))?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads the lines of a file of this name.
    ///
    /// # Errors
    ///
    /// A line that is not what `record-cost` writes; a second line for the same launch.
    pub fn parse(text: &str, name: &str) -> Result<Self, Error> {
        let bad = |line: usize, reason: String| Error::Results {
            place: format!("{name}:{}", line + 1),
            reason,
        };
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let (_, first) = lines.next().ok_or_else(|| bad(0, "it is empty".to_owned()))?;
        let header: Header =
            serde_json::from_str(first).map_err(|error| bad(0, error.to_string()))?;
        if ![RECORD_COST, COMBINATIONS].contains(&header.measurement.as_str()) {
            return Err(bad(
                0,
                format!(
                    "it holds `{}`, neither `record-cost` nor `record-combinations`",
                    header.measurement
                ),
            ));
        }
        let mut results = Self { header, points: Vec::new() };
        for (index, line) in lines {
            let point: Point =
                serde_json::from_str(line).map_err(|error| bad(index, error.to_string()))?;
            if results.point(&point.scheme, column(&point)).is_some() {
                return Err(bad(index, format!("{} was measured twice there", point.scheme)));
            }
            results.points.push(point);
        }
        Ok(results)
    }

    /// The schemes, in the order in which they first appear.
    #[must_use]
    pub fn schemes(&self) -> Vec<&str> {
        let mut schemes: Vec<&str> = Vec::new();
        for point in &self.points {
            if !schemes.contains(&point.scheme.as_str()) {
                schemes.push(&point.scheme);
            }
        }
        schemes
    }

    /// The launches that were measured, in order.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        let mut columns: Vec<Column> = self.points.iter().map(column).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// What was measured of a scheme in a launch.
    #[must_use]
    pub fn point(&self, scheme: &str, of: Column) -> Option<&Point> {
        self.points.iter().find(|point| point.scheme == scheme && column(point) == of)
    }

    /// What a region costs by a scheme in a launch, where the measurement did not fail.
    #[must_use]
    pub fn cycles(&self, scheme: &str, of: Column) -> Option<f64> {
        let point = self.point(scheme, of)?;
        self.figure(point).filter(|_| point.failed.is_none())
    }

    /// The cycles of a point that say what a region costs: of its warp, or where blocks share an SM, of the
    /// whole kernel.
    #[must_use]
    pub fn figure(&self, point: &Point) -> Option<f64> {
        match point.blocks_per_sm {
            1 => point.cycles_per_region,
            _ => self.kernel_cycles(point),
        }
    }

    /// What a region adds to the time of the whole kernel, in cycles of the clock's highest frequency.
    #[must_use]
    pub fn kernel_cycles(&self, point: &Point) -> Option<f64> {
        Some(point.kernel_ns_per_region? * f64::from(self.header.clock_mhz?) / 1000.0)
    }
}

fn column(point: &Point) -> Column {
    (point.blocks_per_sm, point.body, point.warps)
}

#[cfg(test)]
mod tests {
    use super::Results;

    const HEADER: &str =
        r#"{"measurement":"record-cost","date":"","gpu":"","sm_count":1,"driver":"","commit":""}"#;

    fn error(text: &str) -> String {
        Results::parse(text, "some.jsonl").expect_err("it is wrong").to_string()
    }

    #[test]
    fn what_is_no_file_of_results() {
        assert!(error("").starts_with("some.jsonl:1: it is empty; make the file anew"));
        assert!(error(&HEADER.replace("record-cost", "launch")).contains("it holds `launch`"));
        assert!(error(&format!("{HEADER}\n{{\"scheme\":1}}")).starts_with("some.jsonl:2: "));
    }

    #[test]
    fn a_launch_that_was_measured_twice_is_refused() {
        let line = r#"{"scheme":"floor","warps":1,"body":8,"blocks_per_sm":1,"cycles_per_region":0.1,"r2":null,"bytes_per_region":0,"registers":20,"baseline_cycles":208.0,"spread":0.1}"#;
        let text = format!("{HEADER}\n{line}\n{line}\n");
        assert!(error(&text).starts_with("some.jsonl:3: floor was measured twice there"));
        let results = Results::parse(&format!("{HEADER}\n\n{line}\n"), "").expect("once is fine");
        assert_eq!(results.cycles("floor", (1, 8, 1)), Some(0.1));
        assert_eq!(results.cycles("floor", (1, 8, 4)), None);
    }
}
