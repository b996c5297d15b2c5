//! The single regions of a page's timeline, packed.
//!
//! Four columns follow each other; numbers are packed as [`crate::blob`] says, times are in units of
//! [`Detail::unit_ns`] since the axis' start.
//!
//! | column | for each | holds |
//! |---|---|---|
//! | launches | launch | index, label of its kernel, extent of its grid (3) |
//! | warps | warp | launch (in the column), index of its SM, number of its block, number of the warp, entry (signed difference to the warp before), length, flags, records lost, strips |
//! | strips | lane and track | lane, track + 1 (0: the warp's own), items |
//! | items | region or mark | begin (signed difference to the item before, or to the warp's entry), length, label × 64 + layer × 4 + flags |

use std::collections::HashMap;
use std::ops::Range;

use profiler_trace::{Launch, SiteIndex, Trace, Warp, WarpSource};

use crate::blob::{push, push_signed};
use crate::collect::block_number;
use crate::nesting::{finite, strips};
use crate::overview::Axis;
use crate::rows::Rows;

/// An item's flag: it has no end, and is drawn to its warp's.
const OPEN: u64 = 1;
/// An item's flag: it is a mark.
const MARK: u64 = 2;
/// A warp's flag: it never left the kernel.
const NEVER_LEFT: u64 = 1;
/// A warp's flag: not all of its items are here.
const CUT: u64 = 2;
/// Layers that an item can name; deeper ones are drawn in the last.
pub(crate) const MAX_LAYERS: usize = 16;

/// The meaning of a label.
pub(crate) enum Label {
    /// A row of the statistics.
    Row(usize),
    /// A mark.
    Mark(SiteIndex),
    /// An item that is in no row.
    Unknown,
}

/// The packed columns, and their contents.
#[derive(Default)]
pub(crate) struct Detail {
    pub(crate) unit_ns: f64,
    pub(crate) launches: Vec<u8>,
    pub(crate) warps: Vec<u8>,
    pub(crate) strips: Vec<u8>,
    pub(crate) items: Vec<u8>,
    pub(crate) labels: Vec<Label>,
    pub(crate) launch_count: usize,
    pub(crate) warp_count: usize,
    pub(crate) strip_count: usize,
    pub(crate) item_count: usize,
    /// All items of the timeline, packed or left out.
    pub(crate) item_total: usize,
    /// All warps of the timeline.
    pub(crate) warp_total: usize,
    /// The warps of each SM: all, and packed.
    pub(crate) of_sm: Vec<(usize, usize)>,
    /// Whether the last warp lacks items.
    pub(crate) is_cut: bool,
    launch_place: HashMap<usize, usize>,
    mark_labels: HashMap<SiteIndex, usize>,
    last_entry: i64,
}

/// The lane that recorded, and the user's track.
type Recorder = (u8, Option<u32>);

/// An item on its way to its column.
struct Item {
    start: f64,
    end: f64,
    label: usize,
    layer: usize,
    flags: u64,
}

/// The warps of the timeline.
#[derive(Default)]
pub(crate) struct Candidates {
    /// The warps of each SM, as indices into [`Trace::warps`].
    of_sm: Vec<Vec<usize>>,
    /// The end of the last warp of each SM.
    finish: Vec<f64>,
    warps: usize,
    /// Their regions and marks in the window.
    items: usize,
}

impl Candidates {
    pub(crate) fn new(sms: usize) -> Self {
        let finish = vec![f64::NEG_INFINITY; sms];
        Self { of_sm: vec![Vec::new(); sms], finish, warps: 0, items: 0 }
    }

    /// Adds a warp, if it is in the window.
    pub(crate) fn add(&mut self, trace: &Trace, (at, warp): (usize, &Warp), sm: usize, axis: Axis) {
        let span = stay(trace, warp);
        if span.start > axis.end || span.end < axis.start {
            return;
        }
        self.warps += 1;
        self.items += in_window(warp, axis);
        self.finish[sm] = self.finish[sm].max(span.end);
        self.of_sm[sm].push(at);
    }
}

