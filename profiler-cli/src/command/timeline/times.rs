//! The time of each row in each column.

use std::collections::HashMap;
use std::hash::Hash;

use profiler_trace::{
    HostSpan, HostSpanKind, HostThread, Progress, SiteIndex, Trace, Warp, WarpSource,
};

/// Columns of equal stretches of time, on the trace's axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) start_ns: f64,
    /// Later than the start.
    pub(super) end_ns: f64,
    pub(super) columns: usize,
}

impl Axis {
    pub(super) fn column_ns(&self) -> f64 {
        (self.end_ns - self.start_ns) / self.columns as f64
    }

    /// The part of a stretch of time that is shown, if any.
    fn clip(&self, from: f64, to: f64) -> Option<(f64, f64)> {
        let (from, to) = (from.max(self.start_ns), to.min(self.end_ns));
        (from < to).then_some((from, to))
    }

    /// Adds a stretch of time to the columns that it touches.
    fn add(&self, columns: &mut [f64], from: f64, to: f64) {
        let Some((from, to)) = self.clip(from, to) else { return };
        let first = ((from - self.start_ns) / self.column_ns()) as usize;
        for column in first.min(self.columns - 1)..self.columns {
            let edge = |column: usize| self.start_ns + self.column_ns() * column as f64;
            columns[column] += (to.min(edge(column + 1)) - from.max(edge(column))).max(0.0);
            if edge(column + 1) >= to {
                break;
            }
        }
    }
}

/// A kind of span of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Call<'t> {
    pub(super) thread: &'t str,
    pub(super) name: &'t str,
    pub(super) is_launch: bool,
}

impl<'t> Call<'t> {
    pub(super) fn of(thread: &'t HostThread, span: &'t HostSpan) -> Self {
        let is_launch = matches!(span.kind, HostSpanKind::Launch(_));
        Self { thread: &thread.name, name: &span.name, is_launch }
    }
}

/// Time in nanoseconds for each column, summed over warps. A region that several lanes of a warp are in, or
/// that is within itself, counts once.
#[derive(Debug, Default)]
pub(super) struct Times<'t> {
    pub(super) kernel: Vec<f64>,
    pub(super) no_region: Vec<f64>,
    pub(super) regions: Vec<(SiteIndex, Vec<f64>)>,
    pub(super) host: Vec<(Call<'t>, Vec<f64>)>,
    /// The stay of each warp in the kernel, clipped to the window.
    pub(super) stays: Vec<(f64, f64)>,
    /// The number of regions in the window, and the sum of their lengths.
    pub(super) count: u64,
    pub(super) lengths_ns: f64,
}

impl<'t> Times<'t> {
    pub(super) fn gather(source: &'t impl WarpSource, warps: &[usize], axis: &Axis) -> Self {
        let trace = source.outline();
        let names = trace.sites_by_name();
        let mut times = Self { kernel: vec![0.0; axis.columns], ..Self::default() };
        let mut inside = vec![0.0; axis.columns];
        let mut regions = Rows::default();
        Progress::expect("warps drawn", warps.len());
        for &index in Progress::each(warps) {
            let warp = &*source.warp(index);
            let last_ns = last_ns(trace, warp);
            axis.add(&mut times.kernel, warp.entry.ns, last_ns);
            times.stays.extend(axis.clip(warp.entry.ns, last_ns));
            regions.until.clear();
            let mut inside_until = f64::NEG_INFINITY;
            for region in &warp.regions {
                let (start, end) = (region.start.ns, region.end.map_or(last_ns, |end| end.ns));
                if axis.clip(start, end).is_some() {
                    times.count += 1;
                    times.lengths_ns += end - start;
                }
                axis.add(&mut inside, start.max(inside_until), end);
                inside_until = inside_until.max(end);
                let site = names.get(region.site.0 as usize).copied().unwrap_or(region.site);
                regions.add(site, start, end, axis);
            }
        }
        times.regions = regions.by_time();
        let none =
            times.kernel.iter().zip(inside).map(|(kernel, inside)| (kernel - inside).max(0.0));
        times.no_region = none.collect();
        let mut host = Rows::default();
        for thread in &trace.host.threads {
            for span in &thread.spans {
                host.add(Call::of(thread, span), span.start_ns, span.end_ns, axis);
            }
        }
        times.host = host.by_time();
        times
    }
}

/// Rows by their key.
struct Rows<Key> {
    /// The columns of each row, and its number in order of appearance.
    columns: HashMap<Key, (usize, Vec<f64>)>,
    /// The time up to which each row was counted.
    until: HashMap<Key, f64>,
}

impl<Key> Default for Rows<Key> {
    fn default() -> Self {
        Self { columns: HashMap::new(), until: HashMap::new() }
    }
}

impl<Key: Copy + Eq + Hash> Rows<Key> {
    /// Adds the part of a stretch of time that was not counted yet. Stretches come in order of their starts.
    fn add(&mut self, key: Key, from: f64, to: f64, axis: &Axis) {
        let until = self.until.entry(key).or_insert(f64::NEG_INFINITY);
        if let Some((from, to)) = axis.clip(from.max(*until), to) {
            let number = self.columns.len();
            let row = self.columns.entry(key).or_insert_with(|| (number, vec![0.0; axis.columns]));
            axis.add(&mut row.1, from, to);
        }
        *until = until.max(to);
    }

    /// The longest first; of equals, the first to appear.
    fn by_time(self) -> Vec<(Key, Vec<f64>)> {
        let rows = self.columns.into_iter();
        let mut rows: Vec<_> =
            rows.map(|(key, (number, row))| (row.iter().sum::<f64>(), number, key, row)).collect();
        rows.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        rows.into_iter().map(|(.., key, row)| (key, row)).collect()
    }
}

/// The time at which the warp left the kernel; if it never did, the end of its launch.
fn last_ns(trace: &Trace, warp: &Warp) -> f64 {
    match (warp.exit, trace.launches.get(warp.launch)) {
        (Some(exit), _) => exit.ns,
        (None, Some(launch)) => warp.last_ns().max(launch.end_ns),
        (None, None) => warp.last_ns(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, Rows};

    #[test]
    fn time_is_counted_once_and_in_its_columns() {
        let axis = Axis { start_ns: 10.0, end_ns: 50.0, columns: 4 };
        let mut rows = Rows::default();
        for (from, to) in [(0.0, 15.0), (12.0, 35.0), (20.0, 30.0), (45.0, 90.0)] {
            rows.add("a", from, to, &axis);
        }
        rows.add("c", f64::NEG_INFINITY, f64::INFINITY, &axis);
        let [c, a] = &rows.by_time()[..] else { panic!("two rows have time") };
        assert_eq!(*a, ("a", vec![10.0, 10.0, 5.0, 5.0]));
        assert_eq!(*c, ("c", vec![10.0; 4]));
    }
}
