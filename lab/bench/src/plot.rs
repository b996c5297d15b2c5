//! The picture of results: cycles of a region against warps of a block.

use plotters::prelude::*;

use crate::results::Results;
use crate::table::SUMMARY;

const SIZE: (u32, u32) = (960, 560);
/// Where the legend begins.
const LEGEND: i32 = 660;
const LEGEND_LINE: i32 = 22;

/// Colours of the lines: blue is the profiler's own, red and orange are Proton's, the others those of
/// further profilers.
fn color(scheme: &str) -> RGBColor {
    match scheme {
        "floor" => RGBColor(150, 150, 150),
        "idle" => RGBColor(150, 190, 235),
        "default" => RGBColor(0, 70, 190),
        "elected" => RGBColor(90, 60, 200),
        "thread-keep-last" => RGBColor(0, 170, 200),
        "proton-shared" => RGBColor(200, 20, 30),
        "proton-shared-clock64" => RGBColor(240, 130, 130),
        "proton-global" => RGBColor(240, 130, 20),
        "nuggets-compact" => RGBColor(170, 120, 60),
        "flashinfer" => RGBColor(190, 60, 160),
        "triton-distributed" => RGBColor(110, 20, 90),
        "cute-dsl-atomic" => RGBColor(90, 60, 40),
        _ => RGBColor(60, 60, 60),
    }
}

/// How a scheme's line is drawn: the thick one is what a kernel gets that says nothing else.
fn style(scheme: &str) -> ShapeStyle {
    color(scheme).stroke_width(if scheme == "default" { 4 } else { 2 })
}

/// What costs less is drawn here: the axis is logarithmic.
const CYCLES_MIN: f64 = 1.0;

/// A line of the picture: a scheme, and cycles for each number of warps.
struct Series {
    scheme: &'static str,
    label: &'static str,
    points: Vec<(f64, f64)>,
}

/// The lines of the picture: the schemes of the summary, one block on an SM, the shortest bodies.
fn series(results: &Results) -> Vec<Series> {
    let columns = results.columns();
    let Some(body) = columns.iter().map(|column| column.1).min() else { return Vec::new() };
    let of_scheme = |scheme: &str| -> Vec<(f64, f64)> {
        columns
            .iter()
            .filter(|column| column.0 == 1 && column.1 == body)
            .filter_map(|column| {
                let cycles = results.cycles(scheme, *column)?;
                Some((f64::from(column.2), cycles.max(CYCLES_MIN)))
            })
            .collect()
    };
    SUMMARY
        .iter()
        .map(|&(scheme, label)| Series { scheme, label, points: of_scheme(scheme) })
        .filter(|series| !series.points.is_empty())
        .collect()
}

/// The picture as an SVG text.
///
/// # Errors
///
/// No points to draw, or what the plotting library says.
pub fn svg(results: &Results) -> Result<String, String> {
    let series = series(results);
    if series.is_empty() {
        return Err("there is no point to draw".to_owned());
    }
    let mut text = String::new();
    draw(&series, results, &mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

fn draw(
    series: &[Series],
    results: &Results,
    text: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let points = || series.iter().flat_map(|series| series.points.iter().copied());
    let warps_max = points().map(|point| point.0).fold(1.0, f64::max);
    let cycles_max = points().map(|point| point.1).fold(10.0, f64::max) * 1.5;
    let all = SVGBackend::with_string(text, SIZE).into_drawing_area();
    all.fill(&WHITE)?;
    let (area, legend) = all.split_horizontally(LEGEND);
    let header = &results.header;
    let caption = format!("One recorded region, {}, driver {}", header.gpu, header.driver);
    let mut chart = ChartBuilder::on(&area)
        .caption(caption, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (1.0..warps_max * 1.05).log_scale().base(2.0),
            (CYCLES_MIN..cycles_max).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("warps of a block, one block an SM")
        .y_desc("cycles a region")
        .x_label_formatter(&|warps| format!("{warps:.0}"))
        .y_label_formatter(&|cycles| format!("{cycles:.0}"))
        .light_line_style(WHITE)
        .label_style(("sans-serif", 13))
        .draw()?;
    for (index, Series { scheme, label, points }) in (0..).zip(series) {
        let line = LineSeries::new(points.iter().copied(), style(scheme).filled());
        chart.draw_series(line.point_size(3))?;
        let y = 60 + LEGEND_LINE * index;
        legend.draw(&PathElement::new([(0, y), (24, y)], style(scheme)))?;
        legend.draw(&Text::new(label.replace('`', ""), (32, y - 6), ("sans-serif", 13)))?;
    }
    all.present()?;
    Ok(())
}
