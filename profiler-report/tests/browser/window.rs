//! The single regions and marks that the timeline unpacks, and a page whose timeline shows a part of the trace.

use std::ops::Range;

use libtest_mimic::Failed;
use profiler_report::ReportOptions;
use profiler_trace::{Trace, Warp};
use profiler_wire::SiteKind;
use serde_json::Value;

use crate::shown::{self, require_time};
use crate::tool::{Browser, Scheme};
use crate::{KEYS, ask, page, support};

/// An item of the timeline: whose and what it is, and begin, length and layer.
type Item = (String, [f64; 3]);

/// Gathers all items of a page in `found`.
const ITEMS: &str = "
    const { items, warps, strips, launches } = report.unpackDetail(await report.unpack('detail'));
    const found = [];
    for (let warp = 0; warp < warps.count; warp += 1) {
      for (let strip = warps.strip[warp]; strip < warps.strip[warp + 1]; strip += 1) {
        for (let item = strips.item[strip]; item < strips.item[strip + 1]; item += 1) {
          const whose = [launches[warps.launch[warp]].index, warps.block[warp], warps.warp[warp],
            report.data.sms[warps.sm[warp]], warps.flags[warp], strips.lane[strip], strips.track[strip],
            report.data.labels[items.label[item]].name, items.flags[item]];
          found.push([whose.join(), [items.start[item], items.length[item], items.layer[item]]]);
        }
      }
    }";

/// A trace with an open region, a region on another lane and track, and a warp that never left.
fn odd() -> Trace {
    let mut trace = support::large(3000);
    let open = support::site(&mut trace, SiteKind::Region, "open");
    let mut region = trace.warps[3].regions[0].clone();
    (region.site, region.end) = (open, None);
    region.start = support::time(trace.warps[3].entry.ns + 1.0);
    trace.warps[3].regions.insert(0, region);
    trace.warps[4].regions.iter_mut().for_each(|region| (region.lane, region.track) = (7, Some(3)));
    trace.warps[5].exit = None;
    trace
}

/// When a warp left, or else when its launch ended.
fn last(trace: &Trace, warp: &Warp) -> f64 {
    warp.exit.map_or(trace.launches[warp.launch].end_ns, |exit| exit.ns)
}

/// The items of a trace that overlap a stretch of time.
fn expected(trace: &Trace, within: &Range<f64>) -> Vec<Item> {
    let is_in = |start: f64, end: f64| start <= within.end && end >= within.start;
    let mut expected: Vec<Item> = Vec::new();
    for warp in &trace.warps {
        let end = last(trace, warp);
        let never_left = u8::from(warp.exit.is_none());
        let has_open = warp.regions.iter().any(|region| region.end.is_none());
        let whose = |lane: u8, track: Option<u32>, site, flags: u8| {
            let [block, ..] = warp.block;
            let track = track.map_or(-1, i64::from);
            let name = &trace.site(site).name;
            format!(
                "{},{block},{},{},{never_left},{lane},{track},{name},{flags}",
                warp.launch, warp.warp, warp.sm
            )
        };
        for region in &warp.regions {
            let open = region.end.is_none();
            let end = region.end.map_or(end, |end| end.ns);
            if !is_in(region.start.ns, end) {
                continue;
            }
            // An open region is drawn around what began later.
            let layer = f64::from(region.depth) + f64::from(u8::from(has_open && !open));
            let whose = whose(region.lane, region.track, region.site, u8::from(open));
            expected.push((whose, [region.start.ns, end - region.start.ns, layer]));
        }
        for mark in warp.marks.iter().filter(|mark| is_in(mark.time.ns, mark.time.ns)) {
            expected.push((whose(mark.lane, mark.track, mark.site, 2), [mark.time.ns, 0.0, 0.0]));
        }
    }
    expected
}

/// Requires the same items, in any order.
fn require_items(mut found: Vec<Item>, mut expected: Vec<Item>, what: &str) -> Result<(), Failed> {
    for items in [&mut found, &mut expected] {
        items.sort_by(|left, right| left.0.cmp(&right.0).then(left.1[0].total_cmp(&right.1[0])));
    }
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(&expected) {
        let close = |at: usize, step: f64| (found.1[at] - expected.1[at]).abs() < step;
        // Begin and end are rounded to 0.1 ns, a length is their difference.
        let is_same = found.0 == expected.0 && close(0, 0.051) && close(1, 0.11) && close(2, 0.1);
        if !is_same {
            return Err(format!("{what}: {found:?} is not {expected:?}").into());
        }
    }
    Ok(())
}

/// The arrays that the page unpacks hold what the trace holds.
pub(crate) fn timeline_holds_every_region(browser: &Browser) -> Result<(), Failed> {
    let trace = odd();
    let page = page(&trace, &ReportOptions::default())?;
    let probe = format!("{ITEMS} return found;");
    let found = serde_json::from_value(ask(browser, &page, Scheme::Light, &probe)?)?;
    let always = f64::NEG_INFINITY..f64::INFINITY;
    require_items(found, expected(&trace, &always), "the whole trace")
}

