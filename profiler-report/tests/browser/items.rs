//! The single regions and marks that the timeline unpacks.

use std::ops::Range;

use libtest_mimic::Failed;
use profiler_report::ReportOptions;
use profiler_trace::{Trace, Warp};
use profiler_wire::SiteKind;

use crate::tool::{Browser, Scheme};
use crate::{ask, page, support};

/// An item of the timeline: whose and what it is, and begin, length and layer.
pub(crate) type Item = (String, [f64; 3]);

/// Gathers all items of a page in `found`.
pub(crate) const ITEMS: &str = "
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
pub(crate) fn odd() -> Trace {
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
pub(crate) fn end(trace: &Trace, warp: &Warp) -> f64 {
    warp.exit.map_or(trace.launches[warp.launch].end_ns, |exit| exit.ns)
}

/// The items of a trace that overlap a stretch of time.
pub(crate) fn expected(trace: &Trace, within: &Range<f64>) -> Vec<Item> {
    let is_in = |start: f64, end: f64| start <= within.end && end >= within.start;
    let mut expected: Vec<Item> = Vec::new();
    for warp in &trace.warps {
        let end = end(trace, warp);
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
pub(crate) fn require_items(
    mut found: Vec<Item>,
    mut expected: Vec<Item>,
    what: &str,
) -> Result<(), Failed> {
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
