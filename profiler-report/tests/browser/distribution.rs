//! Every bin of every histogram of durations.

use libtest_mimic::Failed;
use profiler_report::ReportOptions;
use profiler_trace::{SiteStats, Trace};
use serde_json::Value;

use crate::shown::{self, require_time};
use crate::tool::{Browser, Scheme};
use crate::{ask, page, support};

/// The small and the large histogram of each row of the statistics.
const PROBE: &str = "
    const bars = (drawing) => [...drawing.querySelectorAll('rect')].map((bar) =>
      [bar.querySelector('title').textContent, ...['x', 'width', 'height'].map((name) => Number(bar.getAttribute(name)))]);
    const figure = document.getElementById('distribution');
    const rows = [...document.querySelectorAll('#regions tbody tr')].map((row) => {
      row.querySelector('.pick').click();
      const drawn = () => bars(figure.querySelector('svg'));
      const marks = [...figure.querySelectorAll('.mark')].map((mark) => Number(mark.getAttribute('x1')));
      const wide = Number(figure.querySelector('svg line.axis:not([y1=\"0\"])').getAttribute('x2'));
      const answer = {
        name: row.querySelector('th').textContent, small: bars(row.querySelector('.spark')), large: drawn(), marks, wide,
      };
      const { first, perDoubling, counts } = report.data.rows[row.dataset.row].histogram;
      answer.bins = [first, perDoubling, counts.length];
      return answer;
    });
    return rows;";

/// A bar: what it says, and its place, width and height.
type Bar = (String, f64, f64, f64);

/// Regions of no length, some that are a hundred times as long as others, and some that are shorter than the
/// clock's step, as they may be where the cost of recording was subtracted.
fn spread() -> Trace {
    let mut trace = support::large(4000);
    let names = trace.sites.iter().map(|site| site.name.clone()).collect::<Vec<_>>();
    let mut at = 0;
    for region in trace.warps.iter_mut().flat_map(|warp| &mut warp.regions) {
        at += 1;
        let ns = match names[region.site.0 as usize].as_str() {
            "load" if at % 7 == 0 => 0.0,
            "wait" if at % 50 == 2 => 0.53,
            "wait" if at % 50 == 3 => 7.25,
            "wait" if at % 50 == 4 => 0.13,
            _ => continue,
        };
        region.end = Some(support::time(region.start.ns + ns));
        if ns == 0.0 {
            region.end = Some(region.start);
        }
    }
    trace
}

pub(crate) fn bins_count(browser: &Browser) -> Result<(), Failed> {
    let trace = spread();
    let answer = ask(browser, &page(&trace, &ReportOptions::default())?, Scheme::Light, PROBE)?;
    let stats = trace.stats();
    let seen = answer.as_array().ok_or("rows")?;
    assert_eq!(seen.len(), stats.rows.len());
    for (seen, row) in seen.iter().zip(&stats.rows) {
        require_row(&trace, seen, row)
            .map_err(|failed| format!("{}: {}", row.name, failed.message().unwrap_or_default()))?;
    }
    Ok(())
}