/// Packs as much as the budget allows, SM by SM: first the last and the first to finish, then others spread
/// evenly over the order in which they finished.
pub(crate) fn pack(
    source: &impl WarpSource,
    rows: &Rows,
    axis: Axis,
    candidates: Candidates,
    budget: usize,
) -> Detail {
    let trace = source.outline();
    let Candidates { mut of_sm, finish, warps, items } = candidates;
    // Traces of up to half a day have units of 0.1 ns; longer ones have coarser units, so that all numbers are
    // exact in a double.
    let unit_ns = (axis.length() / 2f64.powi(50)).max(0.1);
    let mut labels: Vec<Label> = (0..rows.list().len()).map(Label::Row).collect();
    labels.push(Label::Unknown);
    let mut detail = Detail {
        unit_ns,
        labels,
        item_total: items,
        warp_total: warps,
        of_sm: of_sm.iter().map(|warps| (warps.len(), 0)).collect(),
        ..Detail::default()
    };
    for sm in spread(&finish) {
        of_sm[sm].sort_by(|&left, &right| {
            finite(trace.warps[left].entry.ns).total_cmp(&finite(trace.warps[right].entry.ns))
        });
        for &at in &of_sm[sm] {
            let Some(launch) = trace.launches.get(trace.warps[at].launch) else { continue };
            if detail.bytes() >= budget {
                return detail;
            }
            let warp = &*source.warp(at);
            detail.warp((launch, warp), sm, (trace, rows, axis), budget);
            detail.of_sm[sm].1 += 1;
        }
    }
    detail
}

/// From a warp's entry to its exit; of one that never left, to the end of its launch or records.
fn stay(trace: &Trace, warp: &Warp) -> Range<f64> {
    let entry = finite(warp.entry.ns);
    let end = warp.exit.map_or_else(
        || {
            let launch = trace.launches.get(warp.launch);
            launch.map_or(entry, |launch| finite(launch.end_ns)).max(finite(warp.last_ns()))
        },
        |exit| finite(exit.ns),
    );
    entry..end.max(entry)
}

fn in_window(warp: &Warp, axis: Axis) -> usize {
    let regions = warp.regions.iter().filter(|region| {
        let end = region.end.map_or(f64::INFINITY, |end| finite(end.ns));
        finite(region.start.ns) <= axis.end && end >= axis.start
    });
    let marks = warp.marks.iter().map(|mark| finite(mark.time.ns));
    regions.count() + marks.filter(|ns| (axis.start..=axis.end).contains(ns)).count()
}

/// An order of the SMs: the last to finish, the first, and then ever finer steps between.
fn spread(finish: &[f64]) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..finish.len()).collect();
    sorted.sort_by(|&left, &right| finish[right].total_cmp(&finish[left]));
    let bits = finish.len().next_power_of_two().trailing_zeros();
    let mut order: Vec<usize> =
        (sorted.first().into_iter().chain(sorted.last())).copied().collect();
    for step in 0..1_usize << bits {
        let reversed = if bits == 0 { 0 } else { step.reverse_bits() >> (usize::BITS - bits) };
        order.extend(sorted.get(reversed));
    }
    let mut is_in = vec![false; finish.len()];
    order.retain(|&sm| !std::mem::replace(&mut is_in[sm], true));
    order
}

/// The layer of the next span of a row, which lies in those that have not ended; `ends` has the end of the last span
/// in each layer.
pub(crate) fn layer(ends: &mut Vec<f64>, start: f64, end: f64) -> usize {
    let layer = ends.iter().rposition(|&end| end > start).map_or(0, |at| at + 1);
    ends.truncate(layer);
    ends.push(end);
    layer
}

impl Detail {
    /// The size of all columns.
    pub(crate) fn bytes(&self) -> usize {
        self.launches.len() + self.warps.len() + self.strips.len() + self.items.len()
    }

    fn units(&self, ns: f64, axis: Axis) -> i64 {
        ((ns - axis.start) / self.unit_ns).round() as i64
    }