/// The timeline of a window, and the tables and maps of the whole.
const PROBE: &str = "
    const tip = document.getElementById('tip');
    const hover = (canvas, x, y) => {
      const box = canvas.getBoundingClientRect();
      canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + x, clientY: box.top + y }));
      return tip.hidden ? '' : tip.textContent;
    };
    // What is written on a canvas is seen as it is written; the axis writes how long it is last.
    const written = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      written.push(text);
      fillText.call(this, text, ...place);
    };
    const answer = {
      found, warps: warps.count, axis: report.data.axis, limits: report.data.host.limits,
      notes: [...document.querySelectorAll('#timeline-notes li')].map((note) => note.textContent),
      counts: [...document.querySelectorAll('#regions tbody tr')].map((row) => Number(row.querySelector('td.n').dataset.value)),
      nested: [...document.querySelectorAll('#nesting tbody tr')].map((row) => Number(row.cells[1].dataset.value)),
      lengths: [],
    };
    // Zoomed out as far as it goes, and where a launch is chosen, nothing outside the window is shown.
    const steps = [() => key('0'), () => key('-'), () => key('k'), async () => {
      document.querySelector('#launches tbody tr:last-child .pick').click();
      await settle();
    }];
    for (const step of steps) {
      written.length = 0;
      await step();
      answer.lengths.push(written.at(-1) ?? null);
    }
    const maps = document.getElementById('map-sm');
    const { left, step, rowHigh, columns } = maps.cells;
    answer.cells = Array.from({ length: columns }, (_, column) => hover(maps, left + (column + 0.5) * step, rowHigh / 2));
    return answer;";

/// In the middle of a launch, over the end of all, and where nothing was recorded.
pub(crate) fn window_shows_its_regions(browser: &Browser) -> Result<(), Failed> {
    let trace = odd();
    let [first, second] = [0, 1].map(|at| (trace.launches[at].start_ns, trace.launches[at].end_ns));
    let end = second.1;
    let inner = first.0 + 700.3..first.0 + 1333.3;
    let last = end - 420.7..end + 9000.0;
    let gap = first.1 + 1500.0..second.0 - 1500.0;
    for window in [&inner, &last, &gap] {
        require_window(browser, &trace, window)?;
    }
    Ok(())
}

fn require_window(browser: &Browser, trace: &Trace, window: &Range<f64>) -> Result<(), Failed> {
    let what = format!("{window:?}");
    let whole = ends(trace);
    let shown = window.start.max(whole.start)..window.end.min(whole.end);
    let probe = format!("{KEYS} {ITEMS} {PROBE}");
    let options = ReportOptions { window: Some(window.clone()), ..ReportOptions::default() };
    let answer = ask(browser, &page(trace, &options)?, Scheme::Light, &probe)?;

    let found: Vec<Item> = serde_json::from_value(answer["found"].clone())?;
    let expected = expected(trace, window);
    let is_in = |warp: &&Warp| warp.entry.ns <= window.end && last(trace, warp) >= window.start;
    let warps = trace.warps.iter().filter(is_in).count();
    let notes: Vec<String> = serde_json::from_value(answer["notes"].clone())?;
    require_notes(&notes, window, (expected.len(), warps))?;
    require_items(found, expected, &what)?;
    assert_eq!(answer["warps"].as_u64(), Some(warps as u64), "{what}");
    for name in ["axis", "limits"] {
        let ends = ["start", "end"].map(|end| answer[name][end].as_f64());
        assert_eq!(ends, [Some(shown.start), Some(shown.end)], "{name} of {what}");
    }
    for (at, length) in answer["lengths"].as_array().ok_or("lengths")?.iter().enumerate() {
        let length = length.as_str().ok_or_else(|| format!("step {at} drew nothing in {what}"))?;
        require_time(length, shown.end - shown.start)?;
    }
    require_whole(trace, &answer)
}

/// From the first to the last moment of the warps' records.
fn ends(trace: &Trace) -> Range<f64> {
    let start = trace.warps.iter().map(|warp| warp.entry.ns).fold(f64::INFINITY, f64::min);
    start..trace.warps.iter().map(Warp::last_ns).fold(f64::NEG_INFINITY, f64::max)
}

/// Requires that the page names its window, and says that all that lies in it is there.
fn require_notes(
    notes: &[String],
    window: &Range<f64>,
    (items, warps): (usize, usize),
) -> Result<(), Failed> {
    let [about, all, ..] = notes else { return Err("two notes".into()) };
    let ends = about.strip_prefix("The timeline shows the window from ").and_then(|rest| {
        rest.strip_suffix(" of the trace only; all other figures are about the whole trace.")
    });
    let (from, to) = ends.and_then(|ends| ends.split_once(" to ")).ok_or(about.as_str())?;
    require_time(from, window.start)?;
    require_time(to, window.end)?;
    let rest = all.strip_prefix("All ").and_then(|rest| rest.split_once(" regions and marks of "));
    let (shown_items, rest) = rest.ok_or(all.as_str())?;
    let (shown_warps, _) = rest.split_once(" warps are in this page, ").ok_or(all.as_str())?;
    let shown = [shown::count(shown_items)?, shown::count(shown_warps)?];
    assert_eq!(shown, [items as u64, warps as u64], "{window:?}");
    Ok(())
}

/// Requires that tables and maps are about the whole trace.
fn require_whole(trace: &Trace, answer: &Value) -> Result<(), Failed> {
    let stats = trace.stats();
    let sum = |name: &str| {
        let figures = answer[name].as_array().into_iter().flatten().filter_map(Value::as_f64);
        figures.sum::<f64>()
    };
    let all: u64 = stats.rows.iter().map(|row| row.count).sum();
    assert_eq!([sum("counts"), sum("nested")], [all as f64; 2]);
    let cells: Vec<String> = serde_json::from_value(answer["cells"].clone())?;
    let mut mapped = 0;
    let (name, _) = cells[0].split_once(", SM ").ok_or("the name of a cell")?;
    for cell in &cells {
        let (_, count) = cell.rsplit_once(", count ").ok_or_else(|| format!("`{cell}`"))?;
        mapped += shown::count(count)?;
    }
    assert_eq!(Some(mapped), stats.get(name).map(|row| row.count), "{name}");
    Ok(())
}
