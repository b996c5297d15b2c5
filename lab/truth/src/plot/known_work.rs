//! Error over length, of regions of known work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plotters::prelude::*;
use serde_json::Value;

use super::{Area, number, panels, range, text};
use crate::Failure;

/// Panels: the buffer, the clock, the form (of all forms where none is named), and what ticks are.
const PANELS: [(&str, &str, Option<&str>, &str); 8] = [
    ("global", "cycles", Some("range"), "cycles"),
    ("global", "cycles", Some("token"), "cycles"),
    ("global", "cycles", Some("value"), "cycles"),
    ("global", "cycles", Some("short value"), "cycles"),
    ("global", "cycles", Some("wait"), "cycles"),
    ("global", "globaltimer", None, "ns"),
    ("host", "cycles", None, "cycles"),
    ("host", "globaltimer", None, "ns"),
];
/// Depths, their colours, and by which factor they are moved aside, to be told apart.
const DEPTHS: [(f64, RGBColor, f64); 4] = [
    (1.0, RGBColor(0, 114, 178), 0.91),
    (2.0, RGBColor(0, 158, 115), 0.97),
    (4.0, RGBColor(230, 159, 0), 1.03),
    (8.0, RGBColor(213, 94, 0), 1.10),
];
/// The least error that a logarithmic axis shows, in ticks.
const LEAST: f64 = 0.25;

/// A case: of all its levels the largest errors, without their signs.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    truth: f64,
    raw: f64,
    subtracted: f64,
    /// What is judged to be too much, if anything is.
    limit: Option<f64>,
    depth: f64,
}

/// What tells the cases of a panel apart: strategy, form, depth and requested cycles.
type Case<'l> = (&'l str, &'l str, u64, u64);

pub(super) fn draw(file: &Path, lines: &[Value]) -> Result<(), Failure> {
    let mut found: Vec<(String, &str, Vec<Point>)> = Vec::new();
    for (buffer, clock, form, unit) in PANELS {
        let mut points: BTreeMap<Case<'_>, Point> = BTreeMap::new();
        for line in lines {
            let of_line = text(line, "form")?;
            // Lines of earlier runs name no buffer.
            let has_buffer = line["buffer"].as_str().unwrap_or("global") == buffer;
            if !has_buffer
                || text(line, "clock")? != clock
                || form.is_some_and(|form| form != of_line)
            {
                continue;
            }
            let depth = number(line, &["depth"])?;
            let cycles = number(line, &["cycles"])?;
            let case = (text(line, "strategy")?, of_line, depth as u64, cycles as u64);
            let point = points.entry(case).or_default();
            // As the test judges: see `known_work`.
            let typical = if clock == "cycles" { "median" } else { "mean" };
            let error = |name| number(line, &[name, typical]).map(|error| error.abs().max(LEAST));
            *point = Point {
                truth: number(line, &["truth_ticks"])?.max(1.0),
                raw: point.raw.max(error("error_ticks")?),
                subtracted: point.subtracted.max(error("subtracted_error_ticks")?),
                limit: line["limit_ticks"].as_f64(),
                depth,
            };
        }
        if !points.is_empty() {
            let form = form.map_or("all forms".to_owned(), |form| format!("form = {form}"));
            let buffer = if buffer == "host" { ", buffer = host" } else { "" };
            let title = format!("clock = {clock}, {form}{buffer}");
            found.push((title, unit, points.into_values().collect()));
        }
    }
    panels(file, found.len(), |areas| {
        for (area, (title, unit, points)) in areas.iter().zip(&found) {
            panel(area, title, unit, points)?;
        }
        Ok(())
    })
}

/// Places without those that fall on a pixel of one before: many cases have the same errors.
fn once_a_pixel(
    places: impl Iterator<Item = (f64, f64)>,
    pixel: impl Fn(&(f64, f64)) -> (i32, i32),
) -> Vec<(f64, f64)> {
    let mut taken = BTreeSet::new();
    places.filter(|place| taken.insert(pixel(place))).collect()
}

fn panel(area: &Area<'_>, title: &str, unit: &str, points: &[Point]) -> Result<(), Failure> {
    let truth = range(points.iter().map(|point| point.truth.ln()));
    let errors =
        points.iter().flat_map(|point| [Some(point.raw), Some(point.subtracted), point.limit]);
    let errors = range(errors.flatten().map(f64::ln));
    let mut chart = ChartBuilder::on(area)
        .caption(
            format!("Known work, {title}: largest error of the nested regions"),
            ("sans-serif", 18),
        )
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (truth.start.exp()..truth.end.exp()).log_scale(),
            (errors.start.exp()..errors.end.exp()).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc(format!("true length in {unit}"))
        .y_desc(format!("|recorded - true| in {unit}"))
        .light_line_style(WHITE)
        .draw()?;
    let grey = RGBColor(170, 170, 170);
    let aside = |point: &Point| {
        let own = DEPTHS.iter().find(|(depth, ..)| *depth == point.depth);
        point.truth * own.map_or(1.0, |&(_, _, factor)| factor)
    };
    let raw = points.iter().map(|point| (aside(point), point.raw));
    let raw = once_a_pixel(raw, |place| chart.backend_coord(place));
    chart
        .draw_series(raw.into_iter().map(|place| Circle::new(place, 2, grey.stroke_width(1))))?
        .label("as recorded")
        .legend(move |(x, y)| Circle::new((x + 8, y), 3, grey.stroke_width(1)));
    for (depth, colour, _) in DEPTHS {
        let of_depth = points.iter().filter(|point| point.depth == depth);
        let less = of_depth.map(|point| (aside(point), point.subtracted));
        let less = once_a_pixel(less, |place| chart.backend_coord(place));
        chart
            .draw_series(less.into_iter().map(|place| Circle::new(place, 3, colour.filled())))?
            .label(format!("less cost, depth {depth}"))
            .legend(move |(x, y)| Circle::new((x + 8, y), 3, colour.filled()));
    }
    let mut limits: Vec<(f64, f64)> =
        points.iter().filter_map(|point| Some((point.truth, point.limit?))).collect();
    limits.sort_by(|left, right| left.0.total_cmp(&right.0));
    chart
        .draw_series(LineSeries::new(limits, BLACK.stroke_width(1)))?
        .label("limit")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 16, y)], BLACK));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .draw()?;
    Ok(())
}