    fn warp(
        &mut self,
        (launch, warp): (&Launch, &Warp),
        sm: usize,
        (trace, rows, axis): (&Trace, &Rows, Axis),
        budget: usize,
    ) {
        let launch_place = self.launch(launch, warp.launch, rows);
        let stay = stay(trace, warp);
        let entry = self.units(stay.start, axis);
        let (mut strip_count, mut is_cut) = (0, false);
        for ((lane, track), items) in self.strips_of(launch, warp, stay.end, rows, axis) {
            let (mut from, mut count) = (entry, 0);
            for item in &items {
                if self.bytes() >= budget {
                    is_cut = true;
                    break;
                }
                let (start, end) = (self.units(item.start, axis), self.units(item.end, axis));
                push_signed(&mut self.items, start.saturating_sub(from));
                push(&mut self.items, end.saturating_sub(start).max(0).cast_unsigned());
                let layer = item.layer.min(MAX_LAYERS - 1) as u64;
                push(&mut self.items, item.label as u64 * 64 + layer * 4 + item.flags);
                (from, count) = (start, count + 1);
            }
            push(&mut self.strips, lane.into());
            push(&mut self.strips, track.map_or(0, |track: u32| u64::from(track) + 1));
            push(&mut self.strips, count);
            self.item_count += count as usize;
            strip_count += 1;
            if is_cut {
                break;
            }
        }
        let length = self.units(stay.end, axis).saturating_sub(entry).max(0);
        let never_left = if warp.exit.is_none() { NEVER_LEFT } else { 0 };
        let column = &mut self.warps;
        push(column, launch_place as u64);
        push(column, sm as u64);
        push(column, block_number(warp.block, launch.grid_dim));
        push(column, warp.warp.into());
        push_signed(column, entry.saturating_sub(self.last_entry));
        push(column, length.cast_unsigned());
        push(column, never_left + if is_cut { CUT } else { 0 });
        push(column, warp.lost);
        push(column, strip_count);
        self.last_entry = entry;
        self.warp_count += 1;
        self.strip_count += strip_count as usize;
        self.is_cut |= is_cut;
    }

    fn launch(&mut self, launch: &Launch, index: usize, rows: &Rows) -> usize {
        if let Some(&place) = self.launch_place.get(&index) {
            return place;
        }
        let label = rows.of(launch.kernel, launch.kernel).unwrap_or(rows.list().len());
        push(&mut self.launches, index as u64);
        push(&mut self.launches, label as u64);
        for extent in launch.grid_dim {
            push(&mut self.launches, extent.into());
        }
        self.launch_place.insert(index, self.launch_count);
        self.launch_count += 1;
        self.launch_count - 1
    }

    /// The items of a warp that lie in the window, by lane and track.
    fn strips_of(
        &mut self,
        launch: &Launch,
        warp: &Warp,
        warp_end: f64,
        rows: &Rows,
        axis: Axis,
    ) -> Vec<(Recorder, Vec<Item>)> {
        let mut all: Vec<(Recorder, Vec<Item>)> = Vec::new();
        for strip in strips(warp) {
            let mut items = Vec::with_capacity(strip.len());
            let mut ends = Vec::new();
            for region in &strip {
                let start = finite(region.start.ns);
                let end = region.end.map_or(warp_end, |end| finite(end.ns)).max(start);
                let layer = layer(&mut ends, start, end);
                let label = rows.of(launch.kernel, region.site).unwrap_or(rows.list().len());
                let flags = if region.end.is_none() { OPEN } else { 0 };
                if start <= axis.end && end >= axis.start {
                    items.push(Item { start, end, label, layer, flags });
                }
            }
            all.push(((strip[0].lane, strip[0].track), items));
        }
        if !warp.marks.is_empty() {
            self.add_marks(warp, axis, &mut all);
        }
        all.retain(|(_, items)| !items.is_empty());
        all
    }

    /// Adds the marks of a warp in the window to the items of their lanes and tracks, which may be very many.
    fn add_marks(&mut self, warp: &Warp, axis: Axis, all: &mut Vec<(Recorder, Vec<Item>)>) {
        let recorders = all.iter().map(|(recorder, _)| *recorder);
        let mut places: HashMap<Recorder, usize> = recorders.zip(0..).collect();
        for mark in &warp.marks {
            let ns = finite(mark.time.ns);
            if !(axis.start..=axis.end).contains(&ns) {
                continue;
            }
            let labels = &mut self.labels;
            let label = *self.mark_labels.entry(mark.site).or_insert_with(|| {
                labels.push(Label::Mark(mark.site));
                labels.len() - 1
            });
            let recorder = (mark.lane, mark.track);
            let place = *places.entry(recorder).or_insert_with(|| {
                all.push((recorder, Vec::new()));
                all.len() - 1
            });
            all[place].1.push(Item { start: ns, end: ns, label, layer: 0, flags: MARK });
        }
        for (_, items) in all {
            items.sort_by(|left, right| left.start.total_cmp(&right.start));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn every_sm_has_its_turn_and_the_extremes_come_first() {
        for count in 0..20 {
            let finish: Vec<f64> = (0..count).map(f64::from).collect();
            let order = spread(&finish);
            if let [last, first, ..] = order[..] {
                assert_eq!((last, first), (finish.len() - 1, 0));
            }
            let mut sorted = order;
            sorted.sort_unstable();
            assert_eq!(sorted, (0..finish.len()).collect::<Vec<_>>());
        }
    }
}