fn require_row(trace: &Trace, seen: &Value, row: &SiteStats) -> Result<(), Failed> {
    assert_eq!(seen["name"], row.name.as_str());
    let durations = durations(trace, row);
    assert_eq!(durations.len() as u64, row.count);
    let zeros = durations.iter().filter(|ns| **ns <= 0.0).count() as u64;
    let [first, per_doubling, bins]: [f64; 3] = serde_json::from_value(seen["bins"].clone())?;
    let edge = |bin: usize| 2_f64.powf((first + bin as f64) / per_doubling);

    let large: Vec<Bar> = serde_json::from_value(seen["large"].clone())?;
    let mut counts = Vec::new();
    let mut rest = 0..bins as usize;
    for (text, ..) in &large {
        // Durations at an edge may count on either side of it.
        let of = |bin: usize, slack: f64| {
            let range = edge(bin) * (1.0 + slack)..edge(bin + 1) * (1.0 - slack);
            durations.iter().filter(|ns| range.contains(ns)).count() as u64
        };
        // Empty bins are not drawn.
        let bin = rest.find(|bin| of(*bin, -1e-12) > 0).ok_or("a bin for each bar")?;
        let (from, to, count) = bar(text)?;
        require_time(from, edge(bin))?;
        require_time(to, edge(bin + 1))?;
        let wanted = of(bin, 1e-12)..=of(bin, -1e-12);
        if !wanted.contains(&count) {
            return Err(format!("`{text}` is not of {wanted:?} durations").into());
        }
        counts.push((bin, count));
    }
    assert!(rest.all(|bin| durations.iter().all(|ns| *ns < edge(bin) * (1.0 + 1e-12))));
    let sum: u64 = counts.iter().map(|(_, count)| count).sum();
    assert_eq!(sum + zeros, row.count, "all durations are in a bin or are none: {}", row.name);

    require_drawn(seen, &large, &counts, bins)?;
    require_percentiles(seen, row, |ns| ns.log2() * per_doubling - first, bins)
}

/// Of the regions of a row that have an end, or of the warps that left.
fn durations(trace: &Trace, row: &SiteStats) -> Vec<f64> {
    if row.site == row.kernel {
        let stays = trace.warps.iter().filter_map(|warp| Some(warp.exit?.ns - warp.entry.ns));
        return stays.collect();
    }
    let regions = trace.warps.iter().flat_map(|warp| &warp.regions);
    let of_row = regions.filter(|region| region.site == row.site);
    of_row.filter_map(|region| Some(region.end?.ns - region.start.ns)).collect()
}

/// Both ends and the count of `1.5 ns to 2 ns: 7`.
fn bar(text: &str) -> Result<(&str, &str, u64), Failed> {
    let parts = text.split_once(": ").and_then(|(ends, count)| {
        let (from, to) = ends.split_once(" to ")?;
        Some((from, to, count))
    });
    let (from, to, count) = parts.ok_or_else(|| format!("`{text}` is no bar"))?;
    Ok((from, to, shown::count(count)?))
}

/// Requires that the bars are as high as their counts, and side by side in order, and that the
/// table has the same in small.
fn require_drawn(
    seen: &Value,
    large: &[Bar],
    counts: &[(usize, u64)],
    bins: f64,
) -> Result<(), Failed> {
    let wide = seen["wide"].as_f64().ok_or("an axis")?;
    let small: Vec<Bar> = serde_json::from_value(seen["small"].clone())?;
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0) as f64;
    let highest = large.iter().map(|bar| bar.3).fold(0.0, f64::max);
    assert!(highest > 100.0, "bars can be seen: {highest}");
    assert_eq!(small.len(), large.len());
    for (at, ((text, x, width, height), &(bin, count))) in large.iter().zip(counts).enumerate() {
        let step = wide / bins;
        let is_there = (x - bin as f64 * step).abs() < 1e-6 && *width <= step;
        let wanted = (count as f64 / most * highest).max(1.0);
        let is_high = (height - wanted).abs() < 1e-6;
        if !is_there || !is_high {
            return Err(format!("`{text}` is drawn as {:?}", large[at]).into());
        }
        assert_eq!(small[at].0, *text);
    }
    Ok(())
}

/// Requires that the lines are where the percentiles are; `place` counts in bins.
fn require_percentiles(
    seen: &Value,
    row: &SiteStats,
    place: impl Fn(f64) -> f64,
    bins: f64,
) -> Result<(), Failed> {
    let marks: Vec<f64> = serde_json::from_value(seen["marks"].clone())?;
    let wide = seen["wide"].as_f64().ok_or("an axis")?;
    let wanted = [row.ns.p50, row.ns.p95, row.ns.p99].map(|ns| place(ns).clamp(0.0, bins));
    let is_there = |(mark, wanted): (&f64, &f64)| (mark / wide * bins - wanted).abs() < 1e-6;
    assert!(marks.len() == 3 && marks.iter().zip(&wanted).all(is_there), "{marks:?} {wanted:?}");
    Ok(())
}
