//! Every cell of the maps, by its text and its colour.

use std::collections::BTreeMap;

use libtest_mimic::Failed;
use profiler_report::ReportOptions;
use profiler_trace::{GroupBy, Trace};
use serde_json::Value;

use crate::shown::{self, require_time};
use crate::tool::{Browser, Scheme};
use crate::{ask, page, support};

/// The text of a cell, its colour, and its row.
type Cell = (String, [f64; 3], usize);

/// The records of a place.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    total_ns: f64,
}

impl Sum {
    fn mean_ns(self) -> f64 {
        self.total_ns / self.count as f64
    }

    /// As the choice above the maps names them.
    fn metric(self, name: &str) -> f64 {
        match name {
            "mean" => self.mean_ns(),
            "total" => self.total_ns,
            _ => self.count as f64,
        }
    }
}

/// Every cell of both maps, for each metric and for each region that can be chosen.
const PROBE: &str = "
    const tip = document.getElementById('tip');
    const [bySm, byWarp] = ['map-sm', 'map-warp'].map((id) => document.getElementById(id));
    const [metric, region] = ['metric', 'map-region'].map((id) => document.getElementById(id));
    const choose = (select, value) => {
      select.value = value;
      select.dispatchEvent(new Event('change'));
    };
    const cells = (canvas) => {
      const { left, step, rowHigh, rows, columns } = canvas.cells;
      const box = canvas.getBoundingClientRect();
      // A copy that is meant to be read: of the canvas itself the browser would complain.
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const found = [];
      for (let row = 0; row < rows; row += 1) {
        for (let column = 0; column < columns; column += 1) {
          const [x, y] = [left + (column + 0.5) * step, (row + 0.5) * rowHigh];
          canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + x, clientY: box.top + y }));
          found.push([tip.textContent, [...copy.getImageData(x, y, 1, 1).data].slice(0, 3), row]);
        }
      }
      return found;
    };
    const metrics = {};
    for (const name of ['total', 'count', 'mean']) {
      choose(metric, name);
      metrics[name] = {
        sms: cells(bySm), warps: cells(byWarp),
        labels: [bySm, byWarp].map((canvas) => canvas.getAttribute('aria-label')),
      };
    }
    const regions = {};
    for (const { value, textContent } of [...region.options]) {
      choose(region, value);
      regions[textContent] = cells(byWarp);
    }
    const notes = [...document.querySelectorAll('#maps .note')].map((note) => note.textContent);
    const pick = [...document.querySelectorAll('#regions .pick')].find((button) => button.textContent === 'wait');
    pick.click();
    const followed = region.selectedOptions[0].textContent;
    const empty = report.css('--sunken').match(/[0-9]+/g).map(Number);
    return { metrics, regions, notes, followed, empty };";

/// Blocks of three dimensions, few enough for a column each.
pub(crate) fn single_blocks(browser: &Browser) -> Result<(), Failed> {
    let mut trace = support::large(4000);
    arrange(&mut trace, [2, 3, 2]);
    let answer = require_maps(browser, &trace)?;
    assert_eq!(answer["notes"][1], "One column for each block; launches are added up.");
    Ok(())
}

/// Gives the blocks of a trace a grid, the SMs numbers with gaps, and one SM nothing of one region.
fn arrange(trace: &mut Trace, grid: [u32; 3]) {
    let store = trace.sites.iter().position(|site| site.name == "store");
    for launch in &mut trace.launches {
        launch.grid_dim = grid;
    }
    for warp in &mut trace.warps {
        let [number, ..] = warp.block;
        warp.block = [number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]];
        warp.sm = warp.sm * 3 + 1;
        if warp.sm == 10 {
            warp.regions.retain(|region| Some(region.site.0 as usize) != store);
        }
    }
    // Nothing is known of how long it was in the kernel.
    trace.warps[5].exit = None;
}

fn require_maps(browser: &Browser, trace: &Trace) -> Result<Value, Failed> {
    let answer = ask(browser, &page(trace, &ReportOptions::default())?, Scheme::Light, PROBE)?;
    let by_sm = over_sms(trace);
    let empty: [f64; 3] = serde_json::from_value(answer["empty"].clone())?;
    let names: Vec<String> = trace.stats().rows.iter().map(|row| row.name.clone()).collect();
    let mut sms: Vec<u32> = trace.warps.iter().map(|warp| warp.sm).collect();
    sms.sort_unstable();
    sms.dedup();
    for (metric, words) in [("mean", "mean duration"), ("total", "total time"), ("count", "count")]
    {
        let drawing = &answer["metrics"][metric];
        let label = format!(
            "Map of {words} for {} kernels and regions over {} SMs",
            names.len(),
            sms.len()
        );
        assert_eq!(drawing["labels"][0], label.as_str());
        let cells: Vec<Cell> = serde_json::from_value(drawing["sms"].clone())?;
        let mut seen = Vec::new();
        let mut sums = Vec::new();
        for (told, ..) in &cells {
            let (whose, _) = told.split_once('\n').ok_or("two lines")?;
            let sum = by_sm.get(whose).copied().unwrap_or_default();
            require_told(told, sum)?;
            seen.push(whose.to_owned());
            sums.push(sum);
        }
        seen.sort_unstable();
        let of_sms = |name| sms.iter().map(move |sm| format!("{name}, SM {sm}"));
        let mut wanted: Vec<String> = names.iter().flat_map(of_sms).collect();
        wanted.sort_unstable();
        assert_eq!(seen, wanted, "a cell for each region and SM");
        require_colors(&cells, &sums, (metric, &empty))?;
        let cells: Vec<Cell> = serde_json::from_value(drawing["warps"].clone())?;
        // The region with the most time is chosen from the start.
        require_warps(trace, "tile", &cells)?;
        let label = format!("Map of {words} of tile over warps and blocks");
        assert_eq!(drawing["labels"][1], label.as_str());
    }
    for name in &names {
        let cells: Vec<Cell> = serde_json::from_value(answer["regions"][name].clone())?;
        require_warps(trace, name, &cells)?;
    }

    assert_eq!(answer["followed"], "wait", "the map follows what is picked in the table");
    Ok(answer)
}

