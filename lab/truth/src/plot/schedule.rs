//! Frequencies over a kernel, and where the regions of a kernel of nine seconds lie.

use std::path::Path;

use plotters::prelude::*;
use serde_json::Value;

use super::{number, panels, range, text};
use crate::Failure;

/// One for each variant of the frequencies: colours that are told apart by everybody (Okabe and Ito).
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
];

/// The frequency of the SMs, and below it by how much lengths are off, in one colour a variant.
pub(super) fn draw_frequency(file: &Path, lines: &[Value]) -> Result<(), Failure> {
    let mut names: Vec<&str> = Vec::new();
    let mut points = Vec::new();
    for line in lines {
        let name = text(line, "variant")?;
        let variant = names.iter().position(|&known| known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        points.push((
            variant,
            number(line, &["millisecond"])?,
            [number(line, &["mhz", "median"])?, 1e2 * number(line, &["error_part"])?],
        ));
    }
    let times = range(points.iter().map(|&(_, at, _)| at));
    let captions = [
        ("Frequency of the SMs while others draw power: the median SM", "MHz"),
        ("Lengths in ns: the SM whose region of 1 ms is wrong most", "% off"),
    ];
    panels(file, captions.len(), |areas| {
        for (which, (caption, unit)) in captions.into_iter().enumerate() {
            let mut values = range(points.iter().map(|&(_, _, values)| values[which]));
            if which == 0 {
                // Buffer for the names.
                values.start -= 0.4 * (values.end - values.start);
            }
            let mut chart = ChartBuilder::on(&areas[which])
                .caption(caption, ("sans-serif", 18))
                .margin(12)
                .x_label_area_size(42)
                .y_label_area_size(64)
                .build_cartesian_2d(times.clone(), values)?;
            chart
                .configure_mesh()
                .x_desc("ms since the first entry")
                .y_desc(unit)
                .light_line_style(WHITE)
                .draw()?;
            for (variant, &name) in names.iter().enumerate() {
                let colour = COLOURS[variant % COLOURS.len()];
                let line = points
                    .iter()
                    .filter(|&&(of, _, _)| of == variant)
                    .map(|&(_, at, values)| (at, values[which]));
                chart
                    .draw_series(LineSeries::new(line, colour.stroke_width(1)))?
                    .label(name)
                    .legend(move |(x, y)| {
                        PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2))
                    });
            }
            if which == 0 {
                chart
                    .configure_series_labels()
                    .position(SeriesLabelPosition::LowerRight)
                    .border_style(BLACK)
                    .background_style(WHITE)
                    .draw()?;
            }
        }
        Ok(())
    })
}

pub(super) fn draw_long(file: &Path, lines: &[Value]) -> Result<(), Failure> {
    let mut points = Vec::new();
    for line in lines {
        let begin = number(line, &["begin_ns"])?;
        let end = begin + number(line, &["length_ns"])?;
        let colour = COLOURS[usize::from(text(line, "clock")? != "cycles")];
        for (at, which) in [(begin, "begin_error_ns"), (end, "end_error_ns")] {
            let errors = [number(line, &[which, "min"])?, number(line, &[which, "max"])?];
            points.push((at / 1e9, errors, colour));
        }
    }
    let times = range(points.iter().map(|&(at, _, _)| at));
    let errors = range(points.iter().flat_map(|&(_, errors, _)| errors));
    panels(file, 1, |areas| {
        let mut chart = ChartBuilder::on(&areas[0])
            .caption(
                "A kernel of 9 s: begins and ends (blue: cycles, orange: globaltimer)",
                ("sans-serif", 18),
            )
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(72)
            .build_cartesian_2d(times.clone(), errors.clone())?;
        chart
            .configure_mesh()
            .x_desc("s since the warp's entry")
            .y_desc("recorded - globaltimer in ns")
            .light_line_style(WHITE)
            .draw()?;
        chart.draw_series(points.iter().map(|&(at, [least, largest], colour)| {
            PathElement::new([(at, least), (at, largest)], colour.stroke_width(2))
        }))?;
        Ok(())
    })
}
