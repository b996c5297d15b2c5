//! Frequencies over a kernel, and where the regions of a kernel of nine seconds lie.

use std::path::Path;

use plotters::prelude::*;
use serde_json::Value;

use super::{number, panels, range, text};
use crate::Failure;

const COLOURS: [RGBColor; 2] = [RGBColor(0, 114, 178), RGBColor(213, 94, 0)];

pub(super) fn draw_frequency(file: &Path, lines: &[Value]) -> Result<(), Failure> {
    let mut points = Vec::new();
    for line in lines {
        let mhz = |name| number(line, &["mhz", name]);
        points.push((
            number(line, &["round"])?,
            number(line, &["millisecond"])?,
            [mhz("min")?, mhz("median")?, mhz("max")?],
        ));
    }
    let frequencies = range(points.iter().flat_map(|&(_, _, mhz)| mhz));
    let times = range(points.iter().map(|&(_, at, _)| at));
    panels(file, 1, |areas| {
        let mut chart = ChartBuilder::on(&areas[0])
            .caption(
                "Frequency of the SMs, from idle: slowest, median, fastest",
                ("sans-serif", 18),
            )
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(64)
            .build_cartesian_2d(times.clone(), frequencies.clone())?;
        chart
            .configure_mesh()
            .x_desc("ms since the first entry")
            .y_desc("MHz")
            .light_line_style(WHITE)
            .draw()?;
        for (round, colour) in COLOURS.into_iter().enumerate() {
            for which in 0..3 {
                let line = points
                    .iter()
                    .filter(|&&(of, _, _)| of == round as f64)
                    .map(|&(_, at, mhz)| (at, mhz[which]));
                let style = if which == 1 { colour.mix(1.0) } else { colour.mix(0.4) };
                chart.draw_series(LineSeries::new(line, style.stroke_width(1)))?;
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