/// The statistics by SM, by what the page calls their cells.
fn over_sms(trace: &Trace) -> BTreeMap<String, Sum> {
    let stats = trace.stats_by(GroupBy::Sm);
    let rows = stats.rows.iter().filter_map(|row| {
        let sum = Sum { count: row.count, total_ns: row.ns.total };
        Some((format!("{}, SM {}", row.name, row.place.sm?), sum))
    });
    rows.collect()
}

/// Requires a cell for each warp of each block, with its records.
fn require_warps(trace: &Trace, name: &str, cells: &[Cell]) -> Result<(), Failed> {
    let [wide, high, deep] = trace.launches[0].grid_dim;
    let mut of_warp: BTreeMap<String, Sum> = BTreeMap::new();
    for block in 0..wide * high * deep {
        for warp in 0..4 {
            of_warp.insert(format!("{name}, block {block}, warp {warp}"), Sum::default());
        }
    }
    for row in trace.stats_by(GroupBy::Warp).rows.iter().filter(|row| row.name == name) {
        let ([x, y, z], warp) = row.place.block.zip(row.place.warp).ok_or("a warp's place")?;
        let block = (z * high + y) * wide + x;
        let sum = of_warp.entry(format!("{name}, block {block}, warp {warp}")).or_default();
        sum.count += row.count;
        sum.total_ns += row.ns.total;
    }
    assert_eq!(cells.len(), of_warp.len(), "each warp of the grid is in one cell");
    for (told, ..) in cells {
        let whose = told.split('\n').next().unwrap_or_default();
        let sum = of_warp.remove(whose).ok_or_else(|| format!("`{whose}` is no place"))?;
        require_told(told, sum)?;
    }
    Ok(())
}

/// Requires that the second line is that of a sum.
fn require_told(told: &str, sum: Sum) -> Result<(), Failed> {
    let (_, figures) = told.split_once('\n').ok_or("two lines")?;
    if sum.count == 0 {
        assert_eq!(figures, "nothing recorded", "{told}");
        return Ok(());
    }
    let parts: Vec<&str> = figures.split(", ").collect();
    let [mean, total, count] = parts[..] else {
        return Err(format!("`{told}` has not three figures").into());
    };
    let part = |text: &str, name| text.strip_prefix(name).map(str::to_owned).ok_or(told.to_owned());
    require_time(&part(mean, "mean ")?, sum.mean_ns())?;
    require_time(&part(total, "total ")?, sum.total_ns)?;
    assert_eq!(shown::count(&part(count, "count ")?)?, sum.count, "{told}");
    Ok(())
}

/// Requires that of the cells of a row the least is dark, the greatest is bright, unless
/// they differ by less than a percent.
fn require_colors(
    cells: &[Cell],
    sums: &[Sum],
    (metric, empty): (&str, &[f64; 3]),
) -> Result<(), Failed> {
    let rows = cells.iter().map(|cell| cell.2).max().ok_or("cells")? + 1;
    for row in 0..rows {
        let mut of_row: Vec<(f64, [f64; 3])> = Vec::new();
        for ((told, color, at), sum) in cells.iter().zip(sums) {
            if *at == row && sum.count == 0 {
                assert_eq!(color, empty, "{told}");
            } else if *at == row {
                of_row.push((sum.metric(metric), *color));
            }
        }
        of_row.sort_by(|left, right| left.0.total_cmp(&right.0));
        let [(low, darkest), .., (high, brightest)] = of_row[..] else {
            return Err("a row has several cells".into());
        };
        if high - low > 0.01 * high {
            assert_eq!((darkest, brightest), ([0.0, 34.0, 78.0], [254.0, 232.0, 56.0]), "{row}");
        } else {
            assert_eq!((darkest, brightest), ([124.0, 123.0, 120.0], [124.0, 123.0, 120.0]));
        }
    }
    Ok(())
}
