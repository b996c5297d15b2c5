//! Where the marks of all SMs lie after the moments of `%globaltimer`, over the time in a kernel.

use std::path::Path;

use plotters::prelude::*;
use serde_json::Value;

use super::{Area, number, panels, range};
use crate::Failure;

/// How long a kernel ran, in nanoseconds, and when it took anchors.
type Kernel = (f64, String);

/// A release: milliseconds since the entry; least, middle and largest lag in nanoseconds.
type Point = (f64, [f64; 3]);

pub(super) fn draw(file: &Path, lines: &[Value]) -> Result<(), Failure> {
    let mut kernels: Vec<(Kernel, Vec<Point>)> = Vec::new();
    for line in lines {
        let anchors = line["anchors"].as_str().unwrap_or("none");
        let kernel = (number(line, &["kernel_ns"])?, anchors.to_owned());
        let at = number(line, &["since_entry_ns"])? / 1e6;
        let lag = |name| number(line, &["lag_ns", name]);
        let point = (at, [lag("min")?, lag("median")?, lag("max")?]);
        match kernels.iter_mut().find(|(other, _)| *other == kernel) {
            Some((_, points)) => points.push(point),
            None => kernels.push((kernel, vec![point])),
        }
    }
    panels(file, kernels.len(), |areas| {
        for (area, (kernel, points)) in areas.iter().zip(&kernels) {
            panel(area, kernel, points)?;
        }
        Ok(())
    })
}

fn panel(area: &Area<'_>, (length_ns, anchors): &Kernel, points: &[Point]) -> Result<(), Failure> {
    let colour = RGBColor(0, 114, 178);
    let lags = points.iter().flat_map(|(_, lags)| *lags).chain([-16.0, 80.0]);
    let times = range(points.iter().map(|&(at, _)| at).chain([0.0]));
    let mut chart = ChartBuilder::on(area)
        .caption(
            format!(
                "Releases of the whole grid in a kernel of {} ms, profile_anchor!: {anchors}",
                length_ns / 1e6
            ),
            ("sans-serif", 18),
        )
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(times.clone(), range(lags))?;
    chart
        .configure_mesh()
        .x_desc("ms since the first entry")
        .y_desc("mark - moment of the release in ns")
        .light_line_style(WHITE)
        .draw()?;
    for limit in [0.0, 64.0] {
        // Two steps of the timer.
        let line = [(times.start, limit), (times.end, limit)];
        chart.draw_series(LineSeries::new(line, BLACK.mix(0.5)))?;
    }
    chart.draw_series(points.iter().map(|&(at, [least, _, largest])| {
        PathElement::new([(at, least), (at, largest)], colour.stroke_width(2))
    }))?;
    chart.draw_series(
        points.iter().map(|&(at, [_, median, _])| Circle::new((at, median), 3, colour.filled())),
    )?;
    Ok(())
}
