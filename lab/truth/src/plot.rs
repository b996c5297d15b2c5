//! Draws what the tests have found, one file a test.

mod known_work;
mod mapping;
mod schedule;

use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;
use serde_json::Value;

use crate::{Failure, LINES, lines};

/// Pixels of a panel.
const WIDTH: u32 = 900;
const HEIGHT: u32 = 420;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What draws a test: its file, the test and the kind of line, and the function.
type Drawing =
    (&'static str, &'static str, &'static str, fn(&Path, &[Value]) -> Result<(), Failure>);

const DRAWINGS: [Drawing; 4] = [
    ("known-work.svg", "known-work", "case", known_work::draw),
    ("mapping.svg", "mapping", "release", mapping::draw),
    ("frequency.svg", "frequency", "millisecond", schedule::draw_frequency),
    ("long.svg", "long", "step", schedule::draw_long),
];

/// Draws the lines in a folder, of those tests that have left any; gives the files.
///
/// # Errors
///
/// Where there are no lines to draw, or a line is damaged.
pub fn plot(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let lines = lines(folder)?;
    let mut files = Vec::new();
    for (file, test, kind, draw) in DRAWINGS {
        let of_kind = |line: &&Value| line["test"] == test && line["kind"] == kind;
        let found: Vec<Value> = lines.iter().filter(of_kind).cloned().collect();
        if !found.is_empty() {
            let file = folder.join(file);
            draw(&file, &found)?;
            files.push(file);
        }
    }
    if files.is_empty() {
        let path = folder.join(LINES);
        return Err(format!("{} holds nothing that can be drawn", path.display()).into());
    }
    Ok(files)
}

/// The number at a path of names.
fn number(line: &Value, path: &[&str]) -> Result<f64, Failure> {
    let found = path.iter().fold(line, |value, name| &value[name]);
    found.as_f64().ok_or_else(|| format!("no number {} in the line {line}", path.join(".")).into())
}

/// The text of this name.
fn text<'l>(line: &'l Value, name: &str) -> Result<&'l str, Failure> {
    line[name].as_str().ok_or_else(|| format!("no text {name} in the line {line}").into())
}

/// From the smallest to the largest, and some buffer on either side.
fn range(numbers: impl IntoIterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) =
        numbers.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
            (low.min(number), high.max(number))
        });
    if !low.is_finite() || !high.is_finite() {
        return 0.0..1.0;
    }
    let buffer = ((high - low) * 0.06).max(1e-6 * high.abs()).max(1e-6);
    low - buffer..high + buffer
}

/// A white picture of so many panels, one above the other.
fn panels(
    file: &Path,
    count: usize,
    fill: impl Fn(&[Area<'_>]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let picture = SVGBackend::new(file, (WIDTH, HEIGHT * count as u32)).into_drawing_area();
    picture.fill(&WHITE)?;
    fill(&picture.split_evenly((count, 1)))?;
    picture
        .present()
        .map_err(|error| format!("{} cannot be written: {error}", file.display()).into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn write(folder: &Path, lines: &[Value]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.join(LINES), text).expect("written");
    }

    fn summary(median: f64) -> Value {
        json!({"count": 3, "min": median - 1.0, "median": median, "p95": median, "max": median + 1.0, "mean": median})
    }

    #[test]
    fn every_kind_of_line_is_drawn() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut lines = Vec::new();
        for (step, truth) in [(0, 90.0), (1, 20_000.0)] {
            lines.push(json!({
                "test": "known-work", "kind": "case", "strategy": "warp", "clock": "cycles",
                "form": "range", "depth": 1, "level": 1, "cycles": truth, "truth_ticks": truth,
                "error_ticks": summary(9.0), "subtracted_error_ticks": summary(-2.0),
                "limit_ticks": 8.0,
            }));
            lines.push(json!({
                "test": "mapping", "kind": "release", "kernel_ns": 1_000_000, "anchors": "each release",
                "since_entry_ns": 5e5 * f64::from(step), "lag_ns": summary(3.0),
            }));
            lines.push(json!({
                "test": "frequency", "kind": "millisecond", "variant": "globaltimer",
                "millisecond": step, "mhz": summary(1980.0), "error_part": 1e-4,
            }));
            lines.push(json!({
                "test": "long", "kind": "step", "clock": "cycles", "begin_ns": 4e7 * f64::from(step),
                "length_ns": 2e7, "begin_error_ns": summary(1.0), "end_error_ns": summary(2.0),
            }));
        }
        lines.push(json!({"test": "idle", "kind": "kernel"}));
        write(folder.path(), &lines);
        let files = plot(folder.path()).expect("drawn");
        assert_eq!(files.len(), DRAWINGS.len());
        for file in files {
            let svg = std::fs::read_to_string(&file).expect("written");
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{file:?}");
            assert!(svg.contains("<circle") || svg.contains("<polyline"), "{file:?} shows no data");
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = || plot(folder.path()).expect_err("must fail").to_string();
        assert!(error().contains("truth run --out DIR"));
        write(folder.path(), &[json!({"test": "idle", "kind": "kernel"})]);
        assert!(error().contains("nothing that can be drawn"));
        write(folder.path(), &[json!({"test": "mapping", "kind": "release", "kernel_ns": 1})]);
        assert!(error().contains("no number since_entry_ns"));
        std::fs::write(folder.path().join(LINES), "{}\n{").expect("written");
        assert!(error().contains("line 2"));
    }

    #[test]
    fn ranges_have_buffer() {
        let range = range([3.0, 1.0]);
        assert!(range.start < 1.0 && range.end > 3.0);
        assert_eq!(super::range([]), 0.0..1.0);
    }
}
