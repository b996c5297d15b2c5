//! The activity of each SM in bins of time: the timeline's view from afar.

use std::ops::Range;

use profiler_trace::{Progress, WarpSource};

use crate::nesting::finite;
use crate::rows::Rows;

/// Bins of the finer of the two levels.
pub(crate) const FINE_BINS: usize = 4096;
/// The number of fine bins in a coarse one.
pub(crate) const FINE_PER_COARSE: usize = 8;
/// The number of rows with a code of their own; the others share one more.
pub(crate) const MAX_CODES: usize = 253;

/// The stretch of time that the timeline shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) start: f64,
    pub(crate) end: f64,
}

/// The extent of a trace.
pub(crate) struct Extent {
    /// From its first to its last moment; 0 to 0 if it is empty.
    pub(crate) axis: Axis,
    pub(crate) regions: usize,
}

impl Extent {
    pub(crate) fn of(source: &impl WarpSource) -> Self {
        let mut ends: Option<(f64, f64)> = None;
        let mut regions = 0;
        let warps = source.outline().warps.len();
        Progress::expect("warps measured", warps);
        for index in Progress::each(0..warps) {
            let warp = source.warp(index);
            let first = warp.regions.first().map_or(warp.entry.ns, |region| region.start.ns);
            let (start, end) = (finite(warp.entry.ns).min(finite(first)), finite(warp.last_ns()));
            let (first, last) = ends.unwrap_or((start, end));
            ends = Some((first.min(start), last.max(end)));
            regions += warp.regions.len();
        }
        let (start, end) = ends.unwrap_or_default();
        Self { axis: Axis { start, end: end.max(start) }, regions }
    }
}

impl Axis {
    /// The part within the window; `None` if there is none.
    pub(crate) fn within(self, window: Option<&Range<f64>>) -> Option<Self> {
        let Some(window) = window else { return Some(self) };
        let cut = Self { start: self.start.max(window.start), end: self.end.min(window.end) };
        (window.start < window.end && cut.start < cut.end).then_some(cut)
    }

    pub(crate) fn length(self) -> f64 {
        self.end - self.start
    }
}

/// Bins of one level: two bytes a bin, SM after SM.
#[derive(Default)]
pub(crate) struct Level {
    /// The code of the row with most time in the bin; 0 if nothing ran.
    pub(crate) codes: Vec<u8>,
    /// The mean number of lanes at work.
    busy: Vec<f32>,
}

impl Level {
    /// The activity of each bin, in 255 steps of the busiest: 0 only if nothing ran.
    pub(crate) fn shades(&self) -> Vec<u8> {
        let most = self.busy.iter().copied().fold(0.0, f32::max);
        let shade = |&busy: &f32| if busy > 0.0 { (busy / most * 255.0).ceil() as u8 } else { 0 };
        self.busy.iter().map(shade).collect()
    }
}

/// The activity of each SM over time.
pub(crate) struct Overview {
    axis: Axis,
    /// The code of each row of the statistics: from 1, in order of their total time.
    code_of: Vec<usize>,
    codes: usize,
    /// Time of each code in each bin of the SM that is being filled.
    time: Vec<f32>,
    is_touched: bool,
    pub(crate) coarse: Level,
    pub(crate) fine: Level,
}

impl Overview {
    pub(crate) fn new(axis: Axis, rows: &Rows) -> Self {
        let mut code_of = vec![0; rows.list().len()];
        for (rank, row) in rows.by_time().into_iter().enumerate() {
            code_of[row] = rank.min(MAX_CODES) + 1;
        }
        let codes = rows.list().len().min(MAX_CODES + 1) + 1;
        Self {
            axis,
            code_of,
            codes,
            time: vec![0.0; FINE_BINS * codes],
            is_touched: false,
            coarse: Level::default(),
            fine: Level::default(),
        }
    }

    /// The code of each row.
    pub(crate) fn codes(&self) -> &[usize] {
        &self.code_of
    }

    /// A stretch of time in which a row was the innermost.
    pub(crate) fn add(&mut self, row: usize, from: f64, to: f64) {
        let length = self.axis.length();
        let (from, to) = (from.max(self.axis.start), to.min(self.axis.end));
        if from >= to || length <= 0.0 {
            return;
        }
        let code = self.code_of[row];
        let place = |ns: f64| (ns - self.axis.start) / length * FINE_BINS as f64;
        let (from, to) = (place(from), place(to));
        let first = (from as usize).min(FINE_BINS - 1);
        let last = (to as usize).min(FINE_BINS - 1);
        self.is_touched = true;
        for bin in first..=last {
            let part = to.min(bin as f64 + 1.0) - from.max(bin as f64);
            self.time[bin * self.codes + code] += part.max(0.0) as f32;
        }
    }

    /// Turns the added stretches into the bins of one SM.
    pub(crate) fn finish_sm(&mut self) {
        let codes = self.codes;
        for bin in self.time.chunks_exact(codes) {
            append(&mut self.fine, bin, 1.0);
        }
        let mut sum = vec![0.0; codes];
        for bins in self.time.chunks_exact(codes * FINE_PER_COARSE) {
            sum.fill(0.0);
            for (at, time) in bins.iter().enumerate() {
                sum[at % codes] += time;
            }
            append(&mut self.coarse, &sum, FINE_PER_COARSE as f32);
        }
        self.discard_sm();
    }

    /// Forgets the added stretches.
    pub(crate) fn discard_sm(&mut self) {
        if self.is_touched {
            self.time.fill(0.0);
            self.is_touched = false;
        }
    }
}

fn append(level: &mut Level, time: &[f32], bins: f32) {
    let (mut code, mut most, mut busy) = (0, 0.0, 0.0);
    for (at, &time) in time.iter().enumerate() {
        busy += time;
        if time > most {
            (code, most) = (at, time);
        }
    }
    level.codes.push(code as u8);
    level.busy.push(busy / bins);
}
